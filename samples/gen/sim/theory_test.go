package sim

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// station is one service of c threads that clients call over a network without delay.
func station(rate float64, c int, service Dist) *System {
	sys := &System{Name: "station"}
	s := sys.Add(&Service{Name: "s", Instances: 1, Executor: Executor{Name: "x", Slots: c}})
	op := s.Add(&Operation{Name: "GET /", Plan: []Step{&Work{Time: service}}})
	sys.Workload = Workload{Rate: rate, Classes: []Class{{Share: 1, Op: op, Size: 1}}}
	return sys
}

// meanWait is the mean wait over a number of independent runs, and its standard error. The first tenth
// of each run is left out, since it begins with an empty queue.
func meanWait(runs, requests int, build func() *System) (mean, se float64) {
	var sum, sq float64
	for i := range runs {
		r := Simulate(build(), Options{Seed: uint64(i + 1), Requests: requests})
		var w Time
		n := 0
		for _, q := range r.Requests[requests/10:] {
			w += q.Before()
			n++
		}
		x := w.Seconds() / float64(n)
		sum += x
		sq += x * x
	}
	n := float64(runs)
	mean = sum / n
	return mean, math.Sqrt((sq/n - mean*mean) / (n - 1))
}

// The mean wait of M/M/c is C(c, a)/(cμ − λ), with a = λ/μ and Erlang's C = B/(1 − ρ(1 − B)), where B is
// Erlang's B by its recursion B(0) = 1, B(k) = aB(k−1)/(k + aB(k−1)). For c = 1, C = ρ.
// M/G/1 (Pollaczek, Khinchine): λE[S²]/(2(1 − ρ)), with E[S²] = m² for constant service,
// m²(1 + 1/k) for Erlang-k, m²exp(σ²) for a log-normal, 2m² for an exponential.
func TestMeanWait(t *testing.T) {
	const m = 10 * time.Millisecond
	erlangC := func(c int, a float64) float64 {
		b := 1.0
		for k := 1; k <= c; k++ {
			b = a * b / (float64(k) + a*b)
		}
		rho := a / float64(c)
		return b / (1 - rho*(1-b))
	}
	pk := func(rate, second float64) float64 { return rate * second / 2 / (1 - rate*m.Seconds()) }
	mm := m.Seconds() * m.Seconds()
	lognormal := LogNormal{Median: scaled(m, math.Exp(-0.5*0.8*0.8)), Sigma: 0.8}
	for _, c := range []struct {
		rate    float64
		servers int
		service Dist
		want    float64
	}{
		{50, 1, Exp(m), 0.5 / (100 - 50)},
		{80, 1, Exp(m), 0.8 / (100 - 80)},
		{160, 2, Exp(m), erlangC(2, 1.6) / (200 - 160)},
		{680, 8, Exp(m), erlangC(8, 6.8) / (800 - 680)},
		{70, 1, Const(m), pk(70, mm)},
		{70, 1, Erlang{4, m}, pk(70, mm*1.25)},
		{70, 1, lognormal, pk(70, mm*math.Exp(0.8*0.8))},
	} {
		t.Run(fmt.Sprintf("%g/s,%d,%T", c.rate, c.servers, c.service), func(t *testing.T) {
			t.Parallel()
			got, se := meanWait(12, 9000, func() *System { return station(c.rate, c.servers, c.service) })
			// 3.5 standard errors on 11 degrees of freedom are exceeded by chance in 0.5 % of runs.
			if math.Abs(got-c.want) > 3.5*se || se > 0.1*c.want {
				t.Errorf("mean wait %.3f ± %.3f ms, theory %.3f ms", 1e3*got, 1e3*se, 1e3*c.want)
			}
		})
	}
}

// In M/G/1 with a shared core the mean time in the system is E[S]/(1 − ρ), whatever the distribution.
func TestSharedCoreMean(t *testing.T) {
	const m = 10 * time.Millisecond
	for _, service := range []Dist{Exp(m), Const(m), LogNormal{Median: scaled(m, math.Exp(-0.5)), Sigma: 1}} {
		t.Run(fmt.Sprintf("%T", service), func(t *testing.T) {
			t.Parallel()
			var sum, sq float64
			const runs, n = 30, 6000
			for i := range runs {
				sys := station(60, 0, service)
				sys.Services[0].Cores = 1
				sys.Services[0].Ops[0].Plan[0].(*Work).CPU = 1
				r := Simulate(sys, Options{Seed: uint64(i + 1), Requests: n})
				var d Time
				for _, q := range r.Requests[n/10:] {
					d += q.Latency()
				}
				x := d.Seconds() / (n - n/10)
				sum += x
				sq += x * x
			}
			got := sum / runs
			se := math.Sqrt((sq/runs - got*got) / (runs - 1))
			if want := m.Seconds() / (1 - 0.6); math.Abs(got-want) > 3.5*se || se > 0.1*want {
				t.Errorf("mean %.3f ± %.3f ms, theory %.3f ms", 1e3*got, 1e3*se, 1e3*want)
			}
		})
	}
}

// The arrivals are Poisson: the numbers in one-second windows have mean and variance λ without waves.
// With factors of mean one and variance v = exp(σ²) − 1 the variance is λ + vλ².
func TestArrivals(t *testing.T) {
	for _, wave := range []float64{0, 0.2} {
		sys := station(50, 0, Const(0))
		sys.Workload.Wave = wave
		r := Simulate(sys, Options{Seed: 3, Requests: 60_000})
		n := make([]float64, int(r.Arrivals/time.Second))
		for _, q := range r.Requests {
			if i := int(q.Arrive / time.Second); i < len(n) {
				n[i]++
			}
		}
		var sum, sq float64
		for _, x := range n {
			sum += x
			sq += x * x
		}
		windows := float64(len(n))
		mean := sum / windows
		variance := sq/windows - mean*mean
		want := 50 + (math.Exp(wave*wave)-1)*2500
		// A variance over w windows has relative standard error of about √(2/w); the mean √(want/w).
		if math.Abs(mean-50) > 4*math.Sqrt(want/windows) || math.Abs(variance/want-1) > 4*math.Sqrt(2/windows) {
			t.Errorf("wave %g: mean %.2f, variance %.1f, want 50 and %.1f", wave, mean, variance, want)
		}
	}
}

// A run's random numbers do not depend on what else is drawn: a hop before a call leaves the call's
// times as they were.
func TestNumbersHaveNames(t *testing.T) {
	build := func(extra bool) *System {
		return pair(Exp(10*ms), Ignore, func(back *Operation) []Step {
			plan := []Step{&Call{To: back}}
			if extra {
				plan = append([]Step{&Work{Time: Exp(ms)}}, plan...)
			}
			return plan
		})
	}
	a := Simulate(build(false), Options{Seed: 5, Requests: 50})
	b := Simulate(build(true), Options{Seed: 5, Requests: 50})
	for i := range a.Attempts {
		if a.Attempts[i].Edge != entryEdge && a.Attempts[i].Service != b.Attempts[i].Service {
			t.Fatalf("attempt %d: %v and %v", i, a.Attempts[i].Service, b.Attempts[i].Service)
		}
	}
}
