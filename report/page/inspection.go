package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// Inspection lays out what data hold: what was read, then what they can answer, then what they cannot.
func Inspection(in *report.Inspection) *Page {
	b := newBuilder("tailscope inspection")
	b.held(in)
	b.inspectedEndpoints(in)
	b.lacking(in)
	b.inspectedServices(in)
	b.inspectedSampling(in)
	b.inspectedEvidence(in)
	b.inspectedAttributes(in)
	b.input(&report.Report{Ingest: in.Ingest})
	b.unknownFields(in)
	return b.page()
}

// held is the first lines: what was read.
func (b *builder) held(in *report.Inspection) {
	title := "tailscope"
	if in.Version != "" {
		title += " " + b.name(in.Version)
	}
	b.heading(1, plain(title))
	g := &in.Ingest
	var formats []string
	for _, f := range g.Files {
		if f.Format != "" && !slices.Contains(formats, f.Format) {
			formats = append(formats, b.name(f.Format))
		}
	}
	files := plural(int64(len(g.Files)), "file")
	if len(formats) > 0 {
		files += " of " + list(formats...)
	}
	t := Text{plainf("%s: ", files), strong(list(opt(g.Spans > 0, plural(g.Spans, "span")+" in "+plural(g.Traces, "trace")), opt(g.MetricPoints > 0, plural(g.MetricPoints, "metric point")))), plain(". ")}
	b.add(Para{Text: append(t, b.leftOut(&report.Report{Ingest: *g})...)})
	rows := [][2]string{}
	row := func(head, text string) {
		if text != "" {
			rows = append(rows, [2]string{head, text})
		}
	}
	row("spans", window(report.Set{From: in.From, To: in.To}))
	row("metric points", window(report.Set{From: in.MetricsFrom, To: in.MetricsTo}))
	entry, requests, rate := 0, report.Float(0), 0.0
	for _, e := range in.Endpoints {
		if !e.Inner {
			entry++
			requests += e.Estimated
			rate += e.PerS.Or(0)
		}
	}
	if entry > 0 {
		text := fmt.Sprintf("%s for %s", plural(int64(requests+0.5), "request"), plural(int64(entry), "endpoint"))
		if rate > 0 {
			text += ", " + perSecond(rate) + " a second"
		}
		row("requests", text)
	}
	var kinds []string
	for _, k := range in.SpanKinds {
		kinds = append(kinds, count(k.Count)+" "+k.Name)
	}
	row("span kinds", list(kinds...))
	if in.Outside > 0 {
		row("in no request", plural(in.Outside, "span")+": below a span that never came, or in a cycle")
	}
	if len(rows) > 0 {
		tb := Table{Columns: []Column{{}, {Wrap: true}}}
		for _, r := range rows {
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{{Text: Text{dim(r[0])}}, cell(r[1])}})
		}
		b.add(tb)
	}
}

// nameOr is name, or words where there is none.
func (b *builder) nameOr(s string) string {
	if s == "" {
		return "(without a name)"
	}
	return b.name(s)
}

// lacking says what cannot be answered, and what to emit.
func (b *builder) lacking(in *report.Inspection) {
	b.heading(2, plain("What is missing"))
	if len(in.Missing) == 0 {
		b.para(plain("Nothing that an analysis asks for."))
		return
	}
	for _, m := range in.Missing {
		b.add(Para{Text: Text{strong("Cannot tell " + b.prose(m.What) + "."), plainf(" %s", sentence(capital(b.prose(m.Why))))}})
		b.add(Para{Text: Text{plain("Emit "), plain(sentence(b.prose(m.Emit)))}, Indent: 1, Tight: true})
	}
}

// capital begins a sentence. Names keep their case: only a lower-case ASCII word of a message is raised.
func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

func (b *builder) inspectedEndpoints(in *report.Inspection) {
	if len(in.Endpoints) == 0 {
		return
	}
	b.heading(2, plain("Endpoints"))
	var values []report.Num
	weighted := false
	for _, e := range in.Endpoints {
		values = append(values, e.P50Ms, e.P99Ms)
		weighted = weighted || float64(e.Estimated) != float64(e.Requests)
	}
	s := scaleOf(leastPositive(values), values...)
	t := Table{Columns: []Column{{Head: "endpoint", Shrink: true}, {Head: "kind"}, {Head: "requests", Right: true}}}
	if weighted {
		t.Columns = append(t.Columns, Column{Head: "stand for", Right: true})
	}
	t.Columns = append(t.Columns, Column{Head: "per s", Right: true}, Column{Head: "p50, " + s.unit, Right: true}, Column{Head: "p99", Right: true}, Column{Head: "not completed", Right: true})
	if !weighted { // there is no room for both
		t.Columns = append(t.Columns, Column{Head: "shapes", Right: true})
	}
	for _, e := range in.Endpoints[:min(len(in.Endpoints), tableRows)] {
		kind := e.Kind
		if e.Inner {
			kind = "inner"
		}
		rate, shapes := "", ""
		if v, ok := e.PerS.Get(); ok {
			rate = perSecond(v)
		}
		if e.Shapes > 0 {
			shapes = count(e.Shapes)
		}
		row := Row{Cells: []Cell{cell(b.endpoint(e.Service, e.Operation)), cell(kind), cell(count(e.Requests))}}
		if weighted {
			row.Cells = append(row.Cells, cell(count(e.Estimated)))
		}
		row.Cells = append(row.Cells, cell(rate), b.num(s.num(e.P50Ms)), b.num(s.num(e.P99Ms)), cell(count(e.Failed+e.TimedOut+e.Cancelled+e.Rejected)))
		if !weighted {
			row.Cells = append(row.Cells, cell(shapes))
		}
		if e.NotCount > 0 {
			row.Cells[0].Text = append(row.Cells[0].Text, b.note("streams and excluded requests among them: "+count(e.NotCount)))
		}
		t.Rows = append(t.Rows, row)
	}
	if n := len(in.Endpoints) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "endpoint", len(t.Columns)))
	}
	b.add(t)
}

// leastPositive is the smallest positive of the values in ms; 0 of none.
func leastPositive(values []report.Num) float64 {
	m := 0.0
	for _, v := range values {
		if x := v.Or(0); x > 0 && (m == 0 || x < m) {
			m = x
		}
	}
	return m
}

func perSecond(v float64) string {
	if v > 0 && v < 0.001 {
		return "<0.001"
	}
	return trimmed(v)
}

func (b *builder) inspectedServices(in *report.Inspection) {
	if len(in.Services) == 0 {
		return
	}
	b.heading(2, plain("Services"))
	t := Table{Columns: []Column{{Head: "service", Shrink: true}, {Head: "spans", Right: true}, {Head: "instances", Right: true}, {Head: "hosts", Right: true}, {Head: "versions", Shrink: true}}}
	for _, s := range in.Services[:min(len(in.Services), overviewRows)] {
		instances := count(s.Instances)
		if s.Instances == 0 {
			instances = "none named"
		}
		var versions []string
		for _, v := range s.Versions[:min(len(s.Versions), 3)] {
			versions = append(versions, b.name(v))
		}
		if n := len(s.Versions) - 3; n > 0 {
			versions = append(versions, fmt.Sprintf("%d more", n))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.nameOr(s.Service)), cell(count(s.Spans)), cell(instances), cell(count(s.Hosts)), cell(list(versions...))}})
	}
	if n := len(in.Services) - overviewRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "service", len(t.Columns)))
	}
	b.add(t)
}

func (b *builder) inspectedSampling(in *report.Inspection) {
	s := &in.Sampling
	n := s.Stated + s.Unstated + s.Unreadable + s.Unmeasured
	if n == 0 {
		return
	}
	b.heading(2, plain("Sampling"))
	lo, hi := s.MinWeight.Or(1), s.MaxWeight.Or(1)
	var t Text
	switch {
	case s.Stated == 0:
		t = append(t, plainf("No request states a sampling probability; each of %s counts once.", count(n)))
	case lo == hi:
		t = append(t, plainf("%s of %s state a probability; each stands for %s.", count(s.Stated), plural(n, "request"), plural(int64(lo+0.5), "request")))
	default:
		t = append(t, plainf("%s of %s state a probability; one stands for %s to %s, all for %s.", count(s.Stated), plural(n, "request"), trimmed(lo), trimmed(hi), plural(int64(s.Estimated+0.5), "request")))
	}
	if k := s.Unreadable + s.Unmeasured; k > 0 {
		t = append(t, Run{S: fmt.Sprintf(" %s were sampled in a way that they do not state or that cannot be read; each counts once.", count(k)), Tone: Warn})
	}
	b.para(t...)
	if s.TailBiased != "" {
		b.para(Run{S: "Slow requests seem to be kept more often: " + sentence(b.prose(s.TailBiased)), Tone: Warn})
	}
	if len(s.Against) > 0 {
		t := Table{Columns: []Column{{Head: "endpoint", Shrink: true}, {Head: "in the spans", Right: true}, {Head: "counted by metrics", Right: true}, {Head: "spans above", Right: true}, {Head: "metrics", Right: true}}}
		for _, u := range s.Against[:min(len(s.Against), tableRows)] {
			row := Row{Cells: []Cell{cell(b.endpoint(u.Service, u.Operation)), cell(count(u.Estimated)), cell(count(u.Counted)), {}, {}}}
			if v, ok := u.AboveMs.Get(); ok {
				row.Cells[3], row.Cells[4] = b.num(share(u.SpansAt)+" > "+prose.Ms(v)), b.num("≤ "+share(u.MetricAt))
			}
			t.Rows = append(t.Rows, row)
		}
		if n := len(s.Against) - tableRows; n > 0 {
			t.Rows = append(t.Rows, more(n, "endpoint", len(t.Columns)))
		}
		b.add(t)
	}
}

// inspectedEvidence lists what could show a queue, a deadline or a pause.
func (b *builder) inspectedEvidence(in *report.Inspection) {
	var before []string
	for _, e := range in.Endpoints {
		if e.BeforeRequests > 0 {
			before = append(before, fmt.Sprintf("%s: %s of %s", b.endpoint(e.Service, e.Operation), b.name(e.Before), plural(e.BeforeRequests, "request")))
		}
	}
	if len(before)+len(in.Edges)+len(in.Waits)+len(in.Pools)+len(in.Signals)+len(in.Durations)+len(in.Deadlines) == 0 {
		return
	}
	b.heading(2, plain("Evidence of waiting"))
	if len(before) > 0 {
		b.para(plainf("Before the entry span: %s.", some(before)))
	}
	if len(in.Edges) > 0 {
		t := Table{Columns: []Column{{Head: "caller", Shrink: true}, {Head: "callee", Shrink: true}, {Head: "calls", Right: true}, {Head: "both sides", Right: true}, {Head: "one side", Right: true}, {Head: "left", Right: true}, {Head: "network at least, ms", Right: true}}}
		for _, e := range in.Edges[:min(len(in.Edges), overviewRows)] {
			first := cell(b.nameOr(e.Callee))
			if !e.Recorded {
				first.Text = append(first.Text, b.note("it recorded no spans: network, queue and work are one number"))
			}
			floor := ""
			if v, ok := e.FloorMs.Get(); ok {
				floor = prose.Digits(v)
			}
			one := list(opt(e.ClientOnly > 0, count(e.ClientOnly)+" client"), opt(e.ServerOnly > 0, count(e.ServerOnly)+" server"))
			left := cell(count(e.TimedOut + e.Cancelled))
			if e.TimedOut+e.Cancelled > 0 {
				left.Text = append(left.Text, b.note(list(opt(e.TimedOut > 0, count(e.TimedOut)+" at a deadline"), opt(e.Cancelled > 0, count(e.Cancelled)+" cancelled"))))
			}
			t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.nameOr(e.Caller)), first, cell(count(e.Calls)), cell(count(e.Pairs)), cell(one), left, cell(floor)}})
		}
		if n := len(in.Edges) - overviewRows; n > 0 {
			t.Rows = append(t.Rows, more(n, "edge", len(t.Columns)))
		}
		b.add(t)
		for _, e := range in.Edges[:min(len(in.Edges), overviewRows)] {
			if len(e.ToldBy) > 0 {
				b.para(plainf("%s → %s: waits are told by %s%s.", b.nameOr(e.Caller), b.nameOr(e.Callee), b.prose(strings.Join(e.ToldBy, "; ")), opt(e.Emit != "", ". To tell more, record "+b.prose(e.Emit))))
			}
		}
	}
	if len(in.Waits) > 0 {
		t := Table{Columns: []Column{{Head: "waits that spans tell of", Shrink: true}, {Head: "in", Shrink: true}, {Head: "waits", Right: true}, {Head: "in all, ms", Right: true}}}
		for _, w := range in.Waits[:min(len(in.Waits), tableRows)] {
			ms := ""
			if v, ok := w.TotalMs.Get(); ok {
				ms = prose.Decimal(v, 1)
			}
			t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.name(w.Evidence) + opt(w.Resource != "", " of "+b.name(w.Resource))), cell(b.name(w.Service)), cell(count(w.Count)), cell(ms)}})
		}
		if n := len(in.Waits) - tableRows; n > 0 {
			t.Rows = append(t.Rows, more(n, "kind", len(t.Columns)))
		}
		b.add(t)
	}
	if len(in.Pools) > 0 {
		t := Table{Columns: []Column{{Head: "pools in metrics", Shrink: true}, {Head: "kind"}, {Head: "instances", Right: true}, {Head: "limit of one", Right: true}, {Head: "most in use", Right: true}, {Head: "at its limit in", Right: true}, {Head: "waits timed"}}}
		val := func(v report.Num) Cell {
			x, ok := v.Get()
			if !ok {
				return b.num("?")
			}
			return cell(trimmed(x))
		}
		for _, p := range in.Pools[:min(len(in.Pools), tableRows)] {
			timed := "no"
			if p.Wait {
				timed = "yes"
			}
			first := cell(b.endpoint(p.Service, p.Name))
			first.Text = append(first.Text, b.note("from "+b.prose(strings.Join(p.Sources, ", "))))
			t.Rows = append(t.Rows, Row{Cells: []Cell{first, cell(b.name(p.Kind)), cell(count(p.Instances)), val(p.Limit), val(p.UsedMax), cell(count(p.Exhausted)), cell(timed)}})
		}
		if n := len(in.Pools) - tableRows; n > 0 {
			t.Rows = append(t.Rows, more(n, "pool", len(t.Columns)))
		}
		b.add(t)
	}
	if len(in.Signals) > 0 {
		of := map[string][]string{}
		var roles []string
		for _, s := range in.Signals {
			if _, ok := of[s.Role]; !ok {
				roles = append(roles, s.Role)
			}
			if !slices.Contains(of[s.Role], s.Service) {
				of[s.Role] = append(of[s.Role], s.Service)
			}
		}
		var parts []string
		for _, r := range roles {
			var names []string
			for _, s := range of[r] {
				names = append(names, b.nameOr(s))
			}
			parts = append(parts, r+" of "+some(names))
		}
		b.para(plainf("Runtime metrics: %s.", strings.Join(parts, "; ")))
	}
	if len(in.Durations) > 0 {
		t := Table{Columns: []Column{{Head: "request durations in metrics", Shrink: true}, {Head: "requests", Right: true}, {Head: "p50, ms", Right: true}, {Head: "p99, ms", Right: true}}}
		edge := func(lo, hi report.Num) Cell {
			show := func(v report.Num, open string) string {
				if x, ok := v.Get(); ok {
					return trimmed(x)
				}
				return open
			}
			return b.num(show(lo, "0") + " to " + show(hi, "∞"))
		}
		for _, d := range in.Durations[:min(len(in.Durations), tableRows)] {
			t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.endpoint(d.Service, d.Operation)), cell(count(d.Count)), edge(d.P50Lo, d.P50Hi), edge(d.P99Lo, d.P99Hi)}})
		}
		if n := len(in.Durations) - tableRows; n > 0 {
			t.Rows = append(t.Rows, more(n, "operation", len(t.Columns)))
		}
		b.add(t)
	}
	if len(in.Deadlines) > 0 {
		var parts []string
		for _, d := range in.Deadlines {
			parts = append(parts, b.name(d.Name)+" on "+plural(d.Count, "span"))
		}
		b.para(plainf("Attributes that tell of deadlines: %s.", some(parts)))
	}
}

// some is the first few of a list.
func some(parts []string) string {
	const shown = 6
	if n := len(parts) - shown; n > 0 {
		return strings.Join(parts[:shown], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(parts, ", ")
}

// inspectedAttributes lists attributes that could tell classes apart.
func (b *builder) inspectedAttributes(in *report.Inspection) {
	t := Table{Columns: []Column{{Head: "attribute", Shrink: true}, {Head: "requests", Right: true}, {Head: "values", Right: true}, {Head: "the most frequent", Wrap: true}}}
	left := 0
	for _, a := range in.Attributes {
		if a.Values < 2 || a.Values > 50 {
			continue // constant, or an identifier
		}
		if slices.ContainsFunc(noClasses, func(p string) bool { return strings.HasPrefix(a.Key, p) }) {
			continue
		}
		if len(t.Rows) == tableRows {
			left++
			continue
		}
		var most []string
		for _, v := range a.Most[:min(len(a.Most), 4)] {
			most = append(most, b.name(v.Name)+" "+prose.Percent(float64(v.Count)/float64(a.Requests)))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.name(a.Key)), cell(count(a.Requests)), cell(count(a.Values)), cell(list(most...))}})
	}
	if len(t.Rows) == 0 {
		return
	}
	if left > 0 {
		t.Rows = append(t.Rows, more(left, "attribute", len(t.Columns)))
	}
	b.heading(2, plain("Classes of requests"))
	b.para(plain("Attributes of entry spans and resources with 2 to 50 values. --class-attr takes one of them; an analysis looks at all."))
	b.add(t)
}

// noClasses begin the names of attributes that tell of the sender and its software, not of the request.
var noClasses = []string{"telemetry.", "process.", "net.", "network.", "otel.", "client.", "server.", "http.url", "url.full", "url.scheme"}

func (b *builder) unknownFields(in *report.Inspection) {
	if len(in.UnknownFields) == 0 {
		return
	}
	var parts []string
	for _, f := range in.UnknownFields {
		parts = append(parts, b.name(f.Name)+" "+count(f.Count))
	}
	b.para(plainf("Fields that no rule of the format knows, skipped: %s.", some(parts)))
}
