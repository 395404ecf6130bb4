package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func sample(t testing.TB, r Requests) *Sample {
	t.Helper()
	s, err := NewSample(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lognormal makes n latencies around 100 ms with the given σ of their logarithm.
func lognormal(seed uint64, n int, sigma, scale float64) []int64 {
	g := rand.New(rand.NewPCG(seed, 1))
	l := make([]int64, n)
	for i := range l {
		l[i] = int64(1e8 * scale * math.Exp(sigma*g.NormFloat64()))
	}
	return l
}

// uniformSeconds spreads n requests over a window of seconds, from an odd second on.
func uniformSeconds(seed uint64, n, window int) []int64 {
	g := rand.New(rand.NewPCG(seed, 2))
	s := make([]int64, n)
	for i := range s {
		s[i] = 1_700_000_001 + int64(g.IntN(window))
	}
	return s
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %v, want %v ± %v", what, got, want, tolerance)
	}
}
