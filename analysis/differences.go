package analysis

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// minHop is the share of requests by which a call must have come or gone to
// count as a difference of structure.
const minHop = 0.05

// minWider is the factor by which the calls per parent must have changed.
const minWider = 1.15

// differences names what is not the same in the structures of both sides.
func (a *analyzer) differences(e *report.Endpoint, v *view, ids map[graph.SlotID]report.NodeID, order []graph.SlotID, cur, base map[graph.SlotID]*nodeStat) {
	if base == nil || v.Pair == nil {
		return
	}
	d := a.reading.Dict
	share := func(n *nodeStat) float64 {
		if n == nil || n.of == 0 {
			return 0
		}
		return float64(n.present) / float64(n.of)
	}
	add := func(kind report.DifferenceKind, slot graph.SlotID, was, is float64, detail string) {
		s := d.SlotAt(slot)
		row := report.Difference{Kind: kind, Node: report.NoNode, Service: a.shownService(s), Operation: a.shownOperation(s), Detail: detail, Baseline: report.Some(was), Current: report.Some(is)}
		if id, ok := ids[slot]; ok {
			row.Node = id
		}
		e.Structure.Differences = append(e.Structure.Differences, row)
	}
	var came, lost []graph.SlotID
	for _, slot := range order {
		n, b := cur[slot], base[slot]
		if parent := d.SlotAt(slot).Parent; parent != graph.NoSlot && base[parent] == nil {
			continue // it came with its parent
		}
		if share(n)-share(b) >= minHop && share(b) < 0.5*share(n) && sure(n, b) {
			came = append(came, slot)
		}
	}
	for slot := range base {
		if parent := d.SlotAt(slot).Parent; parent != graph.NoSlot && cur[parent] == nil {
			continue
		}
		if n := cur[slot]; share(base[slot])-share(n) >= minHop && share(n) < 0.5*share(base[slot]) && sure(base[slot], n) {
			lost = append(lost, slot)
		}
	}
	slices.SortFunc(lost, func(x, y graph.SlotID) int { return strings.Compare(d.Path(x), d.Path(y)) })
	was := a.renamed(came, lost, cur, base)
	isNew, wasNamed := map[graph.SlotID]bool{}, map[graph.SlotID]bool{}
	for _, slot := range came {
		isNew[slot] = true
	}
	for _, old := range was {
		wasNamed[old] = true
	}
	for _, slot := range order {
		n, b := cur[slot], base[slot]
		switch old, renamed := was[slot]; {
		case renamed:
			add(report.Renamed, slot, share(base[old]), share(n), "same place, same callee; the name differs")
			e.Structure.Differences[len(e.Structure.Differences)-1].Was = a.shownOperation(d.SlotAt(old))
			b = base[old]
		case isNew[slot]:
			add(report.NewHop, slot, share(b), share(n), "")
			continue
		case b == nil:
			continue // it came with its parent, or is too rare to tell
		}
		old, now := float64(b.calls)/float64(max(b.of, 1)), float64(n.calls)/float64(max(n.of, 1))
		switch {
		case math.Abs(now-old) <= certain*math.Sqrt(b.variance()+n.variance()):
		case now > old*minWider && n.calls > n.present:
			add(report.Wider, slot, old, now, "calls per request of its parent")
		case old > now*minWider && b.calls > b.present:
			add(report.Narrower, slot, old, now, "calls per request of its parent")
		}
	}
	for _, slot := range lost {
		if !wasNamed[slot] {
			add(report.LostHop, slot, share(base[slot]), share(cur[slot]), "")
		}
	}
	for _, r := range a.reading.Renames {
		if n, b := cur[r.To], base[r.To]; n != nil && b != nil {
			add(report.Renamed, r.To, share(b), share(n), "was "+a.shownOperation(d.SlotAt(r.From)))
		}
	}
	a.waits(v, order, cur, base, add)
	for _, r := range v.Reorders() {
		kind := report.Parallelized
		if r.Serial {
			kind = report.Serialized
		}
		names := make([]string, len(r.Slots))
		for i, k := range r.Slots {
			names[i] = a.shownOperation(d.SlotAt(k))
		}
		slices.Sort(names)
		add(kind, r.Parent, r.Was, r.Is, "calls concerned: "+strings.Join(names, ", "))
	}
}

// waits tells of calls that the callers of one side wait for and those of the
// other do not, or give up on.
func (a *analyzer) waits(v *view, order []graph.SlotID, cur, base map[graph.SlotID]*nodeStat, add func(report.DifferenceKind, graph.SlotID, float64, float64, string)) {
	for _, slot := range order {
		n, b := cur[slot], base[slot]
		if b == nil || a.reading.Dict.SlotAt(slot).Parent == graph.NoSlot {
			continue
		}
		was, is := waitedIn(v.Sides[summary.Baseline], b), waitedIn(v.side(), n)
		if was.Verdict == is.Verdict || was.N == 0 || is.N == 0 {
			continue
		}
		x, y := float64(was.Refuted)/float64(was.N), float64(is.Refuted)/float64(is.N)
		p := float64(was.Refuted+is.Refuted) / float64(was.N+is.N)
		if math.Abs(x-y) <= certain*math.Sqrt(p*(1-p)*(1/float64(was.N)+1/float64(is.N))) {
			continue
		}
		text := map[graph.WaitedVerdict]string{graph.WaitedUndecided: "waited for", graph.WaitedHeld: "waited for", graph.Asynchronous: "not waited for", graph.Abandoned: "waited for, and given up on now and then"}
		if text[was.Verdict] != text[is.Verdict] {
			add(report.WaitChanged, slot, x, y, "was "+text[was.Verdict]+"; is "+text[is.Verdict])
		}
	}
}

// waitedIn is what a side says of who waits for a node: of all slots that are it.
func waitedIn(s *hypotheses.Side, n *nodeStat) graph.WaitedFor {
	var sum graph.WaitedFor
	first := true
	for abs := range n.absolute {
		w := s.Verdicts().WaitedFor(abs)
		sum.N += w.N
		sum.Refuted += w.Refuted
		if first || w.Verdict < sum.Verdict { // waited for by anyone is waited for
			sum.Verdict = w.Verdict
		}
		first = false
	}
	return sum
}

// certain is how many standard errors a difference of structure must have.
const certain = 3

// sure reports whether the share of requests with a call differs by more than
// chance makes it; b is nil where no request has it. What all requests of one
// side do and none of the other needs no more of them.
func sure(n, b *nodeStat) bool {
	if b == nil {
		b = &nodeStat{of: n.of}
	}
	if n.present == n.of && b.present == 0 {
		return true
	}
	x, y := float64(n.of), float64(max(b.of, 1))
	p := (float64(n.present) + float64(b.present)) / (x + y)
	return float64(n.present)/x-float64(b.present)/y > certain*math.Sqrt(p*(1-p)*(1/x+1/y))
}

// variance is that of the mean number of calls per request of the parent.
func (n *nodeStat) variance() float64 {
	of := float64(max(n.of, 1))
	mean := float64(n.calls) / of
	return max(0, float64(n.squares)/of-mean*mean) / of
}

// maxRenames is how many pairs of a call that came and one that went are compared:
// where there are more, names hold ids and come and go by themselves.
const maxRenames = 10_000

// minAlike is the share of the calls below two nodes that must be the same for
// one to be the other under a new name.
const minAlike = 0.5

// renamed finds which of the calls that came are calls that went, under another
// name: calls of one parent to one party, made as often, that call the same
// below. Where several are alike, the one whose frequency is nearest is it.
func (a *analyzer) renamed(came, lost []graph.SlotID, cur, base map[graph.SlotID]*nodeStat) map[graph.SlotID]graph.SlotID {
	d := a.reading.Dict
	out := map[graph.SlotID]graph.SlotID{}
	if len(came)*len(lost) > maxRenames {
		return out
	}
	taken := map[graph.SlotID]bool{}
	often := func(n *nodeStat) float64 { return float64(n.calls) / float64(max(n.of, 1)) }
	for _, n := range came {
		s := d.SlotAt(n)
		best, found := graph.NoSlot, false
		distance := 0.0
		for _, l := range lost {
			o := d.SlotAt(l)
			if taken[l] || o.Parent != s.Parent || o.Kind != s.Kind || o.Callee.Service != s.Callee.Service || o.Peer != s.Peer || o.Caller.Service != s.Caller.Service {
				continue
			}
			f, g := often(cur[n]), often(base[l])
			if f > 2*g || g > 2*f || !a.alike(n, l, cur, base) {
				continue
			}
			if x := math.Abs(f - g); !found || x < distance {
				best, found, distance = l, true, x
			}
		}
		if found {
			out[n], taken[best] = best, true
		}
	}
	return out
}

// alike reports whether two nodes call the same: of the names that either calls,
// both call minAlike.
func (a *analyzer) alike(n, l graph.SlotID, cur, base map[graph.SlotID]*nodeStat) bool {
	d := a.reading.Dict
	below := func(parent graph.SlotID, m map[graph.SlotID]*nodeStat) map[trace.Endpoint]bool {
		names := map[trace.Endpoint]bool{}
		for slot := range m {
			if s := d.SlotAt(slot); s.Parent == parent {
				names[s.Shown()] = true
			}
		}
		return names
	}
	x, y := below(n, cur), below(l, base)
	both := 0
	for e := range x {
		if y[e] {
			both++
		}
	}
	return float64(both) >= minAlike*float64(len(x)+len(y)-both)
}

// short is a number with at most one decimal.
func short(f float64) string { return strconv.FormatFloat(float64(int(f*10+0.5))/10, 'f', -1, 64) }
