package graph

import (
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// Plain is the free text of spans that a record is made of, and no more: of a
// status message, which may quote what users typed, the words that tell how a call
// ended; of events those that begin or end a wait, or tell of messages. What is
// built of spans that were written so is what is built of the spans.
var Plain = trace.Plain{
	Message: func(text string) string {
		if text == "" {
			return ""
		}
		plain := redirection(text)
		switch population.Worded(text) {
		case population.TimedOut:
			plain += " timeout"
		case population.Cancelled:
			plain += " cancelled"
		}
		return plain
	},
	Event: func(name string) bool { return plainEvents[name] },
}

var plainEvents = func() map[string]bool {
	m := map[string]bool{"message": true, "rpc.message": true}
	for from, to := range waitEvents {
		m[from], m[to] = true, true
	}
	return m
}()
