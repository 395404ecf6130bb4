package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// TraceRows is about how many spans of a trace are drawn unless asked otherwise.
const TraceRows = 200

// TraceOptions bound what is laid out of a trace.
type TraceOptions struct {
	Rows int // spans drawn; 0 for TraceRows, negative for all
}

// Trace lays out one request: its spans over time with the critical path marked, then the path in order, late work
// and what is wrong with it.
func Trace(t *report.Trace, o TraceOptions) *Page {
	b := newBuilder("tailscope trace")
	rows := o.Rows
	switch {
	case rows == 0:
		rows = TraceRows
	case rows < 0:
		rows = len(t.Spans)
	}
	b.heading(1, plainf("trace %s", b.name(t.TraceID)))
	name := b.endpoint(t.Root.Service, t.Root.Operation)
	if name == "" {
		name = "no entry span"
	}
	line := Text{strong(name), plainf(": %s, %s", durNS(t.DurationNS), plural(int64(len(t.Spans)), "span"))}
	if s := started(t.StartUnixNano); s != "" {
		line = append(line, plainf(", started %s", s))
	}
	line = append(line, plain("."))
	b.add(Para{Text: append(line, b.marks(t.Warnings)...)})
	b.standing(t)
	b.totals(t)
	w, left := waterfall(b, t, rows)
	if left > 0 {
		b.para(plainf("%s of %s drawn: those with the most time on the path, late ones and errors first; %s left out.", count(len(t.Spans)-left), plural(int64(len(t.Spans)), "span"), count(left)))
	}
	if len(w.Rows) > 0 {
		b.add(w)
	}
	if w.Beyond > 0 {
		b.para(plainf("Drawn to the edge only: %s that lasted longer and are no part of the request. A stream, and what a message leads to, is a request of its own.", plural(int64(w.Beyond), "span")))
	}
	b.path(t, max(rows/2, 20))
	b.beside(t, rows)
	b.defects(t, rows)
	return b.page()
}

// standing says how slow the request is among those of its endpoint.
func (b *builder) standing(t *report.Trace) {
	p := t.Place
	if p == nil {
		return
	}
	if p.Of == 1 {
		b.add(Para{Tight: true, Text: Text{plain("It is the only request of its endpoint in these data.")}})
		return
	}
	line := fmt.Sprintf("At p%s of the %s of its endpoint", percentile(float64(p.Percentile)), plural(p.Of, "request"))
	if int64(p.Estimated+0.5) != p.Of {
		line += ", which stand for " + count(p.Estimated)
	}
	if lo, ok := p.CI.Lo.Get(); ok {
		hi, _ := p.CI.Hi.Get()
		line += fmt.Sprintf(" (p%s … p%s with 95 %%)", percentile(lo), percentile(hi))
	}
	if m, ok := p.Median.Get(); ok && m > 0 {
		line += prose.Sprintf("; %.3g times their median of %s", float64(t.DurationNS)/1e6/m, dur(p.Median))
	}
	b.add(Para{Tight: true, Text: Text{plain(line + ".")}})
}

// percentile is a share, 0..1, as the number of a percentile: never rounded up to 100.
func percentile(x float64) string {
	v := math.Floor(1e5*x+1e-6) / 1e3
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

// totals says what the request's time was spent on.
func (b *builder) totals(t *report.Trace) {
	if len(t.Path) == 0 {
		return
	}
	of := map[report.Kind]int64{}
	for _, s := range t.Path {
		of[s.Kind] += s.EndNS - s.StartNS
	}
	var parts []string
	for _, k := range report.Kinds {
		if of[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", k, durNS(of[k]), prose.Percent(float64(of[k])/float64(max(t.DurationNS, 1)))))
		}
	}
	b.add(Para{Text: Text{plainf("On the critical path: %s.", list(parts...))}, Tight: true})
}

func durNS(ns int64) string { return prose.Ms(float64(ns) / 1e6) }

// fewReasons is the number of different reasons up to which they stand as footnotes.
const fewReasons = 16

// path is the critical path in order of time.
func (b *builder) path(t *report.Trace, rows int) {
	if len(t.Path) == 0 {
		return
	}
	b.heading(2, plain("Critical path"))
	s := scaleOf(0, report.Ms(t.DurationNS))
	table := Table{Columns: []Column{{Head: "from, " + s.unit, Right: true}, {Head: "for", Right: true}, {Head: "kind"}, {Head: "whose", Shrink: true}, {Head: "because", Wrap: true}}}
	shown := t.Path
	note := ""
	if len(shown) > rows {
		// The longest stretches, still in order of time.
		order := make([]int, len(t.Path))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(x, y int) int {
			return compare(t.Path[y].EndNS-t.Path[y].StartNS, t.Path[x].EndNS-t.Path[x].StartNS)
		})
		order = order[:rows]
		slices.Sort(order)
		shown = nil
		var left int64
		for _, i := range order {
			shown = append(shown, t.Path[i])
			left -= t.Path[i].EndNS - t.Path[i].StartNS
		}
		left += t.DurationNS
		note = fmt.Sprintf("The %s longest of %s stretches; %s left out, %s in all.", count(rows), count(len(t.Path)), count(len(t.Path)-rows), durNS(left))
	}
	reasons := map[string]bool{}
	for _, g := range shown {
		reasons[g.Evidence] = true
	}
	for _, g := range shown {
		kind, because := cell(string(g.Kind)), cell(b.prose(g.Evidence))
		if len(reasons) <= fewReasons { // a footnote each keeps the table narrow
			because = Cell{}
			if g.Evidence != "" {
				kind.Text = append(kind.Text, b.note(g.Evidence))
			}
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{cell(s.of(float64(g.StartNS) / 1e6)), cell(s.of(float64(g.EndNS-g.StartNS) / 1e6)), kind, cell(b.segment(&g)), because}})
	}
	b.add(table)
	if note != "" {
		b.add(Para{Text: Text{plain(note)}, Tight: true})
	}
}

// segment names whose time a stretch of the path is.
func (b *builder) segment(g *report.Segment) string {
	return b.call(g.Service, g.Peer, first(g.Name, g.Operation))
}

func first(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

func compare(x, y int64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// beside is what went on beside the path: late work and work after the response.
func (b *builder) beside(t *report.Trace, rows int) {
	s := scaleOf(0, report.Ms(t.DurationNS))
	if len(t.Late) > 0 {
		b.heading(2, plain("Late work: after the caller left"))
		table := Table{Columns: []Column{{Head: "span", Shrink: true}, {Head: "left at, " + s.unit, Right: true}, {Head: "worked from", Right: true}, {Head: "to", Right: true}, {Head: "for", Right: true}}}
		for _, l := range t.Late[:min(len(t.Late), rows)] {
			table.Rows = append(table.Rows, Row{Cells: []Cell{cell(b.endpoint(l.Service, first(l.Name, l.Operation))), cell(s.of(float64(l.DepartedNS) / 1e6)), cell(s.of(float64(l.StartNS) / 1e6)), cell(s.of(float64(l.EndNS) / 1e6)), cell(s.of(float64(l.EndNS-l.StartNS) / 1e6))}})
		}
		if n := len(t.Late) - rows; n > 0 {
			table.Rows = append(table.Rows, more(n, "span", len(table.Columns)))
		}
		b.add(table)
	}
	if len(t.After) > 0 {
		b.heading(2, plain("After its parent had ended, with nobody gone"))
		table := Table{Columns: []Column{{Head: "span", Shrink: true}, {Head: "from, " + s.unit, Right: true}, {Head: "to", Right: true}, {Head: "for", Right: true}}}
		for _, l := range t.After[:min(len(t.After), rows)] {
			table.Rows = append(table.Rows, Row{Cells: []Cell{cell(b.endpoint(l.Service, first(l.Name, l.Operation))), cell(s.of(float64(l.StartNS) / 1e6)), cell(s.of(float64(l.EndNS) / 1e6)), cell(s.of(float64(l.EndNS-l.StartNS) / 1e6))}})
		}
		if n := len(t.After) - rows; n > 0 {
			table.Rows = append(table.Rows, more(n, "span", len(table.Columns)))
		}
		b.add(table)
	}
}

// defects lists what is wrong with the trace, and which clocks were moved.
func (b *builder) defects(t *report.Trace, rows int) {
	if len(t.Defects) > 0 {
		b.heading(2, plain("What is wrong with it"))
		table := Table{Columns: []Column{{Head: "defect"}, {Head: "span", Shrink: true}, {Head: "what", Wrap: true}}}
		for _, d := range t.Defects[:min(len(t.Defects), rows)] {
			table.Rows = append(table.Rows, Row{Cells: []Cell{cell(b.name(d.Kind)), cell(b.name(d.SpanID)), cell(b.prose(d.Detail))}})
		}
		if n := len(t.Defects) - rows; n > 0 {
			table.Rows = append(table.Rows, more(n, "defect", len(table.Columns)))
		}
		b.add(table)
	}
	moved := map[string]int64{}
	for _, s := range t.Spans {
		if s.ShiftNS != 0 {
			if _, ok := moved[s.Service]; ok || len(moved) < 20 {
				moved[s.Service] = s.ShiftNS
			}
		}
	}
	if len(moved) == 0 {
		return
	}
	var parts []string
	for service, ns := range moved {
		parts = append(parts, fmt.Sprintf("%s by %s", b.name(service), durNS(ns)))
	}
	slices.Sort(parts)
	b.para(plainf("Placed on the entry's clock: spans of %s.", strings.Join(parts, ", ")))
}
