package stats

import (
	"sort"
	"testing"
)

func TestRankMap(t *testing.T) {
	from := sample(t, Requests{Latency: []int64{10, 20, 20, 30}})
	to := sample(t, Requests{Latency: []int64{1, 2, 3, 4}})
	m := NewRankMap(from, to)
	for _, c := range []struct {
		why  string
		x    int64
		tie  float64
		want int64
	}{
		{"the smallest quarter", 10, 0.5, 1},
		{"two tied ones hold ranks ¼ to ¾: the lower half of them is the 2nd", 20, 0, 2},
		{"the upper half is the 3rd", 20, 0.5, 3},
		{"to the end", 20, 0.999, 3},
		{"the largest", 30, 0.999, 4},
		{"below all", 5, 0.5, 1},
		{"above all", 99, 0.5, 4},
		{"between 20 and 30 three quarters lie below", 25, 0.5, 4},
	} {
		if got := m.At(c.x, c.tie); got != c.want {
			t.Errorf("%s: At(%d, %v) = %d, want %d", c.why, c.x, c.tie, got, c.want)
		}
	}
}

func TestRankMapOfASampleToItselfChangesNothing(t *testing.T) {
	l := times(lognormal(1, 1000, 0.7, 1), 1e-6) // whole milliseconds, so many ties
	w := make([]float64, 1000)
	for i := range w {
		w[i] = []float64{1, 20, 3.7}[i%3]
	}
	s := sample(t, Requests{Latency: l, Weight: w})
	m := NewRankMap(s, s)
	for _, x := range l {
		for _, tie := range []float64{0, 0.3, 0.999} {
			if got := m.At(x, tie); got != x {
				t.Fatalf("At(%d, %v) = %d", x, tie, got)
			}
		}
	}
	empty := sample(t, Requests{})
	if NewRankMap(empty, s).At(5, 0) != 5 || NewRankMap(s, empty).At(5, 0) != 5 {
		t.Error("with an empty side values must stay as they are")
	}
}

// TestRankHoldsAsSearched holds the look near a rank's share of all to the search that it stands for: of equal weights,
// where it is exact, of few heavy ones, where it is far off, and at both ends.
func TestRankHoldsAsSearched(t *testing.T) {
	for name, weight := range map[string]func(i int) float64{
		"equal":       func(int) float64 { return 1 },
		"of seven":    func(i int) float64 { return float64(1 + i%7) },
		"heavy last":  func(i int) float64 { return 1 + 1e6*float64(i/990) },
		"heavy first": func(i int) float64 { return 1 + 1e6*float64((999-i)/990) },
	} {
		for _, n := range []int{1, 2, 10, 1000} {
			l, w := make([]int64, n), make([]float64, n)
			for i := range l {
				l[i], w[i] = int64(i), weight(i)
			}
			s := sample(t, Requests{Latency: l, Weight: w})
			for k := range 4000 {
				rank := s.Weight() * (float64(k)/3900 - 0.01)
				want := sort.Search(n, func(i int) bool { return s.cum[i+1] > rank })
				if got := s.holds(rank); got != want {
					t.Fatalf("%s, %d: rank %v at place %d, searched %d", name, n, rank, got, want)
				}
			}
		}
	}
}
