package page

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// node names a node of the structure.
func (b *builder) node(e *report.Endpoint, id report.NodeID) string {
	if id < 0 || int(id) >= len(e.Structure.Nodes) {
		return "elsewhere"
	}
	n := &e.Structure.Nodes[id]
	return b.call(n.Service, n.Peer, n.Operation)
}

// depths are the levels of the nodes, the root's 0. Parents stand before their children.
func depths(nodes []report.Node) []int {
	d := make([]int, len(nodes))
	for i, n := range nodes {
		if n.Parent >= 0 && int(n.Parent) < i {
			d[i] = d[n.Parent] + 1
		}
	}
	return d
}

// structure shows which calls are serial, which parallel, which waited for, and what share of the tail each has.
func (b *builder) structure(r *report.Report, e *report.Endpoint) {
	s := &e.Structure
	if len(s.Nodes) == 0 {
		return
	}
	b.heading(3, plain("Structure"))
	if s.Expression != "" {
		t := Text{plainf("%s", b.prose(s.Expression))}
		b.add(Para{Text: append(t, b.marks(s.Warnings)...)})
	}
	of := map[report.NodeID]float64{}
	whole := 0.0
	for _, a := range e.Allocation {
		if a.Node >= 0 && a.Quantile == r.Run.Quantile {
			of[a.Node] += a.CurrentMs.Or(0)
		}
	}
	if q := e.Of(r.Run.Quantile); q != nil {
		whole = q.CurrentMs.Or(0)
	}
	var values []report.Num
	for _, n := range s.Nodes {
		values = append(values, n.Current.P50Ms, n.Current.P99Ms)
		if n.Baseline != nil {
			values = append(values, n.Baseline.P99Ms)
		}
	}
	sc := scaleOf(0, values...)
	name := quantileName(r.Run.Quantile)
	comparison := r.Comparison()
	t := Table{Columns: []Column{{Head: "call", Shrink: true}, {Head: "of " + name, Right: true}, {Head: "p50, " + sc.unit, Right: true}, {Head: "p99", Right: true}}}
	if comparison {
		t.Columns = append(t.Columns, Column{Head: "p99 before", Right: true})
	}
	t.Columns = append(t.Columns, Column{Head: "in", Right: true}, Column{Head: "how", Wrap: true})
	depth := depths(s.Nodes)
	for i := range s.Nodes[:min(len(s.Nodes), treeRows)] {
		n := &s.Nodes[i]
		first := cell(b.call(n.Service, n.Peer, n.Operation))
		first.Text = append(first.Text, b.marks(n.Warnings)...)
		pc := "?"
		if whole > 0 {
			pc = prose.Decimal(100*of[n.ID]/whole, 1) + " %"
		}
		present := "?"
		if n.Of > 0 {
			present = prose.Percent(float64(n.Present) / float64(n.Of))
		}
		row := Row{Depth: depth[i], Cells: []Cell{first, cell(pc), b.num(sc.num(n.Current.P50Ms)), b.num(sc.num(n.Current.P99Ms))}}
		if comparison {
			before := "?"
			if n.Baseline != nil {
				before = sc.num(n.Baseline.P99Ms)
			}
			row.Cells = append(row.Cells, b.num(before))
		}
		row.Cells = append(row.Cells, b.num(present), cell(how(n)))
		t.Rows = append(t.Rows, row)
	}
	if n := len(s.Nodes) - treeRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "call", len(t.Columns)))
	}
	b.add(t)
	b.optional(e)
	b.add(Para{Text: Text{dim(fmt.Sprintf("of %s: share of the time of %s requests. Durations are per call and without intervals. Calls are waited for unless said.", name, name))}, Tight: true})
	b.orders(e)
	b.exclusions(e)
	b.differences(e)
}

// optionalRows is how many optional calls get a sentence.
const optionalRows = 5

// optional says of which calls the answer does not depend, and how long they are waited for all the same.
func (b *builder) optional(e *report.Endpoint) {
	told, more := 0, 0
	for i := range e.Structure.Nodes {
		n := &e.Structure.Nodes[i]
		ms, ok := n.WaitedUpToMs.Get()
		if !n.Optional || !n.WaitedFor || n.Parent < 0 || !ok {
			continue
		}
		if told == optionalRows {
			more++
			continue
		}
		told++
		s := scaleOf(0, report.Some(ms))
		b.add(Para{Text: Text{plainf("%s is optional and still waited for, up to %s %s.", b.call(n.Service, n.Peer, n.Operation), s.num(report.Some(ms)), s.unit)}, Tight: true})
	}
	if more > 0 {
		b.add(Para{Text: Text{dim(fmt.Sprintf("%d more calls are optional and still waited for.", more))}, Tight: true})
	}
}

// exclusions lists siblings that never run at once, in either order.
func (b *builder) exclusions(e *report.Endpoint) {
	list := e.Structure.Exclusions
	for i := range list[:min(len(list), tableRows)] {
		x := &list[i]
		b.para(plainf("%s and %s never run at once: the first came first in %s requests, the second in %s, and they overlapped in %s where chance would give %s. Something lets one of them through at a time.",
			b.node(e, x.A), b.node(e, x.B), count(x.AFirst), count(x.BFirst), count(x.Overlaps), count(int64(x.ByChance+0.5))))
	}
	if n := len(list) - tableRows; n > 0 {
		b.para(dim(fmt.Sprintf("%d more pairs never run at once.", n)))
	}
}

// orders lists which sibling ends before which begins, with what speaks for it. Siblings without an order between
// them ran side by side.
func (b *builder) orders(e *report.Endpoint) {
	edges := e.Structure.Edges
	if len(edges) == 0 {
		return
	}
	var values []report.Num
	for _, x := range edges {
		values = append(values, x.GapP50Ms)
	}
	s := scaleOf(0, values...)
	t := Table{Columns: []Column{{Head: "ends first", Shrink: true}, {Head: "then begins", Shrink: true}, {Head: "held in", Right: true}, {Head: "refuted in", Right: true}, {Head: "gap p50, " + s.unit, Right: true}}}
	told := slices.ContainsFunc(edges, func(x report.Edge) bool { return x.Follows.Known() })
	if told {
		t.Columns = append(t.Columns, Column{Head: "and"})
	}
	for _, x := range edges[:min(len(edges), tableRows)] {
		row := Row{Cells: []Cell{cell(b.node(e, x.From)), cell(b.node(e, x.To)), cell(count(x.Held)), cell(count(x.Refuted)), b.num(s.num(x.GapP50Ms))}}
		if told {
			and := ""
			if v, ok := x.Follows.Get(); ok && v > 0 {
				and = "waits for it"
			} else if ok {
				and = "begins by itself"
			}
			row.Cells = append(row.Cells, cell(and))
		}
		t.Rows = append(t.Rows, row)
	}
	if n := len(edges) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "order", len(t.Columns)))
	}
	b.add(t)
}

// how says what a node means and what happens in time; the two are independent.
func how(n *report.Node) string {
	waited := ""
	switch {
	case n.Parent < 0:
	case !n.WaitedFor:
		waited = fmt.Sprintf("not waited for: parent ended first in %s", count(n.WaitedForRefuted))
	case n.Optional:
		waited = "optional"
		if !n.WaitedUpToMs.Known() {
			waited += ", and still waited for"
		}
	}
	repeat := ""
	switch n.Mode {
	case report.SerialRepeat:
		repeat = fmt.Sprintf("%s times one after another", trimmed(float64(n.MeanMultiplicity)))
	case report.ParallelRepeat:
		repeat = fmt.Sprintf("%s times at once", trimmed(float64(n.MeanMultiplicity)))
	}
	blocks, drag := "", ""
	if share := n.BlockingShare.Or(0); share > 0 && n.Parent >= 0 {
		blocks = "on path " + prose.Percent(share)
	}
	if ms := n.DragMs.Or(0); ms >= 0.05 && n.Parent >= 0 {
		drag = "drag " + prose.Decimal(ms, 1) + " ms"
	}
	slack := ""
	if ms := n.SlackMs.Or(0); ms >= 0.05 && n.BlockingShare.Or(0) < 0.5 && n.Parent >= 0 && n.WaitedFor {
		slack = "slack " + prose.Decimal(ms, 1) + " ms"
	}
	return list(waited, repeat, blocks, drag, slack)
}

// differences lists what changed in the structure.
func (b *builder) differences(e *report.Endpoint) {
	if len(e.Structure.Differences) == 0 {
		return
	}
	b.heading(3, plain("What changed in the structure"))
	t := Table{Columns: []Column{{Head: "change"}, {Head: "call", Shrink: true}, {Head: "before → now", Right: true}, {Head: "", Wrap: true}}}
	for i := range e.Structure.Differences[:min(len(e.Structure.Differences), tableRows)] {
		d := &e.Structure.Differences[i]
		unit := "share"
		if d.Kind == report.Wider || d.Kind == report.Narrower {
			unit = "calls"
		}
		call := b.endpoint(d.Service, d.Operation)
		if call == "" {
			call = b.node(e, d.Node)
		}
		if d.Was != "" {
			call = b.name(d.Was) + " → " + call
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{cell(string(d.Kind)), cell(call), b.num(quantities(d.Baseline, d.Current, unit)), cell(b.prose(d.Detail))}})
	}
	if n := len(e.Structure.Differences) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "difference", len(t.Columns)))
	}
	b.add(t)
}
