package hypotheses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A draw writes request i of a side, which arrives at a time in ms, as a sketch;
// "" leaves it out.
type draw func(rng *rand.Rand, i int, at float64) string

// latency is log-normal with a median in ms.
func latency(rng *rand.Rand, median float64) float64 {
	return median * math.Exp(0.4*rng.NormFloat64())
}

// plain is a request without calls.
func plain(median float64, attrs ...string) draw {
	return func(rng *rand.Rand, i int, at float64) string {
		return span(at, latency(rng, median), attrs...)
	}
}

func span(at, ms float64, attrs ...string) string {
	return fmt.Sprintf("api GET /x %.3f..%.3fms server %s", at, at+ms, strings.Join(attrs, " "))
}

// arriving draws n requests that arrive at random, ten a second.
func arriving(seed uint64, n int, d draw) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	at := float64(seed) * 3_600_000 // runs are hours apart
	for i := range n {
		at += 100 * rng.ExpFloat64()
		if s := d(rng, i, at); s != "" {
			b.WriteString(s + "\n\n")
		}
	}
	return b.String()
}

// compare reads two sketches as the sides of the endpoint api GET /x.
func compare(t *testing.T, base, cur string) *Comparison {
	t.Helper()
	return compareMetered(t, base, cur, [2][]float64{})
}

// counting draws a side of which a metric counts all requests and a rule keeps some:
// the traces as a sketch, and how many ms the metric's requests lasted.
func counting(seed uint64, n int, ms func(*rand.Rand) float64, keep func(*rand.Rand, float64) bool) (traces string, counted []float64) {
	traces = arriving(seed, n, func(rng *rand.Rand, i int, at float64) string {
		x := ms(rng)
		counted = append(counted, x)
		if !keep(rng, x) {
			return ""
		}
		return span(at, x)
	})
	return traces, counted
}

// durations is a histogram of lengths in ms of the requests of a summary, over its
// time; nil lengths: none.
func durations(of *summary.Summary, lengths []float64) *metric.Fold {
	tables := trace.NewTables()
	s := metric.NewStore(tables)
	text := func(key, value string) trace.RawAttr {
		return trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.String, Bytes: []byte(value)}}
	}
	p := metric.RawPoint{
		Name: []byte("http.server.request.duration"), Unit: []byte("s"), Type: metric.Histogram, Temporality: metric.Delta,
		Resource: tables.AddResource([]trace.RawAttr{text("service.name", "api")}),
		Attrs:    []trace.RawAttr{text("http.request.method", "GET"), text("http.route", "/x")},
		Start:    of.Counts.From, Time: of.Counts.To, Count: uint64(len(lengths)),
		Bounds: []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5}, BucketCounts: make([]uint64, 12),
	}
	for _, ms := range lengths {
		p.BucketCounts[sort.SearchFloat64s(p.Bounds, ms/1e3)]++
	}
	if lengths != nil {
		s.Add(&p)
	}
	return s.Fold()
}

// compareMetered is compare with request-duration metrics of lengths in ms.
func compareMetered(t *testing.T, base, cur string, counted [2][]float64) *Comparison {
	t.Helper()
	judge := func(s *trace.Store, r trace.SpanRef, calls bool) graph.Judgement {
		w, _ := population.WeightOf(s, r)
		return graph.Judgement{Outcome: population.OutcomeOf(s, r, calls), Weight: int64(w)}
	}
	var sides [2]*summary.Summary
	for i, text := range []string{base, cur} {
		store := trace.NewStore(trace.NewTables())
		if err := tracetest.Add(store, text, 1+20_000*i); err != nil {
			t.Fatal(err)
		}
		sides[i] = summary.New()
		sides[i].AddSpans(store, judge)
		sides[i].Metrics = durations(sides[i], counted[i])
	}
	r := summary.Read([]*summary.Summary{sides[0]}, []*summary.Summary{sides[1]}, summary.Options{})
	for _, e := range r.Endpoints {
		if strings.HasPrefix(r.Dict.String(e.Name.Service), "api") && len(e.Sides[1]) > 0 {
			c, err := NewComparison(r, e, stats.Defaults(), func(q *summary.Request) bool { return Counts(q.Record, population.Answered) })
			if err != nil {
				t.Fatal(err)
			}
			if c.Pair != nil {
				c.P = c.Test.P
				c.Verdict = c.Pair.Verdict(c.Test, c.P <= c.Options.Alpha)
			}
			tel := &Telemetry{}
			for i, set := range r.Sets {
				for _, d := range set.Metrics.Durations(metric.Window{From: set.Counts.From, To: set.Counts.To}, metric.NewNames(nil)) {
					tel.Durations[i] = &d
				}
			}
			c.Guard(tel)
			return c
		}
	}
	t.Fatal("no endpoint of api")
	return nil
}

func (c *Comparison) guardOf(kind string) *Guard {
	for i := range c.Guards {
		if c.Guards[i].Kind == kind {
			return &c.Guards[i]
		}
	}
	return &Guard{}
}

const requests = 600

// Each guard has what it is for and what looks like it.
func TestGuards(t *testing.T) {
	base := arriving(1, requests, plain(50))
	outcomes := func(every int, ms float64, attrs string) string {
		return arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			if i%every == 0 {
				return span(at, ms, attrs)
			}
			return span(at, latency(rng, 50))
		})
	}
	slow := func(seed uint64) string { // the upper half takes longer
		return arriving(seed, requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			if ms > 50 {
				ms *= 1.8
			}
			return span(at, ms)
		})
	}
	tail := func(seed uint64, keep float64) string {
		return arriving(seed, 4*requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			if x := rng.Float64(); ms < 70 && x > keep {
				return ""
			}
			return span(at, ms)
		})
	}
	warm := func(seed uint64, until int, factor float64) string {
		return arriving(seed, requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			if i < until {
				ms *= factor
			}
			return span(at, ms)
		})
	}
	agents := func(seed uint64, share float64, agent string, ms float64) string {
		return arriving(seed, requests, func(rng *rand.Rand, i int, at float64) string {
			if rng.Float64() < share {
				return span(at, latency(rng, ms), "user_agent.original="+agent)
			}
			return span(at, latency(rng, 50), "user_agent.original=Mozilla/5.0")
		})
	}
	tiers := func(seed uint64, share float64) string {
		return arriving(seed, requests, func(rng *rand.Rand, i int, at float64) string {
			tier := "basic"
			if rng.Float64() < share {
				tier = "gold"
			}
			return span(at, latency(rng, 50), "tier="+tier)
		})
	}
	// placed are calls of a service with two instances, of which the first gets a share.
	placed := func(seed uint64, first float64) string {
		return arriving(seed, requests, func(rng *rand.Rand, i int, at float64) string {
			ms, pod := latency(rng, 50), "p2"
			if rng.Float64() < first {
				pod = "p1"
			}
			return fmt.Sprintf("%s host=h\n  api call %.3f..%.3fms client host=h\n    db GET /d %.3f..%.3fms server resource.service.instance.id=%s host=%[6]s",
				span(at, ms), at+1, at+ms-1, at+2, at+ms-2, pod)
		})
	}
	// called are calls of cart, whose spans vary.
	called := func(seed uint64, f func(at, ms float64) string) string {
		return arriving(seed, requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			return span(at, ms, "host=h1") + "\n" + f(at, ms)
		})
	}
	cart := func(name string, ahead float64) func(at, ms float64) string {
		return func(at, ms float64) string {
			return fmt.Sprintf("  api call %.3f..%.3fms client host=h1\n    cart %s %.3f..%.3fms server host=h2", at+1, at+ms-1, name, at+2+ahead, at+ms-2+ahead)
		}
	}
	clients := func(at, ms float64) string {
		return fmt.Sprintf("  api call %.3f..%.3fms client host=h1", at+1, at+ms-1)
	}
	inside := func(at, ms float64) string {
		return cart("GET /c", 0)(at, ms) + fmt.Sprintf("\n      cart render %.3f..%.3fms internal host=h2", at+3, at+ms-3)
	}
	newHop := func(at, ms float64) string {
		return fmt.Sprintf("  api call %.3f..%.3fms client host=h1\n    cart GET /c %.3f..%.3fms server host=h2\n  api ask %.3f..%.3fms client host=h1",
			at+1, at+ms/2-1, at+2, at+ms/2-2, at+ms/2, at+ms-1)
	}
	lost := func(seed uint64) string {
		return arriving(seed, requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			if rng.Float64() < 0.15 {
				return fmt.Sprintf("%s host=h1\n  cart GET /c %.3f..%.3fms server host=h2 orphan", span(at, ms), at+2, at+ms-2)
			}
			return span(at, ms, "host=h1") + "\n" + cart("GET /c", 0)(at, ms)
		})
	}

	for _, c := range []struct {
		name, base, cur string
		kind            string
		status          GuardStatus
		verdict         stats.Outcome // "": any
		says            string
	}{
		{"as many cancelled on both sides", outcomes(10, 400, "http.response.status_code=499"), outcomes(10, 400, "http.response.status_code=499"), GuardPopulation, GuardOK, "", ""},
		{"one in ten cancelled", base, outcomes(10, 400, "http.response.status_code=499"), GuardPopulation, GuardFail, NotComparable, "cancelled requests went from 0 % to 10 %"},
		{"one in fifty cancelled", base, outcomes(50, 400, "http.response.status_code=499"), GuardPopulation, GuardOK, "", ""},
		{"failures are slow, successes as before", base, outcomes(12, 900, "http.response.status_code=500"), GuardPopulation, GuardFail, NotComparable, "failed requests"},
		{"failures, and successes slower too", base, arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			if i%12 == 0 {
				return span(at, 900, "http.response.status_code=500")
			}
			return span(at, latency(rng, 110))
		}), GuardPopulation, GuardWarn, stats.Regression, "failed requests"},
		{"fast failures in place of slow answers", slow(1), outcomes(12, 1, "http.response.status_code=500"), GuardPopulation, GuardFail, NotComparable, "no improvement"},
		{"probes in the current side", agents(1, 0, "", 1), agents(2, 0.6, "kube-probe/1.30", 2), GuardPopulation, GuardFail, NotComparable, "kube-probe"},
		{"probes in both sides", agents(3, 0.5, "kube-probe/1.30", 2), agents(4, 0.5, "kube-probe/1.30", 2), GuardPopulation, GuardOK, stats.NoRegression, ""},
		{"crawlers that get 404", base, outcomes(3, 2, "http.response.status_code=404"), GuardPopulation, GuardFail, NotComparable, "http.response.status_code=404 went from 0 % to 33.3 %"},
		{"crawlers that went", outcomes(3, 2, "http.response.status_code=404"), arriving(1, requests, plain(50)), GuardPopulation, GuardFail, NotComparable, "status_code=404"},
		{"crawlers on both sides", outcomes(3, 2, "http.response.status_code=404"), outcomes(3, 2, "http.response.status_code=404"), GuardPopulation, GuardOK, stats.NoRegression, ""},
		{"crawlers, and the others slower", base, arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			if i%20 == 0 {
				return span(at, 2, "http.response.status_code=404")
			}
			return span(at, latency(rng, 110))
		}), GuardPopulation, GuardWarn, stats.Regression, "status_code=404"},
		{"a new app, as fast as the old one", agents(15, 0, "", 1), agents(16, 0.6, "app/2", 50), GuardPopulation, GuardWarn, stats.NoRegression, "app/2"},
		{"a key that all have now", base, arriving(2, requests, plain(50, "lane=blue")), GuardMix, GuardOK, stats.NoRegression, ""},
		{"another mix of tiers", tiers(1, 0.2), tiers(2, 0.45), GuardMix, GuardWarn, "", "tier"},
		{"the same mix", tiers(1, 0.2), tiers(2, 0.2), GuardMix, GuardOK, "", ""},
		{"calls to one instance", placed(1, 0.5), placed(2, 0.9), GuardPlacement, GuardWarn, "", "db"},
		{"calls to both instances", placed(1, 0.5), placed(2, 0.52), GuardPlacement, GuardOK, "", ""},
		{"tail-sampled, and silent about it", arriving(1, 4*requests, plain(50)), tail(2, 0.1), GuardSampling, GuardFail, NotComparable, "tail-sampled"},
		{"the baseline tail-sampled", tail(1, 0.1), arriving(2, 4*requests, plain(50)), GuardSampling, GuardFail, NotComparable, "baseline"},
		{"both tail-sampled", tail(1, 0.1), tail(2, 0.1), GuardSampling, GuardOK, "", ""},
		{"slower, and nothing sampled", base, slow(2), GuardSampling, GuardOK, stats.Regression, ""},
		{"the bulk a half slower", arriving(1, 4*requests, plain(50)), arriving(2, 4*requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			if rng.Float64() < 0.4 {
				ms = max(ms, 62) + 10*rng.ExpFloat64()
			}
			return span(at, ms)
		}), GuardSampling, GuardOK, stats.Regression, ""},
		{"a tenth of the load", arriving(1, 4*requests, plain(50)), strings.Join(strings.SplitAfter(arriving(2, 4*requests, plain(50)), "\n\n")[:requests], ""), GuardSampling, GuardOK, "", ""},
		{"another head rate", arriving(1, requests, plain(50, "th=8")), arriving(2, requests, plain(50, "th=c")), GuardSampling, GuardWarn, "", "50 %"},
		{"the same head rate", arriving(1, requests, plain(50, "th=8")), arriving(2, requests, plain(50, "th=8")), GuardSampling, GuardOK, "", "weighted"},
		{"clients that wait for their answers", base, waiting(2, 2), GuardOmission, GuardFail, NotComparable, "current load waits"},
		{"a load that comes at a steady pace", base, paced(2, 100, 50), GuardOmission, GuardOK, stats.NoRegression, "pace"},
		{"a steady pace, and slower", paced(1, 100, 50), paced(2, 100, 85), GuardOmission, GuardOK, stats.Regression, "pace"},
		{"clients that wait, and a steady pace", paced(1, 100, 60), waiting(2, 2), GuardOmission, GuardFail, NotComparable, "current load waits"},
		{"four clients wait, and six", waiting(1, 4), waiting(2, 6), GuardOmission, GuardWarn, "", "both sides"},
		{"both loads wait", waiting(1, 2), waiting(2, 2), GuardOmission, GuardWarn, "", "both sides"},
		{"slower under an open load", base, slow(2), GuardOmission, GuardOK, stats.Regression, ""},
		{"a cold start", base, warm(2, 90, 4), GuardWarmUp, GuardFail, stats.CannotTell, "first"},
		{"large requests first", arriving(1, requests, plain(50, "size=small")), arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			if i < 90 {
				return span(at, 4*latency(rng, 50), "size=large")
			}
			return span(at, latency(rng, 50), "size=small")
		}), GuardWarmUp, GuardOK, "", ""},
		{"a cold start on both sides", warm(1, 90, 4), warm(2, 90, 4), GuardWarmUp, GuardWarn, "", "both sides begin so"},
		{"a job that was due at the beginning", minutely(1, 40), minutely(2, 600), GuardWarmUp, GuardOK, "", ""},
		{"slow to the end", base, warm(2, requests, 4), GuardWarmUp, GuardOK, stats.Regression, ""},
		{"a clock that moved", called(1, cart("GET /c", 0)), called(2, cart("GET /c", 80)), GuardClock, GuardFail, "", "h1 and h2"},
		{"a clock that is off as before", called(1, cart("GET /c", 80)), called(2, cart("GET /c", 80)), GuardClock, GuardOK, stats.NoRegression, ""},
		{"a renamed call", called(1, cart("GET /c", 0)), called(2, cart("Carts/Get", 0)), GuardInstrumentation, GuardWarn, stats.NoRegression, "now called"},
		{"a callee that fell silent", called(1, cart("GET /c", 0)), called(2, clients), GuardInstrumentation, GuardFail, "", "from 100 % to 0 %"},
		{"a batch of the callee's spans is lost", called(1, cart("GET /c", 0)), arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			if i >= 200 && i < 280 {
				return span(at, ms, "host=h1") + "\n" + clients(at, ms)
			}
			return span(at, ms, "host=h1") + "\n" + cart("GET /c", 0)(at, ms)
		}), GuardInstrumentation, GuardWarn, stats.NoRegression, "a batch of spans was lost"},
		{"one call in seven is not recorded any more", called(1, cart("GET /c", 0)), arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			ms := latency(rng, 50)
			if rng.IntN(7) == 0 {
				return span(at, ms, "host=h1") + "\n" + clients(at, ms)
			}
			return span(at, ms, "host=h1") + "\n" + cart("GET /c", 0)(at, ms)
		}), GuardInstrumentation, GuardFail, "", "have the callee's span went from 100 % to 8"},
		{"newly recorded work", called(1, cart("GET /c", 0)), called(2, inside), GuardInstrumentation, GuardWarn, stats.NoRegression, "newly recorded"},
		{"a key recorded newly", base, arriving(2, requests, plain(50, "lane=blue")), GuardInstrumentation, GuardWarn, stats.NoRegression, "lane is newly recorded"},
		{"a key recorded no more", arriving(1, requests, plain(50, "lane=blue")), arriving(2, requests, plain(50)), GuardInstrumentation, GuardWarn, stats.NoRegression, "lane is recorded no more"},
		{"a new call that takes time", called(1, cart("GET /c", 0)), arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			ms := 2 * latency(rng, 50)
			return span(at, ms, "host=h1") + "\n" + newHop(at, ms)
		}), GuardInstrumentation, GuardOK, stats.Regression, ""},
		{"spans lost on the way", called(1, cart("GET /c", 0)), lost(2), GuardInstrumentation, GuardFail, "", "never received"},
		{"spans lost on both sides", lost(1), lost(2), GuardInstrumentation, GuardWarn, "", "never received"},
		{"few", arriving(1, 30, plain(50)), arriving(2, 30, plain(50)), GuardTooFew, GuardWarn, "", "needs 368"},
		{"enough", base, arriving(2, requests, plain(50)), GuardTooFew, GuardOK, "", ""},
		{"one run a side", base, arriving(2, requests, plain(50)), GuardRuns, GuardOK, stats.NoRegression, "window-to-window"},
		{"a window of seconds", arriving(1, 40, plain(50)), arriving(2, 40, plain(50)), GuardWindow, GuardWarn, "", "independence assumed"},
		{"slower from the middle on", base, arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			if i >= requests/2 {
				return span(at, 1.6*latency(rng, 50))
			}
			return span(at, latency(rng, 50))
		}), GuardWindow, GuardWarn, stats.CannotTell, "--split time="},
		{"a little slower everywhere", base, arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			return span(at, 1.015*latency(rng, 50))
		}), GuardWindow, GuardOK, "", "blocks"},
		{"slower now and then", base, arriving(2, requests, func(rng *rand.Rand, i int, at float64) string {
			if i%60 < 2 {
				return span(at, 1.3*latency(rng, 50))
			}
			return span(at, latency(rng, 50))
		}), GuardWindow, GuardOK, "", "blocks"},
		{"windows of a minute", base, arriving(2, requests, plain(50)), GuardWindow, GuardOK, "", "blocks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := compare(t, c.base, c.cur)
			g := got.guardOf(c.kind)
			if g.Status != c.status || !strings.Contains(g.Detail, c.says) {
				t.Errorf("%s %s: %s; want %s with %q", g.Kind, g.Status, g.Detail, c.status, c.says)
			}
			if c.verdict != "" && got.Verdict.Outcome != c.verdict {
				t.Errorf("verdict %s, want %s", got.Verdict.Outcome, c.verdict)
			}
			if len(got.Guards) != 11 {
				t.Errorf("%d guards", len(got.Guards))
			}
			for _, o := range got.Guards {
				if o.Status == GuardFail && o.Kind != c.kind {
					t.Errorf("and %s fails: %s", o.Kind, o.Detail)
				}
			}
			if c.status == GuardFail && c.verdict != "" {
				r := Rank(got)
				if len(r.Findings) == 0 || r.Findings[0].Kind != measurementKind || r.Findings[0].Attribute != c.kind {
					t.Errorf("first of %d findings is not measurement %s", len(r.Findings), c.kind)
				}
			}
		})
	}
}

// A tail-sampled side is used as a fair one where a request-duration histogram says
// what was left out; and what the histogram does not confirm is no verdict.
func TestGuardsOfMeteredSides(t *testing.T) {
	usual := func(rng *rand.Rand) float64 { return latency(rng, 50) }
	slower := func(rng *rand.Rand) float64 { return latency(rng, 90) }
	all := func(*rand.Rand, float64) bool { return true }
	head := func(rng *rand.Rand, _ float64) bool { return rng.Float64() < 0.3 }
	over := func(ms float64) func(*rand.Rand, float64) bool {
		return func(rng *rand.Rand, x float64) bool { return x > ms || rng.Float64() < 0.1 }
	}
	type half struct {
		ms      func(*rand.Rand) float64
		keep    func(*rand.Rand, float64) bool
		metered bool
	}
	const n = 8 * requests
	for _, c := range []struct {
		name      string
		base, cur half
		status    GuardStatus
		verdict   stats.Outcome
		says      string
	}{
		{"all kept, and counted", half{usual, all, true}, half{usual, all, true}, GuardOK, stats.NoRegression, "the metrics counted"},
		{"tail sampling switched on", half{usual, all, true}, half{usual, over(90), true}, GuardWarn, stats.NoRegression, "they are weighted by it"},
		{"switched on, and no metrics before", half{usual, all, false}, half{usual, over(90), true}, GuardWarn, stats.NoRegression, "they are weighted by it"},
		{"switched off", half{usual, over(90), true}, half{usual, all, true}, GuardWarn, stats.NoRegression, "baseline traces"},
		{"on both sides, by one rule", half{usual, over(90), true}, half{usual, over(90), true}, GuardWarn, stats.NoRegression, "they are weighted by it"},
		{"on both sides, by two rules", half{usual, over(60), true}, half{usual, over(120), true}, GuardWarn, stats.NoRegression, "they are weighted by it"},
		{"switched on, and slower too", half{usual, all, true}, half{slower, over(90), true}, GuardWarn, stats.Regression, "by the metrics"},
		{"on both sides, and slower", half{usual, over(90), true}, half{slower, over(90), true}, GuardWarn, stats.Regression, ""},
		{"switched on, without metrics", half{usual, all, true}, half{usual, over(90), false}, GuardFail, NotComparable, "tail-sampled"},
		{"head sampling that nothing states", half{usual, all, true}, half{usual, head, true}, GuardWarn, stats.NoRegression, "whose lengths agree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var text [2]string
			var counted [2][]float64
			for i, h := range []half{c.base, c.cur} {
				text[i], counted[i] = counting(uint64(i+1), n, h.ms, h.keep)
				if !h.metered {
					counted[i] = nil
				}
			}
			got := compareMetered(t, text[0], text[1], counted)
			g := got.guardOf(GuardSampling)
			if g.Status != c.status || !strings.Contains(g.Detail, c.says) || got.Verdict.Outcome != c.verdict {
				t.Errorf("%s, %s: %s; want %s and %s with %q", got.Verdict.Outcome, g.Status, g.Detail, c.verdict, c.status, c.says)
			}
			for i, s := range got.Sides {
				if counted[i] != nil && math.Abs(s.Sample.Weight()-n) > 0.03*n {
					t.Errorf("side %d stands for %.0f requests of %d", i, s.Sample.Weight(), n)
				}
			}
		})
	}
}

// Metrics of half a minute more than the traces are no sign that a third of the traces is missing; metrics of the same
// time are.
func TestCoverageIsOfTheSameTime(t *testing.T) {
	counted := make([]float64, requests*3/2)
	for i := range counted {
		counted[i] = 50
	}
	c := compare(t, arriving(1, requests, plain(50)), arriving(2, requests, plain(50)))
	s := c.Sides[summary.Current]
	of := summary.New()
	of.Counts.From, of.Counts.To = s.Set.Counts.From, s.Set.Counts.To
	list := durations(of, counted).Durations(metric.Window{From: s.Set.Counts.From, To: s.Set.Counts.To}, metric.NewNames(nil))
	if len(list) != 1 {
		t.Fatalf("%d duration metrics", len(list))
	}
	d := list[0]
	for _, k := range []struct{ longer, want float64 }{{1, 2. / 3}, {1.5, 1}} {
		d := d
		d.Seconds *= k.longer
		if got := c.cover(s, &d, nil).ratio; math.Abs(got-k.want) > 0.02 {
			t.Errorf("metrics of %g times the window: %.3f of the requests are traced, want %.3f", k.longer, got, k.want)
		}
	}
}

// waiting is a load of w clients that ask again a while after each answer.
func waiting(seed uint64, w int) string {
	rng := rand.New(rand.NewPCG(seed, 9))
	var b strings.Builder
	for range w {
		at := float64(seed) * 3_600_000
		for range requests / w {
			at += 60 * rng.ExpFloat64()
			ms := latency(rng, 60)
			b.WriteString(span(at, ms) + "\n\n")
			at += ms
		}
	}
	return b.String()
}

// paced is a load that comes at a steady pace, a request in so many ms or nearly.
func paced(seed uint64, every, median float64) string {
	rng := rand.New(rand.NewPCG(seed, 17))
	var b strings.Builder
	for i := range requests {
		at := float64(seed)*3_600_000 + float64(i)*every + 5*rng.Float64()
		b.WriteString(span(at, latency(rng, median)) + "\n\n")
	}
	return b.String()
}

// minutely is ten requests a second beside a job that makes the first 8 s of each
// minute slow.
func minutely(seed uint64, seconds float64) string {
	rng := rand.New(rand.NewPCG(seed, 23))
	var b strings.Builder
	for at := 0.0; at < 1e3*seconds; at += 100 * rng.ExpFloat64() {
		median := 50.0
		if math.Mod(at, 60_000) < 8000 {
			median = 150
		}
		b.WriteString(span(float64(seed)*3_600_000+at, latency(rng, median)) + "\n\n")
	}
	return b.String()
}

func TestSizeOf(t *testing.T) {
	for text, want := range map[string]string{"-3": "below 0", "0": "0 … 1", "0.5": "0 … 1", "1": "1 … 2", "1023": "512 … 1024", "1024": "1024 … 2048", "1e6": "524288 … 1048576"} {
		if got := sizeOf(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Neighbouring quarters of an hour of a quiet system: its requests are slow
// together for a minute at a time, and so the p99 of one window may be half as
// high again as the other's.
func TestQuietWindows(t *testing.T) {
	window := func(seed uint64, n int) string {
		rng := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		at, load, minute := float64(seed)*3_600_000, 0.0, -1
		for range n {
			at += 1100 * rng.ExpFloat64()
			if m := int(at) / 60_000; m != minute {
				minute, load = m, 0.6*load+0.3*rng.NormFloat64()
			}
			b.WriteString(span(at, 120*math.Exp(load+0.8*rng.NormFloat64())) + "\n\n")
		}
		return b.String()
	}
	apart := 0
	for seed := range uint64(12) {
		c := compare(t, window(2*seed, 791), window(2*seed+1, 685))
		was, is := c.Pair.Base.Quantile(0.99), c.Pair.Cur.Quantile(0.99)
		if max(was/is, is/was) > 1.3 {
			apart++
		}
		if o := c.Verdict.Outcome; o != stats.NoRegression && o != stats.CannotTell {
			t.Errorf("seed %d: p99 %s → %s: %s", seed, prose.Ns(was), prose.Ns(is), o)
		}
		for _, g := range c.Guards {
			if g.Status == GuardFail {
				t.Errorf("seed %d: %s: %s", seed, g.Kind, g.Detail)
			}
		}
	}
	if apart < 3 {
		t.Errorf("only %d of 12 pairs of windows are apart: the test shows little", apart)
	}
}
