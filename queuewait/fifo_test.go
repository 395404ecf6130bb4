package queuewait

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Two servers, holds of 10. At 0 two start; the third, at 1, waits until 10; the
// fourth, at 2, until 10 as well; the fifth, at 25, finds both free at 20.
func TestFIFOByHand(t *testing.T) {
	arrivals, holds := []int64{0, 0, 1, 2, 25}, []int64{10, 10, 10, 10, 10}
	if got, want := FIFO(arrivals, holds, 2, 0), []int64{0, 0, 9, 8, 0}; !slices.Equal(got, want) {
		t.Errorf("two servers: waits %v, want %v", got, want)
	}
	if got, want := FIFO(arrivals, holds, 5, 0), []int64{0, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("five servers: waits %v, want %v", got, want)
	}
	// One server that takes 2 to wake up: 0; 10+2; then 12+10+2−1=23; 22+10... each 12 later.
	if got, want := FIFO(arrivals[:4], holds[:4], 1, 2), []int64{0, 12, 23, 34}; !slices.Equal(got, want) {
		t.Errorf("one server: waits %v, want %v", got, want)
	}
}

// M/M/1 at ρ = 0.5 with a mean service of 1 waits ρ/(1−ρ)·1 = 1 on average.
func TestFIFOMeanWaitOfMM1(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, scale = 200_000, 1_000_000
	arrivals, holds := make([]int64, n), make([]int64, n)
	at := 0.0
	for i := range n {
		at += rng.ExpFloat64() * 2
		arrivals[i], holds[i] = int64(at*scale), int64(rng.ExpFloat64()*scale)
	}
	got := meanWait([]Station{{Arrivals: arrivals, Holds: holds}}, 1, 0) / scale
	// The standard error of a mean over correlated waits of this length is about 0.02.
	if got < 0.92 || got > 1.08 {
		t.Errorf("mean wait %.3f, theory says 1", got)
	}
}

// Holds by rank: the longest stays the longest and gets the longest of the
// others.
func TestWithHoldsKeepsRanks(t *testing.T) {
	got := withHolds([]Station{{Arrivals: []int64{0, 1, 2}, Holds: []int64{30, 10, 20}}}, []Station{{Holds: []int64{1, 3, 2}}})
	if want := []int64{3, 1, 2}; !slices.Equal(got[0].Holds, want) {
		t.Errorf("holds %v, want %v", got[0].Holds, want)
	}
}
