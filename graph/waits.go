package graph

import (
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// waitEvents are pairs of events between which a span waited.
var waitEvents = map[string]string{
	"GetConn":                "GotConn",
	"getConn":                "gotConn",
	"http.getconn.start":     "http.getconn.done",
	"enqueue":                "dequeue",
	"enqueued":               "dequeued",
	"queued":                 "started",
	"pool.acquire.start":     "pool.acquire.end",
	"Acquiring connection":   "Acquired connection",
	"acquire":                "acquired",
	"connection.acquire":     "connection.acquired",
	"waiting for connection": "got connection",
}

// waits collects the stretches that spans themselves call waits: a whole span
// by its name, a pair of events, an attribute that gives the time waited at the
// span's start.
func (b *Builder) waits(r *Record, t *Tree) {
	for i, ref := range b.refs {
		for _, half := range [2]struct {
			node   Node
			client bool
		}{{ref.Client, true}, {ref.Work, false}} {
			if half.node == NoNode {
				continue
			}
			b.waitsOf(r, t, int32(i), half.node, half.client)
		}
	}
}

// maxBetween is how many events may lie between the two that begin and end a
// wait.
const maxBetween = 256

func (b *Builder) waitsOf(r *Record, t *Tree, call int32, n Node, client bool) {
	s, ref := t.Store, t.Spans[n]
	v := t.Interval(n)
	// front is a wait before the span began. Of a call with both halves it lies
	// between them, and cannot be longer than that.
	front := func(ns float64, evidence string, resource trace.StringID) {
		c := &r.Calls[call]
		if call == 0 && !c.Paired() {
			return // before the request: see before
		}
		if c.Paired() && !client {
			ns = min(ns, float64(c.Client.Duration()-c.Work.Duration()))
		}
		if ns >= 1 {
			r.Waits = append(r.Waits, Wait{call, client, trace.Interval{Start: v.Start - trace.Time(ns), End: v.Start}, b.Dict.InternString(evidence), resource})
		}
	}
	add := func(from, to trace.Time, evidence string, resource trace.StringID) {
		w := trace.Interval{Start: from, End: to}.Clip(v)
		if w.Duration() > 0 {
			r.Waits = append(r.Waits, Wait{call, client, w, b.Dict.InternString(evidence), resource})
		}
	}
	pool := func() trace.StringID {
		return b.str(s.Attr(ref, "db.client.connection.pool.name", "pool.name", "executor.name", "queue.name").TextID())
	}
	if r.Calls[call].Flags&WaitSpan != 0 {
		add(v.Start, v.End, "wait span "+s.String(s.Name(ref)), pool())
		return
	}
	events := s.Events(ref)
	for i, e := range events {
		until, ok := waitEvents[s.String(e.Name)]
		if !ok {
			continue
		}
		for _, f := range events[i+1 : min(len(events), i+1+maxBetween)] {
			if s.String(f.Name) == until && f.Time >= e.Time {
				add(e.Time, f.Time, "events "+s.String(e.Name)+" to "+until, pool())
				break
			}
		}
	}
	server := !client && t.kind(n) == trace.KindServer
	if server && r.Calls[call].Paired() {
		if x := b.ask(ref, askRequestStart); x != 0 {
			if at, ok := stamp(s.Text(x), v.Start); ok {
				front(float64(v.Start-at), "request-start stamp", 0)
			}
		} else if x := s.Attr(ref, "faas.coldstart"); x != 0 && s.Text(x) == "true" {
			front(maxBefore, "faas.coldstart", b.Dict.InternString("cold start"))
		}
	}
	for _, a := range s.Attrs(ref) {
		if b.answers(a.Key)&(1<<askWait) == 0 {
			continue
		}
		key := s.String(a.Key)
		declared, own := s.Waits[key]
		f, err := strconv.ParseFloat(s.Text(a.Value), 64)
		if err != nil || !(f > 0 && f < maxBefore) {
			continue
		}
		if own {
			what := b.Dict.InternString(declared.Resource)
			if named := s.Attr(ref, declared.ResourceAttribute); named != 0 {
				what = b.str(named.TextID())
			}
			switch ns := f * declared.UnitNS; {
			case declared.Before:
				front(ns, "attribute "+key, what)
			case ns <= float64(v.Duration()):
				add(v.Start, v.Start+trace.Time(ns), "attribute "+key, what)
			}
			continue
		}
		if strings.HasPrefix(key, "http.server.") || key == "queue.time_ms" {
			if server {
				front(f*1e6, "time in queue", 0) // milliseconds, as before the entry
			}
			continue
		}
		if !strings.HasSuffix(key, "_ms") { // by the conventions, seconds
			f *= 1e3
		}
		if ns := f * 1e6; ns <= float64(v.Duration()) {
			add(v.Start, v.Start+trace.Time(ns), "attribute "+key, pool())
		}
	}
}
