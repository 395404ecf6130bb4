package hypotheses

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

// A target is the calls that one slot makes to one operation, whatever became
// of their server halves.
type target struct {
	latework.Target
	slot  graph.SlotID // relative: the one to name it by, which reached the callee if any did
	slots []graph.SlotID
	sides [2]tries
	slow  *bool // slowed, once asked for
	own   bool  // a part of the caller's own work: an internal span of its service
}

// tries are the calls of a target on one side. All counts are weighted.
type tries struct {
	calls []try   // by request
	from  []int32 // of each request: where its calls begin, up to the last that has any

	attempts, logical, retried, hedged float64
	timedOut, starved, failed          float64 // starved are timed out, too
}

// A try is one attempt.
type try struct {
	req   int   // index in the side's counted requests
	call  int32 // in the request
	prev  int32 // the attempt it follows; -1 of a first one
	w     float64
	ended graph.End
	ns    int64 // of its outer half, as far as the caller waited

	// starved is of a call that timed out and that spent most of its time before
	// its callee began: it waited for a place, and did not hang.
	starved bool
	retry   bool
}

// targets is what the endpoint's requests call, on both sides, in order of slot.
func (a *Asking) targets() []*target {
	a.aim()
	return a.called
}

// ownParts is the parts of services' own work that have internal spans, as targets of the spans around them.
func (a *Asking) ownParts() []*target {
	a.aim()
	return a.internal
}

// aim finds the targets.
func (a *Asking) aim() {
	if a.called != nil {
		return
	}
	by := map[latework.Target]*target{}
	var chain []int32
	for i, s := range a.Sides {
		if s == nil {
			continue
		}
		w := graph.Walker{Dict: a.Reading.Dict, Verdicts: s.Set.Calibration.Verdicts}
		for j, q := range s.Counted {
			weight := float64(q.Weight) / graph.OneRequest
			if i == summary.Current && a.weights != nil {
				weight = a.weights[j]
			}
			chain = latework.Chains(a.Reading.Dict, q.Record, chain)
			walked := false
			for k := 1; k < len(q.Calls); k++ {
				c := &q.Calls[k]
				slot := a.Relative(q, c.Slot)
				if c.Flags&graph.Async != 0 || w.Verdicts.WaitedFor(c.Slot).Verdict == graph.Asynchronous {
					continue
				}
				own := !a.isCall(c)
				if own && (a.workOf(c.Slot) == c.Slot || c.Flags&graph.WaitSpan != 0) {
					continue // its own work, or a wait, which is longer or shorter and no work
				}
				key := latework.TargetOf(a.Reading.Dict, slot)
				t := by[key]
				if t == nil {
					t = &target{Target: key, slot: slot, own: own}
					by[key] = t
				}
				if !slices.Contains(t.slots, slot) {
					t.slots = append(t.slots, slot)
				}
				x := try{req: j, call: int32(k), prev: chain[k], w: weight, ended: c.OuterEnd(), ns: c.Outer().Duration(), retry: c.Flags&graph.Retry != 0}
				if w.Verdicts.WaitedFor(c.Slot).Verdict == graph.Abandoned {
					if !walked {
						w.Walk(q.Record)
						walked = true
					}
					if left, ok := abandoned(&w, q, int32(k)); ok {
						x.ended, x.ns = graph.TimedOut, left
					}
				}
				x.starved = x.ended == graph.TimedOut && starved(c)
				t.sides[i].add(x, c)
			}
		}
	}
	a.called, a.internal = []*target{}, nil
	for _, t := range by {
		for i := range t.sides {
			t.sides[i].starve(a.Sides[i])
		}
		slices.Sort(t.slots)
		t.slot = t.slots[0]
		for _, s := range t.slots {
			if a.slot(s).Callee.Service != 0 {
				t.slot = s
				break
			}
		}
		if t.own {
			a.internal = append(a.internal, t)
		} else {
			a.called = append(a.called, t)
		}
	}
	for _, list := range [][]*target{a.called, a.internal} {
		slices.SortFunc(list, func(x, y *target) int { return cmp.Compare(x.slot, y.slot) })
	}
}

// starve counts the calls that timed out and whose callee was never seen to begin among those that waited for a place,
// where most of the others that timed out did: a callee that hangs has begun, or is not waited for.
func (t *tries) starve(s *Side) {
	began := 0.0
	for i := range t.calls {
		if x := &t.calls[i]; x.ended == graph.TimedOut && s.Counted[x.req].Calls[x.call].Paired() {
			began += x.w
		}
	}
	if t.starved <= began/2 {
		return
	}
	for i := range t.calls {
		if x := &t.calls[i]; x.ended == graph.TimedOut && !x.starved && !s.Counted[x.req].Calls[x.call].Paired() {
			x.starved = true
			t.starved += x.w
		}
	}
}

// isCall reports whether a call goes to another service, or to a peer.
func (a *Asking) isCall(c *graph.Call) bool {
	return c.Client.Seen() || a.slot(c.Slot).Kind.String() == "server"
}

// abandoned is how long a call was waited for that its parent left by going on,
// as the walker placed it.
func abandoned(w *graph.Walker, q *summary.Request, call int32) (ns int64, ok bool) {
	c := &q.Calls[call]
	p := &q.Calls[c.Parent]
	client := c.Client.Seen()
	end := w.Ended(c.Parent, !p.Work.Seen())
	if w.Ended(call, client) <= end+smallOverhang {
		return 0, false
	}
	return end - w.Began(call, client), true
}

// starved reports whether most of a call's time had passed when its callee
// began.
func starved(c *graph.Call) bool {
	gap, ok := queuewait.Gap(c)
	if !ok { // left before the callee ended: what is known is when it began
		gap = int64(c.Work.Start - c.Client.Start)
	}
	return c.Paired() && gap > c.Client.Duration()/2
}

// smallOverhang is how far a call may outlive its parent by timestamps alone.
const smallOverhang = 1_000_000

func (t *tries) add(x try, c *graph.Call) {
	for len(t.from) <= x.req {
		t.from = append(t.from, int32(len(t.calls)))
	}
	t.calls = append(t.calls, x)
	t.attempts += x.w
	switch {
	case c.Flags&graph.Hedge != 0:
		t.hedged += x.w
	case c.Flags&graph.Retry != 0:
		t.retried += x.w
	default:
		t.logical += x.w
	}
	if c.Flags&graph.Loser != 0 {
		return
	}
	if x.ended == graph.TimedOut {
		t.timedOut += x.w
	}
	if x.starved {
		t.starved += x.w
	}
	if x.ended != graph.Succeeded {
		t.failed += x.w
	}
}

// of is the indices of the calls of a request.
func (t *tries) of(req int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if req >= len(t.from) {
			return
		}
		to := len(t.calls)
		if req+1 < len(t.from) {
			to = int(t.from[req+1])
		}
		for k := int(t.from[req]); k < to && yield(k); k++ {
		}
	}
}

// share is part of whole; zero of nothing.
func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// more reports whether a share of the second side is above that of the first by
// more than chance, at three standard errors.
func more(was, wasOf, is, isOf float64) bool {
	if isOf <= 0 {
		return false
	}
	if wasOf <= 0 {
		return is > 0
	}
	p, q := was/wasOf, is/isOf
	m := (was + is) / (wasOf + isOf)
	d := q - p
	return d > 0 && d*d > 9*m*(1-min(m, 1))*(1/wasOf+1/isOf)
}

// named is a finding about a target.
func (a *Asking) named(kind string, t *target) Finding {
	caller, peer, op := a.names(t.slot)
	if t.own {
		peer = caller
	}
	return Finding{Kind: kind, Service: caller, Peer: peer, Operation: op}
}

// draw is a number in [0, 1) that a call of a request always has, for a purpose.
func (a *Asking) draw(j int, call int32, purpose uint64) float64 {
	return a.tie(j, int(call)+int(purpose)<<32)
}

// steps finds the steps of a call's halves in a plan.
type stretches struct{ lead, leave stretch }

// A stretch is a step of each half; -1 of none.
type stretch []int32

// of is the step of a half, if the plan has it.
func (s stretch) of(half int32) (step int, ok bool) {
	if int(half) >= len(s) || s[half] < 0 {
		return 0, false
	}
	return int(s[half]), true
}

func stretchesOf(p *graph.Plan) stretches {
	n := 0
	for k := range p.Steps {
		n = max(n, int(p.Steps[k].Half)+1)
	}
	both := make(stretch, 2*n)
	for i := range both {
		both[i] = -1
	}
	s := stretches{both[:n], both[n:]}
	for k := range p.Steps {
		if p.Steps[k].Leave {
			s.leave[p.Steps[k].Half] = int32(k)
		} else {
			s.lead[p.Steps[k].Half] = int32(k)
		}
	}
	return s
}

// outer is the outer half of a call.
func outer(c *graph.Call, call int32) int32 {
	if c.Client.Seen() {
		return 2 * call
	}
	return 2*call + 1
}

// lasting makes the outer half of a call take ns, whatever it waited for; false
// if the plan does not have it.
func lasting(p *graph.Plan, s stretches, values []int64, q *summary.Request, call int32, ns int64) bool {
	c := &q.Calls[call]
	half := outer(c, call)
	leave, ok := s.leave.of(half)
	if !ok {
		return false
	}
	for k := range p.Steps {
		st := &p.Steps[k]
		if at := st.Call(); at >= call && at < call+c.Len && st.Half != half && !st.Leave {
			values[k] = graph.Gone
		}
	}
	values[leave] = ns
	return true
}

// queueOf is the queue that a target's calls wait in, if one is known.
func (a *Asking) queueOf(t *target) *queue {
	for _, b := range a.queues() {
		for _, s := range t.slots {
			if slices.Contains(b.slots, s) && b.v.Claimed() {
				return b
			}
		}
	}
	return nil
}
