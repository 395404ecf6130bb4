package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// endpointRow lays out one endpoint in full: the verdict first, then what it rests on.
func (b *builder) endpointRow(r *report.Report, e *report.Endpoint) {
	b.heading(2, plain(b.rowName(e)))
	b.verdict(r, e)
	b.budget(e)
	b.requests(e)
	if e.Max.CurrentMs.Known() || e.Max.BaselineMs.Known() {
		b.latency(r, e)
	}
	b.parts(r, e)
	b.allocation(r, e, true)
	b.causes(r, e)
	b.actions(e, e.Verdict != report.Regression)
	b.queues(r, e)
	b.late(e)
	b.attempts(e)
	b.calls(e)
	b.structure(r, e)
	b.fanOut(e)
	b.mix(r, e)
	b.guards(e)
	b.exemplars(e)
}

// endpointBrief is what one reads first of a row.
func (b *builder) endpointBrief(r *report.Report, e *report.Endpoint) {
	b.heading(2, plain(b.rowName(e)))
	b.verdict(r, e)
	b.budget(e)
	b.allocation(r, e, e.Focus == nil)
	b.causes(r, e)
	b.actions(e, true)
}

// rowName names an endpoint or one of its classes or shapes.
func (b *builder) rowName(e *report.Endpoint) string {
	t := b.endpoint(e.Service, e.Operation)
	if t == "" {
		t = "(without a name)"
	}
	if e.Inner {
		t += " · inner"
	}
	if e.Class != "" {
		t += " · class " + b.name(e.Class)
	}
	if e.Shape != "" {
		t += " · shape " + b.name(e.Shape)
		if e.ShapeText != "" {
			t += " (" + b.name(e.ShapeText) + ")"
		}
	}
	return t
}

// verdictWords are the verdicts as they are shouted.
var verdictWords = map[report.Verdict]Run{
	report.Regression:    {S: "REGRESSION", Tone: Bad},
	report.NoRegression:  {S: "no regression", Tone: Good},
	report.Improvement:   {S: "IMPROVEMENT", Tone: Good},
	report.NotComparable: {S: "NOT COMPARABLE", Tone: Warn},
	report.CannotTell:    {S: "cannot tell", Tone: Warn},
	report.Single:        {S: "one data set", Tone: Strong},
	report.NotTested:     {S: "not tested", Tone: Dim},
}

func verdictRun(v report.Verdict) Run {
	if w, ok := verdictWords[v]; ok {
		return w
	}
	return plain(string(v))
}

// verdict is the first thing under an endpoint's name: what happened, by how much, on what it rests, and the first
// cause.
func (b *builder) verdict(r *report.Report, e *report.Endpoint) {
	q := r.Run.Quantile
	name := quantileName(q)
	v := e.Of(q)
	if v == nil {
		v = &report.Quantile{}
	}
	t := Text{verdictRun(e.Verdict), plain(" · ")}
	switch {
	case len(e.Streams) > 0 && !e.Max.CurrentMs.Known() && !e.Max.BaselineMs.Known():
		t = append(t, plain("there are streams only, which have lifetimes and no latencies."))
	case !r.Comparison():
		t = append(t, plain(b.sign(fmt.Sprintf("%s is %s.", name, estimate(v.CurrentMs, v.CurrentCIMs, false)))))
		if v.Needs > 0 {
			t = append(t, b.needs(r, e))
		}
		t = append(t, plain(" For a change give --baseline and --current."))
	default:
		t = append(t, plain(b.sign(fmt.Sprintf("%s %s: %s", name, durs(v.BaselineMs, v.CurrentMs), change(v.DeltaMs, v.CIMs)))))
		if v.CIMs.Closed() && !v.CIMs.Excludes(0) {
			t = append(t, plain(", no detectable difference"))
		}
		if v.Needs > 0 {
			t = append(t, b.needs(r, e))
		}
		t = append(t, plain("."))
		if h := e.HighestClosed; h != nil && !v.CIMs.Closed() && h.Quantile != q {
			t = append(t, plainf(" The highest quantile with a closed interval is %s: %s, %s.", quantileName(h.Quantile), durs(h.BaselineMs, h.CurrentMs), change(h.DeltaMs, h.CIMs)))
		}
	}
	t = append(t, b.marks(v.Warnings)...)
	t = append(t, b.marks(e.Warnings)...)
	b.add(Para{Text: t})
	if e.Basis != nil {
		b.add(Para{Text: Text{plain(b.basis(r, e.Basis))}, Tight: true})
	}
	if f := e.Focus; f != nil {
		x := &f.Latency
		b.add(Para{Tight: true, Text: Text{plain(b.sign(fmt.Sprintf("The change is shown at %s, and causes are asked about that: %s: %s.", quantileName(f.Quantile), durs(x.BaselineMs, x.CurrentMs), change(x.DeltaMs, x.CIMs))))}})
	}
	var bad []report.Guard
	for _, g := range e.Guards {
		if g.Status != report.GuardOK {
			bad = append(bad, g)
		}
	}
	slices.SortStableFunc(bad, func(x, y report.Guard) int { return severityOf(y.Status) - severityOf(x.Status) })
	for _, g := range bad {
		b.add(Para{Tight: true, Text: Text{{S: guardWord(g.Status) + ": " + string(g.Kind), Tone: Warn}, plainf(" — %s", sentence(b.prose(g.Detail)))}})
	}
	if len(e.Hypotheses) > 0 {
		h := &e.Hypotheses[0]
		b.add(Para{Tight: true, Text: Text{strong("First cause"), plainf(": %s, %s: %s — %s.", h.Kind, h.Strength, b.component(h), b.explains(e, h, v))}})
	}
}

func severityOf(s report.GuardStatus) int {
	return slices.Index(report.GuardStatuses, s)
}

func guardWord(s report.GuardStatus) string {
	switch s {
	case report.GuardFail:
		return "FAILED GUARD"
	case report.GuardWarn:
		return "warning"
	}
	return string(s)
}

// basis says what a verdict rests on, with its counts.
func (b *builder) basis(r *report.Report, s *report.Basis) string {
	var t strings.Builder
	part := func(k [2]report.Float, weighted report.Num) string {
		p := "?"
		if k[1] > 0 {
			p = prose.Percent(float64(k[0] / k[1]))
		}
		if x, ok := weighted.Get(); ok && prose.Percent(x) != p {
			p = prose.Percent(x) + " by weight"
		}
		return fmt.Sprintf("%s of %s requests (%s)", count(k[0]), count(k[1]), p)
	}
	fmt.Fprintf(&t, "Basis: %s took longer than %s before, %s now; %s (%s at %s", part(s.Baseline, s.BaselineShare), dur(s.ThresholdMs), part(s.Current, s.CurrentShare), pValue(s.PValue), s.Test, quantileName(s.Quantile))
	if s.Method != "" {
		t.WriteString(", " + b.prose(s.Method))
	}
	t.WriteString(").")
	if s.ExcludedMs.Known() {
		at := quantileName(r.Run.Quantile)
		if q, ok := s.ExcludedQuantile.Get(); ok {
			at = quantileName(report.Float(q))
		}
		if x := s.ExcludedMs.Or(0); x <= 0 {
			fmt.Fprintf(&t, " Excluded (one-sided 95 %%): any rise of %s; it fell by %s or more.", at, prose.Ms(-x))
		} else {
			fmt.Fprintf(&t, " Excluded (one-sided 95 %%): a rise of %s by more than %s.", at, dur(s.ExcludedMs))
		}
	}
	return t.String()
}

// quantiles are the rows of the latency table, in order.
func quantiles(r *report.Report, e *report.Endpoint) []namedQuantile {
	rows := []namedQuantile{{"p50", &e.P50}, {"p75", &e.P75}, {"p90", &e.P90}, {"p95", &e.P95}, {"p99", &e.P99}, {"p99.9", &e.P999}, {"max", &e.Max}}
	if e.Target != nil {
		at := 0
		for _, q := range []report.Float{0.5, 0.75, 0.9, 0.95, 0.99, 0.999} {
			if q < r.Run.Quantile {
				at++
			}
		}
		rows = slices.Insert(rows, at, namedQuantile{quantileName(r.Run.Quantile), e.Target})
	}
	return rows
}

type namedQuantile struct {
	name string
	q    *report.Quantile
}

// needs is the footnote of an endpoint's open intervals, one for all of them.
func (b *builder) needs(r *report.Report, e *report.Endpoint) Run {
	var parts []string
	for _, x := range quantiles(r, e) {
		if x.q.Needs > 0 && x.name != "max" {
			parts = append(parts, fmt.Sprintf("%s needs %s", x.name, count(x.q.Needs)))
		}
	}
	have := count(e.Requests.Current.Sampled)
	if base := e.Requests.Baseline; base != nil {
		have = count(base.Sampled) + " and " + have
	}
	return b.note(fmt.Sprintf("requests a side for a closed interval: %s; there are %s", list(parts...), have))
}

// requests says who was counted, and who was not.
func (b *builder) requests(e *report.Endpoint) {
	cur, base := &e.Requests.Current, e.Requests.Baseline
	var parts []string
	field := func(name string, of func(*report.Requests) report.Float) {
		var x *report.Float
		if base != nil {
			v := of(base)
			x = &v
		}
		if of(cur) == 0 && (x == nil || *x == 0) {
			return
		}
		parts = append(parts, name+" "+counts(x, of(cur)))
	}
	var sampled *int64
	if base != nil {
		sampled = &base.Sampled
	}
	first := "in the percentiles " + counts(sampled, cur.Sampled)
	field("estimated", func(q *report.Requests) report.Float {
		if q.Estimated == report.Float(q.Sampled) {
			return 0
		}
		return q.Estimated
	})
	field("offered", func(q *report.Requests) report.Float { return q.Offered })
	field("completed", func(q *report.Requests) report.Float { return q.Completed })
	field("failed", func(q *report.Requests) report.Float { return q.Failed })
	field("timed out", func(q *report.Requests) report.Float { return q.TimedOut })
	n := len(parts)
	field("cancelled", func(q *report.Requests) report.Float { return q.Cancelled })
	field("rejected", func(q *report.Requests) report.Float { return q.Rejected })
	field("incomplete", func(q *report.Requests) report.Float { return q.Incomplete })
	keys := map[string]bool{}
	for _, q := range []*report.Requests{base, cur} {
		if q != nil {
			for k := range q.Excluded {
				keys[k] = true
			}
		}
	}
	var sorted []string
	for k := range keys {
		sorted = append(sorted, k)
	}
	slices.Sort(sorted)
	for _, k := range sorted {
		field(b.name(k), func(q *report.Requests) report.Float { return q.Excluded[k] })
	}
	t := Text{strong("Requests"), plainf(": %s", list(append([]string{first}, parts[:n]...)...))}
	if len(parts) > n {
		t = append(t, plainf("; beside them %s", list(parts[n:]...)))
	}
	t = append(t, plain("."))
	weighted := func(q *report.Requests) bool {
		x, ok := q.EffectiveN.Get()
		return ok && int64(x) != q.Sampled
	}
	if weighted(cur) || base != nil && weighted(base) {
		var before report.Num
		if base != nil {
			before = base.EffectiveN
		}
		t = append(t, plainf(" They carry as much as %s unweighted ones.", quantities(before, cur.EffectiveN, "")))
	}
	b.add(Para{Text: t})

	if len(e.Streams) > 0 {
		var parts []string
		for i := range e.Streams {
			x := &e.Streams[i]
			var n *report.Float
			var p50, longest report.Num
			if x.Baseline != nil {
				n, p50, longest = &x.Baseline.Count, x.Baseline.P50Ms, x.Baseline.MaxMs
			}
			parts = append(parts, fmt.Sprintf(b.sign("%s %s, open for %s at the median and %s at most"), b.name(x.Kind), counts(n, x.Current.Count), durs(p50, x.Current.P50Ms), durs(longest, x.Current.MaxMs)))
		}
		b.para(plainf("Streams, whose lifetimes are no latencies: %s.", list(parts...)))
	}

	a, ab := &e.Arrivals.Current, e.Arrivals.Baseline
	if a.MeanPerS.Known() {
		var mean, peak report.Num
		if ab != nil {
			mean, peak = ab.MeanPerS, ab.Peak1sPerS
		}
		t := "Arrivals: " + quantities(mean, a.MeanPerS, "/s") + " on average"
		if a.Peak1sPerS.Known() {
			t += ", " + quantities(peak, a.Peak1sPerS, "/s") + " in the worst second"
		}
		if e.Goodput.Current.Known() {
			t += ". Goodput: " + shares(e.Goodput.Baseline, e.Goodput.Current)
		}
		b.add(Para{Text: Text{plainf("%s.", t)}, Tight: true})
	}
	if f := e.Before; f != nil {
		var p50, p99 report.Num
		if f.Baseline != nil {
			p50, p99 = f.Baseline.P50Ms, f.Baseline.P99Ms
		}
		t := Text{plainf("Before the entry span (%s): p50 %s, p99 %s; not in the latency below.", b.name(f.Evidence), durs(p50, f.Current.P50Ms), durs(p99, f.Current.P99Ms))}
		b.add(Para{Text: append(t, b.marks(f.Warnings)...), Tight: true})
	}
}

// latency is the table of percentiles.
func (b *builder) latency(r *report.Report, e *report.Endpoint) {
	rows := quantiles(r, e)
	comparison := r.Comparison()
	var values []report.Num
	for _, x := range rows {
		values = append(values, x.q.BaselineMs, x.q.CurrentMs)
	}
	s := scaleOf(0, values...)
	ci := b.confidence(r)
	b.heading(3, plainf("Latency, %s", s.unit))
	t := Table{}
	if comparison {
		t.Columns = []Column{{}, {Head: "baseline", Right: true}, {Head: ci, Right: true, Under: true}, {Head: "current", Right: true}, {Head: ci, Right: true, Under: true}, {Head: "change", Right: true}, {Head: ci, Right: true, Under: true}}
	} else {
		t.Columns = []Column{{}, {Head: "current", Right: true}, {Head: ci, Right: true, Under: true}}
	}
	for _, x := range rows {
		q := x.q
		s.decimals = rowDecimals(s, q.BaselineMs, q.CurrentMs) // from µs to s in one table
		first := Cell{Text: Text{plain(x.name)}}
		target := x.name == quantileName(r.Run.Quantile)
		if target {
			first.Text[0].Tone = Strong
		}
		if q.Needs > 0 && x.name != "max" {
			first.Text = append(first.Text, b.needs(r, e))
		}
		if x.name == "max" {
			first.Text = append(first.Text, b.note("a maximum has no interval: no number of requests closes it"))
		}
		first.Text = append(first.Text, b.marks(q.Warnings)...)
		row := Row{Cells: []Cell{first}}
		ci := func(v report.Interval, signed bool) Cell {
			if x.name == "max" && !v.Closed() {
				return Cell{} // the footnote says why
			}
			return b.dimNum(s.interval(v, signed))
		}
		if comparison {
			row.Cells = append(row.Cells, b.num(s.num(q.BaselineMs)), ci(q.BaselineCIMs, false))
		}
		row.Cells = append(row.Cells, b.num(s.num(q.CurrentMs)), ci(q.CurrentCIMs, false))
		if comparison {
			d := b.num(s.signed(q.DeltaMs, q.CIMs))
			if q.CIMs.Excludes(0) {
				d.Text[0].Tone = Bad
				if q.DeltaMs.Or(0) < 0 {
					d.Text[0].Tone = Good
				}
			}
			row.Cells = append(row.Cells, d, ci(q.CIMs, true))
		}
		t.Rows = append(t.Rows, row)
	}
	b.add(t)
}

// rowDecimals gives a row of times three digits.
func rowDecimals(s scale, values ...report.Num) int {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, v.Or(0)/s.ms)
	}
	switch {
	case largest >= 100:
		return 0
	case largest >= 10:
		return 1
	case largest >= 1:
		return 2
	}
	return 3
}

// parts is one row per class and shape of an endpoint.
func (b *builder) parts(r *report.Report, whole *report.Endpoint) {
	comparison := r.Comparison()
	q := r.Run.Quantile
	var rows []*report.Endpoint
	var values []report.Num
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		if e.Service == whole.Service && e.Operation == whole.Operation && !e.Whole() {
			rows = append(rows, e)
			if v := e.Of(q); v != nil {
				values = append(values, v.BaselineMs, v.CurrentMs)
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	s := scaleOf(0, values...)
	b.heading(3, plainf("By class and shape, %s in %s", quantileName(q), s.unit))
	t := Table{Columns: []Column{{Head: "part", Shrink: true}, {Head: "verdict"}, {Head: "requests", Right: true}}}
	if comparison {
		t.Columns = append(t.Columns, Column{Head: "before", Right: true})
	}
	t.Columns = append(t.Columns, Column{Head: "now", Right: true})
	if comparison {
		t.Columns = append(t.Columns, Column{Head: "change", Right: true}, Column{Head: b.confidence(r), Right: true, Under: true})
	}
	for _, e := range rows[:min(len(rows), 2*tableRows)] {
		v := e.Of(q)
		if v == nil {
			v = &report.Quantile{}
		}
		part := "class " + b.name(e.Class)
		if e.Shape != "" {
			part = "shape " + b.name(e.Shape) + " " + b.name(e.ShapeText)
		}
		row := Row{Cells: []Cell{cell(part), {Text: Text{verdictRun(e.Verdict)}}, cell(count(e.Requests.Current.Sampled))}}
		if comparison {
			row.Cells = append(row.Cells, b.num(s.num(v.BaselineMs)))
		}
		now := b.num(s.num(v.CurrentMs))
		if v.Needs > 0 {
			now.Text = append(now.Text, b.needs(r, e))
		}
		row.Cells = append(row.Cells, now)
		if comparison {
			row.Cells = append(row.Cells, b.num(s.signed(v.DeltaMs, v.CIMs)), b.dimNum(s.interval(v.CIMs, true)))
		}
		t.Rows = append(t.Rows, row)
	}
	if n := len(rows) - 2*tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "part", len(t.Columns)))
	}
	b.add(t)
}

// mix is the table of attributes whose shares differ.
func (b *builder) mix(r *report.Report, e *report.Endpoint) {
	if len(e.Mix) == 0 {
		return
	}
	comparison := r.Comparison()
	b.heading(3, plain("Who the requests are"))
	t := Table{Columns: []Column{{Head: "attribute", Shrink: true}}}
	if comparison {
		t.Columns = append(t.Columns, Column{Head: "before", Right: true})
	}
	t.Columns = append(t.Columns, Column{Head: "now", Right: true})
	if comparison {
		t.Columns = append(t.Columns, Column{Head: "odds ratio", Right: true}, Column{Head: b.confidence(r), Right: true, Under: true})
	}
	t.Columns = append(t.Columns, Column{Head: "p99 with it", Right: true})
	for _, m := range e.Mix[:min(len(e.Mix), tableRows)] {
		first := cell(b.name(m.Attribute) + "=" + b.name(m.Value))
		if m.Consequence {
			first.Text = append(first.Text, b.note("a consequence of slowness, not a cause: never used for reweighting"))
		}
		row := Row{Cells: []Cell{first}}
		if comparison {
			row.Cells = append(row.Cells, b.num(share(m.Baseline)))
		}
		row.Cells = append(row.Cells, b.num(share(m.Current)))
		if comparison {
			odds := scale{"", 1, 2}
			row.Cells = append(row.Cells, b.num(odds.num(m.OddsRatio)), b.dimNum(odds.interval(m.OddsCI, false)))
		}
		effect := ""
		if x, ok := m.EffectP99Ms.Get(); ok {
			effect = scaleOf(0, m.EffectP99Ms).plus(x) + " " + scaleOf(0, m.EffectP99Ms).unit
		}
		row.Cells = append(row.Cells, cell(effect))
		t.Rows = append(t.Rows, row)
	}
	if n := len(e.Mix) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "value", len(t.Columns)))
	}
	b.add(t)
	b.mixSplit(r, e.MixSplit)
}

// mixSplit says how much of the change is other shares and how much other latencies, in both orders.
func (b *builder) mixSplit(r *report.Report, m *report.MixSplit) {
	if m == nil {
		return
	}
	t := Table{Columns: []Column{{Head: "by " + b.name(m.Attribute), Shrink: true}, {Head: "then", Right: true}, {Head: "other shares", Right: true}, {Head: b.confidence(r), Right: true, Under: true},
		{Head: "other latencies", Right: true}, {Head: b.confidence(r), Right: true, Under: true}, {Head: "one-sided", Right: true}, {Head: "rests on", Right: true}}}
	var all []report.Num
	for _, o := range m.Orders {
		all = append(all, o.CounterfactualMs, o.MixMs, o.BehaviourMs)
	}
	s := scaleOf(0, all...)
	for _, o := range m.Orders {
		name := "the current requests with the shares before"
		if o.Reweighted == report.Baseline {
			name = "the requests before with the current shares"
		}
		first := cell(name)
		if o.Reweighted == m.Lead {
			first.Text = append(first.Text, b.note("leads: it rests on more requests beyond the quantile"))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{first, b.num(s.num(o.CounterfactualMs)), b.num(s.signed(o.MixMs, o.MixCIMs)), b.dimNum(s.interval(o.MixCIMs, true)), b.num(s.signed(o.BehaviourMs, o.BehaviourCIMs)),
			b.dimNum(s.interval(o.BehaviourCIMs, true)), b.num(s.plus(o.SupportMs.Or(0))), cell(count(o.TailN))}})
	}
	b.add(t)
	line := "Mix or behaviour, in " + s.unit + ": " + m.Strength
	switch m.Strength {
	case "weak":
		line = "Mix or behaviour, in " + s.unit + ": weak, since fewer than 20 independent requests lie beyond the quantile"
	case "cannot separate":
		line = "Mix or behaviour, in " + s.unit + ": they cannot be separated, since fewer than 10 independent requests lie beyond the quantile"
	}
	if x := max(m.OnlyBaseline, m.OnlyCurrent); x > 0 {
		line += fmt.Sprintf("; %s of the requests before and %s now have values that the other side lacks, and are not reweighted", prose.Percent(float64(m.OnlyBaseline)), prose.Percent(float64(m.OnlyCurrent)))
	}
	b.add(Para{Tight: true, Text: Text{dim(line + ".")}})
}

// guards lists the guards that hold; those that do not stand under the verdict.
func (b *builder) guards(e *report.Endpoint) {
	if len(e.Guards) == 0 {
		return
	}
	var ok []string
	for _, g := range e.Guards {
		if g.Status == report.GuardOK {
			ok = append(ok, fmt.Sprintf("%s (%s)", g.Kind, b.prose(g.Detail)))
		}
	}
	b.heading(3, plain("Guards: may these numbers be trusted?"))
	t := Text{plainf("Holds: %s.", list(ok...))}
	if len(ok) == 0 {
		t = Text{plain("No guard holds without a doubt.")}
	}
	if n := len(e.Guards) - len(ok); n > 0 {
		t = append(t, plainf(" In doubt: %s, see under the verdict.", plural(int64(n), "guard")))
	}
	b.add(Para{Text: t})
}

// exemplars are requests worth opening.
func (b *builder) exemplars(e *report.Endpoint) {
	if len(e.Exemplars) == 0 {
		return
	}
	b.heading(3, plain("Requests worth opening"))
	t := Table{Columns: []Column{{Head: "trace", Shrink: true}, {Head: "set"}, {Head: "duration", Right: true}, {Head: "at", Right: true}, {Head: "why", Wrap: true}}}
	for _, x := range e.Exemplars[:min(len(e.Exemplars), tableRows)] {
		t.Rows = append(t.Rows, Row{Cells: []Cell{cell(b.name(x.TraceID)), cell(x.Set), b.num(dur(x.DurationMs)), cell(place(x.Percentile)), cell(b.prose(x.Why))}})
	}
	if n := len(e.Exemplars) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "request", len(t.Columns)))
	}
	b.add(t, Para{Text: Text{dim("tailscope trace ID PATH… shows one as a waterfall.")}, Tight: true})
}

// place is a share of requests, 0..1, as a percentile.
func place(x report.Num) string {
	v, ok := x.Get()
	if !ok {
		return ""
	}
	return "p" + percentile(v)
}
