package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
)

// late fills the work after callers left, and after responses.
func (a *analyzer) late(e *report.Endpoint, v *view, counted [2]*callCounts) {
	n := &counted[summary.Current].late
	seconds := window(v.side().Set)
	v.meanStop = n.Total.MeanStop()
	e.LateWork.LateTotals = lateTotals(n, seconds)
	e.After = report.After{Requests: report.Float(n.AfterRequests), TotalMs: report.Float(n.AfterNS / 1e6)}
	for _, slot := range slices.SortedFunc(maps.Keys(n.Edges), func(x, y graph.SlotID) int {
		return strings.Compare(a.reading.Dict.Path(x), a.reading.Dict.Path(y))
	}) {
		l := n.Edges[slot]
		if l.LateAttempts > 0 || l.FailedSucceeded > 0 || l.FailedUnknown > 0 {
			e.LateWork.Edges = append(e.LateWork.Edges, a.lateEdge(slot, l, seconds))
		}
	}
	slices.SortStableFunc(e.LateWork.Edges, func(x, y report.LateEdge) int {
		return cmp.Or(cmp.Compare(y.TotalMs, x.TotalMs), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Peer, y.Peer), cmp.Compare(x.Operation, y.Operation), cmp.Compare(y.Attempts, x.Attempts))
	})
	if b := v.Sides[summary.Baseline]; b != nil {
		t := lateTotals(&counted[summary.Baseline].late, window(b.Set))
		e.LateWork.Baseline = &t
	}
}

// walk gives every request of a side that is no stream, with its path walked.
func (a *analyzer) walk(s *hypotheses.Side, f func(*graph.Walker, *summary.Request)) {
	w := &graph.Walker{Dict: a.reading.Dict, Verdicts: s.Set.Calibration.Verdicts}
	for _, q := range s.All {
		if q.Standing == graph.Counted {
			w.Walk(q.Record)
			f(w, q)
		}
	}
}

func lateTotals(n *latework.LateCounter, seconds float64) report.LateTotals {
	t := report.LateTotals{Attempts: report.Float(n.Total.Attempts), LateAttempts: report.Float(n.Total.LateAttempts), TotalMs: report.Float(n.Total.NS / 1e6), MeanInFlight: report.Null}
	if seconds > 0 {
		t.MeanInFlight = report.Some(n.Total.NS / 1e9 / seconds)
	}
	return t
}

const (
	// minStops is how many calls must have been left to say how their callee takes
	// it, and longStop the mean time in ns that it goes on for from which on a
	// deadline is not heard of.
	minStops = 10
	longStop = 50e6
)

func (a *analyzer) lateEdge(slot graph.SlotID, l *latework.Late, seconds float64) report.LateEdge {
	s := a.reading.Dict.SlotAt(slot)
	r := report.LateEdge{
		Service: a.caller(s), Peer: a.peer(s), Operation: a.shownOperation(s),
		Attempts: report.Float(l.Attempts), LateAttempts: report.Float(l.LateAttempts), StartedAfter: report.Float(l.StartedAfter), TotalMs: report.Float(l.NS / 1e6),
		MeanInFlight: report.Null, WaitingMs: report.Null, WorkingMs: report.Null,
		ClientFailedServerSucceeded: report.Float(l.FailedSucceeded), ClientFailedServerFailed: report.Float(l.FailedFailed), ClientFailedUnknown: report.Float(l.FailedUnknown),
		ClientSucceededServerSucceeded: report.Float(l.SucceededSucceeded), ClientSucceededServerFailed: report.Float(l.SucceededFailed), ClientSucceededUnknown: report.Float(l.SucceededUnknown),
	}
	r.SideEffecting = latework.SideEffecting(r.Operation)
	if seconds > 0 {
		r.MeanInFlight = report.Some(l.NS / 1e9 / seconds)
	}
	if l.NS > 0 {
		r.WaitingMs, r.WorkingMs = report.Some(l.Waiting/1e6), report.Some(l.Working/1e6)
	}
	if l.LateAttempts >= minStops && l.MeanStop() >= longStop {
		text := prose.Sprintf("it goes on for %.3g ms on average after its caller has left: neither the deadline nor the cancellation reaches it, or it does not look", l.MeanStop()/1e6)
		if r.SideEffecting {
			text += "; by its name it changes something, and may lawfully finish"
		}
		r.Warnings = append(r.Warnings, text)
	}
	if l.StartedAfter > 0 {
		r.Warnings = append(r.Warnings, plural(l.StartedAfter, "call", "calls")+" began after the caller had left: a deadline that comes along would have refused them")
	}
	return r
}

// attempts fills the calls that were tried more than once, or failed.
func (a *analyzer) attempts(e *report.Endpoint, v *view, counted [2]*callCounts) {
	cur := counted[summary.Current].attempts.Targets
	var base map[latework.Target]*latework.Attempts
	if b := counted[summary.Baseline]; b != nil {
		base = b.attempts.Targets
	}
	d := a.reading.Dict
	targets := slices.SortedFunc(maps.Keys(cur), func(x, y latework.Target) int {
		return cmp.Or(strings.Compare(d.Path(x.Parent), d.Path(y.Parent)), strings.Compare(d.String(x.Name.Service), d.String(y.Name.Service)), strings.Compare(d.String(x.Name.Operation), d.String(y.Name.Operation)))
	})
	for _, k := range targets {
		t, b := cur[k], base[k]
		if t.Attempts == t.Logical && t.Failed == 0 && (b == nil || b.Attempts == b.Logical && b.Failed == 0) {
			continue
		}
		s := a.reading.Dict.SlotAt(t.Slot())
		row := report.Attempts{Service: a.caller(s), Peer: a.peer(s), Operation: a.shownOperation(s), AttemptTotals: a.attemptTotals(t, cur)}
		if v.Sides[summary.Baseline] != nil {
			if b == nil {
				b = &latework.Attempts{}
			}
			was := a.attemptTotals(b, base)
			row.Baseline = &was
		}
		e.Attempts = append(e.Attempts, row)
	}
	slices.SortStableFunc(e.Attempts, func(x, y report.Attempts) int {
		return cmp.Or(cmp.Compare(y.Attempts-y.Logical, x.Attempts-x.Logical), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Peer, y.Peer), cmp.Compare(x.Operation, y.Operation), cmp.Compare(y.Attempts, x.Attempts))
	})
}

func (a *analyzer) attemptTotals(t *latework.Attempts, all map[latework.Target]*latework.Attempts) report.AttemptTotals {
	r := report.AttemptTotals{
		Logical: report.Float(t.Logical), Attempts: report.Float(t.Attempts), Retries: report.Float(t.Retries), Hedges: report.Float(t.Hedges), Duplicates: report.Float(t.Duplicates),
		Failed: report.Float(t.Failed), FailedMs: report.Float(t.FailedNS / 1e6), BackoffMs: report.Float(t.BackoffNS / 1e6),
		Amplification: report.Null, OverLayers: report.Null,
	}
	if t.Logical > 0 {
		r.Amplification, r.OverLayers = report.Some(t.Amplification()), report.Some(a.overLayers(t, all))
	}
	return r
}

// overLayers is the amplification of a target's calls and of those above it.
func (a *analyzer) overLayers(t *latework.Attempts, all map[latework.Target]*latework.Attempts) float64 {
	layers := []float64{t.Amplification()}
	for s := a.reading.Dict.SlotAt(t.Slot()).Parent; s != graph.NoSlot; s = a.reading.Dict.SlotAt(s).Parent {
		if up := all[latework.TargetOf(a.reading.Dict, s)]; up != nil && up.Logical > 0 {
			layers = append(layers, up.Amplification())
		}
	}
	return latework.Amplification(layers...)
}

const (
	// minGathers is how many gathers are needed to say how often a branch is slow,
	// and minBranches how many branches make a fan-out.
	minGathers  = 20
	minBranches = 2
)

// fanOut fills the sets of parallel calls of which the slowest decides. A branch
// is slow if it ends later than nine in ten gathers do; in the baseline, where
// there is one.
func (a *analyzer) fanOut(e *report.Endpoint, v *view, nodes map[graph.SlotID]report.NodeID) {
	gathers := func(s *hypotheses.Side) map[graph.SlotID][]latework.Gather {
		to := map[graph.SlotID][]latework.Gather{}
		for _, q := range s.Counted {
			latework.Gathers(a.reading.Dict, q.Record, s.Set.Calibration.Verdicts, weight(q.Weight), func(slot graph.SlotID) graph.SlotID { return v.Relative(q, slot) }, to)
		}
		return to
	}
	cur := gathers(v.side())
	var base map[graph.SlotID][]latework.Gather
	if b := v.Sides[summary.Baseline]; b != nil {
		base = gathers(b)
	}
	for parent, list := range cur {
		id, ok := nodes[parent]
		if !ok || len(list) < minGathers {
			continue
		}
		from := base[parent]
		if len(from) < minGathers {
			from = list
		}
		f := latework.Judge(list, latework.Threshold(from))
		row := report.FanOut{Node: id, Branches: int(math.Round(f.Branches)), Begun: int(math.Round(f.Begun)), Independent: report.Some(f.Independent), Observed: report.Some(f.Observed), NEff: report.Some(f.Effective)}
		if row.Branches < minBranches {
			continue
		}
		for _, s := range f.Slots {
			row.PSlow = append(row.PSlow, report.Some(s.Slow))
			node, ok := nodes[s.Slot]
			if !ok {
				node = report.NoNode
			}
			row.Owners = append(row.Owners, report.BranchOwner{Node: node, Share: report.Some(s.Last)})
		}
		e.FanOut = append(e.FanOut, row)
	}
	slices.SortFunc(e.FanOut, func(x, y report.FanOut) int { return cmp.Compare(x.Node, y.Node) })
}
