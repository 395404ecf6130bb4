package metric

import "github.com/tailscope/tailscope/trace"

// A Type is the kind of a metric's points.
type Type uint8

const (
	Gauge Type = iota + 1
	Sum
	Histogram
	ExponentialHistogram
	Summary
)

func (t Type) String() string {
	switch t {
	case Gauge:
		return "gauge"
	case Sum:
		return "sum"
	case Histogram:
		return "histogram"
	case ExponentialHistogram:
		return "exponential-histogram"
	case Summary:
		return "summary"
	}
	return "unknown"
}

// A Temporality says what stretch of time the value of a point covers. It is
// Unspecified for gauges; a summary is cumulative by definition.
type Temporality uint8

const (
	Unspecified Temporality = iota
	Delta                   // since the point before
	Cumulative              // since the series began
)

func (t Temporality) String() string {
	switch t {
	case Delta:
		return "delta"
	case Cumulative:
		return "cumulative"
	}
	return "unspecified"
}

// A RawPoint is a data point as a decoder has it. Its slices are valid only
// during the call that it is passed to.
type RawPoint struct {
	Name, Unit  []byte
	Type        Type
	Temporality Temporality
	Monotonic   bool // of a Sum
	Resource    trace.ResourceID
	Attrs       []trace.RawAttr

	// Start is the beginning of the stretch the point covers; zero or NoTime if
	// it was not recorded. Time is its end and is required.
	Start, Time trace.Time

	// NoValue is the flag that says: the series existed, and nothing was recorded.
	NoValue bool

	// The value of a Gauge or a Sum: Int if IsInt, else Float.
	IsInt bool
	Int   int64
	Float float64

	// Of histograms and summaries.
	Count                  uint64
	Sum                    float64
	HasSum, HasMin, HasMax bool
	Min, Max               float64

	// Of a Histogram: bucket i counts the values in (Bounds[i-1], Bounds[i]];
	// there is one bucket more than there are bounds.
	Bounds       []float64
	BucketCounts []uint64

	// Of an ExponentialHistogram: bucket i of PosCounts counts the values in
	// (b^(PosOffset+i), b^(PosOffset+i+1)], b = 2^(2^-Scale).
	Scale                int32
	ZeroCount            uint64
	ZeroThreshold        float64
	PosOffset, NegOffset int32
	PosCounts, NegCounts []uint64

	// Of a Summary.
	Quantiles []Quantile

	Exemplars []RawExemplar
}

// A Quantile is one line of a Summary.
type Quantile struct{ Quantile, Value float64 }

// A RawExemplar is one measurement behind a point, with the span it was made in.
type RawExemplar struct {
	Value   float64
	Time    trace.Time
	TraceID trace.TraceID
	SpanID  trace.SpanID
}

// Reset empties p for the next point and keeps its memory.
func (p *RawPoint) Reset() {
	*p = RawPoint{
		Name: p.Name[:0], Unit: p.Unit[:0], Attrs: p.Attrs[:0],
		Bounds: p.Bounds[:0], BucketCounts: p.BucketCounts[:0],
		PosCounts: p.PosCounts[:0], NegCounts: p.NegCounts[:0],
		Quantiles: p.Quantiles[:0], Exemplars: p.Exemplars[:0],
	}
}
