package hypotheses

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// unseen reports whether the calls of a slot reach another service without a client span: what lies before them in the
// caller is its own work, a wait for a connection, the way there, and a queue at the callee, in one.
func (a *Asking) unseen(slot graph.SlotID) bool {
	s := a.slot(slot)
	if s.Parent == graph.NoSlot || s.Caller.Service != 0 || s.Kind == trace.KindConsumer {
		return false
	}
	return s.Callee.Service != a.slot(s.Parent).Callee.Service
}

// beforeUnseen is the part of the growth of work's own time, which lasted so long in each request of the sides, that lies
// before calls without client spans, and the slot of those before which it is the most.
func (a *Asking) beforeUnseen(work []graph.SlotID, lengths [2][]lasted) (share float64, most graph.SlotID) {
	grew := func(of func(side int) (sum float64)) float64 {
		was, is := a.base().Sample.Weight(), a.cur().Sample.Weight()
		return of(summary.Current)/is - of(summary.Baseline)/was
	}
	all := grew(func(side int) (sum float64) {
		for _, x := range lengths[side] {
			sum += float64(x.ns) * float64(a.Sides[side].Counted[x.req].Weight) / graph.OneRequest
		}
		return sum
	})
	if all == 0 {
		return 0, graph.NoSlot
	}
	is := map[graph.SlotID]bool{}
	for _, s := range work {
		is[s] = true
	}
	before, top := 0.0, 0.0
	most = graph.NoSlot
	for _, slot := range slices.Sorted(maps.Keys(a.slots[summary.Current])) {
		if !a.unseen(slot) || !is[a.slot(slot).Parent] {
			continue
		}
		ms := grew(func(side int) (sum float64) {
			if p := a.parts[side][PartKey{Slot: slot}]; p != nil {
				for i, ns := range p.ns {
					sum += float64(ns) * p.w[i]
				}
			}
			return sum
		})
		before += ms
		if ms/all > top {
			top, most = ms/all, slot
		}
	}
	return before / all, most
}

// mostUnseen is the part of the growth of an own time that may lie before calls without client spans before it is nobody's.
const mostUnseen = 0.5

// doubtUnseen says of work whose own time grew before calls without client spans that it may be no work.
func (a *Asking) doubtUnseen(f *Finding, work []graph.SlotID, lengths [2][]lasted) {
	if slot := a.leftUnseen(work); slot != graph.NoSlot {
		_, _, op := a.names(slot)
		f.Doubtful = true
		f.Warnings = append(f.Warnings, fmt.Sprintf("%s was waited for and outlasts its caller now: without a client span nothing tells whether the caller waited for it until it gave up", op))
		return
	}
	share, most := a.beforeUnseen(work, lengths)
	if share < mostUnseen || most == graph.NoSlot {
		return
	}
	_, _, op := a.names(most)
	peer := a.Reading.Dict.String(a.slot(most).Callee.Service)
	f.Doubtful, f.unseen = true, true
	f.Claim = fmt.Sprintf("%s takes longer before its calls, which have no client spans", f.Service)
	f.Evidence = append(f.Evidence, says("spans", len(lengths[summary.Current]), "%.0f %% of the rise lies before spans of other services, most before %s of %s", 100*share, op, peer))
	f.Warnings = append(f.Warnings, prose.Sprintf("%s records no client span for %s of %s: its own work, a wait for a connection, the network and a queue in front of %s are one number here", f.Service, op, peer, peer))
	f.Check = Check{
		Question: fmt.Sprintf("is the time spent before or within the client span of %s?", op),
		Rival:    fmt.Sprintf("client-wait, server-queue or network: calls to %s wait, or travel, for longer", peer),
		IfThis:   "before it: the caller works",
		IfRival:  "within it, beyond the server span",
		Query:    fmt.Sprintf("record client spans in %s for its calls to %s, and %s", f.Service, peer, "the use and limit of its connection pool"),
	}
}

// doubtUnrecorded says of the work of a service that records no client spans, though it calls others or nobody records any,
// that calls of what has no spans either are in it.
func (a *Asking) doubtUnrecorded(f *Finding, service trace.StringID) {
	if f.Doubtful {
		return
	}
	nobody, calls := true, false
	for id := range graph.SlotID(a.Reading.Dict.Slots()) {
		s := a.Reading.Dict.SlotAt(id)
		if s.Caller.Service == service {
			return
		}
		nobody = nobody && s.Caller.Service == 0
		calls = calls || s.Parent != graph.NoSlot && s.Caller.Service == 0 && s.Callee.Service != service && a.Reading.Dict.SlotAt(s.Parent).Callee.Service == service
	}
	if nobody || calls {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%s records no client spans: its calls of what has no spans of its own, such as a database, are in this time", f.Service))
	}
}

// leftUnseen is a slot of calls by work without client spans that were waited for in the baseline and are not now.
func (a *Asking) leftUnseen(work []graph.SlotID) graph.SlotID {
	for _, slot := range slices.Sorted(maps.Keys(a.slots[summary.Current])) {
		waited := func(side int) graph.WaitedVerdict { return a.Sides[side].Verdicts().WaitedFor(slot).Verdict }
		if a.unseen(slot) && slices.Contains(work, a.slot(slot).Parent) && waited(summary.Current) == graph.Asynchronous && waited(summary.Baseline) != graph.Asynchronous {
			return slot
		}
	}
	return graph.NoSlot
}
