package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Interval is a confidence interval. An end that the data cannot close is infinite, so that comparisons with
// it stay right; renderers print it as open.
type Interval struct{ Lo, Hi float64 }

// ClosedBelow reports whether the lower end is known.
func (iv Interval) ClosedBelow() bool { return !math.IsInf(iv.Lo, -1) }

// ClosedAbove reports whether the upper end is known.
func (iv Interval) ClosedAbove() bool { return !math.IsInf(iv.Hi, 1) }

// Closed reports whether both ends are known.
func (iv Interval) Closed() bool { return iv.ClosedBelow() && iv.ClosedAbove() }

// Excludes reports whether x lies outside the interval.
func (iv Interval) Excludes(x float64) bool { return x < iv.Lo || x > iv.Hi }

// everything is the interval that says nothing.
var everything = Interval{math.Inf(-1), math.Inf(1)}

// NeededAbove is the least effective n at which the two-sided 95 % interval of the quantile q has an upper end:
// q^n <= 0.025. It is 6 at p50, 72 at p95, 368 at p99, 3688 at p99.9.
func NeededAbove(q float64) int { return int(math.Ceil(math.Log(0.025) / math.Log(q))) }

// closes reports whether n effective requests give the quantile a lower and an upper end.
func closes(n, q float64) (below, above bool) {
	return n*math.Log1p(-q) <= math.Log(0.025), n*math.Log(q) <= math.Log(0.025)
}

// EffectiveN is the number of independent, unweighted requests whose quantile q would be as uncertain as this
// one's, as far as the weights go; correlation in time is not in it. With equal weights it is N. Else it is
// p(1−p)/v with p the share above the quantile and v its linearised variance Σw²(1{x>c} − p)²/(Σw)², which may
// exceed N where the tail was kept more densely than the body.
func (s *Sample) EffectiveN(q float64) float64 {
	if s.equal {
		return float64(len(s.x))
	}
	c := s.Quantile(q)
	from := s.above(c)
	if from == len(s.x) {
		// Nothing above: the requests at the quantile itself are the tail.
		from = sort.SearchFloat64s(s.x, c)
	}
	h := s.heaviness(from)
	p := h.tail / s.Weight()
	return s.Weight() * h.perRequest(p)
}

// heaviness is what the weights below and from a place on do to the variance of the share beyond it.
type heaviness struct {
	body, tail             float64 // Σw
	bodySquare, tailSquare float64 // Σw²
}

func (s *Sample) heaviness(from int) heaviness {
	h := heaviness{body: s.cum[from], tail: s.Weight() - s.cum[from]}
	for _, w := range s.w[:from] {
		h.bodySquare += w * w
	}
	for _, w := range s.w[from:] {
		h.tailSquare += w * w
	}
	return h
}

// scaled is the heaviness with all weights times a factor.
func (h heaviness) scaled(k float64) heaviness {
	return heaviness{h.body * k, h.tail * k, h.bodySquare * k * k, h.tailSquare * k * k}
}

func (h heaviness) plus(o heaviness) heaviness {
	return heaviness{h.body + o.body, h.tail + o.tail, h.bodySquare + o.bodySquare, h.tailSquare + o.tailSquare}
}

// perRequest is the number of effective requests in a unit of weight where the share p lies beyond the place:
// 1/(p·b + (1−p)·t), with b and t the mean weights Σw²/Σw below and beyond. Times Σw it is p(1−p)/v. A part that
// has no requests borrows from the other.
func (h heaviness) perRequest(p float64) float64 {
	b, t := h.bodySquare/h.body, h.tailSquare/h.tail
	switch {
	case h.body <= 0:
		b = t
	case h.tail <= 0:
		t = b
	}
	return 1 / (p*b + (1-p)*t)
}

// Interval is the two-sided confidence interval of the point quantile q, at a level such as 0.95. Without times
// and with equal weights it is the order-statistic interval: from the largest l with P(K >= l) at least 0.975 to the
// smallest u with P(K >= u) at most 0.025, K ~ Bin(N, q) being the number of requests at or below the quantile. Else
// the ranks are those of an effective n that carries the weights and the correlation of the load: q(1−q)/V, with V
// the largest variance over all dyadic block widths, inflated for the correlation left between blocks and for the
// few blocks.
func (s *Sample) Interval(q, level float64) Interval {
	if len(s.x) == 0 {
		return everything
	}
	n := s.EffectiveN(q)
	below, above := closes(n, q)
	if v := s.blockVariance(q, level); v > 0 {
		n = min(n, q*(1-q)/v)
	}
	l, u := ranks(n, q, level)
	iv := everything
	if below {
		iv.Lo = s.Quantile(l / n)
	}
	if above {
		iv.Hi = s.Quantile(u / n)
	}
	return iv
}

// ranks are the ranks among n requests, not necessarily a whole number, between which the quantile q lies. Where
// none is high enough it is the last.
func ranks(n, q, level float64) (l, u float64) {
	tail := (1 - level) / 2
	atLeast := func(k int) float64 { return mathext.RegIncBeta(float64(k), n-float64(k)+1, q) }
	most := int(n)
	u = float64(sort.Search(most, func(i int) bool { return atLeast(i+1) <= tail }) + 1)
	l = float64(sort.Search(most, func(i int) bool { return atLeast(i+1) < 1-tail }))
	return l, min(u, n)
}

// blockVariance is the variance of the share above the point quantile q, as a share of q(1−q), by blocks of time:
// the largest over all widths that leave minBlocks. 0: times are not known.
func (s *Sample) blockVariance(q, level float64) float64 {
	if !s.timed() {
		return 0
	}
	c := s.Quantile(q)
	p := s.shareAbove(c)
	if p <= 0 {
		return 0
	}
	t := newTimeline(s, []float64{c})
	largest := 0.0
	for _, width := range widths(t.runs, t.cell) {
		b := t.blocks(width)
		v, rho := b.variance(0)
		f := inflation(rho, 1/float64(b.n))
		d := max(2, float64(b.n-1)/f)
		k := studentT((1+level)/2, d) / normal((1+level)/2)
		largest = max(largest, f*v*k*k)
	}
	return largest * q * (1 - q) / (p * (1 - p))
}

// studentT is the quantile p of Student's t with d degrees of freedom; without any, nothing bounds it.
func studentT(p, d float64) float64 {
	if d <= 0 {
		return math.Inf(1)
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d}.Quantile(p)
}

// studentTail is the two-sided probability that |t| with d degrees of freedom exceeds x.
func studentTail(x, d float64) float64 {
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d}.Survival(math.Abs(x))
}

// normal is the quantile p of the standard normal distribution.
func normal(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
