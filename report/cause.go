package report

// A Guard is one check of whether the sides may be compared.
type Guard struct {
	Kind   GuardKind   `json:"kind"`
	Status GuardStatus `json:"status"`
	Detail string      `json:"detail"` // a sentence with its numbers
}

// A Hypothesis is a claim about why the tail is slow, with what speaks for and against it. Which of the component
// fields are filled depends on Kind: the caller is Service and the callee Peer for calls; the owner of a queue is
// Service; a mix-shift has Attribute and Value; an instance has Service and Instance; for measurement Attribute is
// the guard's kind.
type Hypothesis struct {
	Rank      int      `json:"rank"` // from 1
	Kind      Cause    `json:"kind"`
	Strength  Strength `json:"strength"`
	Service   string   `json:"service"`
	Operation string   `json:"operation"`
	Peer      string   `json:"peer"`
	Attribute string   `json:"attribute"`
	Value     string   `json:"value"`
	Instance  string   `json:"instance"`

	Claim string `json:"claim"` // one sentence, true or false; may be ""

	// ExplainsMs is how much of the target quantile a replay takes away that puts only this back to its baseline.
	// Hypotheses name overlapping time: they do not sum.
	ExplainsMs Num      `json:"explains_ms"`
	CIMs       Interval `json:"ci_ms"`

	Evidence List[Evidence] `json:"evidence"`
	Against  List[Evidence] `json:"against"`
	Check    Check          `json:"check"`
	Warnings List[string]   `json:"warnings"`
}

// Evidence is one observation.
type Evidence struct {
	Statement string `json:"statement"`
	Baseline  Num    `json:"baseline,omitzero"` // absent for a single data set
	Current   Num    `json:"current"`
	Unit      string `json:"unit"` // of both: "ms", "share" (0..1), "1/s", "calls", "" for counts
	Source    Source `json:"source"`
	N         int64  `json:"n"` // observations behind it
}

// A Check is an observation on which a hypothesis and its rival predict different things.
type Check struct {
	Question string      `json:"question"`
	Rival    string      `json:"rival"`    // the nearest other explanation
	IfThis   string      `json:"if_this"`  // what is seen if the hypothesis holds
	IfRival  string      `json:"if_rival"` // what is seen if the rival does
	Status   CheckStatus `json:"status"`
	Outcome  string      `json:"outcome"` // what was seen, if it ran
	Query    string      `json:"query"`   // PromQL, TraceQL, SQL or an experiment, if it is to be run
}

// Unexplained is what no hypothesis explains.
type Unexplained struct {
	Ms   Num      `json:"ms"`
	CIMs Interval `json:"ci_ms"`
}

// An Action is something that could be done, and what the evidence says of it.
type Action struct {
	Action  string        `json:"action"`
	Target  string        `json:"target"`
	ForRank int           `json:"for_rank"` // the hypothesis; 0 for none
	Verdict ActionVerdict `json:"verdict"`
	Reason  string        `json:"reason"`
	Costs   string        `json:"costs"`
	PaidBy  string        `json:"paid_by"`
}
