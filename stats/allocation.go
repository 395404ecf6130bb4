package stats

import (
	"math"
	"slices"
	"sort"
)

// An Entry is the part of one request's latency that was spent in one component, in nanoseconds. Components are
// numbered from 0 by the caller.
type Entry struct {
	Component int
	NS        int64
}

// Entries gives the entries of request j, the place in the [Requests]. They should add up to its latency; a
// component may come more than once. The slice is not kept and may be reused by the next call.
type Entries func(j int) []Entry

// A SideAllocation says what a quantile of one side is made of: the mean of each entry over the requests near the
// quantile, E[X | L = q̂], which sums to the quantile itself because a quantile grows in proportion to its parts.
// It describes and does not explain: an entry can be large at q because a large latency selects it.
type SideAllocation struct {
	Quantile float64

	// Value is the point quantile, the sum of NS.
	Value float64

	// NS is the time of each component, scaled to sum to Value. Scale is the factor; far from 1 the requests near
	// the quantile do not resemble it, or entries did not add up to the latencies.
	NS    []float64
	Scale float64

	// Interval of each component's time.
	Interval []Interval

	// Present is the share of the requests near the quantile that spent any time in the component.
	Present []float64

	// N is the number of requests that NS rests on, (Σwk)²/Σ(wk)² over weights times kernel.
	N float64

	// Lead compares the two largest components.
	Lead Lead

	// dominant is the share of the requests near the quantile by their largest component.
	dominant []float64
}

// An Allocation says where the change of a quantile was spent.
type Allocation struct {
	Quantile  float64
	Base, Cur SideAllocation

	// NS is Cur.NS − Base.NS and sums to the change of the quantile.
	NS       []float64
	Interval []Interval
	Method   Method

	// Lead compares the two components that changed most in the direction of the whole.
	Lead Lead

	// Switched is the share of the requests near the quantile whose largest component must have become another
	// one: half the sum of the differences between the sides' shares by largest component. A switch of path
	// from A to B shows as −A and +B though neither became faster or slower, so it belongs beside entries of
	// opposite sign.
	Switched float64
}

// A Lead says whether one component is the largest. First and Second are −1 where there are none.
type Lead struct {
	First, Second int
	Gap           float64  // by how much First exceeds Second
	Interval      Interval // of Gap
}

// Clear reports whether First can be called the largest. Else it is "First or Second".
func (l Lead) Clear() bool { return l.First >= 0 && l.Interval.Lo > 0 }

// kernelReach is the distance in bandwidths beyond which requests are not looked at; there the kernel is 3e-4.
const kernelReach = 4

// A kernel weighs ranks by their distance from q: exp(−½((r−q)/h)²).
type kernel struct{ q, h float64 }

// newKernel takes half of the tail as bandwidth, but at least 5 effective requests.
func newKernel(q, n float64) kernel { return kernel{q, max(0.5*min(q, 1-q), 5/n)} }

// mean is the mean of the kernel over the ranks from a to b, which a request occupies, or several that are tied
// and have no order among them.
func (k kernel) mean(a, b float64) float64 {
	if b-a < k.h/100 {
		z := ((a+b)/2 - k.q) / k.h
		return math.Exp(-z * z / 2)
	}
	area := math.Erf((b-k.q)/k.h/math.Sqrt2) - math.Erf((a-k.q)/k.h/math.Sqrt2)
	return area * k.h * math.Sqrt(math.Pi/2) / (b - a)
}

// window is the places whose ranks the kernel reaches, with ties at the edges taken whole.
func (s *Sample) window(k kernel) (from, to int) {
	total := s.Weight()
	from = s.tieStart(sort.Search(len(s.x)-1, func(i int) bool { return s.cum[i+1] >= (k.q-kernelReach*k.h)*total }))
	to = s.above(s.x[min(sort.Search(len(s.x), func(i int) bool { return s.cum[i] > (k.q+kernelReach*k.h)*total }), len(s.x))-1])
	return from, to
}

// tieStart is the first place with the latency of place i.
func (s *Sample) tieStart(i int) int { return sort.SearchFloat64s(s.x, s.x[i]) }

// Allocate splits the quantile q among components, with intervals at a level such as 0.95.
func (s *Sample) Allocate(q, level float64, components int, entries Entries) SideAllocation {
	a := s.allocate(q, components, entries)
	if len(s.x) == 0 {
		return a
	}
	factor := s.factor(q, level)
	draws := s.allocations(0, a, entries)
	below, above := closes(s.EffectiveN(q), q)
	a.intervals(draws, level, factor, below, above)
	a.Lead = lead(a.NS, 1, level, factor, func(r, i int) float64 { return draws[r*components+i] })
	return a
}

// factor is that of Pair.spread for one side alone.
func (s *Sample) factor(q, level float64) float64 {
	plan := s.plan()
	f := 1.0
	if plan.timed {
		f = inflation(s.lag(q), 1/float64(plan.n))
	}
	tail := (1 + level) / 2
	return studentT(tail, max(float64(plan.n-1), 1)) / normal(tail) * math.Sqrt(f)
}

// Allocate splits the change of the quantile q among components. Both sides number components alike.
func (p *Pair) Allocate(q, level float64, components int, base, cur Entries) Allocation {
	a := Allocation{
		Quantile: q,
		Base:     p.Base.allocate(q, components, base),
		Cur:      p.Cur.allocate(q, components, cur),
		NS:       make([]float64, components),
		Interval: make([]Interval, components),
		Method:   Independent,
		Lead:     Lead{First: -1, Second: -1},
	}
	for i := range a.NS {
		a.NS[i] = a.Cur.NS[i] - a.Base.NS[i]
		a.Interval[i] = everything
		a.Switched += math.Abs(a.Cur.dominant[i]-a.Base.dominant[i]) / 2
	}
	if len(p.Base.x) == 0 || len(p.Cur.x) == 0 {
		return a
	}
	factor := p.spread(q, level).factor
	if p.timed {
		a.Method = Blocks
	}
	draws0, draws1 := p.Base.allocations(0, a.Base, base), p.Cur.allocations(1, a.Cur, cur)
	for _, side := range []struct {
		s     *Sample
		a     *SideAllocation
		draws []float64
	}{{p.Base, &a.Base, draws0}, {p.Cur, &a.Cur, draws1}} {
		below, above := closes(side.s.EffectiveN(q), q)
		side.a.intervals(side.draws, level, factor, below, above)
	}
	change := func(r, i int) float64 { return draws1[r*components+i] - draws0[r*components+i] }
	values := make([]float64, resamples)
	for i := range a.NS {
		for r := range values {
			values[r] = change(r, i)
		}
		iv := widen(a.NS[i], percentiles(values, level), factor)
		a.Interval[i] = Interval{min(iv.Lo, a.NS[i]), max(iv.Hi, a.NS[i])}
	}
	sign := 1.0
	if a.Cur.Value < a.Base.Value {
		sign = -1
	}
	a.Lead = lead(a.NS, sign, level, factor, change)
	if p.byRuns() {
		a.Method = Runs
		p.runIntervals(&a, level, base, cur)
	}
	for i, iv := range a.Interval {
		a.Interval[i] = p.open(q, iv)
	}
	return a
}

// intervals are those of the components of one side, open where the quantile is.
func (a *SideAllocation) intervals(draws []float64, level, factor float64, below, above bool) {
	values := make([]float64, resamples)
	for i, ns := range a.NS {
		for r := range values {
			values[r] = draws[r*len(a.NS)+i]
		}
		iv := widen(ns, percentiles(values, level), factor)
		iv = Interval{max(min(iv.Lo, ns), 0), max(iv.Hi, ns)}
		if !below {
			iv.Lo = math.Inf(-1)
		}
		if !above {
			iv.Hi = math.Inf(1)
		}
		a.Interval[i] = iv
	}
}

// lead finds the two largest components in the direction of sign and the interval of their gap, by draws.
func lead(ns []float64, sign, level, factor float64, draw func(r, i int) float64) Lead {
	l := Lead{First: -1, Second: -1}
	for i, v := range ns {
		switch {
		case l.First < 0 || sign*v > sign*ns[l.First]:
			l.First, l.Second = i, l.First
		case l.Second < 0 || sign*v > sign*ns[l.Second]:
			l.Second = i
		}
	}
	if l.Second < 0 {
		return l
	}
	l.Gap = sign * (ns[l.First] - ns[l.Second])
	gaps := make([]float64, resamples)
	for r := range gaps {
		gaps[r] = sign * (draw(r, l.First) - draw(r, l.Second))
	}
	l.Interval = widen(l.Gap, percentiles(gaps, level), factor)
	return l
}

// allocate is the point allocation, without intervals.
func (s *Sample) allocate(q float64, components int, entries Entries) SideAllocation {
	a := SideAllocation{
		Quantile: q,
		Value:    s.Quantile(q),
		NS:       make([]float64, components),
		Scale:    1,
		Interval: make([]Interval, components),
		Present:  make([]float64, components),
		Lead:     Lead{First: -1, Second: -1},
		dominant: make([]float64, components),
	}
	for i := range a.Interval {
		a.Interval[i] = everything
	}
	if len(s.x) == 0 {
		return a
	}
	k := newKernel(q, s.EffectiveN(q))
	from, to := s.window(k)
	a.N = s.weigh(&a, from, to, k.mean, entries)
	total := sum(a.NS)
	if total > 0 {
		a.Scale = a.Value / total
	}
	for c := range a.NS {
		a.NS[c] *= a.Scale
	}
	return a
}

// Band is the mean time in each component over the requests between two ranks, 0.25 and 0.75 say: what a typical
// request is made of. It is not scaled to a quantile.
func (s *Sample) Band(lo, hi float64, components int, entries Entries) []float64 {
	a := SideAllocation{
		NS:       make([]float64, components),
		Present:  make([]float64, components),
		dominant: make([]float64, components),
	}
	if len(s.x) == 0 {
		return a.NS
	}
	from, to := s.tieStart(s.place(lo)), s.above(s.x[s.place(hi)])
	s.weigh(&a, from, to, func(a, b float64) float64 { return max(min(b, hi)-max(a, lo), 0) / (b - a) }, entries)
	return a.NS
}

// weigh takes the means over the requests in a range of places, each weighing its weight times what weight says of
// the ranks that it, or those it is tied with, occupies. It gives the number of requests that the means rest on.
//
// Tied requests have no order, so all of them get the mean over the ranks they share. Those of equal weight are then
// summed as integers, which makes the order of the input irrelevant to the last bit.
func (s *Sample) weigh(a *SideAllocation, from, to int, weight func(a, b float64) float64, entries Entries) float64 {
	components, total := len(a.NS), s.Weight()
	perRequest, sums := make([]int64, components), make([]int64, components)
	present, dominant := make([]int64, components), make([]int64, components)
	var mass, mass2 float64
	for i := from; i < to; {
		tie := i
		for tie < to && s.x[tie] == s.x[i] {
			tie++
		}
		w := weight(s.cum[i]/total, s.cum[tie]/total)
		for i < tie {
			same := i
			clear(sums)
			clear(present)
			clear(dominant)
			for same < tie && s.w[same] == s.w[i] {
				tally(entries(int(s.order[same])), perRequest, sums, present, dominant)
				same++
			}
			m := w * s.w[i]
			for c := range sums {
				a.NS[c] += m * float64(sums[c])
				a.Present[c] += m * float64(present[c])
				a.dominant[c] += m * float64(dominant[c])
			}
			mass += m * float64(same-i)
			mass2 += m * m * float64(same-i)
			i = same
		}
	}
	for c := range a.NS {
		a.NS[c] /= mass
		a.Present[c] /= mass
		a.dominant[c] /= mass
	}
	return mass * mass / mass2
}

// sum adds values in their order.
func sum(values []float64) float64 {
	s := 0.0
	for _, v := range values {
		s += v
	}
	return s
}

// tally adds one request to sums by component. perRequest is scratch space, zero before and after.
func tally(entries []Entry, perRequest, sums, present, dominant []int64) {
	for _, e := range entries {
		perRequest[e.Component] += e.NS
	}
	largest := -1
	for _, e := range entries {
		ns := perRequest[e.Component]
		if ns > 0 && (largest < 0 || ns > perRequest[largest] || ns == perRequest[largest] && e.Component < largest) {
			largest = e.Component
		}
	}
	for _, e := range entries {
		if ns := perRequest[e.Component]; ns != 0 {
			sums[e.Component] += ns
			present[e.Component]++
			perRequest[e.Component] = 0
		}
	}
	if largest >= 0 {
		dominant[largest]++
	}
}

// RoundToSum rounds values to whole numbers that sum to total, which should be near their sum: each is rounded
// down, and what is missing goes to the largest fractions, ties to the earlier.
func RoundToSum(values []float64, total int64) []int64 {
	rounded := make([]int64, len(values))
	order := make([]int, len(values))
	rest := total
	for i, v := range values {
		rounded[i] = int64(math.Floor(v))
		rest -= rounded[i]
		order[i] = i
	}
	if len(values) == 0 {
		return rounded
	}
	fraction := func(i int) float64 { return values[i] - math.Floor(values[i]) }
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case fraction(a) > fraction(b):
			return -1
		case fraction(a) < fraction(b):
			return 1
		}
		return 0
	})
	n := int64(len(order))
	share := rest / n
	if rest%n < 0 {
		share--
	}
	for i := range rounded {
		rounded[i] += share
	}
	for _, i := range order[:rest-share*n] {
		rounded[i]++
	}
	return rounded
}
