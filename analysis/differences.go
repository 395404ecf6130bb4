package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/report"
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
	for _, slot := range order {
		n, b := cur[slot], base[slot]
		if parent := d.SlotAt(slot).Parent; parent != graph.NoSlot && base[parent] == nil {
			continue // it came with its parent
		}
		if b == nil || share(n)-share(b) >= minHop && share(b) < 0.5*share(n) {
			add(report.NewHop, slot, share(b), share(n), "")
			continue
		}
		was, is := float64(b.calls)/float64(max(b.of, 1)), float64(n.calls)/float64(max(n.of, 1))
		switch {
		case is > was*minWider && n.calls > n.present:
			add(report.Wider, slot, was, is, "calls per request of its parent")
		case was > is*minWider && b.calls > b.present:
			add(report.Narrower, slot, was, is, "calls per request of its parent")
		}
	}
	var lost []graph.SlotID
	for slot := range base {
		if parent := d.SlotAt(slot).Parent; parent != graph.NoSlot && cur[parent] == nil {
			continue
		}
		if n := cur[slot]; n == nil || share(base[slot])-share(n) >= minHop && share(n) < 0.5*share(base[slot]) {
			lost = append(lost, slot)
		}
	}
	slices.SortFunc(lost, func(x, y graph.SlotID) int { return strings.Compare(d.Path(x), d.Path(y)) })
	for _, slot := range lost {
		add(report.LostHop, slot, share(base[slot]), share(cur[slot]), "")
	}
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

// short is a number with at most one decimal.
func short(f float64) string { return strconv.FormatFloat(float64(int(f*10+0.5))/10, 'f', -1, 64) }
