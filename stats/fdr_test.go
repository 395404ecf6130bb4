package stats

import (
	"slices"
	"testing"
)

func TestBenjaminiHochberg(t *testing.T) {
	// Four: 0.01·4/1, 0.02·4/2, 0.03·4/3 and 0.5·4/4, each at most the next one's.
	got := BenjaminiHochberg([]float64{0.5, 0.03, 0.01, 0.02})
	want := []float64{0.5, 0.04, 0.04, 0.04}
	for i := range want {
		near(t, "adjusted", got[i], want[i], 1e-15)
	}
	// An endpoint with too few requests has p = 1 and still counts as tested.
	near(t, "beside one that could not reject", BenjaminiHochberg([]float64{0.03, 1})[0], 0.06, 1e-15)
	if got := BenjaminiHochberg(nil); len(got) != 0 {
		t.Errorf("%v of nothing", got)
	}
}

func TestOneCause(t *testing.T) {
	up := slices.Repeat([]int{1}, 6)
	for _, c := range []struct {
		why        string
		directions []int
		want       int
	}{
		{"6 of 10 rose", append(slices.Clone(up), 0, 0, 0, 0), 1},
		{"5 of 10 is not more than half", append(slices.Clone(up[:5]), 0, 0, 0, 0, 0), 0},
		{"6 of 9: too few endpoints", append(slices.Clone(up), 0, 0, 0), 0},
		{"7 of 11 fell", append(slices.Repeat([]int{-1}, 7), 1, 1, 0, 0), -1},
	} {
		if got := OneCause(c.directions); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
}
