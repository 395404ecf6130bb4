package page

import (
	"fmt"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// input says in detail what was read and what was wrong with it.
func (b *builder) input(r *report.Report) {
	in := &r.Ingest
	if len(in.Files) == 0 && len(in.Defects) == 0 {
		return
	}
	b.heading(2, plain("Input"))
	t := Table{Columns: []Column{{Head: "file", Shrink: true}, {Head: "set"}, {Head: "format"}, {Head: "spans", Right: true}, {Head: "points", Right: true}, {Head: "rejected", Right: true}, {Head: "errors", Right: true}}}
	for i := range in.Files[:min(len(in.Files), metricRows)] {
		f := &in.Files[i]
		t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.name(f.Path)), cell(f.Set), cell(b.name(f.Format)), cell(count(f.Spans)), cell(count(f.MetricPoints)), cell(count(f.Rejected)), cell(count(f.ErrorsTotal))}})
	}
	if n := len(in.Files) - metricRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "file", len(t.Columns)))
	}
	b.add(t)

	errors := Table{Columns: []Column{{Head: "could not read", Shrink: true}, {Head: "what is wrong", Wrap: true}}}
	for _, f := range in.Files {
		for _, e := range f.Errors {
			errors.Rows = append(errors.Rows, Row{Cells: []Cell{cell(b.name(f.Path) + ": " + b.name(e.Where)), cell(b.prose(e.Message))}})
		}
		if n := f.ErrorsTotal - int64(len(f.Errors)); n > 0 {
			errors.Rows = append(errors.Rows, Row{Rest: true, Cells: []Cell{{Text: Text{dim(b.name(f.Path) + ": … " + plural(n, "more place") + " not shown")}}, {}}})
		}
	}
	if n := len(errors.Rows) - metricRows; n > 0 {
		errors.Rows = append(errors.Rows[:metricRows:metricRows], more(n, "line", 2))
	}
	if len(errors.Rows) > 0 {
		b.add(errors)
	}
	if len(in.Defects) > 0 {
		t := Table{Columns: []Column{{Head: "defect"}, {Head: "severity"}, {Head: "count", Right: true}, {Head: "what it is, the first", Wrap: true}}}
		for _, d := range in.Defects[:min(len(in.Defects), metricRows)] {
			what := b.prose(d.Message)
			if d.Example != "" {
				what = list(what, "first: "+b.prose(d.Example))
			}
			t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.name(d.Kind)), cell(string(d.Severity)), cell(count(d.Count)), cell(what)}})
		}
		if n := len(in.Defects) - metricRows; n > 0 {
			t.Rows = append(t.Rows, more(n, "kind", len(t.Columns)))
		}
		b.add(t)
	}
	if in.Links.Resolved+in.Links.Unresolved > 0 {
		b.para(plainf("Links between spans: %s of %s resolved.", count(in.Links.Resolved), count(in.Links.Resolved+in.Links.Unresolved)))
	}
	if len(in.Clocks) > 0 {
		t := Table{Columns: []Column{{Head: "clocks of", Shrink: true}, {Head: "second − first, ms", Right: true}, {Head: "contradictions", Right: true}}}
		for _, c := range in.Clocks[:min(len(in.Clocks), tableRows)] {
			ms := func(v report.Num) report.Num {
				if x, ok := v.Get(); ok {
					return report.Some(x / 1e6)
				}
				return report.Null
			}
			iv := report.Interval{Lo: ms(c.OffsetLoNS), Hi: ms(c.OffsetHiNS)}
			s := scale{"ms", 1, 3}
			t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.name(c.HostA) + ", " + b.name(c.HostB)), b.num(s.interval(iv, true)), cell(count(c.Contradictions))}})
		}
		if n := len(in.Clocks) - tableRows; n > 0 {
			t.Rows = append(t.Rows, more(n, "pair", len(t.Columns)))
		}
		b.add(t)
	}
	if n := r.Run.Seed; n != 0 || r.Run.Version != "" {
		b.para(dim(fmt.Sprintf("seed %d; smallest effect %s and %s; intervals hold with %s.", n, dur(report.Some(float64(r.Run.MinEffectMs))), prose.Percent(float64(r.Run.MinEffectShare)), b.confidence(r))))
	}
}
