package analysis

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
)

// This file asks of siblings what the counts of their orders leave open: whether
// two that never overlap exclude each other, and whether what comes after another
// follows from its end.

const (
	// maxOverlap is the share of requests in which calls that exclude each other may
	// overlap: clocks lie now and then.
	maxOverlap = 0.01
	// minExclusive is how many overlaps chance must give where there are none.
	minExclusive = 10
	// minEachOrder is how many requests must show each of the two orders.
	minEachOrder = 5
	// maxRelated is how many requests, evenly spread, are asked.
	maxRelated = 1000
	// minFollows is how many gaps tell whether a call follows another's end.
	minFollows = 20
)

// A family is the calls of one parent in one request, by node.
type family struct {
	parent int64 // how long the parent's half ran, ns
	calls  map[graph.SlotID]span
}

// A span is when the calls of a node began and ended, and how many there were.
type span struct {
	from, to int64
	n        int
}

// families are those of the children of a node, in requests evenly spread. All
// nodes' are found at once, when the first is asked for.
func (v *view) families(parent graph.SlotID) []family {
	if v.related != nil {
		return v.related[parent]
	}
	v.related = map[graph.SlotID][]family{}
	counted := v.side().Counted
	stride := max(1, (len(counted)+maxRelated-1)/maxRelated)
	for i := 0; i < len(counted); i += stride {
		q := counted[i]
		for p := range q.Calls {
			if q.Calls[p].Len < 3 {
				continue
			}
			f := family{parent: q.Calls[p].Inner().Duration(), calls: map[graph.SlotID]span{}}
			for k := int32(p) + 1; k < int32(p)+q.Calls[p].Len; k += q.Calls[k].Len {
				c := &q.Calls[k]
				if c.Flags&(graph.Async|graph.Loser) != 0 {
					continue
				}
				slot := v.Relative(q, c.Slot)
				from, to := int64(c.Outer().Start-q.Start()), int64(c.Outer().End-q.Start())
				if s, ok := f.calls[slot]; ok {
					f.calls[slot] = span{min(s.from, from), max(s.to, to), s.n + 1}
				} else {
					f.calls[slot] = span{from, to, 1}
				}
			}
			if len(f.calls) > 1 {
				slot := v.Relative(q, q.Calls[p].Slot)
				v.related[slot] = append(v.related[slot], f)
			}
		}
	}
	return v.related[parent]
}

// exclusions finds the siblings that never overlap, in either order, though by
// chance they would.
func (a *analyzer) exclusions(e *report.Endpoint, v *view, kids []graph.SlotID, ids map[graph.SlotID]report.NodeID, cur map[graph.SlotID]*nodeStat) {
	n := len(kids)
	if n < 2 || n > maxEdges {
		return
	}
	var families []family
	for i := range n {
		for j := i + 1; j < n; j++ {
			x, y := kids[i], kids[j]
			there, back := a.orderCounts(v, cur[x], cur[y]), a.orderCounts(v, cur[y], cur[x])
			both := min(there.Held+there.Refuted, back.Held+back.Refuted)
			if there.Held < minEachOrder || back.Held < minEachOrder || there.Verdict != graph.OrderRefuted || back.Verdict != graph.OrderRefuted ||
				float64(there.Held+back.Held) < (1-maxOverlap)*float64(both) || a.heldByKind(v, cur[x], cur[y]) {
				continue
			}
			if families == nil {
				families = v.families(a.reading.Dict.SlotAt(x).Parent)
			}
			overlaps, seen, chance := 0, 0, 0.0
			for _, f := range families {
				p, ok := f.calls[x]
				q, also := f.calls[y]
				if !ok || !also || p.n > 1 || q.n > 1 || f.parent <= 0 {
					continue
				}
				seen++
				if p.from < q.to && q.from < p.to {
					overlaps++
				}
				// Of two that begin anywhere in their parent, this share overlap.
				chance += min(1, float64(p.to-p.from+q.to-q.from)/float64(f.parent))
			}
			if chance >= minExclusive && float64(overlaps) <= maxOverlap*float64(seen) {
				e.Structure.Exclusions = append(e.Structure.Exclusions, report.Exclusion{A: ids[x], B: ids[y], AFirst: there.Held, BFirst: back.Held,
					Overlaps: max(0, both-there.Held-back.Held), ByChance: report.Float(chance / float64(max(seen, 1)) * float64(both))})
			}
		}
	}
}

// heldByKind reports whether some kind of request has the two in one order: then
// kinds differ, and nothing excludes anything.
func (a *analyzer) heldByKind(v *view, x, y *nodeStat) bool {
	all := v.side().Set.Calibration.Verdicts
	for ax := range x.absolute {
		for ay := range y.absolute {
			if all.HeldByKind(ax, ay) || all.HeldByKind(ay, ax) {
				return true
			}
		}
	}
	return false
}

// exclusive reports whether two nodes were found to exclude each other.
func exclusive(s *report.Structure, x, y report.NodeID) bool {
	return slices.ContainsFunc(s.Exclusions, func(e report.Exclusion) bool { return e.A == x && e.B == y || e.A == y && e.B == x })
}

// follow says of each kept order whether the later call follows from the earlier
// one's end: of the requests in which that one ended last of all that come before.
func (v *view) follow(edges []report.Edge, parent graph.SlotID, kids []graph.SlotID, ids map[graph.SlotID]report.NodeID) {
	if len(edges) == 0 {
		return
	}
	slot := map[report.NodeID]graph.SlotID{}
	for _, k := range kids {
		slot[ids[k]] = k
	}
	into := map[report.NodeID][]int{} // edges by where they lead
	for i, x := range edges {
		into[x.To] = append(into[x.To], i)
	}
	gaps, before := make([][]int64, len(edges)), make([][]int64, len(edges))
	for _, f := range v.families(parent) {
		for to, list := range into {
			t, ok := f.calls[slot[to]]
			if !ok {
				continue
			}
			last, end := -1, int64(0)
			for _, i := range list {
				if s, ok := f.calls[slot[edges[i].From]]; ok && (last < 0 || s.to > end) {
					last, end = i, s.to
				}
			}
			if last < 0 {
				continue
			}
			s := f.calls[slot[edges[last].From]]
			gaps[last] = append(gaps[last], t.from-s.to)
			before[last] = append(before[last], s.to-s.from)
		}
	}
	for i := range edges {
		x := &edges[i]
		x.GapP10Ms, x.GapP90Ms = report.Null, report.Null
		if len(gaps[i]) < minFollows {
			continue
		}
		lo, hi := stats.Quantile(gaps[i], nil, 0.1), stats.Quantile(gaps[i], nil, 0.9)
		x.GapP10Ms, x.GapP90Ms = report.Ms(lo), report.Ms(hi)
		switch follows, alone := hypotheses.FollowsEnd(before[i], gaps[i], certain); {
		case follows:
			x.Follows = report.Some(1)
		case alone:
			x.Follows = report.Some(0)
		}
	}
}

// ownOrders makes the structures of an endpoint's rows speak of their own requests'
// orders. A request is of one class and of one shape: those of one class and one
// shape are counted once, for both rows.
func (a *analyzer) ownOrders(v *view, rows []*view, kinds []kind) {
	type cell struct{ class, shape int } // rows; -1: of none
	for i, s := range v.Sides {
		if s == nil {
			continue
		}
		cells := make([]cell, len(s.Counted))
		for j := range cells {
			cells[j] = cell{-1, -1}
		}
		for n, row := range rows {
			at := 0
			for _, q := range row.Sides[i].Counted { // in the order of the whole
				for s.Counted[at] != q {
					at++
				}
				if kinds[n].shape != "" {
					cells[at].shape = n
				} else {
					cells[at].class = n
				}
			}
		}
		folders := map[cell]*graph.Folder{}
		for j, c := range cells {
			f := folders[c]
			if f == nil {
				f = &graph.Folder{Fold: graph.NewFold(), Dict: a.reading.Dict}
				folders[c] = f
			}
			if len(folders) > maxCells {
				break
			}
			f.Calls(s.Counted[j].Record)
		}
		same := a.reading.Dict.Same()
		for n, row := range rows {
			own := row.Sides[i]
			fold := graph.NewFold()
			if len(folders) > maxCells {
				f := &graph.Folder{Fold: fold, Dict: a.reading.Dict}
				for _, q := range own.Counted {
					f.Calls(q.Record)
				}
			} else {
				for c, f := range folders {
					if c.class == n || c.shape == n {
						fold.Merge(f.Fold, same)
					}
				}
			}
			own.Orders = graph.NewVerdicts(a.reading.Dict, fold, own.Set.Calibration.Verdicts.Clocks)
		}
	}
}

// maxCells is how many classes of shapes are counted apart: each takes memory.
const maxCells = 16

// tooMany says of which parents not all calls were compared with each other.
func (a *analyzer) tooMany(e *report.Endpoint, children map[graph.SlotID][]graph.SlotID, ids map[graph.SlotID]report.NodeID) {
	var wide []report.NodeID
	for parent, kids := range children {
		if id, ok := ids[parent]; ok && len(kids) > maxEdges {
			wide = append(wide, id)
		}
	}
	slices.SortFunc(wide, func(x, y report.NodeID) int { return cmp.Compare(x, y) })
	for _, id := range wide {
		n := &e.Structure.Nodes[id]
		n.Warnings = append(n.Warnings, "It makes more than 256 different calls: only neighbours are compared with each other, and no orders are drawn. Names that hold ids do this, of which more than 1,000 are folded; names in tailscope.yaml join them")
	}
}
