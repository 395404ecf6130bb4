package stats

import "testing"

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
