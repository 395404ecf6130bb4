package page

import (
	"github.com/tailscope/tailscope/report"
)

// Timeouts lays out what other timeouts would have done.
func Timeouts(t *report.Timeouts) *Page {
	b := newBuilder("tailscope timeouts")
	b.heading(1, plainf("Timeouts of %s for %s", b.name(t.Service), b.name(t.Peer)))
	for i := range t.Edges {
		b.timeouts(&t.Edges[i])
	}
	return b.page()
}

func (b *builder) timeouts(e *report.TimeoutEdge) {
	b.heading(2, strong(b.name(e.Operation)))
	text := Text{plainf("%s, of which %s by their caller", plural(int64(e.Calls), "call"), leftText(e.TimedOut))}
	if e.PresentMs.Known() {
		text = append(text, plainf("; the timeout is %s", dur(e.PresentMs)))
	} else {
		text = append(text, plain("; they stand at no one timeout"))
	}
	if e.Stopped > 0 {
		text = append(text, plainf(". When %s would have finished that were stopped, or lost from sight, is estimated; nothing is known beyond %s", plural(int64(e.Stopped), "call"), dur(e.KnownMs)))
	}
	b.para(append(text, plain("."))...)
	table := Table{Columns: []Column{{Head: "timeout", Right: true}, {}, {Head: "in doubt", Right: true}, {Head: "95 %", Right: true}, {Head: "", Bar: true},
		{Head: "done twice", Right: true}, {Head: "false failures", Right: true}, {Head: "more trips", Right: true}}}
	most := 0.0
	for _, r := range e.Rows {
		if r.Ambiguous.Known() {
			most = max(most, r.Ambiguous.Or(0))
		}
	}
	for _, r := range e.Rows {
		mark := ""
		if r.Present {
			mark = "now"
		}
		ci := ""
		if r.AmbiguousCI.Closed() {
			ci = share(r.AmbiguousCI.Lo) + " … " + share(r.AmbiguousCI.Hi)
		}
		bar := Cell{}
		if r.Ambiguous.Known() && most > 0 {
			bar.Bar = &Bar{Now: r.Ambiguous.Or(0) / most, Single: true}
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{cell(dur(report.Some(float64(r.TimeoutMs)))), cell(mark), b.num(share(r.Ambiguous)), cell(ci), bar,
			b.num(share(r.Duplicates)), b.num(share(r.FalseFailures)), b.num(share(r.ExtraTrips))}})
	}
	b.add(table)
	b.add(Para{Tight: true, Text: Text{dim("in doubt: left while the work went on; done twice if it is tried again blindly, a false failure if it is given up, one more trip if it is asked for first")}})
	for _, w := range e.Warnings {
		b.para(plain(b.prose(w)))
	}
}

func leftText(n report.Float) string {
	if n == 1 {
		return "1 was left"
	}
	return plainf("%.0f were left", float64(n)).S
}
