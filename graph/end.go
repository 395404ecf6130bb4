package graph

import (
	"math"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// end is how a span ended by its own word. A caller left if its span says
// cancelled, deadline or timeout: gRPC 1 and 4, HTTP 499, 504 and 408, the
// error's type, the status message.
func (b *Builder) end(t *Tree, n Node) End {
	s, r := t.Store, t.Spans[n]
	for _, a := range s.Attrs(r) {
		switch s.String(a.Key) {
		case "rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code":
			switch strings.ToUpper(s.Text(a.Value)) {
			case "1", "CANCELLED", "CANCELED":
				return Cancelled
			case "4", "DEADLINE_EXCEEDED":
				return TimedOut
			case "0", "OK":
			default:
				return Failed
			}
		case "http.response.status_code", "http.status_code":
			switch code, _ := strconv.Atoi(s.Text(a.Value)); {
			case code == 499:
				return Cancelled
			case code == 504 || code == 408:
				return TimedOut
			case code >= 500:
				return Failed
			}
		case "error.type", "exception.type":
			if e := saysLeft(s.Text(a.Value)); e != Succeeded {
				return e
			}
		}
	}
	if s.Status(r) == trace.StatusError {
		if m := s.StatusMessage(r); m != 0 {
			if e := saysLeft(s.String(m)); e != Succeeded {
				return e
			}
		}
		for _, e := range s.Events(r) {
			for _, a := range e.Attrs {
				if s.String(a.Key) == "exception.type" {
					if e := saysLeft(s.Text(a.Value)); e != Succeeded {
						return e
					}
				}
			}
		}
		return Failed
	}
	return Succeeded
}

// saysLeft reads an error's type or message.
func saysLeft(text string) End {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "cancel"), strings.Contains(low, "client closed"), low == "499":
		return Cancelled
	case strings.Contains(low, "deadline"), strings.Contains(low, "timeout"), strings.Contains(low, "timed out"), strings.Contains(low, "timed_out"):
		return TimedOut
	}
	return Succeeded
}

// number reads an attribute as a whole number that is not negative; zero if it
// is none.
func (b *Builder) number(v trace.Value) int64 {
	text := b.store.Text(v)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return max(n, 0)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0) || f > math.MaxInt32 {
		return 0
	}
	return int64(f)
}
