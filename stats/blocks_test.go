package stats

import (
	"reflect"
	"testing"
)

func TestBlocksAreAlignedAndPartialOnesJoinTheirNeighbour(t *testing.T) {
	for _, c := range []struct {
		why   string
		run   stretch
		width int64
		lo    int64
		n     int
	}{
		{"whole seconds are never partial", stretch{5, 13}, 1, 5, 8},
		{"4..19 in fours is exactly 4", stretch{4, 20}, 4, 1, 4},
		{"5 begins inside 4..7, which joins 8..11; 21 ends inside 20..23, which joins 16..19", stretch{5, 22}, 4, 2, 3},
		{"shorter than a block is one", stretch{5, 7}, 4, 2, 1},
		{"seconds before the epoch", stretch{-8, 0}, 4, -2, 2},
	} {
		lo, n := c.run.cut(c.width)
		if lo != c.lo || n != c.n {
			t.Errorf("%s: from %d, %d blocks; want from %d, %d", c.why, lo, n, c.lo, c.n)
		}
	}
	lo, n := stretch{5, 22}.cut(4)
	var got []int
	for _, second := range []int64{5, 7, 8, 11, 12, 16, 19, 20, 21} {
		got = append(got, blockOf(second, 4, lo, n))
	}
	if want := []int{0, 0, 0, 0, 1, 2, 2, 2, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("blocks %v, want %v", got, want)
	}
}

// fourSeconds has 2, 2, 0 and 4 requests in four seconds, of which 1, 0, 0 and 3 are above 10.
func fourSeconds(t *testing.T) *Sample {
	return sample(t, Requests{
		Latency: []int64{5, 20, 5, 5, 20, 20, 20, 5},
		Second:  []int64{100, 100, 101, 101, 103, 103, 103, 103},
	})
}

func TestVarianceOfBlocksByPencil(t *testing.T) {
	b := newTimeline(fourSeconds(t), []float64{10}).blocks(1)
	if b.n != 4 || b.total != 8 {
		t.Fatalf("%d blocks of weight %v, want 4 of 8", b.n, b.total)
	}
	// p = 4/8. r = 1−½·2, 0−½·2, 0, 3−½·4 = 0, −1, 0, 1. Σr² = 2, Σ r_b r_{b−1} = 0.
	// V = 4/3 · 2 / 64.
	v, rho := b.variance(0)
	near(t, "V", v, 4.0/3*2/64, 1e-15)
	near(t, "ρ", rho, 0, 0)
}

func TestLagDoesNotCrossRuns(t *testing.T) {
	// Two runs of 2 s. p = ½, r = ½, −½ | ½, −½ in the first reading: products inside runs −¼ −¼, Σr² = 1.
	s := sample(t, Requests{
		Latency: []int64{20, 5, 20, 5},
		Second:  []int64{10, 11, 10, 11},
		Run:     []int{0, 0, 1, 1},
	})
	_, rho := newTimeline(s, []float64{10}).blocks(1).variance(0)
	near(t, "ρ", rho, -0.5, 1e-15)
}

func TestInflation(t *testing.T) {
	// ρ = 0.2 and 10 blocks: 0.2 + (1 + 0.6)/10 = 0.36, so 1.36/0.64. Capped at 0.8: 1.8/0.2.
	near(t, "f", inflation(0.2, 0.1), 1.36/0.64, 1e-12)
	near(t, "capped", inflation(0.9, 0.1), 9, 1e-12)
	near(t, "negative", inflation(-0.5, 0.1), 1, 1e-12)
}

func TestWidths(t *testing.T) {
	// 0..100 s: 100, 50, 25, 12 blocks; of 16 s only 6.
	if got, want := widths([]stretch{{0, 100}}, 1), []int64{1, 2, 4, 8}; !reflect.DeepEqual(got, want) {
		t.Errorf("widths %v, want %v", got, want)
	}
	// Many short runs: never wider than the longest.
	runs := make([]stretch, 20)
	for i := range runs {
		runs[i] = stretch{int64(i * 1000), int64(i*1000 + 5)}
	}
	if got, want := widths(runs, 1), []int64{1, 2, 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("widths of short runs %v, want %v", got, want)
	}
}

func TestWidthsOfUnequalSides(t *testing.T) {
	run := func(seconds int64) []stretch { return []stretch{{0, seconds}} }
	for _, c := range []struct {
		a, b  int64
		ws    []int64
		alone int64
	}{
		{100, 100, []int64{1, 2, 4, 8}, 8},
		{100, 60, []int64{1, 2, 4}, 4},        // of 8 s the shorter has 7, and it is no short window
		{400, 20, []int64{1, 2, 4, 8, 16}, 2}, // of 32 s it would have none
		{20, 400, []int64{1, 2, 4, 8, 16}, 2}, // whichever side it is
		{400, 7, []int64{1, 2, 4}, 1},         // the narrowest though there are but 7
		{100, 30, []int64{1, 2, 4, 8}, 2},     // the longer has no 8 of 16 s
	} {
		ws, alone := bothWidths(run(c.a), run(c.b), 1)
		if !reflect.DeepEqual(ws, c.ws) || alone != c.alone {
			t.Errorf("%d s and %d s: widths %v, alone to %d; want %v, %d", c.a, c.b, ws, alone, c.ws, c.alone)
		}
	}
}

func TestInflationOfFewBlocks(t *testing.T) {
	// f = 3 is ρ = 1/2. Of one block there is no correlation; of two 1 + 2·(1/2)·(1/2); of many it is f.
	near(t, "one", inflationOf(3, 1), 1, 1e-12)
	near(t, "two", inflationOf(3, 2), 1.5, 1e-12)
	near(t, "many", inflationOf(3, 100_000), 3, 1e-4)
}

func TestAbsurdTimesCostNoMemory(t *testing.T) {
	// One clock that starts at 1970 beside a thousand good ones.
	r := Requests{Latency: lognormal(1, 1000, 0.5, 1), Second: uniformSeconds(1, 1000, 100)}
	r.Second[0] = 0
	s := sample(t, r)
	p := NewPair(s, s, Defaults())
	if got := p.Test(); got.P != 1 {
		t.Errorf("a sample against itself: p = %v, want 1", got.P)
	}
	p.Delta(0.99, 0.95)
}
