package stats

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestTailShares(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []float64
	}{
		{6, []float64{0.5}},
		{11, []float64{0.5}},
		{12, []float64{0.5}},              // a quarter is 3
		{40, []float64{0.5, 0.25}},        // an eighth is 5
		{48, []float64{0.5, 0.25, 0.125}}, // exactly 6
		{599, []float64{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625}}, // 1 % is 5.99, 1/64 is 9.4
		{600, []float64{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.01}},
		// down to (1−q)/4 = 0.0025 and no further: 1/256 = 0.0039
		{1e6, []float64{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.01, 0.0078125, 0.00390625}},
	} {
		if got := tailShares(c.n, 0.99); !slices.Equal(got, c.want) {
			t.Errorf("n %d: %v, want %v", c.n, got, c.want)
		}
	}
	if got := tailShares(1000, 0.5); !slices.Equal(got, []float64{0.5, 0.25, 0.125}) {
		t.Errorf("for the median: %v", got)
	}
}

func pairOf(t *testing.T, base, cur []int64) *Pair {
	return NewPair(sample(t, Requests{Latency: base}), sample(t, Requests{Latency: cur}), Defaults())
}

func times(l []int64, factor float64) []int64 {
	m := make([]int64, len(l))
	for i, v := range l {
		m[i] = int64(math.Round(float64(v) * factor))
	}
	return m
}

func TestTwentyShiftedRequestsAreARegression(t *testing.T) {
	// Every current request is above every baseline one. u = ½: 20 of 20 against 0 of 20, p = 2/C(40,20); u = ¼:
	// 10 against 0, p = 2·C(20,10)/C(40,10) = 4.4e−4. m = 2.
	p := pairOf(t, times(hundred()[:20], 1e6), times(hundred()[30:50], 1e6))
	test := p.Test()
	if len(test.Members) != 2 {
		t.Fatalf("%d members, want 2", len(test.Members))
	}
	near(t, "p(½)", test.Members[0].Raw/(2/137846528820.0), 1, 1e-9)
	near(t, "p(¼)", test.Members[1].Raw, 2*184756/847660528.0, 1e-9)
	near(t, "p", test.P/(4/137846528820.0), 1, 1e-9)
	if test.Basis != 0 || test.Opposed != -1 {
		t.Errorf("basis %d, opposed %d; want 0 and none", test.Basis, test.Opposed)
	}
	v := p.Verdict(test, test.P <= 0.05)
	if v.Outcome != Regression {
		t.Errorf("verdict %s, want regression", v.Outcome)
	}
	// n = 20 closes p75 (13 needed), not p90 (36).
	if v.ExcludedAt != 0.75 || math.IsInf(v.Excluded, 0) {
		t.Errorf("excluded %v at %v, want a number at 0.75", v.Excluded, v.ExcludedAt)
	}
	back := pairOf(t, times(hundred()[30:50], 1e6), times(hundred()[:20], 1e6))
	test = back.Test()
	if v := back.Verdict(test, test.P <= 0.05); v.Outcome != Improvement {
		t.Errorf("the other way round: %s, want improvement", v.Outcome)
	}
}

func TestThreeAgainstThreeCannotTell(t *testing.T) {
	// No split of 3 and 3 has a p below 0.1.
	p := pairOf(t, times([]int64{1, 2, 3}, 1e6), times([]int64{100, 200, 300}, 1e6))
	test := p.Test()
	if test.P != 1 || test.Basis != -1 {
		t.Errorf("p %v basis %d, want 1 and none", test.P, test.Basis)
	}
	v := p.Verdict(test, false)
	if v.Outcome != CannotTell || !math.IsInf(v.Excluded, 1) || v.ExcludedAt != 0 {
		t.Errorf("%+v, want cannot-tell with nothing excluded", v)
	}
}

func TestNothingToCompare(t *testing.T) {
	for _, c := range [][2][]int64{{nil, nil}, {{1e6}, nil}, {nil, {1e6}}, {{1e6}, {1e9}}} {
		p := pairOf(t, c[0], c[1])
		test := p.Test()
		d := p.Delta(0.99, 0.95)
		if test.P != 1 || p.Verdict(test, false).Outcome != CannotTell || d.Interval.ClosedAbove() {
			t.Errorf("%v: p %v, %v", c, test.P, d.Interval)
		}
		if d.Change != d.Cur-d.Base || math.IsNaN(d.Change) {
			t.Errorf("%v: change %v", c, d.Change)
		}
	}
}

func TestOneValueOnly(t *testing.T) {
	// All equal: nothing is above any threshold.
	l := times(slices.Repeat([]int64{1}, 500), 1e6)
	p := pairOf(t, l, l)
	test := p.Test()
	if test.P != 1 || len(test.Members) != 0 {
		t.Errorf("p %v with %d members, want 1 with none", test.P, len(test.Members))
	}
	if v := p.Verdict(test, false); v.Outcome != NoRegression || v.Excluded != 0 {
		t.Errorf("%+v, want no-regression with any rise excluded", v)
	}
}

func TestEqualSplitsCountOnce(t *testing.T) {
	// 1,000 a side at 10 ms but 10 and 50 at a timeout of 500 ms: F(10) = 1940/2000 = 0.97, so every share of 3.1 %
	// and more has threshold 10 and one member stands for all; smaller ones have threshold 500 and nothing above.
	base, cur := slices.Repeat([]int64{10e6}, 1000), slices.Repeat([]int64{10e6}, 1000)
	for i := range 50 {
		cur[i] = 500e6
		if i < 10 {
			base[i] = 500e6
		}
	}
	p := pairOf(t, base, cur)
	test := p.Test()
	if len(test.Members) != 1 {
		t.Fatalf("%d members, want 1", len(test.Members))
	}
	m := test.Members[0]
	// Of ½ … 1/32 the nearest to 1 % gives its name.
	want := Member{Share: 1.0 / 32, Threshold: 10e6, Base: Count{10, 1000}, Cur: Count{50, 1000}, BaseShare: 0.01, CurShare: 0.05, Direction: 1,
		Quantile: 0.97, From: 10e6, Moved: 490e6, Raw: m.Raw, P: m.P}
	m.Quantile = math.Round(m.Quantile*1e12) / 1e12
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	near(t, "p", m.Raw/fisherExact(10, 1000, 50, 1000), 1, 1e-9)
	near(t, "one member needs no adjustment", m.P, m.Raw, 1e-12)
	if v := p.Verdict(test, true); v.Outcome != Regression {
		t.Errorf("verdict %s, want regression", v.Outcome)
	}
}

func TestTheMemberThatMovedEnoughIsTheBasis(t *testing.T) {
	// The whole body moves by 2 %, below the smallest effect, and says so with certainty; the slowest 1/16 doubles.
	base := lognormal(1, 20000, 0.1, 1)
	cur := times(lognormal(2, 20000, 0.1, 1), 1.02)
	for i := range cur {
		if i%16 == 0 {
			cur[i] *= 2
		}
	}
	p := pairOf(t, base, cur)
	test := p.Test()
	b := test.Members[test.Basis]
	if b.Moved < 0.05*b.From {
		t.Errorf("basis at 1/%v moved %v of %v", 1/b.Share, b.Moved, b.From)
	}
	if v := p.Verdict(test, true); v.Outcome != Regression {
		t.Errorf("verdict %s, want regression", v.Outcome)
	}
}

func TestOppositeDirections(t *testing.T) {
	// The body improves by a fifth, the slowest 2 % triple: the target's side decides, the other is told.
	base := lognormal(3, 20000, 0.3, 1)
	cur := times(lognormal(4, 20000, 0.3, 1), 0.8)
	for i := range cur {
		if i%50 == 0 {
			cur[i] *= 6
		}
	}
	p := pairOf(t, base, cur)
	test := p.Test()
	if b := test.Members[test.Basis]; b.Direction != 1 || b.Share != 1-0.99 {
		t.Errorf("basis %+v, want a rise at 1 %%", b)
	}
	if test.Opposed < 0 || test.Members[test.Opposed].Direction != -1 {
		t.Errorf("opposed %d, want a member that fell", test.Opposed)
	}
	if v := p.Verdict(test, true); v.Outcome != Regression {
		t.Errorf("verdict %s, want regression", v.Outcome)
	}
}

func TestEqualWeightsAreCounts(t *testing.T) {
	l, m := lognormal(5, 500, 0.5, 1), lognormal(6, 500, 0.5, 1.3)
	twenty := slices.Repeat([]float64{20}, 500)
	plain := pairOf(t, l, m).Test()
	weighted := NewPair(sample(t, Requests{Latency: l, Weight: twenty}), sample(t, Requests{Latency: m, Weight: twenty}), Defaults()).Test()
	near(t, "p", weighted.P, plain.P, 1e-15)
}

func TestWeightsAreNotCounts(t *testing.T) {
	// 30 requests that stand for 20 each are 30 requests, not 600: the p must be near the unweighted one.
	l, m := lognormal(7, 60, 0.5, 1), lognormal(8, 60, 0.5, 1.3)
	w := make([]float64, 60)
	for i := range w {
		w[i] = []float64{20, 21}[i%2]
	}
	plain := pairOf(t, l, m).Test()
	weighted := NewPair(sample(t, Requests{Latency: l, Weight: w}), sample(t, Requests{Latency: m, Weight: w}), Defaults()).Test()
	if r := weighted.P / plain.P; r < 0.5 || r > 2 {
		t.Errorf("p %v, unweighted %v", weighted.P, plain.P)
	}
}

func TestTimeHoldsBackABurst(t *testing.T) {
	// 40 slow requests in one second of 100 against none. Fisher calls it certain; it is one event.
	base := Requests{Latency: lognormal(9, 4000, 0.3, 1), Second: uniformSeconds(9, 4000, 100)}
	cur := Requests{Latency: lognormal(10, 4000, 0.3, 1), Second: uniformSeconds(10, 4000, 100)}
	for i := range cur.Latency {
		if cur.Second[i] == 1_700_000_050 {
			cur.Latency[i] *= 8
		}
	}
	test := NewPair(sample(t, base), sample(t, cur), Defaults()).Test()
	if test.Method != Blocks || test.P < 0.05 {
		t.Errorf("%s, p = %v; one burst must not reject", test.Method, test.P)
	}
	base.Second, cur.Second = nil, nil
	if test := NewPair(sample(t, base), sample(t, cur), Defaults()).Test(); test.Method != Independent || test.P > 0.001 {
		t.Errorf("%s, p = %v; without times it looks certain", test.Method, test.P)
	}
}

func TestAdjustedIsNeverBelowRawNorAboveBonferroni(t *testing.T) {
	for seed := range uint64(20) {
		test := pairOf(t, lognormal(seed, 2000, 0.5, 1), lognormal(seed+100, 2000, 0.5, 1.05)).Test()
		var above []int
		for _, m := range test.Members {
			above = append(above, m.Base.Above+m.Cur.Above)
		}
		null := newJointNull(2000, 2000, above)
		for _, m := range test.Members {
			if m.Raw <= 0.2 && m.Raw*float64(len(above)) >= 0.002 {
				near(t, "adjusted", m.P, min(null.atMost(m.Raw), float64(len(above))*m.Raw), 1e-12)
			}
			if m.P < m.Raw*(1-1e-9) || m.P > min(1, float64(len(test.Members))*m.Raw) {
				t.Errorf("seed %d: raw %v, adjusted %v, %d members", seed, m.Raw, m.P, len(test.Members))
			}
		}
	}
}

// blockP is the p of the block test of one threshold, the largest over widths, straight from the formulas: requests
// in any order, maps for blocks, and no sharing between widths.
func blockP(base, cur Requests, threshold float64) float64 {
	type side struct{ v, rho, p, n, blocks float64 }
	measure := func(r Requests, width int64) side {
		first, last := slices.Min(r.Second), slices.Max(r.Second)
		lo, hi := (first+width-1)/width, (last+1)/width // whole blocks
		m, e := map[int64]float64{}, map[int64]float64{}
		var total, above float64
		for i, sec := range r.Second {
			b := min(max(sec/width, lo), hi-1)
			m[b]++
			total++
			if float64(r.Latency[i]) > threshold {
				e[b]++
				above++
			}
		}
		s := side{p: above / total, n: total, blocks: float64(hi - lo)}
		var squares, products float64
		for b := lo; b < hi; b++ {
			r := e[b] - s.p*m[b]
			squares += r * r
			if b > lo {
				products += r * (e[b-1] - s.p*m[b-1])
			}
		}
		s.v = s.blocks / (s.blocks - 1) * squares / (total * total)
		s.rho = products / squares
		return s
	}
	largest := 0.0
	for width := int64(1); ; width *= 2 {
		a, b := measure(base, width), measure(cur, width)
		if a.blocks < 8 || b.blocks < 8 {
			return largest
		}
		mean := (a.blocks*a.rho+b.blocks*b.rho)/(a.blocks+b.blocks) + 0.35*math.Sqrt((1/a.blocks+1/b.blocks)/4)
		rho := min(max(mean+(1+3*mean)*(1/a.blocks+1/b.blocks)/2, 0), 0.8)
		f := (1 + rho) / (1 - rho)
		pooled := (a.p*a.n + b.p*b.n) / (a.n + b.n)
		chance := func(s side) float64 { return pooled * (1 - pooled) / s.n }
		beyond := func(s side) float64 { return s.blocks * (s.v - chance(s)) } // of one block
		both := ((a.blocks-1)*beyond(a) + (b.blocks-1)*beyond(b)) / (a.blocks + b.blocks - 2)
		v := max(f*(a.v+b.v), chance(a)+chance(b)+f*max(both, 0)*(1/a.blocks+1/b.blocks))
		d := max(2, (a.blocks+b.blocks-2)/f)
		largest = max(largest, studentTail((b.p-a.p)/math.Sqrt(v), d))
	}
}

func TestTimePartAgreesWithItsFormulas(t *testing.T) {
	// A load whose level wanders over the seconds, so that blocks of every width matter; sides of unequal length.
	wandering := func(seed uint64, n, window int) Requests {
		r := Requests{Latency: lognormal(seed, n, 0.5, 1), Second: uniformSeconds(seed, n, window)}
		for i, sec := range r.Second {
			r.Latency[i] = int64(float64(r.Latency[i]) * (1 + 0.5*math.Sin(float64(sec+int64(seed)*7)/9)))
		}
		return r
	}
	base, cur := wandering(1, 3000, 90), wandering(2, 4000, 150)
	test := NewPair(sample(t, base), sample(t, cur), Defaults()).Test()
	decided := 0
	for _, m := range test.Members {
		time := blockP(base, cur, m.Threshold)
		fisher := FisherTwoSided(m.Base.Above, m.Base.Of, m.Cur.Above, m.Cur.Of)
		near(t, "p", m.Raw, max(time, fisher), 1e-9)
		if time > fisher {
			decided++
		}
	}
	if decided == 0 {
		t.Error("the time part decided nowhere; the test tests nothing")
	}
}

// A job slows ten seconds of every minute. A window of twenty seconds between two of them knows nothing of it, and what
// is new to it is not new.
func TestAShortWindowDoesNotKnowWhatALongOneHolds(t *testing.T) {
	jobs := func(seed uint64, n, seconds int) Requests {
		r := Requests{Latency: lognormal(seed, n, 0.5, 1), Second: uniformSeconds(seed, n, seconds)}
		for i, sec := range r.Second { // the first second is the 21st of its minute
			if sec%60 < 10 {
				r.Latency[i] *= 3
			}
		}
		return r
	}
	for seed := range uint64(20) {
		test := NewPair(sample(t, jobs(seed, 400, 20)), sample(t, jobs(seed+100, 9000, 1200)), Defaults()).Test()
		if test.P <= 0.05 {
			t.Errorf("seed %d: p = %v", seed, test.P)
		}
	}
	// Of requests that nothing slows together, twenty seconds are enough.
	calm := Requests{Latency: lognormal(1, 400, 0.5, 1), Second: uniformSeconds(1, 400, 20)}
	slow := Requests{Latency: lognormal(2, 9000, 0.5, 1.5), Second: uniformSeconds(2, 9000, 1200)}
	if test := NewPair(sample(t, calm), sample(t, slow), Defaults()).Test(); test.P > 1e-6 {
		t.Errorf("half as slow again has p = %v", test.P)
	}
}

// Bursts of fifteen seconds, in which all takes three times as long, come each minute of a window of eight. Twenty seconds
// that hold one are not slower than what came before, though within themselves they look as if they were; twenty that
// are slower all through, by as much, are.
func TestAShortWindowIsHeldAgainstStretchesOfItsLength(t *testing.T) {
	told := 0
	for seed := range uint64(20) {
		base := Requests{Latency: lognormal(seed, 4000, 0.5, 1), Second: uniformSeconds(seed, 4000, 480)}
		cur := Requests{Latency: lognormal(seed+50, 160, 0.5, 1), Second: uniformSeconds(seed+50, 160, 20)}
		slow := Requests{Latency: lognormal(seed+50, 160, 0.5, 4), Second: cur.Second}
		for i, sec := range base.Second {
			if sec%60 < 15 {
				base.Latency[i] *= 3
			}
		}
		for i, sec := range cur.Second {
			if sec%60 < 35 { // the first second is the 21st of its minute
				cur.Latency[i] *= 3
			}
		}
		opt := Defaults()
		opt.Alpha = 0.05 / 7
		if test := NewPair(sample(t, base), sample(t, cur), opt).Test(); test.Method != Blocks || test.P <= opt.Alpha {
			t.Errorf("seed %d: %s, p = %v", seed, test.Method, test.P)
		}
		if test := NewPair(sample(t, base), sample(t, slow), opt).Test(); test.P <= opt.Alpha {
			told++
		}
	}
	if told < 15 {
		t.Errorf("of 20 windows that are slower all through %d are told", told)
	}
}

// A level wanders over as long as the longer window lasts, which nobody can know from within one. But it is known better
// from stretches as long as the shorter than from seconds: without those 42 of 60 are rejected.
func TestAShortWindowUnderALevelThatWanders(t *testing.T) {
	wander := func(seed uint64, n, seconds int) Requests {
		r := Requests{Latency: lognormal(seed, n, 0.5, 1), Second: uniformSeconds(seed, n, seconds)}
		rng := rand.New(rand.NewPCG(seed, 99))
		level := make([]float64, seconds+1)
		phi := math.Exp(-1.0 / 400)
		z := rng.NormFloat64()
		for i := range level {
			level[i] = math.Exp(0.3 * z)
			z = phi*z + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
		for i, sec := range r.Second {
			r.Latency[i] = int64(float64(r.Latency[i]) * level[sec-1_700_000_000])
		}
		return r
	}
	rejected := 0
	for seed := range uint64(60) {
		if NewPair(sample(t, wander(seed, 4000, 200)), sample(t, wander(seed+1000, 1000, 50)), Defaults()).Test().P <= 0.05 {
			rejected++
		}
	}
	if rejected > 33 {
		t.Errorf("%d of 60 unchanged windows are rejected", rejected)
	}
}

func TestExcludedIsTheOneSidedBound(t *testing.T) {
	p := pairOf(t, lognormal(1, 2000, 0.5, 1), lognormal(2, 2000, 0.5, 1))
	v := p.Verdict(p.Test(), false)
	if want := p.Delta(0.99, 0.90).Interval.Hi; v.Excluded != want || v.ExcludedAt != 0.99 {
		t.Errorf("excluded %v at %v, want %v at p99", v.Excluded, v.ExcludedAt, want)
	}
}

func TestVerdictNeedsTheSmallestEffect(t *testing.T) {
	// Certain but small: 3 % of 100 ms, and 0.2 ms of 1 ms.
	for _, c := range []struct {
		why           string
		scale, factor float64
		want          Outcome
	}{
		{"3 % is below 5 %", 1, 1.03, NoRegression},
		{"20 % of 1 ms is below 1 ms", 0.01, 1.2, NoRegression},
		{"20 % of 100 ms is not", 1, 1.2, Regression},
	} {
		p := pairOf(t, lognormal(3, 50000, 0.1, c.scale), lognormal(4, 50000, 0.1, c.scale*c.factor))
		test := p.Test()
		if v := p.Verdict(test, test.P <= 0.05); test.P > 1e-6 || v.Outcome != c.want {
			t.Errorf("%s: %s with p %v, want %s", c.why, v.Outcome, test.P, c.want)
		}
	}
}
