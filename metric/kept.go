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
