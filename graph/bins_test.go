package graph

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"
)

// TestBinsAreThoseOfLogarithms holds the table of bins to the logarithm that it stands for: on both sides of where a bin
// begins, where a bucket begins, and where the table ends.
func TestBinsAreThoseOfLogarithms(t *testing.T) {
	check := func(ns int64) {
		t.Helper()
		if ns > 0 && bin(ns) != binOf(ns) {
			t.Fatalf("bin(%d) = %d, by its logarithm %d", ns, bin(ns), binOf(ns))
		}
		if bin(-ns) != -bin(ns) {
			t.Fatalf("bin(%d) = %d, bin(%d) = %d", -ns, bin(-ns), ns, bin(ns))
		}
	}
	check(0)
	for b := 1; b < 4380; b++ {
		edge := int64(math.Exp((float64(b) - 0.5) * width))
		for d := int64(-2); d <= 2; d++ {
			check(edge + d)
		}
	}
	for n := range 62 {
		for top := int64(64); top < 128; top++ {
			if ns := top << n; ns > 0 {
				check(ns - 1)
				check(ns)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		check(r.Int64() >> r.IntN(63))
	}
	check(math.MaxInt64)
	if bin(math.MinInt64) != -bin(math.MaxInt64) {
		t.Error("the least length has no bin")
	}
}

// TestBinsHoldAnyCount adds in any order, beyond what one page and what one count holds.
func TestBinsHoldAnyCount(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	want := map[int16]int64{}
	var whole, left, right bins
	for i := range 3000 {
		b := int16(r.IntN(9000) - 4500)
		n := int64(r.IntN(3))
		if i%50 == 0 {
			n = math.MaxUint32 - int64(r.IntN(2))
		}
		if n > 0 {
			want[b] += n
		}
		whole.add(b, n)
		if i%2 == 0 {
			left.add(b, n)
		} else {
			right.add(b, n)
		}
		if i > 4*mostFew {
			continue
		}
		got := map[int16]int64{}
		for b, c := range whole.all() {
			got[b] = c
		}
		if !maps.Equal(got, want) { // few, and no longer so
			t.Fatalf("after %d: %v, want %v", i, got, want)
		}
	}
	for b, c := range right.all() {
		left.add(b, c)
	}
	for _, got := range []*bins{&whole, &left} {
		last, n := int16(math.MinInt16), 0
		for b, c := range got.all() {
			if b <= last || c != want[b] {
				t.Fatalf("bin %d after %d: %d, want %d", b, last, c, want[b])
			}
			last, n = b, n+1
		}
		if n != len(want) || got.used != n {
			t.Fatalf("%d bins, %d said to be used, want %d", n, got.used, len(want))
		}
	}
}
