package trace

// A Kind is the role of a span.
type Kind uint8

const (
	KindUnspecified Kind = iota
	KindInternal
	KindServer
	KindClient
	KindProducer
	KindConsumer
)

var kindNames = [...]string{"unspecified", "internal", "server", "client", "producer", "consumer"}

func (k Kind) String() string { return kindNames[k] }

// A Status is what a span said of its own success.
type Status uint8

const (
	StatusUnset Status = iota
	StatusOK
	StatusError
)

var statusNames = [...]string{"unset", "ok", "error"}

func (s Status) String() string { return statusNames[s] }

// Flags are what a format says of a span beyond its fields.
type Flags uint8

const (
	// Shared marks the server half of a pair that has one id (Zipkin).
	Shared Flags = 1 << iota
	// FollowsFrom marks a span whose reference says that its parent did not
	// wait for it.
	FollowsFrom
)

// A SpanRef is the index of a span in its Store.
type SpanRef int32

// NoSpan is the SpanRef of no span.
const NoSpan SpanRef = -1

// A RawSpan is a span as a decoder has it. Its byte slices are valid only
// during the call that it is passed to.
//
// A decoder that remembers what it has met gives it by its numbers in the
// store's tables: the name as NameID, if that is not zero, and then Name is not
// read; the attributes as Known. If Known is not empty it is the list of
// attributes, in which an entry without a key stands for the next of Attrs; Add
// fills in what it keeps of those.
type RawSpan struct {
	TraceID       TraceID
	ID, ParentID  SpanID
	Start, End    Time
	Kind          Kind
	Status        Status
	Flags         Flags
	Name          []byte
	NameID        StringID // see above
	StatusMessage []byte
	TraceState    []byte
	Resource      ResourceID
	Scope         ScopeID
	Attrs         []RawAttr
	Known         []Attr // see above
	Events        []RawEvent
	Links         []RawLink
	More          *RawMore // nil, but for a conversion
}

// Reset empties s for the next span and keeps its memory.
func (s *RawSpan) Reset() {
	*s = RawSpan{Attrs: s.Attrs[:0], Known: s.Known[:0], Events: s.Events[:0], Links: s.Links[:0]}
}

// RawMore is what only a conversion keeps of a span. Its lists are those of the
// span's events and links, or empty.
type RawMore struct {
	Flags                                          uint32
	DroppedAttributes, DroppedEvents, DroppedLinks uint32
	EventsDropped                                  []uint32 // attributes of each event
	Links                                          []RawLinkMore
}

// RawLinkMore is what only a conversion keeps of a link.
type RawLinkMore struct {
	TraceState     []byte
	Attrs          []RawAttr
	Flags, Dropped uint32
}

// Reset empties m and keeps its memory.
func (m *RawMore) Reset() {
	*m = RawMore{EventsDropped: m.EventsDropped[:0], Links: m.Links[:0]}
}

// More is RawMore in a store.
type More struct {
	Flags                                          uint32
	DroppedAttributes, DroppedEvents, DroppedLinks uint32
	EventsDropped                                  []uint32
	Links                                          []LinkMore
}

// LinkMore is RawLinkMore in a store.
type LinkMore struct {
	TraceState     StringID
	Attrs          []Attr
	Flags, Dropped uint32
}

// A RawEvent is an event of a RawSpan.
type RawEvent struct {
	Time  Time
	Name  []byte
	Attrs []RawAttr
}

// A RawLink is a link of a RawSpan.
type RawLink struct {
	TraceID TraceID
	ID      SpanID
}

// An Event is something that happened at one instant of a span.
type Event struct {
	Time  Time
	Name  StringID
	Attrs []Attr
}

// A Link points to a span that caused this one without waiting for it.
type Link struct {
	TraceID TraceID
	ID      SpanID
}

// A Store holds spans in columns, in the order of arrival, without a heap
// object per span. It is not safe for concurrent use; decoders that run side by
// side fill one each, which Append joins.
type Store struct {
	*Tables

	// KeepAll keeps every attribute of every span, as a conversion needs.
	KeepAll bool

	// Waits is the attributes of the user's own that hold a time spent waiting, by
	// name; they are kept of every span. It is set before anything is added.
	Waits map[string]DeclaredWait

	// Names gives a span's operation a name of the user's own, from the span's
	// service, name and attributes, before all other rules; nil: nobody did.
	Names func(service, name string, attribute func(key string) string) (operation string, ok bool)

	traceIDs   []TraceID
	ids        []SpanID
	parents    []SpanID
	starts     []Time
	ends       []Time
	names      []StringID
	resources  []ResourceID
	scopes     []ScopeID
	kinds      []Kind
	statuses   []Status
	flags      []Flags
	attrOffset []uint32 // len(spans)+1
	attrs      []Attr

	// Sparse columns.
	statusMessages map[SpanRef]StringID
	traceStates    map[SpanRef]StringID
	events         map[SpanRef][]Event
	links          map[SpanRef][]Link
	more           map[SpanRef]*More

	// Texts of the identifiers that are not hexadecimal.
	traceIDTexts map[TraceID]string
	spanIDTexts  map[SpanID]string

	sparse int // bytes of memory of the sparse columns, about

	// Blocks from which the sparse columns take memory. What was taken is never
	// taken again, because stores share it.
	eventBlock []Event
	attrBlock  []Attr
	linkBlock  []Link
	scratch    []Attr

	last         []Attr // by place in the list of attributes: the last that was met there
	analysedKeys []int8 // per StringID of a key: 0 not asked yet, 1 kept of every span, -1 not
}

// NewStore returns an empty store over tables, which metric points may share.
func NewStore(tables *Tables) *Store {
	return &Store{
		Tables:         tables,
		attrOffset:     []uint32{0},
		statusMessages: map[SpanRef]StringID{},
		traceStates:    map[SpanRef]StringID{},
		events:         map[SpanRef][]Event{},
		links:          map[SpanRef][]Link{},
		more:           map[SpanRef]*More{},
		traceIDTexts:   map[TraceID]string{},
		spanIDTexts:    map[SpanID]string{},
	}
}

// Len is the number of spans.
func (s *Store) Len() int { return len(s.ids) }

// Add appends a span. It does not judge the span: repair is graph's.
func (s *Store) Add(r *RawSpan) SpanRef {
	ref := SpanRef(len(s.ids))
	s.traceIDs = append(s.traceIDs, r.TraceID)
	s.ids = append(s.ids, r.ID)
	s.parents = append(s.parents, r.ParentID)
	s.starts = append(s.starts, r.Start)
	s.ends = append(s.ends, r.End)
	name := r.NameID
	if name == 0 {
		name = s.Intern(r.Name)
	}
	s.names = append(s.names, name)
	s.resources = append(s.resources, r.Resource)
	s.scopes = append(s.scopes, r.Scope)
	s.kinds = append(s.kinds, r.Kind)
	s.statuses = append(s.statuses, r.Status)
	s.flags = append(s.flags, r.Flags)

	all := s.KeepAll || r.ParentID == NoSpanID || r.Kind == KindServer || r.Kind == KindConsumer
	s.attrs = s.keep(s.attrs, r.Attrs, r.Known, all)
	s.attrOffset = append(s.attrOffset, uint32(len(s.attrs)))

	if len(r.StatusMessage) > 0 {
		s.statusMessages[ref] = s.Intern(r.StatusMessage)
	}
	if len(r.TraceState) > 0 {
		s.traceStates[ref] = s.Intern(r.TraceState)
	}
	if len(r.Events) > 0 {
		events := take(&s.eventBlock, len(r.Events))
		for i, e := range r.Events {
			events[i] = Event{Time: e.Time, Name: s.Intern(e.Name)}
			if len(e.Attrs) > 0 {
				s.scratch = s.keep(s.scratch[:0], e.Attrs, nil, s.KeepAll)
				events[i].Attrs = take(&s.attrBlock, len(s.scratch))
				copy(events[i].Attrs, s.scratch)
			}
		}
		s.events[ref] = events
	}
	if len(r.Links) > 0 {
		links := take(&s.linkBlock, len(r.Links))
		for i, l := range r.Links {
			links[i] = Link(l)
		}
		s.links[ref] = links
	}
	if r.More != nil {
		s.addMore(ref, r.More)
	}
	if len(r.StatusMessage)+len(r.TraceState)+len(r.Events)+len(r.Links) > 0 {
		s.sparse += sparseBytes(s.statusMessages[ref], s.traceStates[ref], s.events[ref], s.links[ref])
	}
	return ref
}

// addMore keeps what is not zero of m.
func (s *Store) addMore(ref SpanRef, m *RawMore) {
	k := &More{Flags: m.Flags, DroppedAttributes: m.DroppedAttributes, DroppedEvents: m.DroppedEvents, DroppedLinks: m.DroppedLinks}
	for i, n := range m.EventsDropped {
		if n > 0 {
			k.EventsDropped = append(make([]uint32, 0, i+1), m.EventsDropped[:i+1]...)
		}
	}
	for i, l := range m.Links {
		if len(l.TraceState)+len(l.Attrs) == 0 && l.Flags == 0 && l.Dropped == 0 {
			continue
		}
		for len(k.Links) <= i {
			k.Links = append(k.Links, LinkMore{})
		}
		k.Links[i] = LinkMore{s.Intern(l.TraceState), s.keep(nil, l.Attrs, nil, true), l.Flags, l.Dropped}
	}
	if k.Flags != 0 || k.DroppedAttributes+k.DroppedEvents+k.DroppedLinks != 0 || k.EventsDropped != nil || k.Links != nil {
		s.more[ref] = k
	}
}

// ChangeScopes changes the scopes of all spans from a place on.
func (s *Store) ChangeScopes(from SpanRef, change func(Scope) Scope) {
	var last, changed ScopeID
	for i := int(from); i < len(s.scopes); i++ {
		if i == int(from) || s.scopes[i] != last {
			last = s.scopes[i]
			changed = s.AddScope(change(s.Scope(last)))
		}
		s.scopes[i] = changed
	}
}

// SetScope sets the scope of all spans from a place on: in some encodings it
// comes behind its spans.
func (s *Store) SetScope(from SpanRef, scope ScopeID) {
	for i := range s.scopes[from:] {
		s.scopes[int(from)+i] = scope
	}
}

// take cuts n elements off a block; nil if n is zero.
func take[T any](block *[]T, n int) []T {
	if n == 0 {
		return nil
	}
	if len(*block) < n {
		*block = make([]T, max(n, 512))
	}
	taken := (*block)[:n:n]
	*block = (*block)[n:]
	return taken
}

// keep appends the attributes that are kept: all, or those on the analysis
// list.
func (s *Store) keep(to []Attr, raw []RawAttr, known []Attr, all bool) []Attr {
	if len(known) == 0 {
		for i := range raw {
			if a, ok := s.keepOne(i, &raw[i], all, true); ok {
				to = append(to, a)
			}
		}
		return to
	}
	next := 0
	for i, a := range known {
		if a.Key == 0 {
			var ok bool
			if a, ok = s.keepOne(i, &raw[next], all, false); ok {
				to = append(to, a)
				known[i] = a
			}
			next++
			continue
		}
		if all || s.analysed(a.Key) {
			to = append(to, a)
		}
	}
	return to
}

// keepOne is the attribute at a place of a list, and whether it is kept.
// Neighbouring spans tend to have the same keys in the same places and, unless
// the decoder has looked for those, often the same values; to compare is cheaper
// than to look up.
func (s *Store) keepOne(place int, raw *RawAttr, all, same bool) (Attr, bool) {
	for len(s.last) <= place {
		s.last = append(s.last, Attr{})
	}
	last := &s.last[place]
	if s.String(last.Key) != string(raw.Key) {
		*last = Attr{Key: s.Intern(raw.Key)}
	}
	if !all && !s.analysed(last.Key) {
		return Attr{}, false
	}
	v := &raw.Value
	if !same || v.Type != String || last.Value.Type() != String || s.Text(last.Value) != string(v.Bytes) {
		last.Value = s.Value(*v)
	}
	return *last, true
}

func (s *Store) analysed(key StringID) bool {
	for int(key) >= len(s.analysedKeys) {
		s.analysedKeys = append(s.analysedKeys, 0)
	}
	if s.analysedKeys[key] == 0 {
		s.analysedKeys[key] = -1
		if s.Keeps(s.String(key)) {
			s.analysedKeys[key] = 1
		}
	}
	return s.analysedKeys[key] > 0
}

// Keeps reports whether attributes of a key are kept of every span.
func (s *Store) Keeps(key string) bool { return Analysed(key) || s.declared(key) }

// declared reports whether a key is one of Waits, or names what was waited for.
func (s *Store) declared(key string) bool {
	if _, ok := s.Waits[key]; ok {
		return true
	}
	for _, w := range s.Waits {
		if w.ResourceAttribute == key {
			return true
		}
	}
	return false
}

// TextTraceID is the id of a trace by its text. A text that is not hexadecimal
// is hashed and remembered.
func (s *Store) TextTraceID(text []byte) TraceID {
	if id, ok := ParseTraceID(text); ok {
		return id
	}
	id := hashTraceID(text)
	s.traceIDTexts[id] = string(text)
	return id
}

// TextSpanID is the id of a span by its text. The empty text is no span.
func (s *Store) TextSpanID(text []byte) SpanID {
	if len(text) == 0 {
		return NoSpanID
	}
	if id, ok := ParseSpanID(text); ok {
		return id
	}
	id := hashSpanID(text)
	s.spanIDTexts[id] = string(text)
	return id
}

// TraceIDText is the trace's id as the input spelled it.
func (s *Store) TraceIDText(id TraceID) string {
	if text, ok := s.traceIDTexts[id]; ok {
		return text
	}
	return id.String()
}

// SpanIDText is the span's id as the input spelled it; empty for no span.
func (s *Store) SpanIDText(id SpanID) string {
	if text, ok := s.spanIDTexts[id]; ok {
		return text
	}
	if id == NoSpanID {
		return ""
	}
	return id.String()
}

// The columns of a span.

func (s *Store) TraceID(r SpanRef) TraceID        { return s.traceIDs[r] }
func (s *Store) ID(r SpanRef) SpanID              { return s.ids[r] }
func (s *Store) ParentID(r SpanRef) SpanID        { return s.parents[r] }
func (s *Store) Interval(r SpanRef) Interval      { return Interval{s.starts[r], s.ends[r]} }
func (s *Store) Name(r SpanRef) StringID          { return s.names[r] }
func (s *Store) Kind(r SpanRef) Kind              { return s.kinds[r] }
func (s *Store) Status(r SpanRef) Status          { return s.statuses[r] }
func (s *Store) SpanFlags(r SpanRef) Flags        { return s.flags[r] }
func (s *Store) ResourceOf(r SpanRef) ResourceID  { return s.resources[r] }
func (s *Store) ScopeOf(r SpanRef) ScopeID        { return s.scopes[r] }
func (s *Store) StatusMessage(r SpanRef) StringID { return s.statusMessages[r] }
func (s *Store) TraceState(r SpanRef) StringID    { return s.traceStates[r] }
func (s *Store) Events(r SpanRef) []Event         { return s.events[r] }
func (s *Store) Links(r SpanRef) []Link           { return s.links[r] }
func (s *Store) More(r SpanRef) *More             { return s.more[r] } // nil: nothing

// Attrs is the kept attributes of a span, in the order of the input. The
// caller must not change them.
func (s *Store) Attrs(r SpanRef) []Attr { return s.attrs[s.attrOffset[r]:s.attrOffset[r+1]] }

// Attr is the value of the first of keys that the span has; zero if none.
func (s *Store) Attr(r SpanRef, keys ...string) Value {
	attrs := s.Attrs(r)
	if len(attrs) == 0 {
		return 0
	}
	var found Value
	for _, a := range attrs {
		if a.Value == 0 {
			continue
		}
		key := s.String(a.Key)
		for i, k := range keys { // those before the one that was found
			if k == key {
				found, keys = a.Value, keys[:i]
				break
			}
		}
	}
	return found
}

// AttrText is the text of Attr.
func (s *Store) AttrText(r SpanRef, keys ...string) string { return s.Text(s.Attr(r, keys...)) }

// Reset empties s and keeps its memory.
func (s *Store) Reset() {
	s.traceIDs, s.ids, s.parents = s.traceIDs[:0], s.ids[:0], s.parents[:0]
	s.starts, s.ends, s.names = s.starts[:0], s.ends[:0], s.names[:0]
	s.resources, s.scopes = s.resources[:0], s.scopes[:0]
	s.kinds, s.statuses, s.flags = s.kinds[:0], s.statuses[:0], s.flags[:0]
	s.attrOffset, s.attrs = s.attrOffset[:1], s.attrs[:0]
	s.sparse = 0
	clear(s.statusMessages)
	clear(s.traceStates)
	clear(s.events)
	clear(s.links)
	clear(s.more)
	clear(s.traceIDTexts)
	clear(s.spanIDTexts)
}

// Renew returns an empty store over other tables that takes over the memory of s,
// which is not to be used again.
func (s *Store) Renew(tables *Tables) *Store {
	s.Reset()
	n := *s
	n.Tables, n.last, n.analysedKeys = tables, nil, nil
	*s = Store{}
	return &n
}

// Cap is the number of spans there is room for.
func (s *Store) Cap() int { return cap(s.ids) }

// Grow makes room for n more spans with as many attributes each as those of o.
func (s *Store) Grow(n int, o *Store) {
	s.traceIDs, s.ids, s.parents = grow(s.traceIDs, n), grow(s.ids, n), grow(s.parents, n)
	s.starts, s.ends, s.names = grow(s.starts, n), grow(s.ends, n), grow(s.names, n)
	s.resources, s.scopes = grow(s.resources, n), grow(s.scopes, n)
	s.kinds, s.statuses, s.flags = grow(s.kinds, n), grow(s.statuses, n), grow(s.flags, n)
	s.attrOffset = grow(s.attrOffset, n)
	s.attrs = grow(s.attrs, int(float64(n)*float64(len(o.attrs))/float64(max(o.Len(), 1))))
}

// grow is slices.Grow, but does not write to memory that comes zeroed from the
// system.
func grow[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	to := make([]T, len(s), len(s)+n)
	copy(to, s)
	return to
}

// Append adds all spans of o, whose tables have been absorbed into s's. A nil m
// says that both have the same tables. Nothing of o is kept but what never
// changes, so that o may be reset.
func (s *Store) Append(o *Store, m *Remap) {
	base := SpanRef(len(s.ids))
	if len(s.ids)+len(o.ids) > cap(s.ids) {
		s.Grow(max(len(s.ids), len(o.ids)), o) // double: append would copy all five times over
	}
	s.traceIDs = append(s.traceIDs, o.traceIDs...)
	s.ids = append(s.ids, o.ids...)
	s.parents = append(s.parents, o.parents...)
	s.starts = append(s.starts, o.starts...)
	s.ends = append(s.ends, o.ends...)
	s.kinds = append(s.kinds, o.kinds...)
	s.statuses = append(s.statuses, o.statuses...)
	s.flags = append(s.flags, o.flags...)
	s.sparse += o.sparse
	first := uint32(len(s.attrs))
	for _, at := range o.attrOffset[1:] {
		s.attrOffset = append(s.attrOffset, first+at)
	}
	for id, text := range o.traceIDTexts {
		s.traceIDTexts[id] = text
	}
	for id, text := range o.spanIDTexts {
		s.spanIDTexts[id] = text
	}
	for r, links := range o.links {
		s.links[base+r] = links
	}
	if m == nil {
		s.names = append(s.names, o.names...)
		s.resources = append(s.resources, o.resources...)
		s.scopes = append(s.scopes, o.scopes...)
		s.attrs = append(s.attrs, o.attrs...)
		for r, id := range o.statusMessages {
			s.statusMessages[base+r] = id
		}
		for r, id := range o.traceStates {
			s.traceStates[base+r] = id
		}
		for r, events := range o.events {
			s.events[base+r] = events
		}
		for r, more := range o.more {
			s.more[base+r] = more
		}
		return
	}
	for _, n := range o.names {
		s.names = append(s.names, m.Strings[n])
	}
	for _, r := range o.resources {
		s.resources = append(s.resources, m.Resources[r])
	}
	for _, c := range o.scopes {
		s.scopes = append(s.scopes, m.Scopes[c])
	}
	s.attrs = appendAttrs(s.attrs, o.attrs, m)
	for r, id := range o.statusMessages {
		s.statusMessages[base+r] = m.Strings[id]
	}
	for r, id := range o.traceStates {
		s.traceStates[base+r] = m.Strings[id]
	}
	for r, more := range o.more {
		moved := *more
		moved.Links = make([]LinkMore, len(more.Links))
		for i, l := range more.Links {
			moved.Links[i] = LinkMore{m.Strings[l.TraceState], appendAttrs(nil, l.Attrs, m), l.Flags, l.Dropped}
		}
		s.more[base+r] = &moved
	}
	for r, events := range o.events {
		moved := take(&s.eventBlock, len(events))
		for i, e := range events {
			attrs := take(&s.attrBlock, len(e.Attrs))
			appendAttrs(attrs[:0], e.Attrs, m)
			moved[i] = Event{e.Time, m.Strings[e.Name], attrs}
		}
		s.events[base+r] = moved
	}
}

func appendAttrs(to, from []Attr, m *Remap) []Attr {
	for _, a := range from {
		to = append(to, Attr{m.Strings[a.Key], m.Value(a.Value)})
	}
	return to
}
