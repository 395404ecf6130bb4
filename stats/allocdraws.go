package stats

import "math"

// groupsPerBandwidth is how finely the requests near a quantile are grouped by rank for resampling. Within an eighth
// of a bandwidth the kernel is straight to 0.1 %.
const groupsPerBandwidth = 8

// A grouping holds the entries of the requests near a quantile summed by rank group and block, so that a resample
// costs as much as there are groups and blocks, however many requests there are.
type grouping struct {
	k      kernel
	head   []float64 // weight of each block before the first group
	groups int
	mass   []float64 // weight by group and block
	from   []int     // the first of the sums of each group and block, and the end
	what   []int32   // component of each sum
	sum    []float64
}

// allocations are the allocations of a's quantile over all resamples, row by row, each scaled to its own quantile.
func (s *Sample) allocations(role int, a SideAllocation, entries Entries) []float64 {
	plan := s.plan()
	counts := plan.counts[role]()
	components := len(a.NS)
	g := s.group(role, newKernel(a.Quantile, s.EffectiveN(a.Quantile)), components, entries)
	draws := make([]float64, resamples*components)
	for r := range resamples {
		multiplier := counts[r*plan.n:][:plan.n]
		row := draws[r*components:][:components]
		place := plan.cols.place(a.Quantile, multiplier)
		if place < 0 || !g.mean(row, multiplier, plan.cols.total(multiplier)) {
			copy(row, a.NS)
			continue
		}
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		if sum > 0 {
			scale := s.x[place] / sum
			for i := range row {
				row[i] *= scale
			}
		}
	}
	return draws
}

// mean adds the kernel-weighted entries of a resample to row, up to a factor; false if no request is near.
func (g *grouping) mean(row, multiplier []float64, total float64) bool {
	n := len(multiplier)
	before := 0.0
	for b, m := range g.head {
		before += m * multiplier[b]
	}
	near := false
	for i := range g.groups {
		mass := 0.0
		for b, m := range g.mass[i*n:][:n] {
			mass += m * multiplier[b]
		}
		if mass == 0 {
			continue
		}
		a, b := before/total, (before+mass)/total
		before += mass
		if a > g.k.q+kernelReach*g.k.h {
			break
		}
		if b < g.k.q-kernelReach*g.k.h {
			continue
		}
		near = true
		weight := g.k.mean(a, b)
		for j, m := range multiplier {
			if m == 0 {
				continue
			}
			m *= weight
			for at := g.from[i*n+j]; at < g.from[i*n+j+1]; at++ {
				row[g.what[at]] += m * g.sum[at]
			}
		}
	}
	return near
}

// group sums the entries of all requests that the kernel reaches in any resample. Ties stay in one group.
func (s *Sample) group(role int, k kernel, components int, entries Entries) *grouping {
	plan := s.plan()
	counts := plan.counts[role]()
	from, to := s.window(k)
	for r := range resamples {
		multiplier := counts[r*plan.n:][:plan.n]
		if i := plan.cols.place(k.q-kernelReach*k.h, multiplier); i >= 0 {
			from = min(from, s.tieStart(i))
		}
		if i := plan.cols.place(min(k.q+kernelReach*k.h, 1), multiplier); i >= 0 {
			to = max(to, s.above(s.x[i]))
		}
	}
	g := &grouping{k: k, head: make([]float64, plan.n)}
	for i := range from {
		g.head[plan.block[i]] += s.w[i]
	}
	width := k.h / groupsPerBandwidth * s.Weight()
	scratch := make([]float64, plan.n*components)
	touched := make([]bool, plan.n*components)
	for i := from; i < to; {
		end := i + 1
		for end < to && (s.x[end] == s.x[end-1] || s.cum[end+1]-s.cum[i] <= width) {
			end++
		}
		row := len(g.mass)
		g.mass = append(g.mass, make([]float64, plan.n)...)
		for ; i < end; i++ {
			b := int(plan.block[i])
			g.mass[row+b] += s.w[i]
			for _, e := range entries(int(s.order[i])) {
				scratch[b*components+e.Component] += s.w[i] * float64(e.NS)
				touched[b*components+e.Component] = true
			}
		}
		for b := range plan.n {
			g.from = append(g.from, len(g.sum))
			for c := range components {
				if at := b*components + c; touched[at] {
					g.what, g.sum = append(g.what, int32(c)), append(g.sum, scratch[at])
					scratch[at], touched[at] = 0, false
				}
			}
		}
		g.groups++
	}
	g.from = append(g.from, len(g.sum))
	return g
}

// runIntervals replaces the intervals of changes by those in which runs are the units: Student's t on the runs' own
// allocations, with a variance not below the one within runs.
func (p *Pair) runIntervals(a *Allocation, level float64, base, cur Entries) {
	components := len(a.NS)
	b0, b1 := p.Base.byRun(a.Quantile, components, base), p.Cur.byRun(a.Quantile, components, cur)
	k0, k1 := float64(len(b0)), float64(len(b1))
	d := k0 + k1 - 2
	t := studentT((1+level)/2, d)
	column := func(runs [][]float64, pick func([]float64) float64) (mean, squares float64) {
		values := make([]float64, len(runs))
		for r, run := range runs {
			values[r] = pick(run)
		}
		return meanSquares(values)
	}
	half := func(pick func([]float64) float64) float64 {
		_, s0 := column(b0, pick)
		_, s1 := column(b1, pick)
		return t * math.Sqrt((s0+s1)/d*(1/k0+1/k1))
	}
	for i, ns := range a.NS {
		h := half(func(run []float64) float64 { return run[i] })
		a.Interval[i] = Interval{min(a.Interval[i].Lo, ns-h), max(a.Interval[i].Hi, ns+h)}
	}
	if l := &a.Lead; l.Second >= 0 {
		h := half(func(run []float64) float64 { return run[l.First] - run[l.Second] })
		l.Interval = Interval{min(l.Interval.Lo, l.Gap-h), max(l.Interval.Hi, l.Gap+h)}
	}
}

// byRun is the point allocation of each run.
func (s *Sample) byRun(q float64, components int, entries Entries) [][]float64 {
	runs := make([][]float64, s.runs)
	for r := range runs {
		runs[r] = s.only(r).allocate(q, components, entries).NS
	}
	return runs
}

// only is the sample of one run, without times.
func (s *Sample) only(run int) *Sample {
	o := &Sample{cum: []float64{0}, runs: 1, equal: s.equal}
	for i := range s.x {
		if s.runOf(i) == run {
			o.x, o.w, o.order = append(o.x, s.x[i]), append(o.w, s.w[i]), append(o.order, s.order[i])
			o.cum = append(o.cum, o.cum[len(o.cum)-1]+s.w[i])
		}
	}
	return o
}
