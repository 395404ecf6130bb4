package report

// LateWork is work after its caller left. Totals are unions per request, summed: nested spans count once.
type LateWork struct {
	LateTotals
	Baseline *LateTotals    `json:"baseline,omitempty"`
	Edges    List[LateEdge] `json:"edges"`
	Warnings List[string]   `json:"warnings"`
}

// LateTotals are the late work of one side.
type LateTotals struct {
	Attempts     Float `json:"attempts"`
	LateAttempts Float `json:"late_attempts"` // calls that someone left, not the calls below them
	TotalMs      Float `json:"total_ms"`

	// MeanInFlight is the mean number of late calls at any moment: their total time ÷ the window. It is neither a
	// number of cores nor a throughput.
	MeanInFlight Num `json:"mean_in_flight"`
}

// A LateEdge is the late work of one kind of call.
type LateEdge struct {
	Service      string `json:"service"`
	Peer         string `json:"peer"`
	Operation    string `json:"operation"`
	Attempts     Float  `json:"attempts"`
	LateAttempts Float  `json:"late_attempts"`
	StartedAfter Float  `json:"started_after"` // began after the caller had left: should have been refused
	TotalMs      Float  `json:"total_ms"`
	MeanInFlight Num    `json:"mean_in_flight"`

	WaitingMs Num `json:"waiting_ms"` // of TotalMs
	WorkingMs Num `json:"working_ms"`

	// What the client believes against what became of the work.
	ClientFailedServerSucceeded    Float `json:"client_failed_server_succeeded"`
	ClientFailedUnknown            Float `json:"client_failed_unknown"` // no server half tells
	ClientFailedServerFailed       Float `json:"client_failed_server_failed"`
	ClientSucceededServerSucceeded Float `json:"client_succeeded_server_succeeded"`
	ClientSucceededServerFailed    Float `json:"client_succeeded_server_failed"`
	ClientSucceededUnknown         Float `json:"client_succeeded_unknown"`

	// SideEffecting work may lawfully finish after its caller left and is never called waste.
	SideEffecting bool         `json:"side_effecting"`
	Warnings      List[string] `json:"warnings"`
}

// After is work that goes on after the response though nobody gave up: neither late nor part of the latency.
type After struct {
	Requests Float `json:"requests"`
	TotalMs  Float `json:"total_ms"`
}

// Attempts counts the tries of one kind of logical call.
type Attempts struct {
	Service    string          `json:"service"`
	Peer       string          `json:"peer"`
	Operation  string          `json:"operation"`
	Logical    Float           `json:"logical"`
	Attempts   Float           `json:"attempts"`
	Retries    Float           `json:"retries"`    // begun after the attempt before had failed
	Hedges     Float           `json:"hedges"`     // begun while the attempt before still ran
	Duplicates Float           `json:"duplicates"` // work done twice after a retry
	Failed     Float           `json:"failed"`
	FailedMs   Float           `json:"failed_ms"`  // time in failed attempts
	BackoffMs  Float           `json:"backoff_ms"` // time between attempts
	Baseline   *AttemptsBefore `json:"baseline,omitempty"`
}

// AttemptsBefore are the baseline's counts of Attempts.
type AttemptsBefore struct {
	Logical  Float `json:"logical"`
	Attempts Float `json:"attempts"`
	Retries  Float `json:"retries"`
	Hedges   Float `json:"hedges"`
	Failed   Float `json:"failed"`
}

// FanOut is a set of parallel branches of which the slowest decides.
type FanOut struct {
	Node        NodeID            `json:"node"` // the parent
	Branches    int               `json:"branches"`
	PSlow       List[Num]         `json:"p_slow"`      // of each branch, 0..1
	Independent Num               `json:"independent"` // P(any slow) if the branches were independent
	Observed    Num               `json:"observed"`    // as seen
	NEff        Num               `json:"n_eff"`       // independent branches that would give Observed
	Owners      List[BranchOwner] `json:"owners"`
}

// A BranchOwner is how often a branch ends last, 0..1.
type BranchOwner struct {
	Node  NodeID `json:"node"`
	Share Num    `json:"share"`
}
