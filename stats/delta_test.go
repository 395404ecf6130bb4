package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestChangeIsOpenWhereASideIs(t *testing.T) {
	// p99 needs 368 requests to close above and one to close below.
	few, many := times(hundred(), 1e6), slices.Concat(times(hundred(), 1e6), times(hundred(), 1e6), times(hundred(), 1e6), times(hundred(), 1e6))
	for _, c := range []struct {
		why          string
		base, cur    []int64
		below, above bool
	}{
		{"both have 400", many, many, true, true},
		{"the current p99 may be any amount higher", many, few, true, false},
		{"the baseline's may, so the rise may be any amount lower", few, many, false, true},
		{"both", few, few, false, false},
	} {
		d := pairOf(t, c.base, c.cur).Delta(0.99, 0.95)
		if d.Interval.ClosedBelow() != c.below || d.Interval.ClosedAbove() != c.above {
			t.Errorf("%s: %v", c.why, d.Interval)
		}
		if !d.Interval.Closed() && (d.Base == 0 || d.Cur == 0) {
			t.Errorf("%s: point values are given for every n", c.why)
		}
	}
}

func TestMedianOfFewIsOpenOnTheOtherSideToo(t *testing.T) {
	// The median of 5 is open on both sides, so its change is, however many the other side has.
	few, many := times(hundred()[:5], 1e6), times(hundred(), 1e6)
	for _, p := range []*Pair{pairOf(t, few, many), pairOf(t, many, few)} {
		if iv := p.Delta(0.5, 0.95).Interval; iv.ClosedAbove() || iv.ClosedBelow() {
			t.Errorf("%v, want open", iv)
		}
	}
}

// One request a side leaves no block to vary; everything stays open and nothing breaks.
func TestOneRequestASide(t *testing.T) {
	p := pairOf(t, []int64{1e6}, []int64{3e6})
	if d := p.Delta(0.99, 0.95); d.Base != 1e6 || d.Cur != 3e6 || d.Interval.ClosedAbove() || d.Interval.ClosedBelow() {
		t.Errorf("%+v", d)
	}
	if s := p.spread(0.99, 0.95); math.IsNaN(s.factor) || s.factor < 1 {
		t.Errorf("%+v", s)
	}
}

// eightSeconds has 100 requests in each of 8 seconds, of which 20, 20, 0, 0, 20, 20, 0, 0 are slow.
func eightSeconds(t *testing.T) *Sample {
	var r Requests
	for sec := range int64(8) {
		for i := range int64(100) {
			l := 1000 + 8*i + sec
			if sec%4 < 2 && i < 20 {
				l += 1e6
			}
			r.Latency, r.Second = append(r.Latency, l), append(r.Second, sec)
		}
	}
	return sample(t, r)
}

func TestSpreadByPencil(t *testing.T) {
	// p90 is the largest fast one, so all slow ones are above. r = ±10, Σr² = 800, Σ r_b r_{b−1} = 4·100 − 3·100:
	// ρ = 0.125, corrected 0.125 + 1.375/8 = 0.296875, f = 1.296875/0.703125. With the standard error √(1/16) it is
	// 0.375, corrected 0.375 + 2.125/8 = 0.640625, f = 1.640625/0.359375. t(0.975, 7) = 2.36462.
	s := eightSeconds(t)
	g := 2.36462 / 1.959964
	got := NewPair(s, s, Defaults()).spread(0.9, 0.95)
	near(t, "factor", got.factor, g*math.Sqrt(1.296875/0.703125), 1e-5)
	near(t, "careful", got.careful, g*math.Sqrt(1.640625/0.359375), 1e-5)
	near(t, "stretches", got.stretches, 8*0.875/1.125, 1e-9)
	near(t, "factor of one side", s.factor(0.9, 0.95), g*math.Sqrt(1.296875/0.703125), 1e-5)
	// V = 8/7 · 800/800², d = 7/f = 3.795, t(0.975, 3.795) = 2.8366.
	near(t, "V", s.blockVariance(0.9, 0.95), 1.296875/0.703125*8/7/800*math.Pow(2.8366/1.959964, 2), 1e-5)
}

func TestDifferencesAreThoseOfAllPairs(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		a, b := make([]float64, 1+g.IntN(30)), make([]float64, 1+g.IntN(30))
		var all []float64
		for i := range a {
			a[i] = float64(g.IntN(20)) // whole, so that many differences are tied
		}
		for i := range b {
			b[i] = float64(g.IntN(20))
		}
		for _, x := range a {
			for _, y := range b {
				all = append(all, x-y)
			}
		}
		want := percentiles(all, 0.8)
		got := differences(a, b, 0.8)
		near(t, "lo", got.Lo, want.Lo, 1e-9)
		near(t, "hi", got.Hi, want.Hi, 1e-9)
	}
}

func TestOnlyTheExcessOfBlocksIsWidened(t *testing.T) {
	// Above: 5 against 3, √(9 + 4·16). Below: blocks are narrower, 3 stays.
	got := excess(10, Interval{8, 15}, Interval{7, 13}, 2)
	near(t, "lo", got.Lo, 7, 1e-12)
	near(t, "hi", got.Hi, 10+math.Sqrt(73), 1e-12)
}

func TestHighestClosed(t *testing.T) {
	for n, want := range map[int]float64{5: 0, 6: 0.5, 13: 0.75, 36: 0.9, 72: 0.95, 367: 0.95, 368: 0.99, 5000: 0.99} {
		l := lognormal(1, n, 0.5, 1)
		if q, ok := pairOf(t, l, l).HighestClosed(); q != want || ok != (want > 0) {
			t.Errorf("n %d: %v %v, want %v", n, q, ok, want)
		}
	}
}

func TestIntervalHoldsTheChangeAndGrowsWithLevel(t *testing.T) {
	for seed := range uint64(10) {
		base := Requests{Latency: lognormal(seed, 3000, 0.7, 1), Second: uniformSeconds(seed, 3000, 60)}
		cur := Requests{Latency: lognormal(seed+50, 3000, 0.7, 1.1), Second: uniformSeconds(seed+50, 3000, 60)}
		p := NewPair(sample(t, base), sample(t, cur), Defaults())
		for _, q := range ladder {
			narrow, wide := p.Delta(q, 0.80), p.Delta(q, 0.95)
			if wide.Interval.Excludes(wide.Change) || wide.Interval.Lo > narrow.Interval.Lo || wide.Interval.Hi < narrow.Interval.Hi {
				t.Errorf("seed %d q %v: %v at 80 %%, %v at 95 %%, change %v", seed, q, narrow.Interval, wide.Interval, wide.Change)
			}
		}
	}
}

func TestBlocksAndRanksAgreeOnIndependentRequests(t *testing.T) {
	// Where requests are independent both methods estimate the same spread; blocks pay for their small number by
	// t(B−1) and the bias correction of ρ, at most 1.25·√1.3, and never come out narrower.
	ratio := 0.0
	const rounds = 20
	for seed := range uint64(rounds) {
		base := Requests{Latency: lognormal(seed, 20000, 0.7, 1), Second: uniformSeconds(seed, 20000, 200)}
		cur := Requests{Latency: lognormal(seed+50, 20000, 0.7, 1), Second: uniformSeconds(seed+50, 20000, 200)}
		blocks := NewPair(sample(t, base), sample(t, cur), Defaults()).Delta(0.95, 0.95).Interval
		base.Second, cur.Second = nil, nil
		free := NewPair(sample(t, base), sample(t, cur), Defaults()).Delta(0.95, 0.95).Interval
		if blocks.Lo > free.Lo || blocks.Hi < free.Hi {
			t.Errorf("seed %d: blocks %v inside ranks %v", seed, blocks, free)
		}
		ratio += (blocks.Hi - blocks.Lo) / (free.Hi - free.Lo) / rounds
	}
	if ratio < 1 || ratio > 1.6 {
		t.Errorf("blocks are %v times as wide as ranks", ratio)
	}
}

func TestWarnings(t *testing.T) {
	r := Requests{Latency: lognormal(1, 200, 0.5, 1), Second: make([]int64, 200)}
	for i := range r.Second {
		r.Second[i] = int64(i / 2)
	}
	details := func(r Requests) map[string]string {
		s := sample(t, r)
		m := map[string]string{}
		for _, w := range NewPair(s, s, Defaults()).Delta(0.5, 0.95).Warnings {
			m[w.Guard+" "+w.Status] = w.Detail
		}
		return m
	}
	if got := details(r); got["runs ok"] != "one run a side: window-to-window variation unknown" || len(got) != 1 {
		t.Errorf("one long run: %v", got)
	}
	two := r
	two.Run = make([]int, 200)
	for i := range two.Run {
		two.Run[i] = i % 2
	}
	if got := details(two); got["runs warn"] == "" {
		t.Errorf("two runs: %v", got)
	}
	r.Second = uniformSeconds(1, 200, 7)
	if got := details(r); !strings.Contains(got["window warn"], "independent stretches; intervals may be too narrow") {
		t.Errorf("7 s: %v", got)
	}
	r.Second = uniformSeconds(1, 200, 3)
	if got := details(r); got["window warn"] != "independence assumed: one side lasts 3 s, and blocks of time need 4 s" {
		t.Errorf("3 s: %v", got)
	}
	r.Second = nil
	if got := details(r); got["window warn"] != "independence assumed: start times are not known" {
		t.Errorf("no times: %v", got)
	}
	few := Requests{Latency: r.Latency[:99], Second: uniformSeconds(1, 99, 100)}
	if got := details(few); got["window warn"] != "independence assumed: 99 requests on one side, and blocks of time need 100" {
		t.Errorf("99 requests: %v", got)
	}
}

// What all requests of a second share is no change, in windows of a few seconds either; and a change of every second is
// still seen.
func TestShortWindows(t *testing.T) {
	side := func(seed uint64, seconds int, level, times float64) *Sample {
		g := rand.New(rand.NewPCG(seed, 5))
		levels := make([]float64, seconds)
		for i := range levels {
			levels[i] = times * math.Exp(level*g.NormFloat64())
		}
		var r Requests
		for range 1000 {
			s := g.IntN(seconds)
			r.Latency = append(r.Latency, int64(1e8*levels[s]*math.Exp(0.5*g.NormFloat64())))
			r.Second = append(r.Second, int64(s))
		}
		return sample(t, r)
	}
	for _, seconds := range []int{4, 6} {
		wrong, found := 0, 0
		for k := range uint64(40) {
			base := side(2*k, seconds, 0.3, 1)
			if NewPair(base, side(2*k+1, seconds, 0.3, 1), Defaults()).Test().P <= 0.05 {
				wrong++
			}
			if NewPair(side(2*k, seconds, 0.02, 1), side(2*k+1, seconds, 0.02, 1.3), Defaults()).Test().P <= 0.05 {
				found++
			}
		}
		// 5 % of 40 is 2; as if independent it would be nearly all.
		if wrong > 6 || found < 36 {
			t.Errorf("%d s: %d of 40 unchanged pairs rejected, %d of 40 changed ones", seconds, wrong, found)
		}
	}
}

// threeRuns has constant latencies in each run, so that quantiles of runs are exact.
func threeRuns(t *testing.T, a, b, c int64) *Sample {
	r := Requests{}
	for i := range 600 {
		r.Latency = append(r.Latency, []int64{a, b, c}[i%3])
		r.Run = append(r.Run, i%3)
	}
	return sample(t, r)
}

func TestRunsDecide(t *testing.T) {
	// Logs of e^0, e^1, e^2 against e^2, e^3, e^4 times 100 ms: means 1 and 3, Σ of squares 2 and 2, s² = 4/4 = 1,
	// se = √(1·(1/3+1/3)) = 0.8165, t = 2/0.8165 = 2.449 with 4 degrees: p = 0.0705.
	e := func(k float64) int64 { return int64(math.Round(1e8 * math.Exp(k))) }
	p := NewPair(threeRuns(t, e(0), e(1), e(2)), threeRuns(t, e(2), e(3), e(4)), Defaults())
	r := p.runs(0.5)
	within := p.withinRuns(0.5)
	near(t, "log", r.log, 2, 1e-6)
	near(t, "d", r.d, 4, 0)
	if within > 2.0/3 {
		t.Fatalf("the requests of constant runs vary by %v between dealt blocks, more than runs do", within)
	}
	near(t, "se", r.se, math.Sqrt(2.0/3), 1e-6)
	near(t, "p", r.p, 0.0705, 0.0001)
	test := p.Test()
	if test.Method != Runs || len(test.Members) != 0 {
		t.Errorf("method %s with %d members", test.Method, len(test.Members))
	}
	// The interval is that of the ratio e^(2 ± 2.776·0.8165) of the baseline's median.
	d := p.Delta(0.5, 0.95)
	half := 2.7764 * math.Sqrt(2.0/3)
	near(t, "lo", d.Interval.Lo/(float64(e(1))*(math.Exp(2-half)-1)), 1, 1e-3)
	near(t, "hi", d.Interval.Hi/(float64(e(1))*(math.Exp(2+half)-1)), 1, 1e-3)
	if v := p.Verdict(test, test.P <= 0.05); v.Outcome == Regression {
		t.Errorf("%s, though runs differ as much among themselves", v.Outcome)
	}
}

func TestRunsThatAgreeReject(t *testing.T) {
	r := func(seed uint64, scale float64) *Sample {
		q := Requests{Latency: lognormal(seed, 3000, 0.5, scale), Run: make([]int, 3000)}
		for i := range q.Run {
			q.Run[i] = i % 3
		}
		return sample(t, q)
	}
	p := NewPair(r(1, 1), r(2, 2), Defaults())
	test := p.Test()
	if v := p.Verdict(test, test.P <= 0.05); v.Outcome != Regression {
		t.Errorf("%s with p %v, want regression", v.Outcome, test.P)
	}
}

func TestVarianceOfRunsIsNotBelowThatWithin(t *testing.T) {
	// Three copies of one run have no variance between them; the requests within still have theirs.
	l := lognormal(3, 200, 0.7, 1)
	r := Requests{Latency: slices.Concat(l, l, l), Run: make([]int, 600)}
	for i := range r.Run {
		r.Run[i] = i / 200
	}
	s := sample(t, r)
	if b := NewPair(s, s, Defaults()).runs(0.9); b.se < 0.01 {
		t.Errorf("se %v of copies", b.se)
	}
}
