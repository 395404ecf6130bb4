package report

// A Guard is one check of whether the sides may be compared.
type Guard struct {
	Kind   GuardKind   `json:"kind"`   // what could mislead
	Status GuardStatus `json:"status"` // what was found
	Detail string      `json:"detail"` // a sentence with its numbers
}

// A Hypothesis is a claim about why the tail is slow, with what speaks for and against it. Which of the component
// fields are filled depends on Kind: the caller is Service and the callee Peer for calls; the owner of a queue is
// Service; a mix-shift has Attribute and Value; an instance has Service and Instance; for measurement Attribute is
// the guard's kind.
type Hypothesis struct {
	Rank      int      `json:"rank"`      // from 1
	Kind      Cause    `json:"kind"`      // the cause
	Strength  Strength `json:"strength"`  // how far the evidence carries
	Service   string   `json:"service"`   // component, see above
	Operation string   `json:"operation"` // component
	Peer      string   `json:"peer"`      // component
	Attribute string   `json:"attribute"` // component
	Value     string   `json:"value"`     // component
	Instance  string   `json:"instance"`  // component

	Claim string `json:"claim"` // one sentence, true or false; may be ""

	// ExplainsMs is how much of the target quantile a replay takes away that puts only this back to its baseline.
	// Hypotheses name overlapping time: they do not sum.
	ExplainsMs Num      `json:"explains_ms"`
	CIMs       Interval `json:"ci_ms"` // of ExplainsMs

	// FocusMs is the same of the endpoint's focus, by which causes are then ranked; absent where there is none.
	FocusMs   Num      `json:"focus_ms,omitzero"`
	FocusCIMs Interval `json:"focus_ci_ms,omitzero"` // of FocusMs

	Evidence List[Evidence] `json:"evidence"` // what speaks for it
	Against  List[Evidence] `json:"against"`  // what speaks against it
	Check    Check          `json:"check"`    // what would tell it from its rival
	Warnings List[string]   `json:"warnings"` // doubts about it
}

// Shown is what it explains of the quantile by which it is ranked.
func (h *Hypothesis) Shown() (Num, Interval) {
	if h.FocusMs.Known() {
		return h.FocusMs, h.FocusCIMs
	}
	return h.ExplainsMs, h.CIMs
}

// Evidence is one observation.
type Evidence struct {
	Statement string `json:"statement"`         // a sentence without the numbers beside it
	Baseline  Num    `json:"baseline,omitzero"` // absent for a single data set
	Current   Num    `json:"current"`           // the number now; null for an observation that is no number
	Unit      string `json:"unit"`              // of both: "ms", "share" (0..1), "1/s", "calls", "" for counts
	Source    Source `json:"source"`            // where it was read
	N         int64  `json:"n"`                 // observations behind it
}

// A Check is an observation on which a hypothesis and its rival predict different things.
type Check struct {
	Question string      `json:"question"` // what to look at
	Rival    string      `json:"rival"`    // the nearest other explanation
	IfThis   string      `json:"if_this"`  // what is seen if the hypothesis holds
	IfRival  string      `json:"if_rival"` // what is seen if the rival does
	Status   CheckStatus `json:"status"`   // could the data at hand tell?
	Outcome  string      `json:"outcome"`  // what was seen, if it ran
	Query    string      `json:"query"`    // PromQL, TraceQL, SQL or an experiment, if it is to be run

	// Queries ask a backend for the same numbers over more data, ready to paste.
	Queries List[Query] `json:"queries"`
}

// A Query is for one language.
type Query struct {
	Language string `json:"language"` // PromQL, TraceQL, or ClickHouse SQL for the table of the Collector's exporter
	Text     string `json:"text"`     // may have several lines
}

// An Experiment is a change that was made before, by the team's notes, and what it says of the causes.
type Experiment struct {
	At       string `json:"at"`       // its day or time; may be ""
	Change   string `json:"change"`   // what was done
	Observed string `json:"observed"` // what came of it
	Outcome  string `json:"outcome"`  // confirmed, failed or unclear
	Tested   Cause  `json:"tested"`   // the kind of mechanism that it would have cured; "" if it only names an action
	Effect   string `json:"effect"`   // what it changed here
}

// Unexplained is what no hypothesis explains.
type Unexplained struct {
	Ms   Num      `json:"ms"`    // of the target quantile's change
	CIMs Interval `json:"ci_ms"` // of Ms
}

// An Action is something that could be done, and what the evidence says of it.
type Action struct {
	Action  string        `json:"action"`   // what to do
	Target  string        `json:"target"`   // to what
	ForRank int           `json:"for_rank"` // the hypothesis; 0 for none
	Verdict ActionVerdict `json:"verdict"`  // what the evidence says
	Reason  string        `json:"reason"`   // why
	Costs   string        `json:"costs"`    // what it takes
	PaidBy  string        `json:"paid_by"`  // who bears that
}
