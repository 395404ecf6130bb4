package radix

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// keys are numbers of every kind of spread: none, few different ones, small, as far apart as can be.
func keys(r *rand.Rand, n int) []int64 {
	out := make([]int64, n)
	shift := r.IntN(64)
	for i := range out {
		out[i] = int64(r.Uint64()) >> shift
		switch r.IntN(40) {
		case 0:
			out[i] = math.MinInt64
		case 1:
			out[i] = math.MaxInt64
		}
		if shift%3 == 0 { // of one sign and order
			out[i] = 1_700_000_000_000_000_000 + int64(r.IntN(1<<(shift%30+1)))
		}
	}
	if shift%5 == 0 {
		slices.Sort(out)
	}
	return out
}

func TestSortsAsComparingDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		in := keys(r, r.IntN(2*few+1000))
		got := slices.Clone(in)
		Ints(got)
		want := slices.Sorted(slices.Values(in))
		if !slices.Equal(got, want) {
			t.Fatalf("%d numbers: not sorted", len(in))
		}
		ordered := Order(len(in), func(i int) int64 { return in[i] / 2 })
		stable := make([]Keyed, len(in))
		for i, k := range in {
			stable[i] = Keyed{k / 2, int32(i)}
		}
		slices.SortStableFunc(stable, func(a, b Keyed) int { return cmp.Compare(a.Key, b.Key) })
		if !slices.Equal(ordered, stable) {
			t.Fatalf("%d keys: not in the order of key and place", len(in))
		}
	}
}

func BenchmarkInts(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]int64, 1<<20)
	for i := range in {
		in[i] = 1_700_000_000_000_000_000 + r.Int64N(100_000_000_000)
	}
	list := make([]int64, len(in))
	b.Run("radix", func(b *testing.B) {
		for b.Loop() {
			copy(list, in)
			Ints(list)
		}
	})
	b.Run("slices", func(b *testing.B) {
		for b.Loop() {
			copy(list, in)
			slices.Sort(list)
		}
	})
}
