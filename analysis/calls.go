package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
)

// callCounts is what the requests of a side say of how their calls are made: all
// of them, also those that are not in the percentiles because their caller left.
type callCounts struct {
	late      latework.LateCounter
	attempts  latework.AttemptCounter
	hedges    latework.Hedges
	deadlines latework.DeadlineCounter
	flights   latework.FlightCounter
	notices   latework.NoticeCounter
}

// counted counts both sides; what only the current one is asked for is counted
// there alone.
func (a *analyzer) counted(v *view) (out [2]*callCounts) {
	for i, s := range v.Sides {
		if s == nil {
			continue
		}
		n := &callCounts{}
		out[i] = n
		current := s == v.side()
		if current {
			n.deadlines.Whole = int64(a.objective(v, ""))
			for _, q := range s.All {
				if q.Standing == graph.Counted {
					n.deadlines.Learn(q.Record, func(slot graph.SlotID) graph.SlotID { return v.Relative(q, slot) })
				}
			}
		}
		a.walk(s, func(w *graph.Walker, q *summary.Request) {
			slot := func(slot graph.SlotID) graph.SlotID { return v.Relative(q, slot) }
			weight := weight(q.Weight)
			n.late.Add(w, q.Record, weight, slot)
			n.attempts.Add(w, q.Record, weight, slot)
			if current {
				n.hedges.Add(w, q.Record, weight, slot)
				n.deadlines.Add(w, q.Record, weight, slot)
				n.flights.Add(a.reading.Dict, q.Record, weight, slot)
				n.notices.Add(w, q.Record, weight, slot)
			}
		})
	}
	return out
}

// calls fills what is to be said of how calls are made.
func (a *analyzer) calls(e *report.Endpoint, v *view, counted [2]*callCounts) {
	n := counted[1]
	if n == nil {
		n = counted[0]
	}
	a.hedging(e, n)
	a.coalescing(e, v, n)
	a.deadlines(e, n)
	a.notices(e, n)
}

// edge names the calls of a slot.
func (a *analyzer) edge(slot graph.SlotID) (caller, peer, operation string) {
	s := a.reading.Dict.SlotAt(slot)
	return a.caller(s), a.peer(s), a.shownOperation(s)
}

// byEdge orders rows of calls that are equal by what matters.
func byEdge(xs, xp, xo, ys, yp, yo string) int {
	return cmp.Or(cmp.Compare(xs, ys), cmp.Compare(xp, yp), cmp.Compare(xo, yo))
}

func (a *analyzer) hedging(e *report.Endpoint, n *callCounts) {
	for t, c := range n.hedges.Targets {
		if !c.Hedged() {
			continue
		}
		h := c.Read()
		row := report.HedgedCall{Calls: report.Float(h.Calls), Hedged: report.Float(h.Second), Wins: report.Float(h.Wins), DelayMs: msOf(h.Delay),
			Rate: report.Float(h.Rate()), NominalRate: latework.NominalHedgeRate, PSlow: report.Float(h.Slow()), PSlowAgain: report.Float(h.Again()),
			P99Ms: msOf(h.P99), FirstP99Ms: msOf(h.FirstP99), LoserWorkShare: report.Some(h.Load), LoserStopP50Ms: msOf(h.StopP50), LoserStopP99Ms: msOf(h.StopP99), Verdict: string(h.Verdict())}
		row.Service, row.Peer, row.Operation = a.edge(n.hedges.Slots[t])
		e.Hedging = append(e.Hedging, row)
	}
	slices.SortFunc(e.Hedging, func(x, y report.HedgedCall) int {
		return cmp.Or(cmp.Compare(y.Hedged, x.Hedged), byEdge(x.Service, x.Peer, x.Operation, y.Service, y.Peer, y.Operation), cmp.Compare(y.Calls, x.Calls))
	})
}

const (
	// minEligible is the share of calls that must ask for the same at once to be
	// told, and minFlights how many of them.
	minEligible = 0.01
	minFlights  = 10
)

func (a *analyzer) coalescing(e *report.Endpoint, v *view, n *callCounts) {
	edges := n.flights.Edges(a.reading.Dict, func(s graph.SlotID) graph.SlotID { return s })
	seconds := window(v.side().Set)
	sampled := v.side().Set.Sampled()
	for _, f := range edges {
		if f.Followers == 0 && (f.Share() < minEligible || f.Eligible < minFlights) {
			continue
		}
		row := report.Coalescing{Calls: report.Float(f.Calls), Eligible: report.Float(f.Eligible), EligibleShare: report.Float(f.Share()), MeanGroup: report.Null,
			EligiblePerS: report.Null, LeadersPerS: report.Null, AvoidedPerS: report.Null, Followers: report.Float(f.Followers), Followed: report.Float(f.Followed)}
		if f.Leaders > 0 {
			row.MeanGroup = report.Some(f.MeanGroup())
		}
		switch {
		case sampled:
			row.Warnings = append(row.Warnings, "requests are sampled, and with them the calls that a call could share: at least this share")
		case seconds > 0 && f.Leaders > 0:
			eligible, leaders, avoided := latework.Coalesced(f.Calls/seconds, f.Share(), f.MeanGroup())
			row.EligiblePerS, row.LeadersPerS, row.AvoidedPerS = report.Some(eligible), report.Some(leaders), report.Some(avoided)
		}
		if f.Eligible > 0 {
			row.Warnings = append(row.Warnings, "the same path, by the spans; the key of a shared call must hold the tenant, the subject, the policy and the freshness that the answer depends on, too")
		}
		row.Service, row.Peer, row.Operation = a.edge(f.Slot)
		e.Coalescing = append(e.Coalescing, row)
	}
	slices.SortStableFunc(e.Coalescing, func(x, y report.Coalescing) int {
		return cmp.Or(cmp.Compare(y.Eligible, x.Eligible), cmp.Compare(y.Followers, x.Followers), byEdge(x.Service, x.Peer, x.Operation, y.Service, y.Peer, y.Operation))
	})
}

// minPropagated is the share of departures of which a callee must hear for
// deadlines to be propagated.
const minPropagated = 0.5

func (a *analyzer) deadlines(e *report.Endpoint, n *callCounts) {
	for _, d := range n.deadlines.Deadlines() {
		if d.Timeout == 0 && d.Departed == 0 && d.TooLate == 0 {
			continue
		}
		row := report.Deadline{Calls: report.Float(d.Calls), TimeoutMs: report.Null, RemainingMs: report.Null, Beyond: report.Float(d.Beyond),
			Retries: report.Float(d.Retries), TooLate: report.Float(d.TooLate), UsefulMs: report.Null, Left: report.Float(d.Departed), Heard: report.Float(d.Heard), StartedAfter: report.Float(d.Began), Propagated: report.CannotSay}
		row.Service, row.Peer, row.Operation = a.edge(d.Slot)
		if d.Timeout > 0 {
			row.TimeoutMs = msOf(float64(d.Timeout))
		}
		if d.Known {
			row.RemainingMs = msOf(float64(d.Left))
		}
		if d.Useful > 0 {
			row.UsefulMs = msOf(float64(d.Useful))
		}
		if d.Departed >= minStops {
			row.Propagated = report.NotPropagated
			if d.Heard >= minPropagated*d.Departed {
				row.Propagated = report.IsPropagated
			}
		}
		if d.Beyond > d.Calls/2 {
			row.Warnings = append(row.Warnings, prose.Sprintf("it is given %.4g ms where its caller has %.4g ms left: a timeout of its own, not the remaining time", float64(d.Timeout)/1e6, math.Max(float64(d.Left)/1e6, 0)))
		}
		if d.TooLate > 0 {
			row.Warnings = append(row.Warnings, prose.Sprintf("%s of %.0f began when less was left than the %.3g ms of a useful attempt", plural(d.TooLate, "retry", "retries"), d.Retries, float64(d.Useful)/1e6))
		}
		if d.Began > 0 {
			row.Warnings = append(row.Warnings, fmt.Sprintf("%s began after the caller had left: a deadline that comes along would have refused them", plural(d.Began, "call", "calls")))
		}
		e.Deadlines = append(e.Deadlines, row)
	}
	slices.SortStableFunc(e.Deadlines, func(x, y report.Deadline) int {
		return cmp.Or(cmp.Compare(len(y.Warnings), len(x.Warnings)), cmp.Compare(y.Left, x.Left), cmp.Compare(y.Calls, x.Calls), byEdge(x.Service, x.Peer, x.Operation, y.Service, y.Peer, y.Operation))
	})
}

// longTimeouts says which calls are given longer than their caller has left.
func longTimeouts(e *report.Endpoint) (out []string) {
	for i := range e.Deadlines {
		d := &e.Deadlines[i]
		if d.Beyond > d.Calls/2 {
			out = append(out, prose.Sprintf("%s gives %s %.4g ms where it has %.4g ms left", d.Service, d.Operation, d.TimeoutMs.Or(0), math.Max(d.RemainingMs.Or(0), 0)))
		}
	}
	return out
}

func plural(n float64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return prose.Sprintf("%.0f %s", n, more)
}

// minNoticed is the share of requests that must show a notice for it to be told.
const minNoticed = 0.01

func (a *analyzer) notices(e *report.Endpoint, n *callCounts) {
	for _, x := range n.notices.Notices() {
		share := x.Requests / n.notices.Requests
		if share < minNoticed {
			continue
		}
		row := report.CallNotice{Requests: report.Float(x.Requests), Share: report.Float(share), Calls: report.Float(x.Calls / x.Requests), PathMs: report.Float(x.PathNS / x.Requests / 1e6), SameAgain: report.Float(x.Same)}
		row.Service, row.Peer, row.Operation = a.edge(x.Slot)
		switch x.Kind {
		case latework.RepeatedCalls:
			row.Kind, row.Statement = report.RepeatedCalls, "one call after the other: ask for all at once, or side by side"
		case latework.ControlPlane:
			row.Kind, row.Statement = report.ControlPlane, "by its name a control plane, waited for by the request: its outage is this endpoint's"
		case latework.Redirects:
			row.Kind, row.Statement = report.Redirects, "told to ask elsewhere: the caller's map of who holds what is stale, or the address has moved"
		}
		e.Notices = append(e.Notices, row)
	}
	slices.SortStableFunc(e.Notices, func(x, y report.CallNotice) int {
		return cmp.Or(cmp.Compare(y.PathMs*y.Share, x.PathMs*x.Share), cmp.Compare(x.Kind, y.Kind), byEdge(x.Service, x.Peer, x.Operation, y.Service, y.Peer, y.Operation))
	})
}
