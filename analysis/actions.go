package analysis

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/hypotheses/action"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// rules are what the team asks of an endpoint, for a class or for all.
func (a *analyzer) rules(v *view, class string) config.Rules {
	if a.o.Config == nil {
		return config.Rules{}
	}
	return a.o.Config.Rules(a.str(v.Endpoint.Name.Service), a.str(v.Endpoint.Name.Operation), class)
}

// meaning marks the nodes that the rules declare optional or mandatory: what
// somebody knows goes before what was seen.
func (a *analyzer) meaning(e *report.Endpoint, r *config.Rules) {
	for i := range e.Structure.Nodes {
		n := &e.Structure.Nodes[i]
		service := n.Service
		if n.Peer != "" {
			service = n.Peer
		}
		switch r.Branch(service, n.Operation) {
		case config.DeclaredOptional:
			n.Optional = true
		case config.DeclaredMandatory:
			n.Optional = false
		}
	}
}

// actions weighs what could be done about the causes of a regression.
func (a *analyzer) actions(e *report.Endpoint, v *view, r *hypotheses.Ranking) {
	s := &action.Situation{
		Service: e.Service, Operation: e.Operation,
		Regression: v.Verdict.Outcome == stats.Regression, Quantile: a.o.Quantile,
		Findings: r.Findings, Rules: a.rules(v, ""), Classes: map[string]config.Rules{},
		Late:     action.Late{Attempts: float64(e.LateWork.Attempts), Late: float64(e.LateWork.LateAttempts), MeanStop: v.meanStop, LongTimeouts: longTimeouts(e)},
		Services: a.servicesOf(v),
	}
	if v.Verdict.Outcome == stats.Improvement {
		return // nobody asks what to do about one
	}
	if a.o.Config != nil {
		for _, class := range a.o.Config.ClassesOf(e.Service, e.Operation) {
			s.Classes[class] = a.rules(v, class)
		}
	}
	if q := e.Of(report.Float(a.o.Quantile)); q != nil {
		s.P99 = [2]float64{q.BaselineMs.Or(math.NaN()) * 1e6, q.CurrentMs.Or(math.NaN()) * 1e6}
	}
	s.Shown, s.ShownNS = s.Quantile, s.P99
	if f := e.Focus; f != nil {
		s.Shown, s.ShownNS = float64(f.Quantile), [2]float64{f.Latency.BaselineMs.Or(math.NaN()) * 1e6, f.Latency.CurrentMs.Or(math.NaN()) * 1e6}
	}
	s.Before = math.NaN()
	if b := e.Before; b != nil {
		s.Before = b.Current.P99Ms.Or(math.NaN()) * 1e6
	}
	for _, verdict := range v.side().Set.Calibration.Owners.All() {
		if !verdict.Claimed() || verdict.Sides[summary.Current] == nil {
			continue
		}
		q := action.Queue{Caller: a.str(verdict.Key.Caller), Peer: a.str(verdict.Key.Target), Resource: verdict.Resource, Owner: string(verdict.Owner), ByMix: r.ByMix(verdict)}
		for i, side := range verdict.Sides {
			q.Wait[i], q.Hold[i] = math.NaN(), math.NaN()
			if side == nil {
				continue
			}
			q.Wait[i], q.Hold[i], q.Limit[i] = side.Wait, side.Hold, side.Limit
		}
		s.Queues = append(s.Queues, q)
	}
	for i := range e.Structure.Nodes {
		n := &e.Structure.Nodes[i]
		if n.Parent < 0 || !n.WaitedFor {
			continue
		}
		b := action.Branch{Service: n.Service, Operation: n.Operation, Caller: e.Structure.Nodes[n.Parent].Service, Survived: n.Optional, Blocking: n.BlockingShare.Or(0)}
		if n.Peer != "" {
			b.Service = n.Peer
		}
		if b.Service != b.Caller {
			s.Branches = append(s.Branches, b)
		}
	}
	for i := range e.Attempts {
		t := &e.Attempts[i]
		x := action.Attempts{Caller: t.Service, Peer: t.Peer, Operation: t.Operation, Logical: float64(t.Logical), Retried: float64(t.Retries), Hedged: float64(t.Hedges)}
		if h, ok := r.Hedged(t.Service, t.Peer, t.Operation); ok {
			x.Again, x.SecondsKnown = h.Again(), h.Second
		}
		s.Attempts = append(s.Attempts, x)
	}
	if a.o.Notes != nil {
		s.Notes = a.o.Notes.Notes
	}
	for i := range e.Coalescing {
		x := &e.Coalescing[i]
		s.Identity = append(s.Identity, action.Identity{Caller: x.Service, Peer: x.Peer, Operation: x.Operation, Calls: float64(x.Calls), Eligible: float64(x.EligibleShare), Group: x.MeanGroup.Or(2)})
	}
	for _, x := range action.Weigh(s) {
		e.Actions = append(e.Actions, report.Action{Action: x.Action, Target: x.Target, ForRank: x.For, Verdict: report.ActionVerdict(x.Verdict), Reason: x.Reason, Costs: x.Costs, PaidBy: x.PaidBy})
	}
}

// servicesOf is what is known of the services of an endpoint.
func (a *analyzer) servicesOf(v *view) map[string]*action.Service {
	out := map[string]*action.Service{}
	get := func(name string) *action.Service {
		if out[name] == nil {
			out[name] = &action.Service{CPU: math.NaN(), Executor: math.NaN()}
		}
		return out[name]
	}
	for i, s := range v.Sides {
		if s == nil {
			continue
		}
		procs := map[graph.ProcID]bool{}
		for _, q := range s.Counted {
			for c := range q.Calls {
				for _, h := range []*graph.Half{&q.Calls[c].Client, &q.Calls[c].Work} {
					if h.Seen() {
						procs[h.Proc] = true
					}
				}
			}
		}
		instances := map[[2]trace.StringID]bool{}
		for p := range procs {
			x := a.reading.Dict.ProcAt(p)
			y := get(a.str(x.Service))
			if version := a.str(x.Version); version != "" && !slices.Contains(y.Versions[i], version) {
				y.Versions[i] = append(y.Versions[i], version)
				slices.Sort(y.Versions[i])
			}
			if k := [2]trace.StringID{x.Service, x.Instance}; i == summary.Current && x.Instance != 0 && !instances[k] {
				instances[k] = true
				y.Instances++
			}
		}
	}
	set := v.side().Set
	highest := func(to *float64, x float64) {
		if math.IsNaN(*to) || x > *to {
			*to = x
		}
	}
	for _, p := range set.Pools {
		if p.Kind == metric.Executor && p.Occupancy.Seconds > 0 {
			highest(&get(p.Service).Executor, p.Occupancy.P99)
		}
	}
	for _, s := range set.Metrics.Signals(metric.Window{From: set.Counts.From, To: set.Counts.To}, a.o.reading().Names) {
		if s.Role == metric.CPUShare && s.Levels.Seconds > 0 {
			highest(&get(s.Service).CPU, s.Levels.P99)
		}
	}
	return out
}
