package hypotheses

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

var newHop = Cause{
	Doc: Doc{
		Kind:     "new-hop",
		Title:    "a call that was not made before",
		Claim:    "Requests make a call now, and wait for it, that the baseline does not make; or, where they got faster, do not make one any more.",
		Supports: "No baseline request has the call; the current requests have it on their critical path; without it they take as long as before.",
		Refutes:  "A call of the same parent to the same service was lost at the same time: it was renamed. Or nobody waits for the new one.",
		Mimics:   "new spans for work that was always done (instrumentation) add no time; call-count is a known call made more often; mix-shift brings requests that always had it.",
		Emit:     "client spans on both sides.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, slot := range a.newSlots() {
			if !a.renamed(slot) {
				out = append(out, a.hopFinding(slot))
			} else if f, ok := a.multiplied(slot); ok {
				out = append(out, f)
			}
		}
		for _, slot := range a.goneSlots() {
			out = append(out, a.goneFinding(slot))
		}
		return out
	},
}

// ownMoved is the part of the call by which its caller's own time must have changed the other way for the call to have been
// there all along without a span: what became a call is gone from it whole, what varies is less.
const ownMoved = 0.5

// newSlots is the calls to others that only the current side makes, but for
// those below another such call.
func (a *Asking) newSlots() []graph.SlotID { return a.onlyOf(summary.Current) }

// onlyOf is the calls to others that only one side makes, but for those below another such call.
func (a *Asking) onlyOf(side int) []graph.SlotID {
	var out []graph.SlotID
	for slot := range a.slots[side] {
		s := a.slot(slot)
		if len(a.slots[1-side][slot]) > 0 || a.above(side, slot) == graph.NoSlot {
			continue
		}
		if s.Caller.Service == 0 && s.Callee.Service == a.slot(s.Parent).Callee.Service {
			continue // a span of its own service is no hop
		}
		out = append(out, slot)
	}
	slices.Sort(out)
	return out
}

// above is the span of both sides in whose work a call is made: spans of the same service that only this side has are passed
// over. NoSlot of calls below another call that only this side makes.
func (a *Asking) above(side int, slot graph.SlotID) graph.SlotID {
	up := a.slot(slot).Parent
	for up != graph.NoSlot && len(a.slots[1-side][up]) == 0 {
		s := a.slot(up)
		if s.Caller.Service != 0 || s.Parent == graph.NoSlot || a.slot(s.Parent).Callee.Service != s.Callee.Service {
			return graph.NoSlot
		}
		up = s.Parent
	}
	return up
}

// goneSlots is the calls to others that only the baseline makes, but for those below another such call and those that have
// another name now. They are causes of an improvement.
func (a *Asking) goneSlots() []graph.SlotID {
	return slices.DeleteFunc(a.onlyOf(summary.Baseline), func(slot graph.SlotID) bool {
		s, up := a.slot(slot), a.above(summary.Baseline, slot)
		for now := range a.slots[summary.Current] {
			o := a.slot(now)
			if a.above(summary.Current, now) == up && (s.Caller.Service != 0 && o.Caller == s.Caller ||
				len(a.slots[summary.Baseline][now]) == 0 && o.Callee.Service == s.Callee.Service && o.Peer == s.Peer) {
				return true
			}
		}
		return false
	})
}

// lost is the calls of a parent that only the baseline makes.
func (a *Asking) lost(parent graph.SlotID) []graph.SlotID {
	var out []graph.SlotID
	for slot := range a.slots[summary.Baseline] {
		if len(a.slots[summary.Current][slot]) == 0 && a.above(summary.Baseline, slot) == parent {
			out = append(out, slot)
		}
	}
	slices.Sort(out)
	return out
}

// renamed reports whether a new slot is an old one under another name: one of
// the same parent and callee, or of the same client span, went as it came.
func (a *Asking) renamed(slot graph.SlotID) bool {
	s, up := a.slot(slot), a.above(summary.Current, slot)
	for _, l := range a.lost(up) {
		o := a.slot(l)
		if s.Caller != o.Caller && (s.Callee.Service != o.Callee.Service || s.Peer != o.Peer) {
			continue
		}
		return true
	}
	// A callee whose half is not always seen has two slots with one client span.
	for old := range a.slots[summary.Baseline] {
		if o := a.slot(old); o.Parent == up && s.Caller.Service != 0 && o.Caller == s.Caller {
			return true
		}
	}
	return false
}

func (a *Asking) hopFinding(slot graph.SlotID) Finding {
	caller, peer, op := a.names(slot)
	f := Finding{Kind: "new-hop", Service: caller, Peer: peer, Operation: op}
	// A hop put between a caller and what it called before is not dropped with
	// what it calls: only its own time is.
	through := false
	up := a.above(summary.Current, slot)
	for _, l := range a.lost(up) {
		for c := range a.slots[summary.Current] {
			through = through || a.below(c, slot) && a.slot(c).Callee == a.slot(l).Callee && a.slot(c).Callee.Service != 0
		}
	}
	has := 0
	for _, q := range a.cur().Counted {
		for i := range q.Calls {
			if a.Relative(q, q.Calls[i].Slot) == slot {
				has++
				break
			}
		}
	}
	is := a.durations(summary.Current, slot)
	f.Claim = fmt.Sprintf("%s calls %s of %s, which it did not before", caller, op, peer)
	f.Evidence = append(f.Evidence,
		numbers("spans", len(a.plans), "share", 0, float64(has)/float64(len(a.plans)), "requests that call "+op),
		says("spans", len(is.ns), "it takes %s at the median and %s at p99", prose.Ns(is.at(0.5)), prose.Ns(is.at(0.99))),
	)
	f.Check = Check{
		Question: "are the requests as fast as before without the time of the new call?",
		Rival:    "instrumentation: the call was always made and only its span is new",
		IfThis:   "its caller has as little own time as before: the call came on top",
		IfRival:  "its caller's own time shrank by as much as the call takes",
		Ran:      true,
	}
	was, now := a.own(summary.Baseline, []graph.SlotID{up}), a.own(summary.Current, []graph.SlotID{up})
	f.Check.Outcome = fmt.Sprintf("own time of the caller: %s where it was %s; the call takes %s", prose.Ns(now.at(0.5)), prose.Ns(was.at(0.5)), prose.Ns(is.at(0.5)))
	f.Check.Against = was.at(0.5)-now.at(0.5) > ownMoved*is.at(0.5)
	if f.Check.Against {
		f.Against = append(f.Against, says("spans", len(now.ns), "%s", f.Check.Outcome))
	}
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for k := range p.Steps {
			st := &p.Steps[k]
			c := &q.Calls[st.Call()]
			rel := a.Relative(q, c.Slot)
			switch {
			case !through && rel == slot && !st.Leave && st.Half == outer(c, st.Call()):
				values[k] = graph.Gone
			case through && rel == slot && (st.Leave || st.Half != outer(c, st.Call())),
				through && !st.Leave && c.Parent >= 0 && a.Relative(q, q.Calls[c.Parent].Slot) == slot && st.Half == outer(c, st.Call()):
				values[k] = 0
			}
		}
	}
	return f
}

// goneFinding says of a call that is not made any more what it took. Put back, each request takes longer by what some
// request of the baseline would be shorter without the call.
func (a *Asking) goneFinding(slot graph.SlotID) Finding {
	caller, peer, op := a.names(slot)
	parent := a.slot(slot).Parent
	var takes part
	var e graph.Evaluator
	var values []int64
	has := 0
	for j, q := range a.base().Counted {
		p := a.planOf(summary.Baseline, j)
		values = p.Values(values)
		with := e.Latency(p, values, nil)
		found := false
		for k := range p.Steps {
			st := &p.Steps[k]
			if c := &q.Calls[st.Call()]; !st.Leave && a.Relative(q, c.Slot) == slot && st.Half == outer(c, st.Call()) {
				values[k], found = graph.Gone, true
			}
		}
		ns := int64(0)
		if found {
			has++
			ns = with - e.Latency(p, values, nil)
		}
		takes.ns, takes.w = append(takes.ns, max(0, ns)), append(takes.w, float64(q.Weight)/graph.OneRequest)
	}
	was := a.durations(summary.Baseline, slot)
	own, now := a.own(summary.Baseline, []graph.SlotID{parent}), a.own(summary.Current, []graph.SlotID{parent})
	f := Finding{Kind: "new-hop", Service: caller, Peer: peer, Operation: op,
		Claim: fmt.Sprintf("%s does not call %s of %s any more", caller, op, peer)}
	f.Evidence = append(f.Evidence,
		numbers("spans", len(a.base().Counted), "share", float64(has)/float64(max(1, len(a.base().Counted))), 0, "requests that call "+op),
		says("spans", len(was.ns), "it took %s at the median and %s at p99", prose.Ns(was.at(0.5)), prose.Ns(was.at(0.99))),
	)
	f.Check = Check{
		Question: "are the requests faster by the time of the call that is gone?",
		Rival:    "instrumentation: the call is made as before and only its span is missing",
		IfThis:   "its caller has as little own time as before: the call is gone",
		IfRival:  "its caller's own time grew by as much as the call took",
		Ran:      true,
		Outcome:  fmt.Sprintf("own time of the caller: %s where it was %s; the call took %s", prose.Ns(now.at(0.5)), prose.Ns(own.at(0.5)), prose.Ns(was.at(0.5))),
	}
	if f.Check.Against = now.at(0.5)-own.at(0.5) > ownMoved*was.at(0.5); f.Check.Against {
		f.Against = append(f.Against, says("spans", len(now.ns), "%s", f.Check.Outcome))
	}
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		for k := range p.Steps {
			if st := &p.Steps[k]; st.Leave && st.Call() == 0 {
				values[k] += int64(takes.at(a.draw(j, 0, 17)))
				return
			}
		}
	}
	return f
}

// below reports whether a slot lies below another.
func (a *Asking) below(slot, up graph.SlotID) bool {
	for s := a.slot(slot).Parent; s != graph.NoSlot; s = a.slot(s).Parent {
		if s == up {
			return true
		}
	}
	return false
}
