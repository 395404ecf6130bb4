package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "stats-processes",
		about: `
Unchanged endpoints whose requests come and last as they do in production and not as in stats-null: the share of pairs of
windows that are called a regression, one endpoint a run, both windows drawn alike and each by itself. Rejection at 5 % may
go either way, so that half of it may be called a regression. Whole queues are simulated; what comes in periods begins
anywhere in its period. Nothing is promised of a level that drifts more slowly than a window lasts (correlated over 400 s,
τ = 800 s): the level of another window cannot be known from within one, and the guard window says so.

Then the same queues where times are not known: requests that wait behind each other are no independent ones, and without
times that cannot be seen. Last, what did change, and is found so often: the price of knowing it.`,
		version: stats.Version,
		runs:    400,
		run:     statsProcesses,
	})
}

// A request of a process: when it began, in seconds from the window's start, and how long it took, in ms.
type request struct{ at, ms float64 }

// A process draws one window.
type process func(g *rand.Rand) []request

// processes are what happens on both sides.
var processes = []struct {
	name      string
	base, cur process // cur nil: as base
}{
	{"Pareto 1.5", arriving(1000, 100, pareto(1.5)), nil},
	{"Pareto 1.1, 300 requests", arriving(300, 100, pareto(1.1)), nil},
	{"300 requests in a minute", arriving(300, 60, lognormal(50, 0.7)), nil},
	{"60 requests in an hour", arriving(60, 3600, lognormal(50, 0.7)), nil},
	{"20 requests, no seconds", arriving(20, 2, lognormal(50, 0.7)), nil},
	{"a cache that misses 1 %", arriving(2000, 100, caching(0.01, 5, 300)), nil},
	{"a cache that misses 1 %, 300 requests", arriving(300, 100, caching(0.01, 5, 300)), nil},
	{"a cache emptied every 30 s", periodic(2000, 100, 30, 3, 0.3, 5, 300), nil},
	{"a job every minute that slows 10 s, in 90 s", periodic(1000, 90, 60, 10, 1, 50, 150), nil},
	{"a job every 5 min that slows 20 s, in 6 min", periodic(2000, 360, 300, 20, 1, 50, 150), nil},
	{"a job every 5 min that slows 20 s, 2 min and 30 min", periodic(1000, 120, 300, 20, 1, 50, 150), periodic(9000, 1800, 300, 20, 1, 50, 150)},
	{"a job every minute that slows 10 s, 20 s and 20 min", periodic(400, 20, 60, 10, 1, 50, 150), periodic(9000, 1200, 60, 10, 1, 50, 150)},
	{"the load of a day in an hour", queue(3000, 600, 4, 0.6, 0.35, 600), nil},
	{"a queue with one server at 0.5", queue(2000, 100, 1, 0.5, 0, 1), nil},
	{"a queue with one server at 0.8", queue(2000, 100, 1, 0.8, 0, 1), nil},
	{"a queue with one server at 0.9", queue(2000, 100, 1, 0.9, 0, 1), nil},
	{"a queue with eight servers at 0.9", queue(4000, 40, 8, 0.9, 0, 1), nil},
	{"batches of 20 at a queue", batches(2000, 100, 20), nil},
	{"clients that wait", closed(2000, 16, 4), nil},
	{"an instance restarts in each window", restarts(2000, 120, 12, 4), nil},
	{"pauses of 200 ms every 10 s or so", pauses(2000, 60, 10, 0.2), nil},
	{"starts in whole seconds, ms lengths", coarse(arriving(800, 60, lognormal(8, 0.7))), nil},
	{"lengths of 0, 1 and 2 ms", coarse(arriving(2000, 60, lognormal(0.4, 1))), nil},
	{"a level that drifts over the window", drift(2000, 200, 400, 0.3), nil},
	{"a level that drifts, one window of four", drift(1000, 50, 400, 0.3), drift(4000, 200, 400, 0.3)},
	{"tenants that come in turns", turns(2000, 200, 5, 20), nil},
	{"a breaker that opens for 5 s", periodic(3000, 120, 40, 5, 1, 50, 2), nil},
	{"retries after a timeout of 1 s, 2 %", arriving(1000, 60, caching(0.02, 50, 1050)), nil},
	{"a tenth as many requests", arriving(4000, 200, lognormal(50, 0.7)), arriving(400, 200, lognormal(50, 0.7))},
	{"a tenth of the window, in bursts", burst(400, 40), burst(4000, 400)},
}

// changes are processes of which the second is slower.
var changes = []struct {
	name      string
	base, cur process
}{
	{"a queue with one server from 0.5 to 0.8", queue(2000, 100, 1, 0.5, 0, 1), queue(2000, 62.5, 1, 0.8, 0, 1)},
	{"a queue with eight servers from 0.6 to 0.9", queue(4000, 60, 8, 0.6, 0, 1), queue(4000, 40, 8, 0.9, 0, 1)},
	{"all half as slow again, a window of 20 s before 20 min", arriving(400, 20, lognormal(50, 0.5)), arriving(9000, 1200, lognormal(75, 0.5))},
	{"a cache that misses 3 % instead of 1 %", arriving(2000, 100, caching(0.01, 5, 300)), arriving(2000, 100, caching(0.03, 5, 300))},
	{"Pareto 1.5, half as slow again", arriving(2000, 100, pareto(1.5)), arriving(2000, 100, func(g *rand.Rand) float64 { return 1.5 * pareto(1.5)(g) })},
	{"a job every minute that slows 20 s and not 5 s, in 10 min", periodic(5000, 600, 60, 5, 1, 50, 150), periodic(5000, 600, 60, 20, 1, 50, 150)},
}

func statsProcesses(seed uint64, runs int) []cell {
	var cells []cell
	measure := func(name string, t target, base, cur process, timed bool) {
		c := cell{name: name, target: t, runs: wanted(runs, name)}
		g := generator(seed, name)
		if cur == nil {
			cur = base
		}
		for range c.runs {
			pair := stats.NewPair(window(base(g), timed), window(cur(g), timed), stats.Defaults())
			test := pair.Test()
			if test.P <= stats.Defaults().Alpha && pair.Verdict(test, true).Outcome == stats.Regression {
				c.hits++
			}
		}
		cells = append(cells, c)
	}
	for _, p := range processes {
		t := atMost(0.05)
		if strings.Contains(p.name, "drifts") {
			t = target{}
		}
		measure(p.name, t, p.base, p.cur, true)
	}
	for _, p := range processes {
		if strings.HasPrefix(p.name, "a queue") {
			measure(p.name+", no times", target{}, p.base, p.cur, false)
		}
	}
	for _, p := range changes {
		measure("changed: "+p.name, target{}, p.base, p.cur, true)
	}
	return cells
}

// window is the requests of a side as stats reads them.
func window(of []request, timed bool) *stats.Sample {
	var r stats.Requests
	for _, q := range of {
		r.Latency = append(r.Latency, int64(math.Round(q.ms*1e6)))
		if timed {
			r.Second = append(r.Second, 1_700_000_000+int64(math.Floor(q.at)))
		}
	}
	s, err := stats.NewSample(r)
	if err != nil {
		panic(err)
	}
	return s
}

// A length draws how long a request takes, in ms.
type length func(g *rand.Rand) float64

func lognormal(median, sigma float64) length {
	return func(g *rand.Rand) float64 { return median * math.Exp(sigma*g.NormFloat64()) }
}

func pareto(alpha float64) length {
	return func(g *rand.Rand) float64 { return 10 * math.Pow(1-g.Float64(), -1/alpha) }
}

// caching takes hit or, where it misses, miss.
func caching(missing, hit, miss float64) length {
	return func(g *rand.Rand) float64 {
		if g.Float64() < missing {
			return lognormal(miss, 0.2)(g)
		}
		return lognormal(hit, 0.3)(g)
	}
}

// times are n moments in a window, at random.
func times(g *rand.Rand, n int, seconds float64) []float64 {
	at := make([]float64, n)
	for i := range at {
		at[i] = seconds * g.Float64()
	}
	slices.Sort(at)
	return at
}

// arriving is requests that know nothing of each other.
func arriving(n int, seconds float64, d length) process {
	return func(g *rand.Rand) (of []request) {
		for _, at := range times(g, n, seconds) {
			of = append(of, request{at, d(g)})
		}
		return of
	}
}

// periodic is a system that is slow, or a share of its requests is, for some seconds of every period.
func periodic(n int, seconds, period, slow, share, median, slowMedian float64) process {
	return func(g *rand.Rand) (of []request) {
		phase := period * g.Float64()
		for _, at := range times(g, n, seconds) {
			m := median
			if math.Mod(at+phase, period) < slow && g.Float64() < share {
				m = slowMedian
			}
			of = append(of, request{at, lognormal(m, 0.4)(g)})
		}
		return of
	}
}

// queue is servers that take one request after the other, busy for a share of the time. The load rises and falls by a
// part of itself over each period.
func queue(n int, seconds float64, servers int, busy, wave, period float64) process {
	return func(g *rand.Rand) (of []request) {
		mean := busy * float64(servers) * seconds / float64(n) * 1e3
		free := make(earliest, servers)
		phase := 2 * math.Pi * g.Float64()
		at := -seconds / 4 // it is under way when the window begins
		for i := range free {
			free[i] = at
		}
		for {
			at += seconds / float64(n) * g.ExpFloat64() / (1 + wave)
			if g.Float64()*(1+wave) > 1+wave*math.Sin(2*math.Pi*at/period+phase) {
				continue
			}
			if at >= seconds {
				return of
			}
			ms := lognormal(mean*math.Exp(-0.18), 0.6)(g) // its mean is the mean
			done := max(at, free[0]) + ms/1e3
			free[0] = done
			heap.Fix(&free, 0)
			if at >= 0 {
				of = append(of, request{at, 1e3 * (done - at)})
			}
		}
	}
}

// earliest is when servers are free, the first first.
type earliest []float64

func (e earliest) Len() int           { return len(e) }
func (e earliest) Less(i, j int) bool { return e[i] < e[j] }
func (e earliest) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *earliest) Push(any)          {}
func (e *earliest) Pop() any          { return nil }

// batches come at one server, so many at once.
func batches(n int, seconds float64, size int) process {
	return func(g *rand.Rand) (of []request) {
		free := 0.0
		for _, at := range times(g, n/size, seconds) {
			for range size {
				free = max(at, free) + lognormal(20, 0.4)(g)/1e3
				of = append(of, request{at, 1e3 * (free - at)})
			}
		}
		return of
	}
}

// closed is clients that each ask again when they have their answer, of some servers.
func closed(n, clients, servers int) process {
	return func(g *rand.Rand) (of []request) {
		ready, free := make(earliest, clients), make(earliest, servers)
		for len(of) < n {
			at := ready[0]
			done := max(at, free[0]) + lognormal(40, 0.6)(g)/1e3
			ready[0], free[0] = done+0.05*g.ExpFloat64(), done
			heap.Fix(&ready, 0)
			heap.Fix(&free, 0)
			of = append(of, request{at, 1e3 * (done - at)})
		}
		return of
	}
}

// restarts is instances of which one begins anew, at any time of the window, and is slow for some seconds.
func restarts(n int, seconds, cold float64, instances int) process {
	return func(g *rand.Rand) (of []request) {
		from := seconds * g.Float64()
		for _, at := range times(g, n, seconds) {
			m := 50.0
			if g.IntN(instances) == 0 && at >= from && at < from+cold {
				m = 200
			}
			of = append(of, request{at, lognormal(m, 0.4)(g)})
		}
		return of
	}
}

// pauses stop everything that is under way.
func pauses(n int, seconds, every, length float64) process {
	return func(g *rand.Rand) (of []request) {
		var stops []float64
		for at := every * g.ExpFloat64(); at < seconds; at += every * g.ExpFloat64() {
			stops = append(stops, at)
		}
		for _, at := range times(g, n, seconds) {
			ms := lognormal(30, 0.4)(g)
			for _, s := range stops {
				if at < s+length && at+ms/1e3 > s {
					ms += 1e3 * (s + length - max(at, s))
				}
			}
			of = append(of, request{at, ms})
		}
		return of
	}
}

// coarse is a clock of whole seconds, and lengths in whole ms.
func coarse(p process) process {
	return func(g *rand.Rand) []request {
		of := p(g)
		for i := range of {
			of[i] = request{math.Floor(of[i].at), math.Round(of[i].ms)}
		}
		return of
	}
}

// drift is a level that wanders and comes back after so many seconds.
func drift(n int, seconds, back, sd float64) process {
	return func(g *rand.Rand) (of []request) {
		phi := math.Exp(-1 / back)
		z := g.NormFloat64()
		second := 0.0
		for _, at := range times(g, n, seconds) {
			for ; second < math.Floor(at); second++ {
				z = phi*z + math.Sqrt(1-phi*phi)*g.NormFloat64()
			}
			of = append(of, request{at, lognormal(50*math.Exp(sd*z), 0.5)(g)})
		}
		return of
	}
}

// turns is tenants, one of them slow, each of which asks most for a while.
func turns(n int, seconds float64, tenants int, while float64) process {
	return func(g *rand.Rand) (of []request) {
		first := g.IntN(tenants)
		for _, at := range times(g, n, seconds) {
			tenant := (first + int(at/while)) % tenants
			if g.IntN(3) == 0 {
				tenant = g.IntN(tenants)
			}
			m := 50.0
			if tenant == 0 {
				m = 120
			}
			of = append(of, request{at, lognormal(m, 0.4)(g)})
		}
		return of
	}
}

// burst is stretches of 5 s, a tenth of the time, in which everything takes three times as long.
func burst(n, seconds int) process {
	return func(g *rand.Rand) (of []request) {
		level := load{bursts: true, seconds: seconds}.levels(g)
		for _, at := range times(g, n, float64(seconds)) {
			of = append(of, request{at, lognormal(50, 0.5)(g) * math.Exp(level[int(at)])})
		}
		return of
	}
}
