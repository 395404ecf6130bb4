package stats

import (
	"math"
	"slices"
	"testing"
)

// parts are entries of every request, by request.
func parts(rows ...[]Entry) Entries { return func(j int) []Entry { return rows[j] } }

// shares splits each latency: the given shares to components 0, 1, …, the rest to the one after.
func shares(latency []int64, of ...float64) Entries {
	var row []Entry
	return func(j int) []Entry {
		row = row[:0]
		rest := latency[j]
		for c, s := range of {
			ns := int64(s * float64(latency[j]))
			row = append(row, Entry{c, ns})
			rest -= ns
		}
		return append(row, Entry{len(of), rest})
	}
}

func TestAllocationByPencil(t *testing.T) {
	// One request is every quantile.
	one := sample(t, Requests{Latency: []int64{100}})
	a := one.Allocate(0.99, 0.95, 3, parts([]Entry{{0, 30}, {2, 60}, {0, 10}}))
	if !slices.Equal(a.NS, []float64{40, 0, 60}) || a.Scale != 1 || a.N != 1 || !slices.Equal(a.Present, []float64{1, 0, 1}) {
		t.Errorf("one request: %+v", a)
	}
	if a.Interval[0].ClosedAbove() {
		t.Errorf("one request closes no interval: %v", a.Interval)
	}

	// Two tied requests have no order: half of each, whatever the input's.
	a = sample(t, Requests{Latency: []int64{100, 100}}).Allocate(0.99, 0.95, 2, parts([]Entry{{0, 100}}, []Entry{{1, 100}}))
	if !slices.Equal(a.NS, []float64{50, 50}) || a.N != 2 {
		t.Errorf("tied: %+v", a)
	}

	// Two requests, q = ½, h = max(¼, 5/2): the kernel weighs ranks 0..½ and ½..1 alike. The mean (60, 90) of
	// (40, 60) and (80, 120) is scaled to the lower median 100: by 100/150.
	a = sample(t, Requests{Latency: []int64{100, 200}}).Allocate(0.5, 0.95, 2, parts([]Entry{{0, 40}, {1, 60}}, []Entry{{0, 80}, {1, 120}}))
	near(t, "first", a.NS[0], 40, 1e-12)
	near(t, "second", a.NS[1], 60, 1e-12)
	near(t, "scale", a.Scale, 100.0/150, 1e-12)
}

func TestAllocationFindsWhatTheTailIsMadeOf(t *testing.T) {
	// 1..1,000 ms. Up to 900 all time is in component 0; above, what exceeds 900 is in component 1. Near p99 = 990
	// that is 90 on average, up to the kernel's reach beyond the maximum.
	l := make([]int64, 1000)
	for i := range l {
		l[i] = int64(i+1) * 1e6
	}
	entries := func(j int) []Entry {
		over := max(l[j]-900e6, 0)
		return []Entry{{0, l[j] - over}, {1, over}}
	}
	a := sample(t, Requests{Latency: l}).Allocate(0.99, 0.95, 2, entries)
	near(t, "value", a.Value, 990e6, 0)
	near(t, "in 1", a.NS[1], 90e6, 2e6)
	if a.Interval[1].Excludes(90e6) || !a.Lead.Clear() || a.Lead.First != 0 {
		t.Errorf("%v %+v", a.Interval[1], a.Lead)
	}
}

func TestAllocationsSumToTheQuantileAndItsChange(t *testing.T) {
	for seed := range uint64(5) {
		l, m := lognormal(seed, 3000, 0.7, 1), lognormal(seed+50, 2000, 0.7, 1.2)
		w := make([]float64, 2000)
		for i := range w {
			w[i] = []float64{1, 20, 3.3}[i%3]
		}
		p := NewPair(sample(t, Requests{Latency: l, Second: uniformSeconds(seed, 3000, 60)}),
			sample(t, Requests{Latency: m, Weight: w, Second: uniformSeconds(seed+50, 2000, 60)}), Defaults())
		for _, q := range ladder {
			a := p.Allocate(q, 0.95, 4, shares(l, 0.1, 0.2, 0.3), shares(m, 0.3, 0.2, 0.1))
			d := p.Delta(q, 0.95)
			near(t, "baseline", sum(a.Base.NS), d.Base, 1e-9*d.Base)
			near(t, "current", sum(a.Cur.NS), d.Cur, 1e-9*d.Cur)
			near(t, "change", sum(a.NS), d.Change, 1e-9*d.Cur)
			base, cur := RoundToSum(a.Base.NS, int64(d.Base)), RoundToSum(a.Cur.NS, int64(d.Cur))
			change := int64(0)
			for i := range base {
				change += cur[i] - base[i]
			}
			if change != int64(d.Change) {
				t.Errorf("seed %d q %v: rounded entries change by %d, the quantile by %v", seed, q, change, d.Change)
			}
			for i, iv := range a.Interval {
				if iv.Excludes(a.NS[i]) || math.IsNaN(iv.Lo) || math.IsNaN(iv.Hi) {
					t.Errorf("seed %d q %v: %v outside %v", seed, q, a.NS[i], iv)
				}
			}
		}
	}
}

func TestAnAtomKeepsItsWeight(t *testing.T) {
	// 6 % time out at 500 ms, from rank 0.94 to 1, all in component 1. The middle of these ranks is far from 0.99
	// in bandwidths; the kernel's mean over them is not.
	l := make([]int64, 2000)
	for i := range l {
		l[i] = int64(10e6 + 1000*i)
		if i%50 < 3 {
			l[i] = 500e6
		}
	}
	a := sample(t, Requests{Latency: l}).Allocate(0.99, 0.95, 2, func(j int) []Entry {
		if l[j] == 500e6 {
			return []Entry{{1, l[j]}}
		}
		return []Entry{{0, l[j]}}
	})
	near(t, "timeout", a.NS[1], 500e6, 1)
	near(t, "scale", a.Scale, 1, 1e-9)
	near(t, "requests", a.N, 120, 1e-6)
}

func TestGroupedResamplesAgreeWithRepeatedRequests(t *testing.T) {
	// A resample must give what a sample gives in which each request is repeated as often as its block was drawn. Groups
	// of an eighth of a bandwidth may cost 1 %.
	n := 2000
	r := Requests{Latency: lognormal(1, n, 0.7, 1), Second: uniformSeconds(1, n, 80)}
	s := sample(t, r)
	entries := shares(r.Latency, 0.25, 0.1)
	// One component depends on the latency, so that the kernel matters.
	varied := func(j int) []Entry {
		row := entries(j)
		if r.Latency[j] > 2e8 {
			row[0].NS, row[1].NS = row[1].NS, row[0].NS
		}
		return row
	}
	const q = 0.9
	a := s.allocate(q, 3, varied)
	draws := s.allocations(0, a, varied)
	plan := s.plan()
	counts := plan.counts[0]()
	for k := range 20 {
		var repeated Requests
		var from []int
		for i, j := range s.order {
			for range int(counts[k*plan.n+int(plan.block[i])]) {
				repeated.Latency = append(repeated.Latency, r.Latency[j])
				from = append(from, int(j))
			}
		}
		want := sample(t, repeated).allocate(q, 3, func(j int) []Entry { return varied(from[j]) })
		for c, ns := range want.NS {
			near(t, "component", draws[k*3+c], ns, 0.01*want.Value)
		}
	}
}

func TestLeadIsDecidedByTheGap(t *testing.T) {
	// The current side is slower by 100 ms, all in component 1: clear. Split evenly over 0 and 1: not.
	l := lognormal(2, 3000, 0.2, 1)
	slow := make([]int64, len(l))
	for i := range l {
		slow[i] = l[i] + 1e8
	}
	base := func(j int) []Entry { return []Entry{{0, l[j] / 2}, {1, l[j] - l[j]/2}} }
	p := pairOf(t, l, slow)
	a := p.Allocate(0.99, 0.95, 2, base, func(j int) []Entry { return []Entry{{0, l[j] / 2}, {1, slow[j] - l[j]/2}} })
	if !a.Lead.Clear() || a.Lead.First != 1 {
		t.Errorf("all in 1: %+v", a.Lead)
	}
	near(t, "change of 1", a.NS[1], 1e8, 2e6)
	a = p.Allocate(0.99, 0.95, 2, base, func(j int) []Entry { return []Entry{{0, slow[j] / 2}, {1, slow[j] - slow[j]/2}} })
	if a.Lead.Clear() {
		t.Errorf("evenly: %+v", a.Lead)
	}
}

func TestSwitchedPath(t *testing.T) {
	// Near p99 all baseline requests spend most in 0, all current ones in 1, with equal latencies: −A, +B and a rate of 1.
	l := lognormal(3, 1000, 0.2, 1)
	p := pairOf(t, l, l)
	a := p.Allocate(0.99, 0.95, 2, shares(l, 0.9), shares(l, 0.1))
	near(t, "switched", a.Switched, 1, 1e-12)
	if a.NS[0] >= 0 || a.NS[1] <= 0 {
		t.Errorf("changes %v", a.NS)
	}
	near(t, "unchanged", p.Allocate(0.99, 0.95, 2, shares(l, 0.9), shares(l, 0.9)).Switched, 0, 1e-12)
}

func TestRunsWidenAllocations(t *testing.T) {
	// Runs whose component 0 differs a lot between runs, by turns.
	l := lognormal(4, 3000, 0.2, 1)
	runs := make([]int, 3000)
	for i := range runs {
		runs[i] = i % 3
	}
	s := sample(t, Requests{Latency: l, Run: runs})
	entries := func(j int) []Entry {
		a := l[j] * int64(1+2*(j%3)) / 10
		return []Entry{{0, a}, {1, l[j] - a}}
	}
	a := NewPair(s, s, Defaults()).Allocate(0.9, 0.95, 2, entries, entries)
	// The runs' shares are 0.1, 0.3, 0.5 of some 129 ms: s = 0.2·129, se = s√(2/3), times t 2.776.
	half := 0.2 * a.Base.Value * math.Sqrt(2.0/3) * 2.776
	if a.Method != Runs {
		t.Errorf("method %s", a.Method)
	}
	near(t, "half width", a.Interval[0].Hi, half, 0.1*half)
}

func TestBandByPencil(t *testing.T) {
	// Ranks ¼ to ¾ of four are the 2nd and the 3rd: (20 + 30)/2, of which a tenth in 0.
	l := []int64{40, 10, 30, 20}
	got := sample(t, Requests{Latency: l}).Band(0.25, 0.75, 2, shares(l, 0.1))
	near(t, "in 0", got[0], 2.5, 1e-9)
	near(t, "in 1", got[1], 22.5, 1e-9)
	// Of three, half of the 1st and half of the 3rd count less: ranks 0..⅓ overlap by a quarter of their width, as do
	// the last. (10·¼ + 20 + 30·¼)/1.5 = 20.
	l = []int64{30, 10, 20}
	near(t, "of three", sample(t, Requests{Latency: l}).Band(0.25, 0.75, 1, shares(l))[0], 20, 1e-9)
	if got := sample(t, Requests{}).Band(0.25, 0.75, 1, nil); got[0] != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestRoundToSum(t *testing.T) {
	for _, c := range []struct {
		values []float64
		total  int64
		want   []int64
	}{
		{[]float64{1.4, 1.4, 1.2}, 4, []int64{2, 1, 1}}, // the tie goes to the earlier
		{[]float64{0.5, 0.5}, 1, []int64{1, 0}},
		{[]float64{-1.5, 2.5}, 1, []int64{-1, 2}},
		{[]float64{1, 2}, 9, []int64{4, 5}},
		{[]float64{3, 3}, 1, []int64{1, 0}},
		{nil, 0, []int64{}},
	} {
		got := RoundToSum(c.values, c.total)
		if !slices.Equal(got, c.want) {
			t.Errorf("RoundToSum(%v, %d) = %v, want %v", c.values, c.total, got, c.want)
		}
	}
}
