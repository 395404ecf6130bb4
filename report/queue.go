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
// mean: a floor is uncertain. Where few calls tell of it, Hi is the whole gap.
type QueueSide struct {
	N            int64 `json:"n"`              // calls
	MeanMs       Num   `json:"mean_ms"`        // likely wait
	P50Ms        Num   `json:"p50_ms"`         // of the likely waits
	P99Ms        Num   `json:"p99_ms"`         // of the likely waits
	LoMs         Num   `json:"lo_ms"`          // the mean wait is at least this
	HiMs         Num   `json:"hi_ms"`          // and at most this
	GapMs        Num   `json:"gap_ms"`         // mean of the whole gap, the floor included
	ServiceP99Ms Num   `json:"service_p99_ms"` // of the call once it is served

	// Occupancy is used ÷ max of the resource, 0..1, at the p99 of one-second views; null without metrics and
	// without an inferred limit.
	Occupancy    Num `json:"occupancy"`
	OccupancyP50 Num `json:"occupancy_p50"` // at their median
	OccupancyMax Num `json:"occupancy_max"` // in the fullest second

	PerS       Num `json:"per_s"`         // calls per second
	Peak1sPerS Num `json:"peak_1s_per_s"` // the most in one second

	// Bursts is the variance of their number per second over its mean: 1 where they come independently of each other,
	// more in bursts.
	Bursts Num `json:"bursts"`

	Waiting Num `json:"waiting"` // calls that wait on average: their rate times their wait
	Pending Num `json:"pending"` // the same by the metrics of the pool; the two ought to agree

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
