package analysis

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// A calling that lacks lost calls has the shape of the most frequent one that it may be
// a part of: of all of them, though not all are looked at.
func TestMendedAsIfAllWereCompared(t *testing.T) {
	mended := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		rate := rng.Float64() / 20
		var all []*calling
		seen := map[string]bool{}
		for range 2 + rng.IntN(60) {
			var set []uint64
			for p := range uint64(1 + rng.IntN(9)) {
				if rng.IntN(3) > 0 {
					set = append(set, p)
				}
			}
			if key := setText(set); !seen[key] && len(set) > 0 {
				seen[key] = true
				c := &calling{set: set, complete: max(0, rng.IntN(400)-200)}
				c.shape = c
				all = append(all, c)
			}
		}
		slices.SortFunc(all, func(x, y *calling) int {
			return cmp.Or(cmp.Compare(y.complete, x.complete), slices.Compare(x.set, y.set))
		})
		want := make([]*calling, len(all))
		for i, c := range all {
			want[i] = c
			for k, of := range all[:i] {
				if want[k] != of || of.complete == 0 || !subset(c.set, of.set) {
					continue
				}
				rare := float64(c.complete) <= lossFactor*(1+rate*float64(of.complete))
				if c.complete == 0 || rare && len(of.set)-len(c.set) <= maxLost {
					want[i] = of
					mended++
					break
				}
			}
		}
		mend(all, rate)
		for i, c := range all {
			if c.shape != want[i] {
				t.Fatalf("seed %d: %v has the shape %v, want %v", seed, c.set, c.shape.set, want[i].set)
			}
		}
	}
	if mended < 500 {
		t.Errorf("only %d were mended: too plain", mended)
	}
}

func setText(set []uint64) string {
	var b []byte
	for _, p := range set {
		b = append(b, byte(p))
	}
	return string(b)
}
