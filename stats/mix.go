package stats

import (
	"cmp"
	"math"
	"slices"
)

const (
	// minCell is the least number of requests of a class on each side for a weight of its own.
	minCell = 10

	// maxMixCells bounds the work of resampling: beyond it the smallest classes are merged, as a class of a few requests is.
	maxMixCells = 32

	// separable and steady are the tail counts below which mix and behaviour cannot be separated, or weakly.
	separable, steady = 10, 20
)

// A Mix splits the change of a quantile into what comes from another mix of classes of requests and what from other
// latencies within classes (DiNardo, Fortin and Lemieux 1996), by giving the requests of one side the class shares
// of the other. Mix + Behaviour + Support of either order is the whole change.
type Mix struct {
	Quantile float64
	Change   float64

	// Reweighted current requests take the baseline's mix in CurrentOrder; reweighted baseline requests take the
	// current mix in BaselineOrder. The split depends on the order, so both are shown.
	CurrentOrder, BaselineOrder Split

	// Lead is the order with the larger tail count.
	Lead Order

	// Strength says how far the leading order can be trusted.
	Strength Strength

	// OnlyBase and OnlyCur are the shares of each side's weight in classes that the other side lacks. They are
	// not reweighted; what they do to the quantile is in Support.
	OnlyBase, OnlyCur float64

	// Cells are the classes with their shares among the requests of shared classes, after merging, ordered by
	// median latency.
	Cells []Cell
}

// A Strength says on how many requests of the tail a split rests.
type Strength string

const (
	Strong      Strength = "strong"
	Weak        Strength = "weak"            // fewer than 20
	Inseparable Strength = "cannot separate" // fewer than 10
)

// A Cell is one class of requests, or several that were too small and have similar latencies.
type Cell struct {
	Classes             []int // the caller's numbers, ascending
	BaseN, CurN         int
	BaseShare, CurShare float64
}

// An Order says which side was reweighted.
type Order string

const (
	CurrentOrder  Order = "current"
	BaselineOrder Order = "baseline"
)

// A Split is the change of a quantile in parts.
type Split struct {
	Mix, Behaviour, Support float64 // ns

	// Counterfactual is the quantile of the reweighted requests.
	Counterfactual float64

	// MixInterval and BehaviourInterval bootstrap shares and latencies together.
	MixInterval, BehaviourInterval Interval

	// TailN is (Σω)²/Σω² over the reweighted requests above the counterfactual quantile.
	TailN float64
}

// Mix splits the change of the quantile q. base and cur give the class of request j of the [Requests], numbered
// from 0. Classes must not be consequences of a latency, such as a retry or an error: that explains the effect away.
func (p *Pair) Mix(q, level float64, base, cur func(j int) int) Mix {
	m := Mix{Quantile: q, Change: p.Cur.Quantile(q) - p.Base.Quantile(q)}
	sides := [2]*mixSide{newMixSide(p.Base, base), newMixSide(p.Cur, cur)}
	cells := cut(sides)
	for _, side := range sides {
		side.assign(cells)
	}
	m.OnlyBase, m.OnlyCur = sides[0].only(), sides[1].only()
	ones := [2][]float64{repeat(1, sides[0].n), repeat(1, sides[1].n)}
	s0, s1 := sides[0].shares(len(cells), ones[0]), sides[1].shares(len(cells), ones[1])
	for i, c := range cells {
		m.Cells = append(m.Cells, Cell{c.classes, c.n[0], c.n[1], s0[i], s1[i]})
	}
	if len(cells) == 0 {
		m.Lead, m.Strength = CurrentOrder, Inseparable
		m.CurrentOrder = Split{Support: m.Change, MixInterval: everything, BehaviourInterval: everything}
		m.BaselineOrder = m.CurrentOrder
		return m
	}
	w := newMixer(sides, len(cells), q)
	point := w.split(ones[0], ones[1], true)
	m.CurrentOrder, m.BaselineOrder = point[0], point[1]
	m.CurrentOrder.Support = m.Change - m.CurrentOrder.Mix - m.CurrentOrder.Behaviour
	m.BaselineOrder.Support = m.Change - m.BaselineOrder.Mix - m.BaselineOrder.Behaviour
	m.Lead = CurrentOrder
	lead := &m.CurrentOrder
	if m.BaselineOrder.TailN > m.CurrentOrder.TailN {
		m.Lead, lead = BaselineOrder, &m.BaselineOrder
	}
	switch {
	case lead.TailN < separable:
		m.Strength = Inseparable
	case lead.TailN < steady:
		m.Strength = Weak
	default:
		m.Strength = Strong
	}
	p.mixIntervals(&m, w, level)
	if p.byRuns() {
		p.mixByRuns(&m, sides, cells, level)
	}
	return m
}

// mixByRuns widens the intervals to what the runs differ by: each run is left out in turn (a jackknife), and Student's
// t has k0+k1−2 degrees. Within runs all requests may have the same mix and the same level.
func (p *Pair) mixByRuns(m *Mix, sides [2]*mixSide, cells []mixCell, level float64) {
	var by [2]*mixSide
	var ones [2][]float64
	for i, side := range sides {
		x := &mixSide{s: side.s, n: side.s.runs, block: make([]int32, len(side.s.x)), class: side.class}
		for j := range x.block {
			x.block[j] = int32(side.s.runOf(j))
		}
		x.assign(cells)
		by[i], ones[i] = x, repeat(1, x.n)
	}
	w := newMixer(by, len(cells), m.Quantile)
	var variance [4]float64
	for i := range by {
		k := by[i].n
		var parts [4][]float64
		for run := range k {
			ones[i][run] = 0
			s := w.split(ones[0], ones[1], false)
			ones[i][run] = 1
			for j, v := range []float64{s[0].Mix, s[0].Behaviour, s[1].Mix, s[1].Behaviour} {
				parts[j] = append(parts[j], v)
			}
		}
		for j := range parts {
			_, squares := meanSquares(parts[j])
			variance[j] += float64(k-1) / float64(k) * squares
		}
	}
	t := studentT((1+level)/2, float64(by[0].n+by[1].n-2))
	for j, part := range []struct {
		value float64
		iv    *Interval
	}{
		{m.CurrentOrder.Mix, &m.CurrentOrder.MixInterval},
		{m.CurrentOrder.Behaviour, &m.CurrentOrder.BehaviourInterval},
		{m.BaselineOrder.Mix, &m.BaselineOrder.MixInterval},
		{m.BaselineOrder.Behaviour, &m.BaselineOrder.BehaviourInterval},
	} {
		half := t * math.Sqrt(variance[j])
		if math.IsNaN(half) { // a run holds all of a class
			*part.iv = everything
			continue
		}
		part.iv.Lo, part.iv.Hi = min(part.iv.Lo, part.value-half), max(part.iv.Hi, part.value+half)
	}
}

// mixIntervals resamples blocks on both sides at once, shares and latencies together.
func (p *Pair) mixIntervals(m *Mix, w *mixer, level float64) {
	n0, n1 := w.sides[0].n, w.sides[1].n
	c0, c1 := p.Base.plan().counts[0](), p.Cur.plan().counts[1]()
	var draws [4][]float64
	for r := range resamples {
		s := w.split(c0[r*n0:][:n0], c1[r*n1:][:n1], false)
		for i, v := range []float64{s[0].Mix, s[0].Behaviour, s[1].Mix, s[1].Behaviour} {
			if !math.IsNaN(v) {
				draws[i] = append(draws[i], v)
			}
		}
	}
	factor := p.spread(m.Quantile, level).factor
	for i, part := range []struct {
		value float64
		iv    *Interval
	}{
		{m.CurrentOrder.Mix, &m.CurrentOrder.MixInterval},
		{m.CurrentOrder.Behaviour, &m.CurrentOrder.BehaviourInterval},
		{m.BaselineOrder.Mix, &m.BaselineOrder.MixInterval},
		{m.BaselineOrder.Behaviour, &m.BaselineOrder.BehaviourInterval},
	} {
		*part.iv = everything
		if len(draws[i]) > 0 {
			iv := widen(part.value, percentiles(draws[i], level), factor)
			*part.iv = p.open(m.Quantile, Interval{min(iv.Lo, part.value), max(iv.Hi, part.value)})
		}
	}
}

// A mixSide is one side with the class of each request.
type mixSide struct {
	s      *Sample
	block  []int32 // of each request: of time, or its run
	n      int     // blocks
	class  []int   // of each request in sorted order
	apart  float64 // weight in classes that the other side lacks
	column []int32 // block·cells + cell of the requests in cells
	x, w   []float64
	cols   *columns
}

func newMixSide(s *Sample, class func(int) int) *mixSide {
	m := &mixSide{s: s, block: s.plan().block, n: s.plan().n, class: make([]int, len(s.x))}
	for i, j := range s.order {
		m.class[i] = class(int(j))
	}
	return m
}

// A mixCell is a cell while cells are being merged.
type mixCell struct {
	classes []int
	n       [2]int
	median  float64
}

// cut makes the cells: one for each class that both sides have, ordered by median latency; then, while a cell has
// fewer than minCell requests on a side, the smallest is merged with the neighbour of the nearer median.
func cut(sides [2]*mixSide) []mixCell {
	most := -1
	for _, side := range sides {
		for _, c := range side.class {
			most = max(most, c)
		}
	}
	counts := make([][2]int, most+1)
	values := make([][]float64, most+1)
	for i, side := range sides {
		for j, c := range side.class {
			counts[c][i]++
			values[c] = append(values[c], side.s.x[j])
		}
	}
	var cells []mixCell
	for c, n := range counts {
		if n[0] > 0 && n[1] > 0 {
			slices.Sort(values[c])
			cells = append(cells, mixCell{[]int{c}, n, values[c][(len(values[c])-1)/2]})
		}
	}
	slices.SortStableFunc(cells, func(a, b mixCell) int { return cmp.Compare(a.median, b.median) })
	for len(cells) > 1 {
		small := 0
		for i, c := range cells {
			if min(c.n[0], c.n[1]) < min(cells[small].n[0], cells[small].n[1]) {
				small = i
			}
		}
		if min(cells[small].n[0], cells[small].n[1]) >= minCell && len(cells) <= maxMixCells {
			break
		}
		into := small + 1
		if into == len(cells) || small > 0 && ratio(cells[small-1].median, cells[small].median) < ratio(cells[small].median, cells[into].median) {
			into = small - 1
		}
		a, b := cells[min(small, into)], cells[max(small, into)]
		merged := mixCell{
			classes: append(slices.Clone(a.classes), b.classes...),
			n:       [2]int{a.n[0] + b.n[0], a.n[1] + b.n[1]},
			median:  a.median,
		}
		if b.n[0]+b.n[1] > a.n[0]+a.n[1] {
			merged.median = b.median // of the larger part, which keeps the order
		}
		slices.Sort(merged.classes)
		cells = slices.Replace(cells, min(small, into), max(small, into)+1, merged)
	}
	if len(cells) == 1 && min(cells[0].n[0], cells[0].n[1]) == 0 {
		return nil
	}
	return cells
}

// ratio is how many times larger b is than a, a nanosecond standing for zero.
func ratio(a, b float64) float64 { return max(b, 1) / max(a, 1) }

// assign puts the requests into cells.
func (m *mixSide) assign(cells []mixCell) {
	of := map[int]int{}
	for i, c := range cells {
		for _, class := range c.classes {
			of[class] = i
		}
	}
	for i, class := range m.class {
		cell, ok := of[class]
		if !ok {
			m.apart += m.s.w[i]
			continue
		}
		m.column = append(m.column, m.block[i]*int32(len(cells))+int32(cell))
		m.x, m.w = append(m.x, m.s.x[i]), append(m.w, m.s.w[i])
	}
	m.cols = newColumns(m.x, m.w, m.column, m.n*len(cells))
}

// only is the share of the weight in classes that the other side lacks.
func (m *mixSide) only() float64 {
	if len(m.s.x) == 0 {
		return 0
	}
	return m.apart / m.s.Weight()
}

// shares are the cells' shares of the weight under multipliers of blocks.
func (m *mixSide) shares(cells int, multiplier []float64) []float64 {
	s := make([]float64, cells)
	all := m.cols.sums[m.cols.rows()*m.cols.k:]
	total := 0.0
	for b, times := range multiplier {
		for c := range s {
			s[c] += times * all[b*cells+c]
		}
	}
	for _, v := range s {
		total += v
	}
	for c := range s {
		s[c] /= total
	}
	return s
}

// A mixer splits the change under multipliers of blocks.
type mixer struct {
	sides   [2]*mixSide
	cells   int
	q       float64
	weights [2][]float64 // multipliers by block and cell, scratch space
}

func newMixer(sides [2]*mixSide, cells int, q float64) *mixer {
	w := &mixer{sides: sides, cells: cells, q: q}
	for i, side := range sides {
		w.weights[i] = make([]float64, side.n*cells)
	}
	return w
}

// quantile is that of one side, each request weighing its block's multiplier times its cell's ω.
func (w *mixer) quantile(i int, multiplier, omega []float64) (value float64, place int) {
	for b, times := range multiplier {
		for c := range w.cells {
			w.weights[i][b*w.cells+c] = times * omega[c]
		}
	}
	place = w.sides[i].cols.place(w.q, w.weights[i])
	if place < 0 {
		return math.NaN(), place
	}
	return w.sides[i].x[place], place
}

// split is the change among shared classes in both orders, without its part outside of them; with tail counts, which
// cost a pass over the tail, if wanted.
func (w *mixer) split(m0, m1 []float64, tails bool) [2]Split {
	s0, s1 := w.sides[0].shares(w.cells, m0), w.sides[1].shares(w.cells, m1)
	one := repeat(1, w.cells)
	q0, _ := w.quantile(0, m0, one)
	q1, _ := w.quantile(1, m1, one)
	var splits [2]Split
	// The current requests with the baseline's mix.
	cf, at := w.quantile(1, m1, over(s0, s1))
	splits[0] = Split{Mix: q1 - cf, Behaviour: cf - q0, Counterfactual: cf}
	if tails {
		splits[0].TailN = w.tail(1, at)
	}
	// The baseline's requests with the current mix.
	cf, at = w.quantile(0, m0, over(s1, s0))
	splits[1] = Split{Mix: cf - q0, Behaviour: q1 - cf, Counterfactual: cf}
	if tails {
		splits[1].TailN = w.tail(0, at)
	}
	return splits
}

// tail is (Σω)²/Σω² over the requests above a place under the last weights of a side.
func (w *mixer) tail(i, place int) float64 {
	if place < 0 {
		return 0
	}
	side := w.sides[i]
	var sum, sum2 float64
	for j := place + 1; j < len(side.x); j++ {
		if side.x[j] == side.x[place] {
			continue
		}
		v := side.w[j] * w.weights[i][side.column[j]]
		sum += v
		sum2 += v * v
	}
	if sum == 0 {
		return 0
	}
	return sum * sum / sum2
}

// over is a/b by cell; a resample in which a cell of b is empty leaves it at 1, which weighs nothing there.
func over(a, b []float64) []float64 {
	r := repeat(1, len(a))
	for i := range a {
		if b[i] > 0 {
			r[i] = a[i] / b[i]
		}
	}
	return r
}

func repeat(v float64, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = v
	}
	return s
}
