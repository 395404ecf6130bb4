package page

import (
	"github.com/tailscope/tailscope/report"
)

// WhatIf lays out a replay.
func WhatIf(t *report.WhatIf) *Page {
	b := newBuilder("tailscope whatif")
	b.heading(1, plain("What if"))
	for _, c := range t.Changes {
		b.para(plain(sentence(b.prose(c))))
	}
	for i := range t.Endpoints {
		b.whatIf(&t.Endpoints[i])
	}
	return b.page()
}

func (b *builder) whatIf(e *report.WhatIfEndpoint) {
	b.heading(2, strong(b.endpoint(e.Service, e.Operation)))
	table := Table{Columns: []Column{{Head: "of the answered"}, {Head: "recorded", Right: true}, {Head: "replayed", Right: true}, {Head: "change", Right: true}, {Head: "95 %", Right: true}}}
	for _, q := range e.Quantiles {
		s := proseScale(q.RecordedMs, q.ReplayedMs)
		ci := "open"
		if q.CIMs.Closed() {
			ci = s.interval(q.CIMs, true)
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{cell(quantileName(q.Quantile)), b.num(dur(q.RecordedMs)), b.num(dur(q.ReplayedMs)), b.num(changed(q)), b.num(ci)}})
	}
	b.para(plainf("%s replayed.", plural(e.Requests, "request")))
	b.add(table)
	other := Table{Columns: []Column{{Head: "beside the latency"}, {Head: "recorded", Right: true}, {Head: "replayed", Right: true}}}
	row := func(name, was, is string) {
		other.Rows = append(other.Rows, Row{Cells: []Cell{cell(name), b.num(was), b.num(is)}})
	}
	if e.Stopped.Known() {
		row("stopped by the deadline", "", share(e.Stopped))
	}
	if e.Failed.Known() {
		row("failed: a call was cut that the answer needs", "", share(e.Failed))
	}
	if e.Omitted.Known() {
		row("without an optional branch", "", share(e.Omitted))
	}
	for _, o := range e.Omissions {
		row("  "+b.endpoint(o.Service, o.Operation), "", share(report.Some(float64(o.Share))))
	}
	if e.Goodput.Recorded.Known() {
		row("goodput: completed within the objective", share(e.Goodput.Recorded), share(e.Goodput.Replayed))
	}
	if e.WorkMs.Recorded.Known() {
		row("servers' work per request", dur(e.WorkMs.Recorded), dur(e.WorkMs.Replayed))
	}
	if e.LateMs.Known() {
		row("of it after the deadline", dur(e.LateMs), "0 ms")
	}
	if e.Extra.Known() {
		row("further calls per call", "", share(e.Extra))
	}
	if len(other.Rows) > 0 {
		b.add(other)
	}
	for _, u := range e.Unknown {
		b.para(Run{S: "not replayed", Tone: Warn}, plain(": "+sentence(b.prose(u))))
	}
	if len(e.Assumed) > 0 {
		b.heading(3, plain("This holds as far as"))
		for _, a := range e.Assumed {
			b.add(Para{Text: Text{plain("· " + sentence(b.prose(a)))}, Tight: true})
		}
	}
}

// changed is the change of a quantile; a replay that changes nothing says so.
func changed(q report.WhatIfQuantile) string {
	s := proseScale(q.RecordedMs, q.ReplayedMs)
	if d, ok := q.DeltaMs.Get(); ok && s.round(d) == 0 {
		return "none"
	}
	return s.signed(q.DeltaMs, q.CIMs) + " " + s.unit
}
