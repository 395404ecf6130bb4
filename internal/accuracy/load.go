package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
)

// A load makes the requests of one side of an endpoint. Its latency is lognormal around 100 ms. A level that all
// requests of a second share wanders with autocorrelation phi from one second to the next and holds levelShare of
// the variance of the logarithm; or there are bursts, stretches of 5 s on average in which everything takes three
// times as long, a tenth of the time.
type load struct {
	n       int
	sigma   float64 // of the logarithm, level included
	phi     float64
	bursts  bool
	seconds int  // 0: times are not known
	flat    bool // no level, though times are known

	millis  bool // whole milliseconds
	timeout bool // what would take longer than p98 ends there
	weights weighting
	kept    int  // per bucket of 1 %; 0: all
	began   bool // the baseline was not sampled
}

// before is the load of the baseline.
func (l load) before() load {
	if l.began {
		l.weights = whole
	}
	return l
}

const levelShare = 0.2

// burstPhi is the autocorrelation of the bursts: they end within a second with 1/5 and begin with 1/45.
const burstPhi = 1 - 1.0/5 - 1.0/45

// tau is the time in seconds after which the load is as good as new.
func (l load) tau() float64 {
	phi := l.phi
	if l.bursts {
		phi = burstPhi
	}
	return (1 + phi) / (1 - phi)
}

// over is the load over a window of so many tau.
func (l load) over(taus float64) load {
	l.seconds = int(math.Round(taus * l.tau()))
	return l
}

// A weighting is how requests were sampled.
type weighting int

const (
	whole         weighting = iota
	independent             // half of them at 1 in 20
	tied                    // those below p90 at 1 in 20
	metered                 // those below 300 ms at 1 in 20, by a rule that nobody states; weighted by a histogram
	meteredFinely           // the same, by an exponential histogram
)

// tailKept is the latency from which on such a rule keeps all, in ns: within a
// bucket of either histogram, about p94.
const tailKept = 3e8

// A stretching changes latencies, given as a multiple of the median, in place of a cause.
type stretching func(x float64) float64

func unchanged(x float64) float64 { return x }

func timesAll(k float64) stretching { return func(x float64) float64 { return k * x } }

// beyondP95 stretches what exceeds the load's p95 so that p99 becomes k times what it was.
func (l load) beyondP95(k float64) stretching {
	p95, p99 := l.quantile(0.95), l.quantile(0.99)
	by := (k*p99 - p95) / (p99 - p95)
	return func(x float64) float64 { return min(x, p95) + by*max(x-p95, 0) }
}

// cdf is the share of requests that take at most x times the median of the quiet load.
func (l load) cdf(x float64) float64 {
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	p := phi(math.Log(x) / l.sigma)
	if l.bursts {
		p = 0.9*p + 0.1*phi(math.Log(x/3)/l.sigma)
	}
	return p
}

// quantile is the true quantile of the load, as a multiple of the median of the quiet one.
func (l load) quantile(q float64) float64 {
	lo, hi := 1e-6, 1e6
	for range 100 {
		if mid := math.Sqrt(lo * hi); l.cdf(mid) < q {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// nanoseconds is a latency as recorded: of a multiple of the median, with the load's clock.
func (l load) nanoseconds(x float64) int64 {
	ns := int64(math.Round(1e8 * x))
	if l.millis {
		ns = (ns + 5e5) / 1e6 * 1e6
	}
	return ns
}

// truth is the latency at the quantile q of infinitely many requests.
func (l load) truth(q float64, by stretching) float64 {
	x := l.quantile(q)
	if l.timeout {
		x = min(by(x), l.limit())
		return float64(l.nanoseconds(x))
	}
	return float64(l.nanoseconds(by(x)))
}

// limit is the timeout.
func (l load) limit() float64 { return l.quantile(0.98) }

// weighted reports whether the requests come with weights.
func (l load) weighted() bool { return l.weights != whole || l.kept > 0 }

// requests draws one side.
func (l load) requests(g *rand.Rand, by stretching) stats.Requests {
	level := l.levels(g)
	noise := l.sigma
	if l.seconds > 0 && !l.bursts && !l.flat {
		noise *= math.Sqrt(1 - levelShare)
	}
	limit, p90 := math.Inf(1), 0.0
	if l.timeout {
		limit = l.limit()
	}
	if l.weights == tied {
		p90 = l.quantile(0.9)
	}
	r := stats.Requests{Latency: make([]int64, 0, l.n)}
	var counted []int64 // by a metric
	if l.weighted() {
		r.Weight = make([]float64, 0, l.n)
	}
	if l.seconds > 0 {
		r.Second = make([]int64, 0, l.n)
	}
	for range l.n {
		second := 0
		if l.seconds > 0 {
			second = g.IntN(l.seconds)
		}
		x := by(math.Exp(noise*g.NormFloat64() + level[second]))
		x = min(x, limit)
		weight := 1.0
		if l.weights == independent && g.IntN(2) == 0 || l.weights == tied && x < p90 {
			if g.IntN(20) > 0 {
				continue
			}
			weight = 20
		}
		ns := l.nanoseconds(x)
		if l.weights == metered || l.weights == meteredFinely {
			counted = append(counted, ns)
			if ns <= tailKept && g.IntN(20) > 0 {
				continue
			}
		}
		r.Latency = append(r.Latency, ns)
		if l.weighted() {
			r.Weight = append(r.Weight, weight)
		}
		if l.seconds > 0 {
			r.Second = append(r.Second, int64(1_700_000_000+second))
		}
	}
	if counted != nil {
		r.Weight = stratify(r.Latency, counted, l.weights == meteredFinely)
	}
	if l.kept > 0 {
		r = keep(g, r, l.kept)
	}
	return r
}

// stratify weights requests by the histogram of all: that with the bounds which
// OpenTelemetry recommends for seconds, or an exponential one of scale 2.
func stratify(latency, counted []int64, exponential bool) []float64 {
	bounds := []float64{0, 5e6, 1e7, 2.5e7, 5e7, 7.5e7, 1e8, 2.5e8, 5e8, 7.5e8, 1e9, 2.5e9, 5e9, 7.5e9, 1e10, math.Inf(1)}
	if exponential {
		bounds = nil
		for i := range 64 {
			bounds = append(bounds, 1e6*math.Exp2(float64(i)/4))
		}
	}
	buckets := make([]population.Bucket, len(bounds)-1)
	for i := range buckets {
		buckets[i] = population.Bucket{Lo: bounds[i], Hi: bounds[i+1]}
	}
	for _, ns := range counted {
		buckets[sort.SearchFloat64s(bounds[1:], float64(ns))].N++
	}
	sample := make([]population.Metered, len(latency))
	for i, ns := range latency {
		sample[i] = population.Metered{NS: ns, Weight: population.One}
	}
	weights := make([]float64, len(latency))
	for i, w := range population.Stratify(sample, buckets, 1).Weights {
		weights[i] = w.Float()
	}
	return weights
}

// levels are the logarithms of what all requests of a second share.
func (l load) levels(g *rand.Rand) []float64 {
	level := make([]float64, max(l.seconds, 1))
	switch {
	case l.seconds == 0 || l.flat:
	case l.bursts:
		slow := g.IntN(10) == 0
		for i := range level {
			if slow {
				level[i] = math.Log(3)
				slow = g.IntN(5) > 0
			} else {
				slow = g.IntN(45) == 0
			}
		}
	default:
		sd := l.sigma * math.Sqrt(levelShare)
		z := g.NormFloat64()
		for i := range level {
			level[i] = sd * z
			z = l.phi*z + math.Sqrt(1-l.phi*l.phi)*g.NormFloat64()
		}
	}
	return level
}

// keep leaves at most m requests of each bucket of latencies, with the weights that make up for the others.
func keep(g *rand.Rand, r stats.Requests, m int) stats.Requests {
	type member struct {
		key float64
		i   int
	}
	buckets := map[int][]member{}
	var order []int
	for i, x := range r.Latency {
		b := stats.Bucket(x)
		if buckets[b] == nil {
			order = append(order, b)
		}
		buckets[b] = append(buckets[b], member{stats.SampleKey(g.Uint64(), r.Weight[i]), i})
	}
	sort.Ints(order)
	var k stats.Requests
	for _, b := range order {
		members := buckets[b]
		sort.Slice(members, func(i, j int) bool { return members[i].key < members[j].key })
		total := 0.0
		var keys, weights []float64
		for n, one := range members {
			total += r.Weight[one.i]
			if n <= m {
				keys, weights = append(keys, one.key), append(weights, r.Weight[one.i])
			}
		}
		for n, w := range stats.KeptWeights(keys, weights, m, total) {
			i := members[n].i
			k.Latency, k.Weight = append(k.Latency, r.Latency[i]), append(k.Weight, w)
			if r.Second != nil {
				k.Second = append(k.Second, r.Second[i])
			}
		}
	}
	return k
}

// pair draws a baseline and a current side.
func pair(g *rand.Rand, base, cur load, by stretching) *stats.Pair {
	b, err := stats.NewSample(base.requests(g, unchanged))
	if err != nil {
		panic(err)
	}
	c, err := stats.NewSample(cur.requests(g, by))
	if err != nil {
		panic(err)
	}
	return stats.NewPair(b, c, stats.Defaults())
}

// loads are those of every autocorrelation, over windows of so many of their own tau.
func loads(l load) []named {
	var all []named
	for _, kind := range []struct {
		name   string
		phi    float64
		flat   bool
		bursts bool
	}{
		{"independent", 0, true, false},
		{"φ 0", 0, false, false},
		{"φ 0.5", 0.5, false, false},
		{"φ 0.9", 0.9, false, false},
		{"bursts", 0, false, true},
	} {
		for _, taus := range windows {
			l := l
			l.phi, l.flat, l.bursts = kind.phi, kind.flat, kind.bursts
			l = l.over(taus)
			all = append(all, named{fmt.Sprintf("%s, T = %g τ = %d s", kind.name, taus, l.seconds), l, taus})
		}
	}
	return all
}

// windows are in tau.
var windows = []float64{4, 8, 16, 32}

// A named load goes by the name of its cell.
type named struct {
	name string
	load load
	taus float64 // 0: times are not known
}

// special are the loads whose latencies or weights are out of the ordinary, each without times and over a window of
// 32 tau at φ 0.5.
func special(l load) []named {
	ties, atom, light, heavy, kept := l, l, l, l, l
	ties.millis = true
	atom.timeout = true
	// Enough to leave some 1,000 effective requests for each 2,000. Half at 1 and half at 20 have n_eff = n/10.5 at
	// the tail, Σw/(Σw²/Σw): 1 + 20 over 1 + 400.
	light.weights, light.n = independent, 6*l.n
	heavy.weights, heavy.n = tied, 4*l.n
	kept.kept, kept.n = 16, 4*l.n
	var all []named
	for _, c := range []named{
		{"plain", l, 0},
		{"whole milliseconds", ties, 0},
		{"2 % at a timeout", atom, 0},
		{"weights 1 and 20, independent of latency", light, 0},
		{"weights 1 and 20, light above p90", heavy, 0},
		{"at most 16 kept per 1 % of latency", kept, 0},
	} {
		all = append(all, named{c.name + ", no times", c.load, 0})
		c.load.phi = 0.5
		all = append(all, named{c.name + ", φ 0.5, T = 32 τ", c.load.over(32), 32})
	}
	return all
}

// bySampling are loads whose weights grew twice, or that a rule sampled which only a histogram tells of.
func bySampling(l load) []named {
	grown, coarse, fine := l, l, l
	grown.kept, grown.weights, grown.n = 16, independent, 12*l.n
	coarse.weights, coarse.n = metered, 4*l.n
	fine.weights, fine.n = meteredFinely, 4*l.n
	began := coarse
	began.began = true
	return []named{
		{"at most 16 kept of weights 1 and 20", grown, 0},
		{"tail sampled, by an explicit histogram", coarse, 0},
		{"tail sampled, by an exponential histogram", fine, 0},
		{"the current side tail sampled, by an explicit histogram", began, 0},
	}
}

// generator is that of one cell, so that adding a cell changes no other.
func generator(seed uint64, cell string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(cell) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}
