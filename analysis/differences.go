package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
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
	a.serialized(v, order, cur, base, add)
}

// serialized finds parents some of whose calls ran side by side on one side and
// in turn on the other.
func (a *analyzer) serialized(v *view, order []graph.SlotID, cur, base map[graph.SlotID]*nodeStat, add func(report.DifferenceKind, graph.SlotID, float64, float64, string)) {
	d := a.reading.Dict
	was, is := v.Sides[summary.Baseline].Set.Calibration.Verdicts, v.Sides[summary.Current].Set.Calibration.Verdicts
	inTurn := func(verdicts *graph.Verdicts, x, y *nodeStat) (serial, parallel bool, share float64) {
		o, r := orderIn(verdicts, d, x, y), orderIn(verdicts, d, y, x)
		n := o.Held + o.Refuted
		if n == 0 {
			return false, false, 0
		}
		if x == y {
			return o.Verdict == graph.OrderHeld, o.Verdict == graph.OrderRefuted, float64(o.Held) / float64(n)
		}
		m := r.Held + r.Refuted
		return o.Verdict == graph.OrderHeld || r.Verdict == graph.OrderHeld, o.Verdict == graph.OrderRefuted && r.Verdict == graph.OrderRefuted,
			max(float64(o.Held)/float64(n), float64(r.Held)/float64(max(m, 1)))
	}
	type change struct {
		kind    report.DifferenceKind
		was, is float64
		names   []string
	}
	for _, parent := range order {
		found := map[report.DifferenceKind]*change{}
		var kids []graph.SlotID
		for _, k := range order {
			if d.SlotAt(k).Parent == parent && base[k] != nil {
				kids = append(kids, k)
			}
		}
		if len(kids) > maxEdges {
			continue
		}
		for i, x := range kids {
			for _, y := range kids[i:] {
				if x == y && (cur[x].calls == cur[x].present || base[x].calls == base[x].present) {
					continue
				}
				serialWas, parallelWas, shareWas := inTurn(was, base[x], base[y])
				serialIs, parallelIs, shareIs := inTurn(is, cur[x], cur[y])
				var kind report.DifferenceKind
				switch {
				case parallelWas && serialIs:
					kind = report.Serialized
				case serialWas && parallelIs:
					kind = report.Parallelized
				default:
					continue
				}
				c := found[kind]
				if c == nil {
					c = &change{kind: kind, was: shareWas, is: shareIs}
					found[kind] = c
				}
				for _, k := range []graph.SlotID{x, y} {
					if n := a.shownOperation(d.SlotAt(k)); !slices.Contains(c.names, n) {
						c.names = append(c.names, n)
					}
				}
			}
		}
		for _, kind := range []report.DifferenceKind{report.Serialized, report.Parallelized} {
			if c := found[kind]; c != nil {
				add(kind, parent, c.was, c.is, fmt.Sprintf("calls concerned: %s", strings.Join(c.names, ", ")))
			}
		}
	}
}

// short is a number with at most one decimal.
func short(f float64) string { return strconv.FormatFloat(float64(int(f*10+0.5))/10, 'f', -1, 64) }
