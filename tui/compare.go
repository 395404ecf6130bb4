package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// compareRows bounds the rows of a comparison.
const compareRows = 200

// compareRequests sets two requests side by side: the time of the path of each by where it was spent, the largest
// difference first. The rows of one side sum to its duration.
func compareRequests(x, y *Request) screen {
	d := &document{name: "compare", file: slug("compare", x.trace.TraceID, y.trace.TraceID)}
	title := func(r *Request) string {
		return fmt.Sprintf("%s %s · %s · %s spans", sideName(r.set), cell(r.trace.TraceID, 16), nanos(r.trace.DurationNS), count(len(r.trace.Spans)))
	}
	d.title = []string{"A " + title(x), "B " + title(y)}
	d.cmd = func(src *Source) string {
		return traceCommand(src, TraceRef{x.set, x.trace.TraceID}) + " && " + traceCommand(src, TraceRef{y.set, y.trace.TraceID})
	}
	type place struct {
		service, operation, peer string
		kind                     report.Kind
	}
	sums := map[place]*[2]int64{}
	var places []place
	for side, r := range []*Request{x, y} {
		for _, g := range r.trace.Path {
			p := place{g.Service, g.Operation, g.Peer, g.Kind}
			if sums[p] == nil {
				sums[p] = new([2]int64)
				places = append(places, p)
			}
			sums[p][side] += g.EndNS - g.StartNS
		}
	}
	diff := func(p place) int64 { s := sums[p]; return max(s[1]-s[0], s[0]-s[1]) }
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(diff(b), diff(a)) })
	longest := int64(1)
	for _, s := range sums {
		longest = max(longest, s[0], s[1])
	}
	t := page.Table{Columns: []page.Column{{Head: "where", Shrink: true}, {Head: "kind"}, {Head: "A", Right: true}, {Head: "B", Right: true}, {Head: "B − A", Right: true}, {Bar: true}}}
	row := func(where, kind string, a, b int64) page.Row {
		return page.Row{Cells: []page.Cell{words(where), words(kind), words(nanos(a)), words(nanos(b)), words(duration(float64(b-a)/1e6, true)),
			{Bar: &page.Bar{Before: float64(a) / float64(longest), Now: float64(b) / float64(longest)}}}}
	}
	for i, p := range places {
		if i == compareRows {
			t.Rows = append(t.Rows, page.Row{Rest: true, Cells: []page.Cell{words(fmt.Sprintf("… %d more places", len(places)-i)), {}, {}, {}, {}, {}}})
			break
		}
		t.Rows = append(t.Rows, row(callPlain(p.service, p.peer, p.operation), string(p.kind), sums[p][0], sums[p][1]))
	}
	total := row("the request", "", x.trace.DurationNS, y.trace.DurationNS)
	total.Cells[5], total.Total = page.Cell{}, true
	t.Rows = append(t.Rows, total)
	d.blocks(t, page.BarLegend{Both: "in both", Grew: "more in B", Shrank: "more in A"})
	d.link("open A", func(a *App) { a.push(newWaterfall(x)) })
	d.link("open B", func(a *App) { a.push(newWaterfall(y)) })
	return d
}

// words is a cell of plain text.
func words(s string) page.Cell { return page.Cell{Text: page.Text{{S: s}}} }

// callPlain is call for a page, which escapes by itself.
func callPlain(service, peer, operation string) string {
	if peer == "" || peer == service {
		return clipped(service) + " " + clipped(operation)
	}
	return clipped(service) + " → " + clipped(peer) + " " + clipped(operation)
}

// compareSides sets the calls of a request before and now side by side.
func compareSides(r *report.Report, e *report.Endpoint) screen {
	d := &document{name: "calls", file: slug(e.Service, e.Operation, "calls")}
	d.title = []string{"Calls · " + rowName(e)}
	if r.Comparison() {
		d.title[0] = "Calls before and now · " + rowName(e)
	}
	d.cmd = func(src *Source) string { return analyzeCommand(src, e.Service, e.Operation, e.Inner) }
	s := sectionsOf(r, e, nil)
	d.notes = s.notes
	if e.Structure.Expression != "" {
		d.blocks(page.Para{Text: page.Text{{S: clipped(e.Structure.Expression)}}})
	}
	d.blocks(s.take("What changed in the structure")...)
	nodes := e.Structure.Nodes
	depth := make([]int, len(nodes))
	longest := 0.0
	for i, n := range nodes {
		if n.Parent >= 0 && int(n.Parent) < i {
			depth[i] = depth[n.Parent] + 1
		}
		longest = max(longest, n.Current.P99Ms.Or(0))
		if n.Baseline != nil {
			longest = max(longest, n.Baseline.P99Ms.Or(0))
		}
	}
	t := page.Table{Columns: []page.Column{{Head: "call", Shrink: true}}}
	if r.Comparison() {
		t.Columns = append(t.Columns, page.Column{Head: "p50 before", Right: true}, page.Column{Head: "now", Right: true}, page.Column{Head: "p99 before", Right: true}, page.Column{Head: "now", Right: true}, page.Column{Head: "difference", Right: true}, page.Column{Bar: true})
	} else {
		t.Columns = append(t.Columns, page.Column{Head: "p50", Right: true}, page.Column{Head: "p99", Right: true}, page.Column{Bar: true})
	}
	for i, n := range nodes[:min(len(nodes), compareRows)] {
		cells := []page.Cell{words(callPlain(n.Service, n.Peer, n.Operation))}
		part := func(v report.Num) float64 { return max(0, min(1, v.Or(0)/math.Max(longest, 1e-9))) }
		bar := page.Bar{Now: part(n.Current.P99Ms), Single: !r.Comparison()}
		if r.Comparison() {
			var was report.NodeTimes
			if n.Baseline != nil {
				was = *n.Baseline
			}
			diff := "?"
			if was.P99Ms.Known() && n.Current.P99Ms.Known() {
				diff = duration(n.Current.P99Ms.Or(0)-was.P99Ms.Or(0), true)
			}
			bar.Before = part(was.P99Ms)
			cells = append(cells, words(ms(was.P50Ms)), words(ms(n.Current.P50Ms)), words(ms(was.P99Ms)), words(ms(n.Current.P99Ms)), words(diff))
		} else {
			cells = append(cells, words(ms(n.Current.P50Ms)), words(ms(n.Current.P99Ms)))
		}
		t.Rows = append(t.Rows, page.Row{Depth: depth[i], Cells: append(cells, page.Cell{Bar: &bar})})
	}
	if len(t.Rows) > 0 {
		d.blocks(t)
		if r.Comparison() {
			d.blocks(page.BarLegend{Both: "on both sides (p99 of a call)", Grew: "grew", Shrank: "shrank"})
		}
		d.blocks(page.Para{Text: page.Text{{S: "Times are per call, of all requests, and without intervals: the difference of two percentiles is no cause. Where the time of slow requests goes stands on the endpoint's screen.", Tone: page.Dim}}})
	}
	if n := len(nodes) - compareRows; n > 0 {
		d.blocks(page.Para{Text: page.Text{{S: fmt.Sprintf("… %d more calls not shown.", n), Tone: page.Dim}}})
	}
	d.blocks(s.take("Structure")...)
	return d
}
