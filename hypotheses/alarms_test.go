package hypotheses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/stats"
)

// over draws n requests over seconds, at a rate that a function of the time, 0..1,
// makes uneven, each with a latency that may depend on it.
func over(seed uint64, n int, seconds float64, rate func(t float64) float64, d func(rng *rand.Rand, t, at float64) string) string {
	rng := rand.New(rand.NewPCG(seed, 11))
	var b strings.Builder
	for drawn := 0; drawn < n; {
		t := rng.Float64()
		if rng.Float64() > rate(t) {
			continue
		}
		drawn++
		at := float64(seed)*86_400_000 + t*seconds*1e3
		if s := d(rng, t, at); s != "" {
			b.WriteString(s + "\n\n")
		}
	}
	return b.String()
}

func even(float64) float64 { return 1 }

// wave is a load that rises and falls, k times in the window.
func wave(k float64) func(float64) float64 {
	return func(t float64) float64 { return 0.55 + 0.45*math.Sin(2*math.Pi*k*t) }
}

// What differs between the sides and slows nothing is no regression, whatever the
// guards say of it.
func TestNothingSlowerIsNoRegression(t *testing.T) {
	simple := func(median float64, attrs ...string) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string { return span(at, latency(rng, median), attrs...) }
	}
	// Requests take longer where the load is higher.
	loaded := func(rate func(float64) float64) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, t, at float64) string { return span(at, latency(rng, 40*(0.7+0.6*rate(t)))) }
	}
	// Two instances, one always slower.
	unequal := func(share float64) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < share {
				return span(at, latency(rng, 80), "service.instance.id=slow")
			}
			return span(at, latency(rng, 40), "service.instance.id=fast")
		}
	}
	calls := func(name, host string) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			ms := latency(rng, 50)
			return fmt.Sprintf("%s host=a\n  api call %.3f..%.3fms client host=a\n    cart %s %.3f..%.3fms server host=%s", span(at, ms), at+1, at+ms-1, name, at+2, at+ms-2, host)
		}
	}
	atoms := func(rng *rand.Rand, _, at float64) string {
		if rng.Float64() < 0.015 {
			return span(at, 1000, "http.response.status_code=504")
		}
		return span(at, math.Round(latency(rng, 50)))
	}
	bursts := func(rng *rand.Rand, t, at float64) string {
		if int(t*40)%8 == 3 {
			return span(at, latency(rng, 150))
		}
		return span(at, latency(rng, 50))
	}
	probes := func(share float64, agent string) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < share {
				return span(at, 250+latency(rng, 3), "user_agent.original="+agent)
			}
			return span(at, latency(rng, 50), "user_agent.original=app")
		}
	}
	cold := func(rng *rand.Rand, t, at float64) string {
		if t < 0.1 {
			return span(at, latency(rng, 200))
		}
		return span(at, latency(rng, 50))
	}
	refused := func(rng *rand.Rand, _, at float64) string {
		if rng.Float64() < 0.1 {
			return span(at, 600, "http.response.status_code=499")
		}
		return span(at, latency(rng, 50))
	}
	headed := func(rng *rand.Rand, _, at float64) string {
		if rng.Float64() < 0.75 {
			return ""
		}
		return span(at, latency(rng, 50), "th=c")
	}
	kinds := func(small string) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < 0.1 {
				return span(at, latency(rng, 300), "size="+small+"x")
			}
			return span(at, latency(rng, 40), "size="+small)
		}
	}
	heavy := func(rng *rand.Rand, _, at float64) string {
		return span(at, 10*math.Pow(1-rng.Float64(), -1/1.5))
	}
	cached := func(rng *rand.Rand, _, at float64) string {
		if rng.Float64() < 0.01 {
			return span(at, latency(rng, 300), "cache.hit=false")
		}
		return span(at, latency(rng, 5), "cache.hit=true")
	}
	tenants := func(first int) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			return span(at, latency(rng, 50), fmt.Sprintf("tenant=t%d", first+rng.IntN(8)))
		}
	}
	retried := func(rng *rand.Rand, _, at float64) string {
		ms, lost := latency(rng, 40), 0.0
		failed := ""
		if rng.Float64() < 0.1 {
			lost = 10 + latency(rng, 30)
			failed = fmt.Sprintf("\n  api call %.3f..%.3fms client host=h http.response.status_code=503\n    cart GET /c %.3f..%.3fms server host=g http.response.status_code=503",
				at+2, at+lost-8, at+3, at+lost-9)
		}
		return span(at, ms+lost+6, "host=h") + failed + fmt.Sprintf("\n  api call %.3f..%.3fms client host=h\n    cart GET /c %.3f..%.3fms server host=g", at+lost+2, at+lost+2+ms, at+lost+3, at+lost+1+ms)
	}
	fleet := func(n int) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			return span(at, latency(rng, 50), fmt.Sprintf("resource.service.instance.id=pod-%d", rng.IntN(n)))
		}
	}
	rolling := func(rng *rand.Rand, t, at float64) string {
		k, version := rng.IntN(4), 1
		if t > 0.2*float64(k+1) {
			version = 2
		}
		return span(at, latency(rng, 50), fmt.Sprintf("resource.service.instance.id=pod-%d-%d resource.service.version=%[2]d", k, version))
	}
	halves := func(rng *rand.Rand, t, at float64) string {
		if rng.Float64() < 0.05+0.1*math.Floor(2*t) {
			return span(at, latency(rng, 150), "tier=business")
		}
		return span(at, latency(rng, 50), "tier=private")
	}
	coarse := func(rng *rand.Rand, _, at float64) string {
		return span(1000*math.Floor(at/1000), math.Round(latency(rng, 12)))
	}
	idle := func(t float64) float64 {
		if math.Mod(4*t, 1) < 0.5 {
			return 1
		}
		return 0.02
	}
	quiet := func(seed uint64, seconds float64) string {
		return over(seed, int(10*seconds), seconds, even, simple(50))
	}
	for _, c := range []struct{ name, base, cur string }{
		{"the same twice", over(1, 900, 90, even, simple(50)), over(2, 900, 90, even, simple(50))},
		{"a minute and ten", over(1, 600, 60, even, simple(50)), over(2, 3000, 600, even, simple(50))},
		{"a fifth of the requests", over(1, 3000, 120, even, simple(50)), over(2, 600, 120, even, simple(50))},
		{"waves of load, both whole", over(1, 1500, 120, wave(4), loaded(wave(4))), over(2, 1500, 120, wave(4), loaded(wave(4)))},
		{"waves that begin elsewhere", over(1, 1500, 120, wave(4), loaded(wave(4))), over(2, 1500, 120, func(t float64) float64 { return wave(4)(t + 0.1) }, loaded(func(t float64) float64 { return wave(4)(t + 0.1) }))},
		{"bursts on both sides", over(1, 1500, 40, even, bursts), over(2, 1500, 40, even, bursts)},
		{"one instance always slower", over(1, 1200, 90, even, unequal(0.5)), over(2, 1200, 90, even, unequal(0.5))},
		{"the names of instances are new", over(1, 1200, 90, even, unequal(0.5)), strings.NewReplacer("=slow", "=pod-7", "=fast", "=pod-9").Replace(over(2, 1200, 90, even, unequal(0.5)))},
		{"a call renamed by the deploy", over(1, 900, 90, even, calls("GET /c", "b")), over(2, 900, 90, even, calls("Carts/Get", "b"))},
		{"a callee on another host", over(1, 900, 90, even, calls("GET /c", "b")), over(2, 900, 90, even, calls("GET /c", "z"))},
		{"a new version", over(1, 900, 90, even, simple(50, "service.version=1")), over(2, 900, 90, even, simple(50, "service.version=2"))},
		{"the values of a key renamed", over(1, 1200, 90, even, kinds("s")), over(2, 1200, 90, even, kinds("S"))},
		{"slow probes came", over(1, 1200, 90, even, probes(0, "")), over(2, 1200, 90, even, probes(0.05, "kube-probe/1.31"))},
		{"a load test came", over(1, 1200, 90, even, probes(0, "")), over(2, 1200, 90, even, probes(0.3, "k6/0.49"))},
		{"probes on both sides", over(1, 1200, 90, even, probes(0.05, "kube-probe/1.31")), over(2, 1200, 90, even, probes(0.05, "kube-probe/1.31"))},
		{"caches cold at first", over(1, 1200, 90, even, simple(50)), over(2, 1200, 90, even, cold)},
		{"clients give up the slow ones, on one side", over(1, 1200, 90, even, refused), over(2, 1200, 90, even, simple(50))},
		{"whole milliseconds and timeouts", over(1, 1200, 90, even, atoms), over(2, 1200, 90, even, atoms)},
		{"recorded in whole milliseconds now", over(1, 1200, 90, even, simple(50)), over(2, 1200, 90, even, func(rng *rand.Rand, _, at float64) string { return span(math.Floor(at), math.Round(latency(rng, 50))) })},
		{"head sampling in one", over(1, 3000, 120, even, simple(50)), over(2, 3000, 120, even, headed)},
		{"four seconds with a level of each", over(1, 1000, 4, even, levels(1)), over(2, 1000, 4, even, levels(2))},
		{"Pareto 1.5", over(1, 1200, 90, even, heavy), over(2, 1200, 90, even, heavy)},
		{"a cache that misses one in a hundred", over(1, 1500, 90, even, cached), over(2, 1500, 90, even, cached)},
		{"the same cache, few requests", over(1, 300, 90, even, cached), over(2, 300, 90, even, cached)},
		{"other tenants", over(1, 1200, 90, even, tenants(0)), over(2, 1200, 90, even, tenants(4))},
		{"one call in ten fails and is tried again, always", over(1, 900, 90, even, retried), over(2, 900, 90, even, retried)},
		{"scaled out from two to six", over(1, 1200, 90, even, fleet(2)), over(2, 1200, 90, even, fleet(6))},
		{"deployed instance by instance in the window", over(1, 1200, 90, even, fleet(4)), over(2, 1200, 90, even, rolling)},
		{"the second half is of another kind, on both sides", over(1, 1200, 90, even, halves), over(2, 1200, 90, even, halves)},
		{"starts in whole seconds", over(1, 1200, 90, even, coarse), over(2, 1200, 90, even, coarse)},
		{"load that rises, and load that falls", over(1, 1200, 90, func(t float64) float64 { return 0.3 + 0.7*t }, simple(50)), over(2, 1200, 90, func(t float64) float64 { return 1 - 0.7*t }, simple(50))},
		{"idle half of the time", over(1, 1200, 90, idle, simple(50)), over(2, 1200, 90, idle, simple(50))},
		{"a job every minute, in forty seconds and in ten minutes", minutely(1, 40), minutely(2, 600)},
		{"a quiet half minute before ten minutes with jobs", quiet(1, 30), minutely(2, 600)},
		{"thirty and thirty", over(1, 30, 30, even, simple(50)), over(2, 30, 30, even, simple(50))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := compare(t, c.base, c.cur)
			if got.Verdict.Outcome == stats.Regression {
				for _, g := range got.Guards {
					t.Logf("%s %s: %s", g.Kind, g.Status, g.Detail)
				}
				t.Errorf("regression: p99 %.0f → %.0f ms, p = %.2g", got.Pair.Base.Quantile(0.99)/1e6, got.Pair.Cur.Quantile(0.99)/1e6, got.Test.P)
			}
			if got.Verdict.Outcome == stats.CannotTell {
				for _, f := range Rank(got).Findings {
					if f.Strength != Weak {
						t.Errorf("%s is %s where nothing can be told", f.Kind, f.Strength)
					}
				}
			}
		})
	}
}

// levels is a second's level that all its requests share.
func levels(seed uint64) func(*rand.Rand, float64, float64) string {
	rng := rand.New(rand.NewPCG(seed, 13))
	of := map[int]float64{}
	for i := range 8 {
		of[i] = math.Exp(0.3 * rng.NormFloat64())
	}
	return func(rng *rand.Rand, t, at float64) string { return span(at, latency(rng, 50*of[int(t*4)])) }
}

// The same differences with a slowdown beside them are regressions.
func TestSlowerIsARegression(t *testing.T) {
	simple := func(median float64, attrs ...string) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string { return span(at, latency(rng, median), attrs...) }
	}
	tail := func(share, ms float64, attrs ...string) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < share {
				return span(at, ms*(0.8+0.4*rng.Float64()), attrs...)
			}
			return span(at, latency(rng, 50), attrs...)
		}
	}
	instances := func(slow float64) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < 0.5 {
				return span(at, latency(rng, slow), "service.instance.id=one")
			}
			return span(at, latency(rng, 50), "service.instance.id=two")
		}
	}
	calls := func(name string, median float64) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			ms := latency(rng, median)
			return fmt.Sprintf("%s host=a\n  api call %.3f..%.3fms client host=a\n    cart %s %.3f..%.3fms server host=b", span(at, ms), at+1, at+ms-1, name, at+2, at+ms-2)
		}
	}
	customers := func(share float64) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < share {
				return span(at, latency(rng, 300), "tenant=big")
			}
			return span(at, latency(rng, 50), "tenant=small")
		}
	}
	headed := func(median float64) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < 0.75 {
				return ""
			}
			return span(at, latency(rng, median), "th=c")
		}
	}
	failing := func(median float64) func(*rand.Rand, float64, float64) string {
		return func(rng *rand.Rand, _, at float64) string {
			if rng.Float64() < 0.01 {
				return span(at, latency(rng, 20), "http.response.status_code=500")
			}
			return span(at, latency(rng, median))
		}
	}
	for _, c := range []struct{ name, base, cur string }{
		{"all half as slow again", over(1, 1500, 120, even, simple(50)), over(2, 1500, 120, even, simple(75))},
		{"one in twenty at half a second", over(1, 2000, 120, even, simple(50)), over(2, 2000, 120, even, tail(0.05, 500))},
		{"a timeout that more requests reach", over(1, 2000, 120, even, tail(0.005, 1000)), over(2, 2000, 120, even, tail(0.04, 1000))},
		{"in a new version", over(1, 1500, 120, even, simple(50, "service.version=1")), over(2, 1500, 120, even, simple(80, "service.version=2"))},
		{"one instance", over(1, 2000, 120, even, instances(50)), over(2, 2000, 120, even, instances(140))},
		{"a renamed call that is slower", over(1, 1500, 120, even, calls("GET /c", 50)), over(2, 1500, 120, even, calls("Carts/Get", 90))},
		{"more of the slow customers", over(1, 2500, 120, even, customers(0.005)), over(2, 2500, 120, even, customers(0.08))},
		{"under head sampling on one side", over(1, 1500, 120, even, simple(50)), over(2, 6000, 120, even, headed(85))},
		{"with a few failures", over(1, 1500, 120, even, failing(50)), over(2, 1500, 120, even, failing(85))},
		{"in windows of six seconds", over(1, 1500, 6, even, simple(50)), over(2, 1500, 6, even, simple(85))},
		{"thirty and thirty, all four times", over(1, 30, 30, even, simple(50)), over(2, 30, 30, even, simple(200))},
		{"a tenth of the window of the baseline", over(1, 6000, 600, even, simple(50)), over(2, 800, 60, even, simple(85))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := compare(t, c.base, c.cur)
			if got.Verdict.Outcome != stats.Regression {
				for _, g := range got.Guards {
					t.Logf("%s %s: %s", g.Kind, g.Status, g.Detail)
				}
				t.Errorf("%s: p99 %.0f → %.0f ms, p = %.2g", got.Verdict.Outcome, got.Pair.Base.Quantile(0.99)/1e6, got.Pair.Cur.Quantile(0.99)/1e6, got.Test.P)
			}
		})
	}
}
