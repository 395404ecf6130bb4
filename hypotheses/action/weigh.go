package action

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/internal/prose"
)

// Weigh is every action that the situation calls for, or tempts to, the
// supported ones first and then by the cause that they are for. There is none
// where nothing was found.
func Weigh(s *Situation) []Action {
	if len(s.Findings) == 0 {
		return nil
	}
	w := &weighing{Situation: s}
	for _, r := range remedies {
		r.weigh(w, r.costs)
	}
	rank := func(v Verdict) int {
		return slices.Index([]Verdict{Supported, NotEnoughEvidence, MovesTheQueue, ViolatesContract, Unsupported}, v)
	}
	slices.SortStableFunc(w.out, func(x, y Action) int {
		return cmp.Or(cmp.Compare(rank(x.Verdict), rank(y.Verdict)), cmp.Compare(x.For, y.For))
	})
	return w.out
}

// A remedy is a kind of action: its price, and how it is weighed.
type remedy struct {
	costs costs
	weigh func(*weighing, costs)
}

type costs struct{ action, costs, paidBy string }

// remedies is what teams do about a slow tail, and what it costs whom.
var remedies = []remedy{
	{costs{"hold the rollout", "time", "the release"}, hold},
	{costs{"roll back", "what the release brought", "its users"}, rollBack},
	{costs{"grow the pool", "more calls at once in the callee", "the callee"}, growPool},
	{costs{"raise the limit", "more work at once on the same CPUs and the pools behind them", "the service and what it calls"}, raiseLimit},
	{costs{"partition the limit by class", "slots idle in one class while another waits", "the class that is held back"}, partition},
	{costs{"add hosts", "hosts, and more connections to all that they call", "the budget, and the callees"}, addHosts},
	{costs{"add capacity", "hosts", "the budget"}, addCapacity},
	{costs{"rebalance", "two random choices are worse than an oracle that does not exist", "nobody"}, rebalance},
	{costs{"hedge", "twice the work on the hedged share; useless where attempts are slow together", "utilisation, at the worst moment"}, hedge},
	{costs{"hedge less", "the tail of an attempt that is slow by itself", "the caller"}, hedgeLess},
	{costs{"retry less", "failures that a retry would have hidden", "the caller"}, retryLess},
	{costs{"propagate the deadline", "an unbroken context over every hop", "whoever has an asynchronous boundary"}, deadline},
	{costs{"honour cancellation", "checks between steps, and work that is left half done", "the callee"}, cancellation},
	{costs{"degrade the branch", "exactness", "the answer's precision"}, degrade},
	{costs{"drop the hop", "the answer that it is asked for", "whoever relies on that answer"}, dropHop},
	{costs{"parallelise", "more calls in flight at once", "the callees, at their peak"}, parallelise},
	{costs{"batch", "larger calls that fail as one", "the callee's worst case"}, batch},
	{costs{"coalesce", "one failure shared by all that wait for it", "the followers"}, coalesce},
	{costs{"cache", "stale answers, and somebody who invalidates them", "whoever reads a stale one"}, cache},
}

type weighing struct {
	*Situation
	out []Action
}

// add weighs in. What weak evidence would support is not supported yet.
func (w *weighing) add(c costs, target string, f *ranked, v Verdict, reason string, args ...any) {
	a := Action{Action: c.action, Target: target, Verdict: v, Reason: prose.Sprintf(reason, args...), Costs: c.costs, PaidBy: c.paidBy}
	if f != nil {
		a.For = f.rank
		if v == Supported && f.Strength == hypotheses.Weak {
			a.Verdict = NotEnoughEvidence
			a.Reason = prose.Sprintf("it would help if cause %d held, which is weak: %s", f.rank, a.Reason)
		}
	}
	for _, o := range w.out {
		if o.Action == a.Action && o.Target == a.Target {
			return
		}
	}
	for i := range w.Notes {
		n := &w.Notes[i]
		if n.Action != a.Action || n.Target != "" && !config.Match(n.Target, target) {
			continue
		}
		switch n.Outcome {
		case "failed":
			if a.Verdict != ViolatesContract {
				a.Verdict = Unsupported
			}
			a.Reason = hypotheses.Tried(n) + "; " + a.Reason
		case "confirmed":
			a.Reason += "; " + hypotheses.Tried(n)
		}
	}
	w.out = append(w.out, a)
}

type ranked struct {
	*hypotheses.Finding
	rank int
}

// causes is the findings of some kinds, in their order.
func (w *weighing) causes(kinds ...string) []*ranked {
	var out []*ranked
	for i := range w.Findings {
		if f := &w.Findings[i]; slices.Contains(kinds, f.Kind) {
			out = append(out, &ranked{f, i + 1})
		}
	}
	return out
}

// cause is the first of them.
func (w *weighing) cause(kinds ...string) *ranked {
	if list := w.causes(kinds...); len(list) > 0 {
		return list[0]
	}
	return nil
}

// lead is the first cause that is one: a doubt about the measurement is none.
func (w *weighing) lead() *ranked {
	for i := range w.Findings {
		if w.Findings[i].Kind != "measurement" {
			return &ranked{&w.Findings[i], i + 1}
		}
	}
	return nil
}

// callee is the service whose work a finding is about, as its callers name it.
func (f *ranked) callee() string {
	if f.Peer != "" {
		return f.Peer
	}
	return f.Service
}

// edge is a finding's caller and callee in words.
func (f *ranked) edge() string {
	if f.Peer == "" {
		return f.Service
	}
	return f.Service + " → " + f.Peer
}

// contract is a contract against doing something to a hop, of the endpoint or of
// one of its classes.
func (w *weighing) contract(rule, service, operation string) (reason string, ok bool) {
	say := func(class string, c config.Contract) string {
		reason := c.Reason
		if reason == "" {
			reason = c.Rule
		}
		if class != "" {
			return fmt.Sprintf("of class %s the contract of %s says: %s", class, service, reason)
		}
		return fmt.Sprintf("the contract of %s says: %s", service, reason)
	}
	if c, ok := w.Rules.Contract(rule, service, operation); ok {
		return say("", c), true
	}
	for _, class := range w.classes() {
		r := w.Classes[class]
		if c, ok := r.Contract(rule, service, operation); ok {
			return say(class, c), true
		}
	}
	return "", false
}

// idempotent reports whether a hop is declared to bear being called twice.
func (w *weighing) idempotent(service, operation string) bool {
	_, ok := w.Rules.Contract("idempotent", service, operation)
	return ok
}

func (w *weighing) classes() []string {
	var out []string
	for class := range w.Classes {
		out = append(out, class)
	}
	slices.Sort(out)
	return out
}
