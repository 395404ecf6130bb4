package page

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/reporttest"
)

func TestNumbers(t *testing.T) {
	some := report.Some
	for _, c := range []struct{ got, want string }{
		{dur(some(0.0004)), "0.400 µs"},
		{dur(some(0.412)), "412 µs"},
		{dur(some(4.02)), "4.02 ms"},
		{dur(some(82.14)), "82.1 ms"},
		{dur(some(487)), "487 ms"},
		{dur(some(1204.9)), "1,205 ms"},
		{dur(some(12345)), "12.3 s"},
		{dur(some(600_000)), "10.0 min"},
		{dur(some(0)), "0 ms"},
		{dur(report.Null), "?"},
		{durs(some(268), some(487)), "268 → 487 ms"},
		{durs(some(0.4), some(0.5)), "400 → 500 µs"},
		{durs(report.Num{}, some(487)), "487 ms"},
		{durs(report.Null, some(487)), "? → 487 ms"},
		{change(some(219), report.Between(171, 262)), "+219 ms [+171, +262]"},
		{change(some(-0.4), report.Between(-1.2, 0.3)), "−0.40 ms [−1.20, +0.30]"},
		{change(some(68.7), report.Open), "+68.7 ms (its interval is open at both ends)"},
		{change(some(68.7), report.Interval{}), "+68.7 ms (no interval)"},
		{change(report.Null, report.Open), "?"},
		{share(some(0.05)), "5 %"},
		{share(some(0.9595)), "96 %"},
		{share(some(0.0023)), "0.23 %"},
		{share(some(0.000001)), "<0.01 %"},
		{share(some(1)), "100 %"},
		{share(some(0)), "0 %"},
		{shares(some(0.05), some(0.09)), "5 → 9 %"},
		{quantities(some(12), some(14), "calls"), "12 → 14 calls"},
		{quantities(report.Num{}, some(14), "calls"), "14 calls"},
		{quantities(report.Null, report.Null, "ms"), ""},
		{quantileName(0.99), "p99"},
		{quantileName(0.999), "p99.9"},
		{quantileName(0.5), "p50"},
		{quantileName(1), "max"},
		{pValue(some(0.00004)), "p < 0.0001"},
		{pValue(some(0.34)), "p = 0.34"},
		{count(report.Float(1234567.4)), "1,234,567"},
		{prose.Decimal(-0.04, 1), "0.0"},
		{prose.Decimal(-1234.5, 1), "−1,234.5"},
		{plural(1, "span"), "1 span"},
		{plural(2, "query"), "2 queries"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// One scale serves a column: the largest value decides the unit.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		largest float64
		want    string
	}{{0.03, "30.0 µs"}, {0.9, "900.0 µs"}, {5, "5.00 ms"}, {50, "50.0 ms"}, {5000, "5,000 ms"}, {90_000, "90.0 s"}} {
		s := scaleOf(0, report.Some(0.001), report.Some(c.largest))
		if got := s.of(c.largest) + " " + s.unit; got != c.want {
			t.Errorf("scale of %v ms shows %s, want %s", c.largest, got, c.want)
		}
	}
}

// What rounding cannot explain has another name.
func TestResidue(t *testing.T) {
	s := scale{"ms", 1, 1}
	for _, c := range []struct {
		rows  []float64
		total float64
		want  string
	}{
		{[]float64{1, 2}, 3, ""},
		{[]float64{1.04, 2.04, 3.04}, 6.12, "rounding 0.1"}, // 1.0 + 2.0 + 3.0, 6.1
		{[]float64{1, 2}, 5, "not allocated 2.0"},
	} {
		l := ledger{s: s}
		for _, x := range c.rows {
			l.add(report.Some(x), report.Some(x), report.Num{})
		}
		r, ok := l.residue(len(c.rows), report.Some(c.total), report.Some(c.total), report.Num{})
		got := ""
		if ok {
			got = r.name + " " + r.cur
		}
		if got != c.want {
			t.Errorf("rows %v of %v leave %q, want %q", c.rows, c.total, got, c.want)
		}
	}
}

// sketch draws a trace's waterfall as its labels, indented.
func sketch(t *report.Trace, limit int) string {
	w, left := waterfall(newBuilder(""), t, limit)
	var b strings.Builder
	for _, r := range w.Rows {
		s := r.Label
		if r.Gap != "" {
			s = r.Gap
		}
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", r.Depth), s)
	}
	if left > 0 {
		fmt.Fprintf(&b, "left %d\n", left)
	}
	return b.String()
}

func span(id, parent, kind string, start, end int64) report.Span {
	return report.Span{SpanID: id, ParentSpanID: parent, Service: id + kind[:1], SpanKind: kind, StartNS: start, EndNS: end}
}

func TestTree(t *testing.T) {
	for name, c := range map[string]struct {
		spans []report.Span
		want  string
	}{
		// The halves of a call under one id: the server is the client's child, and what the server does is its own.
		"shared ids": {[]report.Span{span("a", "", "server", 0, 100), span("b", "a", "client", 10, 90), span("b", "a", "server", 20, 80), span("c", "b", "internal", 30, 40)},
			"as (server)\n bc (client)\n  bs (server)\n   ci\n"},
		// Siblings by start, whatever the order of the file.
		"order": {[]report.Span{span("c", "a", "internal", 50, 60), span("b", "a", "internal", 10, 20), span("a", "", "internal", 0, 100)},
			"ai\n bi\n ci\n"},
		// Orphans and cycles lose nothing and hang nowhere.
		"orphan and cycle": {[]report.Span{span("a", "", "internal", 0, 100), span("o", "gone", "internal", 5, 9), span("x", "y", "internal", 1, 2), span("y", "x", "internal", 1, 2), span("z", "z", "internal", 3, 4)},
			"ai\nzi\noi\nxi\n yi\n"},
	} {
		tr := &report.Trace{DurationNS: 100, Root: report.TraceRoot{SpanID: "a"}, Spans: c.spans}
		if got := sketch(tr, 100); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

// The root stays, then what has most time on the path; the rest is counted and named.
func TestAbridged(t *testing.T) {
	want := "batch nightly\n batch row\n batch row\n … 8 more spans left out: 8 × row\nleft 8\n"
	if got := sketch(reporttest.WideTrace(10), 3); strings.ReplaceAll(got, "\n…", "\n …") != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTrack(t *testing.T) {
	draw := func(f Fall) string {
		empty, marks := f.Track(100, 10)
		s := strings.Repeat(" ", empty)
		for _, m := range marks {
			s += string(m.Sign())
		}
		return s
	}
	for _, c := range []struct {
		f    Fall
		want string
	}{
		{Fall{StartNS: 0, EndNS: 100}, "──────────"},
		{Fall{StartNS: 20, EndNS: 60, Pieces: []Piece{{20, 40, Waiting}, {40, 60, Working}}}, "  ▒▒██"},
		{Fall{StartNS: 50, EndNS: 50}, "     ─"},                                            // no time at all
		{Fall{StartNS: 99, EndNS: 100}, "         ─"},                                       // the last cell
		{Fall{StartNS: -20, EndNS: 10}, "─"},                                                // before the request, by another clock
		{Fall{StartNS: 0, EndNS: 20, Pieces: []Piece{{4, 6, Working}, {6, 9, Late}}}, "▚─"}, // the most of a cell
	} {
		if got := draw(c.f); got != c.want {
			t.Errorf("%+v is drawn as %q, want %q", c.f, got, c.want)
		}
	}
}

func TestBarAndSparkline(t *testing.T) {
	for _, c := range []struct {
		b                  Bar
		both, grew, shrank int
	}{{Bar{Before: 0.5, Now: 1}, 5, 5, 0}, {Bar{Before: 1, Now: 0.5}, 5, 0, 5}, {Bar{Before: 0.01, Now: 0}, 0, 0, 1}, {Bar{Now: 0.3, Single: true}, 3, 0, 0}} {
		if both, grew, shrank := c.b.Cells(10); both != c.both || grew != c.grew || shrank != c.shrank {
			t.Errorf("%+v in 10 cells: %d, %d, %d", c.b, both, grew, shrank)
		}
	}
	if got, want := Sparkline([]float64{0, 0.5, 1, -1}, 10), "▁▅█."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Sparkline([]float64{0, 0.5, 1, 0.2}, 2), "▅█"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every footnote is referred to but for the last ones, which explain signs; equal warnings share one.
func TestNotes(t *testing.T) {
	p := Report(reporttest.Mercury(), Options{Top: -1})
	used := map[int]bool{}
	see := func(t Text) {
		for _, r := range t {
			used[r.Note] = true
		}
	}
	for _, b := range p.Blocks {
		switch b := b.(type) {
		case Heading:
			see(b.Text)
		case Para:
			see(b.Text)
		case Table:
			for _, r := range b.Rows {
				if len(r.Cells) != len(b.Columns) {
					t.Errorf("a row of %d cells under %d columns: %v", len(r.Cells), len(b.Columns), r.Cells[0].Text)
				}
				for _, c := range r.Cells {
					see(c.Text)
				}
			}
		}
	}
	seen := map[string]bool{}
	for i, n := range p.Notes {
		if !used[i+1] && !strings.HasPrefix(n, "~ no detectable difference") {
			t.Errorf("nothing refers to footnote %d: %s", i+1, n)
		}
		if seen[n] {
			t.Errorf("footnote %d stands twice: %s", i+1, n)
		}
		seen[n] = true
	}
}

// A page of the zero report and of a report with an unknown target quantile is drawn, not panicked over.
func TestOddReports(t *testing.T) {
	Report(&report.Report{}, Options{})
	Trace(&report.Trace{}, TraceOptions{})
	Report(&report.Report{Endpoints: report.List[report.Endpoint]{{}}}, Options{})
	r := reporttest.Mercury()
	r.Run.Quantile = 0.995
	Report(r, Options{Top: -1})
	r.Endpoints[0].Target = &report.Quantile{BaselineMs: report.Some(300), CurrentMs: report.Some(520), DeltaMs: report.Some(220), CIMs: report.Open}
	p := Report(r, Options{Top: 1})
	found := false
	for _, b := range p.Blocks {
		if x, ok := b.(Table); ok {
			for _, row := range x.Rows {
				found = found || len(row.Cells[0].Text) > 0 && row.Cells[0].Text[0].S == "p99.5"
			}
		}
	}
	if !found {
		t.Error("no row for the target quantile p99.5")
	}
}

// focused adds an endpoint like the first, whose change is shown at another quantile than the target.
func focused(r *report.Report) {
	e := r.Endpoints[0]
	within := report.Between(4, 6)
	e.Focus = &report.Focus{Quantile: 0.75, Latency: report.Quantile{BaselineMs: report.Some(20), CurrentMs: report.Some(25), DeltaMs: report.Some(5), CIMs: within}, UnexplainedMs: report.Some(0.5),
		Allocation: report.List[report.Allocation]{
			{Quantile: 0.75, Service: "gateway", Operation: "GET /", Kind: "service", BaselineMs: report.Some(18), CurrentMs: report.Some(26), DeltaMs: report.Some(8), CIMs: within},
			{Quantile: 0.75, Service: "gateway", Operation: "GET /", Kind: "wait", BaselineMs: report.Some(2), CurrentMs: report.Some(-1), DeltaMs: report.Some(-3), CIMs: within, PathSwitch: report.Some(0.1)}},
		AllocationScale: report.Pair{Baseline: report.Some(1), Current: report.Some(1)}}
	e.Hypotheses = slices.Clone(e.Hypotheses)
	e.Hypotheses[0].FocusMs, e.Hypotheses[0].FocusCIMs = report.Some(4.5), within
	r.Endpoints = append(r.Endpoints, e)
}

// Nothing in a report is silent: each of its fields, changed, changes the page, but for those listed with the reason.
func TestEveryFieldShows(t *testing.T) {
	why := map[string][]string{
		"read by programs": {".Schema", ".Endpoints.Focus.Allocation.Node", ".Endpoints.Structure.Nodes.Kind", ".Endpoints.Structure.Nodes.WaitedForHeld", ".Endpoints.Structure.Nodes.SelfMs", ".Endpoints.Structure.Nodes.Concurrency", ".Endpoints.Structure.Edges.GapP10Ms", ".Endpoints.Structure.Edges.GapP90Ms", ".Endpoints.Structure.Nodes.Baseline.P50Ms",
			".Endpoints.Structure.Nodes.Baseline.MeanMs", ".Endpoints.Structure.Nodes.Current.MeanMs", ".Endpoints.Structure.Differences.Node"},
		"shown only where it is not the rule":                 {".Run.Kept", ".Run.Population", ".Endpoints.Max.Needs"},
		"~ stands instead of a change that is not detectable": {".Endpoints.P50.DeltaMs"},
		"the window stands at the top":                        {".Endpoints.Arrivals.Baseline.SecondsSeen", ".Endpoints.Arrivals.Current.SecondsSeen"},
		"of rows for classes and shapes":                      {".Endpoints.ShapeText"},
		"a maximum has no interval":                           {".Endpoints.Max.CIMs.Hi", ".Endpoints.Max.BaselineCIMs.Lo", ".Endpoints.Max.CurrentCIMs.Lo"},
		"shown for a single data set":                         {".Endpoints.Typical"},
	}
	focus := ".Endpoints.Focus.Latency."
	why["of a focus only the values and their change"] = []string{focus + "BaselineCIMs.Lo", focus + "BaselineCIMs.Hi", focus + "CurrentCIMs.Lo", focus + "CurrentCIMs.Hi", focus + "Needs"}
	why["the focus has it once"] = []string{".Endpoints.Focus.Allocation.Quantile"}
	silent := map[string]bool{}
	for _, fields := range why {
		for _, f := range fields {
			silent[f] = true
		}
	}
	r := reporttest.Mercury()
	focused(r)
	draw := func() string {
		out, err := json.Marshal(Report(r, Options{Top: -1}))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := draw()
	shown := map[string]bool{} // by field, if any value of it shows
	var walk func(at string, v reflect.Value)
	try := func(at string, v reflect.Value, x reflect.Value) {
		if shown[at] {
			return
		}
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(x)
		shown[at] = draw() != before
		v.Set(old)
	}
	walk = func(at string, v reflect.Value) {
		if at == ".Endpoints.Typical" {
			return
		}
		switch v.Type() {
		case reflect.TypeFor[report.Num]():
			try(at, v, reflect.ValueOf(report.Some(v.Interface().(report.Num).Or(0)*1.5+77)))
			return
		case reflect.TypeFor[report.NodeID]():
			try(at, v, reflect.ValueOf(report.NodeID(3)))
			return
		}
		switch v.Kind() {
		case reflect.String:
			try(at, v, reflect.ValueOf("zzz").Convert(v.Type()))
		case reflect.Bool:
			try(at, v, reflect.ValueOf(!v.Bool()))
		case reflect.Int, reflect.Int64:
			try(at, v, reflect.ValueOf(v.Int()+77).Convert(v.Type()))
		case reflect.Float64:
			try(at, v, reflect.ValueOf(v.Float()+77).Convert(v.Type()))
		case reflect.Pointer:
			if !v.IsNil() {
				walk(at, v.Elem())
			}
		case reflect.Slice, reflect.Array:
			for i := range min(v.Len(), 9) {
				walk(at, v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(at+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	walk("", reflect.ValueOf(r).Elem())
	for at, yes := range shown {
		if yes == silent[at] {
			t.Errorf("%s: shown = %v", at, yes)
		}
	}
}
