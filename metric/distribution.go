package metric

import (
	"cmp"
	"math"
	"slices"
)

// A Bucket says that N values lie in [Lo, Hi]; either end may be infinite.
type Bucket struct {
	Lo, Hi float64
	N      uint64
}

// A Distribution is what histograms say of the values they counted. Its buckets
// may overlap: histograms with different bounds stay side by side, and a
// quantile is bounded by the ends of all of them, so that nothing is guessed
// about where in its bucket a value lies.
type Distribution struct {
	Count    uint64
	Sum      float64 // NaN: not recorded of all
	Min, Max float64 // NaN: not recorded of all
	Buckets  []Bucket
}

// noValues is the distribution to which others are added.
func noValues() Distribution {
	return Distribution{Min: math.NaN(), Max: math.NaN()}
}

// Mean is Sum / Count; NaN if one is missing.
func (d *Distribution) Mean() float64 {
	if d.Count == 0 {
		return math.NaN()
	}
	return d.Sum / float64(d.Count)
}

// add adds the values of o.
func (d *Distribution) add(o Distribution) {
	if o.Count == 0 {
		return
	}
	if d.Count == 0 {
		*d = o
		d.Buckets = slices.Clone(o.Buckets)
		return
	}
	d.Count = saturatingAdd(d.Count, o.Count)
	d.Sum += o.Sum
	d.Min = math.Min(d.Min, o.Min) // NaN if either is
	d.Max = math.Max(d.Max, o.Max)
	d.Buckets = compactBuckets(append(d.Buckets, o.Buckets...))
}

// compactBuckets sorts buckets and joins those with the same ends.
func compactBuckets(b []Bucket) []Bucket {
	slices.SortFunc(b, func(x, y Bucket) int {
		if c := cmp.Compare(x.Lo, y.Lo); c != 0 {
			return c
		}
		return cmp.Compare(x.Hi, y.Hi)
	})
	out := b[:0]
	for _, x := range b {
		if n := len(out); n > 0 && out[n-1].Lo == x.Lo && out[n-1].Hi == x.Hi {
			out[n-1].N = saturatingAdd(out[n-1].N, x.N)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// scaled is d with all values multiplied by factor > 0.
func (d Distribution) scaled(factor float64) Distribution {
	d.Sum, d.Min, d.Max = d.Sum*factor, d.Min*factor, d.Max*factor
	d.Buckets = slices.Clone(d.Buckets)
	for i := range d.Buckets {
		d.Buckets[i].Lo *= factor
		d.Buckets[i].Hi *= factor
	}
	return d
}

// Quantile bounds the q-quantile: the value of the ⌈q·Count⌉-th smallest lies in
// [lo, hi]. Both are NaN if there are no values; hi is infinite if the value lies
// beyond the last bound and no maximum was recorded.
func (d *Distribution) Quantile(q float64) (lo, hi float64) {
	var total uint64
	for _, b := range d.Buckets {
		total = saturatingAdd(total, b.N)
	}
	if total == 0 {
		return math.NaN(), math.NaN()
	}
	rank := rankOf(q, total)
	// If every value were at the low end of its bucket, the quantile would be
	// the lowest it can be; at the high ends, the highest.
	at := func(end func(Bucket) float64) float64 {
		b := slices.Clone(d.Buckets)
		slices.SortFunc(b, func(x, y Bucket) int { return cmp.Compare(end(x), end(y)) })
		var below uint64
		for _, x := range b {
			if below = saturatingAdd(below, x.N); below >= rank {
				return end(x)
			}
		}
		return end(b[len(b)-1])
	}
	return at(func(b Bucket) float64 { return b.Lo }), at(func(b Bucket) float64 { return b.Hi })
}

// rankOf is the least k with k/n ≥ q, at least 1. The slack of 1e-9 keeps a
// product such as 0.07·100 = 7.000000000000001 from becoming rank 8.
func rankOf(q float64, n uint64) uint64 {
	k := math.Ceil(q*float64(n) - 1e-9*q*float64(n))
	return max(1, min(n, uint64(max(k, 0))))
}

// Above bounds the number of values greater than x.
func (d *Distribution) Above(x float64) (lo, hi uint64) {
	for _, b := range d.Buckets {
		// A bucket's values exceed its open lower end, except where the two ends
		// meet: then they are that value.
		if b.Lo > x || b.Lo == x && b.Hi > x {
			lo = saturatingAdd(lo, b.N)
		}
		if b.Hi > x {
			hi = saturatingAdd(hi, b.N)
		}
	}
	return lo, hi
}

// distribution is d as buckets, each cut to the recorded minimum and maximum.
func (d *Dist) distribution() Distribution {
	out := Distribution{Count: d.Count, Sum: math.NaN(), Min: math.NaN(), Max: math.NaN()}
	if d.HasSum {
		out.Sum = d.Sum
	}
	if d.HasMin {
		out.Min = d.Min
	}
	if d.HasMax {
		out.Max = d.Max
	}
	if d.Count == 0 {
		return out
	}
	add := func(lo, hi float64, n uint64) {
		if n == 0 {
			return
		}
		// A minimum or maximum that contradicts the bucket cuts nothing.
		if d.HasMin && d.Min > lo && d.Min <= hi {
			lo = d.Min
		}
		if d.HasMax && d.Max < hi && d.Max >= lo {
			hi = d.Max
		}
		out.Buckets = append(out.Buckets, Bucket{lo, hi, n})
	}
	// A sum is recorded only where no value is negative: OpenTelemetry forbids
	// it otherwise.
	lowest := math.Inf(-1)
	if d.HasSum && !(d.HasMin && d.Min < 0) && d.Sum >= 0 {
		lowest = 0
	}
	switch {
	case len(d.Counts) > 0:
		for i, n := range d.Counts {
			lo, hi := lowest, math.Inf(1)
			if i > 0 {
				lo = d.Bounds[i-1]
			}
			if i < len(d.Bounds) {
				hi = d.Bounds[i]
			}
			if lo > hi {
				lo = math.Inf(-1) // negative bounds: the sum was a lie
			}
			add(lo, hi, n)
		}
	case d.Zero > 0 || len(d.Pos.Counts) > 0 || len(d.Neg.Counts) > 0:
		for i, n := range d.Neg.Counts {
			at := d.Neg.Offset + int64(i)
			add(-edge(d.Scale, at+1), -edge(d.Scale, at), n)
		}
		add(max(-d.Threshold, lowest), d.Threshold, d.Zero)
		for i, n := range d.Pos.Counts {
			at := d.Pos.Offset + int64(i)
			add(edge(d.Scale, at), edge(d.Scale, at+1), n)
		}
	case len(d.Quantiles) > 0:
		out.Buckets = quantileBuckets(d, lowest)
	default:
		add(lowest, math.Inf(1), d.Count)
	}
	out.Buckets = compactBuckets(out.Buckets)
	return out
}

// quantileBuckets is a summary as buckets: between two of its quantiles lie as
// many values as their ranks differ by.
func quantileBuckets(d *Dist, lowest float64) []Bucket {
	var out []Bucket
	lo, below := lowest, uint64(0)
	for _, q := range d.Quantiles {
		rank := uint64(0)
		if q.Quantile > 0 {
			rank = rankOf(q.Quantile, d.Count)
		}
		if q.Value < lo {
			continue // not rising: this line says nothing
		}
		if rank > below {
			out = append(out, Bucket{lo, q.Value, rank - below - 1}, Bucket{q.Value, q.Value, 1})
			below = rank
		}
		lo = q.Value
	}
	if below < d.Count {
		out = append(out, Bucket{lo, math.Inf(1), d.Count - below})
	}
	return slices.DeleteFunc(out, func(b Bucket) bool { return b.N == 0 })
}

// plus is the sum of two distributions of one series; ok is false where they
// have to stay side by side, because their bounds differ.
func (d *Dist) plus(o *Dist) (total *Dist, ok bool) {
	if d.exponential() && o.exponential() {
		return mergeExponential(d, o), true
	}
	if len(d.Counts) == 0 || !slices.Equal(d.Bounds, o.Bounds) || len(d.Counts) != len(o.Counts) {
		return nil, false
	}
	out := &Dist{Count: saturatingAdd(d.Count, o.Count), Bounds: d.Bounds, HasSum: d.HasSum && o.HasSum, Sum: d.Sum + o.Sum}
	out.HasMin, out.Min = extreme(d.HasMin && o.HasMin, d.Min, o.Min, math.Min)
	out.HasMax, out.Max = extreme(d.HasMax && o.HasMax, d.Max, o.Max, math.Max)
	out.Counts = make([]uint64, len(d.Counts))
	for i := range out.Counts {
		out.Counts[i] = saturatingAdd(d.Counts[i], o.Counts[i])
	}
	return out, true
}

func (d *Dist) exponential() bool {
	return d.Zero > 0 || len(d.Pos.Counts) > 0 || len(d.Neg.Counts) > 0
}

// minus is d − o, where o is an earlier state of the same series; ok is false if
// it cannot be one. The extremes stay: they bound the later values too.
func (d *Dist) minus(o *Dist) (diff *Dist, ok bool) {
	if o.Count > d.Count {
		return nil, false
	}
	out := *d
	switch {
	case d.exponential() && o.exponential():
		e, ok := minusExponential(d, o)
		if !ok {
			return nil, false
		}
		out = *e
	case len(d.Counts) > 0 && slices.Equal(d.Bounds, o.Bounds) && len(d.Counts) == len(o.Counts):
		out.Counts = make([]uint64, len(d.Counts))
		for i := range out.Counts {
			if o.Counts[i] > d.Counts[i] {
				return nil, false
			}
			out.Counts[i] = d.Counts[i] - o.Counts[i]
		}
	case o.Count == 0:
	case len(d.Counts) > 0 || len(o.Counts) > 0:
		return nil, false
	}
	out.Count = d.Count - o.Count
	out.HasSum = d.HasSum && o.HasSum
	out.Sum = 0
	if out.HasSum {
		out.Sum = d.Sum - o.Sum
	}
	return &out, true
}
