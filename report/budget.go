package report

// A BudgetStatus is whether a bound of a budget holds.
type BudgetStatus string

const (
	InsideBudget  BudgetStatus = "inside"
	Breached      BudgetStatus = "breached"
	BudgetUnknown BudgetStatus = "unknown" // the data do not tell; Detail says what would
)

// BudgetStatuses are all statuses of bounds.
var BudgetStatuses = []BudgetStatus{InsideBudget, Breached, BudgetUnknown}

// A Consequence is what a breach of a bound asks for.
type Consequence string

const (
	Block  Consequence = "block"  // answers are wrong
	Hold   Consequence = "hold"   // the release waits
	Decide Consequence = "decide" // somebody has to
)

// Consequences are all consequences, the hardest first.
var Consequences = []Consequence{Block, Hold, Decide}

// A Bound is one bound of an endpoint's budget, against what the current set holds. Bounds are never averaged into a
// score.
type Bound struct {
	Bound       string       `json:"bound"`             // its key in tailscope.yaml
	Limit       Num          `json:"limit"`             // what the budget states
	Baseline    Num          `json:"baseline,omitzero"` // absent for a single data set
	Current     Num          `json:"current"`           // now; null if unknown
	CI          Interval     `json:"ci"`                // of Current; open where it has none, Detail says why
	Unit        string       `json:"unit"`              // of all: ms, s or share (0..1)
	Status      BudgetStatus `json:"status"`            // does it hold?
	Consequence Consequence  `json:"consequence"`       // of a breach
	Detail      string       `json:"detail"`            // what was counted, or what would tell
}
