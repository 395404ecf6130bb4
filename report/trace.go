package report

// TraceV1 is the value of Trace.Schema.
const TraceV1 = "tailscope.trace/v1"

// A Trace is one request in full. Times are nanoseconds from the request's start: Spans on their own clocks as
// recorded, Path, Late and After on the entry's clock.
type Trace struct {
	Schema        string           `json:"schema"` // TraceV1; EncodeTrace fills it in
	TraceID       string           `json:"trace_id"`
	StartUnixNano int64            `json:"start_unix_nano,string"`
	DurationNS    int64            `json:"duration_ns"`
	Root          TraceRoot        `json:"root"`
	Path          List[Segment]    `json:"path"` // in time order; touching; sums to the duration
	Late          List[LateSpan]   `json:"late"`
	After         List[AfterSpan]  `json:"after"`
	Spans         List[Span]       `json:"spans"` // by start, then longer first, then id
	Defects       List[SpanDefect] `json:"defects"`
	Warnings      List[string]     `json:"warnings"`
}

// TraceRoot names the entry span.
type TraceRoot struct {
	SpanID    string `json:"span_id"`
	Service   string `json:"service"`
	Operation string `json:"operation"`
}

// A Segment is one stretch of the critical path. A wait is charged to the span that waits: the client span of a
// client–server gap, the parent of a gap in the caller (Peer is then the call that follows).
type Segment struct {
	SpanID    string `json:"span_id"`
	Service   string `json:"service"`
	Operation string `json:"operation"` // templated
	Name      string `json:"name"`      // raw
	Peer      string `json:"peer"`
	SpanKind  string `json:"span_kind"` // internal, server, client, producer, consumer, unspecified
	Kind      Kind   `json:"kind"`
	Evidence  string `json:"evidence"` // what the kind rests on; "" where the span itself says so
	StartNS   int64  `json:"start_ns"`
	EndNS     int64  `json:"end_ns"` // exclusive
}

// A LateSpan is work after a departure, clipped to begin at it.
type LateSpan struct {
	SpanID     string `json:"span_id"`
	Service    string `json:"service"`
	Operation  string `json:"operation"`
	Name       string `json:"name"`
	DepartedNS int64  `json:"departed_ns"` // when the caller left
	StartNS    int64  `json:"start_ns"`
	EndNS      int64  `json:"end_ns"`
}

// An AfterSpan is work after the end of its parent though nobody gave up.
type AfterSpan struct {
	SpanID    string `json:"span_id"`
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Name      string `json:"name"`
	StartNS   int64  `json:"start_ns"`
	EndNS     int64  `json:"end_ns"`
}

// A Span is one span as recorded.
type Span struct {
	SpanID       string `json:"span_id"`
	ParentSpanID string `json:"parent_span_id"` // "" for a root
	Service      string `json:"service"`
	Operation    string `json:"operation"`
	Name         string `json:"name"`
	SpanKind     string `json:"span_kind"`
	StartNS      int64  `json:"start_ns"`
	EndNS        int64  `json:"end_ns"`
	ShiftNS      int64  `json:"shift_ns"` // added, places it on the entry's clock; 0 without a reason
	SelfNS       int64  `json:"self_ns"`  // duration less the union of its children
	Status       string `json:"status"`   // unset, ok, error
}

// A SpanDefect is something wrong with one span.
type SpanDefect struct {
	Kind   string `json:"kind"`
	SpanID string `json:"span_id"`
	Detail string `json:"detail"`
}
