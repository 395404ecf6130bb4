package report

import (
	"io"
	"reflect"
)

// InspectionV1 is the value of Inspection.Schema.
const InspectionV1 = "tailscope.inspection/v1"

// An Inspection says what data hold, what is wrong with them and what they lack, before any analysis.
type Inspection struct {
	Schema  string `json:"schema"`  // InspectionV1; EncodeInspection fills it in
	Version string `json:"version"` // of tailscope
	Ingest  Ingest `json:"ingest"`  // what was read; a file's set is "current"
	From    string `json:"from"`    // start of the first span, RFC 3339 in UTC; "" without spans
	To      string `json:"to"`      // end of the last span

	// MetricsFrom and MetricsTo are the first and the last time of a metric point; "" without points.
	MetricsFrom string `json:"metrics_from"`
	MetricsTo   string `json:"metrics_to"` // see metrics_from

	Outside       int64                   `json:"outside"`        // accepted spans that are in no request: below an orphan, in a cycle
	UnknownFields List[Tallied]           `json:"unknown_fields"` // fields that no rule of the format knows; the most frequent first
	Services      List[InspectedService]  `json:"services"`       // by name
	SpanKinds     List[Tallied]           `json:"span_kinds"`     // spans by kind; empty of a snapshot, which does not keep it of all
	Endpoints     List[InspectedEndpoint] `json:"endpoints"`      // entry endpoints first, the most time first
	Attributes    List[InspectedAttr]     `json:"attributes"`     // of entry spans and their resources, those in the most requests first
	Sampling      InspectedSampling       `json:"sampling"`       // how the requests were sampled
	Edges         List[InspectedEdge]     `json:"edges"`          // who calls whom, the most calls first
	Waits         List[InspectedWait]     `json:"waits"`          // where spans say themselves that they waited
	Pools         List[InspectedPool]     `json:"pools"`          // pools and executors that metrics watch
	Signals       List[InspectedSignal]   `json:"signals"`        // what metrics say of runtimes
	Durations     List[InspectedDuration] `json:"durations"`      // histograms of request durations
	Deadlines     List[Tallied]           `json:"deadlines"`      // attributes whose name tells of a deadline or timeout, by spans that have one
	Missing       List[Missing]           `json:"missing"`        // the most useful first
}

// A Tallied is something with the number of times it was met.
type Tallied struct {
	Name  string `json:"name"`  // as recorded
	Count int64  `json:"count"` // how often
}

// An InspectedService is a service of the data.
type InspectedService struct {
	Service   string       `json:"service"`   // service.name
	Spans     int64        `json:"spans"`     // that it recorded
	Instances int64        `json:"instances"` // different ones; 0 where no attribute names any
	Hosts     int64        `json:"hosts"`     // different clocks
	Versions  List[string] `json:"versions"`  // of service.version
}

// An InspectedEndpoint is an endpoint of the data.
type InspectedEndpoint struct {
	Service   string `json:"service"`   // service.name
	Operation string `json:"operation"` // templated
	Kind      string `json:"kind"`      // of its entry span
	Inner     bool   `json:"inner"`     // called by another service of the data
	Requests  int64  `json:"requests"`  // recorded
	Estimated Float  `json:"estimated"` // recorded ones, each with its weight
	PerS      Num    `json:"per_s"`     // Estimated over the time range of the spans; null below a second
	Failed    Float  `json:"failed"`    // weighted
	TimedOut  Float  `json:"timed_out"` // weighted
	Cancelled Float  `json:"cancelled"` // weighted
	Rejected  Float  `json:"rejected"`  // weighted
	NotCount  int64  `json:"not_count"` // streams and excluded requests, which are in no percentile
	P50Ms     Num    `json:"p50_ms"`    // of those that count by default, weighted; null without one
	P99Ms     Num    `json:"p99_ms"`    // the same of the 99th percentile
	Shapes    int64  `json:"shapes"`    // different sets of calls; 0 of an inner endpoint

	// Before is what says how long requests waited before the entry span; "" if nothing does.
	Before         string `json:"before"`
	BeforeRequests int64  `json:"before_requests"` // requests of which it says so
}

// An InspectedAttr is an attribute of entry spans or of their resources.
type InspectedAttr struct {
	Key      string        `json:"key"`      // as recorded
	Requests int64         `json:"requests"` // that have it
	Values   int64         `json:"values"`   // different ones; counting stops at 1,001
	Most     List[Tallied] `json:"most"`     // the most frequent values, at most 8
}

// InspectedSampling is how the requests were sampled.
type InspectedSampling struct {
	Stated     int64          `json:"stated"`     // requests that state their probability
	Unstated   int64          `json:"unstated"`   // requests that state nothing; each counts once
	Unreadable int64          `json:"unreadable"` // requests whose statement cannot be read; each counts once
	Unmeasured int64          `json:"unmeasured"` // requests that say they were sampled, not how likely; each counts once
	MinWeight  Num            `json:"min_weight"` // the least weight of a request; null without requests
	MaxWeight  Num            `json:"max_weight"` // the greatest
	Estimated  Float          `json:"estimated"`  // requests, each with its weight
	Policies   List[Tallied]  `json:"policies"`   // attributes that name a tail-sampling policy, with their value
	Against    List[Unbiased] `json:"against"`    // endpoints whose unsampled durations metrics hold

	// TailBiased says why slow requests seem to have been kept with a higher probability; "" if nothing speaks for it.
	TailBiased string `json:"tail_biased"`
}

// Unbiased compares the requests of an endpoint with what metrics counted, which nobody sampled.
type Unbiased struct {
	Service   string `json:"service"`   // service.name
	Operation string `json:"operation"` // of the endpoint
	Metric    string `json:"metric"`    // its name
	Counted   Float  `json:"counted"`   // by the metric
	Estimated Float  `json:"estimated"` // by spans
	AboveMs   Num    `json:"above_ms"`  // a bound of the metric near its 90th percentile
	MetricAt  Num    `json:"metric_at"` // share that the metric counted above it, at most
	SpansAt   Num    `json:"spans_at"`  // share of the requests in the spans above it
}

// An InspectedEdge is one service that calls another.
type InspectedEdge struct {
	Caller     string `json:"caller"`      // service of the caller
	Callee     string `json:"callee"`      // service of the callee; the peer as the caller names it if it recorded nothing
	Recorded   bool   `json:"recorded"`    // the callee recorded spans
	Kind       string `json:"kind"`        // of the call: client, producer, server
	Calls      int64  `json:"calls"`       // all
	Pairs      int64  `json:"pairs"`       // with a client and a server span: their gap can be split
	ClientOnly int64  `json:"client_only"` // without a server span
	ServerOnly int64  `json:"server_only"` // without a client span
	TimedOut   int64  `json:"timed_out"`   // that the caller left at a deadline
	Cancelled  int64  `json:"cancelled"`   // that the caller cancelled
	FloorMs    Num    `json:"floor_ms"`    // least of the network's shares over the operations; null without pairs

	ToldBy List[string] `json:"told_by"` // by what the data tell of waits before these calls, the strongest first
	Emit   string       `json:"emit"`    // what to record to have more told; "" if nothing is missing
}

// An InspectedWait is one thing by which spans say that they waited.
type InspectedWait struct {
	Service  string `json:"service"`  // that recorded it
	Evidence string `json:"evidence"` // span, events or attribute
	Resource string `json:"resource"` // the pool or executor, if named
	Count    int64  `json:"count"`    // waits
	TotalMs  Num    `json:"total_ms"` // their sum
}

// An InspectedPool is a pool or executor that metrics watch.
type InspectedPool struct {
	Service   string       `json:"service"`   // service.name
	Kind      string       `json:"kind"`      // connection-pool, executor, limiter, server
	Name      string       `json:"name"`      // may be ""
	Instances int64        `json:"instances"` // of the service that have it
	Exhausted int64        `json:"exhausted"` // instances at whose limit, or with requests waiting for it, it was seen
	Limit     Num          `json:"limit"`     // the usual one of an instance; null if not recorded
	UsedMax   Num          `json:"used_max"`  // the most in use in one instance; null if not recorded
	Wait      bool         `json:"wait"`      // the time waited for it is recorded
	Sources   List[string] `json:"sources"`   // names of the metrics
}

// An InspectedSignal is what a metric says of the runtimes of a service.
type InspectedSignal struct {
	Service   string `json:"service"`   // service.name
	Role      string `json:"role"`      // cpu-share, gc-pause, …
	Metric    string `json:"metric"`    // its name
	Instances int64  `json:"instances"` // of the service that have it
}

// An InspectedDuration is a histogram of request durations.
type InspectedDuration struct {
	Service   string `json:"service"`   // service.name
	Operation string `json:"operation"` // as the metric tells it
	Metric    string `json:"metric"`    // its name
	Count     Float  `json:"count"`     // requests
	P50Lo     Num    `json:"p50_lo"`    // bounds of the median in ms: the edges of its bucket
	P50Hi     Num    `json:"p50_hi"`    // its upper edge
	P99Lo     Num    `json:"p99_lo"`    // the same of the 99th percentile
	P99Hi     Num    `json:"p99_hi"`    // its upper edge
}

// A Missing is something that the data lack.
type Missing struct {
	What string `json:"what"` // what cannot be answered
	Why  string `json:"why"`  // what was looked for and not found
	Emit string `json:"emit"` // what to record, by name
}

// EncodeInspection is [Encode] for an inspection.
func EncodeInspection(w io.Writer, i *Inspection) error {
	c := *i
	c.Schema = InspectionV1
	return stream(w, reflect.ValueOf(&c).Elem(), true)
}
