package report

// TraceV1 is the value of Trace.Schema.
const TraceV1 = "tailscope.trace/v1"

// A Trace is one request in full. Times are nanoseconds from the request's start: Spans on their own clocks as
// recorded, Path, Late and After on the entry's clock.
type Trace struct {
	Schema        string           `json:"schema"`                 // TraceV1; EncodeTrace fills it in
	TraceID       string           `json:"trace_id"`               // as in the file
	StartUnixNano int64            `json:"start_unix_nano,string"` // start of the entry span, on its clock; a string in JSON
	DurationNS    int64            `json:"duration_ns"`            // of the entry span
	Root          TraceRoot        `json:"root"`                   // the entry span; the earliest orphan subtree's where the root is missing
	Place         *Place           `json:"place"`                  // among the requests of its endpoint; null where it is in no percentile
	Path          List[Segment]    `json:"path"`                   // in time order; touching; sums to the duration
	Late          List[LateSpan]   `json:"late"`                   // by start
	After         List[AfterSpan]  `json:"after"`                  // by start
	Spans         List[Span]       `json:"spans"`                  // by start, then longer first, then id
	Defects       List[SpanDefect] `json:"defects"`                // what is wrong with it
	Warnings      List[string]     `json:"warnings"`               // doubts about it
}

// A Place is where a request stands among those of its endpoint in the data.
type Place struct {
	Percentile Float    `json:"percentile"` // share of the requests, 0..1, weighted, that took as long or less
	CI         Interval `json:"ci"`         // of that share (Wilson), at 95 %
	Of         int64    `json:"of"`         // requests in the percentiles
	Estimated  Float    `json:"estimated"`  // those, weighted
	Median     Num      `json:"median_ms"`  // of theirs, for scale
}

// TraceRoot names the entry span.
type TraceRoot struct {
	SpanID    string `json:"span_id"`   // as in the file
	Service   string `json:"service"`   // its service
	Operation string `json:"operation"` // templated
}

// A Segment is one stretch of the critical path. A wait is charged to the span that waits: the client span of a
// client–server gap, the parent of a gap in the caller (Peer is then the call that follows).
type Segment struct {
	SpanID    string `json:"span_id"`   // whose time it is
	Service   string `json:"service"`   // of that span
	Operation string `json:"operation"` // templated
	Name      string `json:"name"`      // raw
	Peer      string `json:"peer"`      // the callee, where the time is spent on its way or in it unseen
	SpanKind  string `json:"span_kind"` // internal, server, client, producer, consumer, unspecified
	Kind      Kind   `json:"kind"`      // what the time was spent on
	Evidence  string `json:"evidence"`  // what the kind rests on; "" where the span itself says so
	StartNS   int64  `json:"start_ns"`  // inclusive
	EndNS     int64  `json:"end_ns"`    // exclusive
}

// A LateSpan is work after a departure, clipped to begin at it.
type LateSpan struct {
	SpanID     string `json:"span_id"`     // as in the file
	Service    string `json:"service"`     // of that span
	Operation  string `json:"operation"`   // templated
	Name       string `json:"name"`        // raw
	DepartedNS int64  `json:"departed_ns"` // when the caller left
	StartNS    int64  `json:"start_ns"`    // not before DepartedNS
	EndNS      int64  `json:"end_ns"`      // exclusive
}

// An AfterSpan is work after the end of its parent though nobody gave up.
type AfterSpan struct {
	SpanID    string `json:"span_id"`   // as in the file
	Service   string `json:"service"`   // of that span
	Operation string `json:"operation"` // templated
	Name      string `json:"name"`      // raw
	StartNS   int64  `json:"start_ns"`  // not before the end of its parent
	EndNS     int64  `json:"end_ns"`    // exclusive
}

// A Span is one span as recorded.
type Span struct {
	SpanID       string `json:"span_id"`        // as in the file
	ParentSpanID string `json:"parent_span_id"` // "" for a root
	Service      string `json:"service"`        // service.name
	Operation    string `json:"operation"`      // templated
	Name         string `json:"name"`           // raw
	SpanKind     string `json:"span_kind"`      // internal, server, client, producer, consumer, unspecified
	StartNS      int64  `json:"start_ns"`       // on its own clock
	EndNS        int64  `json:"end_ns"`         // exclusive, on its own clock
	ShiftNS      int64  `json:"shift_ns"`       // added, places it on the entry's clock; 0 without a reason
	SelfNS       int64  `json:"self_ns"`        // duration less the union of its children
	Status       string `json:"status"`         // unset, ok, error
}

// A SpanDefect is something wrong with one span.
type SpanDefect struct {
	Kind   string `json:"kind"`    // as in ingest.defects
	SpanID string `json:"span_id"` // the span concerned
	Detail string `json:"detail"`  // a sentence
}
