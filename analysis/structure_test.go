package analysis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A drawing draws one request that begins at a time, in ms.
type drawing func(rng *rand.Rand, i int, at float64) string

// draws writes n requests to a file.
func draws(t *testing.T, n int, seed uint64, draw drawing) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var text strings.Builder
	for i := range n {
		text.WriteString(draw(rng, i, float64(i)*1000))
		text.WriteString("\n")
	}
	doc, err := tracetest.OTLP(text.String())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "traces.json")
	if err := os.WriteFile(path, doc, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// analysed is the row of the whole endpoint of what was drawn; base may be nil.
func analysed(t *testing.T, n int, base, cur drawing, set func(*Options)) *report.Report {
	t.Helper()
	o := New()
	o.Current = [][]string{{draws(t, n, 2, cur)}}
	if base != nil {
		o.Baseline = [][]string{{draws(t, n, 1, base)}}
	}
	if set != nil {
		set(&o)
	}
	r, err := Run(context.Background(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// line draws a span.
func line(depth int, name string, at, from, to float64, more string) string {
	return fmt.Sprintf("%ssvc %s %.3f..%.3fms %s\n", strings.Repeat("  ", depth), name, at+from, at+to, more)
}

// pair draws a request with the calls a and b at given times.
func pair(at, a1, a2, b1, b2, end float64, more string) string {
	return line(0, "GET /r", at, 0, end, "server "+more) + line(1, "a", at, a1, a2, "client") + line(1, "b", at, b1, b2, "client")
}

// locked draws two calls that begin by themselves and exclude each other: the one
// that comes second begins when the first has ended.
func locked(rng *rand.Rand, _ int, at float64) string {
	x, y := 5+20*rng.Float64(), 5+20*rng.Float64()
	first := 1 + 3*rng.Float64()
	second := first + x + rng.Float64()
	if rng.IntN(2) == 0 {
		return pair(at, first, first+x, second, second+y, second+y+1, "")
	}
	return pair(at, second, second+y, first, first+x, second+y+1, "")
}

// scattered draws two short calls anywhere in a long parent: they hardly overlap,
// and by chance would not.
func scattered(rng *rand.Rand, _ int, at float64) string {
	a, b := 1+480*rng.Float64(), 1+480*rng.Float64()
	for max(a, b)-min(a, b) < 1 {
		b = 1 + 480*rng.Float64()
	}
	return pair(at, a, a+1, b, b+1, 500, "")
}

// chained draws b after a.
func chained(rng *rand.Rand, _ int, at float64) string {
	x, y, gap := 5+20*rng.Float64(), 5+20*rng.Float64(), 0.5+0.1*rng.Float64()
	return pair(at, 1, 1+x, 1+x+gap, 1+x+gap+y, 2+x+gap+y, "")
}

// queued draws b after a and after a wait of any length.
func queued(rng *rand.Rand, _ int, at float64) string {
	x, y, gap := 5+5*rng.Float64(), 5+20*rng.Float64(), 0.5+60*rng.Float64()
	return pair(at, 1, 1+x, 1+x+gap, 1+x+gap+y, 2+x+gap+y, "")
}

// constant draws b after an a that always takes as long: nothing can be told.
func constant(rng *rand.Rand, _ int, at float64) string {
	y := 5 + 20*rng.Float64()
	return pair(at, 1, 11, 12, 12+y, 13+y, "")
}

// timed draws b at its own time, which a never reaches.
func timed(rng *rand.Rand, _ int, at float64) string {
	return pair(at, 1, 6+20*rng.Float64(), 30, 40+5*rng.Float64(), 50, "")
}

// either draws two classes of request: one calls b after a, one a after b.
func either(rng *rand.Rand, i int, at float64) string {
	x, y := 5+20*rng.Float64(), 5+20*rng.Float64()
	if i%2 == 0 {
		return pair(at, 1, 1+x, 1.5+x, 1.5+x+y, 2+x+y, "kind=one")
	}
	return pair(at, 1.5+x, 1.5+x+y, 1, 1+x, 2+x+y, "kind=two")
}

// aside draws two calls at once.
func aside(rng *rand.Rand, _ int, at float64) string {
	x, y := 5+20*rng.Float64(), 5+20*rng.Float64()
	return pair(at, 1, 1+x, 1, 1+y, 2+max(x, y), "")
}

func TestRelationsOfSiblings(t *testing.T) {
	for _, c := range []struct {
		name       string
		draw       drawing
		exclusions int
		follows    string // of the one order; "" for none
		expression string
	}{
		{"a lock", locked, 1, "", "own + in turn(a, b)"},
		{"scattered", scattered, 0, "", "own + max(a, b)"},
		{"a chain", chained, 0, "1", "own + a + b"},
		{"a chain with a wait", queued, 0, "null", "own + a + b"},
		{"a chain after a constant", constant, 0, "null", "own + a + b"},
		{"a timer", timed, 0, "0", "own + a + b"},
		{"two kinds of request", either, 0, "", "own + max(a, b)"},
		{"at once", aside, 0, "", "own + max(a, b)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analysed(t, 200, nil, c.draw, func(o *Options) { o.ClassAttr = "kind" })
			s := r.Endpoints[0].Structure
			follows := ""
			for _, x := range s.Edges {
				follows += "null"
				if v, ok := x.Follows.Get(); ok {
					follows = fmt.Sprint(v)
				}
			}
			names := strings.NewReplacer("max(b, a)", "max(a, b)", "turn(b, a)", "turn(a, b)")
			if len(s.Exclusions) != c.exclusions || follows != c.follows || names.Replace(s.Expression) != c.expression {
				t.Errorf("%d exclusions, follows %q, %q; want %d, %q, %q", len(s.Exclusions), follows, s.Expression, c.exclusions, c.follows, c.expression)
			}
		})
	}
}

// A class has the orders of its own requests, and the path of the whole leads
// through calls that only one class makes in turn.
func TestOrdersPerClass(t *testing.T) {
	draw := func(rng *rand.Rand, i int, at float64) string {
		if i%2 == 0 {
			return strings.Replace(chained(rng, i, at), "server ", "server kind=one ", 1)
		}
		return strings.Replace(aside(rng, i, at), "server ", "server kind=two ", 1)
	}
	r := analysed(t, 400, nil, draw, func(o *Options) { o.ClassAttr = "kind" })
	got := map[string]string{}
	for _, e := range r.Endpoints {
		got[e.Class] = e.Structure.Expression
	}
	if got["one"] != "own + a + b" || !strings.Contains(got["two"], "max(") || !strings.Contains(got[""], "max(") {
		t.Errorf("expressions by class: %q", got)
	}
	for _, n := range r.Endpoints[0].Structure.Nodes {
		// a is on the path of every request of one, and of those of two in which it ended last.
		if share := n.BlockingShare.Or(0); n.Operation == "a" && (share < 0.65 || share > 0.85) {
			t.Errorf("a is on the path of %.2f of the requests, want about 3 in 4", share)
		}
	}
}

// What callers wait for in one set and not in the other is a difference of
// structure; what they wait for in both is none.
func TestWaitedForDiffers(t *testing.T) {
	waited := func(rng *rand.Rand, _ int, at float64) string {
		x := 5 + 20*rng.Float64()
		return line(0, "GET /r", at, 0, 2+x, "server") + line(1, "a", at, 1, 1+x, "client")
	}
	left := func(rng *rand.Rand, _ int, at float64) string {
		x := 5 + 20*rng.Float64()
		return line(0, "GET /r", at, 0, 10, "server") + line(1, "a", at, 1, 1+x, "client")
	}
	for _, c := range []struct {
		name      string
		base, cur drawing
		want      string
	}{
		{"let go", waited, left, "was waited for; is not waited for"},
		{"waited for now", left, waited, "was not waited for; is waited for"},
		{"as it was", waited, waited, ""},
		{"as it was not", left, left, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analysed(t, 200, c.base, c.cur, nil)
			got := ""
			for _, d := range r.Endpoints[0].Structure.Differences {
				if d.Kind == report.WaitChanged {
					got = d.Detail
				}
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A call of which the answer does not depend is waited for until its caller gives
// up on it.
func TestOptionalIsWaitedFor(t *testing.T) {
	draw := func(rng *rand.Rand, i int, at float64) string {
		x, more := 5+20*rng.Float64(), ""
		if i%20 == 0 {
			x, more = 400, "error message=timeout"
		}
		return line(0, "GET /r", at, 0, 2+x, "server") + line(1, "recommendation", at, 1, 1+x, "client "+more)
	}
	r := analysed(t, 200, nil, draw, nil)
	for _, n := range r.Endpoints[0].Structure.Nodes {
		if n.Operation == "recommendation" && (!n.Optional || !n.WaitedFor || n.WaitedUpToMs.Or(0) != 400) {
			t.Errorf("optional %v, waited for %v, up to %v ms", n.Optional, n.WaitedFor, n.WaitedUpToMs)
		}
	}
}

// The request that stands for those around a quantile is one of the many there and
// not the odd one whose latency is nearest.
func TestExemplarStandsForItsNeighbours(t *testing.T) {
	draw := func(rng *rand.Rand, i int, at float64) string {
		end := 40 + 0.01*float64(i%100)
		if i%100 == 98 { // at p99, and the only one that spends it in b
			return pair(at, 1, 2, 2, end-1, end, "")
		}
		return pair(at, 1, end-2, end-2, end-1, end, "")
	}
	r := analysed(t, 100, nil, draw, nil)
	found := ""
	for _, x := range r.Endpoints[0].Exemplars {
		if strings.HasPrefix(x.Why, "stands for") {
			found = x.TraceID
		}
	}
	if found == "" || strings.HasSuffix(found, fmt.Sprintf("%02x", 99)) {
		t.Errorf("the exemplar is %q", found)
	}
}

// The rows that are told of first say what the report says in the end, in its order,
// and nothing of causes.
func TestFirst(t *testing.T) {
	draw := func(extra float64) drawing {
		return func(rng *rand.Rand, i int, at float64) string {
			took := 10 + rng.ExpFloat64()*2 + extra*float64(i%2)
			return line(0, fmt.Sprintf("GET /%c", 'a'+i%3), at, 0, took+3, "server") + line(1, "query", at, 1, took, "client peer=db")
		}
	}
	var first *report.Report
	r := analysed(t, 600, draw(0), draw(30), func(o *Options) { o.Top, o.First = 2, func(r *report.Report) { first = r } })
	if first == nil || len(first.Endpoints) != 2 || first.Ingest.Spans != r.Ingest.Spans {
		t.Fatalf("%+v", first)
	}
	at := 0
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		if !e.Whole() {
			continue
		}
		f := &first.Endpoints[at]
		at++
		if f.Operation != e.Operation || f.Verdict != e.Verdict || f.P99.CurrentMs != e.P99.CurrentMs || f.P99.CIMs != e.P99.CIMs || f.Requests.Current.Sampled != e.Requests.Current.Sampled {
			t.Errorf("first %s %s %+v, then %s %s %+v", f.Operation, f.Verdict, f.P99, e.Operation, e.Verdict, e.P99)
		}
		if len(f.Hypotheses)+len(f.Allocation)+len(f.Queues) > 0 || len(e.Hypotheses) == 0 {
			t.Errorf("%s: %d causes first, %d then", e.Operation, len(f.Hypotheses), len(e.Hypotheses))
		}
	}
	if at != 2 {
		t.Errorf("%d endpoints", at)
	}
}
