package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestPointQuantileIsTheSmallestValueThatReachesTheShare(t *testing.T) {
	for _, c := range []struct {
		why     string
		values  []int64
		weights []float64
		q       float64
		want    int64
	}{
		{"half of 4 is reached by the 2nd, not the 3rd", []int64{4, 1, 3, 2}, nil, 0.5, 2},
		{"just above half needs the 3rd", []int64{4, 1, 3, 2}, nil, 0.51, 3},
		{"a single value is every quantile", []int64{7}, nil, 0.999, 7},
		{"0.07 · 100 rounds up in floating point and must still be the 7th", hundred(), nil, 0.07, 7},
		{"0.99 of 100 is the 99th", hundred(), nil, 0.99, 99},
		{"weights 1, 1, 8: F is 0.1, 0.2, 1", []int64{1, 2, 3}, []float64{1, 1, 8}, 0.2, 2},
		{"and anything above 0.2 is the heavy one", []int64{1, 2, 3}, []float64{1, 1, 8}, 0.21, 3},
		{"ties count together", []int64{5, 5, 5, 9}, nil, 0.75, 5},
		{"q = 1 is the maximum", []int64{5, 9}, nil, 1, 9},
		{"q = 0 is the minimum", []int64{5, 9}, nil, 0, 5},
	} {
		if got := Quantile(c.values, c.weights, c.q); got != c.want {
			t.Errorf("%s: Quantile(%v) = %d, want %d", c.why, c.q, got, c.want)
		}
		s := sample(t, Requests{Latency: c.values, Weight: c.weights})
		if got := s.Quantile(c.q); got != float64(c.want) {
			t.Errorf("%s: Sample.Quantile(%v) = %v, want %d", c.why, c.q, got, c.want)
		}
	}
	if got := Quantile(nil, nil, 0.5); got != 0 {
		t.Errorf("nothing has quantile %d, want 0", got)
	}
}

func hundred() []int64 {
	v := make([]int64, 100)
	for i := range v {
		v[i] = int64(i + 1)
	}
	return v
}

func TestNewSampleRefusesWhatItCannotCount(t *testing.T) {
	for _, c := range []struct {
		r    Requests
		want string
	}{
		{Requests{Latency: []int64{1, 2}, Weight: []float64{1}}, "2 requests but 1 values of Weight"},
		{Requests{Latency: []int64{1}, Second: []int64{1, 2}}, "1 requests but 2 values of Second"},
		{Requests{Latency: []int64{-1}}, "latency -1 ns of request 0"},
		{Requests{Latency: []int64{1 << 53}}, "latency 9007199254740992 ns of request 0"},
		{Requests{Latency: []int64{1}, Weight: []float64{0}}, "weight 0 of request 0"},
		{Requests{Latency: []int64{1}, Weight: []float64{math.NaN()}}, "weight NaN of request 0"},
		{Requests{Latency: []int64{1}, Second: []int64{math.MaxInt64}}, "second 9223372036854775807 of request 0"},
		{Requests{Latency: []int64{1}, Run: []int{-1}}, "negative run"},
		{Requests{Latency: []int64{1, 2}, Run: []int{0, -1}}, "negative run"},
	} {
		if _, err := NewSample(c.r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.r, err, c.want)
		}
	}
}

func TestRunsWithoutRequestsAreNoRuns(t *testing.T) {
	s := sample(t, Requests{Latency: []int64{1, 2, 3}, Run: []int{7, 0, 7}})
	if s.Runs() != 2 {
		t.Errorf("%d runs, want 2", s.Runs())
	}
}

func TestRank(t *testing.T) {
	s := sample(t, Requests{Latency: []int64{10, 20, 20, 30}, Weight: []float64{1, 2, 3, 4}})
	for x, want := range map[float64]float64{9: 0, 10: 0.1, 19: 0.1, 20: 0.6, 30: 1, 99: 1} {
		near(t, "rank", s.Rank(x), want, 1e-15)
	}
}

func TestBetweenRanks(t *testing.T) {
	// Middles of the ranks of three are ⅙, ½ and ⅚.
	s := sample(t, Requests{Latency: []int64{10, 20, 40}})
	for u, want := range map[float64]float64{0: 10, 0.1: 10, 0.5: 20, 1.0 / 3: 15, 2.0 / 3: 30, 0.9: 40, 1: 40} {
		near(t, "between", s.between(u), want, 1e-9)
	}
}

// Selecting is sorting and looking, also where values are equal, sorted or made
// to divide badly.
func TestSmallest(t *testing.T) {
	g := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		n := 1 + g.IntN(300)
		kinds := 1 + g.IntN(2*n)
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(g.IntN(kinds)) - 5
		}
		switch g.IntN(4) {
		case 0:
			slices.Sort(values)
		case 1:
			for i := range values { // the middle of three is the largest but one, or so
				values[i] = int64(i % 2 * (n - i))
			}
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		k := g.IntN(n)
		if got := smallest(slices.Clone(values), k); got != sorted[k] {
			t.Fatalf("the %d-th of %v is %d, want %d", k, values, got, sorted[k])
		}
	}
}

// Equal weights are no weights.
func TestQuantileOfEqualWeights(t *testing.T) {
	g := rand.New(rand.NewPCG(2, 3))
	for range 500 {
		n := 1 + g.IntN(400)
		values, weights := make([]int64, n), make([]float64, n)
		w := g.Float64() + 0.1
		for i := range values {
			values[i], weights[i] = g.Int64N(1000), w
		}
		q := g.Float64()
		if g.IntN(2) == 0 {
			q = float64(1+g.IntN(n)) / float64(n) // where rounding could tell
		}
		sum, total := 0.0, 0.0
		for range n {
			total += w
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		want := sorted[n-1]
		for _, v := range sorted {
			if sum += w; sum >= q*total*(1-1e-12) {
				want = v
				break
			}
		}
		if got, plain := Quantile(values, weights, q), Quantile(values, nil, q); got != want || plain != want {
			t.Fatalf("q %v of %d values of weight %v: %d, %d without weights, want %d", q, n, w, got, plain, want)
		}
	}
}
