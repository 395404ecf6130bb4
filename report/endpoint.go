package report

// An Endpoint is the answer for one operation of a service, or for one class or shape of its requests.
type Endpoint struct {
	Service   string `json:"service"`    // service.name of the entry span
	Operation string `json:"operation"`  // templated
	Class     string `json:"class"`      // value of the class attribute; "" for all classes
	Shape     string `json:"shape"`      // short stable id of a set of calls; "" for all shapes
	ShapeText string `json:"shape_text"` // the shape in words
	Inner     bool   `json:"inner"`      // called by another service of the data, not an entry

	Verdict Verdict `json:"verdict"` // did the tail change? null: not tested
	Basis   *Basis  `json:"basis"`   // null where nothing was tested

	Requests Sides[Requests] `json:"requests"` // who was counted
	Arrivals Sides[Arrivals] `json:"arrivals"` // how fast requests came

	Streams List[StreamRow] `json:"streams"` // what has a lifetime and no latency, in no percentile; most first

	// Goodput is the share of the offered requests that were answered correctly within the objective, 0..1; null
	// without an objective.
	Goodput Pair `json:"goodput"`

	P50  Quantile `json:"p50"`  // the median
	P75  Quantile `json:"p75"`  // 75th percentile
	P90  Quantile `json:"p90"`  // 90th
	P95  Quantile `json:"p95"`  // 95th
	P99  Quantile `json:"p99"`  // 99th
	P999 Quantile `json:"p999"` // 99.9th
	Max  Quantile `json:"max"`  // its intervals are always open

	// Target is the quantile of Run.Quantile where that is none of the above; else null.
	Target *Quantile `json:"target"`

	// HighestClosed is the highest quantile whose interval the data close; null if none does.
	HighestClosed *HighestClosed `json:"highest_closed"`

	Before    *Before   `json:"before"`    // null where nothing tells of time before the entry span
	Structure Structure `json:"structure"` // of the requests

	// Allocation charges the target quantile to nodes and kinds: the rows of one side sum to that side's quantile,
	// the deltas to its change. Largest change first; for a single set largest time first.
	Allocation List[Allocation] `json:"allocation"`

	// Typical is the same for the median: what an ordinary request is made of.
	Typical List[Allocation] `json:"typical"`

	// Focus is the quantile at which the causes are ranked, where that is not the target: the change is shown there and not
	// at the target. Null where the target shows it, or nothing is shown.
	Focus *Focus `json:"focus"`

	// AllocationScale is the factor by which the averages around the quantile were scaled to sum to it, baseline
	// and current; far from 1 the allocation is rough.
	AllocationScale Pair `json:"allocation_scale"`

	Queues   List[Queue]    `json:"queues"`    // longest mean wait first
	LateWork LateWork       `json:"late_work"` // after a caller left
	After    After          `json:"after"`     // after the response
	Mix      List[Mix]      `json:"mix"`       // attributes whose shares differ, largest effect first
	MixSplit *MixSplit      `json:"mix_split"` // mix or behaviour; null where no attribute's shares differ, and where none was asked
	Attempts List[Attempts] `json:"attempts"`  // calls that were tried more than once
	FanOut   List[FanOut]   `json:"fan_out"`   // parallel groups

	Hedging    List[HedgedCall] `json:"hedging"`    // second attempts made while the first runs
	Coalescing List[Coalescing] `json:"coalescing"` // calls that could share one, or do
	Deadlines  List[Deadline]   `json:"deadlines"`  // the time that calls are given, where it is known
	Notices    List[CallNotice] `json:"notices"`    // ways of calling that cost time, most first
	Guards     List[Guard]      `json:"guards"`     // may the sides be compared?

	// Hypotheses are the causes by rank; empty under no-regression and where nothing was tested.
	Hypotheses List[Hypothesis] `json:"hypotheses"`

	Experiments List[Experiment] `json:"experiments"` // what was tried before, by --notes

	// Unexplained is the part of the target quantile's change that no hypothesis explains; null where none was
	// ranked.
	Unexplained *Unexplained `json:"unexplained"`

	Budget    List[Bound]    `json:"budget"`    // the bounds that tailscope.yaml states; empty without any
	Actions   List[Action]   `json:"actions"`   // what could be done about it
	Exemplars List[Exemplar] `json:"exemplars"` // requests worth opening

	// ReplayInexact is the share of requests, 0..1, that a replay of nothing does not return to the nanosecond.
	ReplayInexact Num `json:"replay_inexact"`

	Warnings List[string] `json:"warnings"` // doubts about this row
}

// Whole reports whether the row is for all requests of the endpoint.
func (e *Endpoint) Whole() bool { return e.Class == "" && e.Shape == "" }

// Of returns the row for quantile q, or nil if the endpoint has none for it.
func (e *Endpoint) Of(q Float) *Quantile {
	switch q {
	case 0.5:
		return &e.P50
	case 0.75:
		return &e.P75
	case 0.9:
		return &e.P90
	case 0.95:
		return &e.P95
	case 0.99:
		return &e.P99
	case 0.999:
		return &e.P999
	case 1:
		return &e.Max
	}
	return e.Target
}

// A Basis is the test on which a verdict rests.
type Basis struct {
	Test        string   `json:"test"`         // "interval" or "exceedance"
	Quantile    Float    `json:"quantile"`     // the pooled quantile that decides
	ThresholdMs Num      `json:"threshold_ms"` // the latency that is exceeded
	Baseline    [2]Float `json:"baseline"`     // requests above the threshold, of all
	Current     [2]Float `json:"current"`      // the same of the current side

	// BaselineShare and CurrentShare are the shares above the threshold, 0..1, with the weights of the requests; null
	// without a threshold.
	BaselineShare Num `json:"baseline_share"`
	CurrentShare  Num `json:"current_share"` // of the current side

	PValue Num `json:"p_value"` // after all adjustments

	// ExcludedMs is the rise of quantile ExcludedQuantile that the data exclude (one-sided 95 %); null where they
	// exclude none.
	ExcludedMs       Num `json:"excluded_ms"`
	ExcludedQuantile Num `json:"excluded_quantile"` // 0..1

	// Method says on what the independence of requests rests: "10 blocks of 4 s", "3 runs a side", "independence
	// assumed".
	Method string `json:"method"`
}

// The tests that a Basis may name.
const (
	IntervalTest   = "interval"
	ExceedanceTest = "exceedance"
)

// Requests counts the logical requests of one side. Sampled is in records; everything else is weighted.
type Requests struct {
	Sampled    int64    `json:"sampled"`    // requests in the percentiles
	Estimated  Float    `json:"estimated"`  // those, weighted
	Offered    Float    `json:"offered"`    // completed + rejected + cancelled + failed + timed out
	Completed  Float    `json:"completed"`  // answered without error
	Failed     Float    `json:"failed"`     // server error
	TimedOut   Float    `json:"timed_out"`  // a deadline ran out
	Cancelled  Float    `json:"cancelled"`  // the caller went away
	Rejected   Float    `json:"rejected"`   // turned away before any work
	Incomplete Float    `json:"incomplete"` // parts of the trace are missing
	Excluded   Excluded `json:"excluded"`   // by reason

	// EffectiveN is the number of equally weighted requests that would carry as much about the target quantile;
	// null where it was not computed, Sampled where nothing was sampled.
	EffectiveN Num `json:"effective_n"`
}

// Excluded counts requests that are left out of the percentiles by the reason. "stream" is always present in JSON;
// others: "cron", and the names of exclusion rules.
type Excluded map[string]Float

// Stream and Cron are the keys in Excluded of streams, whatever their kind, and of what a clock began.
const (
	Stream = "stream"
	Cron   = "cron"
)

// MarshalJSON adds the key "stream".
func (x Excluded) MarshalJSON() ([]byte, error) {
	m := map[string]Float{Stream: 0}
	for k, v := range x {
		m[k] = v
	}
	return marshal(m)
}

// A StreamRow is the streams of one kind behind an endpoint's name.
type StreamRow struct {
	Kind string `json:"kind"` // "upgraded", "event-stream", "long-poll", "subscription", "streaming-rpc"
	Sides[Lifetimes]
}

// Lifetimes is how long streams were open.
type Lifetimes struct {
	Count Float `json:"count"`  // weighted
	P50Ms Num   `json:"p50_ms"` // null where there are none
	MaxMs Num   `json:"max_ms"` // the longest
}

// Arrivals are rates of requests begun.
type Arrivals struct {
	MeanPerS    Num `json:"mean_per_s"`    // requests per second over the window
	Peak1sPerS  Num `json:"peak_1s_per_s"` // in the worst second
	SecondsSeen Num `json:"seconds"`       // length of the window in seconds
}

// A Quantile is one quantile of the endpoint's latency on both sides. Point values are given for every n; intervals
// may be open.
type Quantile struct {
	BaselineMs   Num      `json:"baseline_ms,omitzero"`    // null without requests
	CurrentMs    Num      `json:"current_ms"`              // null without requests
	DeltaMs      Num      `json:"delta_ms,omitzero"`       // current less baseline
	CIMs         Interval `json:"ci_ms,omitzero"`          // of the delta
	BaselineCIMs Interval `json:"baseline_ci_ms,omitzero"` // of the baseline
	CurrentCIMs  Interval `json:"current_ci_ms"`           // of the current side; null where none was computed

	// Needs is the number of (effective) requests a side from which on the interval closes; 0 where it is closed.
	Needs    int64        `json:"needs"`
	Warnings List[string] `json:"warnings"` // doubts about it
}

// A Focus is another quantile than the target, at which a change is shown.
type Focus struct {
	Quantile Float    `json:"quantile"` // 0..1
	Latency  Quantile `json:"latency"`  // its values and their change

	Allocation      List[Allocation] `json:"allocation"`        // as the endpoint's, of this quantile
	AllocationScale Pair             `json:"allocation_scale"`  // its factor
	UnexplainedMs   Num              `json:"unexplained_ms"`    // of its change
	UnexplainedCIMs Interval         `json:"unexplained_ci_ms"` // of what is left of it
}

// HighestClosed is the highest quantile whose interval is closed.
type HighestClosed struct {
	Quantile   Float    `json:"quantile"`             // 0..1
	BaselineMs Num      `json:"baseline_ms,omitzero"` // its value before
	CurrentMs  Num      `json:"current_ms"`           // its value now
	DeltaMs    Num      `json:"delta_ms,omitzero"`    // the change
	CIMs       Interval `json:"ci_ms,omitzero"`       // of the delta, closed
}

// Before is the time between a request's arrival and its entry span.
type Before struct {
	Evidence string       `json:"evidence"`           // what tells: "X-Request-Start", a queue metric, messaging dwell
	Baseline *BeforeTimes `json:"baseline,omitempty"` // the times before, of the baseline
	Current  BeforeTimes  `json:"current"`            // of the current side
	Warnings List[string] `json:"warnings"`           // doubts about it
}

// BeforeTimes are times before the entry span.
type BeforeTimes struct {
	P50Ms Num `json:"p50_ms"` // median
	P99Ms Num `json:"p99_ms"` // 99th percentile
}

// An Allocation is the part of a quantile that is charged to one node and kind.
type Allocation struct {
	Quantile  Float  `json:"quantile"`  // 0..1
	Node      NodeID `json:"node"`      // null for a row that is no node's
	Service   string `json:"service"`   // the node's
	Operation string `json:"operation"` // the node's

	// Peer is the callee of a call without a server half, or of a network, wait or untraced row between two services.
	Peer       string   `json:"peer"`
	Kind       Kind     `json:"kind"`                 // what the time was spent on
	BaselineMs Num      `json:"baseline_ms,omitzero"` // charged before
	CurrentMs  Num      `json:"current_ms"`           // charged now
	DeltaMs    Num      `json:"delta_ms,omitzero"`    // current less baseline
	CIMs       Interval `json:"ci_ms,omitzero"`       // of the delta

	// Largest is true only if the row's change (its time, for a single set) clears the second's interval.
	Largest bool `json:"largest"`

	// PathSwitch is the share of requests, 0..1, in which this row left or joined the critical path between the
	// sides; null where that was not computed.
	PathSwitch Num          `json:"path_switch"`
	Warnings   List[string] `json:"warnings"` // doubts about it
}

// A Mix is how often an attribute has a value, 0..1.
type Mix struct {
	Attribute string `json:"attribute"`         // key of the entry span or its resource
	Value     string `json:"value"`             // as recorded
	Baseline  Num    `json:"baseline,omitzero"` // share of the requests before
	Current   Num    `json:"current"`           // and now

	OddsRatio   Num      `json:"odds_ratio,omitzero"`    // current against baseline
	OddsCI      Interval `json:"odds_ci,omitzero"`       // its interval
	EffectP99Ms Num      `json:"effect_p99_ms,omitzero"` // p99 with it less p99 without it, current side
	Consequence bool     `json:"consequence"`            // the value follows from slowness: never used for reweighting
}

// A MixSplit says how much of the target quantile's change comes from other shares of the values of an attribute, and
// how much from other latencies at the same shares. The split depends on which side is given the other's shares.
type MixSplit struct {
	Attribute string         `json:"attribute"` // whose shares differ
	Lead      string         `json:"lead"`      // the order that rests on more requests: "current" or "baseline"
	Strength  string         `json:"strength"`  // "strong", "weak" or "cannot separate", by the requests beyond the quantile
	Orders    List[MixOrder] `json:"orders"`    // both

	// OnlyBaseline and OnlyCurrent are the shares of each side's requests, 0..1, with values that the other lacks: they
	// are not reweighted.
	OnlyBaseline Float `json:"only_baseline"`
	OnlyCurrent  Float `json:"only_current"` // the same of the current side
}

// A MixOrder is the split where one side is given the other's shares. The three parts sum to the change.
type MixOrder struct {
	Reweighted       string   `json:"reweighted"`        // the side that is given the other's shares: Baseline or Current
	CounterfactualMs Num      `json:"counterfactual_ms"` // its quantile then
	MixMs            Num      `json:"mix_ms"`            // from other shares
	MixCIMs          Interval `json:"mix_ci_ms"`         // of that
	BehaviourMs      Num      `json:"behaviour_ms"`      // from other latencies at the same shares
	BehaviourCIMs    Interval `json:"behaviour_ci_ms"`   // of that
	SupportMs        Num      `json:"support_ms"`        // from values that one side lacks
	TailN            Float    `json:"tail_n"`            // independent requests beyond the quantile that it rests on
}

// An Exemplar is a request worth opening: `tailscope trace ID`.
type Exemplar struct {
	TraceID    string `json:"trace_id"`    // as in the file
	Set        string `json:"set"`         // Baseline or Current
	DurationMs Num    `json:"duration_ms"` // of its entry span

	// Percentile is the share of the set's requests, 0..1, weighted, that took as long or less.
	Percentile Num `json:"percentile"`

	Why string `json:"why"` // what it shows
}
