package sim

import "math"

// entryEdge is the edge of the attempts that clients make.
const entryEdge = 0

// An Edge is a kind of call: a service calling an operation.
type Edge struct {
	Caller *Service // nil: the clients
	Op     *Operation
}

func (r *Run) edge(caller *Service, op *Operation) int {
	e := Edge{caller, op}
	i, ok := r.edgeIDs[e]
	if !ok {
		i = len(r.Edges)
		r.edgeIDs[e] = i
		r.Edges = append(r.Edges, e)
	}
	return i
}

// An Attempt is the truth about one attempt of a call. Its times add up: from Begin, PoolWait, NetOut,
// ExecWait, Service and NetBack follow one another, as far as the attempt got.
type Attempt struct {
	Request          int32
	Edge             int32
	Caller, Callee   *Instance // Caller is nil for a client's or a broker's
	N                uint8     // how many attempts of this call came before
	Hedge            bool
	Outcome          Outcome // as the caller sees it
	Served           Outcome // as the callee saw it; Omitted if it never arrived
	Begin, End       Time    // of the caller's wait
	PoolWait         Time
	NetOut           Time
	ExecWait         Time
	Service          Time // the callee's work
	Stretch, Locked  Time // of Service: sharing cores, waiting for locks
	NetBack          Time
	Arrived, Started Time // at the callee; valid if Served is not Omitted
	Ended            Time
	Departed         Time // when the caller left, or 0
	Abandoned        Time // when the caller went on without ending the call, or 0
	Lost             bool // the caller left because a hedged rival had won
	Writes           bool
}

// left is when the caller left or went on; false if it waited for the answer.
func (a *Attempt) left() (Time, bool) {
	if a.Abandoned > 0 {
		return a.Abandoned, a.Served != Omitted
	}
	return a.Departed, a.Departed > 0 && a.Served != Omitted
}

// Late is the time for which the callee held or worked on the attempt after the caller had left.
func (a *Attempt) Late() Time {
	at, ok := a.left()
	if !ok {
		return 0
	}
	return max(0, a.Ended-max(at, a.Arrived))
}

// LateFrom is when that time began.
func (a *Attempt) LateFrom() Time {
	at, _ := a.left()
	return max(at, a.Arrived)
}

// LateWork is the part of Late in which it was worked on, not queued.
func (a *Attempt) LateWork() Time {
	at, ok := a.left()
	if !ok {
		return 0
	}
	return max(0, a.Ended-max(at, a.Started))
}

// attempt is an Attempt under way.
type attempt struct {
	r        *Run
	l        *logical // nil for clients and messages
	caller   *handler // nil for clients and messages
	callee   *Instance
	op       *Operation
	leg      Leg
	req      int32
	edge     int
	key      Key
	size     float64
	deadline Time
	trace    [16]byte
	spanID   uint64 // the context that the callee receives
	link     *Link
	n        int
	hedge    bool
	message  bool

	w                                 waiter // for a connection
	timer                             *Timer
	h                                 *handler
	begin, acquired, sent             Time
	legOut                            Time
	served, outcome                   Outcome
	ended                             Time
	departed, abandoned               Time
	lost                              bool
	answered, isSent, left, over, got bool
	finish                            func(Outcome)
}

// ask gets a connection and sends the request.
func (a *attempt) ask() {
	a.begin = a.r.now
	in := a.caller.inst
	pool := in.pools[a.op.Service.id]
	if pool == nil {
		a.connected()
		return
	}
	a.w = waiter{key: a.key, ready: func() { in.gate(a.connected) }}
	pool.acquire(&a.w)
}

func (a *attempt) connected() {
	if a.over {
		return
	}
	a.acquired, a.got = a.r.now, true
	if name := a.caller.inst.Service.Spans.PoolSpan; name != "" && a.w.r != nil {
		a.caller.internal(name, a.key, a.begin, nil)
	}
	a.send()
}

// send puts the request on the network. Its bytes scale the legs.
func (a *attempt) send() {
	a.sent, a.isSent = a.r.now, true
	a.legOut = a.legTime("out")
	a.r.after(a.legOut, func() { a.callee.gate(a.arrive) })
}

func (a *attempt) legTime(name string) Time {
	d := a.leg.sample(a.key.Name(name))
	if a.l != nil && a.l.c.BytesSize != 0 {
		d = scaled(d, math.Pow(a.size, a.l.c.BytesSize))
	}
	return d
}

// answer is the callee's.
func (a *attempt) answer(o Outcome) {
	a.served, a.ended, a.answered = o, a.r.now, true
	if a.edge == entryEdge {
		q := &a.r.Requests[a.req]
		q.End = a.r.now
		if !a.left {
			q.Outcome = o
		}
	}
	if a.over || a.message {
		a.record(o)
	}
	if a.left || a.message {
		a.r.done()
	}
	if !a.over && !a.message {
		a.r.after(a.legTime("back"), func() {
			if a.caller != nil {
				a.caller.inst.gate(func() { a.receive(o) })
			} else {
				a.receive(o)
			}
		})
	}
	if a.edge == entryEdge {
		a.r.done()
	}
}

// receive takes the answer at the caller.
func (a *attempt) receive(o Outcome) {
	if a.over {
		return
	}
	a.over = true
	a.timer.Stop()
	if o != OK && o != Rejected {
		o = Failed
	}
	if a.caller != nil {
		a.caller.client(a, o)
		a.w.leave()
	}
	a.record(o)
	a.finish(o)
}

// depart ends the attempt for the caller before an answer came.
func (a *attempt) depart(why Outcome) {
	if a.over {
		return
	}
	a.over, a.left, a.departed, a.outcome = true, true, a.r.now, why
	a.timer.Stop()
	if a.edge == entryEdge {
		if !a.answered {
			a.r.Requests[a.req].Outcome = why
		}
	} else {
		a.caller.client(a, why)
		a.w.leave()
	}
	if a.isSent && !a.answered {
		a.r.active++
		a.r.after(a.legOut, func() {
			if a.h != nil {
				a.h.abandon()
			}
		})
	} else {
		a.left = false
		a.record(why)
	}
	a.finish(why)
}

// record keeps the truth once both sides have ended.
func (a *attempt) record(o Outcome) {
	if a.departed > 0 {
		o = a.outcome
	}
	t := Attempt{Request: a.req, Edge: int32(a.edge), Callee: a.callee, N: uint8(min(a.n, 255)), Hedge: a.hedge,
		Outcome: o, Served: Omitted, Begin: a.begin, Departed: a.departed,
		Abandoned: a.abandoned, Lost: a.lost, Writes: a.op.Writes}
	if a.caller != nil {
		t.Caller = a.caller.inst
		t.PoolWait = a.acquired - a.begin
		if !a.got {
			t.PoolWait = a.departed - a.begin
		}
	}
	if a.isSent {
		t.NetOut = a.legOut
	}
	if h := a.h; h != nil && a.answered {
		t.Served = a.served
		t.Arrived, t.Started, t.Ended = h.arrived, h.started, a.ended
		t.NetOut = h.arrived - a.sent
		t.ExecWait = h.started - h.arrived
		t.Service = a.ended - h.started
		t.Stretch, t.Locked = h.stretch, h.locked
		if a.departed == 0 && !a.message {
			t.NetBack = a.r.now - a.ended
		}
	}
	t.End = a.r.now
	if a.departed > 0 {
		t.End = a.departed
	}
	a.r.attempt(t)
}

// logical is one call of a plan: its attempts together.
type logical struct {
	h        *handler
	c        *Call
	key      Key
	sc       *scope
	done     func(Outcome)
	live     []*attempt
	n        int
	over     bool
	detached bool // cancelled, but followers wait for its answer
	flight   *flight
	timer    *Timer // of a hedge or a backoff
	limit    *Timer // of an abandonment
}

type flightKey struct {
	call     uint64
	identity int
}

// A flight is a coalesced call and those who wait for it.
type flight struct {
	leader    *logical
	leaderID  uint64 // span of the leader's first attempt
	followers []*follower
}

type follower struct {
	h     *handler
	f     *flight
	key   Key
	begin Time
	done  func(Outcome)
	sc    *scope
}

func (s *Call) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	if sc.over {
		done(Cancelled)
		return
	}
	k = k.Sub(s.id)
	optional := done
	if s.Optional {
		optional = func(o Outcome) {
			if o != Cancelled || !sc.over && !h.stop {
				o = OK
			}
			done(o)
		}
	}
	if s.Deadline && s.MinRemaining > 0 && h.deadline > 0 && h.deadline-h.r.now < s.MinRemaining {
		h.r.omit(h, s)
		if s.Optional {
			done(OK)
		} else {
			done(TimedOut)
		}
		return
	}
	l := &logical{h: h, c: s, key: k, sc: sc, done: optional}
	if s.Coalesce {
		fk := flightKey{s.id, h.r.Requests[h.a.req].Identity}
		if f := h.inst.flights[fk]; f != nil {
			w := &follower{h: h, f: f, key: k, begin: h.r.now, done: optional, sc: sc}
			f.followers = append(f.followers, w)
			sc.add(w)
			h.r.Coalesced++
			return
		}
		l.flight = &flight{leader: l}
		h.inst.flights[fk] = l.flight
	}
	sc.add(l)
	l.attempt(false)
	if s.Abandon > 0 {
		l.limit = h.r.after(s.Abandon, func() { h.inst.gate(l.abandon) })
	}
	if s.Hedge != nil {
		l.timer = h.r.after(s.Hedge.Delay, func() {
			if !l.over && h.inst.spend(s.id, s.Hedge.Cap) {
				l.attempt(true)
			}
		})
		h.inst.earn(s.id, s.Hedge.Cap)
	} else if s.Retry != nil {
		h.inst.earn(s.id, s.Retry.Budget)
	}
}

// earn and spend keep the budget of retries or hedges of an instance: a share of its calls, with a
// small reserve. A share of zero is no bound.
func (in *Instance) earn(call uint64, share float64) {
	in.budgets[call] = min(in.budgets[call]+share, 10)
}

func (in *Instance) spend(call uint64, share float64) bool {
	if share == 0 {
		return true
	}
	if in.budgets[call] < 1 {
		return false
	}
	in.budgets[call]--
	return true
}

func (l *logical) attempt(hedge bool) {
	h, r := l.h, l.h.r
	k := l.key.Sub(uint64(l.n))
	a := &attempt{r: r, l: l, caller: h, op: l.c.To, leg: l.c.Leg, req: h.a.req, edge: l.c.edge, key: k,
		size: h.a.size, trace: h.a.trace, n: l.n, hedge: hedge, spanID: h.span}
	if h.reportsCalls() {
		a.spanID = uint64(k.Name("client span"))
	}
	if l.flight != nil && l.n == 0 {
		l.flight.leaderID = a.spanID
	}
	l.n++
	avoid := 0
	if l.c.Shard > 0 {
		a.callee = r.services[l.c.To.Service.id][l.c.Shard-1]
	} else {
		if l.n > 1 && len(l.live) > 0 {
			avoid = 1 + l.live[0].callee.N
		}
		a.callee = r.choose(h.inst, l.c.To.Service, k.Name("instance"), avoid)
	}
	limit := l.c.Timeout
	if l.c.Deadline && h.deadline > 0 {
		left := max(h.deadline-l.c.Reserve-r.now, 0)
		a.deadline = h.deadline - l.c.Reserve
		if limit == 0 || left < limit {
			limit = left
		}
		if left == 0 {
			limit = 1
		}
	}
	a.finish = func(o Outcome) { l.ended(a, o) }
	l.live = append(l.live, a)
	if limit > 0 {
		a.timer = r.after(limit, func() { h.inst.gate(func() { a.timeout() }) })
	}
	a.ask()
}

func (a *attempt) timeout() { a.depart(TimedOut) }

// ended takes an attempt's end.
func (l *logical) ended(a *attempt, o Outcome) {
	for i, x := range l.live {
		if x == a {
			l.live = append(l.live[:i], l.live[i+1:]...)
			break
		}
	}
	if l.over {
		return
	}
	if o != OK {
		if len(l.live) > 0 {
			return // its rival may still answer
		}
		if rt := l.c.Retry; rt != nil && l.n <= rt.Max && o != Cancelled && l.h.inst.spend(l.c.id, rt.Budget) {
			limit := rt.Backoff << (l.n - 1)
			wait := scaled(limit, 0.5+0.5*l.key.Name("backoff").Sub(uint64(l.n)).Float())
			if h := l.h; !l.c.Deadline || h.deadline == 0 || h.r.now+wait < h.deadline-l.c.Reserve {
				l.timer = h.r.after(wait, func() {
					h.inst.gate(func() {
						if !l.over {
							l.attempt(false)
						}
					})
				})
				return
			}
		}
	}
	l.finish(o)
}

// abandon lets the caller go on; the attempts under way end by themselves, in the background.
func (l *logical) abandon() {
	if l.over {
		return
	}
	l.over = true
	l.timer.Stop()
	l.sc.drop(l)
	for _, a := range l.live {
		a.abandoned = l.h.r.now
		l.h.r.active++
		a.finish = func(Outcome) { l.h.r.done() }
	}
	l.done(TimedOut)
}

func (l *logical) cancel() {
	if l.flight != nil && len(l.flight.followers) > 0 {
		l.detached = true
		l.done(Cancelled)
		return
	}
	l.finish(Cancelled)
}

func (l *logical) finish(o Outcome) {
	if l.over {
		return
	}
	l.over = true
	l.timer.Stop()
	l.limit.Stop()
	keep := l.c.Hedge != nil && l.c.Hedge.Keep && o == OK
	for _, a := range append([]*attempt(nil), l.live...) {
		if !keep {
			a.lost = l.c.Hedge != nil && o == OK
			a.depart(Cancelled)
		}
	}
	l.sc.drop(l)
	if f := l.flight; f != nil {
		delete(l.h.inst.flights, flightKey{l.c.id, l.h.r.Requests[l.h.a.req].Identity})
		for _, w := range f.followers {
			w.sc.drop(w)
			w.h.internal("coalesced "+l.c.To.Name, w.key, w.begin, &Link{l.h.a.trace, f.leaderID})
			w.done(o)
		}
	}
	if !l.detached {
		l.done(o)
	}
}

func (w *follower) cancel() {
	for i, x := range w.f.followers {
		if x == w {
			w.f.followers = append(w.f.followers[:i], w.f.followers[i+1:]...)
			break
		}
	}
	w.done(Cancelled)
	if w.f.leader.detached && len(w.f.followers) == 0 {
		w.f.leader.finish(Cancelled)
	}
}
