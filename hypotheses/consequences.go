package hypotheses

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

// A holding is a call that has a place in a queue's resource from the start of one half to the end of another.
type holding struct {
	req      int32
	from, to int32 // halves
}

// holding is the place of a call that waited in the queue of v: a thread of the callee is held for as long as its span
// lasts, a connection of the caller until the caller's ends.
func (a *Asking) holding(q *summary.Request, j int, v *queuewait.Verdict, call int32) holding {
	h := holding{req: int32(j), from: 2*call + 1, to: 2 * call}
	switch {
	case v.Key.Site == queuewait.Lead:
		h.from = 2 * call
	case v.Owner == queuewait.ServerQueue:
		h.to = 2*call + 1
	}
	return h
}

// held is the mean time that the calls of a queue hold their places on one side, with something put back there.
func (a *Asking) held(b *queue, side int, plan func(j int) *graph.Plan, f Factor) float64 {
	var e graph.Evaluator
	var values []int64
	var sum, weight float64
	list := b.in[side]
	for i := 0; i < len(list); {
		j := int(list[i].req)
		p := plan(j)
		values = p.Values(values)
		if f != nil {
			f(j, p, values)
		}
		e.Latency(p, values, nil)
		w := float64(a.Sides[side].Counted[j].Weight) / graph.OneRequest
		if side == summary.Current {
			w = a.weights[j]
		}
		for ; i < len(list) && int(list[i].req) == j; i++ {
			from, _, ok := e.Half(list[i].from)
			_, to, ok2 := e.Half(list[i].to)
			if ok && ok2 {
				sum, weight = sum+w*float64(max(0, to-from)), weight+w
			}
		}
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

// minFilled is the least part of a wait's change, by longer holds, that is followed to a cause.
const minFilled = 0.02

// follow adds to a finding's replay the waits that it causes: of every queue whose calls hold their places longer
// because of it, that part of the wait's change which longer holds explain. Inner queues come first, since what calls
// wait there lengthens the holds of outer ones.
func (a *Asking) follow(f *Finding) {
	if f.Factor == nil || f.Weights != nil {
		return
	}
	plan := func(j int) *graph.Plan { return a.plans[j] }
	if f.Plans != nil {
		plan = f.Plans
	}
	for _, b := range a.innermost() {
		if b == f.wait || b.hold <= minFilled {
			continue
		}
		if b.held == nil {
			b.held = &[2]float64{a.held(b, summary.Baseline, func(j int) *graph.Plan { return a.wasPlans[j] }, nil),
				a.held(b, summary.Current, func(j int) *graph.Plan { return a.plans[j] }, nil)}
		}
		longer := b.held[1] - b.held[0]
		if longer <= 0 {
			continue
		}
		share := b.hold * min(1, (b.held[1]-a.held(b, summary.Current, plan, f.Factor))/longer)
		if share <= minFilled {
			continue
		}
		if f.fills == nil {
			f.fills = map[*queue]float64{}
		}
		f.fills[b] = share
		here, wait := f.Factor, a.waitBack(b, share)
		f.Factor = func(j int, p *graph.Plan, values []int64) {
			here(j, p, values)
			wait(j, p, values)
		}
	}
	for _, b := range slices.SortedFunc(maps.Keys(f.fills), func(x, y *queue) int {
		return cmp.Or(cmp.Compare(f.fills[y], f.fills[x]), cmp.Compare(x.slot(), y.slot()))
	}) {
		f.Evidence = append(f.Evidence, numbers("spans", b.calls, "ms", b.held[0]/1e6, b.held[1]/1e6, "mean time that calls of "+a.operation(b)+" hold their places"),
			says("spans", b.calls, "%.0f %% of the change of the wait before %s are a consequence: calls hold their places longer", 100*f.fills[b], a.operation(b)))
	}
}

// innermost is the queues, those of calls deep in the requests first.
func (a *Asking) innermost() []*queue {
	depth := func(b *queue) int {
		n := 0
		for s := b.slot(); s != graph.NoSlot; s = a.slot(s).Parent {
			n++
		}
		return n
	}
	out := slices.Clone(a.queues())
	slices.SortStableFunc(out, func(x, y *queue) int { return cmp.Compare(depth(y), depth(x)) })
	return out
}
