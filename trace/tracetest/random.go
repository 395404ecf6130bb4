package tracetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/tailscope/tailscope/trace"
)

// Random returns n random traces as raw spans, in order of traces. They are odd
// on purpose: children that outlive their parents or lie outside them, clocks
// that differ, attempts, timeouts, cancellations, producers and consumers with
// links, parents that were never received, spans of no length, copies. Byte
// slices are the spans' own; Resource is not set: Fill does, for each store.
func Random(rng *rand.Rand, n int) []RandomSpan {
	var out []RandomSpan
	for t := range n {
		g := generator{rng: rng, skew: []int64{0, 0, 3_000_000, -40_000_000}}
		g.id[0], g.id[7], g.id[14], g.id[15] = byte(rng.Uint32()), byte(rng.Uint32()), byte(t>>8), byte(t)
		start := int64(T0) + rng.Int64N(60_000_000_000)
		g.span(0, 0, start, start+1+rng.Int64N(200_000_000), 0)
		for range rng.IntN(2) {
			g.spans = append(g.spans, g.spans[rng.IntN(len(g.spans))]) // a copy
		}
		out = append(out, g.spans...)
	}
	return out
}

// A RandomSpan is a span and the service and host that recorded it.
type RandomSpan struct {
	trace.RawSpan
	Service, Host string
}

// Fill adds spans to a store.
func Fill(s *trace.Store, spans []RandomSpan) {
	for i := range spans {
		r := spans[i].RawSpan
		r.Resource = s.AddResource([]trace.RawAttr{attr("service.name", spans[i].Service), attr("host.name", spans[i].Host), attr("service.instance.id", spans[i].Service+"-"+spans[i].Host)})
		s.Add(&r)
	}
}

type generator struct {
	rng   *rand.Rand
	id    trace.TraceID
	next  trace.SpanID
	skew  []int64
	spans []RandomSpan
}

func (g *generator) span(parent trace.SpanID, service int, from, to int64, depth int) {
	r := g.rng
	g.next++
	s := RandomSpan{Service: fmt.Sprintf("svc-%d", service), Host: fmt.Sprintf("h%d", service)}
	s.TraceID, s.ID, s.ParentID = g.id, g.next, parent
	s.Name = fmt.Appendf(nil, "op-%d", r.IntN(3))
	s.Start, s.End = trace.Time(from+g.skew[service]), trace.Time(to+g.skew[service])
	s.Kind = trace.Kind(r.IntN(int(trace.KindConsumer) + 1))
	if parent == 0 {
		s.Kind = trace.KindServer
		s.Attrs = append(s.Attrs, attr("tenant", fmt.Sprintf("t%d", r.IntN(3))), attr("http.response.status_code", fmt.Sprint([]int{200, 200, 200, 500, 499}[r.IntN(5)])))
	}
	switch r.IntN(12) {
	case 0:
		s.Status = trace.StatusError
		s.Attrs = append(s.Attrs, attr("rpc.grpc.status_code", fmt.Sprint(r.IntN(5))))
	case 1:
		s.ParentID = 0xabcdef // never received
	case 2:
		s.Events = append(s.Events, trace.RawEvent{Time: s.Start + 1, Name: []byte("GetConn")}, trace.RawEvent{Time: s.Start + trace.Time(r.Int64N(max(to-from, 1))), Name: []byte("GotConn")})
	case 3:
		s.Flags = trace.FollowsFrom
	case 4:
		s.Links = append(s.Links, trace.RawLink{TraceID: g.id, ID: trace.SpanID(1 + r.IntN(int(g.next)))})
	case 5:
		s.Name = []byte("pool.acquire")
	}
	g.spans = append(g.spans, s)
	id := g.next
	if depth > 4 || len(g.spans) > 40 {
		return
	}
	at := from
	for range r.IntN(4) {
		a := from + r.Int64N(max(to-from, 1))
		if r.IntN(2) == 0 {
			a = at // right after the one before
		}
		length := r.Int64N(max(to-from, 1)) * int64(r.IntN(3)) / 2
		b := a + length
		if r.IntN(4) > 0 {
			b = min(b, to)
		}
		b = max(a, b)
		g.span(id, r.IntN(len(g.skew)), a, b, depth+1)
		at = b
	}
}
