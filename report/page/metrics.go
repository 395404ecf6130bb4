package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/report"
)

// groupRows bounds the groups that are shown beside endpoints; each takes a few lines.
const groupRows = 8

// A metricGroup is the series of one metric that differ in nothing but their instance.
type metricGroup struct {
	name, kind, unit, where string
	before, now             pooled
	instances               map[string]bool
	oddities                [3]int64 // gaps, resets, duplicates
}

// pooled is what the series of a group say together. Quantiles are not averaged: that of all values lies between the
// least and the greatest of the series', and these bounds are kept.
type pooled struct {
	sum, weight float64 // of means, by the number of values
	min, max    report.Num
	p50, p99    report.Interval
	counts      float64
	grew        float64 // increases
	points      int64
}

func (p *pooled) add(m *report.Metric) {
	w := m.Count.Or(float64(m.Points))
	if x, ok := m.Mean.Get(); ok && w > 0 {
		p.sum, p.weight = p.sum+x*w, p.weight+w
	}
	p.min, p.max = least(p.min, m.Min), greatest(p.max, m.Max)
	p.p50 = report.Interval{Lo: least(p.p50.Lo, m.P50Lo), Hi: greatest(p.p50.Hi, m.P50Hi)}
	p.p99 = report.Interval{Lo: least(p.p99.Lo, m.P99Lo), Hi: greatest(p.p99.Hi, m.P99Hi)}
	p.counts += m.Count.Or(0)
	p.grew += m.Increase.Or(0)
	p.points += m.Points
}

func (p *pooled) mean() report.Num {
	if p.weight == 0 {
		return report.Null
	}
	return report.Some(p.sum / p.weight)
}

func least(a, b report.Num) report.Num {
	if !a.Known() || b.Known() && b.Or(0) < a.Or(0) {
		return b
	}
	return a
}

func greatest(a, b report.Num) report.Num {
	if !a.Known() || b.Known() && b.Or(0) > a.Or(0) {
		return b
	}
	return a
}

// metrics shows what the metrics say: instances together, those that changed most first.
func (b *builder) metrics(r *report.Report) {
	if len(r.Metrics) == 0 {
		return
	}
	b.heading(2, plain("Metrics"))
	comparison := r.Comparison()
	groups := b.groups(r)
	if comparison {
		slices.SortStableFunc(groups, func(x, y *metricGroup) int { return cmp.Compare(y.change(), x.change()) })
	}
	rows := groupRows
	if len(r.Endpoints) == 0 {
		rows = metricRows
	}
	t := Table{Columns: []Column{{Head: "metric", Shrink: true}, {Head: "of", Shrink: true, Under: true}, {}, {Head: "mean", Right: true}, {Head: "min to max", Right: true, Under: true},
		{Head: "p50 within", Right: true}, {Head: "p99 within", Right: true, Under: true}, {Head: "count", Right: true}, {Head: "unit", Right: true, Under: true}}}
	for _, g := range groups[:min(len(groups), rows)] {
		first := cell(g.name + opt(g.kind != "", ", "+g.kind))
		if odd := list(opt(g.oddities[0] > 0, plural(g.oddities[0], "gap")), opt(g.oddities[1] > 0, plural(g.oddities[1], "reset")), opt(g.oddities[2] > 0, plural(g.oddities[2], "duplicate point"))); odd != "" {
			first.Text = append(first.Text, b.note(odd))
		}
		row := func(name, of Cell, side string, p *pooled) {
			if p.points == 0 && p.weight == 0 {
				return
			}
			t.Rows = append(t.Rows, Row{Cells: []Cell{name, of, cell(side), b.num(known(p.mean())), b.dimNum(within(report.Interval{Lo: p.min, Hi: p.max})),
				b.num(within(p.p50)), b.num(within(p.p99)), cell(p.counted()), {Text: Text{dim(g.unit)}}}})
		}
		of := Cell{Text: Text{dim(list(g.where, opt(len(g.instances) > 1, plural(int64(len(g.instances)), "instance"))))}}
		if !comparison {
			row(first, of, "", &g.now)
			continue
		}
		row(first, of, "before", &g.before)
		if g.before.points > 0 {
			first, of = Cell{}, Cell{}
		}
		row(first, of, "now", &g.now)
	}
	if n := len(groups) - rows; n > 0 {
		t.Rows = append(t.Rows, more(n, "metric", len(t.Columns)))
	}
	b.add(t)
	if comparison {
		b.add(Para{Text: Text{dim("The largest relative change of the mean first; instances together.")}, Tight: true})
	}
}

// counted is the number of values, else how much a sum grew, else the number of points.
func (p *pooled) counted() string {
	switch {
	case p.counts > 0:
		return trimmed(p.counts)
	case p.grew != 0:
		return "+" + trimmed(p.grew)
	}
	return plural(p.points, "point")
}

// groups are the series without their instances, in the order of the report.
func (b *builder) groups(r *report.Report) []*metricGroup {
	byKey := map[string]*metricGroup{}
	var out []*metricGroup
	for i := range r.Metrics {
		m := &r.Metrics[i]
		var attrs []string
		for k, v := range m.Attributes {
			attrs = append(attrs, b.name(shortKey(m.Name, k))+"="+b.name(v))
		}
		slices.Sort(attrs)
		where := list(append([]string{b.name(m.Service)}, attrs...)...)
		key := strings.Join([]string{m.Name, string(m.Type), m.Unit, where}, "\x00")
		g := byKey[key]
		if g == nil {
			g = &metricGroup{name: b.name(m.Name), kind: b.name(string(m.Type)), unit: b.name(m.Unit), where: where, instances: map[string]bool{}}
			byKey[key] = g
			out = append(out, g)
		}
		side := &g.now
		if m.Set == report.Baseline {
			side = &g.before
		}
		side.add(m)
		if m.Instance != "" && m.Instance != m.Service {
			g.instances[m.Instance] = true
		}
		g.oddities[0] += m.Gaps
		g.oddities[1] += m.Resets
		g.oddities[2] += m.Duplicates
	}
	for _, g := range out {
		if len(g.instances) == 1 {
			for name := range g.instances {
				g.where = list(g.where, b.name(name))
			}
		}
	}
	return out
}

// shortKey drops the words that an attribute's key shares with the metric's name.
func shortKey(metric, key string) string {
	n := 0
	for i := range key {
		if i >= len(metric) || metric[i] != key[i] {
			break
		}
		if key[i] == '.' {
			n = i + 1
		}
	}
	return key[n:]
}

// change is how much the mean changed, as a factor in either direction.
func (g *metricGroup) change() float64 {
	x, okX := g.before.mean().Get()
	y, okY := g.now.mean().Get()
	switch {
	case !okX || !okY || x == y:
		return 0
	case x == 0 || y == 0 || x < 0 != (y < 0):
		return math.MaxFloat64
	}
	return math.Abs(math.Log(y / x))
}

// known is a number, or nothing: a type of metric may have none.
func known(v report.Num) string {
	if x, ok := v.Get(); ok {
		return trimmed(x)
	}
	return ""
}

func within(v report.Interval) string {
	if !v.Lo.Known() && !v.Hi.Known() {
		return ""
	}
	lo, hi := known(v.Lo), known(v.Hi)
	switch {
	case lo == hi:
		return lo
	case lo == "":
		lo = "−∞"
	case hi == "":
		hi = "∞"
	}
	return lo + " to " + hi
}
