package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/reporttest"
)

var reports = map[string]func() *report.Report{
	"mercury": reporttest.Mercury, "single": reporttest.SingleSet, "cannot-tell": reporttest.CannotTell, "not-tested": reporttest.NotTested,
	"empty": reporttest.Empty, "metrics-only": reporttest.MetricsOnly, "hostile": reporttest.Hostile,
	"zero": func() *report.Report { return &report.Report{} },
}

var traces = map[string]func() *report.Trace{
	"mercury": reporttest.Trace, "hostile": reporttest.HostileTrace, "zero": func() *report.Trace { return &report.Trace{} },
	"wide": func() *report.Trace { return reporttest.WideTrace(1000) }, "deep": func() *report.Trace { return reporttest.DeepTrace(1000) },
}

func encoded(t *testing.T, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.Encode(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodedTrace(t *testing.T, r *report.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.EncodeTrace(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compiled(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, out []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%#v", err)
	}
	if !utf8.Valid(out) {
		t.Error("not UTF-8")
	}
	for _, r := range string(out) {
		if r != '\n' && !escape.Shown(r) && !(r == '\ufe0f' || r == '\u3164') {
			t.Errorf("holds %U", r)
		}
	}
}

func TestReportsFitTheSchema(t *testing.T) {
	s := compiled(t, report.ReportSchema)
	for name, f := range reports {
		t.Run(name, func(t *testing.T) {
			valid(t, s, encoded(t, f()))
			if err := f().Check(); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(encoded(t, f()), encoded(t, f())) {
				t.Error("two encodings differ")
			}
		})
	}
}

func TestTracesFitTheSchema(t *testing.T) {
	s := compiled(t, report.TraceSchema)
	for name, f := range traces {
		t.Run(name, func(t *testing.T) { valid(t, s, encodedTrace(t, f())) })
	}
}

// The keys of the contract are all there, whatever is added.
func TestContract(t *testing.T) {
	for file, out := range map[string][]byte{
		"testdata/contract.report.json": encoded(t, reporttest.Mercury()),
		"testdata/contract.trace.json":  encodedTrace(t, reporttest.Trace()),
	} {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w, g any
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &g); err != nil {
			t.Fatal(err)
		}
		covers(t, "", w, g)
	}
}

// covers reports every key of want that got lacks; of arrays the elements of got share the one of want.
func covers(t *testing.T, at string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s: %v is no object", at, got)
			return
		}
		for k, v := range w {
			if x, ok := g[k]; !ok {
				t.Errorf("%s.%s is missing", at, k)
			} else if strings.HasSuffix(at+"."+k, "attributes") || k == "excluded" {
				continue
			} else if x == nil && at == ".endpoints[]" {
				continue // null where there is nothing to give: basis, before, highest_closed
			} else {
				covers(t, at+"."+k, v, x)
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok {
			if got != nil || !strings.Contains(at, "ci") {
				t.Errorf("%s: %v is no array", at, got)
			}
			return
		}
		if len(w) == 0 {
			return
		}
		if _, ok := w[0].(map[string]any); ok && len(g) == 0 && !strings.HasPrefix(at, ".endpoints[].") && !strings.HasSuffix(at, ".errors") {
			t.Errorf("%s: the fixture has no element to compare", at)
		}
		for _, x := range g {
			covers(t, at+"[]", w[0], x)
		}
	case float64:
		if _, ok := got.(float64); !ok && got != nil {
			t.Errorf("%s: %v is no number", at, got)
		}
	case string:
		if _, ok := got.(string); !ok && got != nil {
			t.Errorf("%s: %v is no string", at, got)
		}
	case bool:
		if _, ok := got.(bool); !ok {
			t.Errorf("%s: %v is no bool", at, got)
		}
	}
}

func TestSingleSetHasNoBaseline(t *testing.T) {
	out := string(encoded(t, reporttest.SingleSet()))
	for _, key := range []string{`"baseline`, `"delta_ms"`} {
		if i := strings.Index(out, key); i >= 0 {
			t.Errorf("a single data set has %s…", out[i:i+40])
		}
	}
	if out := string(encoded(t, reporttest.NotTested())); !strings.Contains(out, `"verdict": null`) || !strings.Contains(out, `"hypotheses": []`) {
		t.Error("not tested is not null")
	}
}

// What went in comes out, names to the byte where they are UTF-8.
func TestRoundTrip(t *testing.T) {
	for name, f := range reports {
		t.Run(name, func(t *testing.T) {
			first := encoded(t, f())
			r, err := report.Decode(bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			if second := encoded(t, r); !bytes.Equal(first, second) {
				t.Errorf("decoding and encoding changes\n%s", firstDifference(first, second))
			}
			if name != "hostile" {
				return
			}
			if got := r.Endpoints[0].Service; got != reporttest.HostileNames[0] {
				t.Errorf("service %q, want %q", got, reporttest.HostileNames[0])
			}
		})
	}
	for name, f := range traces {
		first := encodedTrace(t, f())
		r, err := report.DecodeTrace(bytes.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		if second := encodedTrace(t, r); !bytes.Equal(first, second) {
			t.Errorf("trace %s: decoding and encoding changes\n%s", name, firstDifference(first, second))
		}
		if name == "hostile" {
			for i, s := range r.Spans[1:] {
				if want := strings.ToValidUTF8(reporttest.HostileNames[i], "\ufffd"); s.Name != want && !strings.Contains(want, "bad") {
					t.Errorf("name %q, want %q", s.Name, want)
				}
			}
		}
	}
}

func firstDifference(a, b []byte) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("at byte %d: %q, %q", i, a[max(0, i-60):min(len(a), i+60)], b[max(0, min(i, len(b))-60):min(len(b), i+60)])
		}
	}
	return "the second is longer"
}

func TestNumbers(t *testing.T) {
	third := report.Some(1.0 / 3)
	for _, c := range []struct {
		in   any
		want string
	}{
		{report.Some(0.1 + 0.2), "0.3"},
		{report.Some(math.NaN()), "null"},
		{report.Some(math.Inf(1)), "null"},
		{report.Some(math.Copysign(0, -1)), "0"},
		{report.Some(math.MaxFloat64), "1.7976931348623157e+308"},
		{report.Num{}, "null"},
		{report.Null, "null"},
		{third, "0.333333333333"},
		{report.Some(1e-9), "1e-9"},
		{report.Ms(1), "0.000001"},
		{report.Ms(123456789012), "123456.789012"},
		{report.Int(1 << 40), "1099511627776"},
		{report.Float(math.NaN()), "null"},
		{report.Float(3), "3"},
		{report.Interval{}, "null"},
		{report.Open, "[null,null]"},
		{report.Between(1, math.Inf(1)), "[1,null]"},
		{report.NoNode, "null"},
		{report.List[int](nil), "[]"},
		{report.Verdict(""), "null"},
		{report.Excluded(nil), `{"stream":0}`},
		{report.Attributes(nil), `{}`},
		{report.Pair{Current: report.Some(1)}, `{"current":1}`},
		{report.Pair{Baseline: report.Null, Current: report.Some(1)}, `{"baseline":null,"current":1}`},
	} {
		got, err := json.Marshal(c.in)
		if err != nil || string(got) != strings.ReplaceAll(c.want, "1e-9", "1e-09") {
			t.Errorf("%#v marshals to %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	if !report.Between(1, 2).Excludes(0) || report.Between(-1, 2).Excludes(0) || report.Open.Excludes(0) {
		t.Error("Excludes")
	}
}

// The fixtures are fit to be read: what should sum does.
func TestFixturesAddUp(t *testing.T) {
	e := reporttest.Mercury().Endpoints[0]
	for _, c := range []struct {
		rows report.List[report.Allocation]
		q    report.Quantile
	}{{e.Allocation, e.P99}, {e.Typical, e.P50}} {
		var base, cur float64
		for _, a := range c.rows {
			base += a.BaselineMs.Or(math.NaN())
			cur += a.CurrentMs.Or(math.NaN())
		}
		if math.Abs(base-c.q.BaselineMs.Or(0)) > 1e-6 || math.Abs(cur-c.q.CurrentMs.Or(0)) > 1e-6 {
			t.Errorf("the rows sum to %v and %v, the quantile is %v and %v", base, cur, c.q.BaselineMs, c.q.CurrentMs)
		}
	}
	for _, r := range []*report.Requests{e.Requests.Baseline, &e.Requests.Current} {
		if sum := r.Completed + r.Failed + r.TimedOut + r.Cancelled + r.Rejected; sum != r.Offered {
			t.Errorf("outcomes sum to %v of %v offered", sum, r.Offered)
		}
	}
	for name, f := range traces {
		if err := f().Check(); err != nil {
			t.Errorf("trace %s: %v", name, err)
		}
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	for want, spoil := range map[string]func(*report.Report){
		"endpoints[0].p50.baseline_ms is not set in a comparison": func(r *report.Report) { r.Endpoints[0].P50.BaselineMs = report.Num{} },
		"unknown verdict":          func(r *report.Report) { r.Endpoints[0].Verdict = "worse" },
		"there is no node 99":      func(r *report.Report) { r.Endpoints[0].Allocation[0].Node = 99 },
		"rank 7":                   func(r *report.Report) { r.Endpoints[0].Hypotheses[0].Rank = 7 },
		"does not stand before it": func(r *report.Report) { r.Endpoints[0].Structure.Nodes[1].Parent = 5 },
		"endpoints[0].goodput.baseline is set for a single data set": func(r *report.Report) {
			*r = *reporttest.SingleSet()
			r.Endpoints[0].Goodput.Baseline = report.Some(1)
		},
	} {
		r := reporttest.Mercury()
		spoil(r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check says %v, want %q", err, want)
		}
	}
}

func TestTraceCheckFindsWhatIsWrong(t *testing.T) {
	for want, spoil := range map[string]func(*report.Trace){
		"path[1]: ":               func(t *report.Trace) { t.Path[1].StartNS++ },
		"path: ends at":           func(t *report.Trace) { t.DurationNS++ },
		`unknown kind "sleeping"`: func(t *report.Trace) { t.Path[0].Kind = "sleeping" },
		"late[0]":                 func(t *report.Trace) { t.Late[0].DepartedNS = t.Late[0].StartNS + 1 },
		"after[0]":                func(t *report.Trace) { t.After[0].EndNS = 0 },
		"spans[3]":                func(t *report.Trace) { t.Spans[3].EndNS = -1 },
	} {
		tr := reporttest.Trace()
		spoil(tr)
		if err := tr.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check says %v, want %q", err, want)
		}
	}
}

func BenchmarkEncodeTrace(b *testing.B) {
	t := reporttest.WideTrace(120_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := report.EncodeTrace(io.Discard, t); err != nil {
			b.Fatal(err)
		}
	}
}

// Streaming gives the bytes of the standard library.
func TestEncodeIsIndented(t *testing.T) {
	r := reporttest.Mercury()
	got := encoded(t, r)
	var want bytes.Buffer
	if err := json.Indent(&want, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error(firstDifference(got, want.Bytes()))
	}
}
