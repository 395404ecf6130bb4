package page

import (
	"math"

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
	switch {
	case e.PresentMs.Known():
		text = append(text, plainf(" (%s); the timeout is %s", share(report.Some(float64(e.TimedOut/max(e.Calls, 1)))), dur(e.PresentMs)))
	case e.TimedOut > 0:
		text = append(text, plain("; they stand at no one timeout, so the present one is not known"))
	default:
		text = append(text, plain(": the present timeout is not known"))
	}
	if e.Failed > 0 {
		text = append(text, plainf("; %s besides failed for another reason", plural(int64(e.Failed), "call")))
	}
	if e.Stopped > 0 && e.KnownMs.Known() {
		text = append(text, plainf(". When %s would have finished that were stopped, or lost from sight, is estimated as far as %s", plural(int64(e.Stopped), "call"), dur(e.KnownMs)))
	}
	b.para(append(text, plain("."))...)
	for _, w := range e.Warnings {
		b.para(plain(sentence(b.prose(w))))
	}
	if len(e.Rows) == 0 {
		return
	}
	table := Table{Columns: []Column{{Head: "timeout", Right: true}, {}, {Head: "in doubt", Right: true}, {Head: "95 %", Right: true}, {Head: "", Bar: true},
		{Head: "done twice", Right: true}, {Head: "false failures", Right: true}, {Head: "more trips", Right: true}}}
	least := 1.0 // the bars are drawn over powers of ten: timeouts are chosen between shares far apart
	for _, r := range e.Rows {
		if x, ok := r.Ambiguous.Get(); ok && x > 0 {
			least = min(least, x)
		}
	}
	least /= 2
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
		inDoubt := "cannot tell"
		if x, ok := r.Ambiguous.Get(); ok {
			inDoubt = share(r.Ambiguous)
			if x > 0 {
				bar.Bar = &Bar{Now: math.Log(x/least) / -math.Log(least), Single: true}
			}
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{cell(dur(report.Some(float64(r.TimeoutMs)))), cell(mark), cell(inDoubt), cell(ci), bar,
			cell(shareOr(r.Duplicates)), cell(shareOr(r.FalseFailures)), cell(shareOr(r.ExtraTrips))}})
	}
	b.add(table)
	b.add(Para{Tight: true, Text: Text{dim("in doubt: left while the work went on; done twice if it is tried again blindly, a false failure if it is given up, one more trip if it is asked for first. Bars: powers of ten")}})
}

// shareOr is a share, or nothing where it is not known.
func shareOr(v report.Num) string {
	if !v.Known() {
		return ""
	}
	return share(v)
}

func leftText(n report.Float) string {
	switch n {
	case 0:
		return "none was left"
	case 1:
		return "1 was left"
	}
	return plainf("%.0f were left", float64(n)).S
}
