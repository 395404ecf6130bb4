package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/report"
)

func started(unixNano int64) string {
	if unixNano <= 0 {
		return ""
	}
	return time.Unix(0, unixNano).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// mostBeyond is by how much what is no part of a request may lengthen the time drawn.
const mostBeyond = 20

// waterfall draws at most about limit spans of a trace, in the order of its tree, and returns how many it left out.
//
//  1. Resolve each span's parent; where a client and its server share an id, the server is the client's child.
//  2. Charge the path, late and after to the spans that they name.
//  3. If there are more than limit spans, keep the root and those with the most time on the path, late, with errors,
//     and long, in this order; ties go to the earlier span.
//  4. Walk the tree without recursion; runs of spans that are not kept become one row that says what they are.
//
// Time beyond the request is drawn for what streams and consumers below it do, which are no part of it, unless that
// would leave the request itself no room.
func waterfall(b *builder, t *report.Trace, limit int) (Waterfall, int) {
	n := len(t.Spans)
	w := Waterfall{DurationNS: t.DurationNS, EndNS: t.DurationNS}
	if n == 0 {
		return w, 0
	}
	tr := newTree(t)
	keep := make([]bool, n)
	if n <= limit {
		for i := range keep {
			keep[i] = true
		}
	} else {
		for _, i := range tr.ranked()[:limit] {
			keep[i] = true
		}
	}
	drawn := t.DurationNS // the end of what belongs to the request
	var gap gap
	for _, v := range tr.order {
		s := &t.Spans[v.span]
		if !keep[v.span] {
			gap.add(s, tr.pathNS[v.span])
			continue
		}
		if gap.n > 0 {
			w.Rows = append(w.Rows, gap.row(b, v.depth))
			gap.reset()
		}
		start, end := s.StartNS+s.ShiftNS, s.EndNS+s.ShiftNS
		label := b.endpoint(s.Service, first(s.Name, s.Operation))
		if s.SpanKind != "" && s.SpanKind != "internal" && s.SpanKind != "unspecified" {
			label += " (" + b.name(s.SpanKind) + ")"
		}
		w.EndNS = max(w.EndNS, end)
		pieces := tr.pieces[v.span]
		if len(pieces) > 0 {
			drawn = max(drawn, end)
		}
		slices.SortStableFunc(pieces, func(x, y Piece) int { return compare(x.StartNS, y.StartNS) })
		w.Rows = append(w.Rows, Fall{Label: label, Depth: v.depth, StartNS: start, EndNS: end, PathNS: tr.pathNS[v.span], Status: s.Status, Pieces: pieces})
	}
	if gap.n > 0 {
		w.Rows = append(w.Rows, gap.row(b, gap.depth))
	}
	if w.EndNS > mostBeyond*drawn {
		w.EndNS = drawn
		for _, r := range w.Rows {
			if r.EndNS > drawn {
				w.Beyond++
			}
		}
	}
	left := 0
	for _, k := range keep {
		if !k {
			left++
		}
	}
	return w, left
}

// A tree is a trace with its parents resolved and its path charged to spans.
type tree struct {
	t      *report.Trace
	order  []visit // all spans in pre-order
	pieces [][]Piece
	pathNS []int64
	late   []bool
}

type visit struct{ span, depth int }

func newTree(t *report.Trace) *tree {
	n := len(t.Spans)
	tr := &tree{t: t, pieces: make([][]Piece, n), pathNS: make([]int64, n), late: make([]bool, n)}
	byID := make(map[string][]int32, n)
	for i := range t.Spans {
		id := t.Spans[i].SpanID
		byID[id] = append(byID[id], int32(i))
	}
	tr.walk(tr.parents(byID))
	find := func(id, service, kind string) int {
		all := byID[id]
		for _, i := range all {
			if s := &t.Spans[i]; s.Service == service && (kind == "" || s.SpanKind == kind) {
				return int(i)
			}
		}
		if len(all) > 0 {
			return int(all[0])
		}
		return -1
	}
	marks := map[report.Kind]Mark{report.Service: Working, report.Wait: Waiting, report.Network: OnNetwork, report.Backoff: BackedOff, report.Timeout: TimedOut, report.Untraced: Unknown}
	for _, g := range t.Path {
		if i := find(g.SpanID, g.Service, g.SpanKind); i >= 0 {
			tr.pathNS[i] += g.EndNS - g.StartNS
			tr.pieces[i] = append(tr.pieces[i], Piece{g.StartNS, g.EndNS, marks[g.Kind]})
		}
	}
	for _, l := range t.Late {
		if i := find(l.SpanID, l.Service, ""); i >= 0 {
			tr.late[i] = true
			tr.pieces[i] = append(tr.pieces[i], Piece{l.StartNS, l.EndNS, Late})
		}
	}
	for _, l := range t.After {
		if i := find(l.SpanID, l.Service, ""); i >= 0 {
			tr.pieces[i] = append(tr.pieces[i], Piece{l.StartNS, l.EndNS, After})
		}
	}
	return tr
}

// parents resolves parent ids to indices; -1 for none.
func (tr *tree) parents(byID map[string][]int32) []int {
	spans := tr.t.Spans
	parents := make([]int, len(spans))
	for i := range spans {
		s := &spans[i]
		parents[i] = -1
		if s.SpanKind == "server" {
			for _, j := range byID[s.SpanID] {
				if int(j) != i && spans[j].SpanKind == "client" { // the two halves of a call under one id
					parents[i] = int(j)
				}
			}
			if parents[i] >= 0 {
				continue
			}
		}
		if s.ParentSpanID == "" {
			continue
		}
		for _, j := range byID[s.ParentSpanID] {
			if int(j) == i {
				continue
			}
			if parents[i] < 0 || spans[j].SpanKind == "server" && s.SpanKind != "server" {
				parents[i] = int(j)
			}
		}
	}
	return parents
}

// walk puts the spans in pre-order, siblings by start on the entry's clock. Spans on a cycle, which no root reaches,
// come last as roots of their own.
func (tr *tree) walk(parents []int) {
	spans := tr.t.Spans
	n := len(spans)
	children := make([][]int32, n)
	var roots []int32
	for i, p := range parents {
		if p < 0 {
			roots = append(roots, int32(i))
		} else {
			children[p] = append(children[p], int32(i))
		}
	}
	byStart := func(x, y int32) int {
		return compare(spans[x].StartNS+spans[x].ShiftNS, spans[y].StartNS+spans[y].ShiftNS)
	}
	// The entry span comes first, whatever an orphan's clock says.
	slices.SortStableFunc(roots, func(x, y int32) int {
		xr, yr := spans[x].SpanID == tr.t.Root.SpanID, spans[y].SpanID == tr.t.Root.SpanID
		switch {
		case xr && !yr:
			return -1
		case yr && !xr:
			return 1
		}
		return byStart(x, y)
	})
	for _, c := range children {
		slices.SortStableFunc(c, byStart)
	}
	seen := make([]bool, n)
	tr.order = make([]visit, 0, n)
	down := func(root int32) {
		stack := []visit{{int(root), 0}}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[v.span] {
				continue
			}
			seen[v.span] = true
			tr.order = append(tr.order, v)
			for _, c := range slices.Backward(children[v.span]) {
				if !seen[c] {
					stack = append(stack, visit{int(c), v.depth + 1})
				}
			}
		}
	}
	for _, r := range roots {
		down(r)
	}
	for i := range spans {
		if !seen[i] {
			down(int32(i))
		}
	}
}

// ranked is the spans by how much they matter.
func (tr *tree) ranked() []int {
	at := make([]int, len(tr.order)) // place in the tree, for ties
	order := make([]int, len(tr.order))
	for i, v := range tr.order {
		at[v.span], order[i] = i, v.span
	}
	root := tr.order[0].span
	score := func(i int) [4]int64 {
		s := &tr.t.Spans[i]
		return [4]int64{truth(i == root), tr.pathNS[i], truth(tr.late[i])<<1 | truth(s.Status == "error"), s.EndNS - s.StartNS}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		sx, sy := score(x), score(y)
		for k := range sx {
			if c := compare(sy[k], sx[k]); c != 0 {
				return c
			}
		}
		return at[x] - at[y]
	})
	return order
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// A gap counts spans that are not drawn.
type gap struct {
	n      int
	depth  int
	pathNS int64
	names  map[string]int
	order  []string
	start  int64
	end    int64
}

func (g *gap) add(s *report.Span, pathNS int64) {
	name := first(s.Operation, s.Name)
	if g.names == nil {
		g.names = map[string]int{}
	}
	if _, ok := g.names[name]; !ok && len(g.names) < 1000 {
		g.names[name] = 0
		g.order = append(g.order, name)
	}
	if _, ok := g.names[name]; ok {
		g.names[name]++
	}
	start, end := s.StartNS+s.ShiftNS, s.EndNS+s.ShiftNS
	if g.n == 0 || start < g.start {
		g.start = start
	}
	if g.n == 0 || end > g.end {
		g.end = end
	}
	g.n++
	g.pathNS += pathNS
}

func (g *gap) reset() { *g = gap{} }

// row says what the gap holds: the commonest names, and the time on the path that is not drawn.
func (g *gap) row(b *builder, depth int) Fall {
	slices.SortStableFunc(g.order, func(x, y string) int { return g.names[y] - g.names[x] })
	var parts []string
	for _, n := range g.order[:min(len(g.order), 3)] {
		parts = append(parts, fmt.Sprintf("%s × %s", count(g.names[n]), b.name(n)))
	}
	if n := len(g.order) - 3; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more names", n))
	}
	text := fmt.Sprintf("… %s left out: %s", plural(int64(g.n), "more span"), strings.Join(parts, ", "))
	return Fall{Gap: text, Depth: depth, StartNS: g.start, EndNS: g.end, PathNS: g.pathNS}
}
