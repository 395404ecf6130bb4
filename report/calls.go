package report

// A HedgedCall is what second attempts do to one kind of call. A second attempt is made while the first runs, after a delay;
// slow is longer than that delay.
type HedgedCall struct {
	Service   string `json:"service"`   // the caller
	Peer      string `json:"peer"`      // the callee
	Operation string `json:"operation"` // the callee's

	Calls   Float `json:"calls"`    // logical calls
	Hedged  Float `json:"hedged"`   // of them, with a second attempt
	Wins    Float `json:"wins"`     // second attempts that answered first
	DelayMs Num   `json:"delay_ms"` // after which the second is made, at the median

	Rate        Float `json:"rate"`         // second attempts per call
	NominalRate Float `json:"nominal_rate"` // what a delay at the p95 would give

	PSlow      Float `json:"p_slow"`       // of a first attempt, 0..1
	PSlowAgain Float `json:"p_slow_again"` // of a second attempt where the first was slow, 0..1

	// P99Ms is of the calls as they were, until their first answer; FirstP99Ms what it would have been without second
	// attempts: that of the first ones, by Kaplan and Meier's method where they were cancelled.
	P99Ms          Num `json:"p99_ms"`
	FirstP99Ms     Num `json:"first_p99_ms"`     // without second attempts
	LoserWorkShare Num `json:"loser_work_share"` // of the callee's work, done for attempts that lost, 0..1

	// How long the work of attempts that lost went on after they were cancelled.
	LoserStopP50Ms Num    `json:"loser_stop_p50_ms"`
	LoserStopP99Ms Num    `json:"loser_stop_p99_ms"` // at p99
	Verdict        string `json:"verdict"`           // does it pay?
}

// Coalescing is how many calls of one kind ask for what another call of the same process is asking for at the time, and
// could share its answer. Only calls that say what they ask for are counted: by the path of their URL or a cache key.
type Coalescing struct {
	Service   string `json:"service"`   // the caller
	Peer      string `json:"peer"`      // the callee
	Operation string `json:"operation"` // the callee's

	Calls         Float `json:"calls"`          // that say what they ask for
	Eligible      Float `json:"eligible"`       // of them, with another for the same thing under way, the leading ones included
	EligibleShare Float `json:"eligible_share"` // 0..1
	MeanGroup     Num   `json:"mean_group"`     // calls that would share one; null without any
	EligiblePerS  Num   `json:"eligible_per_s"` // a second
	LeadersPerS   Num   `json:"leaders_per_s"`  // calls a second that would do their work
	AvoidedPerS   Num   `json:"avoided_per_s"`  // and those that need not be made

	// Calls that the data show as shared already: followers name by a link the call that they waited for.
	Followers Float `json:"followers"`
	Followed  Float `json:"followed"` // calls that had followers

	Warnings List[string] `json:"warnings"` // doubts about it
}

// A Deadline is the time that one kind of call is given, against the time that its callers have left.
type Deadline struct {
	Service   string `json:"service"`   // the caller
	Peer      string `json:"peer"`      // the callee
	Operation string `json:"operation"` // the callee's

	Calls     Float `json:"calls"`      // made
	TimeoutMs Num   `json:"timeout_ms"` // where its timed-out calls stand; null where they are few, or stand at no one value

	// RemainingMs is what the nearest limit above leaves when the call begins, at the median: the objective, or the
	// timeout of a caller; null where none is known.
	RemainingMs Num   `json:"remaining_ms"`
	Beyond      Float `json:"beyond"` // calls whose timeout is longer than that

	Retries Float `json:"retries"`  // begun where the limit above is known
	TooLate Float `json:"too_late"` // of them, when less than UsefulMs was left
	// UsefulMs is the time of a useful attempt: the median of those that were answered.
	UsefulMs Num `json:"useful_ms"`

	// Of the calls that were left and whose callee was seen, those of which it heard: it stopped by its own word or
	// within a moment. Propagated is the verdict.
	Left         Float        `json:"left"`
	Heard        Float        `json:"heard"`         // that stopped
	StartedAfter Float        `json:"started_after"` // begun only when the caller had left
	Propagated   Propagated   `json:"propagated"`    // does the callee hear of it?
	Warnings     List[string] `json:"warnings"`      // what to do about it
}

// Propagated says whether a callee hears that its caller has left.
type Propagated string

const (
	IsPropagated  Propagated = "yes"
	NotPropagated Propagated = "no"
	CannotSay     Propagated = "cannot-tell" // too few calls were left while their callee worked
)

// PropagatedVerdicts are all of them.
var PropagatedVerdicts = []Propagated{IsPropagated, NotPropagated, CannotSay}

// A NoticeKind is a way of calling that costs time by itself.
type NoticeKind string

const (
	RepeatedCalls NoticeKind = "repeated-calls" // one after the other, many to one target
	ControlPlane  NoticeKind = "control-plane"  // configuration or discovery, asked on the request's path
	Redirects     NoticeKind = "redirects"      // the first node asked says to ask another
)

// NoticeKinds are all of them.
var NoticeKinds = []NoticeKind{RepeatedCalls, ControlPlane, Redirects}

// A CallNotice is a way of calling that costs time by itself, whether or not it changed.
type CallNotice struct {
	Kind      NoticeKind `json:"kind"`      // which way
	Service   string     `json:"service"`   // the caller
	Peer      string     `json:"peer"`      // the callee
	Operation string     `json:"operation"` // the callee's

	Requests  Float  `json:"requests"`   // that show it
	Share     Float  `json:"share"`      // of all requests, 0..1
	Calls     Float  `json:"calls"`      // in each of those, on average
	PathMs    Float  `json:"path_ms"`    // what it costs each of those on the path, on average
	SameAgain Float  `json:"same_again"` // repeated calls that ask again for what their request had asked for
	Statement string `json:"statement"`  // in words
}
