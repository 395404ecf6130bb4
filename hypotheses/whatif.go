package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// An Edge names calls: from a service, to a service or peer, of an operation.
// Empty fits all.
type Edge struct{ Caller, Peer, Operation string }

func (e Edge) String() string {
	t := e.Peer
	if e.Caller != "" {
		t = e.Caller + "→" + t
	}
	if e.Operation != "" {
		t += " " + e.Operation
	}
	return t
}

func (e Edge) fits(caller, peer, operation string) bool {
	return (e.Caller == "" || e.Caller == caller) && (e.Peer == "" || e.Peer == peer) && (e.Operation == "" || e.Operation == operation)
}

// A WhatIf is what to change about the requests of an endpoint. Times are in ns;
// zero values change nothing.
type WhatIf struct {
	Pools    []PoolSize
	Drop     []string   // patterns of hops, as in tailscope.yaml
	Parallel [][]string // groups of such patterns: the calls of a group are made side by side
	Timeouts []EdgeTime
	Hedges   []EdgeTime // a second attempt after that time

	Deadline, Reserve, OptionalMin int64
	Optional                       []string // patterns, beside those of Rules
	Rules                          config.Rules

	Rate      float64 // times as many requests
	Objective int64
}

// A PoolSize is a number of places in each instance. Name is a resource's name,
// or that of the service that is called.
type PoolSize struct {
	Name string
	Edge Edge // instead of a name
	N    int
}

func (p *PoolSize) String() string {
	if p.Name != "" {
		return p.Name
	}
	return p.Edge.String()
}

// An EdgeTime is a time for the calls of an edge.
type EdgeTime struct {
	Edge Edge
	NS   int64
}

// A Replayed is what would have become of the requests that were recorded.
type Replayed struct {
	Requests  int
	Quantiles []ReplayedQuantile // of the requests that are answered

	// Shares of the requests. Stopped are answered with a failure because of the
	// deadline, Failed because of a call that was cut; Omitted lack an optional
	// branch. NaN where the change has no such outcome.
	Stopped, Failed, Omitted float64
	Omissions                []Omission
	Goodput                  [2]float64 // as recorded and replayed; NaN without an objective

	// Work is the mean time per request that servers work, in ns, as recorded and
	// replayed; LateAvoided how much of what was worked after the deadline is not.
	Work        [2]float64
	LateAvoided float64

	ExtraCalls  float64 // per call of the hedged edges; NaN without any
	Independent bool    // hedges: whether attempts are slow together was not observed

	// Assumptions is what the replay takes for granted, Unknown what of the change
	// it could not replay.
	Assumptions, Unknown []string
}

// A ReplayedQuantile is a quantile as recorded and replayed, in ns, and its
// change with an interval.
type ReplayedQuantile struct {
	Quantile           float64
	Recorded, Replayed float64
	Change, Lo, Hi     float64
}

// An Omission is how often a branch is left out.
type Omission struct {
	Service, Operation string
	Share              float64
}

// An UnfitError says that a change fits nothing in the data.
type UnfitError struct {
	What string
	Have []string
}

func (e *UnfitError) Error() string {
	t := e.What + " fits no call of this endpoint"
	if len(e.Have) > 0 {
		t += "; it makes these:"
		for i, h := range e.Have {
			if i > 0 {
				t += ","
			}
			t += " " + h
		}
	}
	return t
}

// A replaying is a WhatIf at work.
type replaying struct {
	*Asking
	WhatIf
	out   Replayed
	edges map[[2]string]bool // caller and callee of the endpoint's calls

	serves map[trace.StringID]bool // the services that work for its requests
}

// Replay runs the current requests of an endpoint again with something changed.
func (c *Comparison) Replay(w WhatIf) (*Replayed, error) {
	single := *c
	single.Sides[summary.Baseline] = nil
	r := &replaying{Asking: NewAsking(&single), WhatIf: w}
	r.out = Replayed{Requests: len(r.plans), Stopped: math.NaN(), Failed: math.NaN(), Omitted: math.NaN(), Goodput: [2]float64{math.NaN(), math.NaN()}, ExtraCalls: math.NaN()}
	if err := r.fit(); err != nil {
		return nil, err
	}
	plans := r.parallel()
	var factors []Factor
	for _, f := range []func() Factor{r.resize, r.drop, r.hedge, r.cut} {
		if g := f(); g != nil {
			factors = append(factors, g)
		}
	}
	r.run(plans, factors)
	r.assume()
	return &r.out, nil
}

// names is who calls whom, also where only the callee recorded it.
func (r *replaying) names(slot graph.SlotID) (caller, peer, operation string) {
	caller, peer, operation = r.Asking.names(slot)
	if r.unseen(slot) {
		s := r.slot(slot)
		caller, peer = r.Reading.Dict.String(r.slot(s.Parent).Callee.Service), r.Reading.Dict.String(s.Callee.Service)
	}
	return caller, peer, operation
}

// fit tells of changes that fit nothing.
func (r *replaying) fit() error {
	type call struct{ caller, peer, operation string }
	have := map[call]bool{}
	r.edges, r.serves = map[[2]string]bool{}, map[trace.StringID]bool{}
	for j := range r.plans {
		q := r.request(j)
		for i := range q.Calls {
			if q.Calls[i].Work.Seen() {
				r.serves[r.slot(q.Calls[i].Slot).Callee.Service] = true
			}
		}
		for i := 1; i < len(q.Calls); i++ {
			if r.isCall(&q.Calls[i]) {
				c, p, op := r.names(r.Relative(q, q.Calls[i].Slot))
				have[call{c, p, op}], r.edges[[2]string{c, p}] = true, true
			}
		}
	}
	any := func(f func(call) bool) bool {
		for c := range have {
			if f(c) {
				return true
			}
		}
		return false
	}
	var names []string
	for c := range have {
		names = append(names, Edge{c.caller, c.peer, c.operation}.String())
	}
	slices.Sort(names)
	const most = 12
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	for _, t := range slices.Concat(r.Timeouts, r.Hedges) {
		if !any(func(c call) bool { return t.Edge.fits(c.caller, c.peer, c.operation) }) {
			return &UnfitError{t.Edge.String(), names}
		}
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		fits := false
		for _, v := range r.cur().Set.Calibration.Owners.All() {
			fits = fits || r.meant(p, v) && r.makes(v)
		}
		if !fits {
			return &UnfitError{p.String(), names}
		}
	}
	for _, p := range slices.Concat(r.Drop, slices.Concat(r.Parallel...), r.Optional) {
		if !any(func(c call) bool { return config.Hop(p, c.peer, c.operation) }) {
			return &UnfitError{p, names}
		}
	}
	return nil
}

// hop reports whether a call is one to a hop that a pattern fits.
func (r *replaying) hop(patterns []string, slot graph.SlotID) bool {
	_, peer, op := r.names(slot)
	return slices.ContainsFunc(patterns, func(p string) bool { return config.Hop(p, peer, op) })
}

// parallel is the plans with the calls of each group side by side; nil where
// nothing changes.
func (r *replaying) parallel() []*graph.Plan {
	if len(r.Parallel) == 0 {
		return nil
	}
	orders := r.cur().Set.Calibration.Verdicts
	for _, group := range r.Parallel {
		var slots []graph.SlotID
		for rel, abs := range r.slots[summary.Current] {
			if r.hop(group, rel) {
				slots = append(slots, abs...)
			}
		}
		slices.Sort(slots)
		orders = orders.Parallel(slots)
	}
	w := graph.Walker{Dict: r.Reading.Dict, Verdicts: r.cur().Set.Calibration.Verdicts}
	plans := make([]*graph.Plan, len(r.plans))
	for j := range plans {
		p := w.Plan(r.request(j).Record, orders)
		r.together(j, p)
		plans[j] = p
	}
	r.out.Assumptions = append(r.out.Assumptions, "none of the calls made side by side needs another's answer, and their callees take as long when they come together")
	return plans
}

// together gives the calls of groups their stretches in a plan in which they run
// side by side: what led to a call leads to it still, from where the first of its
// group began.
func (r *replaying) together(j int, p *graph.Plan) {
	q, was := r.request(j), r.plans[j]
	for k := range p.Steps {
		p.Steps[k].NS = was.Steps[k].NS
	}
	for _, group := range r.Parallel {
		first := map[int32]int64{} // by parent: the stretch that led to the first of the group
		for k := range p.Steps {
			st := &p.Steps[k]
			c := &q.Calls[st.Call()]
			if st.Leave || st.Call() == 0 || st.Half != outer(c, st.Call()) || !r.hop(group, r.Relative(q, c.Slot)) {
				continue
			}
			lead, ok := first[c.Parent]
			if !ok {
				first[c.Parent] = was.Steps[k].NS
			} else if p.Waits(k) < was.Waits(k) {
				p.Steps[k].NS += lead
			}
		}
	}
}

func (r *replaying) drop() Factor {
	if len(r.Drop) == 0 {
		return nil
	}
	r.out.Assumptions = append(r.out.Assumptions, "the answer is correct without what was dropped, and its callers' own time stays")
	return func(j int, p *graph.Plan, values []int64) {
		q := r.request(j)
		var s stretches
		for i := 1; i < len(q.Calls); i++ {
			if c := &q.Calls[i]; r.isCall(c) && r.hop(r.Drop, r.Relative(q, c.Slot)) {
				if s.lead == nil {
					s = stretchesOf(p)
				}
				lasting(p, s, values, q, int32(i), 0)
			}
		}
	}
}

// edgeCalls calls f for each first attempt of an edge that is waited for.
func (r *replaying) edgeCalls(j int, e Edge, f func(call int32, c *graph.Call)) {
	q := r.request(j)
	for i := 1; i < len(q.Calls); i++ {
		c := &q.Calls[i]
		if !c.Client.Seen() || c.Flags&(graph.Async|graph.Loser) != 0 {
			continue
		}
		if caller, peer, op := r.names(r.Relative(q, c.Slot)); e.fits(caller, peer, op) {
			f(int32(i), c)
		}
	}
}

// cut ends calls at a timeout.
func (r *replaying) cut() Factor {
	if len(r.Timeouts) == 0 {
		return nil
	}
	r.out.Failed, r.out.Omitted = 0, 0
	r.out.Assumptions = append(r.out.Assumptions, "a caller goes on at once when its timeout is over, does not try again, and fails unless the branch is declared optional")
	for j := range r.plans {
		failed, omitted := false, false
		for _, t := range r.Timeouts {
			r.edgeCalls(j, t.Edge, func(call int32, c *graph.Call) {
				if c.Client.Duration() > t.NS {
					if r.isOptional(r.Relative(r.request(j), c.Slot)) {
						omitted = true
					} else {
						failed = true
					}
				}
			})
		}
		if failed {
			r.out.Failed += r.weights[j]
		}
		if omitted {
			r.out.Omitted += r.weights[j]
		}
	}
	return func(j int, p *graph.Plan, values []int64) {
		var s stretches
		for _, t := range r.Timeouts {
			r.edgeCalls(j, t.Edge, func(call int32, c *graph.Call) {
				if c.Client.Duration() <= t.NS {
					return
				}
				if s.lead == nil {
					s = stretchesOf(p)
				}
				lasting(p, s, values, r.request(j), call, t.NS)
			})
		}
	}
}

// isOptional reports whether an answer can do without a call.
func (r *replaying) isOptional(slot graph.SlotID) bool {
	_, peer, op := r.names(slot)
	return r.Rules.Branch(peer, op) == config.DeclaredOptional || r.hop(r.Optional, slot)
}

// hedge sends calls a second time after a delay, and takes the first answer. The
// second attempt takes what another call of the edge took: of the same speed as
// the first, as often as was seen, else any.
func (r *replaying) hedge() Factor {
	if len(r.Hedges) == 0 {
		return nil
	}
	type edge struct {
		EdgeTime
		fast, slow part // by the delay
		again      float64
	}
	var edges []*edge
	extra, calls := 0.0, 0.0
	for _, h := range r.Hedges {
		e := &edge{EdgeTime: h, again: math.NaN()}
		var second, both float64
		for j := range r.plans {
			r.edgeCalls(j, h.Edge, func(_ int32, c *graph.Call) {
				to := &e.fast
				if c.Client.Duration() > h.NS {
					to = &e.slow
					extra += r.weights[j]
				}
				calls += r.weights[j]
				to.ns, to.w = append(to.ns, c.Client.Duration()), append(to.w, r.weights[j])
			})
		}
		for _, t := range r.targets() {
			if caller, peer, op := r.names(t.slot); h.Edge.fits(caller, peer, op) {
				x := r.hedged(t)
				second, both = second+x.Second, both+x.BothSlow
			}
		}
		if second >= minHedged {
			e.again = both / second
		} else {
			e.again = share(float64(len(e.slow.ns)), float64(len(e.slow.ns)+len(e.fast.ns)))
			r.out.Independent = true
		}
		edges = append(edges, e)
	}
	r.out.ExtraCalls = share(extra, calls)
	together := "P(second slow | first slow) is as in the hedges that were recorded"
	if r.out.Independent {
		together = "attempts are slow independently of each other: where they are slow together, hedging wins nothing"
	}
	r.out.Assumptions = append(r.out.Assumptions, together, "the further calls slow nothing down")
	return func(j int, p *graph.Plan, values []int64) {
		var s stretches
		for _, e := range edges {
			r.edgeCalls(j, e.Edge, func(call int32, c *graph.Call) {
				ns := c.Client.Duration()
				if ns <= e.NS {
					return
				}
				from := &e.fast
				if r.draw(j, call, 21) < e.again || len(e.fast.ns) == 0 {
					from = &e.slow
				}
				if second := e.NS + int64(from.at(r.draw(j, call, 22))); second < ns {
					if s.lead == nil {
						s = stretchesOf(p)
					}
					lasting(p, s, values, r.request(j), call, second)
				}
			})
		}
	}
}

// minHedged is how many second attempts say whether attempts are slow together.
const minHedged = 20

// run replays all requests and reads what became of them.
func (r *replaying) run(plans []*graph.Plan, factors []Factor) {
	if plans == nil {
		plans = r.plans
	}
	d := r.deadline()
	replayed := make([]int64, len(plans))
	var answered []int // indices
	var e graph.Evaluator
	var values []int64
	var total, good0, good1 float64
	for j, p := range plans {
		w := r.weights[j]
		total += w
		values = p.Values(values)
		for _, f := range factors {
			f(j, p, values)
		}
		ns, ok := d.run(&e, j, p, values)
		replayed[j] = ns
		if ok {
			answered = append(answered, j)
		}
		if r.Objective > 0 && r.request(j).Outcome == 0 {
			if r.latency[j] <= r.Objective {
				good0 += w
			}
			if ok && ns <= r.Objective {
				good1 += w
			}
		}
	}
	if r.Objective > 0 && total > 0 {
		r.out.Goodput = [2]float64{good0 / total, good1 / total}
	}
	for _, x := range []*float64{&r.out.Failed, &r.out.Omitted, &r.out.Stopped} {
		*x /= total
	}
	d.finish(total)
	r.quantiles(replayed, answered)
}

// quantiles compares what was recorded with the replay. Requests that are no
// longer answered have no latency; they are a share beside it.
func (r *replaying) quantiles(replayed []int64, answered []int) {
	if len(answered) == 0 {
		return
	}
	w := make([]float64, len(r.weights))
	for _, j := range answered {
		w[j] = r.weights[j]
	}
	list := []float64{0.5, 0.9, 0.95, 0.99, 0.999}
	if !slices.Contains(list, r.Options.Quantile) {
		list = append(list, r.Options.Quantile)
		slices.SortFunc(list, cmp.Compare)
	}
	own := r.Options.Quantile
	for _, q := range list {
		x := ReplayedQuantile{Quantile: q}
		c := *r.Comparison
		c.Options.Quantile = q
		r.Comparison = &c
		x.Recorded = r.quantile(r.latency, r.weights)
		x.Replayed = r.quantile(replayed, w)
		gain, lo, hi := r.effect(replayed, r.weights, w)
		x.Change, x.Lo, x.Hi = -gain, -hi, -lo
		if r.cur().Sample.EffectiveN(q) < float64(stats.NeededAbove(q)) {
			x.Lo, x.Hi = math.Inf(-1), math.Inf(1)
		}
		r.out.Quantiles = append(r.out.Quantiles, x)
	}
	r.Options.Quantile = own
}

// assume adds what every replay takes for granted.
func (r *replaying) assume() {
	r.out.Assumptions = append(r.out.Assumptions, "requests come when they came, and what was not changed takes as long as it took")
}
