package metric

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A Point is what is kept of a data point. It never changes once made.
type Point struct {
	Start trace.Time // zero: not recorded
	Time  trace.Time

	NoValue bool // the series existed, and nothing was recorded
	IsInt   bool
	bits    uint64 // of a Gauge or Sum: the int64, or the float64's bits
	Dist    *Dist  // of a histogram or summary with a value; else nil
}

// Int is the value of a point with IsInt.
func (p *Point) Int() int64 { return int64(p.bits) }

// Value is the value of a Gauge or Sum.
func (p *Point) Value() float64 {
	if p.IsInt {
		return float64(int64(p.bits))
	}
	return math.Float64frombits(p.bits)
}

// setFloat keeps v. What is not finite has no value: NaN is how Prometheus marks
// a series that ended.
func (p *Point) setFloat(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		p.NoValue = true
		return
	}
	if v == 0 {
		v = 0 // one zero, so that equal points are equal bytes
	}
	p.bits = math.Float64bits(v)
}

// compare is the order of points in a series: by time, then start, then what
// they say. Equal means the same point twice.
func (p *Point) compare(q *Point) int {
	if c := cmp.Compare(p.Time, q.Time); c != 0 {
		return c
	}
	if c := cmp.Compare(p.Start, q.Start); c != 0 {
		return c
	}
	if c := compareBool(p.NoValue, q.NoValue); c != 0 {
		return c
	}
	if c := compareBool(p.IsInt, q.IsInt); c != 0 {
		return c
	}
	if c := cmp.Compare(p.bits, q.bits); c != 0 {
		return c
	}
	if p.Dist == nil || q.Dist == nil {
		return compareBool(p.Dist != nil, q.Dist != nil)
	}
	return p.Dist.compare(q.Dist)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// An Exemplar is one measurement behind a point, with the span it was made in.
type Exemplar struct {
	Value   float64
	Time    trace.Time
	TraceID trace.TraceID
	SpanID  trace.SpanID
}

// compare puts the largest value first: those explain a tail.
func (e Exemplar) compare(o Exemplar) int {
	if c := cmp.Compare(o.Value, e.Value); c != 0 {
		return c
	}
	if c := cmp.Compare(e.Time, o.Time); c != 0 {
		return c
	}
	if c := slices.Compare(e.TraceID[:], o.TraceID[:]); c != 0 {
		return c
	}
	return cmp.Compare(e.SpanID, o.SpanID)
}

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
	ok := true
	switch p.Type {
	case Histogram:
		if ok = explicitFits(p); !ok || len(p.BucketCounts) == 0 {
			break
		}
		if last != nil && slices.Equal(last.Bounds, p.Bounds) {
			d.Bounds = last.Bounds
		} else {
			d.Bounds = slices.Clone(p.Bounds)
		}
		d.Counts = cut(p.BucketCounts)
	case ExponentialHistogram:
		if ok = exponentialFits(p); !ok {
			break
		}
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
	return d, ok
}

func compareQuantile(a, b Quantile) int {
	if c := cmp.Compare(a.Quantile, b.Quantile); c != 0 {
		return c
	}
	return cmp.Compare(a.Value, b.Value)
}

// explicitFits reports whether the buckets belong to the bounds and hold the count.
func explicitFits(p *RawPoint) bool {
	if len(p.BucketCounts) == 0 {
		return len(p.Bounds) == 0
	}
	if len(p.BucketCounts) != len(p.Bounds)+1 {
		return false
	}
	for i, b := range p.Bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= p.Bounds[i-1] {
			return false
		}
	}
	total, ok := sum(0, p.BucketCounts)
	return ok && total == p.Count
}

func exponentialFits(p *RawPoint) bool {
	if math.IsNaN(p.ZeroThreshold) || math.IsInf(p.ZeroThreshold, 0) || p.ZeroThreshold < 0 {
		return false
	}
	total, ok := sum(p.ZeroCount, p.PosCounts)
	if ok {
		total, ok = sum(total, p.NegCounts)
	}
	return ok && total == p.Count
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
