package graph

import (
	"math"
	"strconv"

	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// end is how a span ended by its own word. A caller left if its span says
// cancelled, deadline or timeout: gRPC 1 and 4, HTTP 499, 504 and 408, the
// error's type, the status message.
//
// Words count less than an answer. A span with another status code was answered,
// and nobody left: an order that "cannot be cancelled" is a refusal, and a server
// that answers 500 for its own callee's timeout has a caller still. Only a client
// that had the head of an answer may have given up on its body.
func (b *Builder) end(t *Tree, n Node, client bool) End {
	s, r := t.Store, t.Spans[n]
	failed := s.Status(r) == trace.StatusError
	said := Succeeded
	if failed {
		said = Failed
	}
	if code, ok := b.grpcStatus(r); ok {
		switch code {
		case 0:
		case 1:
			return Cancelled
		case 4:
			return TimedOut
		default:
			return Failed
		}
		if !failed {
			return Succeeded
		}
	} else if code, ok := b.httpStatus(r); ok {
		switch {
		case code == 499:
			return Cancelled
		case code == 504 || code == 408:
			return TimedOut
		case code >= 500:
			return Failed
		case !client || code >= 400:
			return said
		}
		if e := left(population.Worded(b.askText(r, askError))); e != Failed {
			return e
		}
		return said
	}
	if e := left(population.Worded(b.askText(r, askError))); e != Failed {
		if e == Cancelled && failed && population.Worded(s.String(s.StatusMessage(r))) == population.TimedOut {
			return TimedOut // the message names the cause: a task that a timeout cancelled
		}
		return e
	}
	if !failed {
		return Succeeded
	}
	switch {
	case s.AttrText(r, "cancelled") == "true":
		return Cancelled
	case s.AttrText(r, "timeout") == "true":
		return TimedOut
	}
	if e := left(population.Worded(s.String(s.StatusMessage(r)))); e != Failed {
		return e
	}
	for _, e := range s.Events(r) {
		for _, a := range e.Attrs {
			if s.String(a.Key) == "exception.type" {
				if e := left(population.Worded(s.Text(a.Value))); e != Failed {
					return e
				}
			}
		}
	}
	return Failed
}

// left is the end of a span whose error's words say so.
func left(o population.Outcome) End {
	switch o {
	case population.Cancelled:
		return Cancelled
	case population.TimedOut:
		return TimedOut
	}
	return Failed
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
