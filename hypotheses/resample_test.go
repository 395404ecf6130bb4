package hypotheses

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// What is summed from the far end is what is summed in order, whatever the
// weights: whole requests, fixed point, and those that a change of mix was taken
// out of, some of which are so little that they vanish in a sum.
func TestResampledFromTheFarEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 7))
	weights := map[string]func() float64{
		"one":   func() float64 { return 1 },
		"fixed": func() float64 { return float64(rng.IntN(1<<22)) / graph.OneRequest },
		"mixed": func() float64 { return 0.3 + 0.1*rng.Float64() },
		"tiny":  func() float64 { return []float64{1e-18, 0.1, 0.3, 0}[rng.IntN(4)] },
	}
	for name, weight := range weights {
		for range 200 {
			n, blocks := 1+rng.IntN(300), 1+rng.IntN(70)
			a := &Asking{Comparison: &Comparison{}, nblocks: blocks}
			q := []float64{0, 0.01, 0.5, 0.75, 0.99, 1}[rng.IntN(6)]
			ns, w := make([]int64, n), make([]float64, n)
			for j := range ns {
				ns[j], w[j] = int64(rng.IntN(100)), weight()
				a.blocks = append(a.blocks, int32(rng.IntN(blocks)))
			}
			r := a.resampled(q, ns, ranked(ns), w)
			count := make([]float64, blocks)
			for range blocks {
				count[rng.IntN(blocks)]++
			}
			if got, want := r.at(count), r.inOrder(count); got != want {
				t.Fatalf("%s: %d requests in %d blocks drawn %v, quantile %v: %v, in order %v", name, n, blocks, count, q, got, want)
			}
		}
	}
	if r := (&Asking{Comparison: &Comparison{}, nblocks: 1, blocks: []int32{0}}).resampled(0.5, []int64{3}, []int32{0}, []float64{0.1}); r.exact || !slices.Equal(r.blocks, []float64{0.1}) {
		t.Errorf("a tenth of a request is taken for whole units: %+v", r)
	}
}
