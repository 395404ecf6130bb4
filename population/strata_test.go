package population

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A system serves requests around a median, some of which fail, and counts them.
type system struct {
	requests []Metered
	bounds   []float64
	apart    bool // failures are counted apart
}

var millis = []float64{0, 5e6, 10e6, 25e6, 50e6, 75e6, 100e6, 250e6, 500e6, 750e6, 1e9, 2.5e9, math.Inf(1)}

func serve(seed uint64, n int, median, sigma, failed float64) *system {
	rng := rand.New(rand.NewPCG(seed, 3))
	s := &system{bounds: millis}
	for range n {
		s.requests = append(s.requests, Metered{NS: int64(median * 1e6 * math.Exp(sigma*rng.NormFloat64())), Broken: rng.Float64() < failed, Weight: One})
	}
	return s
}

func (s *system) buckets() []Bucket {
	var out []Bucket
	for _, broken := range []bool{false, true} {
		for k := 1; k < len(s.bounds); k++ {
			b := Bucket{Lo: s.bounds[k-1], Hi: s.bounds[k], Broken: broken && s.apart}
			for _, r := range s.requests {
				if x := float64(r.NS); r.Broken == broken && x > b.Lo && x <= b.Hi {
					b.N++
				}
			}
			out = append(out, b)
		}
	}
	return out
}

func (s *system) keep(seed uint64, rate func(Metered) float64) []Metered {
	rng := rand.New(rand.NewPCG(seed, 4))
	var out []Metered
	for _, r := range s.requests {
		if rng.Float64() < rate(r) {
			out = append(out, r)
		}
	}
	return out
}

// tail keeps what is longer than some ms, and a share of the rest.
func tail(over, rest float64) func(Metered) float64 {
	return func(r Metered) float64 {
		if float64(r.NS) > over*1e6 {
			return 1
		}
		return rest
	}
}

// quantile is that of requests under weights, in ms.
func quantile(requests []Metered, w []Weight, q float64) float64 {
	order := make([]int, len(requests))
	var total float64
	for i := range order {
		order[i] = i
		total += w[i].Float()
	}
	slices.SortFunc(order, func(i, j int) int { return cmpInt(requests[i].NS, requests[j].NS) })
	var sum float64
	for _, i := range order {
		if sum += w[i].Float(); sum >= q*total {
			return float64(requests[i].NS) / 1e6
		}
	}
	return math.NaN()
}

func own(requests []Metered) (w []Weight) {
	for _, r := range requests {
		w = append(w, r.Weight)
	}
	return w
}

// Whatever the rule, as long as it looks at length and outcome alone, the weights
// give back what there was.
func TestWeightsGiveThePopulationBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		system *system
		rate   func(Metered) float64
		near   float64 // of p99, as a share
	}{
		{"what is over 250 ms, at a bound of the metric", serve(1, 20_000, 100, 0.5, 0), tail(250, 0.05), 0.02},
		{"what is over 180 ms, between bounds", serve(2, 20_000, 100, 0.4, 0), tail(180, 0.05), 0.02},
		{"what is over 400 ms, beyond p99", serve(3, 20_000, 100, 0.5, 0), tail(400, 0.1), 0.08},
		{"only the slow", serve(4, 20_000, 100, 0.5, 0), tail(180, 0), 0.02},
		{"what is over 300 ms, in the last bucket with any", serve(7, 20_000, 100, 0.4, 0), tail(300, 0.05), 0.03},
		{"two fifths of what is over 100 ms, at a bound", serve(8, 40_000, 100, 0.3, 0), func(r Metered) float64 { return 0.4 * tail(100, 0.1)(r) }, 0.05},
		{"only the fast", serve(5, 20_000, 100, 0.5, 0), func(r Metered) float64 { return 1 - tail(250, 0.2)(r)*0.9 }, 0.1},
		{"failures, and a twentieth", serve(6, 20_000, 100, 0.5, 0.03), func(r Metered) float64 {
			if r.Broken {
				return 1
			}
			return 0.05
		}, 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.system.apart = true
			kept := c.system.keep(9, c.rate)
			s := Stratify(kept, c.system.buckets(), 1)
			if !s.Biased || s.Weights == nil || s.Contradiction != "" {
				t.Fatalf("biased %v, %d weights, %q", s.Biased, len(s.Weights), s.Contradiction)
			}
			var sum, broken, failed float64
			for i, w := range s.Weights {
				sum += w.Float()
				if kept[i].Broken {
					broken += w.Float()
				}
			}
			for _, r := range c.system.requests {
				if r.Broken {
					failed++
				}
			}
			if math.Abs(sum-float64(len(c.system.requests))) > 1 || math.Abs(broken-failed) > 1 {
				t.Errorf("the sample stands for %.1f requests and %.1f failures of %.0f", sum, broken, failed)
			}
			want, was, got := quantile(c.system.requests, own(c.system.requests), 0.99), quantile(kept, own(kept), 0.99), quantile(kept, s.Weights, 0.99)
			if math.Abs(got-want) > c.near*want {
				t.Errorf("p99 %.1f ms, %.1f without weights; want %.1f", got, was, want)
			}
		})
	}
}

// What is no biased sample is left as it is, and what cannot be a sample is said.
func TestWhatIsNotWeighted(t *testing.T) {
	sys := serve(1, 5000, 100, 0.5, 0.02)
	slower := serve(1, 5000, 200, 0.5, 0.02)
	half := &system{bounds: millis, requests: sys.requests[:2000]}
	for _, c := range []struct {
		name          string
		sample        []Metered
		buckets       []Bucket
		contradiction Contradiction
		biased        bool
		weighted      bool
	}{
		{"all of them", sys.requests, sys.buckets(), "", false, false},
		{"all but a tenth, lost by chance", sys.keep(2, func(Metered) float64 { return 0.9 }), sys.buckets(), "", false, false},
		{"a tenth, by head sampling", sys.keep(2, func(Metered) float64 { return 0.1 }), sys.buckets(), "", false, true},
		{"another clock: nothing missing, all longer", slower.requests, sys.buckets(), OtherLengths, true, false},
		{"a metric of some instances only", sys.requests, half.buckets(), MoreThanCounted, false, false},
		{"more slow ones than were counted", slower.keep(3, tail(180, 0.02)), sys.buckets(), MoreThanCounted, true, false},
		{"a handful of traces", sys.requests[:12], sys.buckets(), "", false, false},
		{"a metric that counted next to nothing", sys.requests[:4], half.buckets()[:3], "", false, false},
		{"no traces", nil, sys.buckets(), "", false, false},
		{"no metric", sys.requests, nil, "", false, false},
	} {
		s := Stratify(c.sample, c.buckets, 1)
		if s.Contradiction != c.contradiction || s.Biased != c.biased || (s.Weights != nil) != c.weighted {
			t.Errorf("%s: biased %v, weighted %v, %q; want %v, %v, %q", c.name, s.Biased, s.Weights != nil, s.Contradiction, c.biased, c.weighted, c.contradiction)
		}
	}
}

// A head sample that agrees is weighted by one number, so that it loses nothing.
func TestOneFactorForAFairSample(t *testing.T) {
	sys := serve(1, 5000, 100, 0.5, 0)
	s := Stratify(sys.keep(2, func(Metered) float64 { return 0.2 }), sys.buckets(), 1)
	slices.Sort(s.Weights)
	if len(s.Weights) == 0 || s.Weights[0] != s.Weights[len(s.Weights)-1] || math.Abs(s.Weights[0].Float()-5) > 0.5 {
		t.Errorf("weights from %v to %v", s.Weights[0].Float(), s.Weights[len(s.Weights)-1].Float())
	}
}

// A metric that is exported rarely goes on beyond the traces: what it counted there
// is missing from no sample.
func TestTheMetricsTimeReachesBeyondTheSample(t *testing.T) {
	sys := serve(1, 6000, 100, 0.5, 0)
	quarter := sys.requests[:1500]
	if s := Stratify(quarter, sys.buckets(), 0.25); s.Weights != nil || s.Contradiction != "" {
		t.Errorf("a quarter of the metric's time: %d weights, %q", len(s.Weights), s.Contradiction)
	}
	if s := Stratify(quarter, sys.buckets(), 1); s.Weights == nil {
		t.Error("a quarter of the requests, in all of the metric's time, are no sample")
	}
}

// Instances with other bounds overlap; strata are cut where no bucket is.
func TestBoundsOfInstancesOverlap(t *testing.T) {
	a, b := serve(1, 10_000, 100, 0.5, 0), serve(2, 10_000, 100, 0.5, 0)
	b.bounds = []float64{0, 30e6, 60e6, 100e6, 180e6, 250e6, 600e6, 1e9, math.Inf(1)}
	both := &system{requests: slices.Concat(a.requests, b.requests)}
	kept := both.keep(3, tail(180, 0.05))
	s := Stratify(kept, slices.Concat(a.buckets(), b.buckets()), 1)
	if s.Weights == nil {
		t.Fatal("no weights")
	}
	want, got := quantile(both.requests, own(both.requests), 0.99), quantile(kept, s.Weights, 0.99)
	if math.Abs(got-want) > 0.03*want {
		t.Errorf("p99 %.1f ms, want %.1f", got, want)
	}
}

// Stated weights are where the metric begins: what was sampled twice is weighted
// twice. And the order of the requests reaches nothing.
func TestStatedWeightsAreMultiplied(t *testing.T) {
	sys := serve(1, 40_000, 100, 0.5, 0)
	head := sys.keep(2, func(Metered) float64 { return 0.25 })
	twice := (&system{requests: head}).keep(3, tail(200, 0.1))
	for i := range twice {
		twice[i].Weight = 4 * One
	}
	s := Stratify(twice, sys.buckets(), 1)
	want, got := quantile(sys.requests, own(sys.requests), 0.99), quantile(twice, s.Weights, 0.99)
	if math.Abs(got-want) > 0.06*want {
		t.Errorf("p99 %.1f ms, want %.1f", got, want)
	}
	weights := map[Metered]Weight{}
	for i, r := range twice {
		weights[r] = s.Weights[i]
	}
	rng := rand.New(rand.NewPCG(5, 5))
	rng.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
	for i, w := range Stratify(twice, sys.buckets(), 1).Weights {
		if w != weights[twice[i]] {
			t.Fatalf("in another order a request of %d ns weighs %v, not %v", twice[i].NS, w.Float(), weights[twice[i]].Float())
		}
	}
}
