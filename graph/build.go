package graph

import (
	"slices"

	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// A Judgement is what the population says of an entry span. Its strings are ids
// of the span's store.
type Judgement struct {
	Outcome       population.Outcome
	Standing      Standing
	Reason        trace.StringID
	Class         trace.StringID
	Weight        int64 // in units of 2^-20 requests
	UnknownWeight bool  // its sampling is stated in a way that cannot be read
}

// A Judge says how an entry span counts. calls tells whether work was done below
// it.
type Judge func(s *trace.Store, entry trace.SpanRef, calls bool) Judgement

// A Builder cuts records from trees. It is not safe for concurrent use.
type Builder struct {
	Dict *Dict

	Judge Judge

	// Defects counts what was found wrong while building.
	Defects trace.Tally

	store   *trace.Store
	namer   *trace.Namer
	strings []trace.StringID // of the store → Dict; the empty string stays zero
	mapped  []bool
	waiting []uint8  // by string of the store: whether a span so named is a wait, once asked
	procs   []ProcID // by resource of the store
	streams *population.StreamFinder

	work    []todo
	proxied []Wait // of the record being built: in front of applications
	keys    struct{ component, nodeID trace.StringID }

	slab   []Call
	attrs  []trace.Attr
	refs   []Refs
	groups []int32
	keyed  []uint64
	alike  []int32
	kinds  map[trace.Endpoint]uint32
	asked  answers
	codes  [][2]code  // by text: as HTTP's and as gRPC's
	plain  [2][]uint8 // by text, a name or a URL: whether it has no identifiers, once asked
}

type todo struct {
	node     Node
	parent   int32
	onClient bool
}

// Refs is the spans of a call, for those who need more than the record keeps.
type Refs struct{ Client, Work Node }

// NewBuilder returns a Builder of records over the codes of dict.
func NewBuilder(dict *Dict, s *trace.Store, judge Judge) *Builder {
	b := &Builder{Dict: dict, Judge: judge, Defects: trace.Tally{}, store: s, namer: trace.NewNamer(s), streams: population.NewStreamFinder(s)}
	b.keys.component, b.keys.nodeID = s.InternString("component"), s.InternString("node_id")
	return b
}

// Records calls f for each request of the tree: one for each root, one for each
// consumer and each stream that was left open, one for each orphan that is a server or a consumer. f may keep the
// record. spans gives the nodes of the record's calls until f returns.
func (b *Builder) Records(t *Tree, f func(r *Record, spans []Refs)) {
	for i := range t.Spans {
		n := Node(i)
		kind := t.kind(n)
		var cut bool
		switch t.standing[n] {
		case root:
			cut = true
		case orphan:
			cut = kind == trace.KindServer || kind == trace.KindConsumer
		case inner:
			cut = b.apart(t, n)
		}
		if !cut {
			continue
		}
		f(b.Record(t, n), b.refs)
	}
}

// Record cuts the record of the request that begins with one span. Spans gives
// the nodes of its calls.
func (b *Builder) Record(t *Tree, entry Node) *Record {
	r := &Record{TraceID: t.ID, Entry: t.id(entry), Orphan: t.standing[entry] == orphan, Torn: t.orphans > 0, Before: NoBefore}
	app := b.application(t, entry) // what a proxy in front of it encloses
	ref := t.Spans[app]
	j := b.Judge(t.Store, ref, len(t.Children(app)) > 0)
	r.Outcome, r.Standing, r.Weight, r.Class, r.Reason = j.Outcome, j.Standing, j.Weight, b.str(j.Class), b.str(j.Reason)
	if kind := b.stream(t, app); kind != population.NoStream {
		r.Standing, r.Reason = Stream, b.Dict.InternString(kind.String())
	}
	if j.UnknownWeight {
		b.Defects.Add(trace.UnknownWeight, b.where(t, app))
	}
	if b.namer.Templated(ref) {
		b.Defects.Add(trace.TemplatedName, b.where(t, app))
	}
	b.entryAttrs(r, ref)
	b.before(r, t, entry, entry)
	if app != entry && r.Before == NoBefore {
		b.before(r, t, entry, app)
	}

	if gives(cap(b.refs), len(t.Spans)) {
		b.work, b.refs, b.groups, b.keyed, b.alike = nil, nil, nil, nil, nil
	}
	b.work = append(b.work[:0], todo{entry, -1, false})
	b.refs, b.proxied = b.refs[:0], b.proxied[:0]
	var calls []Call
	first := len(b.slab)
	for len(b.work) > 0 {
		w := b.work[len(b.work)-1]
		b.work = b.work[:len(b.work)-1]
		b.call(t, w, first)
	}
	calls = b.slab[first:len(b.slab):len(b.slab)]
	for i := len(calls) - 1; i > 0; i-- {
		calls[calls[i].Parent].Len += calls[i].Len
	}
	r.Calls = calls
	b.waits(r, t)
	r.Waits = append(r.Waits, b.proxied...)
	b.attempts(r)
	b.flights(r, t)
	if len(b.slab) > slabSize/2 {
		b.slab = nil
	}
	return r
}

// Spans is the nodes of the calls of the last record.
func (b *Builder) Spans() []Refs { return b.refs }

// slabSize is how many calls are allocated at once: records do not get a heap
// object each for their calls.
const slabSize = 4096

// call appends the call of a span to the record, with its server half if the
// span is a client's, and queues what they call.
func (b *Builder) call(t *Tree, w todo, first int) {
	if cap(b.slab)-len(b.slab) < 1 {
		grown := make([]Call, len(b.slab)-first, max(slabSize, 2*(len(b.slab)-first)))
		copy(grown, b.slab[first:])
		// The record being built moves; earlier records keep the old memory.
		b.slab = append(make([]Call, first, first+cap(grown)), grown...)
	}
	at := int32(len(b.slab) - first)
	c := Call{Parent: w.parent, Len: 1, Client: noHalf, Work: noHalf}
	ref := Refs{NoNode, NoNode}
	n := w.node
	parentSlot := NoSlot
	if w.parent >= 0 {
		parentSlot = b.slab[first+int(w.parent)].Slot
	}
	slot := Slot{Parent: parentSlot, Kind: t.kind(n)}
	server, skip := NoNode, NoNode // skip is what of n's children is part of the call
	if b.calls(t, n) {
		out := b.outbound(t, n)
		if server = b.server(t, out); server == NoNode && len(t.Children(out)) > 0 {
			out = n // it made several calls, and is one of them
			server = b.server(t, n)
		}
		skip = server
		if out != n {
			skip = t.Children(n)[0]
		}
		c.Client, c.ClientEnd = b.half(t, n), b.end(t, n, true)
		ref.Client = n
		if c.Identity = b.identity(t, n); b.redirects(t.Spans[n]) {
			c.Flags |= Redirected
		}
		slot.Caller = b.endpoint(t, n)
		if untold(slot.Kind) {
			slot.Kind = trace.KindClient
		}
		if server != NoNode {
			proxy := server
			server = b.application(t, proxy)
			b.observed(t, at, proxy, server)
			c.Work, c.WorkEnd = b.half(t, server), b.end(t, server, false)
			ref.Work = server
			slot.Callee = b.endpoint(t, server)
		}
		if peer := b.str(b.namer.Peer(t.Spans[n])); server == NoNode {
			slot.Peer = peer
		} else if peer != 0 {
			known := slot
			known.Peer = peer
			b.Dict.Slot(known) // by which the callee is told where its half is lost
		}
	} else {
		proxy := n
		n = b.application(t, proxy)
		b.observed(t, at, proxy, n)
		c.Work, c.WorkEnd = b.half(t, n), b.end(t, n, false)
		c.Work.Interval = t.Interval(proxy) // the request is what was first seen of it
		ref.Work = n
		slot.Callee = b.endpoint(t, n)
	}
	for _, n := range [2]Node{ref.Client, ref.Work} {
		if ref.Work != NoNode && n != NoNode && t.kind(n) != trace.KindInternal && b.streams.Of(t.Spans[n]) != population.NoStream {
			c.Flags |= Lasting
		}
	}
	c.Slot = b.Dict.Slot(slot)
	if w.onClient {
		c.Flags |= OnClient
	}
	if t.flags(n)&trace.FollowsFrom != 0 {
		c.Flags |= Async
	}
	if c.Client.Seen() != c.Work.Seen() && b.waitName(b.store.Name(t.Spans[n])) {
		c.Flags |= WaitSpan
	}
	if a := b.ask(t.Spans[n], askResent); a != 0 {
		c.Attempt = uint16(min(b.number(a), 1<<15))
	}
	b.slab = append(b.slab, c)
	b.refs = append(b.refs, ref)

	// Queued in reverse, so that the earliest is next.
	queued := len(b.work)
	b.queue(t, n, skip, at, server != NoNode)
	if server != NoNode {
		b.queue(t, server, NoNode, at, false)
		slices.SortFunc(b.work[queued:], func(x, y todo) int { return int(y.node) - int(x.node) })
	}
}

// queue queues the calls made by one half, but for skip and for what is a record
// of its own.
func (b *Builder) queue(t *Tree, n, skip Node, parent int32, onClient bool) {
	kids := t.Children(n)
	for i := len(kids) - 1; i >= 0; i-- {
		if k := kids[i]; k != skip && !b.apart(t, k) {
			b.work = append(b.work, todo{k, parent, onClient})
		}
	}
}

// calls reports whether n is the client half of a call. Data that do not tell
// kinds, or call all spans internal, tell by the border between services: a span
// whose only child is of another service, and whose parent is of its own. And by
// databases: a span that names one and has no children asks it.
func (b *Builder) calls(t *Tree, n Node) bool {
	kind := t.kind(n)
	if kind == trace.KindClient || kind == trace.KindProducer {
		return true
	}
	if p := t.Parent[n]; !untold(kind) || p == NoNode || t.service(p) != t.service(n) {
		return false
	}
	kids := t.Children(n)
	if len(kids) == 0 {
		return b.namer.Database(t.Spans[n])
	}
	return len(kids) == 1 && t.service(kids[0]) != t.service(n) && untold(t.kind(kids[0]))
}

// untold reports whether a kind leaves open which half of a call a span is at the
// border between services: no internal span lies there, so what is called so has
// not been told.
func untold(k trace.Kind) bool { return k == trace.KindUnspecified || k == trace.KindInternal }

// server is the server half of the call whose client half is n: its only child
// that is a server's. Where there are several, each is an attempt or a leg of
// its own below the client span.
func (b *Builder) server(t *Tree, n Node) Node {
	found := NoNode
	for _, k := range t.Children(n) {
		kind := t.kind(k)
		if kind == trace.KindServer || untold(kind) && t.service(k) != t.service(n) && (untold(t.kind(n)) || t.kind(n) == trace.KindClient) {
			if t.flags(k)&trace.FollowsFrom != 0 || b.apart(t, k) {
				continue
			}
			if found != NoNode {
				return NoNode
			}
			found = k
		}
	}
	return found
}

func (b *Builder) half(t *Tree, n Node) Half {
	return Half{t.Interval(n), b.proc(t.resource(n))}
}

func (b *Builder) proc(id trace.ResourceID) ProcID {
	for int(id) >= len(b.procs) {
		b.procs = append(b.procs, NoProc)
	}
	if b.procs[id] == NoProc {
		r := b.store.Resource(id)
		b.procs[id] = b.Dict.Proc(Proc{b.str(r.Service), b.str(r.Host), b.str(r.Instance), b.str(r.Version)})
	}
	return b.procs[id]
}

func (b *Builder) endpoint(t *Tree, n Node) trace.Endpoint {
	r := t.Spans[n]
	return trace.Endpoint{Service: b.str(b.namer.Service(r)), Operation: b.str(b.namer.Operation(r))}
}

// str is a string of the store in the Dict.
func (b *Builder) str(id trace.StringID) trace.StringID {
	for int(id) >= len(b.strings) {
		b.strings = append(b.strings, 0)
		b.mapped = append(b.mapped, false)
	}
	if !b.mapped[id] {
		b.strings[id], b.mapped[id] = b.Dict.InternString(b.store.String(id)), true
	}
	return b.strings[id]
}

// waitName reports whether a span's name says that it is a wait.
func (b *Builder) waitName(id trace.StringID) bool {
	const no, yes = 1, 2
	for int(id) >= len(b.waiting) {
		b.waiting = append(b.waiting, 0)
	}
	if b.waiting[id] == 0 {
		b.waiting[id] = no
		if trace.WaitName(b.store.String(id)) {
			b.waiting[id] = yes
		}
	}
	return b.waiting[id] == yes
}

func (b *Builder) value(v trace.Value) trace.Value { return v.WithText(b.str(v.TextID())) }

// entryAttrs keeps the attributes of the entry span and of its resource.
func (b *Builder) entryAttrs(r *Record, ref trace.SpanRef) {
	span, res := b.store.Attrs(ref), b.store.Resource(b.store.ResourceOf(ref)).Attrs
	n := len(span) + len(res)
	if cap(b.attrs)-len(b.attrs) < n {
		b.attrs = make([]trace.Attr, 0, max(slabSize, n))
	}
	first := len(b.attrs)
	for _, list := range [2][]trace.Attr{span, res} {
		for _, a := range list {
			b.attrs = append(b.attrs, trace.Attr{Key: b.str(a.Key), Value: b.value(a.Value)})
		}
	}
	r.Attrs = b.attrs[first:len(b.attrs):len(b.attrs)]
}

func (b *Builder) where(t *Tree, n Node) string {
	return "trace " + t.Store.TraceIDText(t.ID) + ", span " + t.Store.SpanIDText(t.id(n))
}
