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
			got, se := meanWait(16, 12000, func() *System { return station(c.rate, c.servers, c.service) })
			// 3.5 standard errors on 15 degrees of freedom are exceeded by chance in 0.3 % of runs.
			if math.Abs(got-c.want) > 3.5*se || se > 0.1*c.want {
				t.Errorf("mean wait %.3f ± %.3f ms, theory %.3f ms", 1e3*got, 1e3*se, 1e3*c.want)
			}
		})
	}
}
