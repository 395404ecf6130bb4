package stats

import (
	"math"
	"testing"
)

func TestKaplanMeierByPencil(t *testing.T) {
	// Of 5: one ends at 1 (S = 4/5), one given up at 2, one of 3 ends at 3 (S = 4/5·2/3), one of those two is given up
	// at 3, and the last, still there at 4, ends.
	s := KaplanMeier([]int64{3, 1, 2, 3, 4}, []bool{true, true, false, false, true}, nil)
	for at, want := range map[int64]float64{0: 1, 1: 0.8, 2: 0.8, 3: 0.8 * 2 / 3, 4: 0, 9: 0} {
		near(t, "S", s.At(at), want, 1e-15)
	}
	if q, ok := s.Quantile(0.4); q != 3 || !ok {
		t.Errorf("40 %% have ended by %d, want 3", q)
	}
	if q, ok := s.Quantile(0.2); q != 1 || !ok {
		t.Errorf("20 %% have ended by %d, want 1", q)
	}
	// Greenwood at 3: 1/(5·4) + 1/(3·2).
	half := 1.959964 * math.Sqrt(1.0/20+1.0/6) / -math.Log(0.8*2/3)
	iv := s.Interval(3, 0.95)
	near(t, "lo", iv.Lo, math.Pow(0.8*2/3, math.Exp(half)), 1e-6)
	near(t, "hi", iv.Hi, math.Pow(0.8*2/3, math.Exp(-half)), 1e-6)
}

func TestSeveralEndsAtOnce(t *testing.T) {
	// Two of four end at 1, one of the two left at 2: ½ and ¼.
	s := KaplanMeier([]int64{1, 1, 2, 2}, []bool{true, true, true, false}, nil)
	near(t, "after 1", s.At(1), 0.5, 1e-15)
	near(t, "after 2", s.At(2), 0.25, 1e-15)
	// A call of weight 3 is three calls.
	s = KaplanMeier([]int64{1, 2}, []bool{true, false}, []float64{3, 1})
	near(t, "weighted", s.At(1), 0.25, 1e-15)
}

func TestKaplanMeierThatDoesNotReach(t *testing.T) {
	s := KaplanMeier([]int64{1, 2, 2}, []bool{true, false, false}, nil)
	if _, ok := s.Quantile(0.5); ok {
		t.Error("two of three were given up: the median is not known")
	}
	if _, ok := KaplanMeier(nil, nil, nil).Quantile(0.5); ok {
		t.Error("nothing has no median")
	}
}

func TestKaplanMeierWithoutGivingUpIsTheDistribution(t *testing.T) {
	l := lognormal(1, 500, 0.5, 1)
	ended := make([]bool, 500)
	for i := range ended {
		ended[i] = true
	}
	s, plain := KaplanMeier(l, ended, nil), sample(t, Requests{Latency: l})
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
		got, _ := s.Quantile(q)
		near(t, "quantile", float64(got), plain.Quantile(q), 0)
	}
}
