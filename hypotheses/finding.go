package hypotheses

import (
	"math"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

// A Strength says how far the evidence for a finding carries.
type Strength uint8

const (
	Weak Strength = iota
	Moderate
	Strong
)

var strengthNames = [...]string{"weak", "moderate", "strong"}

func (s Strength) String() string { return strengthNames[s] }

// An Evidence is one observation. Base and Cur are NaN where there is no number.
type Evidence struct {
	Statement string
	Base, Cur float64
	Unit      string // "ms", "share", "1/s", "calls", "" for counts
	Source    string // spans, events, metrics or config
	N         int64
}

// says is an observation without numbers of its own.
func says(source string, n int, format string, args ...any) Evidence {
	return Evidence{Statement: prose.Sprintf(format, args...), Base: math.NaN(), Cur: math.NaN(), Source: source, N: int64(n)}
}

// numbers is an observation of one number on both sides.
func numbers(source string, n int, unit string, base, cur float64, statement string) Evidence {
	return Evidence{Statement: statement, Base: base, Cur: cur, Unit: unit, Source: source, N: int64(n)}
}

// A Check is an observation on which a finding and its rival predict different
// things.
type Check struct {
	Question, Rival, IfThis, IfRival string
	Ran                              bool
	Outcome                          string // of a check that ran
	Query                            string // of one that did not
	Against                          bool   // it ran, and speaks for the rival
}

// A Finding is a cause that the data support to some degree.
type Finding struct {
	Kind                                                 string
	Service, Operation, Peer, Attribute, Value, Instance string
	Claim                                                string

	// Explains is how much of the quantile that causes are asked about a replay
	// takes away that puts this back, in ns; Lo and Hi bound it.
	Explains, Lo, Hi float64

	// Target is the same of the target quantile. It differs where the ranking's focus is another.
	Target Effect

	Strength          Strength
	Evidence, Against []Evidence
	Check             Check
	Warnings          []string
	Doubtful          bool // a warning says that it may be something else: it is weak
	Open              bool // the data leave a rival open: it is not strong

	// Factor is the replay; Weights reweights the requests, for a change of mix.
	Factor  Factor
	Weights []float64
	within  *within                 // of a change of mix: that among the requests with its value
	alone   float64                 // and what it explains without that
	untold  string                  // what it would be if too few requests tell; "" of a mix that would not matter
	Plans   func(j int) *graph.Plan // plans to replay instead of the requests' own; nil: those

	// fills is the queues whose calls hold their places longer for this, and the part of the change of their waits that
	// is so; wait is the queue whose own change the finding is, if it is one.
	fills  map[*queue]float64
	limits map[*target]float64 // likewise the targets whose calls time out because they are slower, and the part of their rise
	wait   *queue
	places *queue       // whose places others hold longer, of a finding about those
	of     *target      // whose attempts it is about
	own    bool         // what goes back is the own time of node
	node   graph.SlotID // of service-time: whose work; part is the work of which it is a part, NoSlot of a whole
	part   graph.SlotID
	unseen bool                               // it may be no work, but what lies before calls without client spans
	on     func(*summary.Request, int32) bool // of an instance: whether a call is on it

	// lengths is what the finding says became longer, of each request that has it; nil where what is counted was tested
	// before the finding was made. byChance is of one whose lengths do not differ more than draws of the same would.
	lengths  func(side, j int) (ns int64, ok bool)
	byChance bool

	// Below names findings that go before this one, as its cause: by kind and
	// component. after is of one that such a finding went before.
	Below func(*Finding) bool
	after bool
}

// A Factor puts one thing back in a request's plan. values are the stretches of
// the steps of plan, to be edited.
type Factor func(j int, plan *graph.Plan, values []int64)
