package metric

import (
	"cmp"
	"math"
	"slices"
)

// A Dist is what a point of a histogram or a summary says of its values.
type Dist struct {
	Count                  uint64
	HasSum, HasMin, HasMax bool
	Sum, Min, Max          float64

	// Bounds and Counts are those of an explicit histogram; both are empty if
	// only count and sum were recorded.
	Bounds []float64
	Counts []uint64

	// Scale, Zero, Threshold, Pos and Neg are those of an exponential one.
	Scale     int32
	Zero      uint64
	Threshold float64
	Pos, Neg  Run

	// Quantiles are those of a summary, by rising Quantile.
	Quantiles []Quantile
}

// A Run is neighbouring buckets of an exponential histogram: Counts[i] is that of
// bucket Offset+i. Neither its first nor its last count is zero.
type Run struct {
	Offset int64
	Counts []uint64
}

// trimmed is the run without empty ends, so that equal contents are equal runs.
func (r Run) trimmed() Run {
	for len(r.Counts) > 0 && r.Counts[0] == 0 {
		r.Offset, r.Counts = r.Offset+1, r.Counts[1:]
	}
	for n := len(r.Counts); n > 0 && r.Counts[n-1] == 0; n-- {
		r.Counts = r.Counts[:n-1]
	}
	if len(r.Counts) == 0 {
		return Run{}
	}
	return r
}

func (r Run) compare(o Run) int {
	if c := cmp.Compare(r.Offset, o.Offset); c != 0 {
		return c
	}
	return slices.Compare(r.Counts, o.Counts)
}

// newDist copies what p says, and reports whether its buckets can be read. cut
// copies counts. Bounds are shared with last's if they are the same.
func newDist(p *RawPoint, last *Dist, cut func([]uint64) []uint64) (*Dist, bool) {
	d := &Dist{Count: p.Count}
	finite := func(v float64, has bool) (float64, bool) {
		if !has || math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, false
		}
		return v + 0, true // + 0: one zero
	}
	d.Sum, d.HasSum = finite(p.Sum, p.HasSum)
	d.Min, d.HasMin = finite(p.Min, p.HasMin)
	d.Max, d.HasMax = finite(p.Max, p.HasMax)
	switch p.Type {
	case Histogram:
		d.Counts = cut(p.BucketCounts)
		if last != nil && slices.Equal(last.Bounds, p.Bounds) {
			d.Bounds = last.Bounds
		} else if len(p.Bounds) > 0 {
			d.Bounds = make([]float64, len(p.Bounds))
			for i, b := range p.Bounds {
				d.Bounds[i] = b + 0
			}
		}
	case ExponentialHistogram:
		d.Scale, d.Zero, d.Threshold = p.Scale, p.ZeroCount, p.ZeroThreshold+0
		d.Pos = Run{int64(p.PosOffset), cut(p.PosCounts)}.trimmed()
		d.Neg = Run{int64(p.NegOffset), cut(p.NegCounts)}.trimmed()
	case Summary:
		for _, q := range p.Quantiles {
			if q.Quantile >= 0 && q.Quantile <= 1 && !math.IsNaN(q.Value) && !math.IsInf(q.Value, 0) {
				d.Quantiles = append(d.Quantiles, Quantile{q.Quantile + 0, q.Value + 0})
			}
		}
		slices.SortFunc(d.Quantiles, compareQuantile)
	}
	if !d.fits(p.Type) {
		return &Dist{Count: d.Count, HasSum: d.HasSum, HasMin: d.HasMin, HasMax: d.HasMax, Sum: d.Sum, Min: d.Min, Max: d.Max}, false
	}
	return d, true
}

func compareQuantile(a, b Quantile) int {
	if c := cmp.Compare(a.Quantile, b.Quantile); c != 0 {
		return c
	}
	return cmp.Compare(a.Value, b.Value)
}

// fits reports whether a point of type t can hold d: the buckets belong to the
// bounds and hold the count, or there are none.
func (d *Dist) fits(t Type) bool {
	explicit := len(d.Bounds) > 0 || len(d.Counts) > 0
	exponential := d.Zero > 0 || len(d.Pos.Counts) > 0 || len(d.Neg.Counts) > 0
	if explicit && t != Histogram || exponential && t != ExponentialHistogram || len(d.Quantiles) > 0 && t != Summary {
		return false
	}
	if (d.Scale != 0 || d.Threshold != 0) && t != ExponentialHistogram || !(d.Threshold >= 0) || d.Threshold > math.MaxFloat64 || d.Scale < -maxScale || d.Scale > maxScale {
		return false
	}
	if explicit && len(d.Counts) != len(d.Bounds)+1 {
		return false
	}
	for i, b := range d.Bounds {
		if !(math.Abs(b) <= math.MaxFloat64) || i > 0 && b <= d.Bounds[i-1] {
			return false
		}
	}
	if !explicit && !exponential {
		return true
	}
	total, ok := d.Zero, true
	for _, counts := range [][]uint64{d.Counts, d.Pos.Counts, d.Neg.Counts} {
		if ok {
			total, ok = sum(total, counts)
		}
	}
	return ok && total == d.Count
}

// sum is total plus all counts, and whether it fits.
func sum(total uint64, counts []uint64) (uint64, bool) {
	for _, c := range counts {
		if total+c < total {
			return 0, false
		}
		total += c
	}
	return total, true
}

func (d *Dist) compare(o *Dist) int {
	for _, c := range []int{
		cmp.Compare(d.Count, o.Count),
		compareBool(d.HasSum, o.HasSum), cmp.Compare(d.Sum, o.Sum),
		compareBool(d.HasMin, o.HasMin), cmp.Compare(d.Min, o.Min),
		compareBool(d.HasMax, o.HasMax), cmp.Compare(d.Max, o.Max),
		slices.Compare(d.Bounds, o.Bounds), slices.Compare(d.Counts, o.Counts),
		cmp.Compare(d.Scale, o.Scale), cmp.Compare(d.Zero, o.Zero), cmp.Compare(d.Threshold, o.Threshold),
		d.Pos.compare(o.Pos), d.Neg.compare(o.Neg),
		slices.CompareFunc(d.Quantiles, o.Quantiles, compareQuantile),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}
