package hypotheses

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

// nearLimit is the part of a timeout from which on a call that was answered nearly met it: what makes calls longer brings
// more of them here before it makes more of them meet it.
const nearLimit = 0.5

// A holding is a call that has a place in a queue's resource from the start of one half to the end of another.
type holding struct {
	req      int32
	from, to int32 // halves
	wait     int64 // of that time, not yet in the place
}

// holding is the place of a call that waited in the queue of v: a thread of the callee is held for as long as its span
// lasts, a connection of the caller until the caller's ends.
func (a *Asking) holding(l *summary.Ledger, q *summary.Request, j int, v *queuewait.Verdict, call int32) holding {
	h := holding{req: int32(j), from: 2*call + 1, to: 2 * call}
	switch {
	case v.Key.Site == queuewait.Accepted:
		h.to, h.wait = 2*call+1, l.Accepted(q.Record, call)
	case v.Key.Site == queuewait.Inside:
		h.from, h.wait = 2*call, l.Inside(q.Record, call)
	case v.Key.Site == queuewait.Lead:
		h.from = 2 * call
	case v.Owner == queuewait.ServerQueue || v.Key.Site == queuewait.Ahead:
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
				sum, weight = sum+w*float64(max(0, to-from-list[i].wait)), weight+w
			}
		}
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

// holdsOf asks once how long the endpoint's own calls hold their places in a queue.
func (a *Asking) holdsOf(b *queue) {
	if b.held == nil {
		b.held = &[2]float64{a.held(b, summary.Baseline, func(j int) *graph.Plan { return a.wasPlans[j] }, nil),
			a.held(b, summary.Current, func(j int) *graph.Plan { return a.plans[j] }, nil)}
	}
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
		if b == f.places {
			continue
		}
		a.holdsOf(b)
		longer := b.held[1] - b.held[0]
		if longer <= 0 {
			continue
		}
		share := b.hold * min(1, (b.held[1]-a.held(b, summary.Current, plan, f.Factor))/longer)
		if o := a.heldByOthers(b); o != nil {
			share *= 1 - o.share
		}
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
	a.followSaid(f)
	a.followTimeouts(f, plan)
	for _, b := range slices.SortedFunc(maps.Keys(f.fills), func(x, y *queue) int {
		return cmp.Or(cmp.Compare(f.fills[y], f.fills[x]), cmp.Compare(x.slot(), y.slot()))
	}) {
		if b == f.places || b.rose() < minFilled*(b.held[1]-b.held[0]) {
			continue // said already, or nothing to speak of beside what the calls themselves take longer
		}
		f.Evidence = append(f.Evidence, numbers("spans", b.calls, "ms", b.held[0]/1e6, b.held[1]/1e6, "mean time that calls of "+a.operation(b)+" hold their places"),
			says("spans", b.calls, "%.0f %% of the change of the wait before %s are a consequence: calls hold their places longer", 100*f.fills[b], a.operation(b)))
	}
}

// slowed reports whether the calls of a target time out because all of them are slower: then others come near the limit,
// at least half as many as meet it. Of a callee that hangs, the calls that are answered stay where they were.
func (t *target) slowed() bool {
	if t.slow != nil {
		return *t.slow
	}
	out := func(x *try) bool { return x.ended == graph.TimedOut && !x.starved }
	limit := t.lengths(summary.Current, out)
	var near, met [2]float64
	for i := range t.sides {
		tr := &t.sides[i]
		for k := range tr.calls {
			switch x := &tr.calls[k]; {
			case out(x):
				met[i] += x.w
			case !x.starved && float64(x.ns) > nearLimit*limit.at(0.5):
				near[i] += x.w
			}
		}
		near[i], met[i] = share(near[i], tr.attempts), share(met[i], tr.attempts)
	}
	slow := len(limit.ns) > 0 && met[1] > met[0] && near[1]-near[0] >= (met[1]-met[0])/2
	t.slow = &slow
	return slow
}

// answered is the mean time of the answered calls of a target on the current side, with something put back there.
func (a *Asking) answered(t *target, plan func(j int) *graph.Plan, f Factor) float64 {
	var e graph.Evaluator
	var values []int64
	var sum, weight float64
	is := &t.sides[summary.Current]
	for i := 0; i < len(is.calls); {
		j := is.calls[i].req
		p := plan(j)
		values = p.Values(values)
		if f != nil {
			f(j, p, values)
		}
		e.Latency(p, values, nil)
		for ; i < len(is.calls) && is.calls[i].req == j; i++ {
			x := &is.calls[i]
			if x.ended == graph.TimedOut {
				continue
			}
			from, to, ok := e.Half(outer(&a.request(j).Calls[x.call], x.call))
			if ok {
				sum, weight = sum+x.w*float64(max(0, to-from)), weight+x.w
			}
		}
	}
	return share(sum, weight)
}

// followTimeouts adds to a finding's replay the calls that time out because it makes them slower, with their retries.
func (a *Asking) followTimeouts(f *Finding, plan func(j int) *graph.Plan) {
	for _, t := range a.targets() {
		is := &t.sides[summary.Current]
		if f.of == t || is.timedOut == 0 || !t.slowed() {
			continue
		}
		before := t.lengths(summary.Baseline, func(x *try) bool { return x.ended != graph.TimedOut }).mean()
		now := a.answered(t, plan, nil)
		if now <= before {
			continue
		}
		part := min(1, (now-a.answered(t, plan, f.Factor))/(now-before))
		if part <= minFilled {
			continue
		}
		if f.limits == nil {
			f.limits = map[*target]float64{}
		}
		f.limits[t] = part
		late := map[int]map[int32]bool{}
		for i := range is.calls {
			if x := &is.calls[i]; x.ended == graph.TimedOut {
				if late[x.req] == nil {
					late[x.req] = map[int32]bool{}
				}
				late[x.req][x.call] = true
			}
		}
		here := f.Factor
		back := a.answeredAsBefore(t, func(j int, attempts []int32) bool {
			return slices.ContainsFunc(attempts, func(c int32) bool { return late[j][c] }) && a.draw(j, attempts[0], 12) < part
		})
		f.Factor = func(j int, p *graph.Plan, values []int64) {
			here(j, p, values)
			back(j, p, values)
		}
		_, _, op := a.names(t.slot)
		f.Evidence = append(f.Evidence, numbers("spans", len(is.calls), "share", share(t.sides[0].timedOut, t.sides[0].attempts), share(is.timedOut, is.attempts),
			"calls of "+op+" that time out because all of them are slower"))
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
