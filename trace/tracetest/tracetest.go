// Package tracetest reads traces drawn as text, so that a test shows what it
// tests.
//
// One line is one span; indentation is parentage; a blank line begins the next
// trace:
//
//	gateway  GET /checkout     0..120ms  server
//	  gateway  POST /charge    5..118ms  client
//	    payment  POST /charge  80..117ms server error http.response.status_code=503
//
// A line holds the service, the span's name (which may have spaces), start and
// end, then any of: a kind; ok or error; host=NAME and other resource
// attributes as resource.KEY=VALUE; message=TEXT; shared; follows; orphan (its
// parent was never received); id=HEX and parent=HEX instead of those that the
// place gives; event=NAME@TIME, perhaps with ,KEY=VALUE for its attributes; link=TRACE/SPAN; th=STATE for the trace state; any KEY=VALUE as an
// attribute, whose value is an integer if it looks like one. Times are from
// T0, 2026-01-01T12:00:00Z; the unit of the end (ns, us, ms, s) is the start's
// too unless it has its own. Trace ids count from 1.
package tracetest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// T0 is the instant that times are counted from.
const T0 trace.Time = 1767268800_000_000_000

// Parse reads traces into a new store.
func Parse(text string) (*trace.Store, error) {
	s := trace.NewStore(trace.NewTables())
	return s, Add(s, text, 1)
}

// Add reads traces into s. The first has the trace id first.
func Add(s *trace.Store, text string, first int) error {
	type open struct {
		indent int
		id     trace.SpanID
	}
	var stack []open
	traceNo, spanNo := first-1, 0
	fresh := true
	for lineNo, line := range strings.Split(text, "\n") {
		body := strings.TrimSpace(line)
		if strings.HasPrefix(body, "#") {
			continue
		}
		if body == "" {
			fresh, stack = true, stack[:0]
			continue
		}
		if fresh {
			traceNo, spanNo, fresh = traceNo+1, 0, false
		}
		spanNo++
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		r := trace.RawSpan{ID: trace.SpanID(spanNo)}
		r.TraceID[14], r.TraceID[15] = byte(traceNo>>8), byte(traceNo)
		if len(stack) > 0 {
			r.ParentID = stack[len(stack)-1].id
		}
		if err := span(s, &r, body); err != nil {
			return fmt.Errorf("line %d: %w", lineNo+1, err)
		}
		s.Add(&r)
		stack = append(stack, open{indent, r.ID})
	}
	return nil
}

// MustParse is Parse of a text known to be right.
func MustParse(text string) *trace.Store {
	s, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

func span(s *trace.Store, r *trace.RawSpan, body string) error {
	words := strings.Fields(body)
	at := 0
	for at < len(words) && !strings.Contains(words[at], "..") {
		at++
	}
	if at < 2 || at == len(words) {
		return fmt.Errorf("want service, name, start..end in %q", body)
	}
	resource := []trace.RawAttr{attr("service.name", words[0])}
	r.Name = []byte(strings.Join(words[1:at], " "))
	from, to, _ := strings.Cut(words[at], "..")
	end, unit, err := instant(to, "")
	if err != nil {
		return err
	}
	start, _, err := instant(from, unit)
	if err != nil {
		return err
	}
	r.Start, r.End = T0+trace.Time(start), T0+trace.Time(end)
	for _, w := range words[at+1:] {
		key, val, has := strings.Cut(w, "=")
		if !has {
			switch w {
			case "internal":
				r.Kind = trace.KindInternal
			case "server":
				r.Kind = trace.KindServer
			case "client":
				r.Kind = trace.KindClient
			case "producer":
				r.Kind = trace.KindProducer
			case "consumer":
				r.Kind = trace.KindConsumer
			case "ok":
				r.Status = trace.StatusOK
			case "error":
				r.Status = trace.StatusError
			case "shared":
				r.Flags |= trace.Shared
			case "follows":
				r.Flags |= trace.FollowsFrom
			case "orphan":
				r.ParentID = 0xfffffff
			default:
				return fmt.Errorf("unknown word %q", w)
			}
			continue
		}
		switch {
		case key == "host":
			resource = append(resource, attr("host.name", val))
		case strings.HasPrefix(key, "resource."):
			resource = append(resource, attr(key[len("resource."):], val))
		case key == "message":
			r.StatusMessage = []byte(strings.ReplaceAll(val, "_", " "))
		case key == "id":
			r.ID, _ = trace.ParseSpanID([]byte(val))
		case key == "parent":
			r.ParentID, _ = trace.ParseSpanID([]byte(val))
		case key == "th":
			r.TraceState = []byte("ot=th:" + val)
		case key == "event":
			name, rest, _ := strings.Cut(val, "@")
			parts := strings.Split(rest, ",")
			ns, _, err := instant(parts[0], "ms")
			if err != nil {
				return err
			}
			e := trace.RawEvent{Time: T0 + trace.Time(ns), Name: []byte(name)}
			for _, p := range parts[1:] {
				k, v, _ := strings.Cut(p, "=")
				e.Attrs = append(e.Attrs, attr(k, v))
			}
			r.Events = append(r.Events, e)
		case key == "link":
			tid, sid, _ := strings.Cut(val, "/")
			var l trace.RawLink
			l.TraceID, _ = trace.ParseTraceID([]byte(tid))
			l.ID, _ = trace.ParseSpanID([]byte(sid))
			r.Links = append(r.Links, l)
		default:
			r.Attrs = append(r.Attrs, attr(key, val))
		}
	}
	r.Resource = s.AddResource(resource)
	return nil
}

func attr(key, val string) trace.RawAttr {
	if n, err := strconv.ParseInt(val, 10, 64); err == nil {
		return trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.Int, Int: n}}
	}
	return trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.String, Bytes: []byte(val)}}
}

var units = []struct {
	name string
	ns   float64
}{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// instant reads a number with a unit, or of the unit given.
func instant(text, unit string) (ns int64, used string, err error) {
	for _, u := range units {
		if num, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = num, u.name
			break
		}
	}
	if unit == "" {
		return 0, "", fmt.Errorf("%q has no unit", text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, "", err
	}
	for _, u := range units {
		if u.name == unit {
			return int64(math.Round(f * u.ns)), unit, nil
		}
	}
	panic("unreachable")
}

// Format draws a duration in ms as a test would write it.
func Format(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'f', -1, 64) }
