package stats

import (
	"math/bits"
	"testing"
)

func TestShapleyByPencil(t *testing.T) {
	// The glove game: a left glove (driver 0) needs either of two right ones (1, 2). Of the 6 orders the left one
	// completes the pair in 4, each right one in 1.
	pair := func(set uint) float64 {
		if set&1 == 1 && set&6 != 0 {
			return 6
		}
		return 0
	}
	got := Shapley(3, pair)
	for i, want := range []float64{4, 1, 1} {
		near(t, "share", got[i], want, 1e-12)
	}
}

func TestShapleySumsToTheWhole(t *testing.T) {
	value := func(set uint) float64 { return 1e9 / float64(1+bits.OnesCount(set*2654435761&0xff)) }
	for n := range 7 {
		sum := 0.0
		for _, s := range Shapley(n, value) {
			sum += s
		}
		near(t, "sum", sum, value(1<<n-1)-value(0), 1e-6)
	}
}
