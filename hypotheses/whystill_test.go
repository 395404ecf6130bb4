package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

const msNS = 1_000_000

// A word is what a runtime's metric says of a service over a side: a counter of seconds or a gauge.
type word struct {
	service, name, unit string
	counter             bool
	value               float64
}

// against is the ranking of the endpoint of front of two drawn sets, with what runtimes say of each.
func against(t *testing.T, texts [2]string, words [2][]word) (*Comparison, *Ranking) {
	t.Helper()
	return sampledAgainst(t, 1, texts, words)
}

// sampledAgainst is against where each trace stands for so many requests.
func sampledAgainst(t *testing.T, stands int64, texts [2]string, words [2][]word) (*Comparison, *Ranking) {
	t.Helper()
	var sides [2]*summary.Summary
	for i := range texts {
		store := trace.NewStore(trace.NewTables())
		if err := tracetest.Add(store, texts[i], 1+20_000*i); err != nil {
			t.Fatal(err)
		}
		sides[i] = summary.New()
		sides[i].AddSpans(store, func(*trace.Store, trace.SpanRef, bool) graph.Judgement {
			return graph.Judgement{Weight: stands * graph.OneRequest}
		})
		tables := trace.NewTables()
		ms := metric.NewStore(tables)
		for _, w := range words[i] {
			p := metric.RawPoint{Name: []byte(w.name), Unit: []byte(w.unit), Type: metric.Gauge, Float: w.value, Start: sides[i].Counts.From, Time: sides[i].Counts.To,
				Resource: tables.AddResource([]trace.RawAttr{{Key: []byte("service.name"), Value: trace.RawValue{Type: trace.String, Bytes: []byte(w.service)}}})}
			if w.counter {
				p.Type, p.Temporality, p.Monotonic = metric.Sum, metric.Delta, true
			}
			ms.Add(&p)
		}
		sides[i].Metrics = ms.Fold()
	}
	r := summary.Read([]*summary.Summary{sides[0]}, []*summary.Summary{sides[1]}, summary.Options{})
	for _, e := range r.Endpoints {
		if r.Dict.String(e.Name.Service) != "front" {
			continue
		}
		c, err := NewComparison(r, e, stats.Defaults(), func(*summary.Request) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		c.P = c.Test.P
		c.Verdict = c.Pair.Verdict(c.Test, c.P <= c.Options.Alpha)
		return c, Rank(c)
	}
	t.Fatal("no endpoint of front")
	return nil, nil
}

// relay draws 1,500 requests of front, 60 a second, to api, which asks users: they go on when still says that they may, and api
// takes each of its turns as late as late says.
func relay(seed uint64, still func(service string, at int64) int64, late func(answer bool, rng *rand.Rand) int64) string {
	rng := rand.New(rand.NewPCG(seed, 9))
	var b strings.Builder
	at := int64(0)
	for range 1500 {
		at += int64(rng.ExpFloat64() * 1e9 / 60)
		asked := at + msNS
		begun := still("api", asked+200_000+late(false, rng))
		calls := begun + 2*msNS
		there := still("users", calls+200_000)
		gone := still("users", there+6*msNS+rng.Int64N(4*msNS))
		read := still("api", gone+200_000+late(true, rng))
		done := read + 3*msNS
		fmt.Fprintf(&b, "front GET_/ %d..%dns server host=f\n  front GET_/feed %d..%dns client host=f\n    api GET_/feed %d..%dns server host=a\n      api GET_/users %d..%dns client host=a\n        users GET_/users %d..%dns server host=u\n\n",
			at, done+msNS, asked, done+200_000, begun, done, calls, read, there, gone)
	}
	return b.String()
}

func goesOn(_ string, at int64) int64    { return at }
func inTime(bool, *rand.Rand) int64      { return 0 }
func loopy(_ bool, rng *rand.Rand) int64 { return int64(rng.ExpFloat64() * 8 * msNS) }
func answers(a bool, rng *rand.Rand) int64 {
	if !a {
		return 0
	}
	return loopy(a, rng)
}

// halting stops a service for 180 ms in every second, or what is left of it until the next whole 100 ms; always at the same time
// of it, or not.
func halting(service string, onBeat, timed bool) func(string, int64) int64 {
	return func(s string, at int64) int64 {
		sec := at / 1e9
		from := sec*1e9 + 100*msNS
		if !timed {
			from += int64(uint64(sec)*0x9e3779b97f4a7c15>>20) % (600 * msNS)
		}
		to := from + 180*msNS
		if onBeat {
			to = to / beat * beat
		}
		if s == service && at >= from && at < to {
			return to + at%1000
		}
		return at
	}
}

func told(f *Finding, what string) bool {
	if strings.Contains(f.Claim, what) {
		return true
	}
	for _, e := range f.Evidence {
		if strings.Contains(e.Statement, what) {
			return true
		}
	}
	return false
}

func TestWhatStoppedAProcessIsToldOrAskedFor(t *testing.T) {
	base := relay(1, goesOn, inTime)
	for _, c := range []struct {
		name        string
		onBeat      bool
		timed       bool
		words       [2][]word
		tells, asks []string
	}{
		{name: "nothing is known", asks: []string{"cannot be told", "jvm.gc.duration", "nodejs.eventloop.delay.max", "container_cpu_cfs_throttled"}},
		{name: "garbage", words: [2][]word{{{"users", "go.gc.pause.duration", "s", true, 0.1}}, {{"users", "go.gc.pause.duration", "s", true, 4}}},
			tells: []string{": garbage collection"}},
		{name: "not garbage", words: [2][]word{{{"users", "go.gc.pause.duration", "s", true, 0.1}}, {{"users", "go.gc.pause.duration", "s", true, 0.12}}},
			tells: []string{"garbage collection was not it"}, asks: []string{"cannot be told", "container_cpu_cfs_throttled"}},
		{name: "garbage of another", words: [2][]word{nil, {{"api", "go.gc.pause.duration", "s", true, 4}}}, asks: []string{"cannot be told", "jvm.gc.duration"}},
		{name: "quota", onBeat: true, tells: []string{"on the beat of a CPU quota"}},
		{name: "a timer's", timed: true, asks: []string{"cannot be told"}},
		{name: "quota by metric", words: [2][]word{nil, {{"users", "container_cpu_cfs_throttled_seconds_total", "s", true, 4}}}, tells: []string{": a CPU quota"}},
	} {
		cur := relay(2, halting("users", c.onBeat, c.timed), inTime)
		_, r := against(t, [2]string{base, cur}, c.words)
		f := first(t, r)
		if f.Kind != "pause" || f.Service != "users" || f.Strength != Strong {
			t.Errorf("%s: first is %s %s, %v", c.name, f.Kind, f.Service, f.Strength)
		}
		for _, x := range append(c.tells, c.asks...) {
			if !told(&f, x) {
				t.Errorf("%s: nothing says %q: %s %+v", c.name, x, f.Claim, f.Evidence)
			}
		}
		if len(c.asks) == 0 && told(&f, "cannot be told") {
			t.Errorf("%s: asks for more: %+v", c.name, f.Evidence)
		}
	}
}

// Where not all requests have traces, one without may have kept the only thread of a process: unless something tells that
// none did, a stop is no strong cause.
func TestAStopOfSampledTracesMayBeWorkThatWasNotKept(t *testing.T) {
	texts := [2]string{relay(1, goesOn, inTime), relay(2, halting("users", false, false), inTime)}
	for _, c := range []struct {
		name   string
		stands int64
		words  [2][]word
		weak   bool
	}{
		{"all are kept", 1, [2][]word{}, false},
		{"one in four", 4, [2][]word{}, true},
		{"one in four, garbage", 4, [2][]word{{{"users", "go.gc.pause.duration", "s", true, 0.1}}, {{"users", "go.gc.pause.duration", "s", true, 4}}}, false},
	} {
		_, r := sampledAgainst(t, c.stands, texts, c.words)
		f := first(t, r)
		if f.Kind != "pause" || f.Service != "users" || (f.Strength == Weak) != c.weak || (len(f.Warnings) > 0) != c.weak {
			t.Errorf("%s: first is %s %s, %s, %q", c.name, f.Kind, f.Service, f.Strength, f.Warnings)
		}
	}
}

func TestABusyLoopIsToldByBothEndsOfItsTurns(t *testing.T) {
	base := relay(1, goesOn, inTime)
	busy := relay(2, goesOn, loopy)
	_, r := against(t, [2]string{base, busy}, [2][]word{})
	if f := first(t, r); f.Kind != "pause" || f.Service != "api" || !told(&f, "begin late") || !told(&f, "no metric tells") || f.Strength == Weak {
		t.Errorf("first is %s %s, %v: %s", f.Kind, f.Service, f.Strength, f.Claim)
	}
	_, r = against(t, [2]string{base, busy}, [2][]word{{{"api", "nodejs.eventloop.delay.max", "s", false, 0.002}}, {{"api", "nodejs.eventloop.delay.max", "s", false, 0.06}}})
	if f := first(t, r); f.Kind != "pause" || !told(&f, "its event loop is busy") {
		t.Errorf("with the loop's delay: first is %s: %s", f.Kind, f.Claim)
	}
	_, r = against(t, [2]string{base, busy}, [2][]word{{{"api", "process.cpu.utilization", "1", false, 0.2}}, {{"api", "process.cpu.utilization", "1", false, 0.97}}})
	if f := first(t, r); f.Kind != "contention" || f.Service != "api" || !told(&f, "it lacks CPU") {
		t.Errorf("with the CPU's use: first is %s: %s", f.Kind, f.Claim)
	}

	// The look-alike: only the way back is longer, as of larger answers.
	_, r = against(t, [2]string{base, relay(2, goesOn, answers)}, [2][]word{})
	for _, f := range r.Findings {
		if f.Kind == "pause" && (f.Strength != Weak || len(f.Warnings) == 0) || f.Kind == "load" || f.Kind == "server-queue" {
			t.Errorf("late answers alone: %s %s, %v", f.Kind, f.Service, f.Strength)
		}
	}
}
