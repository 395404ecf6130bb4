package hypotheses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// compared is the ranking of the first endpoint of two drawn sets, with its
// verdict. Pools are gauges of the current set.
func compared(t *testing.T, base, cur string, pools ...metric.RawPoint) (*Comparison, *Ranking) {
	t.Helper()
	return comparedOf(t, graph.OneRequest, base, cur, pools...)
}

// comparedOf is compared of requests that stand for weight each.
func comparedOf(t *testing.T, weight int64, base, cur string, pools ...metric.RawPoint) (*Comparison, *Ranking) {
	t.Helper()
	load := func(text string, points []metric.RawPoint) *summary.Summary {
		store, err := tracetest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s := summary.New()
		s.AddSpans(store, func(*trace.Store, trace.SpanRef, bool) graph.Judgement {
			return graph.Judgement{Weight: weight}
		})
		ms := metric.NewStore(trace.NewTables())
		for i := range points {
			ms.Add(&points[i])
		}
		s.Metrics = ms.Fold()
		return s
	}
	r := summary.Read([]*summary.Summary{load(base, nil)}, []*summary.Summary{load(cur, pools)}, summary.Options{})
	c, err := NewComparison(r, r.Endpoints[0], stats.Defaults(), func(q *summary.Request) bool { return Counts(q.Record, population.Answered) })
	if err != nil {
		t.Fatal(err)
	}
	c.P = c.Test.P
	c.Verdict = c.Pair.Verdict(c.Test, c.P <= 0.05)
	return c, Rank(c)
}

// repeat draws n requests, a second apart, of lines with times in ms that %d
// places.
func repeat(n int, draw func(i, at int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(draw(i, 1000*i))
		b.WriteString("\n")
	}
	return b.String()
}

func first(t *testing.T, r *Ranking) Finding {
	t.Helper()
	if len(r.Findings) == 0 {
		t.Fatal("no findings")
	}
	return r.Findings[0]
}

func near(got, want, share float64) bool { return got >= want*(1-share) && got <= want*(1+share) }

func TestCallsThatBecameSerial(t *testing.T) {
	parallel := repeat(20, func(_, at int) string {
		return fmt.Sprintf("api GET_/latest %d..%dms server\n  api A %d..%dms client\n  api B %d..%dms client\n  api C %d..%dms client\n", at, at+120, at+10, at+110, at+10, at+110, at+10, at+110)
	})
	serial := repeat(20, func(_, at int) string {
		return fmt.Sprintf("api GET_/latest %d..%dms server\n  api A %d..%dms client\n  api B %d..%dms client\n  api C %d..%dms client\n", at, at+320, at+10, at+110, at+110, at+210, at+210, at+310)
	})
	_, r := compared(t, parallel, serial)
	if f := first(t, r); f.Kind != "serialization" || f.Service != "api" || f.Operation != "GET_/latest" || !near(f.Explains, 200e6, 0.01) {
		t.Errorf("first: %s %s %s explains %.0f ns", f.Kind, f.Service, f.Operation, f.Explains)
	}
	for _, f := range r.Findings {
		if f.Kind == "service-time" && f.Explains > 20e6 {
			t.Errorf("%s %s explains %.0f ns: no call is slower", f.Kind, f.Operation, f.Explains)
		}
	}

	// The look-alike: still parallel, and one call slower.
	slower := repeat(20, func(_, at int) string {
		return fmt.Sprintf("api GET_/latest %d..%dms server\n  api A %d..%dms client\n  api B %d..%dms client\n  api C %d..%dms client\n", at, at+320, at+10, at+310, at+10, at+110, at+10, at+110)
	})
	_, r = compared(t, parallel, slower)
	if f := first(t, r); f.Kind != "service-time" {
		t.Errorf("parallel calls that are slower: first is %s", f.Kind)
	}
	for _, f := range r.Findings {
		if f.Kind == "serialization" {
			t.Error("serialization was found where nothing is serial")
		}
	}
}

func TestMoreOfTheSlowKind(t *testing.T) {
	mixed := func(large int, slow int) string {
		return repeat(200, func(i, at int) string {
			if i < large {
				return fmt.Sprintf("api GET_/x %d..%dms server rows=large\n", at, at+900)
			}
			return fmt.Sprintf("api GET_/x %d..%dms server rows=small\n", at, at+slow)
		})
	}
	_, r := compared(t, mixed(1, 20), mixed(20, 20))
	if f := first(t, r); f.Kind != "mix-shift" || f.Attribute != "rows" || f.Value != "large" {
		t.Errorf("first: %s %s=%s", f.Kind, f.Attribute, f.Value)
	}
	for _, f := range r.Findings {
		if f.Kind == "service-time" && f.Explains > 20e6 {
			t.Errorf("service-time explains %.0f ns: within each kind nothing changed", f.Explains)
		}
	}

	// The look-alike: the same mix, and every request of the small kind slower.
	_, r = compared(t, mixed(1, 20), mixed(1, 500))
	if f := first(t, r); f.Kind != "service-time" {
		t.Errorf("slower at the same mix: first is %s", f.Kind)
	}
	for _, f := range r.Findings {
		if f.Kind == "mix-shift" {
			t.Error("a mix-shift was found at the same mix")
		}
	}
}

func TestTheGapBeforeACallIsThePoolsOnlyIfThePoolSaysSo(t *testing.T) {
	with := func(lead int) string {
		return repeat(20, func(_, at int) string {
			return fmt.Sprintf("shop GET_/report %d..%dms server\n  shop SELECT %d..%dms client db.system=pg\n", at, at+lead+80, at+lead, at+lead+60)
		})
	}
	// Without metrics the caller did it itself.
	_, r := compared(t, with(10), with(420))
	f := first(t, r)
	if f.Kind != "service-time" || f.Operation != "GET_/report" || !near(f.Explains, 410e6, 0.02) {
		t.Errorf("first: %s %s explains %.0f ns", f.Kind, f.Operation, f.Explains)
	}
	for _, f := range r.Findings {
		if f.Kind == "client-wait" {
			t.Error("client-wait without any evidence of a pool")
		}
	}
}

func TestEachCauseIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Catalogue {
		if c.Kind == "" || c.Title == "" || c.Claim == "" || c.Supports == "" || c.Refutes == "" || c.Mimics == "" || c.Emit == "" || c.find == nil {
			t.Errorf("%q: a field of its doc is missing", c.Kind)
		}
		if seen[c.Kind] {
			t.Errorf("%q stands twice", c.Kind)
		}
		seen[c.Kind] = true
		if d, ok := Explain(c.Kind); !ok || d.Title != c.Title {
			t.Errorf("Explain(%q) gives another doc", c.Kind)
		}
	}
}

func TestSameMillisecondsAreOrderedByPrecedence(t *testing.T) {
	found := []Finding{
		{Kind: "service-time", Operation: "a", Explains: 100},
		{Kind: "client-wait", Operation: "b", Explains: 90},
		{Kind: "load", Operation: "c", Explains: 50},
	}
	order(found)
	if got := found[0].Operation + found[1].Operation + found[2].Operation; got != "bac" {
		t.Errorf("order %s, want bac: 90 of 100 is the same time, and waits go before service", got)
	}
	// A wait that longer holds explain goes below its callee, however large.
	found = []Finding{
		{Kind: "client-wait", Operation: "wait", Explains: 100, Below: func(o *Finding) bool { return o.Operation == "callee" }},
		{Kind: "service-time", Operation: "other", Explains: 80},
		{Kind: "service-time", Operation: "callee", Explains: 70},
	}
	order(found)
	if found[0].Operation != "other" || found[1].Operation != "callee" || found[2].Operation != "wait" {
		t.Errorf("order %s %s %s", found[0].Operation, found[1].Operation, found[2].Operation)
	}
}

// TestWhatMovesNoRequestsTimeComesLast: a failed guard leads where nothing tells how much it explains, but not where it explains
// nothing, as a clock that moved against others.
func TestWhatMovesNoRequestsTimeComesLast(t *testing.T) {
	api := func(ms int) string {
		return repeat(40, func(i, at int) string {
			return fmt.Sprintf("api GET_/x %d..%dms server\n  api SELECT %d..%dms client db.system=pg\n", at, at+10+ms+i%3, at+5, at+5+ms+i%3)
		})
	}
	c, _ := compared(t, api(10), api(60))
	c.Verdict.Outcome = stats.CannotTell
	for explains, at := range map[float64]int{0: 1, math.NaN(): 0} {
		c.Guards = []Guard{{Kind: GuardClock, Status: GuardFail, Explains: explains}}
		r := Rank(c)
		if len(r.Findings) != 2 || r.Findings[at].Kind != "measurement" {
			t.Errorf("a guard that explains %v is not at %d of %d", explains, at, len(r.Findings))
		}
	}
}

// TestReplayOfWhatSticksOut draws steps that end a little after their parents, as clocks read in whole milliseconds have them:
// what is cut off them lies beside the path, and the replay is exact all the same.
func TestReplayOfWhatSticksOut(t *testing.T) {
	text := func(seed uint64, ms int64) string {
		rng := rand.New(rand.NewPCG(seed, 4))
		var b strings.Builder
		for i := range int64(300) {
			at, own := i*500*msNS, ms*msNS+rng.Int64N(ms*msNS)
			fmt.Fprintf(&b, "front GET_/ %d..%dns server host=f\n  front handler %d..%dns internal host=f\n    front select %d..%dns client host=f db.system=mysql\n\n",
				at, at+own+2*msNS, at+msNS/2, at+own+2*msNS+9_000, at+msNS, at+msNS+own)
		}
		return b.String()
	}
	_, r := against(t, [2]string{text(1, 10), text(2, 20)}, [2][]word{})
	if r.Inexact != 0 {
		t.Errorf("a replay of nothing misses %.3g of the requests", r.Inexact)
	}
	if len(r.Findings) == 0 || r.Findings[0].Kind != "service-time" {
		t.Errorf("findings: %+v", r.Findings)
	}
}
