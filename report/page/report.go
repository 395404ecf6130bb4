package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// Options bound what is laid out. What they leave out is counted on the page.
type Options struct {
	Top int // endpoints in full, most important first; 0 for DefaultTop, negative for all

	// Brief leaves what was found: of each endpoint the verdict, where the time goes and the causes.
	Brief bool
}

// DefaultTop is the number of endpoints that are shown in full unless asked otherwise: what one reads at night.
const DefaultTop = 3

const (
	overviewRows = 40 // endpoints in the overview
	tableRows    = 12 // rows of most tables
	treeRows     = 60 // nodes of a structure
	metricRows   = 30
	causeRows    = 10
)

// Report lays out a report.
func Report(r *report.Report, o Options) *Page {
	b := newBuilder("tailscope report")
	top := o.Top
	switch {
	case top == 0:
		top = DefaultTop
	case top < 0:
		top = len(r.Endpoints)
	}
	b.read(r)

	var whole []int
	for i := range r.Endpoints {
		if r.Endpoints[i].Whole() {
			whole = append(whole, i)
		}
	}
	if len(whole) > 1 {
		b.overview(r, whole, min(top, len(whole)))
	}
	if len(whole) == 0 {
		b.para(strong("No requests to report on."), plainf(" %s", nothing(r)))
	}
	for _, i := range whole[:min(top, len(whole))] {
		if o.Brief {
			b.endpointBrief(r, &r.Endpoints[i])
		} else {
			b.endpointRow(r, &r.Endpoints[i])
		}
	}
	if !o.Brief {
		b.metrics(r)
		b.input(r)
	}
	return b.page()
}

// nothing says why a report has no endpoint.
func nothing(r *report.Report) string {
	switch {
	case r.Ingest.Spans > 0:
		return "Spans were read, but none of them begins a request that could be counted."
	case r.Ingest.MetricPoints > 0:
		return "The input holds metrics and no spans: there are no paths, and the metrics below are all there is."
	}
	return "No span was read."
}

// read says what was read and what was left out, before any number.
func (b *builder) read(r *report.Report) {
	in := &r.Ingest
	title := "tailscope"
	if r.Run.Version != "" {
		title += " " + b.name(r.Run.Version)
	}
	b.heading(1, plain(title))
	sets := Table{Columns: []Column{{}, {Right: true}, {Right: true}, {Shrink: true}, {Under: true}}}
	for _, s := range r.Run.Sets {
		var points int64
		var files []string
		for _, f := range in.Files {
			if f.Set == s.Set || s.Part {
				points += f.MetricPoints
				files = append(files, f.Path)
			}
		}
		from := "no files"
		switch {
		case len(files) == 1:
			from = b.name(files[0])
		case len(files) > 1:
			from = fmt.Sprintf("%d files: %s", len(files), b.name(common(files)))
		}
		if s.Part {
			from = "part of " + from
		}
		metric := ""
		if points > 0 && !s.Part { // of both parts: the line below counts them
			metric = plural(points, "metric point")
		}
		sets.Rows = append(sets.Rows, Row{Cells: []Cell{{Text: Text{strong(s.Set)}}, cell(plural(s.Spans, "span")), cell(metric), cell(from), cell(window(s))}})
	}
	if len(sets.Rows) > 0 {
		b.add(sets)
	}
	t := Text{plainf("Read %s in %s%s. ", plural(in.Spans, "span"), plural(in.Traces, "trace"), opt(in.MetricPoints > 0, " and "+plural(in.MetricPoints, "metric point")))}
	b.add(Para{Text: append(t, b.leftOut(r)...)})
	var doubts Text
	if r.Run.Kept == report.KeptSample {
		doubts = append(doubts, plain("A weighted sample of the requests was kept (memory limit). "))
	}
	if r.Run.Population == "success" {
		doubts = append(doubts, plain("Only completed requests count (population: success). "))
	}
	for _, w := range r.Warnings {
		doubts = append(doubts, Run{S: sentence(b.prose(w)) + " ", Tone: Warn})
	}
	if len(doubts) > 0 {
		b.add(Para{Text: doubts})
	}
}

// leftOut lists what was read and does not count, each with a footnote.
func (b *builder) leftOut(r *report.Report) Text {
	in := &r.Ingest
	var t Text
	item := func(n int64, noun string, why ...string) {
		if n == 0 {
			return
		}
		if len(t) > 0 {
			t = append(t, plain(", "))
		}
		t = append(t, plain(plural(n, noun)))
		for _, w := range why {
			if w != "" {
				t = append(t, b.note(w))
			}
		}
	}
	defect := func(kinds ...string) string {
		var all []string
		for _, d := range in.Defects {
			if slices.Contains(kinds, d.Kind) {
				all = append(all, d.Message)
			}
		}
		return list(all...)
	}
	item(in.Rejected, "rejected span", b.worst(in.Defects))
	item(in.Duplicates, "duplicate", defect("duplicate"))
	item(in.IncompleteTraces, "incomplete trace", list(opt(in.Orphans > 0, plural(in.Orphans, "orphan")), defect("orphan", "missing-root")))
	item(in.NotUsed.LogRecords, "log record", "logs are not used")
	var errors int64
	for _, f := range in.Files {
		errors += f.ErrorsTotal
	}
	item(errors, "unreadable place", "where: see Input below")
	for _, l := range r.LeftOut {
		item(l.Count, strings.TrimSuffix(b.name(l.What), "s"), l.Why)
	}
	if len(t) == 0 {
		return Text{plain("Nothing was left out.")}
	}
	return append(append(Text{plain("Left out: ")}, t...), plain("."))
}

// worst names the defects by which spans were rejected.
func (b *builder) worst(defects []report.Defect) string {
	var parts []string
	for _, d := range defects {
		if d.Severity == report.DataLoss || d.Severity == report.Error {
			parts = append(parts, count(d.Count)+" "+d.Kind)
		}
	}
	return list(parts...)
}

// overview is one row per endpoint.
func (b *builder) overview(r *report.Report, rows []int, full int) {
	comparison := r.Comparison()
	b.heading(2, plain("Endpoints"))
	q := r.Run.Quantile
	var values []report.Num
	for _, i := range rows {
		if v := r.Endpoints[i].Of(q); v != nil {
			values = append(values, v.BaselineMs, v.CurrentMs)
		}
	}
	s := scaleOf(0, values...)
	name := quantileName(q)
	t := Table{Columns: []Column{{Head: "endpoint", Shrink: true}, {Head: "verdict"}}}
	if comparison {
		t.Columns = append(t.Columns, Column{Head: "first cause", Under: true}, Column{Head: "requests", Right: true}, Column{Head: name + " before, " + s.unit, Right: true}, Column{Head: "now", Right: true}, Column{Head: "change", Right: true}, Column{Head: b.confidence(r), Under: true, Right: true})
	} else {
		t.Columns = append(t.Columns, Column{Head: "requests", Right: true}, Column{Head: name + ", " + s.unit, Right: true}, Column{Head: b.confidence(r), Under: true, Right: true})
	}
	for _, i := range rows[:min(overviewRows, len(rows))] {
		e := &r.Endpoints[i]
		v := e.Of(q)
		if v == nil {
			v = &report.Quantile{}
		}
		row := Row{Cells: []Cell{cell(b.endpoint(e.Service, e.Operation)), {Text: Text{verdictRun(e.Verdict)}}}}
		requests := cell(count(e.Requests.Current.Sampled))
		if comparison {
			cause := ""
			if len(e.Hypotheses) > 0 {
				cause = string(e.Hypotheses[0].Kind)
			}
			row.Cells = append(row.Cells, cell(cause), requests, b.num(s.num(v.BaselineMs)), b.num(s.num(v.CurrentMs)), b.num(s.signed(v.DeltaMs, v.CIMs)), b.dimNum(s.interval(v.CIMs, true)))
		} else {
			row.Cells = append(row.Cells, requests, b.num(s.num(v.CurrentMs)), b.dimNum(s.interval(v.CurrentCIMs, false)))
		}
		t.Rows = append(t.Rows, row)
	}
	if n := len(rows) - overviewRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "endpoint", len(t.Columns)))
	}
	b.add(t)
	if full < len(rows) {
		b.add(Para{Text: Text{dim(fmt.Sprintf("Below in full: %d of %d; --top N shows more, --endpoint NAME one.", full, len(rows)))}, Tight: true})
	}
}

// confidence names the intervals of the report.
func (b *builder) confidence(r *report.Report) string {
	c := 1 - float64(r.Run.Alpha)
	if r.Run.Alpha == 0 {
		c = 0.95
	}
	return prose.Percent(c)
}

// window is the time range of a set.
func window(s report.Set) string {
	from, err1 := time.Parse(time.RFC3339, s.From)
	to, err2 := time.Parse(time.RFC3339, s.To)
	if err1 != nil || err2 != nil {
		return ""
	}
	from, to = from.UTC(), to.UTC()
	end := to.Format("2006-01-02 15:04:05")
	if from.Format("2006-01-02") == to.Format("2006-01-02") {
		end = to.Format("15:04:05")
	}
	runs := ""
	if s.Runs > 1 {
		runs = fmt.Sprintf(", %d runs", s.Runs)
	}
	return from.Format("2006-01-02 15:04:05") + " to " + end + " UTC" + runs
}

// common is what several paths share, as a hint where they lie.
func common(paths []string) string {
	p := paths[0]
	for _, q := range paths[1:] {
		n := 0
		for n < len(p) && n < len(q) && p[n] == q[n] {
			n++
		}
		p = p[:n]
	}
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i+1]
	}
	return paths[0] + ", …"
}

// sentence ends with a full stop.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "!") {
		return s
	}
	return s + "."
}

// opt is s if the condition holds.
func opt(cond bool, s string) string {
	if cond {
		return s
	}
	return ""
}
