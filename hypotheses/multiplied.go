package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

// manyMore is how many times as many calls must have come as went for them not to be the same under another name, and oneMore
// how many more of them a request must make.
const manyMore, oneMore = 1.5, 0.5

// inPlaceOf is the calls that only one side makes in the work of a span and that have the same callee as a slot, or the same
// client span.
func (a *Asking) inPlaceOf(side int, up, slot graph.SlotID) []graph.SlotID {
	s := a.slot(slot)
	return slices.DeleteFunc(a.onlyOf(side), func(x graph.SlotID) bool {
		o := a.slot(x)
		return a.above(side, x) != up || s.Caller != o.Caller && (s.Callee.Service != o.Callee.Service || s.Peer != o.Peer)
	})
}

// multiplied asks of a call that has come in the place of another one of the same callee whether it is made more often: one
// query for all that became one query for each.
func (a *Asking) multiplied(slot graph.SlotID) (Finding, bool) {
	up := a.above(summary.Current, slot)
	came, went := a.inPlaceOf(summary.Current, up, slot), a.inPlaceOf(summary.Baseline, up, slot)
	var durations [2]part
	most, mostCalls := graph.NoSlot, 0
	for i, slots := range [2][]graph.SlotID{went, came} {
		for _, s := range slots {
			p := a.durations(i, s)
			durations[i].ns, durations[i].w = append(durations[i].ns, p.ns...), append(durations[i].w, p.w...)
			if i == summary.Current && len(p.ns) > mostCalls {
				most, mostCalls = s, len(p.ns)
			}
		}
	}
	calls := func(i int) float64 {
		sum := 0.0
		for _, w := range durations[i].w {
			sum += w
		}
		return sum / a.Sides[i].Sample.Weight()
	}
	was, is := calls(summary.Baseline), calls(summary.Current)
	if slot != most || was == 0 || is < manyMore*was || is-was < oneMore {
		return Finding{}, false
	}
	caller, peer, op := a.names(slot)
	_, _, before := a.names(went[0])
	f := Finding{Kind: "call-count", Service: caller, Peer: peer, Operation: op,
		Claim: prose.Sprintf("%s calls %s %.3g times in place of %s, which it called %.3g times", caller, op, is, before, was)}
	for _, abs := range a.slots[summary.Current][slot] {
		if _, parallel, _ := inTurn(a.cur().Set.Calibration.Verdicts, abs, abs); parallel {
			f.Kind = "fan-out"
		}
	}
	median := [2]float64{durations[0].at(0.5), durations[1].at(0.5)}
	f.Evidence = append(f.Evidence,
		numbers("spans", len(a.plans), "calls", was, is, "calls of "+before+", and of what came in its place, per request"),
		numbers("spans", mostCalls, "ms", median[0]/1e6, median[1]/1e6, "median of one such call"),
	)
	f.Check = Check{
		Question: "do as many calls come as went?",
		Rival:    "instrumentation: the same calls have another name",
		IfThis:   "no: many come for one that went",
		IfRival:  "yes: one for one, and each takes as long",
		Ran:      true,
		Outcome:  prose.Sprintf("%.3g calls a request where it was %.3g; the median call takes %s where it was %s", is, was, prose.Ns(median[1]), prose.Ns(median[0])),
	}
	to := rankMap(&durations[1], &durations[0])
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		var all []int32
		holds := map[int32]int{} // how many of the calls are in the work of each call that only this side has
		each := func(call int32, do func(int32)) {
			for c := q.Calls[call].Parent; c >= 0 && a.Relative(q, q.Calls[c].Slot) != up; c = q.Calls[c].Parent {
				do(c)
			}
		}
		for i := range q.Calls {
			if slices.Contains(came, a.Relative(q, q.Calls[i].Slot)) {
				all = append(all, int32(i))
				each(int32(i), func(c int32) { holds[c]++ })
			}
		}
		if len(all) == 0 {
			return
		}
		slices.SortFunc(all, func(x, y int32) int {
			return cmp.Or(cmp.Compare(a.draw(j, x, 31), a.draw(j, y, 31)), cmp.Compare(x, y))
		})
		keep := float64(len(all)) * was / is
		n := int(keep)
		if a.draw(j, all[0], 32) < keep-math.Floor(keep) {
			n++
		}
		gone, kept := map[int32]bool{}, map[int32]bool{}
		for i, call := range all {
			if i < n {
				kept[call] = true
				continue
			}
			gone[call] = true
			each(call, func(c int32) { gone[c] = gone[c] || holds[c] == 1 }) // a span around the one call goes with it
		}
		for k := range p.Steps {
			st := &p.Steps[k]
			c := &q.Calls[st.Call()]
			switch {
			case !st.Leave && gone[st.Call()] && st.Half == outer(c, st.Call()):
				values[k] = graph.Gone
			case st.Leave && st.Client() && kept[st.Call()] && !c.Work.Seen():
				values[k] = to.At(values[k], a.tie(j, k))
			}
		}
	}
	return f, true
}
