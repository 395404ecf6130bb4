package sim

// Kind is a span's kind, as OpenTelemetry numbers them.
type Kind uint8

const (
	Internal Kind = 1 + iota
	Server
	Client
	Producer
	Consumer
)

// A Link points to a span of this or another trace.
type Link struct {
	Trace [16]byte
	Span  uint64
}

// A Span is what an SDK would have recorded, in true time.
type Span struct {
	Trace      [16]byte
	ID, Parent uint64
	Remote     bool // the parent is another process's
	Kind       Kind
	Name       string     // of an internal span
	Op         *Operation // of the others: what is served or called
	In         *Instance  // that reports it
	Peer       *Instance  // that is called
	Start, End Time
	GotConn    Time    // when a client span that includes its wait for a connection got it; else -1
	Stamp      Time    // when the proxy took the request, if the service stamps it; else -1
	Outcome    Outcome // as this side saw it
	Served     Outcome // on a client span, the answer; Omitted if none came
	Resend     int     // which attempt, counting retries only
	Request    int32
	Entry      bool
	Link       *Link
}

func (h *handler) reportsCalls() bool {
	s := h.inst.Service
	return s.Peer == nil && !s.Spans.NoClient
}

func (r *Run) span(s Span) { r.Spans = append(r.Spans, s) }

// report writes the server or consumer span.
func (h *handler) report(o Outcome) {
	if !h.r.Options.Spans {
		return
	}
	s := Span{Trace: h.a.trace, ID: h.span, Parent: h.parent, Remote: true, Kind: Server, Op: h.op, In: h.inst,
		Start: h.arrived, End: h.r.now, Stamp: -1, GotConn: -1, Outcome: o, Served: Omitted, Request: h.a.req, Entry: h.a.edge == entryEdge, Link: h.a.link}
	if h.inst.Service.Spans.ServerAfterQueue {
		s.Start = h.started
	}
	if s.Entry && h.inst.Service.Spans.StartStamp {
		s.Stamp = h.arrived
	}
	if h.a.message {
		s.Kind = Consumer
	}
	h.r.span(s)
}

// reportSidecar writes the span of the proxy before the instance.
func (h *handler) reportSidecar(o Outcome) {
	if h.r.Options.Spans {
		h.r.span(Span{Trace: h.a.trace, ID: h.parent, Parent: h.a.spanID, Remote: true, Kind: Server, Op: h.op, In: h.inst.sidecar, Peer: h.inst,
			Start: h.arrived, End: h.r.now, Stamp: -1, GotConn: -1, Outcome: o, Served: Omitted, Request: h.a.req})
	}
}

// client writes the client span of an attempt that ends now, if one was begun.
func (h *handler) client(a *attempt, o Outcome) {
	if m := h.inst.meters; m != nil {
		m.called(a, o)
	}
	if !h.r.Options.Spans || !h.reportsCalls() {
		return
	}
	s := Span{Trace: a.trace, ID: a.spanID, Parent: h.span, Kind: Client, Op: a.op, In: h.inst, Peer: a.callee,
		Start: a.begin, End: h.r.now, Stamp: -1, GotConn: -1, Outcome: o, Served: Omitted, Request: a.req}
	if h.inst.Service.Spans.ClientAfterPool {
		if !a.got {
			return
		}
		s.Start = a.acquired
	}
	if h.inst.Service.Spans.PoolEvents && a.got && a.w.r != nil {
		s.GotConn = a.acquired
	}
	if !a.left {
		s.Served = a.served
	}
	if !a.hedge {
		s.Resend = a.n
	}
	h.r.span(s)
}

func (h *handler) internal(name string, k Key, begin Time, link *Link) {
	if !h.r.Options.Spans || !h.reports() {
		return
	}
	h.r.span(Span{Trace: h.a.trace, ID: uint64(k.Name("internal span")), Parent: h.span, Kind: Internal, Name: name, In: h.inst,
		Start: begin, End: h.r.now, Stamp: -1, GotConn: -1, Served: Omitted, Request: h.a.req, Link: link})
}

// producer writes the span of a message sent, and returns the context that the message carries.
func (h *handler) producer(p *Publish, k Key, begin Time) uint64 {
	if !h.reportsCalls() {
		return h.span
	}
	id := uint64(k.Name("producer span"))
	if h.r.Options.Spans {
		h.r.span(Span{Trace: h.a.trace, ID: id, Parent: h.span, Kind: Producer, Op: p.To, In: h.inst,
			Start: begin, End: h.r.now, Stamp: -1, GotConn: -1, Served: Omitted, Request: h.a.req})
	}
	return id
}

// An Omission is an optional call left out because too little time was left.
type Omission struct {
	Request int32
	Call    *Call
}

func (r *Run) omit(h *handler, c *Call) {
	r.Omitted = append(r.Omitted, Omission{h.a.req, c})
}

func (r *Run) attempt(a Attempt) {
	if !r.Options.Brief {
		r.Attempts = append(r.Attempts, a)
	}
}
