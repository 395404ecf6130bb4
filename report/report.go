package report

// ReportV1 is the value of Report.Schema.
const ReportV1 = "tailscope.report/v1"

// A Report is the whole answer of an analysis.
type Report struct {
	Schema  string       `json:"schema"`  // ReportV1; Encode fills it in
	Run     Run          `json:"run"`     // what was asked for
	Ingest  Ingest       `json:"ingest"`  // what was read
	Metrics List[Metric] `json:"metrics"` // one row per series and set, by name, set, service, instance, attributes

	// Endpoints come in order of importance: regressions by their cost first. Rows for a whole endpoint have an
	// empty class and shape; rows of its classes and shapes follow it.
	Endpoints List[Endpoint] `json:"endpoints"`

	// Drift is what one of the two sets lacks: endpoints, versions and classes that came or went, by what, then set,
	// then name.
	Drift List[Drift] `json:"drift"`

	// LeftOut says what was read and is not in this report.
	LeftOut List[LeftOut] `json:"left_out"`

	// Warnings are doubts about the whole report.
	Warnings List[string] `json:"warnings"`
}

// Comparison reports whether the report compares a baseline with a current set.
func (r *Report) Comparison() bool {
	for _, s := range r.Run.Sets {
		if s.Set == Baseline {
			return true
		}
	}
	return false
}

// A LeftOut is something that was read and is not shown.
type LeftOut struct {
	What  string `json:"what"`  // a plural noun: "inner endpoints"
	Count int64  `json:"count"` // of them
	Why   string `json:"why"`   // and how to see it: "give --inner"
}

// A Drift is part of the population that only one set has.
type Drift struct {
	What     DriftKind `json:"what"`     // endpoint, version or class
	Name     string    `json:"name"`     // "service operation", "service version", or the class
	Endpoint string    `json:"endpoint"` // of a class: "service operation" that it is a class of; else ""
	Set      string    `json:"set"`      // Baseline or Current: the only one that has it
	Requests Float     `json:"requests"` // it has there, weighted; of a version those that it served a part of
}

// Run says what was asked for.
type Run struct {
	Version        string    `json:"version"`          // of tailscope
	Kept           string    `json:"kept"`             // KeptAll or KeptSample
	Quantile       Float     `json:"quantile"`         // the target quantile, 0.99 unless asked otherwise
	Alpha          Float     `json:"alpha"`            // intervals hold with probability 1 − Alpha
	Population     string    `json:"population"`       // who counts: "default" or "success"
	MinEffectMs    Float     `json:"min_effect_ms"`    // changes smaller than this are none
	MinEffectShare Float     `json:"min_effect_share"` // of the baseline's quantile, 0..1
	Seed           int64     `json:"seed"`             // added to what resampling draws from the data; 0 unless asked otherwise
	Sets           List[Set] `json:"sets"`             // baseline first
}

// What was kept of the requests.
const (
	KeptAll    = "all"    // every request
	KeptSample = "sample" // a weighted sample, because of the memory limit
)

// A Set is one of the compared data sets.
type Set struct {
	Set  string `json:"set"`  // Baseline or Current
	From string `json:"from"` // start of the first span, RFC 3339 in UTC; "" where unknown
	To   string `json:"to"`   // end of the last span
	Runs int    `json:"runs"` // independent runs in it

	// Spans is how many spans of the set were accepted, as in Ingest.
	Spans int64 `json:"spans"`

	// Part reports whether the set is a part of one data set, whose files stand under Current.
	Part bool `json:"part,omitempty"`
}

// Ingest says what was read and what was wrong with it.
type Ingest struct {
	Files        List[File] `json:"files"`         // in the order in which they were named; a directory's by name
	NotUsed      NotUsed    `json:"not_used"`      // read and of no use
	Spans        int64      `json:"spans"`         // accepted: after duplicates and rejects
	Traces       int64      `json:"traces"`        // accepted
	MetricPoints int64      `json:"metric_points"` // accepted: after duplicates
	Duplicates   int64      `json:"duplicates"`    // exact repeats of spans, dropped
	Rejected     int64      `json:"rejected"`      // spans that could not be used
	Orphans      int64      `json:"orphans"`       // spans whose parent was reported and never came

	// IncompleteTraces are traces with an orphan or without a root.
	IncompleteTraces int64        `json:"incomplete_traces"`
	Links            Links        `json:"links"`   // links between spans
	Defects          List[Defect] `json:"defects"` // worst severity first
	Clocks           List[Clock]  `json:"clocks"`  // pairs of hosts that called each other
}

// A File is one input.
type File struct {
	Path         string          `json:"path"`          // as named; "-" is standard input
	Set          string          `json:"set"`           // Baseline or Current
	Format       string          `json:"format"`        // as sniffed: otlp-json, otlp-proto, …
	Spans        int64           `json:"spans"`         // accepted
	MetricPoints int64           `json:"metric_points"` // accepted
	Rejected     int64           `json:"rejected"`      // spans that could not be used
	Errors       List[FileError] `json:"errors"`        // the first few
	ErrorsTotal  int64           `json:"errors_total"`  // of them all
}

// A FileError is a place that could not be read.
type FileError struct {
	Where   string `json:"where"`   // "line 12", "byte 4096"
	Message string `json:"message"` // what is wrong there
}

// NotUsed counts what was read and is of no use here.
type NotUsed struct {
	LogRecords int64 `json:"log_records"` // log records in the files
}

// Links counts links between spans by whether the other end was found.
type Links struct {
	Resolved   int64 `json:"resolved"`   // the other end was found
	Unresolved int64 `json:"unresolved"` // it never came
}

// A Defect is one kind of damage in the input.
type Defect struct {
	Kind     string   `json:"kind"`     // duplicate, cycle, orphan, end-before-start, …
	Severity Severity `json:"severity"` // what it costs
	Count    int64    `json:"count"`    // spans or points concerned
	Example  string   `json:"example"`  // the first: file and line, or trace and span id
	Message  string   `json:"message"`  // a sentence: what it is and what was done about it; may be ""
}

// A Clock bounds how far the clocks of two hosts differ: clock(b) − clock(a) lies in [lo, hi].
type Clock struct {
	HostA          string `json:"host_a"`         // the first in byte order
	HostB          string `json:"host_b"`         // the other
	OffsetLoNS     Num    `json:"offset_lo_ns"`   // null: no call bounds it from below
	OffsetHiNS     Num    `json:"offset_hi_ns"`   // null: no call bounds it from above
	Contradictions int64  `json:"contradictions"` // calls that no offset in the bounds fits
}

// Attributes are attributes of a metric series; values that are not strings stand as text.
type Attributes map[string]string

// MarshalJSON gives an object, also for nil.
func (a Attributes) MarshalJSON() ([]byte, error) {
	if a == nil {
		return []byte("{}"), nil
	}
	return marshal(map[string]string(a))
}

// A Metric is what one series of a metric says over one set. Values are in Unit as recorded.
type Metric struct {
	Name       string     `json:"name"`       // as recorded
	Set        string     `json:"set"`        // Baseline or Current
	Service    string     `json:"service"`    // service.name of its resource
	Instance   string     `json:"instance"`   // instance of its resource; "" for none
	Unit       string     `json:"unit"`       // as recorded
	Attributes Attributes `json:"attributes"` // of the series
	Type       MetricType `json:"type"`       // its data type
	Points     int64      `json:"points"`     // distinct points
	Gaps       int64      `json:"gaps"`       // stretches without points
	Resets     int64      `json:"resets"`     // of a cumulative series
	Duplicates int64      `json:"duplicates"` // repeats of points, dropped
	Increase   Num        `json:"increase"`   // of a sum over the set; resets mended
	Count      Num        `json:"count"`      // of a histogram or summary
	Mean       Num        `json:"mean"`       // of the values; of a histogram sum ÷ count
	Min        Num        `json:"min"`        // smallest value
	Max        Num        `json:"max"`        // largest value
	P50Lo      Num        `json:"p50_lo"`     // bounds of the median: the edges of its bucket
	P50Hi      Num        `json:"p50_hi"`     // its upper edge
	P99Lo      Num        `json:"p99_lo"`     // the same of the 99th percentile
	P99Hi      Num        `json:"p99_hi"`     // its upper edge
}
