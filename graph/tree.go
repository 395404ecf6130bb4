package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// Group sorts the spans of a store into traces. It calls f for each trace, in
// the order in which they begin in the store; f must not keep refs.
func Group(s *trace.Store, f func(id trace.TraceID, refs []trace.SpanRef)) {
	g := GroupTraces(s)
	for i := range g.Len() {
		f(g.Trace(i))
	}
}

// Traces is the spans of a store by trace.
type Traces struct {
	ids  []trace.TraceID
	ends []int32 // in refs
	refs []trace.SpanRef
}

// GroupTraces sorts the spans of a store into traces, in the order in which they
// begin in the store: neighbours in the input are neighbours in memory, and tell of
// the same seconds.
func GroupTraces(s *trace.Store) *Traces {
	n := s.Len()
	place := make(map[trace.TraceID]int32, n/8+1)
	var ids []trace.TraceID
	var counts []int32
	at := make([]int32, n)
	last := int32(-1)
	for r := range trace.SpanRef(n) {
		id := s.TraceID(r)
		if last < 0 || ids[last] != id { // neighbours tend to be of one trace
			p, ok := place[id]
			if !ok {
				p = int32(len(ids))
				place[id] = p
				ids = append(ids, id)
				counts = append(counts, 0)
			}
			last = p
		}
		at[r] = last
		counts[last]++
	}
	t := &Traces{ids: ids, ends: make([]int32, len(ids)), refs: make([]trace.SpanRef, n)}
	offset := make([]int32, len(ids))
	var sum int32
	for p, c := range counts {
		offset[p] = sum
		sum += c
		t.ends[p] = sum
	}
	for r, p := range at {
		t.refs[offset[p]] = trace.SpanRef(r)
		offset[p]++
	}
	return t
}

// Len is the number of traces.
func (t *Traces) Len() int { return len(t.ids) }

// Trace is the i-th trace and its spans, in the order of the store.
func (t *Traces) Trace(i int) (trace.TraceID, []trace.SpanRef) {
	from := int32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.ids[i], t.refs[from:t.ends[i]:t.ends[i]]
}

// Cut is n ranges of traces with about as many spans each: range i begins with
// trace Cut[i] and ends before Cut[i+1].
func (t *Traces) Cut(n int) []int {
	cuts := make([]int, 0, n+1)
	for i := range n {
		at, _ := slices.BinarySearch(t.ends, int32(int64(len(t.refs))*int64(i)/int64(n))+1)
		cuts = append(cuts, at)
	}
	return append(cuts, len(t.ids))
}

// A Node is the index of a span in a Tree.
type Node = int32

// NoNode is the Node of no span.
const NoNode Node = -1

// A standing is what place a span has in its trace.
type standing uint8

const (
	inner       standing = iota // its parent is here
	root                        // it names no parent
	orphan                      // its parent was never received
	unreachable                 // it is its own ancestor, or below such a span
)

// A Defect is something wrong with one trace.
type Defect struct {
	Kind   trace.DefectKind
	Node   Node // NoNode for the trace as a whole
	Detail string
}

// A Tree is the spans of one trace, repaired: exact copies dropped, every span
// with the parent it was meant to have, cycles cut. Build reuses its memory.
type Tree struct {
	Store *trace.Store
	ID    trace.TraceID

	// Spans is ordered by start, then longer first, then by everything else a
	// span says, so that equal inputs in any order give equal trees.
	Spans []trace.SpanRef

	// Parent is the parent of each span, NoNode for what has none.
	Parent []Node

	// Defects is what is wrong with the trace.
	Defects []Defect

	Duplicates int // exact copies that were dropped
	Rejected   int // spans that cannot be

	orphans    int // spans whose parent was never received
	standing   []standing
	childStart []int32 // children of i: children[childStart[i]:childStart[i+1]]
	children   []Node
	times      []timed      // in the order of Spans
	ids        []identified // by id
	byID       []Node       // the same
	queue      []Node
	state      []uint8
}

// Children is the children of a span in the order of Spans.
func (t *Tree) Children(n Node) []Node { return t.children[t.childStart[n]:t.childStart[n+1]] }

// Interval is the time of a span by its own clock.
func (t *Tree) Interval(n Node) trace.Interval { return t.Store.Interval(t.Spans[n]) }

// Build makes t the tree of one trace.
func (t *Tree) Build(s *trace.Store, id trace.TraceID, refs []trace.SpanRef) {
	if gives(cap(t.Spans), len(refs)) {
		*t = Tree{}
	}
	t.Store, t.ID, t.Duplicates, t.Rejected = s, id, 0, 0
	t.Defects = t.Defects[:0]
	t.Spans = t.Spans[:0]
	for _, r := range refs {
		if kind, bad := trace.Impossible(s.TraceID(r), s.ID(r), s.Interval(r)); bad {
			t.Rejected++
			t.defect(kind, NoNode, "")
			continue
		}
		t.Spans = append(t.Spans, r)
	}
	t.sort()
	t.dropCopies()
	t.index()
	t.resolveParents()
	t.link()
	t.cutCycles()
	t.judge()
}

// sort orders the spans by content: times, which nearly always decide, are read from the store once.
func (t *Tree) sort() {
	t.times = t.times[:0]
	for _, r := range t.Spans {
		v := t.Store.Interval(r)
		t.times = append(t.times, timed{v.Start, v.End, r})
	}
	slices.SortFunc(t.times, func(a, b timed) int {
		switch {
		case a.start != b.start:
			return cmp.Compare(a.start, b.start)
		case a.end != b.end:
			return cmp.Compare(b.end, a.end)
		}
		return t.compare(a.ref, b.ref)
	})
	for i := range t.times {
		t.Spans[i] = t.times[i].ref
	}
}

// A timed is a span with its time.
type timed struct {
	start, end trace.Time
	ref        trace.SpanRef
}

// compare orders spans of a trace by content. It is zero for exact copies only.
func (t *Tree) compare(a, b trace.SpanRef) int {
	s := t.Store
	va, vb := s.Interval(a), s.Interval(b)
	if c := cmp.Or(
		cmp.Compare(va.Start, vb.Start),
		cmp.Compare(vb.End, va.End),
		cmp.Compare(s.ID(a), s.ID(b)),
		cmp.Compare(s.Kind(a), s.Kind(b)),
		cmp.Compare(s.ParentID(a), s.ParentID(b)),
		cmp.Compare(s.Status(a), s.Status(b)),
		cmp.Compare(s.SpanFlags(a), s.SpanFlags(b)),
	); c != 0 {
		return c
	}
	if c := strings.Compare(s.String(s.Name(a)), s.String(s.Name(b))); c != 0 {
		return c
	}
	if ra, rb := s.ResourceOf(a), s.ResourceOf(b); ra != rb {
		if c := t.compareAttrs(s.Resource(ra).Attrs, s.Resource(rb).Attrs); c != 0 {
			return c
		}
	}
	if c := t.compareAttrs(s.Attrs(a), s.Attrs(b)); c != 0 {
		return c
	}
	return strings.Compare(s.String(s.StatusMessage(a)), s.String(s.StatusMessage(b)))
}

func (t *Tree) compareAttrs(a, b []trace.Attr) int {
	return slices.CompareFunc(a, b, func(x, y trace.Attr) int {
		if x == y {
			return 0
		}
		return cmp.Or(
			strings.Compare(t.Store.String(x.Key), t.Store.String(y.Key)),
			strings.Compare(t.Store.Text(x.Value), t.Store.Text(y.Value)),
			cmp.Compare(x.Value.Type(), y.Value.Type()),
		)
	})
}

func (t *Tree) dropCopies() {
	kept := t.Spans[:0]
	for i, r := range t.Spans {
		if x := t.times; i > 0 && x[i].start == x[i-1].start && x[i].end == x[i-1].end && t.compare(kept[len(kept)-1], r) == 0 {
			t.Duplicates++
			continue
		}
		kept = append(kept, r)
	}
	t.Spans = kept
}

// index sorts the spans by id for lookup.
func (t *Tree) index() {
	n := len(t.Spans)
	t.ids = t.ids[:0]
	for i := range n {
		t.ids = append(t.ids, identified{t.id(Node(i)), Node(i)})
	}
	slices.SortFunc(t.ids, func(a, b identified) int {
		if a.id != b.id {
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(a.node, b.node)
	})
	t.byID = t.byID[:0]
	for _, x := range t.ids {
		t.byID = append(t.byID, x.node)
	}
	for i := 1; i < n; i++ {
		a, b := t.byID[i-1], t.byID[i]
		if t.id(a) == t.id(b) && !t.halves(a, b) {
			t.defect(trace.IDConflict, b, "two different spans have this id")
		}
	}
}

// halves reports whether two spans of one id are client and server of one call.
func (t *Tree) halves(a, b Node) bool {
	ka, kb := t.kind(a), t.kind(b)
	return ka != kb && (ka == trace.KindClient || ka == trace.KindServer) && (kb == trace.KindClient || kb == trace.KindServer) ||
		ka != kb && (t.flags(a)|t.flags(b))&trace.Shared != 0
}

// withID is the spans that have an id.
func (t *Tree) withID(id trace.SpanID) []Node {
	lo, hi := 0, len(t.ids)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); t.ids[mid].id < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for hi = lo; hi < len(t.ids) && t.ids[hi].id == id; {
		hi++
	}
	return t.byID[lo:hi]
}

// An identified is a span with its id.
type identified struct {
	id   trace.SpanID
	node Node
}

func (t *Tree) resolveParents() {
	t.Parent = t.Parent[:0]
	t.standing = t.standing[:0]
	for i := range t.Spans {
		n := Node(i)
		p, st := t.parentOf(n)
		t.Parent = append(t.Parent, p)
		t.standing = append(t.standing, st)
	}
}

// parentOf finds the span that n names as its parent. Where several bear the
// id: the client half of n itself; else the half in n's own service; else the
// one that n lies in; else the first.
func (t *Tree) parentOf(n Node) (Node, standing) {
	s := t.Store
	if t.kind(n) == trace.KindServer {
		same := t.withID(t.id(n))
		for _, c := range same[:min(len(same), maxNamesakes)] {
			if c != n && t.kind(c) == trace.KindClient {
				return c, inner
			}
		}
	}
	id := s.ParentID(t.Spans[n])
	if id == trace.NoSpanID {
		return NoNode, root
	}
	named := t.withID(id)
	best, rank := NoNode, -1
	for _, c := range named[:min(len(named), maxNamesakes)] {
		if c == n {
			continue
		}
		r := 0
		if t.service(c) == t.service(n) {
			r += 4
		}
		if t.kind(c) == trace.KindServer {
			r += 2
		}
		if v, w := t.Interval(c), t.Interval(n); v.Start <= w.Start && w.Start < v.End {
			r++
		}
		if r > rank {
			best, rank = c, r
		}
	}
	switch {
	case best != NoNode:
		return best, inner
	case len(named) > 0:
		t.defect(trace.SelfParent, n, "it names itself as its parent")
		return NoNode, unreachable
	}
	return NoNode, orphan
}

// maxNamesakes is how many spans of one id are compared for which of them is meant
// by it: two halves of a call, reported some times over.
const maxNamesakes = 64

// link builds the children lists. Spans are in order, so children are too.
func (t *Tree) link() {
	n := len(t.Spans)
	t.childStart = grow(t.childStart, n+1)
	clear(t.childStart)
	for _, p := range t.Parent {
		if p != NoNode {
			t.childStart[p+1]++
		}
	}
	for i := range n {
		t.childStart[i+1] += t.childStart[i]
	}
	t.children = grow(t.children, int(t.childStart[n]))
	fill := append(t.queue[:0], t.childStart[:n]...)
	for i, p := range t.Parent {
		if p != NoNode {
			t.children[fill[p]] = Node(i)
			fill[p]++
		}
	}
	t.queue = fill
}

// cutCycles finds what no root reaches: the spans of a cycle, and what hangs
// below one.
func (t *Tree) cutCycles() {
	const (
		unseen = iota
		seen
		walking
	)
	t.state = grow(t.state, len(t.Spans))
	clear(t.state)
	state := t.state
	t.queue = t.queue[:0]
	for i, st := range t.standing {
		if st == root || st == orphan {
			t.queue = append(t.queue, Node(i))
		}
	}
	reached := len(t.queue)
	for len(t.queue) > 0 {
		n := t.queue[len(t.queue)-1]
		t.queue = t.queue[:len(t.queue)-1]
		state[n] = seen
		reached += len(t.Children(n))
		t.queue = append(t.queue, t.Children(n)...)
	}
	if reached == len(t.Spans) {
		return
	}
	for i := range t.Spans {
		if state[i] != unseen {
			continue
		}
		// Walk up until a span met before: on this walk, it closes a cycle.
		n := Node(i)
		for n != NoNode && state[n] == unseen {
			state[n] = walking
			n = t.Parent[n]
		}
		if n != NoNode && state[n] == walking {
			for c := n; ; {
				t.defect(trace.Cycle, c, "it is its own ancestor")
				state[c] = seen
				if c = t.Parent[c]; c == n {
					break
				}
			}
		}
		for n = Node(i); n != NoNode && state[n] == walking; n = t.Parent[n] {
			state[n] = seen
			if t.standing[n] != unreachable { // a self-parent was told already
				t.defect(trace.Orphan, n, "it hangs below a span that is its own ancestor")
			}
		}
	}
	// Mark what was not reached.
	t.queue = t.queue[:0]
	ok := make([]bool, len(t.Spans))
	for i, st := range t.standing {
		if st == root || st == orphan {
			t.queue = append(t.queue, Node(i))
		}
	}
	for len(t.queue) > 0 {
		n := t.queue[len(t.queue)-1]
		t.queue = append(t.queue[:len(t.queue)-1], t.Children(n)...)
		ok[n] = true
	}
	for i := range ok {
		if !ok[i] {
			t.standing[i] = unreachable
		}
	}
}

// judge tells of missing roots and parents.
func (t *Tree) judge() {
	roots := 0
	t.orphans = 0
	for i, st := range t.standing {
		switch st {
		case root:
			roots++
		case orphan:
			t.orphans++
			t.defect(trace.Orphan, Node(i), "its parent was never received")
		}
	}
	switch {
	case roots == 0 && len(t.Spans) > 0:
		t.defect(trace.MissingRoot, NoNode, "no span is a root")
	case roots > 1:
		t.defect(trace.SeveralRoots, NoNode, "several spans are roots")
	}
}

// Entry is the span that a person means by the request of the trace: the
// earliest root, else the earliest span whose parent was never received; NoNode
// if there is neither.
func (t *Tree) Entry() Node {
	found := NoNode
	for i, st := range t.standing {
		if st == root {
			return Node(i)
		}
		if st == orphan && found == NoNode {
			found = Node(i)
		}
	}
	return found
}

// Incomplete reports whether a part of the trace is known to be missing.
func (t *Tree) Incomplete() bool {
	for _, d := range t.Defects {
		if d.Kind == trace.MissingRoot || d.Kind == trace.Orphan {
			return true
		}
	}
	return false
}

func (t *Tree) defect(kind trace.DefectKind, n Node, detail string) {
	t.Defects = append(t.Defects, Defect{kind, n, detail})
}

func (t *Tree) id(n Node) trace.SpanID           { return t.Store.ID(t.Spans[n]) }
func (t *Tree) kind(n Node) trace.Kind           { return t.Store.Kind(t.Spans[n]) }
func (t *Tree) flags(n Node) trace.Flags         { return t.Store.SpanFlags(t.Spans[n]) }
func (t *Tree) resource(n Node) trace.ResourceID { return t.Store.ResourceOf(t.Spans[n]) }
func (t *Tree) service(n Node) trace.StringID    { return t.Store.Resource(t.resource(n)).Service }
