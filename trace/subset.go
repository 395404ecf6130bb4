package trace

import "unsafe"

// A Moves remembers what the strings, resources and scopes of one Tables are in
// another. Unlike a Remap it is made of what is asked for, so that tables which
// take over a few spans do not take over all that others ever held.
type Moves struct {
	from, to  *Tables
	strings   []StringID // plus one; zero is not asked yet
	resources []ResourceID
	scopes    []ScopeID

	// Clean says what is taken over of attributes and names of spans; nil: all. It
	// is for Raw, Resource and what is built on those; AppendSpans takes all.
	Clean Cleaner
}

// An Owner is what an attribute belongs to.
type Owner uint8

// The owners. An event's attributes are its span's.
const (
	OfSpan Owner = iota
	OfResource
	OfPoint
)

// A Cleaner decides what is kept of attributes and of names of spans. Texts that
// it is given must not be changed.
type Cleaner interface {
	Attr(a RawAttr, of Owner) (RawAttr, bool)
	Name(name []byte) []byte
}

// NewMoves returns the translation of from's ids into to's.
func NewMoves(from, to *Tables) *Moves { return &Moves{from: from, to: to} }

// String is the string id in the other tables.
func (m *Moves) String(id StringID) StringID {
	for int(id) >= len(m.strings) {
		m.strings = append(m.strings, make([]StringID, 1+m.from.strings.len()-len(m.strings))...)
	}
	if m.strings[id] == 0 {
		m.strings[id] = m.to.InternString(m.from.String(id)) + 1
	}
	return m.strings[id] - 1
}

func (m *Moves) attrs(to, from []Attr) []Attr {
	for _, a := range from {
		to = append(to, Attr{m.String(a.Key), m.value(a.Value)})
	}
	return to
}

func (m *Moves) value(v Value) Value { return v.WithText(m.String(v.text())) }

// Resource is the resource in the other tables.
func (m *Moves) Resource(id ResourceID) ResourceID { return m.resource(id) }

// Attrs appends what is taken over of attributes, as numbers of the other tables.
func (m *Moves) Attrs(to, from []Attr, of Owner) []Attr {
	if m.Clean == nil {
		return m.attrs(to, from)
	}
	for _, a := range from {
		if raw, ok := m.Clean.Attr(RawAttr{text(m.from.String(a.Key)), m.from.Raw(a.Value)}, of); ok {
			to = append(to, Attr{m.to.Intern(raw.Key), m.to.Value(raw.Value)})
		}
	}
	return to
}

func (m *Moves) resource(id ResourceID) ResourceID {
	for int(id) >= len(m.resources) {
		m.resources = append(m.resources, make([]ResourceID, 1+len(m.from.resources)-len(m.resources))...)
	}
	if m.resources[id] == 0 {
		m.resources[id] = m.to.addResource(m.Attrs(nil, m.from.resources[id].Attrs, OfResource)) + 1
	}
	return m.resources[id] - 1
}

func (m *Moves) scope(id ScopeID) ScopeID {
	for int(id) >= len(m.scopes) {
		m.scopes = append(m.scopes, make([]ScopeID, 1+len(m.from.scopes)-len(m.scopes))...)
	}
	if m.scopes[id] == 0 {
		s := m.from.scopes[id]
		to := Scope{Name: m.String(s.Name), Version: m.String(s.Version)}
		if m.Clean == nil { // nobody says of a scope's which are kept
			to.Attrs = m.value(s.Attrs)
		}
		m.scopes[id] = m.to.AddScope(to) + 1
	}
	return m.scopes[id] - 1
}

// AppendSpans adds some spans of o; m translates from o's tables into s's.
// Nothing of o is kept, so that o may be reset.
func (s *Store) AppendSpans(o *Store, refs []SpanRef, m *Moves) {
	for _, r := range refs {
		at := SpanRef(len(s.ids))
		s.traceIDs = append(s.traceIDs, o.traceIDs[r])
		s.ids = append(s.ids, o.ids[r])
		s.parents = append(s.parents, o.parents[r])
		s.starts = append(s.starts, o.starts[r])
		s.ends = append(s.ends, o.ends[r])
		s.names = append(s.names, m.String(o.names[r]))
		s.resources = append(s.resources, m.resource(o.resources[r]))
		s.scopes = append(s.scopes, m.scope(o.scopes[r]))
		s.kinds = append(s.kinds, o.kinds[r])
		s.statuses = append(s.statuses, o.statuses[r])
		s.flags = append(s.flags, o.flags[r])
		s.attrs = m.attrs(s.attrs, o.Attrs(r))
		s.attrOffset = append(s.attrOffset, uint32(len(s.attrs)))
		if id, ok := o.statusMessages[r]; ok {
			s.statusMessages[at] = m.String(id)
		}
		if id, ok := o.traceStates[r]; ok {
			s.traceStates[at] = m.String(id)
		}
		if events, ok := o.events[r]; ok {
			moved := make([]Event, len(events))
			for i, e := range events {
				moved[i] = Event{Time: e.Time, Name: m.String(e.Name)}
				if len(e.Attrs) > 0 {
					moved[i].Attrs = m.attrs(nil, e.Attrs)
				}
			}
			s.events[at] = moved
		}
		if links, ok := o.links[r]; ok {
			s.links[at] = links
		}
		s.sparse += sparseBytes(s.statusMessages[at], s.traceStates[at], s.events[at], s.links[at])
		if text, ok := o.traceIDTexts[o.traceIDs[r]]; ok {
			s.traceIDTexts[o.traceIDs[r]] = text
		}
		for _, id := range [2]SpanID{o.ids[r], o.parents[r]} {
			if text, ok := o.spanIDTexts[id]; ok {
				s.spanIDTexts[id] = text
			}
		}
	}
}

// Fork returns the same spans for another goroutine to read. Each of them may
// name operations: what either gains of texts the other does not have. Nothing
// else may be added to them.
func (s *Store) Fork() *Store {
	f := *s
	t := *s.Tables
	t.strings = t.strings.fork()
	f.Tables = &t
	return &f
}

// Bytes is about how much memory the spans of s hold, without the tables: the
// length of the columns, and what the sparse ones cost.
func (s *Store) Bytes() int64 {
	const columns = 16 + 8 + 8 + 8 + 8 + 4 + 4 + 4 + 1 + 1 + 1 + 4
	return int64(len(s.ids)*columns + len(s.attrs)*attrSize + s.sparse + len(s.traceIDTexts)*sparseSize + len(s.spanIDTexts)*sparseSize)
}

// Bytes is about how much memory the strings, resources and scopes of t hold.
func (t *Tables) Bytes() int64 {
	n := int64(t.strings.len())*(8+16+12) + t.strings.size // place, slots, and the entry around the text
	return n + int64(len(t.resources))*512 + int64(len(t.scopes))*96
}

// Raw makes r what a decoder would have made of a span of s, whose tables m
// translates from; r's resource and scope are those of the other tables. The
// texts of r must not be changed.
func (m *Moves) Raw(r *RawSpan, s *Store, ref SpanRef) {
	r.Reset()
	v := s.Interval(ref)
	r.TraceID, r.ID, r.ParentID, r.Start, r.End = s.TraceID(ref), s.ID(ref), s.ParentID(ref), v.Start, v.End
	r.Kind, r.Status, r.Flags = s.Kind(ref), s.Status(ref), s.SpanFlags(ref)
	r.Name, r.StatusMessage, r.TraceState = text(s.String(s.Name(ref))), text(s.String(s.StatusMessage(ref))), text(s.String(s.TraceState(ref)))
	r.Resource, r.Scope = m.resource(s.ResourceOf(ref)), m.scope(s.ScopeOf(ref))
	if m.Clean != nil {
		r.Name = m.Clean.Name(r.Name)
	}
	r.Attrs = m.raw(r.Attrs, s, s.Attrs(ref))
	for _, e := range s.Events(ref) {
		raw := RawEvent{Time: e.Time, Name: text(s.String(e.Name))}
		raw.Attrs = m.raw(nil, s, e.Attrs)
		r.Events = append(r.Events, raw)
	}
	for _, l := range s.Links(ref) {
		r.Links = append(r.Links, RawLink(l))
	}
}

func (m *Moves) raw(to []RawAttr, s *Store, attrs []Attr) []RawAttr {
	for _, a := range attrs {
		raw, ok := RawAttr{text(s.String(a.Key)), s.Raw(a.Value)}, true
		if m.Clean != nil {
			raw, ok = m.Clean.Attr(raw, OfSpan)
		}
		if ok {
			to = append(to, raw)
		}
	}
	return to
}

// text is the bytes of a string, which are only read.
func text(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
