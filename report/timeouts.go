package report

import (
	"io"
	"reflect"
)

// TimeoutsV1 is the value of Timeouts.Schema.
const TimeoutsV1 = "tailscope.timeouts/v1"

// Timeouts says what other timeouts would have done to the calls of one edge. Shares are of the calls, 0..1.
type Timeouts struct {
	Schema  string `json:"schema"`  // TimeoutsV1; EncodeTimeouts fills it in
	Version string `json:"version"` // of tailscope
	Service string `json:"service"` // the caller
	Peer    string `json:"peer"`    // the callee

	Edges List[TimeoutEdge] `json:"edges"` // one for each operation of the callee, the most calls first
}

// A TimeoutEdge is the sweep over the calls of one operation.
type TimeoutEdge struct {
	Operation string `json:"operation"` // the callee's
	Calls     Float  `json:"calls"`     // attempts whose end, or least length, is known
	TimedOut  Float  `json:"timed_out"` // that their caller left

	Failed Float `json:"failed"` // calls besides that failed for another reason: they say nothing of how long the work takes

	// Stopped is the calls whose callee stopped when its caller left, or of which nothing is known after it: when they
	// would have finished is estimated by Kaplan and Meier's method.
	Stopped Float `json:"stopped"`

	PresentMs Num `json:"present_ms"` // the timeout that the timed-out calls stand at; null where they stand at none
	KnownMs   Num `json:"known_ms"`   // the longest finish that was seen to its end: nothing is known beyond it; null where none was

	Rows     List[TimeoutRow] `json:"rows"`     // by timeout, ascending
	Warnings List[string]     `json:"warnings"` // doubts about it
}

// A TimeoutRow is one timeout.
type TimeoutRow struct {
	TimeoutMs Float `json:"timeout_ms"` // how long the caller would wait
	Present   bool  `json:"present"`    // it is the present value

	// Ambiguous is the share of the calls that would have been left while their work went on, with its 95 % interval.
	Ambiguous   Num      `json:"ambiguous"`
	AmbiguousCI Interval `json:"ambiguous_ci"`

	Duplicates    Num `json:"duplicates"`     // work done twice, if the caller then tries again blindly
	FalseFailures Num `json:"false_failures"` // failures reported of work that was done, if it stops
	ExtraTrips    Num `json:"extra_trips"`    // further calls, if it asks before it acts
}

// EncodeTimeouts is [Encode] for a timeout sweep.
func EncodeTimeouts(w io.Writer, t *Timeouts) error {
	c := *t
	c.Schema = TimeoutsV1
	return stream(w, reflect.ValueOf(&c).Elem(), true)
}
