package sim

import "math"

// A scope is what a cancellation reaches: the waits and calls that are going on in it.
type scope struct {
	over bool
	live []canceller
}

type canceller interface{ cancel() }

func (s *scope) add(c canceller) { s.live = append(s.live, c) }

func (s *scope) drop(c canceller) {
	for i, x := range s.live {
		if x == c {
			s.live[i] = s.live[len(s.live)-1]
			s.live = s.live[:len(s.live)-1]
			return
		}
	}
}

func (s *scope) cancel() {
	s.over = true
	live := s.live
	s.live = nil
	for _, c := range live {
		c.cancel()
	}
}

// A handler is one operation at work for one attempt.
type handler struct {
	r        *Run
	a        *attempt
	op       *Operation
	inst     *Instance
	key      Key
	sc       scope
	stop     bool // the caller left; stop at the next step
	ended    bool
	deadline Time
	span     uint64 // the span that its calls are children of
	parent   uint64 // the parent of its own
	w        waiter
	arrived  Time
	started  Time
	working  bool
	stretch  Time // work took longer because the cores were shared
	locked   Time // waited for locks
}

// arrive brings the attempt's request to the callee.
func (a *attempt) arrive() {
	in := a.callee
	h := &handler{r: a.r, a: a, op: a.op, inst: in, key: a.key.Name("serve"), arrived: a.r.now, deadline: a.deadline}
	a.h = h
	h.span, h.parent = a.spanID, a.spanID
	if in.sidecar != nil {
		h.span = uint64(a.key.Name("sidecar span"))
		h.parent = h.span
	}
	if h.reports() {
		h.span = uint64(a.key.Name("server span"))
	}
	if a.caller == nil && a.edge == entryEdge {
		q := &a.r.Requests[a.req]
		q.Arrive, q.Start, q.Instance = a.r.now, a.r.now, in
	}
	in.outstanding++
	in.active++
	if in.Exec == nil {
		h.begin()
		return
	}
	h.w = waiter{key: a.key, ready: func() { in.gate(h.begin) }}
	if !in.Exec.acquire(&h.w) {
		h.end(Rejected)
	}
}

func (h *handler) reports() bool {
	s := h.inst.Service
	return s.Peer == nil && !s.Spans.NoServer
}

func (h *handler) begin() {
	if h.ended {
		return
	}
	h.started, h.working = h.r.now, true
	if h.a.edge == entryEdge {
		h.r.Requests[h.a.req].Start = h.r.now
	}
	if h.op.RefuseLate && h.deadline > 0 && h.r.now >= h.deadline {
		h.end(TimedOut)
		return
	}
	h.runSeq(h.op.Plan, 0, &h.sc, h.key, func(o Outcome) {
		if o == Rejected {
			o = Failed // by whom it called; itself it took the request
		}
		if o == OK && h.op.FailP > 0 && h.key.Name("fail").Float() < h.op.FailP {
			o = Failed
		}
		h.end(o)
	})
}

// abandon tells the handler that nobody waits for it any more.
func (h *handler) abandon() {
	if h.ended || h.op.Cancel == Ignore {
		return
	}
	h.inst.gate(func() {
		switch {
		case h.ended:
		case !h.working || h.op.Cancel == Prompt:
			h.sc.cancel()
			h.end(Cancelled)
		default:
			h.stop = true
		}
	})
}

// end finishes the operation's work and answers.
func (h *handler) end(o Outcome) {
	if h.ended {
		return
	}
	h.ended = true
	h.w.leave()
	h.inst.outstanding--
	h.inst.active--
	if !h.working {
		h.started = h.r.now
	}
	if m := h.inst.meters; m != nil {
		m.served(h, o)
	}
	if h.inst.sidecar != nil {
		h.reportSidecar(o)
	}
	if h.reports() && (h.working || !h.inst.Service.Spans.ServerAfterQueue || o == Rejected) {
		h.report(o)
	}
	h.a.answer(o)
}

func (h *handler) runSeq(plan []Step, i int, sc *scope, k Key, done func(Outcome)) {
	if h.stop || sc.over {
		done(Cancelled)
		return
	}
	if i == len(plan) {
		done(OK)
		return
	}
	plan[i].start(h, sc, k, func(o Outcome) {
		if o != OK {
			done(o)
			return
		}
		h.runSeq(plan, i+1, sc, k, done)
	})
}

func (s Seq) start(h *handler, sc *scope, k Key, done func(Outcome)) { h.runSeq(s, 0, sc, k, done) }

// working is a Work step under way.
type working struct {
	h     *handler
	over  bool
	job   *job
	timer *Timer
	done  func(Outcome)
}

func (w *working) cancel() {
	w.over = true
	if w.job != nil {
		w.h.inst.cpu.cancel(w.job)
	}
	w.timer.Stop()
	w.done(Cancelled)
}

func (s *Work) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	if sc.over {
		done(Cancelled)
		return
	}
	k = k.Sub(s.id)
	f := h.inst.factor
	switch s.Size {
	case 0:
	case 1:
		f *= h.a.size
	default:
		f *= math.Pow(h.a.size, s.Size)
	}
	if w := h.inst.Service.Warm; w != nil && float64(h.r.now) < w.Until*float64(h.r.Duration()) {
		f *= w.Factor
	}
	d := scaled(s.Time.Sample(k), f)
	begin := h.r.now
	w := &working{h: h}
	w.done = func(o Outcome) {
		sc.drop(w)
		if s.Span != "" {
			h.internal(s.Span, k, begin, nil)
		}
		done(o)
	}
	sc.add(w)
	var onCPU Time
	if h.inst.cpu != nil {
		onCPU = scaled(d, s.CPU)
	}
	rest := func() {
		w.job = nil
		h.stretch += h.r.now - begin - onCPU
		if d == onCPU {
			w.done(OK)
			return
		}
		w.timer = h.r.after(d-onCPU, func() { h.inst.gate(func() { w.finish() }) })
	}
	if onCPU > 0 {
		w.job = h.inst.cpu.add(onCPU, rest)
	} else {
		rest()
	}
}

func (w *working) finish() {
	if !w.over {
		w.done(OK)
	}
}

// group is a Parallel or a parallel Repeat under way.
type group struct {
	sc      scope
	left    int
	need    int
	outcome Outcome
	done    func(Outcome)
	ended   bool
}

func (g *group) cancel() {
	g.sc.cancel()
}

func (g *group) branch(o Outcome) {
	g.left--
	if g.ended {
		return
	}
	if o == OK && g.need > 0 {
		g.need--
		if g.need == 0 {
			g.ended = true
			g.sc.cancel()
			g.done(OK)
			return
		}
	}
	if o != OK && g.outcome == OK {
		g.outcome = o
	}
	if g.left == 0 {
		g.ended = true
		g.done(g.outcome)
	}
}

func (h *handler) parallel(n, need int, sc *scope, done func(Outcome), start func(i int, sc *scope, done func(Outcome))) {
	if n == 0 {
		done(OK)
		return
	}
	g := &group{left: n, need: need}
	g.done = func(o Outcome) {
		sc.drop(g)
		done(o)
	}
	sc.add(g)
	for i := range n {
		start(i, &g.sc, g.branch)
	}
}

func (s *Parallel) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	h.parallel(len(s.Branches), s.Need, sc, done, func(i int, sc *scope, done func(Outcome)) {
		s.Branches[i].start(h, sc, k, done)
	})
}

func (s *Repeat) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	n := s.N
	if c, ok := s.ByClass[h.r.Requests[h.a.req].Class.Name]; ok {
		n = c
	}
	if s.Parallel {
		h.parallel(n, 0, sc, done, func(i int, sc *scope, done func(Outcome)) {
			s.Step.start(h, sc, k.Sub(uint64(i)), done)
		})
		return
	}
	var next func(i int)
	next = func(i int) {
		if i == n {
			done(OK)
			return
		}
		if h.stop || sc.over {
			done(Cancelled)
			return
		}
		s.Step.start(h, sc, k.Sub(uint64(i)), func(o Outcome) {
			if o != OK {
				done(o)
				return
			}
			next(i + 1)
		})
	}
	next(0)
}

func (s *When) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	yes := s.P == 0 || k.Sub(s.id).Float() < s.P
	if yes && len(s.Classes) > 0 {
		yes = false
		for _, c := range s.Classes {
			yes = yes || c == h.r.Requests[h.a.req].Class.Name
		}
	}
	switch {
	case yes && s.Then != nil:
		s.Then.start(h, sc, k, done)
	case !yes && s.Else != nil:
		s.Else.start(h, sc, k, done)
	default:
		done(OK)
	}
}

// locking is a Lock step that waits or is held.
type locking struct {
	w    waiter
	over bool
	done func(Outcome)
}

func (l *locking) cancel() {
	l.over = true
	l.w.leave()
	l.done(Cancelled)
}

func (s *Lock) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	if sc.over {
		done(Cancelled)
		return
	}
	in := h.inst
	res := in.locks[s.Name]
	if res == nil {
		res = h.r.resource("lock", s.Name, max(s.Slots, 1), 0, in.Service.Wake)
		in.locks[s.Name] = res
	}
	l := &locking{}
	l.done = func(o Outcome) {
		sc.drop(l)
		done(o)
	}
	l.w = waiter{key: k.Sub(s.id), ready: func() {
		in.gate(func() {
			if l.over {
				return
			}
			sc.drop(l) // from here on a cancellation reaches the step inside
			h.locked += l.w.wait
			s.Step.start(h, sc, k, func(o Outcome) {
				l.w.leave()
				done(o)
			})
		})
	}}
	sc.add(l)
	res.acquire(&l.w)
}

func (s *Async) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	// The request is over when its answer is; work in the background keeps the run going.
	h.r.active++
	s.Step.start(h, &scope{}, k, func(Outcome) { h.r.done() })
	done(OK)
}

func (s *Publish) start(h *handler, sc *scope, k Key, done func(Outcome)) {
	k = k.Sub(s.id)
	begin := h.r.now
	r := h.r
	r.active++
	r.after(s.Send.Sample(k.Name("send")), func() {
		h.inst.gate(func() {
			id := h.producer(s, k, begin)
			a := &attempt{r: r, req: h.a.req, op: s.To, key: k, edge: r.edge(h.inst.Service, s.To), size: h.a.size,
				message: true, spanID: id, begin: begin, sent: r.now, trace: h.a.trace}
			if s.Link {
				a.trace, a.spanID, a.link = k.trace(), 0, &Link{h.a.trace, id}
			}
			a.callee = r.choose(h.inst, s.To.Service, k.Name("instance"), 0)
			a.finish = func(Outcome) {}
			r.after(s.Dwell.Sample(k.Name("dwell")), func() { a.callee.gate(a.arrive) })
			if !h.stop && !sc.over {
				done(OK)
			} else {
				done(Cancelled)
			}
		})
	})
}
