package stats

import (
	"math"
	"testing"
)

func TestWilson(t *testing.T) {
	// 8 of 10 at 1.96: centre (0.8 + 0.19208)/1.38415, half 1.96/1.38415·√(0.016 + 0.0096).
	iv := Wilson(8, 10, 0.95)
	near(t, "lo", iv.Lo, 0.4902, 1e-4)
	near(t, "hi", iv.Hi, 0.9433, 1e-4)
	if iv := Wilson(0, 0, 0.95); iv != (Interval{0, 1}) {
		t.Errorf("none of none: %v", iv)
	}
	if iv := Wilson(0, 20, 0.95); iv.Lo != 0 || iv.Hi < 0.1 || iv.Hi > 0.2 {
		t.Errorf("none of 20: %v", iv)
	}
}

func TestRuleOfThree(t *testing.T) {
	near(t, "1,000", RuleOfThree(1000), 0.003, 1e-5)
	near(t, "exactly the share of which none are seen with 5 %", math.Pow(1-RuleOfThree(7), 7), 0.05, 1e-12)
	near(t, "nothing seen", RuleOfThree(0), 1, 0)
}

func TestOddsRatio(t *testing.T) {
	// 20 of 30 against 10 of 30: (20·20)/(10·10) = 4, ln se = √(1/10+1/20+1/20+1/10) = 0.5477.
	r, iv := OddsRatio(10, 30, 20, 30, 0.95)
	near(t, "ratio", r, 4, 1e-12)
	near(t, "lo", iv.Lo, 4*math.Exp(-1.95996*0.547723), 1e-4)
	near(t, "hi", iv.Hi, 4*math.Exp(1.95996*0.547723), 1e-3)
	// 3 of 10 against none of 10: with halves (3.5·10.5)/(0.5·7.5) the other way up.
	r, iv = OddsRatio(3, 10, 0, 10, 0.95)
	near(t, "empty cell", r, (0.5*7.5)/(10.5*3.5), 1e-12)
	if iv.Lo <= 0 || math.IsInf(iv.Hi, 1) {
		t.Errorf("interval %v", iv)
	}
}

func TestEffectiveCounts(t *testing.T) {
	k, n := EffectiveCounts([]float64{20, 20, 20, 20}, []bool{true, false, false, false})
	near(t, "equal weights: 1", k, 1, 1e-12)
	near(t, "of 4", n, 4, 1e-12)
	// One of weight 20 with, ten of weight 1 without: p = 2/3. Mean weights 20 with, 1 without: n = 30/(⅔·1 + ⅓·20).
	k, n = EffectiveCounts([]float64{20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []bool{0: true, 10: false})
	near(t, "n", n, 30/(2.0/3+20.0/3), 1e-12)
	near(t, "share", k/n, 2.0/3, 1e-12)
	if k, n := EffectiveCounts(nil, nil); k != 0 || n != 0 {
		t.Errorf("of nothing: %v of %v", k, n)
	}
}

func TestTails(t *testing.T) {
	near(t, "2 or 3 heads of 3", BinomialAtLeast(2, 3, 0.5), 0.5, 1e-12)
	near(t, "none or more", BinomialAtLeast(0, 3, 0.5), 1, 0)
	near(t, "4 of 3", BinomialAtLeast(4, 3, 0.5), 0, 0)
	near(t, "any of 2 expected", PoissonAtLeast(1, 2), 1-math.Exp(-2), 1e-12)
	near(t, "2 or more of 2", PoissonAtLeast(2, 2), 1-3*math.Exp(-2), 1e-12)
	near(t, "some of none expected", PoissonAtLeast(1, 0), 0, 0)
}

func TestPoissonInterval(t *testing.T) {
	// None seen: e^−μ = 0.025 at μ = 3.689. Ten: 4.795 to 18.39 in any table.
	iv := PoissonInterval(0, 0.95)
	near(t, "lo", iv.Lo, 0, 0)
	near(t, "hi", iv.Hi, -math.Log(0.025), 1e-9)
	iv = PoissonInterval(10, 0.95)
	near(t, "lo of 10", iv.Lo, 4.795, 0.001)
	near(t, "hi of 10", iv.Hi, 18.390, 0.001)
}
