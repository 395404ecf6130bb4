package stats

import (
	"math"
	"testing"
)

func TestNeededAbove(t *testing.T) {
	// q^n <= 0.025.
	for q, want := range map[float64]int{0.5: 6, 0.75: 13, 0.9: 36, 0.95: 72, 0.99: 368, 0.999: 3688} {
		if got := NeededAbove(q); got != want {
			t.Errorf("NeededAbove(%v) = %d, want %d", q, got, want)
		}
	}
}

func TestIntervalIsThatOfOrderStatistics(t *testing.T) {
	// The median of 100: P(Bin(100, ½) <= 39) = 0.0176 and <= 40 = 0.0284, so the 40th and the 61st smallest.
	s := sample(t, Requests{Latency: hundred()})
	if got, want := s.Interval(0.5, 0.95), (Interval{40, 61}); got != want {
		t.Errorf("median of 1..100: %v, want %v", got, want)
	}
	// p99 of 100 has no upper end.
	if got := s.Interval(0.99, 0.95); got.ClosedAbove() || !got.ClosedBelow() {
		t.Errorf("p99 of 100: %v, want open above only", got)
	}
	// A single request says nothing of the median on either side.
	if got := sample(t, Requests{Latency: []int64{5}}).Interval(0.5, 0.95); got.ClosedAbove() || got.ClosedBelow() {
		t.Errorf("median of one: %v, want open", got)
	}
}

func TestIntervalCoversAsPromisedForEveryN(t *testing.T) {
	// With latencies 1..n the interval of q is [l, u], and it covers if l−1 < Bin(n, q) < u: no simulation needed.
	for _, q := range []float64{0.5, 0.9, 0.99} {
		for n := NeededAbove(q); n < 3000; n += 1 + n/7 {
			l := make([]int64, n)
			for i := range l {
				l[i] = int64(i + 1)
			}
			iv := sample(t, Requests{Latency: l}).Interval(q, 0.95)
			covered := BinomialAtLeast(int(iv.Lo), n, q) - BinomialAtLeast(int(iv.Hi), n, q)
			if covered < 0.95-1e-9 || covered > 0.9999 {
				t.Errorf("q %v n %d: [%v, %v] covers %v", q, n, iv.Lo, iv.Hi, covered)
			}
		}
	}
}

func TestEffectiveN(t *testing.T) {
	// Equal weights, whatever they are, are n requests.
	l := hundred()
	w := make([]float64, 100)
	for i := range w {
		w[i] = 20
	}
	near(t, "all 20", sample(t, Requests{Latency: l, Weight: w}).EffectiveN(0.9), 100, 0)

	// 90 requests of weight 20 below, 10 of weight 1 above... p = 10/1810, v = (90·400·p² + 10·(1−p)²)/1810².
	for i := range w {
		if i >= 90 {
			w[i] = 1
		}
	}
	p := 10.0 / 1810
	v := (90*400*p*p + 10*(1-p)*(1-p)) / (1810 * 1810)
	// The quantile 1800/1810 is the 90th value, and the ten are above it.
	got := sample(t, Requests{Latency: l, Weight: w}).EffectiveN(1800.0 / 1810)
	near(t, "kept tail", got, p*(1-p)/v, 1e-6)
	if got < 1000 {
		t.Errorf("a densely kept tail must be worth more than its requests: %v", got)
	}
}

func TestBlockVarianceWidensTheInterval(t *testing.T) {
	// All slow requests of 80 s fall into 10 of them: far from independent.
	n := 4000
	r := Requests{}
	for i := range n {
		sec := int64(i % 80)
		l := int64(1000 + i)
		if sec >= 70 && i%8 == 0 {
			l += 1e6
		}
		r.Latency, r.Second = append(r.Latency, l), append(r.Second, sec)
	}
	timed := sample(t, r).Interval(0.99, 0.95)
	r.Second = nil
	untimed := sample(t, r).Interval(0.99, 0.95)
	if !(timed.Hi > untimed.Hi && timed.Lo <= untimed.Lo) {
		t.Errorf("timed %v must hold untimed %v", timed, untimed)
	}
}

func TestOpenEndsAreInfinite(t *testing.T) {
	iv := Interval{math.Inf(-1), 3}
	if iv.ClosedBelow() || !iv.ClosedAbove() || iv.Closed() || iv.Excludes(-1e300) || !iv.Excludes(4) {
		t.Errorf("%v", iv)
	}
}
