package report

// A Queue is the wait of one kind of call before it is served.
type Queue struct {
	Service   string `json:"service"`   // the caller
	Peer      string `json:"peer"`      // the callee
	Operation string `json:"operation"` // the callee's
	Resource  string `json:"resource"`  // the pool or executor, if named
	Evidence  string `json:"evidence"`  // what the wait is read from

	// Owner is whose queue it is: a Cause (client-wait, server-queue, pause, network), or "untraced" when no test
	// spoke.
	Owner string `json:"owner"`

	Baseline *QueueSide `json:"baseline,omitempty"` // the wait before
	Current  QueueSide  `json:"current"`            // the wait now

	// InferredLimit is the concurrency at which calls begin to wait in the current set; null where none is seen.
	InferredLimit         Num `json:"inferred_limit"`
	InferredLimitBaseline Num `json:"inferred_limit_baseline,omitzero"` // the same of the baseline

	// Tests are the tests of the owner in their order: the first that spoke decided.
	Tests    List[OwnerTest] `json:"tests"`
	Warnings List[string]    `json:"warnings"` // doubts about it
}

// QueueSide is the wait on one side. Times are the likely wait (the excess over the floor); Lo and Hi bound the
// mean.
type QueueSide struct {
	N            int64 `json:"n"`              // calls
	MeanMs       Num   `json:"mean_ms"`        // likely wait
	P50Ms        Num   `json:"p50_ms"`         // of the likely waits
	P99Ms        Num   `json:"p99_ms"`         // of the likely waits
	LoMs         Num   `json:"lo_ms"`          // the mean wait is at least this
	HiMs         Num   `json:"hi_ms"`          // the whole gap
	ServiceP99Ms Num   `json:"service_p99_ms"` // of the call once it is served

	// Occupancy is used ÷ max of the resource, 0..1, at the p99 of one-second views; null without metrics and
	// without an inferred limit.
	Occupancy    Num `json:"occupancy"`
	OccupancyP50 Num `json:"occupancy_p50"` // at their median
	OccupancyMax Num `json:"occupancy_max"` // in the fullest second

	// Occupancy1s are the one-second views in time order, coarsened to at most 60; empty where unknown.
	Occupancy1s List[Num] `json:"occupancy_1s"`
}

// An OwnerTest is one test of whose queue a wait is.
type OwnerTest struct {
	Test      string `json:"test"`      // explicit, sides, hand-over, metrics, in-flight
	Says      string `json:"says"`      // an owner as in Queue.Owner; "" for silent
	Decided   bool   `json:"decided"`   // the first that spoke
	Statement string `json:"statement"` // with its numbers
}
