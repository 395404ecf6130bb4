package report

// A Verdict says whether an endpoint's tail changed. The zero Verdict is null in JSON and "not tested" in text.
type Verdict string

const (
	NotTested     Verdict = ""
	Regression    Verdict = "regression"
	NoRegression  Verdict = "no-regression"
	Improvement   Verdict = "improvement"
	NotComparable Verdict = "not-comparable"
	CannotTell    Verdict = "cannot-tell"
	Single        Verdict = "single" // one data set: there is nothing to compare
)

// Verdicts are all verdicts but NotTested.
var Verdicts = []Verdict{Regression, NoRegression, Improvement, NotComparable, CannotTell, Single}

// MarshalJSON gives null for NotTested.
func (v Verdict) MarshalJSON() ([]byte, error) {
	if v == NotTested {
		return []byte("null"), nil
	}
	return quoted(string(v)), nil
}

// A Kind is what a stretch of a request's time was spent on.
type Kind string

const (
	Service  Kind = "service"  // the node's own work; of an uninstrumented peer all of the call
	Wait     Kind = "wait"     // for an executor, pool or admission before work could start
	Network  Kind = "network"  // the quiet-time floor of a call's time outside its callee
	Backoff  Kind = "backoff"  // between the attempts of one logical call
	Timeout  Kind = "timeout"  // waited out, nothing known of the callee
	Untraced Kind = "untraced" // nobody's by any evidence at hand
)

// Kinds are all kinds of time, in the order in which they are shown.
var Kinds = []Kind{Service, Wait, Network, Backoff, Timeout, Untraced}

// A Cause is the kind of a hypothesis.
type Cause string

const (
	Load           Cause = "load"
	ClientWait     Cause = "client-wait"
	ServerQueue    Cause = "server-queue"
	ServiceTime    Cause = "service-time"
	Contention     Cause = "contention"
	Instance       Cause = "instance"
	NetworkCause   Cause = "network"
	MixShift       Cause = "mix-shift"
	FanOutCause    Cause = "fan-out"
	CallCount      Cause = "call-count"
	Serialization  Cause = "serialization"
	NewHopCause    Cause = "new-hop"
	Retries        Cause = "retries"
	TimeoutPlateau Cause = "timeout-plateau"
	LateWorkCause  Cause = "late-work"
	OptionalBranch Cause = "optional-branch"
	Hedging        Cause = "hedging"
	Pause          Cause = "pause"
	Measurement    Cause = "measurement"
)

// Causes are all kinds of hypotheses.
var Causes = []Cause{Load, ClientWait, ServerQueue, ServiceTime, Contention, Instance, NetworkCause, MixShift, FanOutCause, CallCount,
	Serialization, NewHopCause, Retries, TimeoutPlateau, LateWorkCause, OptionalBranch, Hedging, Pause, Measurement}

// A Strength says how far the evidence for a hypothesis carries.
type Strength string

const (
	Strong   Strength = "strong"
	Moderate Strength = "moderate"
	Weak     Strength = "weak"
)

// Strengths are all strengths, strongest first.
var Strengths = []Strength{Strong, Moderate, Weak}

// A GuardKind is one way in which a comparison can mislead.
type GuardKind string

const (
	PopulationGuard      GuardKind = "population"
	MixGuard             GuardKind = "mix"
	PlacementGuard       GuardKind = "placement"
	SamplingGuard        GuardKind = "sampling"
	OmissionGuard        GuardKind = "coordinated-omission"
	WarmUpGuard          GuardKind = "warm-up"
	WindowGuard          GuardKind = "window"
	ClockGuard           GuardKind = "clock"
	InstrumentationGuard GuardKind = "instrumentation"
	TooFewGuard          GuardKind = "too-few"
	RunsGuard            GuardKind = "runs"
)

// GuardKinds are all kinds of guards.
var GuardKinds = []GuardKind{PopulationGuard, MixGuard, PlacementGuard, SamplingGuard, OmissionGuard, WarmUpGuard, WindowGuard,
	ClockGuard, InstrumentationGuard, TooFewGuard, RunsGuard}

// A GuardStatus is what a guard found.
type GuardStatus string

const (
	GuardOK   GuardStatus = "ok"
	GuardWarn GuardStatus = "warn"
	GuardFail GuardStatus = "fail"
)

// GuardStatuses are all statuses of guards.
var GuardStatuses = []GuardStatus{GuardOK, GuardWarn, GuardFail}

// A DriftKind is what came or went.
type DriftKind string

const (
	EndpointDrift DriftKind = "endpoint" // a service's operation
	VersionDrift  DriftKind = "version"  // service.version of a service
	ClassDrift    DriftKind = "class"    // a value of the class attribute
)

// DriftKinds is all of them.
var DriftKinds = []DriftKind{EndpointDrift, VersionDrift, ClassDrift}

// A Severity says what a defect of the input costs.
type Severity string

const (
	Info     Severity = "info"      // worth knowing, changes nothing
	Notice   Severity = "notice"    // repaired
	DataLoss Severity = "data-loss" // something was left out
	Error    Severity = "error"     // something could not be read
)

// Severities are all severities, mildest first.
var Severities = []Severity{Info, Notice, DataLoss, Error}

// A DifferenceKind is how the structure of an endpoint's requests differs between the data sets.
type DifferenceKind string

const (
	NewHop       DifferenceKind = "new-hop"
	LostHop      DifferenceKind = "lost-hop"
	Renamed      DifferenceKind = "renamed"
	Serialized   DifferenceKind = "serialized"   // a parallel group became serial
	Parallelized DifferenceKind = "parallelized" // and the other way round
	Wider        DifferenceKind = "wider"        // more calls per parent
	Narrower     DifferenceKind = "narrower"
	WaitChanged  DifferenceKind = "waited-for" // whether its parent waits for a call, or gives up on it
)

// DifferenceKinds are all kinds of structural differences.
var DifferenceKinds = []DifferenceKind{NewHop, LostHop, Renamed, Serialized, Parallelized, Wider, Narrower, WaitChanged}

// A Mode is how often and how a node's call is made in one request.
type Mode string

const (
	SingleCall     Mode = "single"
	SerialRepeat   Mode = "serial-repeat"
	ParallelRepeat Mode = "parallel-repeat"
)

// Modes are all modes.
var Modes = []Mode{SingleCall, SerialRepeat, ParallelRepeat}

// An ActionVerdict is what the evidence says of an action.
type ActionVerdict string

const (
	Supported         ActionVerdict = "supported"
	Unsupported       ActionVerdict = "unsupported"
	MovesTheQueue     ActionVerdict = "moves-the-queue"
	ViolatesContract  ActionVerdict = "violates-contract"
	NotEnoughEvidence ActionVerdict = "not-enough-evidence"
)

// ActionVerdicts are all verdicts on actions.
var ActionVerdicts = []ActionVerdict{Supported, Unsupported, MovesTheQueue, ViolatesContract, NotEnoughEvidence}

// A Source is where a piece of evidence comes from.
type Source string

const (
	FromSpans   Source = "spans"
	FromEvents  Source = "events"
	FromMetrics Source = "metrics"
	FromConfig  Source = "config"
)

// Sources are all sources of evidence.
var Sources = []Source{FromSpans, FromEvents, FromMetrics, FromConfig}

// A CheckStatus says whether the data at hand could answer a discriminating check.
type CheckStatus string

const (
	Ran   CheckStatus = "ran"    // Outcome holds the answer
	ToRun CheckStatus = "to-run" // Query holds how to ask
)

// CheckStatuses are all statuses of checks.
var CheckStatuses = []CheckStatus{Ran, ToRun}

// A MetricType is the data type of a metric.
type MetricType string

const (
	Gauge                MetricType = "gauge"
	Sum                  MetricType = "sum"
	Histogram            MetricType = "histogram"
	ExponentialHistogram MetricType = "exponential-histogram"
	Summary              MetricType = "summary"
)

// MetricTypes are all types of metrics.
var MetricTypes = []MetricType{Gauge, Sum, Histogram, ExponentialHistogram, Summary}

// The names of the two data sets.
const (
	Baseline = "baseline"
	Current  = "current"
)
