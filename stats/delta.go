package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Delta says how far a quantile moved.
type Delta struct {
	Quantile float64

	// Base and Cur are the point quantiles of all requests of a side, Change is Cur − Base.
	Base, Cur, Change float64

	// Interval is that of Change. It is open above if the data cannot close the current quantile above or the
	// baseline's below, and open below the other way round.
	Interval Interval

	// BaseInterval and CurInterval are those of one side by itself.
	BaseInterval, CurInterval Interval

	Method Method

	// Stretches is about how many independent stretches of time the smaller side holds; 0 where unknown.
	Stretches float64

	Warnings []Warning
}

// Delta is the change of the quantile q with its two-sided interval at a level such as 0.95. For a one-sided bound
// at 0.95 take an end of the interval at 0.90.
func (p *Pair) Delta(q, level float64) Delta {
	d := Delta{Quantile: q, Base: p.Base.Quantile(q), Cur: p.Cur.Quantile(q), Method: Independent,
		Interval: everything, BaseInterval: everything, CurInterval: everything}
	d.Change = d.Cur - d.Base
	if len(p.Base.x) == 0 || len(p.Cur.x) == 0 {
		return d
	}
	d.BaseInterval, d.CurInterval = p.Base.Interval(q, level), p.Cur.Interval(q, level)
	var iv Interval
	switch {
	case p.byRuns():
		d.Method = Runs
		iv = p.runs(q).interval(d.Base, level)
	case p.timed:
		d.Method = Blocks
		s := p.spread(q, level)
		d.Stretches = s.stretches
		iv = excess(d.Change, p.blockChanges(q, level), p.rankChanges(q, level), s.careful)
	default:
		iv = p.rankChanges(q, level)
	}
	iv = Interval{min(iv.Lo, d.Change), max(iv.Hi, d.Change)}
	d.Interval = p.open(q, iv)
	d.Warnings = p.warnings(d.Method, d.Stretches)
	return d
}

// open opens the ends of an interval of a change of the quantile q that the data cannot close.
func (p *Pair) open(q float64, iv Interval) Interval {
	below0, above0 := closes(p.Base.EffectiveN(q), q)
	below1, above1 := closes(p.Cur.EffectiveN(q), q)
	if !above1 || !below0 {
		iv.Hi = math.Inf(1)
	}
	if !below1 || !above0 {
		iv.Lo = math.Inf(-1)
	}
	return iv
}

// excess is the interval whose squared half widths are those of free, which independent requests would give, and
// factor² times what those of blocks exceed them by. Only the excess is known from a few blocks, so only it is
// widened for their small number; and where blocks are by chance more alike than requests, requests decide. To widen
// all of it covers 98 to 99 % where requests are independent, and to take the wider of the two as well.
func excess(centre float64, blocks, free Interval, factor float64) Interval {
	half := func(block, free float64) float64 {
		block, free = max(block, 0), max(free, 0)
		return math.Sqrt(free*free + factor*factor*max(block*block-free*free, 0))
	}
	return Interval{centre - half(centre-blocks.Lo, centre-free.Lo), centre + half(blocks.Hi-centre, free.Hi-centre)}
}

// widen moves the ends of an interval away from its centre by a factor.
func widen(centre float64, iv Interval, factor float64) Interval {
	return Interval{centre - factor*(centre-iv.Lo), centre + factor*(iv.Hi-centre)}
}

// percentiles are the points that leave (1−level)/2 of the values outside at each end. It sorts the values.
func percentiles(values []float64, level float64) Interval {
	slices.Sort(values)
	n := float64(len(values))
	tail := (1 - level) / 2
	// The k-th smallest of n with k = tail·n, and the k-th largest.
	k := max(int(math.Round(tail*n)), 1)
	return Interval{values[k-1], values[len(values)-k]}
}

// A spread is how much wider an interval must be than the percentiles of resampled blocks.
type spread struct {
	// factor is t(B−1)/normal, for the few blocks, times √f, for the correlation left between them, with f from the
	// exceedances of each side's own quantile.
	factor float64

	// careful is factor with the correlation taken to be higher than it was seen by its standard error, √(1/2B). It
	// goes with excess, which widens less: without it such intervals cover 90 to 92 % in windows of 8 τ.
	careful float64

	// stretches is about the number of independent stretches of time.
	stretches float64
}

func (p *Pair) spread(q, level float64) spread {
	p0, p1 := p.Base.plan(), p.Cur.plan()
	n := float64(min(p0.n, p1.n))
	rho := (p.Base.lag(q) + p.Cur.lag(q)) / 2
	inverse := (1/float64(p0.n) + 1/float64(p1.n)) / 2
	tail := (1 + level) / 2
	t := studentT(tail, max(n-1, 1)) / normal(tail)
	// The correction of ρ for bias keeps intervals wide enough; in the count of stretches it would make the fewest
	// blocks look dependent always, so the plain ρ counts there.
	plain := max(rho, 0)
	return spread{
		factor:    t * math.Sqrt(inflation(rho, inverse)),
		careful:   t * math.Sqrt(inflation(rho+math.Sqrt(inverse/2), inverse)),
		stretches: n * (1 - plain) / (1 + plain),
	}
}

// lag is the lag-1 correlation of the exceedances of the sample's own quantile between the blocks of its plan.
func (s *Sample) lag(q float64) float64 {
	plan := s.plan()
	from := s.above(s.Quantile(q))
	b := blocks{n: plan.n, starts: plan.starts, total: s.Weight(), mass: plan.mass, above: [][]float64{make([]float64, plan.n)}}
	for i := from; i < len(s.x); i++ {
		b.above[0][plan.block[i]] += s.w[i]
	}
	_, rho := b.variance(0)
	return rho
}

// blockChanges is where the middle of the changes lies over the resamples of blocks, each side by itself.
func (p *Pair) blockChanges(q, level float64) Interval {
	return differences(p.Cur.quantiles(1, q), p.Base.quantiles(0, q), level)
}

// rankChanges is where the middle of the changes lies over the ranks that independent requests could have given the
// quantile.
func (p *Pair) rankChanges(q, level float64) Interval {
	return differences(p.Cur.plausible(q), p.Base.plausible(q), level)
}

// rankStrata is the number of equally likely strata of a rank, each of which gives its middle.
const rankStrata = 256

// plausible are equally likely values of the quantile q: those at ranks U ~ Beta(n q, n(1−q)+1), n effective. Values
// between ranks are interpolated.
func (s *Sample) plausible(q float64) []float64 {
	n := s.EffectiveN(q)
	u := distuv.Beta{Alpha: n * q, Beta: n*(1-q) + 1}
	values := make([]float64, rankStrata)
	for i := range values {
		values[i] = s.between(u.Quantile((float64(i) + 0.5) / rankStrata))
	}
	return values
}

// differences is the interval that leaves (1−level)/2 of the differences a − b outside at each end, over all pairs.
// Both sides vary by themselves, so every pair is as likely as any other, and all pairs together know the ends far
// better than as many draws of both sides would. Both slices are sorted.
func differences(a, b []float64, level float64) Interval {
	slices.Sort(a)
	slices.Sort(b)
	pairs := len(a) * len(b)
	k := max(int(math.Round((1-level)/2*float64(pairs))), 1)
	return Interval{kthDifference(a, b, k), kthDifference(a, b, pairs-k+1)}
}

// kthDifference is the k-th smallest a − b, by halving the range until it is as narrow as a float64 can be told apart
// in it.
func kthDifference(a, b []float64, k int) float64 {
	lo, hi := a[0]-b[len(b)-1], a[len(a)-1]-b[0]
	for range 64 {
		mid := lo + (hi-lo)/2
		// How many pairs have a − b <= mid: as a grows, fewer of b's are large enough.
		count, j := 0, 0
		for _, x := range a {
			for j < len(b) && x-b[j] > mid {
				j++
			}
			count += len(b) - j
		}
		if count >= k {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// EffectiveN is the smaller of the sides' effective numbers of requests at the quantile q.
func (p *Pair) EffectiveN(q float64) float64 { return min(p.Base.EffectiveN(q), p.Cur.EffectiveN(q)) }

// The quantiles that a report gives; a higher one needs more requests to have an interval, see [NeededAbove].
var ladder = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999}

// HighestClosed is the highest reported quantile, not above the target, whose interval of the change is closed.
// ok is false if even that of the median is open.
func (p *Pair) HighestClosed() (q float64, ok bool) {
	if len(p.Base.x) == 0 || len(p.Cur.x) == 0 {
		return 0, false
	}
	for _, rung := range append(slices.Clone(ladder), p.opt.Quantile) {
		if rung <= p.opt.Quantile && rung >= q && p.open(rung, Interval{}).Closed() {
			q, ok = rung, true
		}
	}
	return q, ok
}
