package metric

import (
	"math"
	"testing"

	"github.com/tailscope/tailscope/trace"
)

func TestCounters(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		why      string
		points   string
		increase float64
		resets   int
		gaps     int
		dups     int
	}{
		{"each point began anew at the same value, and each counts from its own start", `
			runs sum+ s=1 t=2 v=1
			runs sum+ s=61 t=62 v=1
			runs sum+ s=121 t=122 v=1
			runs sum+ s=181 t=182 v=1
			runs sum+ s=241 t=242 v=1`, 5, 4, 0, 0},
		{"one run of one process: the last value is the increase", `
			runs sum+ s=1 t=10 v=7
			runs sum+ s=1 t=20 v=9`, 9, 0, 0, 0},
		{"no start: the first point is the zero", `
			runs sum+ t=10 v=100
			runs sum+ t=20 v=150
			runs sum+ t=30 v=200`, 100, 0, 0, 0},
		{"the start is the first point's own time: its value is of before", `
			runs sum+ s=10 t=10 v=100
			runs sum+ s=10 t=20 v=150`, 50, 0, 0, 0},
		{"a fall that no start explains: 5 until it, 3 after it", `
			runs sum+ s=1 t=10 v=2
			runs sum+ s=1 t=20 v=5
			runs sum+ s=1 t=30 v=1
			runs sum+ s=1 t=40 v=3`, 8, 1, 0, 0},
		{"two processes under one identity write two segments, not a reset a point", `
			runs sum+ s=1 t=10 v=10
			runs sum+ s=2 t=11 v=1
			runs sum+ s=1 t=20 v=20
			runs sum+ s=2 t=21 v=2`, 22, 1, 0, 0},
		{"alone and without a start, a counter says nothing", `
			runs sum+ t=10 v=100`, nan, 0, 0, 0},
		{"delta points add up; the copy counts once", `
			runs dsum+ s=10 t=20 v=3
			runs dsum+ s=20 t=30 v=4
			runs dsum+ s=20 t=30 v=4`, 7, 0, 0, 1},
		{"the same delta again later is no copy", `
			runs dsum+ s=10 t=20 v=4
			runs dsum+ s=20 t=30 v=4`, 8, 0, 0, 0},
		{"a delta that starts after the one before ended leaves a gap", `
			runs dsum+ s=10 t=20 v=3
			runs dsum+ s=30 t=40 v=4`, 7, 0, 1, 0},
		{"the third of five exports was lost: a gap, and no loss of counts", `
			runs sum+ s=1 t=10 v=1
			runs sum+ s=1 t=20 v=2
			runs sum+ s=1 t=40 v=4
			runs sum+ s=1 t=50 v=5`, 5, 0, 1, 0},
		{"a point that says that nothing was recorded is a gap, not a zero and not a reset", `
			runs sum+ s=1 t=10 v=5
			runs sum+ s=1 t=20 nov
			runs sum+ s=1 t=30 v=6`, 6, 0, 1, 0},
		{"beyond 2^53 floats lose the ones; integers do not", `
			runs sum+ s=0 t=10 v=9007199254740993
			runs sum+ s=0 t=20 v=9007199254740996`, 3, 0, 0, 0},
		{"a sum that may fall: its net change", `
			open sum± t=10 v=5
			open sum± t=20 v=3`, -2, 0, 0, 0},
	} {
		r := one(t, c.points)
		if !equal(r.Increase, c.increase) || r.Resets != c.resets || r.Gaps != c.gaps || r.Duplicates != c.dups {
			t.Errorf("%s:\nincrease %v resets %d gaps %d duplicates %d, want %v %d %d %d",
				c.why, r.Increase, r.Resets, r.Gaps, r.Duplicates, c.increase, c.resets, c.gaps, c.dups)
		}
	}
}

func TestGauge(t *testing.T) {
	r := one(t, `
		depth gauge t=10 v=4
		depth gauge t=20 v=0.5
		depth gauge t=30 nov
		depth gauge t=40 v=NaN
		depth gauge t=50 v=1.5`)
	// Without a value: the flag, and NaN, which is how Prometheus says it.
	if r.Points != 5 || r.NoValue != 2 || r.Gaps != 1 {
		t.Errorf("points %d, without value %d, gaps %d; want 5, 2, 1", r.Points, r.NoValue, r.Gaps)
	}
	if r.Count != 3 || r.Mean != 2 || r.Min != 0.5 || r.Max != 4 || r.P50Lo != 1.5 || r.P50Hi != 1.5 || r.P99Lo != 4 {
		t.Errorf("count %d mean %v min %v max %v p50 %v p99 %v; want 3, 6/3, 0.5, 4, 1.5, 4", r.Count, r.Mean, r.Min, r.Max, r.P50Lo, r.P99Lo)
	}
	if !math.IsNaN(r.Increase) {
		t.Errorf("increase %v of a gauge", r.Increase)
	}
}

func TestHistogramRows(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		why                        string
		points                     string
		count                      uint64
		mean, min, max             float64
		p50lo, p50hi, p99lo, p99hi float64
	}{
		{"ranks 50 and 99 lie among the 90 values in (100, 1000]", `
			wait dhist s=1 t=60 n=100 sum=36000 b=10,100,1000 c=0,10,90,0`,
			100, 360, nan, nan, 100, 1000, 100, 1000},
		{"the same in seconds stays in seconds", `
			wait dhist s=1 t=60 n=100 sum=36 b=0.01,0.1,1 c=0,10,90,0`,
			100, 0.36, nan, nan, 0.1, 1, 0.1, 1},
		{"zero 1, (1,2] 2, (2,4] 3, (4,8] 4: rank 5 in (2,4], rank 10 in (4,8], which ends at the maximum", `
			d dexp s=1 t=60 n=10 sum=36 scale=0 zero=1 pos=0:2,3,4 min=0 max=7`,
			10, 3.6, 0, 7, 2, 4, 4, 7},
		{"base 4: (0.25,1] 5, (1,4] 95", `
			d dexp s=1 t=60 n=100 sum=200 scale=-1 pos=-1:5,95 min=0.5 max=4`,
			100, 2, 0.5, 4, 1, 4, 1, 4},
		{"beyond the last bound only a maximum closes the bucket", `
			d dhist s=1 t=60 n=10 sum=99 b=1,2 c=0,0,10`,
			10, 9.9, nan, nan, 2, inf, 2, inf},
		{"and here it does", `
			d dhist s=1 t=60 n=10 sum=99 b=1,2 c=0,0,10 max=30`,
			10, 9.9, nan, 30, 2, 30, 2, 30},
		{"values of one sign have a sum; the first bucket then begins at zero", `
			d dhist s=1 t=60 n=4 sum=2 b=1,2 c=4,0,0`,
			4, 0.5, nan, nan, 0, 1, 0, 1},
		{"without a sum they may be negative", `
			d dhist s=1 t=60 n=4 b=1,2 c=4,0,0`,
			4, nan, nan, nan, -inf, 1, -inf, 1},
		{"only count and sum were recorded", `
			d dhist s=1 t=60 n=4 sum=8`,
			4, 2, nan, nan, 0, inf, 0, inf},
		{"cumulative: 4 values until the restart and 2 after it", `
			d hist s=1 t=10 n=1 sum=1 b=1,2 c=1,0,0
			d hist s=1 t=20 n=4 sum=7 b=1,2 c=1,3,0
			d hist s=25 t=30 n=2 sum=1 b=1,2 c=2,0,0`,
			6, 8. / 6, nan, nan, 0, 1, 1, 2},
		{"the bounds changed with the restart; both kinds of buckets stay: 4 in (0,2], 2 in (0,1]", `
			d hist s=1 t=20 n=4 sum=4 b=2 c=4,0
			d hist s=25 t=30 n=2 sum=2 b=1 c=2,0`,
			6, 1, nan, nan, 0, 2, 0, 2},
		{"a count that its buckets do not hold: the buckets are not used", `
			d dhist s=1 t=60 n=5 sum=10 b=1,2 c=4,0,0`,
			5, 2, nan, nan, 0, inf, 0, inf},
		{"rescaled by the SDK between two points: (1,2] 1, (2,4] 1 became (1,4] 3; 3 values since start", `
			d exp s=1 t=10 n=2 sum=5 scale=0 pos=0:1,1
			d exp s=1 t=20 n=3 sum=8 scale=-1 pos=0:3`,
			3, 8. / 3, nan, nan, 1, 4, 1, 4},
		{"a summary: its lines are its quantiles", `
			d summary s=1 t=60 n=100 sum=500 q=0.5:4,0.99:20,1:25`,
			100, 5, nan, nan, 4, 4, 20, 20},
	} {
		r := one(t, c.points)
		got := []float64{float64(r.Count), r.Mean, r.Min, r.Max, r.P50Lo, r.P50Hi, r.P99Lo, r.P99Hi}
		want := []float64{float64(c.count), c.mean, c.min, c.max, c.p50lo, c.p50hi, c.p99lo, c.p99hi}
		for i := range got {
			if !equal(got[i], want[i]) {
				t.Errorf("%s:\n[count mean min max p50 p99] %v, want %v", c.why, got, want)
				break
			}
		}
	}
}

// A cumulative histogram in the middle of its life: what it counted before the
// window is taken off.
func TestWindow(t *testing.T) {
	s := fold(t, `
		d hist s=1 t=10 n=10 sum=5 b=1,2 c=10,0,0
		d hist s=1 t=20 n=13 sum=10 b=1,2 c=10,3,0
		d hist s=1 t=30 n=14 sum=12 b=1,2 c=10,4,0`).Series()[0]
	d := s.Distribution(Window{10 * second, 20 * second})
	if lo, hi := d.Quantile(0.5); d.Count != 3 || d.Sum != 5 || lo != 1 || hi != 2 {
		t.Errorf("count %d sum %v p50 in [%v, %v]; want the 3 values that came between 10 s and 20 s", d.Count, d.Sum, lo, hi)
	}
	for _, c := range []struct {
		why      string
		from, to trace.Time
		count    uint64
	}{
		{"most of the time from the start to the first point: all count", 5, 40, 14},
		{"little of it: the first point is the zero", 7, 40, 4},
		{"within one stretch between points: what was counted in it", 12, 15, 3},
		{"over the end of a stretch: both count", 15, 25, 4},
		{"after the last point", 31, 40, 0},
		{"before the start", 0, 1, 0},
	} {
		d := s.Distribution(Window{c.from*second + 1, c.to * second})
		if d.Count != c.count {
			t.Errorf("%s: %d, want %d", c.why, d.Count, c.count)
		}
	}
	// The only point, and the window a small part of what it covers: better than
	// nothing.
	s = fold(t, `d hist s=1 t=100 n=10 sum=5 b=1,2 c=10,0,0`).Series()[0]
	if d := s.Distribution(Window{90 * second, 95 * second}); d.Count != 10 {
		t.Errorf("count %d of 10", d.Count)
	}
	// A delta point belongs to the windows that it overlaps.
	s = fold(t, `d dhist s=10 t=20 n=10 sum=5 b=1,2 c=10,0,0`).Series()[0]
	for _, c := range []struct {
		from, to trace.Time
		count    uint64
	}{{12, 15, 10}, {5, 12, 10}, {5, 10, 0}, {20, 30, 0}} {
		if d := s.Distribution(Window{c.from * second, c.to * second}); d.Count != c.count {
			t.Errorf("delta of 10 s to 20 s in %d s to %d s: %d, want %d", c.from, c.to, d.Count, c.count)
		}
	}
}

func TestOverflowSeriesIsMarked(t *testing.T) {
	if r := one(t, `d dsum+ s=1 t=2 v=1 otel.metric.overflow=true`); !r.Overflow {
		t.Error("not marked")
	}
	if r := one(t, `d dsum+ s=1 t=2 v=1 overflow=true`); r.Overflow {
		t.Error("another attribute marks it")
	}
}

func TestUnits(t *testing.T) {
	for unit, want := range map[string]float64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1, "s{request}": 1e9, "seconds": 1e9} {
		if ns, ok := Nanoseconds(unit); !ok || ns != want {
			t.Errorf("%s is %v ns, %v; want %v", unit, ns, ok, want)
		}
	}
	for _, unit := range []string{"", "1", "By", "{connection}", "m"} {
		if _, ok := Nanoseconds(unit); ok {
			t.Errorf("%q is a unit of time", unit)
		}
	}
	if Counted("{connection}") != "connection" || Counted("s") != "" {
		t.Error("what a unit counts")
	}
}

// A sum that does not say what its points are: each has its own start, so read
// as cumulative they add up like the deltas that they are. That it was not said
// is counted.
func TestWithoutTemporality(t *testing.T) {
	s := NewStore(trace.NewTables())
	for i := range 3 {
		s.Add(&RawPoint{Name: []byte("m"), Type: Sum, Monotonic: true, IsInt: true, Int: 4, Start: trace.Time(i+1) * second, Time: trace.Time(i+2) * second})
	}
	if r := s.Fold().Rows()[0]; r.Increase != 12 || s.Defects[NoTemporality].N != 3 {
		t.Errorf("increase %v, defects %v", r.Increase, s.Defects)
	}
}

// Minus zero and zero are one value: equal points are equal bytes.
func TestOneZero(t *testing.T) {
	if r := one(t, "m gauge t=1 v=0.0\nm gauge t=1 v=-0.0"); r.Duplicates != 1 {
		t.Errorf("%d points", r.Points)
	}
}
