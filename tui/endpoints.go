package tui

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// Endpoints is the first screen: a row for every endpoint.
type Endpoints struct {
	report *report.Report
	all    []endpointRow
	shown  []int // of all

	order  int // of orders
	filter int // of filters
	text   string
	keys   keyMap

	partial bool // the rows are the first that there are: nothing is known yet but how long requests took
	ticks   int
}

// An endpointRow is what is drawn of an endpoint, worked out once.
type endpointRow struct {
	e      *report.Endpoint
	name   string // escaped
	lower  string
	target *report.Quantile
}

// NewEndpoints prepares a report to be shown. It looks at every endpoint and is not meant for the drawing goroutine.
func NewEndpoints(r *report.Report) *Endpoints {
	s := &Endpoints{report: r, keys: newKeyMap()}
	whole := map[[2]string]bool{}
	for i := range r.Endpoints {
		if e := &r.Endpoints[i]; e.Whole() {
			whole[[2]string{e.Service, e.Operation}] = true
		}
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		if !e.Whole() && whole[[2]string{e.Service, e.Operation}] {
			continue // stands on the screen of its endpoint
		}
		n := rowName(e)
		q := e.Of(r.Run.Quantile)
		if q == nil {
			q = &report.Quantile{}
		}
		s.all = append(s.all, endpointRow{e, n, strings.ToLower(n), q})
	}
	s.refresh()
	return s
}

// rowName names an endpoint, or one of its classes or shapes.
func rowName(e *report.Endpoint) string {
	n := strings.TrimSpace(name(e.Service) + " " + name(e.Operation))
	if e.Class != "" {
		n += " · class " + name(e.Class)
	}
	if e.Shape != "" {
		n += " · shape " + name(e.Shape) + " " + name(e.ShapeText)
	}
	return n
}

// orders are the ways to sort; the first is the report's own.
var orders = []struct {
	name string
	less func(x, y *endpointRow) int
}{
	{"importance", nil},
	{"change", func(x, y *endpointRow) int { return cmp.Compare(y.target.DeltaMs.Or(0), x.target.DeltaMs.Or(0)) }},
	{"slowest", func(x, y *endpointRow) int {
		return cmp.Compare(y.target.CurrentMs.Or(0), x.target.CurrentMs.Or(0))
	}},
	{"requests", func(x, y *endpointRow) int {
		return cmp.Compare(y.e.Requests.Current.Sampled, x.e.Requests.Current.Sampled)
	}},
	{"name", func(x, y *endpointRow) int { return strings.Compare(x.lower, y.lower) }},
}

// filters are verdicts that f goes through.
var filters = []struct {
	name string
	keep func(report.Verdict) bool
}{
	{"all", func(report.Verdict) bool { return true }},
	{"regressions", func(v report.Verdict) bool { return v == report.Regression }},
	{"changed", func(v report.Verdict) bool { return v == report.Regression || v == report.Improvement }},
	{"undecided", func(v report.Verdict) bool { return v == report.CannotTell || v == report.NotComparable }},
}

// refresh works out which rows are shown, in which order.
func (s *Endpoints) refresh() {
	s.shown = s.shown[:0]
	text := strings.ToLower(s.text)
	for i := range s.all {
		if filters[s.filter].keep(s.all[i].e.Verdict) && strings.Contains(s.all[i].lower, text) {
			s.shown = append(s.shown, i)
		}
	}
	if less := orders[s.order].less; less != nil {
		slices.SortStableFunc(s.shown, func(x, y int) int { return less(&s.all[x], &s.all[y]) })
	}
}

func (s *Endpoints) search(text string) {
	s.text = text
	s.refresh()
}

func (s *Endpoints) crumb() string { return "tailscope" }

// A column of the endpoints, left to right, with the width of the screen from which on it is shown.
type column struct {
	head  string
	cells int
	from  int
	right bool
	text  func(x *endpointRow) (string, page.Tone)
}

func (s *Endpoints) columns(width int) (cols []column, nameCells int) {
	q := quantileName(s.report.Run.Quantile)
	comparison := s.report.Comparison()
	plain := func(f func(x *endpointRow) string) func(x *endpointRow) (string, page.Tone) {
		return func(x *endpointRow) (string, page.Tone) { return f(x), page.Plain }
	}
	all := []column{
		{"verdict", 14, 70, false, func(x *endpointRow) (string, page.Tone) { return verdict(x.e.Verdict) }},
		{"", 1, 0, false, func(x *endpointRow) (string, page.Tone) {
			_, t := verdict(x.e.Verdict)
			return verdictSign(x.e.Verdict), t
		}},
	}
	after := []column{}
	if comparison {
		after = append(after,
			column{"p50 before", 10, 150, true, plain(func(x *endpointRow) string { return ms(x.e.P50.BaselineMs) })},
			column{"p50 now", 9, 150, true, plain(func(x *endpointRow) string { return ms(x.e.P50.CurrentMs) })},
			column{q + " before", 10, 64, true, plain(func(x *endpointRow) string { return ms(x.target.BaselineMs) })},
			column{q + " now", 9, 64, true, plain(func(x *endpointRow) string { return ms(x.target.CurrentMs) })},
			column{"change", 11, 0, true, change},
			column{"95 %", 16, 110, true, plain(func(x *endpointRow) string { return interval(x.target.CIMs) })},
		)
	} else {
		after = append(after,
			column{"p50", 9, 64, true, plain(func(x *endpointRow) string { return ms(x.e.P50.CurrentMs) })},
			column{q, 9, 0, true, plain(func(x *endpointRow) string { return ms(x.target.CurrentMs) })},
			column{"95 %", 16, 110, true, plain(func(x *endpointRow) string { return interval(x.target.CurrentCIMs) })},
		)
	}
	after = append(after,
		column{"requests", 9, 100, true, plain(func(x *endpointRow) string { return count(x.e.Requests.Current.Sampled) })},
		column{"p50…max", 7, 125, false, plain(func(x *endpointRow) string { return curve(x.e) })},
		column{"first cause", 34, 140, false, plain(firstCause)},
	)
	nameCells = width
	keep := func(c column) {
		if width >= c.from && !(c.head == "" && width >= 70) {
			cols = append(cols, c)
			nameCells -= c.cells + 2
		}
	}
	for _, c := range all {
		keep(c)
	}
	cols = append(cols, column{head: "endpoint"})
	for _, c := range after {
		keep(c)
	}
	nameCells = max(8, nameCells)
	return cols, nameCells
}

func change(x *endpointRow) (string, page.Tone) {
	t := plusMs(x.target.DeltaMs)
	switch {
	case x.target.CIMs.Closed() && !x.target.CIMs.Excludes(0):
		return "~ " + t, page.Dim
	case x.target.CIMs.Excludes(0) && x.target.DeltaMs.Or(0) > 0:
		return t, page.Bad
	case x.target.CIMs.Excludes(0):
		return t, page.Good
	}
	return t, page.Plain
}

// curve is the current side from the median to the maximum: how steep its tail is.
func curve(e *report.Endpoint) string {
	top := e.Max.CurrentMs.Or(0)
	if top <= 0 {
		return ""
	}
	var v []float64
	for _, q := range []*report.Quantile{&e.P50, &e.P75, &e.P90, &e.P95, &e.P99, &e.P999, &e.Max} {
		v = append(v, max(0, min(1, q.CurrentMs.Or(-top)/top)))
	}
	return page.Sparkline(v, len(v))
}

func firstCause(x *endpointRow) string {
	if len(x.e.Hypotheses) == 0 {
		return ""
	}
	h := &x.e.Hypotheses[0]
	return string(h.Kind) + " " + component(h)
}

// verdict is a verdict in words, and how it is painted.
func verdict(v report.Verdict) (string, page.Tone) {
	switch v {
	case report.Regression:
		return "REGRESSION", page.Bad
	case report.NoRegression:
		return "no regression", page.Good
	case report.Improvement:
		return "improvement", page.Good
	case report.NotComparable:
		return "not comparable", page.Warn
	case report.CannotTell:
		return "cannot tell", page.Warn
	case report.Single:
		return "one data set", page.Plain
	case report.NotTested:
		return "not tested", page.Dim
	}
	return name(string(v)), page.Plain
}

// verdictSign is the verdict in one cell.
func verdictSign(v report.Verdict) string {
	switch v {
	case report.Regression:
		return "!"
	case report.NoRegression:
		return "="
	case report.Improvement:
		return "+"
	case report.NotComparable:
		return "≠"
	case report.CannotTell:
		return "?"
	}
	return " "
}

func (s *Endpoints) head(p *pen, z size) []string {
	in := &s.report.Ingest
	read := "Read " + count(in.Spans) + " spans in " + count(in.Traces) + " traces"
	if in.MetricPoints > 0 {
		read += ", " + count(in.MetricPoints) + " metric points"
	}
	if in.Rejected > 0 {
		read += ", " + count(in.Rejected) + " rejected"
	}
	if n := len(s.report.Warnings); n > 0 {
		read += " · " + plural(n, "warning") + ": i"
	}
	list := count(len(s.shown)) + " of " + count(len(s.all)) + " endpoints"
	if s.filter > 0 {
		list += " · only " + filters[s.filter].name
	}
	if s.text != "" {
		list += " · /" + s.text
	}
	list += " · by " + orders[s.order].name
	for _, l := range s.report.LeftOut {
		list += " · " + count(l.Count) + " " + name(l.What) + " left out: " + name(l.Why)
	}
	lines := []string{read, list}
	if s.partial {
		last := &lines[len(lines)-1]
		*last = escape.Pad("looking for causes "+strings.Repeat(".", s.ticks%4), len("looking for causes ...")) + " · " + *last
	}
	if one := strings.Join(lines, " · "); escape.Width(one) <= z.width {
		lines = []string{one}
	}
	cols, names := s.columns(z.width)
	var b strings.Builder
	b.WriteString("  ")
	for _, c := range cols {
		n := c.cells
		if c.cells == 0 {
			n = names
		}
		if c.right {
			b.WriteString(right(c.head, n))
		} else {
			b.WriteString(escape.Pad(c.head, n))
		}
		b.WriteString("  ")
	}
	return append(lines, p.tone(page.Dim, b.String()))
}

func (s *Endpoints) rows(size) int { return len(s.shown) }

func (s *Endpoints) row(p *pen, z size, i int) string {
	x := &s.all[s.shown[i]]
	cols, names := s.columns(z.width)
	var b strings.Builder
	for _, c := range cols {
		if c.cells == 0 {
			t, _ := escape.Elide(x.name, names)
			b.WriteString(escape.Pad(t, names) + "  ")
			continue
		}
		t, tone := c.text(x)
		if c.right {
			t = right(t, c.cells)
		} else {
			t, _ = escape.Elide(t, c.cells)
			t = escape.Pad(t, c.cells)
		}
		b.WriteString(p.tone(tone, t) + "  ")
	}
	return b.String()
}

func (s *Endpoints) opens(i int) (func(*App), string) {
	if i < 0 || i >= len(s.shown) {
		return nil, "no endpoint is shown; i says what was read"
	}
	if s.partial {
		return func(a *App) {
			a.pending = true
			a.status = "opens as soon as its causes are known"
		}, ""
	}
	e := s.all[s.shown[i]].e
	return func(a *App) { a.push(newEndpoint(a, s.report, e)) }, ""
}

func (s *Endpoints) contains(_ size, i int, text string) bool {
	return strings.Contains(s.all[s.shown[i]].lower, text)
}

func (s *Endpoints) actions() []action {
	few := ""
	if len(s.all) < 2 {
		few = "there are fewer than two endpoints"
	}
	return []action{
		{s.keys.Input, func(a *App, _ *frame) { a.push(newInput(s.report)) }, ""},
		{s.keys.Sort, func(_ *App, f *frame) {
			s.order = (s.order + 1) % len(orders)
			s.refresh()
			f.cursor, f.top = 0, 0
		}, few},
		{s.keys.Filter, func(_ *App, f *frame) {
			s.filter = (s.filter + 1) % len(filters)
			s.refresh()
			f.cursor, f.top = 0, 0
		}, few},
	}
}

func (s *Endpoints) command(src *Source) string { return analyzeCommand(src, "", "", false) }

// export writes the whole report, which tailscope tui reads again.
func (s *Endpoints) export() (string, func(io.Writer) error) {
	if s.partial {
		return "", nil
	}
	return "tailscope-report.json", func(w io.Writer) error { return report.Encode(w, s.report) }
}
