// Package otlp writes traces and metrics in the two encodings of the OpenTelemetry protocol: the JSON
// that the Collector's file exporter writes, one document a line, and protobuf, each message behind its
// length in four bytes, big-endian. It is written by hand, without the protocol's generated code, so
// that readers under test share nothing with it.
package otlp

// An Attr is an attribute.
type Attr struct {
	Key   string
	Value any // string, int64, float64, bool or []string
}

// A Resource is what reports, and the schema of its attributes.
type Resource struct {
	Attrs     []Attr
	SchemaURL string
}

// A Scope is the instrumentation that made spans or metrics.
type Scope struct{ Name, Version string }

// ResourceSpans are the spans of one resource in one export.
type ResourceSpans struct {
	Resource *Resource
	Scopes   []ScopeSpans
}

// ScopeSpans are the spans of one scope.
type ScopeSpans struct {
	Scope Scope
	Spans []Span
}

// A Span is one span. Times are Unix nanoseconds.
type Span struct {
	TraceID    [16]byte
	SpanID     uint64
	TraceState string
	Parent     uint64 // 0: none
	Flags      uint32
	Name       string
	Kind       int
	Start, End uint64
	Attrs      []Attr
	Events     []Event
	Links      []Link
	Status     int // 0 unset, 1 ok, 2 error
	Message    string
}

// An Event is a moment of a span.
type Event struct {
	Time uint64
	Name string
}

// A Link points to another span.
type Link struct {
	TraceID [16]byte
	SpanID  uint64
	Flags   uint32
}

// ResourceMetrics are the metrics of one resource in one export.
type ResourceMetrics struct {
	Resource *Resource
	Scope    Scope
	Metrics  []Metric
}

// MetricType is the kind of a metric's points.
type MetricType int

const (
	Gauge MetricType = iota
	Counter
	UpDownCounter
	Histogram
)

// A Metric is one metric with the points of one collection. Sums and histograms are cumulative.
type Metric struct {
	Name, Unit string
	Type       MetricType
	Points     []Point
}

// A Point is a number (Int, or Float if IsFloat) or, in a Histogram metric, a distribution.
type Point struct {
	Attrs       []Attr
	Start, Time uint64
	Int         int64
	Float       float64
	IsFloat     bool

	Count         uint64
	Sum, Min, Max float64
	Bounds        []float64
	Buckets       []uint64
	Exemplars     []Exemplar
}

// An Exemplar is one measurement behind a point.
type Exemplar struct {
	Time    uint64
	Value   float64
	TraceID [16]byte
	SpanID  uint64
}
