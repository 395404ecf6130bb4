package hypotheses

import (
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

var lateWork = Cause{
	Doc: Doc{
		Kind:     "late-work",
		Title:    "work for callers that have left holds the places of others",
		Claim:    "A callee goes on after its caller has left; what it holds meanwhile is missing for others, which wait.",
		Supports: "Server spans end later after their caller's departure than before; late calls in flight rose by as much as the callee is busier; requests wait in front of it.",
		Refutes:  "Late time is as it was, or nothing waits for what the late calls hold.",
		Mimics:   "server-queue has fewer places; service-time holds them longer for callers that wait; what ends after its parent without a departure is after the response, and not late.",
		Emit:     "the server span also where the client cancelled, and the cancellation on the client span.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, t := range a.targets() {
			if f, ok := a.lateFinding(t); ok {
				out = append(out, f)
			}
		}
		return out
	},
}

// A tardy is the late work of a target on one side, per attempt, in ns.
type tardy struct {
	n, left float64 // attempts, and those that were left
	late    float64 // those of them that went on
	ns      float64 // late time
	busy    float64 // time of server halves
	perS    float64 // late time per second: the mean number in flight
}

func (a *Asking) tardy(side int, t *target) tardy {
	var r tardy
	s := a.Sides[side]
	l := summary.NewLedger(s.Set.Calibration)
	for _, q := range s.All { // also those that left the percentiles hold places
		left := false
		w := float64(q.Weight) / graph.OneRequest
		for i := range q.Calls {
			c := &q.Calls[i]
			if !slices.Contains(t.slots, a.Relative(q, c.Slot)) {
				continue
			}
			r.n += w
			if c.Work.Seen() {
				r.busy += w * float64(c.Work.Duration())
			}
			if c.OuterEnd().Left() && c.Flags&graph.Loser == 0 {
				left = true
				if c.Work.Seen() {
					r.left += w
				}
			}
		}
		if !left && q.Outcome == 0 {
			continue
		}
		l.Walker.Walk(q.Record)
		for _, b := range l.Walker.Late {
			c := &q.Calls[b.Call]
			if b.Client || q.Calls[b.By].Flags&graph.Loser != 0 || !slices.Contains(t.slots, a.Relative(q, c.Slot)) {
				continue
			}
			if b.By == b.Call && b.End-b.Start > stopping {
				r.late += w
			}
			r.ns += w * float64(b.End-b.Start)
		}
	}
	if sec := float64(s.Set.Counts.To-s.Set.Counts.From) / 1e9; sec > 0 {
		r.perS = r.ns / 1e9 / sec
	}
	return r
}

// stopping is how long after a departure a callee may take to hear of it and to
// stop.
const stopping = 5_000_000

// minWentOn is by how much the share of left calls that go on must have changed:
// a callee that stopped when it was left, and no longer does.
const minWentOn = 0.3

func (a *Asking) lateFinding(t *target) (Finding, bool) {
	if t.sides[0].timedOut == 0 && t.sides[1].timedOut == 0 {
		return Finding{}, false
	}
	was, is := a.tardy(0, t), a.tardy(1, t)
	onWas, onIs := share(was.late, was.left), share(is.late, is.left)
	if was.left == 0 || is.left == 0 || max(onIs-onWas, onWas-onIs) < minWentOn || !more(was.late, was.left, is.late, is.left) && !more(is.late, is.left, was.late, was.left) {
		return Finding{}, false
	}
	busyWas, busyIs := was.busy/was.n, is.busy/is.n
	f := a.named("late-work", t)
	f.Claim = prose.Sprintf("%s goes on for callers that have left, %.3g calls at any moment where it was %.3g, and others wait for what it holds", f.Peer, is.perS, was.perS)
	f.Evidence = append(f.Evidence,
		numbers("spans", int(is.late), "calls", was.perS, is.perS, "late calls of "+f.Operation+" in flight"),
		numbers("spans", int(is.left), "share", onWas, onIs, "calls that were left and went on"),
		numbers("spans", int(is.late), "ms", share(was.ns, was.left)/1e6, share(is.ns, is.left)/1e6, "mean time after a departure"),
		numbers("spans", int(is.n), "ms", busyWas/1e6, busyIs/1e6, "mean time that "+f.Peer+" is busy with a call"),
	)
	// The queues in front of the callee, whoever calls it.
	callee := a.slot(t.slot).Callee.Service
	var factors []Factor
	for _, b := range a.queues() {
		if s := a.slot(b.slot()); s.Callee.Service != callee || callee == 0 {
			continue
		}
		factors = append(factors, a.gapsBack(b, 1))
	}
	f.Check = Check{
		Question: "do waits in front of " + f.Peer + " overlap work for callers that have left?",
		Rival:    "server-queue: " + f.Peer + " has fewer places",
		IfThis:   "the calls that hold the places include late ones, and with those stopped at the departure the places suffice",
		IfRival:  "all places are held by calls that somebody waits for",
		Ran:      true,
		Outcome:  prose.Sprintf("late work is %.3g of the %.3g calls in %s at any moment; it was %.3g of %.3g", is.perS, is.perS*share(is.busy, is.ns), f.Peer, was.perS, was.perS*share(was.busy, was.ns)),
	}
	// All calls wait for what the late ones hold, inside the callee's span or in
	// front of it: their logical durations go back, attempts and all.
	logical := a.answeredAsBefore(t, nil)
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		for _, g := range factors {
			g(j, p, values)
		}
		logical(j, p, values)
	}
	return f, true
}

// either holds of what one of the others holds of.
func either(fs ...func(*Finding) bool) func(*Finding) bool {
	return func(o *Finding) bool {
		return slices.ContainsFunc(fs, func(f func(*Finding) bool) bool { return f(o) })
	}
}

// afterLate puts what happens to calls below the late work that keeps them
// waiting.
func afterLate(f *Finding) func(*Finding) bool {
	caller, peer, op := f.Service, f.Peer, f.Operation
	return func(o *Finding) bool {
		return o.Kind == "late-work" && o.Service == caller && o.Peer == peer && o.Operation == op
	}
}
