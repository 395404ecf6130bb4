package graph

import (
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// A question is asked of the attributes of every span: what the first of some keys says. Which keys answer it is found
// out once for each key of a store, not by the texts of all keys of every span.
type question uint

const (
	askCacheKey question = iota
	askURL
	askHTTP
	askGRPC
	askError
	askResent
	askRequestStart
	askWait // any key that tells how long the span waited
	questions
)

var questionKeys = [questions][]string{
	askCacheKey:     {"cache.key"},
	askURL:          {"url.full", "http.url", "http.target", "url.path"},
	askHTTP:         population.HTTPKeys,
	askGRPC:         population.GRPCKeys,
	askError:        {"error.type", "exception.type"},
	askResent:       {"http.request.resend_count", "http.resend_count", "previous-rpc-attempts"},
	askRequestStart: requestStart,
}

// answers is which questions keys of a store answer, by key; known of those looked at.
type answers []uint16

const known = 1 << 15

func (b *Builder) answers(key trace.StringID) uint16 {
	for int(key) >= len(b.asked) {
		b.asked = append(b.asked, 0)
	}
	if b.asked[key] == 0 {
		text := b.store.String(key)
		b.asked[key] = known
		for q, keys := range questionKeys {
			for _, k := range keys {
				if k == text {
					b.asked[key] |= 1 << q
				}
			}
		}
		if _, own := b.store.Waits[text]; own || trace.WaitAttribute(text) || text == "queue.time_ms" {
			b.asked[key] |= 1 << askWait
		}
	}
	return b.asked[key]
}

// ask is the value of the first key of a question that a span has; zero if none.
func (b *Builder) ask(r trace.SpanRef, q question) trace.Value {
	var found trace.Value
	for _, a := range b.store.Attrs(r) {
		if a.Value == 0 || b.answers(a.Key)&(1<<q) == 0 {
			continue
		}
		if found != 0 { // which comes first is told by the texts
			return b.store.Attr(r, questionKeys[q]...)
		}
		found = a.Value
	}
	return found
}

// askText is the text of an answer.
func (b *Builder) askText(r trace.SpanRef, q question) string { return b.store.Text(b.ask(r, q)) }

// A code is the status that a text stands for.
type code struct {
	n         int16
	ok, known bool
}

// status is the status code of an answer, which is read once of each text.
func (b *Builder) status(r trace.SpanRef, q question, read func(string) (int, bool)) (int, bool) {
	v := b.ask(r, q)
	if v == 0 {
		return 0, false
	}
	id := v.TextID()
	for int(id) >= len(b.codes) {
		b.codes = append(b.codes, [2]code{})
	}
	c := &b.codes[id][q-askHTTP]
	if !c.known {
		n, ok := read(b.store.Text(v))
		*c = code{int16(n), ok && int(int16(n)) == n, true}
	}
	return int(c.n), c.ok
}

func (b *Builder) httpStatus(r trace.SpanRef) (int, bool) {
	return b.status(r, askHTTP, population.HTTPCode)
}

func (b *Builder) grpcStatus(r trace.SpanRef) (int, bool) {
	return b.status(r, askGRPC, population.GRPCCode)
}
