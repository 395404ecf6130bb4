package action

import (
	"math"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/hypotheses"
)

// A Situation is what is known of an endpoint whose tail changed. Times are in
// ns, shares 0..1; what is not known is NaN, or absent.
type Situation struct {
	Service, Operation string

	Regression bool    // it is shown
	Quantile   float64 // that was compared
	P99        [2]float64

	Shown   float64    // the quantile at which the change is shown
	ShownNS [2]float64 // and its values

	Findings []hypotheses.Finding // ranked
	Rules    config.Rules
	Classes  map[string]config.Rules // of the classes that the rules name

	Before   float64 // the wait before the entry's span at its p99, on the current side
	Queues   []Queue
	Branches []Branch
	Attempts []Attempts
	Late     Late
	Services map[string]*Service
	Identity []Identity
	Notes    []config.Note // what was tried before
}

// A Queue is the waits of one edge.
type Queue struct {
	Caller, Peer, Resource string

	Owner      string // a kind of cause, or "untraced"
	Wait, Hold [2]float64
	Limit      [2]int  // in service at once per instance; 0: not known
	ByMix      float64 // the share of the wait's rise that other requests bring
}

// A Branch is a call slot that the endpoint waits for.
type Branch struct {
	Service, Operation string
	Caller             string

	Survived bool    // requests succeeded without it
	Blocking float64 // the share of its requests in which the path leads through it
}

// Attempts is the attempts of one kind of logical call, on the current side.
type Attempts struct {
	Caller, Peer, Operation  string
	Logical, Retried, Hedged float64
	Again, SecondsKnown      float64 // P(second slow | first slow), and the second attempts behind it
}

// Late is the work after callers left.
type Late struct {
	Attempts, Late float64
	MeanStop       float64 // how long calls go on after a departure; NaN if none was left
	LongTimeouts   []string
}

// A Service is a service on or below the path.
type Service struct {
	CPU       float64     // p99 of the share of its CPUs in use, the busiest instance's
	Executor  float64     // p99 of its executor's occupancy, the fullest instance's
	Versions  [2][]string // seen on each side
	Instances int
}

// An Identity is calls that ask for the same at the same time.
type Identity struct {
	Caller, Peer, Operation string
	Calls                   float64
	Eligible                float64 // share of the calls that could have shared another's answer
	Group                   float64 // mean size of such a group
}

// A Verdict is what the evidence says of an action.
type Verdict string

const (
	Supported         Verdict = "supported"
	Unsupported       Verdict = "unsupported"
	MovesTheQueue     Verdict = "moves-the-queue"
	ViolatesContract  Verdict = "violates-contract"
	NotEnoughEvidence Verdict = "not-enough-evidence"
)

// An Action is something that could be done.
type Action struct {
	Action, Target string
	For            int // the rank of the cause that it is weighed for; 0: none
	Verdict        Verdict
	Reason         string
	Costs, PaidBy  string
}

const (
	// busy is the occupancy from which on a pool without a budget is full, and
	// the share of its CPUs from which on a service has none to spare. Waits grow
	// with 1/(1 − ρ): at 0.9 they are ten times those of an idle one.
	busy = 0.9
	// roomy is the share of either below which there is room for more: a quarter
	// more work keeps it under busy.
	roomy = 0.7
	// usualLate is the share of late attempts from which on deadlines are worth
	// their price, where no budget says so.
	usualLate = 0.02
	// smallWait is a mean wait that nobody would act on.
	smallWait = 1e6
)

// service is what is known of one.
func (s *Situation) service(name string) *Service {
	if x := s.Services[name]; x != nil {
		return x
	}
	return &Service{CPU: math.NaN(), Executor: math.NaN()}
}

// full is the occupancy that the budget allows.
func (s *Situation) full() float64 {
	if b := s.Rules.Budget; b != nil && b.PoolOccupancy != nil {
		return float64(*b.PoolOccupancy)
	}
	return busy
}

// queue is the queue of a finding.
func (s *Situation) queue(f *hypotheses.Finding) *Queue {
	for i := range s.Queues {
		q := &s.Queues[i]
		switch f.Kind {
		case "client-wait":
			if q.Caller == f.Service && q.Peer == f.Peer && q.Owner == f.Kind {
				return q
			}
		case "server-queue":
			if q.Peer == f.Service && q.Owner == f.Kind {
				return q
			}
		case "load":
			if q.Caller == f.Service && q.Owner == "client-wait" || q.Peer == f.Service && q.Owner == "server-queue" {
				return q
			}
		}
	}
	return nil
}
