package analysis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// A nodeStat is what one side says of a node.
type nodeStat struct {
	present  int64 // requests that have it
	of       int64 // requests in which its parent ran
	calls    int64
	squares  int64 // of the calls of each request, summed
	survived bool  // a request was completed though the call was not
	ns       []int64
	w        []float64
	start    []int64 // from the parent's start
	absolute map[graph.SlotID]bool

	// While counting: the absolute slot met last, and of the present request the
	// calls, and whether one succeeded.
	last graph.SlotID
	now  int64
	ok   bool
}

// structure fills the endpoint's work graph from the current side, and returns
// the ids of its nodes.
func (a *analyzer) structure(e *report.Endpoint, v *view) map[graph.SlotID]report.NodeID {
	cur := a.nodeStats(v, v.side())
	var base map[graph.SlotID]*nodeStat
	if b := v.Sides[summary.Baseline]; b != nil {
		base = a.nodeStats(v, b)
	}
	d := a.reading.Dict

	children := map[graph.SlotID][]graph.SlotID{}
	for slot := range cur {
		parent := d.SlotAt(slot).Parent
		if _, ok := cur[parent]; !ok {
			parent = graph.NoSlot
		}
		children[parent] = append(children[parent], slot)
	}
	for _, kids := range children {
		slices.SortFunc(kids, func(x, y graph.SlotID) int {
			return cmp.Or(cmp.Compare(median(cur[x].start), median(cur[y].start)), strings.Compare(d.Path(x), d.Path(y)))
		})
	}
	ids := map[graph.SlotID]report.NodeID{}
	var order []graph.SlotID
	stack := slices.Clone(children[graph.NoSlot])
	slices.Reverse(stack)
	for len(stack) > 0 {
		slot := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		ids[slot] = report.NodeID(len(order))
		order = append(order, slot)
		kids := children[slot]
		for i := len(kids) - 1; i >= 0; i-- {
			stack = append(stack, kids[i])
		}
	}
	branches := a.branches(v, v.side())
	for _, slot := range order {
		n := a.node(v, slot, ids, cur[slot], base)
		branches[slot].fill(&n)
		e.Structure.Nodes = append(e.Structure.Nodes, n)
	}
	for _, parent := range append([]graph.SlotID{graph.NoSlot}, order...) {
		if parent != graph.NoSlot {
			a.edges(e, v, children[parent], ids, cur)
			a.exclusions(e, v, children[parent], ids, cur)
		}
	}
	a.tooMany(e, children, ids)
	if len(order) > 0 {
		e.Structure.Expression = a.expression(v, order[0], &e.Structure, ids, children, cur)
	}
	a.differences(e, v, ids, order, cur, base)
	return ids
}

func median(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	return stats.Quantile(v, nil, 0.5)
}

func (a *analyzer) nodeStats(v *view, s *hypotheses.Side) map[graph.SlotID]*nodeStat {
	m := map[graph.SlotID]*nodeStat{}
	var bySlot []*nodeStat // the same
	var here []*nodeStat   // those of this request
	for _, q := range s.Counted {
		here = here[:0]
		w := weight(q.Weight)
		for i := range q.Calls {
			c := &q.Calls[i]
			slot := v.Relative(q, c.Slot)
			if int(slot) >= len(bySlot) {
				bySlot = append(bySlot, make([]*nodeStat, int(slot)+1-len(bySlot))...)
			}
			n := bySlot[slot]
			if n == nil {
				n = &nodeStat{absolute: map[graph.SlotID]bool{}, last: graph.NoSlot}
				m[slot], bySlot[slot] = n, n
			}
			if n.last != c.Slot {
				n.absolute[c.Slot], n.last = true, c.Slot
			}
			n.calls++
			if n.now == 0 {
				here = append(here, n)
			}
			n.now++
			n.ok = n.ok || c.OuterEnd() == graph.Succeeded
			n.ns = append(n.ns, c.Outer().Duration())
			n.w = append(n.w, w)
			if c.Parent >= 0 {
				n.start = append(n.start, int64(c.Outer().Start-q.Calls[c.Parent].Inner().Start))
			}
		}
		for _, n := range here {
			n.present++
			n.squares += n.now * n.now
			if q.Outcome == population.Completed && !n.ok {
				n.survived = true
			}
			n.now, n.ok = 0, false
		}
	}
	for slot, n := range m {
		if p := m[a.reading.Dict.SlotAt(slot).Parent]; p != nil {
			n.of = p.present
		} else {
			n.of = int64(len(s.Counted))
		}
	}
	return m
}

func (a *analyzer) node(v *view, slot graph.SlotID, ids map[graph.SlotID]report.NodeID, n *nodeStat, base map[graph.SlotID]*nodeStat) report.Node {
	s := a.reading.Dict.SlotAt(slot)
	r := report.Node{
		ID: ids[slot], Parent: report.NoNode, Service: a.shownService(s), Operation: a.shownOperation(s), Peer: a.peer(s), Kind: s.Kind.String(),
		Present: n.present, Of: n.of, Mode: report.SingleCall, MeanMultiplicity: report.Float(float64(n.calls) / float64(n.present)),
		Optional: n.survived, WaitedFor: true, Current: times(n),
	}
	if id, ok := ids[s.Parent]; ok {
		r.Parent = id
	}
	verdicts := v.side().Verdicts()
	async := int64(0)
	for abs := range n.absolute {
		w := verdicts.WaitedFor(abs)
		r.WaitedForRefuted += w.Refuted
		r.WaitedForHeld += w.Followed
		if w.Verdict == graph.Asynchronous {
			async++
		}
	}
	r.WaitedFor = async < int64(len(n.absolute))
	if n.calls > n.present {
		r.Mode = report.SerialRepeat
		if o := a.order(v, n, n); o.Verdict == graph.OrderRefuted {
			r.Mode = report.ParallelRepeat
		}
	}
	if base != nil {
		t := report.NodeTimes{P50Ms: report.Null, P99Ms: report.Null, MeanMs: report.Null}
		if b := base[slot]; b != nil {
			t = times(b)
		}
		r.Baseline = &t
	}
	return r
}

func times(n *nodeStat) report.NodeTimes {
	var sum, weights float64
	for i, ns := range n.ns {
		sum += float64(ns) * n.w[i]
		weights += n.w[i]
	}
	return report.NodeTimes{P50Ms: msOf(float64(stats.Quantile(n.ns, n.w, 0.5))), P99Ms: msOf(float64(stats.Quantile(n.ns, n.w, 0.99))), MeanMs: msOf(sum / weights)}
}

// order is what the set says of one node before another: of all slots that are
// these nodes.
func (a *analyzer) order(v *view, x, y *nodeStat) graph.Order {
	return orderIn(v.side().Verdicts(), a.reading.Dict, x, y)
}

func orderIn(verdicts *graph.Verdicts, d *graph.Dict, x, y *nodeStat) graph.Order {
	sum, gaps := countsIn(verdicts, d, x, y)
	if len(gaps) == 1 {
		sum.Gaps = gaps[0] // not to be added to
		return sum
	}
	for i := range gaps {
		sum.Gaps.Merge(&gaps[i])
	}
	return sum
}

// orderCounts is order without the gaps.
func (a *analyzer) orderCounts(v *view, x, y *nodeStat) graph.Order {
	sum, _ := countsIn(v.side().Verdicts(), a.reading.Dict, x, y)
	return sum
}

func countsIn(verdicts *graph.Verdicts, d *graph.Dict, x, y *nodeStat) (sum graph.Order, gaps []graph.Sketch) {
	for ax := range x.absolute {
		for ay := range y.absolute {
			if d.SlotAt(ax).Parent != d.SlotAt(ay).Parent || x == y && ax != ay {
				continue
			}
			o := verdicts.Order(ax, ay)
			sum.Held += o.Held
			sum.Refuted += o.Refuted
			if o.Gaps.N() > 0 {
				gaps = append(gaps, o.Gaps)
			}
			sum.Verdict = max(sum.Verdict, o.Verdict)
		}
	}
	return sum, gaps
}

// edges lists the orders between siblings that are held, or that nothing
// refutes; those that follow from two others are left out.
func (a *analyzer) edges(e *report.Endpoint, v *view, kids []graph.SlotID, ids map[graph.SlotID]report.NodeID, cur map[graph.SlotID]*nodeStat) {
	n := len(kids)
	if n < 2 || n > maxEdges {
		return
	}
	first := len(e.Structure.Edges)
	kept := make([]bool, n*n)
	orders := make([]graph.Order, n*n)
	for i := range n {
		for j := range n {
			if i != j {
				o := a.order(v, cur[kids[i]], cur[kids[j]])
				orders[i*n+j] = o
				kept[i*n+j] = o.Held > 0 && o.Verdict != graph.OrderRefuted
			}
		}
	}
	for i := range n {
		for j := range n {
			if !kept[i*n+j] || kept[j*n+i] { // both directions: repeats in turn, no order between them
				continue
			}
			implied := false
			for k := range n {
				implied = implied || k != i && k != j && kept[i*n+k] && kept[k*n+j] && !kept[k*n+i] && !kept[j*n+k]
			}
			if !implied {
				o := &orders[i*n+j]
				e.Structure.Edges = append(e.Structure.Edges, report.Edge{From: ids[kids[i]], To: ids[kids[j]], Held: o.Held, Refuted: o.Refuted, GapP50Ms: msOf(o.Gaps.Quantile(0.5))})
			}
		}
	}
	v.follow(e.Structure.Edges[first:], a.reading.Dict.SlotAt(kids[0]).Parent, kids, ids)
}

// maxEdges is how many siblings are compared for the reduction, whose cost is
// their number to the third power.
const maxEdges = 256

// always is the share of its parent's requests from which on a call counts as
// made in all of them: one span in a hundred may be lost on its way, and a call
// has two.
const always = 0.97

// maxTerms is how many terms an expression spells out.
const maxTerms = 60

// expression is the structure of the entry's own calls: what is serial is added,
// what is parallel is the maximum of. Where the entry does no more than to call one
// other, the structure of that one follows in brackets.
func (a *analyzer) expression(v *view, root graph.SlotID, s *report.Structure, ids map[graph.SlotID]report.NodeID, children map[graph.SlotID][]graph.SlotID, cur map[graph.SlotID]*nodeStat) string {
	var text strings.Builder
	closing := 0
	for {
		terms, only := a.terms(v, children[root], s, ids, cur)
		text.WriteString(strings.Join(append([]string{"own"}, terms...), " + "))
		if only == graph.NoSlot || len(children[only]) == 0 || closing == maxNested {
			break
		}
		text.WriteString(" (")
		closing++
		root = only
	}
	return text.String() + strings.Repeat(")", closing)
}

// maxNeighbours is how many calls of a group are asked whether they are before the
// next one.
const maxNeighbours = 64

// maxNested is how many calls deep an expression goes.
const maxNested = 4

// terms are those of the calls of one node; only is the call of a node that waits
// for no other, else NoSlot.
func (a *analyzer) terms(v *view, kids []graph.SlotID, s *report.Structure, ids map[graph.SlotID]report.NodeID, cur map[graph.SlotID]*nodeStat) (terms []string, only graph.SlotID) {
	// A group is calls of which none is surely before another: calls at once, or
	// calls that exclude each other and so take their turns.
	type group struct {
		calls []graph.SlotID
		turns bool
	}
	var groups []group
	left := 0
	w := v.side().Verdicts()
	for _, k := range kids {
		async := true
		for abs := range cur[k].absolute {
			async = async && w.WaitedFor(abs).Verdict == graph.Asynchronous
		}
		if async {
			continue
		}
		if len(groups) >= maxTerms {
			left++
			continue
		}
		joined := false
		if n := len(groups); n > 0 {
			last := &groups[n-1]
			apart := 0
			for _, m := range last.calls[max(0, len(last.calls)-maxNeighbours):] {
				o := a.orderCounts(v, cur[m], cur[k])
				if joined = joined || o.Held == 0 || o.Verdict == graph.OrderRefuted; !joined {
					continue
				}
				if !exclusive(s, ids[m], ids[k]) {
					break
				}
				apart++
			}
			if joined {
				last.turns = apart == len(last.calls) && (len(last.calls) == 1 || last.turns)
				last.calls = append(last.calls, k)
			}
		}
		if !joined {
			groups = append(groups, group{calls: []graph.SlotID{k}})
		}
	}
	name := func(slot graph.SlotID) string {
		n := a.shownOperation(a.reading.Dict.SlotAt(slot))
		st := cur[slot]
		if st.calls > st.present {
			if a.order(v, st, st).Verdict == graph.OrderRefuted {
				n = "max(" + n + " × " + short(float64(st.calls)/float64(st.present)) + ")"
			} else {
				n += " × " + short(float64(st.calls)/float64(st.present))
			}
		}
		if float64(st.present) < always*float64(st.of) {
			n += "?"
		}
		return n
	}
	only = graph.NoSlot
	for _, g := range groups {
		if len(g.calls) == 1 {
			terms = append(terms, name(g.calls[0]))
			only = g.calls[0]
			continue
		}
		var names []string
		for _, k := range g.calls[:min(len(g.calls), maxTerms)] {
			names = append(names, name(k))
		}
		if n := len(g.calls) - maxTerms; n > 0 {
			names = append(names, strconv.Itoa(n)+" more")
		}
		word := "max("
		if g.turns {
			word = "in turn("
		}
		terms = append(terms, word+strings.Join(names, ", ")+")")
	}
	if left > 0 {
		terms = append(terms, strconv.Itoa(left)+" more")
	}
	if len(terms) != 1 {
		only = graph.NoSlot
	}
	return terms, only
}
