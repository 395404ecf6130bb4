package report

// LateWork is work after its caller left. Totals are unions per request, summed: nested spans count once.
type LateWork struct {
	LateTotals
	Baseline *LateTotals    `json:"baseline,omitempty"` // the same totals of the baseline
	Edges    List[LateEdge] `json:"edges"`              // by call, longest total first
	Warnings List[string]   `json:"warnings"`           // doubts about it
}

// LateTotals are the late work of one side.
type LateTotals struct {
	Attempts     Float `json:"attempts"`      // calls made
	LateAttempts Float `json:"late_attempts"` // calls that someone left, not the calls below them
	TotalMs      Float `json:"total_ms"`      // time spent for callers that had left

	// MeanInFlight is the mean number of late calls at any moment: their total time ÷ the window. It is neither a
	// number of cores nor a throughput.
	MeanInFlight Num `json:"mean_in_flight"`
}

// A LateEdge is the late work of one kind of call.
type LateEdge struct {
	Service      string `json:"service"`        // the caller
	Peer         string `json:"peer"`           // the callee
	Operation    string `json:"operation"`      // the callee's
	Attempts     Float  `json:"attempts"`       // calls made
	LateAttempts Float  `json:"late_attempts"`  // calls that were left
	StartedAfter Float  `json:"started_after"`  // began after the caller had left: should have been refused
	TotalMs      Float  `json:"total_ms"`       // time after the caller left
	MeanInFlight Num    `json:"mean_in_flight"` // late calls at any moment

	WaitingMs Num `json:"waiting_ms"` // of TotalMs
	WorkingMs Num `json:"working_ms"` // of TotalMs

	// What the client believes against what became of the work.
	ClientFailedServerSucceeded    Float `json:"client_failed_server_succeeded"`
	ClientFailedUnknown            Float `json:"client_failed_unknown"`             // no server half tells
	ClientFailedServerFailed       Float `json:"client_failed_server_failed"`       // both agree
	ClientSucceededServerSucceeded Float `json:"client_succeeded_server_succeeded"` // both agree
	ClientSucceededServerFailed    Float `json:"client_succeeded_server_failed"`    // the client made do
	ClientSucceededUnknown         Float `json:"client_succeeded_unknown"`          // no server half tells

	// SideEffecting work may lawfully finish after its caller left and is never called waste.
	SideEffecting bool         `json:"side_effecting"`
	Warnings      List[string] `json:"warnings"` // doubts about it
}

// After is work that goes on after the response though nobody gave up: neither late nor part of the latency.
type After struct {
	Requests Float `json:"requests"` // that have some
	TotalMs  Float `json:"total_ms"` // summed over them; nested spans count once
}

// Attempts counts the tries of one kind of logical call.
type Attempts struct {
	Service   string `json:"service"`   // the caller
	Peer      string `json:"peer"`      // the callee
	Operation string `json:"operation"` // the callee's
	AttemptTotals
	Baseline *AttemptTotals `json:"baseline,omitempty"` // the same of the baseline
}

// AttemptTotals are the attempts of one side.
type AttemptTotals struct {
	Logical    Float `json:"logical"`    // calls as the caller meant them
	Attempts   Float `json:"attempts"`   // tries of them
	Retries    Float `json:"retries"`    // begun after the attempt before had failed
	Hedges     Float `json:"hedges"`     // begun while the attempt before still ran
	Duplicates Float `json:"duplicates"` // work done twice after a retry
	Failed     Float `json:"failed"`     // attempts that failed
	FailedMs   Float `json:"failed_ms"`  // time in failed attempts
	BackoffMs  Float `json:"backoff_ms"` // time between attempts

	// Amplification is attempts per call. OverLayers is attempts per call that the request itself would have led to had
	// no layer above tried again: the product over the layers from the entry to here.
	Amplification Num `json:"amplification"`
	OverLayers    Num `json:"over_layers"` // with the layers above
}

// FanOut is a set of parallel branches of which the slowest decides.
type FanOut struct {
	Node        NodeID            `json:"node"`        // the parent
	Branches    int               `json:"branches"`    // parallel branches that the parent waits for
	Begun       int               `json:"begun"`       // with those that it cancels when enough have answered
	PSlow       List[Num]         `json:"p_slow"`      // of each branch, 0..1
	Independent Num               `json:"independent"` // P(any slow) if the branches were independent
	Observed    Num               `json:"observed"`    // as seen
	NEff        Num               `json:"n_eff"`       // independent branches that would give Observed
	Owners      List[BranchOwner] `json:"owners"`      // who ends last how often, most often first
}

// A BranchOwner is how often a branch ends last, 0..1.
type BranchOwner struct {
	Node  NodeID `json:"node"`  // the branch
	Share Num    `json:"share"` // of the requests
}
