package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEdges(t *testing.T) {
	for _, c := range []struct {
		scale int32
		index int64
		want  float64
	}{
		{0, 0, 1}, {0, 3, 8}, {0, -2, 0.25},
		{-1, 1, 4}, {-1, -1, 0.25}, // base 4
		{1, 2, 2}, {1, 1, math.Sqrt2}, {20, 1 << 20, 2},
		{-64, 1, math.MaxFloat64}, {-64, -1, 0}, {64, 1, 1},
	} {
		if got := edge(c.scale, c.index); !equal(got, c.want) {
			t.Errorf("edge(%d, %d) = %v, want %v", c.scale, c.index, got, c.want)
		}
	}
}

// Scale 0, (1,2] 2, (2,4] 3, (4,8] 4 and zero 1, with scale −1, (0.25,1] 5 and
// (1,4] 95: at scale −1 the first is (1,4] 5, (4,16] 4.
func TestMergeAcrossScales(t *testing.T) {
	a := &Dist{Count: 10, HasSum: true, Sum: 36, Zero: 1, Pos: Run{0, []uint64{2, 3, 4}}, HasMin: true, HasMax: true, Max: 7}
	b := &Dist{Count: 100, HasSum: true, Sum: 200, Scale: -1, Pos: Run{-1, []uint64{5, 95}}, HasMin: true, Min: 0.5, HasMax: true, Max: 4}
	for _, d := range []*Dist{mergeExponential(a, b), mergeExponential(b, a)} {
		if d.Count != 110 || d.Sum != 236 || d.Zero != 1 || d.Scale != -1 || d.Pos.Offset != -1 || !slices.Equal(d.Pos.Counts, []uint64{5, 100, 4}) {
			t.Fatalf("merged to %+v", d)
		}
		whole := d.distribution()
		if lo, hi := whole.Quantile(0.5); lo != 1 || hi != 4 {
			t.Errorf("p50 in [%v, %v], want (1, 4]", lo, hi)
		}
		if lo, hi := whole.Quantile(0.99); lo != 4 || hi != 7 {
			t.Errorf("p99 in [%v, %v], want (4, 7]", lo, hi)
		}
	}
	if back, ok := mergeExponential(a, b).minus(b); !ok || back.Count != 10 || !slices.Equal(back.Pos.Counts, []uint64{5, 4}) {
		t.Errorf("less the second: %+v, %v", back, ok)
	}
}

// The larger zero threshold wins. It cuts (2,4], which holds values, so it moves
// to 4 and takes all below.
func TestZeroThresholds(t *testing.T) {
	a := &Dist{Count: 6, Pos: Run{0, []uint64{1, 2, 3}}}
	b := &Dist{Count: 5, Zero: 5, Threshold: 3}
	d := mergeExponential(a, b)
	if d.Zero != 8 || d.Threshold != 4 || d.Pos.Offset != 2 || !slices.Equal(d.Pos.Counts, []uint64{3}) {
		t.Errorf("%+v", d)
	}
}

// Offsets at the ends of their range must not cost memory.
func TestFarOffsets(t *testing.T) {
	a := &Dist{Count: 1, Pos: Run{math.MinInt32, []uint64{1}}}
	b := &Dist{Count: 1, Pos: Run{math.MaxInt32, []uint64{1}}}
	d := mergeExponential(a, b)
	if n := len(d.Pos.Counts); n > maxRun {
		t.Errorf("%d buckets", n)
	}
	if total, _ := sum(0, d.Pos.Counts); total != 2 {
		t.Errorf("%d values of 2", total)
	}
}

// Values counted at a fine scale: merged and widened, their quantiles stay
// within the bounds.
func TestQuantileBoundsHold(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		var values []float64
		total := noValues()
		var merged *Dist
		for range 3 {
			scale := int32(r.IntN(5)) - 1
			d := &Dist{Scale: scale, HasMin: true, HasMax: true, Min: math.Inf(1), HasSum: true}
			counts := map[int64]uint64{}
			for range 1 + r.IntN(200) {
				v := math.Exp(r.NormFloat64())
				values = append(values, v)
				// ⌈log_b v⌉ − 1, in floats good enough for values off the edges
				counts[int64(math.Ceil(math.Ldexp(math.Log2(v), int(scale))))-1]++
				d.Count++
				d.Sum += v
				d.Min, d.Max = min(d.Min, v), max(d.Max, v)
			}
			for i, n := range counts {
				d.Pos = d.Pos.plus(Run{i, []uint64{n}})
			}
			if merged == nil {
				merged = d
			} else {
				merged = mergeExponential(merged, d)
			}
			total.add(d.distribution())
		}
		slices.Sort(values)
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
			v := values[rankOf(q, uint64(len(values)))-1]
			m := merged.distribution()
			for _, d := range []*Distribution{&m, &total} {
				if lo, hi := d.Quantile(q); v < lo*(1-1e-12) || v > hi*(1+1e-12) {
					t.Fatalf("seed %d: %v-quantile %v not in [%v, %v]", seed, q, v, lo, hi)
				}
			}
		}
	}
}

func TestAbove(t *testing.T) {
	d := Distribution{Count: 10, Buckets: []Bucket{{0, 1, 5}, {1, 2, 3}, {2, math.Inf(1), 2}}}
	for _, c := range []struct {
		x      float64
		lo, hi uint64
	}{{1, 5, 5}, {1.5, 2, 5}, {0, 10, 10}, {3, 0, 2}} {
		if lo, hi := d.Above(c.x); lo != c.lo || hi != c.hi {
			t.Errorf("above %v: %d to %d, want %d to %d", c.x, lo, hi, c.lo, c.hi)
		}
	}
}

func TestRank(t *testing.T) {
	for _, c := range []struct {
		q    float64
		n    uint64
		want uint64
	}{{0.99, 100, 99}, {0.99, 10, 10}, {0.5, 10, 5}, {0.07, 100, 7}, {0, 5, 1}, {1, 5, 5}} {
		if got := rankOf(c.q, c.n); got != c.want {
			t.Errorf("rank of %v in %d is %d, want %d", c.q, c.n, got, c.want)
		}
	}
}
