package tui

import (
	"slices"
	"strings"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// A Request is a trace prepared to be shown: its spans as a tree, each with what is known of its time.
type Request struct {
	trace *report.Trace
	set   string

	// Spans in pre-order, siblings by start on the entry's clock; a span's descendants are the size−1 after it.
	order  []int32 // place in trace.Spans
	depth  []int32
	size   []int32
	parent []int32 // place in order, -1 for none

	pieces [][]page.Piece // by place in order, in order of time
	pathNS []int64
	late   []bool
	ofPath []int32 // by place in trace.Path: the place in order of its span, -1 if it is not there

	byKind map[report.Kind]int64 // time on the path
	lower  []string              // by place in order: what a search looks at

	endNS int64 // of the last thing that ran, at least the duration
}

// NewRequest prepares a trace. It looks at every span and is not meant for the drawing goroutine.
func NewRequest(t *report.Trace, set string) *Request {
	n := len(t.Spans)
	r := &Request{trace: t, set: set, endNS: max(1, t.DurationNS)}
	byID := make(map[string][]int32, n)
	for i := range t.Spans {
		byID[t.Spans[i].SpanID] = append(byID[t.Spans[i].SpanID], int32(i))
		r.endNS = max(r.endNS, t.Spans[i].EndNS+t.Spans[i].ShiftNS)
	}
	r.walk(byID)
	at := make([]int32, n) // place in order
	for k, i := range r.order {
		at[i] = int32(k)
	}
	find := func(id, service, kind string) int32 {
		all := byID[id]
		for _, i := range all {
			if s := &t.Spans[i]; s.Service == service && (kind == "" || s.SpanKind == kind) {
				return at[i]
			}
		}
		if len(all) > 0 {
			return at[all[0]]
		}
		return -1
	}
	r.pieces, r.pathNS, r.late = make([][]page.Piece, n), make([]int64, n), make([]bool, n)
	r.byKind = map[report.Kind]int64{}
	for _, g := range t.Path {
		r.byKind[g.Kind] += g.EndNS - g.StartNS
		k := find(g.SpanID, g.Service, g.SpanKind)
		r.ofPath = append(r.ofPath, k)
		if k >= 0 {
			r.pathNS[k] += g.EndNS - g.StartNS
			r.pieces[k] = append(r.pieces[k], page.Piece{StartNS: g.StartNS, EndNS: g.EndNS, Mark: markOf(g.Kind)})
		}
	}
	for _, l := range t.Late {
		if k := find(l.SpanID, l.Service, ""); k >= 0 {
			r.late[k] = true
			r.pieces[k] = append(r.pieces[k], page.Piece{StartNS: l.StartNS, EndNS: l.EndNS, Mark: page.Late})
		}
	}
	for _, l := range t.After {
		if k := find(l.SpanID, l.Service, ""); k >= 0 {
			r.pieces[k] = append(r.pieces[k], page.Piece{StartNS: l.StartNS, EndNS: l.EndNS, Mark: page.After})
		}
	}
	for _, p := range r.pieces {
		slices.SortStableFunc(p, func(x, y page.Piece) int { return int(min(1, max(-1, x.StartNS-y.StartNS))) })
	}
	r.searchable()
	return r
}

// searchable works out the names that a search looks at; equal ones are kept once.
func (r *Request) searchable() {
	known := map[[3]string]string{}
	r.lower = make([]string, len(r.order))
	for k := range r.order {
		s := r.span(int32(k))
		key := [3]string{s.Service, s.Name, s.Operation}
		l, ok := known[key]
		if !ok {
			l = strings.ToLower(name(s.Service) + " " + name(s.Name) + " " + name(s.Operation))
			known[key] = l
		}
		r.lower[k] = l
	}
}

func markOf(k report.Kind) page.Mark {
	switch k {
	case report.Service:
		return page.Working
	case report.Wait:
		return page.Waiting
	case report.Network:
		return page.OnNetwork
	case report.Backoff:
		return page.BackedOff
	case report.Timeout:
		return page.TimedOut
	}
	return page.Unknown
}

// walk puts the spans in pre-order, without recursion: a trace may be 20,000 deep. A client and its server may share
// an id (Zipkin); the server is then the client's child, and others' parent. What no root reaches comes last.
func (r *Request) walk(byID map[string][]int32) {
	spans := r.trace.Spans
	n := len(spans)
	parents := make([]int32, n)
	children := make([][]int32, n)
	var roots []int32
	for i := range spans {
		s := &spans[i]
		p := int32(-1)
		if twins := byID[s.SpanID]; len(twins) > 1 && s.SpanKind == "server" {
			for _, j := range twins {
				if j != int32(i) && spans[j].SpanKind == "client" {
					p = j
				}
			}
		}
		if p < 0 && s.ParentSpanID != "" {
			for _, j := range byID[s.ParentSpanID] {
				if j != int32(i) && (p < 0 || spans[j].SpanKind == "server") {
					p = j
				}
			}
		}
		parents[i] = p
		if p < 0 {
			roots = append(roots, int32(i))
		} else {
			children[p] = append(children[p], int32(i))
		}
	}
	start := func(i int32) int64 { return spans[i].StartNS + spans[i].ShiftNS }
	byStart := func(x, y int32) int { return int(min(1, max(-1, start(x)-start(y)))) }
	slices.SortStableFunc(roots, func(x, y int32) int { // the entry first, whatever an orphan's clock says
		if a, b := spans[x].SpanID == r.trace.Root.SpanID, spans[y].SpanID == r.trace.Root.SpanID; a != b {
			if a {
				return -1
			}
			return 1
		}
		return byStart(x, y)
	})
	for _, c := range children {
		slices.SortStableFunc(c, byStart)
	}
	type visit struct{ span, depth, parent int32 }
	seen := make([]bool, n)
	var stack []visit
	down := func(root int32) {
		stack = append(stack[:0], visit{root, 0, -1})
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[v.span] {
				continue
			}
			seen[v.span] = true
			at := int32(len(r.order))
			r.order, r.depth, r.size, r.parent = append(r.order, v.span), append(r.depth, v.depth), append(r.size, 1), append(r.parent, v.parent)
			for _, c := range slices.Backward(children[v.span]) {
				stack = append(stack, visit{c, v.depth + 1, at})
			}
		}
	}
	for _, root := range roots {
		down(root)
	}
	for i := range spans {
		if !seen[i] {
			down(int32(i))
		}
	}
	for k := n - 1; k >= 0; k-- {
		if p := r.parent[k]; p >= 0 {
			r.size[p] += r.size[k]
		}
	}
}

// span is the span at a place in the order.
func (r *Request) span(k int32) *report.Span { return &r.trace.Spans[r.order[k]] }

// times are a span's start and end on the entry's clock.
func (r *Request) times(k int32) (start, end int64) {
	s := r.span(k)
	return s.StartNS + s.ShiftNS, s.EndNS + s.ShiftNS
}
