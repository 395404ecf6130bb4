package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestKeptWeightsByPencil(t *testing.T) {
	// Two kept of three or more, τ = 0.5: weights 1/(1−e^−0.5) = 2.5415 and 3/(1−e^−1.5) = 3.8617, scaled from their
	// sum 6.4032 to the bucket's 10.
	got := KeptWeights([]float64{0.1, 0.2, 0.5}, []float64{1, 3, 7}, 2, 10)
	a, b := 1/-math.Expm1(-0.5), 3/-math.Expm1(-1.5)
	near(t, "light", got[0], 10*a/(a+b), 1e-12)
	near(t, "heavy", got[1], 10*b/(a+b), 1e-12)
	// A bucket that was kept whole keeps its weights.
	if got := KeptWeights([]float64{0.1, 0.2}, []float64{1, 3}, 2, 4); !slices.Equal(got, []float64{1, 3}) {
		t.Errorf("whole bucket: %v", got)
	}
	if got := KeptWeights(nil, nil, 2, 0); len(got) != 0 {
		t.Errorf("nothing: %v", got)
	}
}

func TestKeptWeightsAreUnbiased(t *testing.T) {
	// A bucket with 300 records of weight 1 and 300 of weight 20. The light ones hold 300/6300 = 4.8 % of the weight;
	// bucket weight ÷ kept would give them 20 % or so of it.
	g := rand.New(rand.NewPCG(5, 1))
	sum := 0.0
	const rounds = 400
	for range rounds {
		type record struct{ key, weight float64 }
		records := make([]record, 600)
		for i := range records {
			w := []float64{1, 20}[i%2]
			records[i] = record{SampleKey(g.Uint64(), w), w}
		}
		slices.SortFunc(records, func(a, b record) int {
			if a.key < b.key {
				return -1
			}
			return 1
		})
		var keys, weights []float64
		for _, r := range records[:65] {
			keys, weights = append(keys, r.key), append(weights, r.weight)
		}
		for i, w := range KeptWeights(keys, weights, 64, 6300) {
			if weights[i] == 1 {
				sum += w / rounds
			}
		}
	}
	// Some 3 light records among 64, each worth about 100: the mean over 400 rounds has a standard error of 9.
	near(t, "weight of the light", sum, 300, 30)
}

func TestSampleKeyIsNeverZeroNorInfinite(t *testing.T) {
	for _, h := range []uint64{0, 1, math.MaxUint64} {
		if k := SampleKey(h, 1); !(k > 0) || math.IsInf(k, 0) {
			t.Errorf("key of %x is %v", h, k)
		}
	}
	near(t, "twice the weight halves the key", SampleKey(1<<60, 2), SampleKey(1<<60, 1)/2, 1e-15)
}
