package stats

import (
	"slices"
	"testing"
)

func TestSidesDoNotDrawAlike(t *testing.T) {
	// A sample against itself: if both sides drew the same blocks, no resample would change anything.
	s := sample(t, Requests{Latency: lognormal(1, 1000, 0.5, 1), Second: uniformSeconds(1, 1000, 100)})
	base, cur := s.quantiles(0, 0.9), s.quantiles(1, 0.9)
	same := 0
	for i := range base {
		if base[i] == cur[i] {
			same++
		}
	}
	if same > resamples/10 {
		t.Errorf("%d of %d resamples change nothing", same, resamples)
	}
}

func TestDealtBlocksAreEqual(t *testing.T) {
	s := sample(t, Requests{Latency: lognormal(1, 1000, 0.5, 1)})
	block, n := s.deal()
	sizes := make([]int, n)
	for _, b := range block {
		sizes[b]++
	}
	if n != pseudoBlocks || slices.Max(sizes)-slices.Min(sizes) > 1 {
		t.Errorf("%d blocks of %v", n, sizes)
	}
	if _, n := sample(t, Requests{Latency: hundred()[:40]}).deal(); n != 40 {
		t.Errorf("%d blocks of 40 requests, want each its own", n)
	}
}

func TestEveryResampleDrawsAsManyBlocksAsThereAre(t *testing.T) {
	counts := drawBlocks(9, newGenerator(1, 2, 3, 0))
	for r := range resamples {
		if got := sum(counts[r*9:][:9]); got != 9 {
			t.Fatalf("resample %d drew %v blocks of 9", r, got)
		}
	}
}
