package stats_test

import (
	"math"
	"testing"

	"github.com/tailscope/tailscope/stats"
)

// Points of a line have its slope without error; one that is off by 3 in the middle of three moves no slope, and leaves
// residuals of 1, −2 and 1: √(6 / 1 / 2).
func TestLeastSquares(t *testing.T) {
	for _, c := range []struct {
		x, y      []int64
		slope, se float64
		ok        bool
	}{
		{[]int64{1, 2, 3, 4}, []int64{7, 5, 3, 1}, -2, 0, true},
		{[]int64{0, 1, 2}, []int64{5, 2, 5}, 0, math.Sqrt(3), true},
		{[]int64{4, 4, 4}, []int64{1, 2, 3}, 0, 0, false},
		{[]int64{1, 2}, []int64{1, 2}, 0, 0, false},
	} {
		slope, se, ok := stats.LeastSquares(c.x, c.y)
		if ok != c.ok || math.Abs(slope-c.slope) > 1e-12 || math.Abs(se-c.se) > 1e-12 {
			t.Errorf("%v over %v: slope %g ± %g, %v; want %g ± %g, %v", c.y, c.x, slope, se, ok, c.slope, c.se, c.ok)
		}
	}
}
