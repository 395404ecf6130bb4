package stats

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

func TestBucketsTileAndAreNarrow(t *testing.T) {
	last := Bucket(math.MaxInt64)
	before := int64(0)
	for b := 0; b <= last; b++ {
		from, to := BucketBounds(b)
		if from != before || to <= from {
			t.Fatalf("bucket %d is [%d, %d) after %d", b, from, to, before)
		}
		if width := to - from; width > 1 && width*100 > from {
			t.Fatalf("bucket %d is [%d, %d), more than 1 %% wide", b, from, to)
		}
		if Bucket(from) != b || Bucket(to-1) != b {
			t.Fatalf("bucket %d holds [%d, %d) but these go to %d and %d", b, from, to, Bucket(from), Bucket(to-1))
		}
		before = to
	}
	if Bucket(-5) != 0 {
		t.Errorf("below zero: bucket %d", Bucket(-5))
	}
}

func TestHistogramMergesInAnyOrder(t *testing.T) {
	l := lognormal(1, 5000, 1, 1)
	encode := func(order []int) []byte {
		parts := make([]Histogram, 5)
		for i, x := range l {
			parts[i%5].Add(x, int64(1+i%3))
		}
		var whole Histogram
		for _, i := range order {
			whole.Merge(&parts[i])
		}
		b, err := whole.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a, b := encode([]int{0, 1, 2, 3, 4}), encode([]int{3, 0, 4, 2, 1})
	if !bytes.Equal(a, b) {
		t.Error("the order of merging shows in the bytes")
	}
	var back Histogram
	if err := back.UnmarshalBinary(a); err != nil {
		t.Fatal(err)
	}
	again, _ := back.MarshalBinary()
	if !bytes.Equal(a, again) || back.Total() != 9999 {
		t.Errorf("round trip: %d counted, want 9999", back.Total())
	}
}

func TestHistogramQuantileIsWithinHalfAPercent(t *testing.T) {
	l := lognormal(2, 20000, 1, 1)
	var h Histogram
	for _, x := range l {
		h.Add(x, 1)
	}
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		want := float64(Quantile(l, nil, q))
		near(t, "quantile", float64(h.Quantile(q)), want, 0.005*want)
	}
	if (&Histogram{}).Quantile(0.5) != 0 {
		t.Error("the empty histogram has a median")
	}
}

func FuzzHistogram(f *testing.F) {
	var h Histogram
	h.Add(5, 1)
	h.Add(1e9, 1<<40)
	b, _ := h.MarshalBinary()
	f.Add(b)
	f.Add([]byte{1, 0x80, 0x00, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Histogram
		if h.UnmarshalBinary(b) != nil {
			return
		}
		if again, _ := h.MarshalBinary(); !bytes.Equal(again, b) {
			t.Errorf("%x reads as %x", b, again)
		}
	})
}

func TestDamagedHistograms(t *testing.T) {
	for why, b := range map[string][]byte{
		"nothing":                     {},
		"cut after the number":        {1},
		"cut after the bucket":        {1, 5},
		"no count":                    {1, 5, 0},
		"the same bucket twice":       {2, 5, 1, 0, 1},
		"more than was announced":     {1, 5, 1, 9},
		"a number longer than needed": {1, 0x85, 0x00, 1},
		"beyond the last bucket":      {1, 0xff, 0xff, 0x7f, 1},
	} {
		var h Histogram
		if err := h.UnmarshalBinary(b); err == nil {
			t.Errorf("%s: no error", why)
		}
	}
	g := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		b := make([]byte, g.IntN(20))
		for i := range b {
			b[i] = byte(g.Uint32())
		}
		var h Histogram
		_ = h.UnmarshalBinary(b)
	}
}
