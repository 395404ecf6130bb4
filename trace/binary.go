package trace

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"unsafe"
)

// A Packer writes spans of stores as bytes that hold all that the store keeps of
// them, their texts and resources too, so that they can be read into any other
// store. It keeps its scratch memory between calls.
type Packer struct {
	// Plain leaves out what only its spans' owner should read; nil: nothing is.
	Plain *Plain

	strings   codes
	resources codes
	scopes    codes
	body      []byte
}

// Plain says what is written of the free text of spans. Trace states are left
// out.
type Plain struct {
	Message func(text string) string // what is written of a status message
	Event   func(name string) bool   // whether an event's name is written; one without name and attributes is not
}

// events is what is written of a span's events.
func (p *Plain) events(s *Store, events []Event) []Event {
	if p == nil {
		return events
	}
	var kept []Event
	for _, e := range events {
		if !p.Event(s.String(e.Name)) {
			e.Name = 0
		}
		if e.Name != 0 || len(e.Attrs) > 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

// codes numbers ids as they are met.
type codes struct {
	code []uint32 // by id: the number + 1; zero: not met
	ids  []uint32 // by number
}

func (c *codes) of(id uint32) uint64 {
	for int(id) >= len(c.code) {
		c.code = append(c.code, make([]uint32, max(1024, int(id)+1-len(c.code)))...)
	}
	if c.code[id] == 0 {
		c.ids = append(c.ids, id)
		c.code[id] = uint32(len(c.ids))
	}
	return uint64(c.code[id] - 1)
}

func (c *codes) reset() {
	for _, id := range c.ids {
		c.code[id] = 0
	}
	c.ids = c.ids[:0]
}

// What a packed span has beside its columns, in bits.
const (
	packedSameTrace = 1 << iota
	packedMessage
	packedState
	packedEvents
	packedLinks
)

// Append appends the spans refs of s to to.
//
// The form is: texts, resources, scopes, texts of identifiers, then the spans,
// each list with its length before it. Spans refer to texts, resources and
// scopes by their place in these lists. Numbers are varints.
func (p *Packer) Append(to []byte, s *Store, refs []SpanRef) []byte {
	p.strings.reset()
	p.resources.reset()
	p.scopes.reset()
	b := p.body[:0]
	uint := func(v uint64) { b = binary.AppendUvarint(b, v) }
	text := func(id StringID) { uint(p.strings.of(uint32(id))) }
	attrs := func(list []Attr) {
		uint(uint64(len(list)))
		for _, a := range list {
			text(a.Key)
			b = append(b, byte(a.Value.Type()))
			text(a.Value.text())
		}
	}

	var traceTexts []TraceID
	var spanTexts []SpanID
	var lastTrace TraceID
	var lastStart Time
	named := func(id SpanID) {
		if _, ok := s.spanIDTexts[id]; ok {
			spanTexts = append(spanTexts, id)
		}
	}
	tracked := len(s.traceIDTexts)+len(s.spanIDTexts) > 0
	for i, r := range refs {
		flags := byte(0)
		if i > 0 && s.traceIDs[r] == lastTrace {
			flags |= packedSameTrace
		}
		message, state, events, links := s.statusMessages[r], s.traceStates[r], p.Plain.events(s, s.events[r]), s.links[r]
		if p.Plain != nil {
			message, state = s.InternString(p.Plain.Message(s.String(message))), 0
		}
		if message != 0 {
			flags |= packedMessage
		}
		if state != 0 {
			flags |= packedState
		}
		if len(events) > 0 {
			flags |= packedEvents
		}
		if len(links) > 0 {
			flags |= packedLinks
		}
		b = append(b, flags, byte(s.kinds[r])<<4|byte(s.statuses[r]), byte(s.flags[r]))
		if flags&packedSameTrace == 0 {
			lastTrace = s.traceIDs[r]
			b = append(b, lastTrace[:]...)
			if _, ok := s.traceIDTexts[lastTrace]; ok {
				traceTexts = append(traceTexts, lastTrace)
			}
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(s.ids[r]))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.parents[r]))
		b = binary.AppendVarint(b, int64(s.starts[r]-lastStart))
		b = binary.AppendVarint(b, int64(s.ends[r]-s.starts[r]))
		lastStart = s.starts[r]
		if tracked {
			named(s.ids[r])
			named(s.parents[r])
		}
		text(s.names[r])
		uint(p.resources.of(uint32(s.resources[r])))
		uint(p.scopes.of(uint32(s.scopes[r])))
		attrs(s.Attrs(r))
		if message != 0 {
			text(message)
		}
		if state != 0 {
			text(state)
		}
		if len(events) > 0 {
			uint(uint64(len(events)))
			for _, e := range events {
				b = binary.AppendVarint(b, int64(e.Time))
				text(e.Name)
				attrs(e.Attrs)
			}
		}
		if len(links) > 0 {
			uint(uint64(len(links)))
			for _, l := range links {
				b = append(b, l.TraceID[:]...)
				b = binary.LittleEndian.AppendUint64(b, uint64(l.ID))
				if tracked {
					named(l.ID)
					if _, ok := s.traceIDTexts[l.TraceID]; ok {
						traceTexts = append(traceTexts, l.TraceID)
					}
				}
			}
		}
	}
	spans := b

	// The lists that the spans refer to. Resources and scopes name further texts,
	// so the texts come last into being and first into the bytes.
	p.body = b
	b = b[len(b):]
	uint(uint64(len(p.resources.ids)))
	for _, id := range p.resources.ids {
		attrs(s.Resource(ResourceID(id)).Attrs)
	}
	uint(uint64(len(p.scopes.ids)))
	for _, id := range p.scopes.ids {
		c := s.Scope(ScopeID(id))
		text(c.Name)
		text(c.Version)
		b = append(b, byte(c.Attrs.Type()))
		text(c.Attrs.text())
	}
	lists := b

	b = to
	uint(uint64(len(p.strings.ids)))
	for _, id := range p.strings.ids {
		t := s.String(StringID(id))
		uint(uint64(len(t)))
		b = append(b, t...)
	}
	b = append(b, lists...)
	slices.SortFunc(traceTexts, TraceID.Compare)
	traceTexts = slices.Compact(traceTexts)
	uint(uint64(len(traceTexts)))
	for _, id := range traceTexts {
		t := s.traceIDTexts[id]
		b = append(b, id[:]...)
		uint(uint64(len(t)))
		b = append(b, t...)
	}
	slices.Sort(spanTexts)
	spanTexts = slices.Compact(spanTexts)
	uint(uint64(len(spanTexts)))
	for _, id := range spanTexts {
		t := s.spanIDTexts[id]
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
		uint(uint64(len(t)))
		b = append(b, t...)
	}
	uint(uint64(len(refs)))
	return append(b, spans...)
}

// PackedBytes is what a Packer may write of spans at most: it counts texts as
// often as they are met.
func (s *Store) PackedBytes(refs []SpanRef) int64 {
	n := int64(0)
	text := func(id StringID) { n += int64(4 + len(s.String(id))) }
	attrs := func(list []Attr) {
		n += 4
		for _, a := range list {
			text(a.Key)
			text(a.Value.text())
		}
	}
	resource, scope := ResourceID(math.MaxUint32), ScopeID(math.MaxUint32)
	for _, r := range refs {
		n += 64
		text(s.names[r])
		attrs(s.Attrs(r))
		if s.resources[r] != resource {
			resource = s.resources[r]
			attrs(s.Resource(resource).Attrs)
		}
		if s.scopes[r] != scope {
			scope = s.scopes[r]
			c := s.Scope(scope)
			text(c.Name)
			text(c.Version)
			text(c.Attrs.text())
		}
		if len(s.statusMessages)+len(s.traceStates) > 0 {
			text(s.statusMessages[r])
			text(s.traceStates[r])
		}
		if len(s.events) > 0 {
			for _, e := range s.events[r] {
				n += 10
				text(e.Name)
				attrs(e.Attrs)
			}
		}
		if len(s.links) > 0 {
			n += int64(24 * len(s.links[r]))
		}
	}
	return n
}

// ErrPacked is what AddPacked returns for bytes that no Packer wrote.
var ErrPacked = errors.New("trace: packed spans are damaged")

// AddPacked adds the spans that a Packer wrote, in their order.
func (s *Store) AddPacked(data []byte) error {
	d := unpacker{data: data}
	strings := make([]StringID, d.length(1))
	for i := range strings {
		strings[i] = s.Intern(d.take(d.length(1)))
	}
	text := func() StringID {
		i := d.uint()
		if i >= uint64(len(strings)) {
			d.bad = true
			return 0
		}
		return strings[i]
	}
	attrs := func(to []Attr) []Attr {
		for n := d.length(3); n > 0 && !d.bad; n-- {
			key, typ := text(), d.byte()
			if typ > byte(JSON) {
				d.bad = true
			}
			value := text()
			to = append(to, Attr{key, MakeValue(ValueType(typ), value)})
		}
		return to
	}
	var scratch []Attr
	resources := make([]ResourceID, d.length(1))
	for i := range resources {
		scratch = attrs(scratch[:0])
		if d.bad {
			return ErrPacked
		}
		resources[i] = s.addResource(scratch)
	}
	scopes := make([]ScopeID, d.length(4))
	for i := range scopes {
		name, version, typ := text(), text(), d.byte()
		if typ > byte(JSON) {
			d.bad = true
		}
		c := Scope{Name: name, Version: version, Attrs: MakeValue(ValueType(typ), text())}
		if d.bad {
			return ErrPacked
		}
		scopes[i] = s.AddScope(c)
	}
	for n := d.length(17); n > 0 && !d.bad; n-- {
		var id TraceID
		copy(id[:], d.take(16))
		s.traceIDTexts[id] = string(d.take(d.length(1)))
	}
	for n := d.length(9); n > 0 && !d.bad; n-- {
		id := SpanID(d.fixed())
		s.spanIDTexts[id] = string(d.take(d.length(1)))
	}

	var lastTrace TraceID
	var lastStart Time
	n := d.length(24)
	if len(s.ids)+n > cap(s.ids) {
		s.Grow(max(len(s.ids)/4, n), s)
	}
	for ; n > 0 && !d.bad; n-- {
		ref := SpanRef(len(s.ids))
		flags, kind, own := d.byte(), d.byte(), d.byte()
		if flags&packedSameTrace == 0 {
			copy(lastTrace[:], d.take(16))
		}
		id, parent := SpanID(d.fixed()), SpanID(d.fixed())
		lastStart += Time(d.int())
		end := lastStart + Time(d.int())
		name, resource, scope := text(), d.uint(), d.uint()
		if resource >= uint64(len(resources)) || scope >= uint64(len(scopes)) || Kind(kind>>4) > KindConsumer || Status(kind&15) > StatusError {
			d.bad = true
		}
		if d.bad {
			break
		}
		s.traceIDs = append(s.traceIDs, lastTrace)
		s.ids = append(s.ids, id)
		s.parents = append(s.parents, parent)
		s.starts = append(s.starts, lastStart)
		s.ends = append(s.ends, end)
		s.names = append(s.names, name)
		s.resources = append(s.resources, resources[resource])
		s.scopes = append(s.scopes, scopes[scope])
		s.kinds = append(s.kinds, Kind(kind>>4))
		s.statuses = append(s.statuses, Status(kind&15))
		s.flags = append(s.flags, Flags(own))
		s.attrs = attrs(s.attrs)
		s.attrOffset = append(s.attrOffset, uint32(len(s.attrs)))
		if flags&packedMessage != 0 {
			s.statusMessages[ref] = text()
		}
		if flags&packedState != 0 {
			s.traceStates[ref] = text()
		}
		if flags&packedEvents != 0 {
			var events []Event
			for k := d.length(3); k > 0 && !d.bad; k-- {
				e := Event{Time: Time(d.int()), Name: text()}
				e.Attrs = attrs(nil)
				events = append(events, e)
			}
			s.events[ref] = events
		}
		if flags&packedLinks != 0 {
			var links []Link
			for k := d.length(24); k > 0 && !d.bad; k-- {
				var l Link
				copy(l.TraceID[:], d.take(16))
				l.ID = SpanID(d.fixed())
				links = append(links, l)
			}
			s.links[ref] = links
		}
		if flags&^packedSameTrace != 0 {
			s.sparse += sparseBytes(s.statusMessages[ref], s.traceStates[ref], s.events[ref], s.links[ref])
		}
	}
	if d.bad || len(d.data) > 0 {
		return ErrPacked
	}
	return nil
}

// An unpacker reads what a Packer wrote. After something bad it gives zeros.
type unpacker struct {
	data []byte
	bad  bool
}

func (d *unpacker) uint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.bad, d.data = true, nil
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *unpacker) int() int64 {
	v, n := binary.Varint(d.data)
	if n <= 0 {
		d.bad, d.data = true, nil
		return 0
	}
	d.data = d.data[n:]
	return v
}

// length is the length of a list whose elements take at least size bytes each.
func (d *unpacker) length(size int) int {
	v := d.uint()
	if v > uint64(len(d.data)/size) {
		d.bad, d.data = true, nil
		return 0
	}
	return int(v)
}

func (d *unpacker) take(n int) []byte {
	if n > len(d.data) {
		d.bad, d.data = true, nil
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *unpacker) byte() byte {
	if b := d.take(1); len(b) > 0 {
		return b[0]
	}
	return 0
}

func (d *unpacker) fixed() uint64 {
	if b := d.take(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

const (
	attrSize   = int(unsafe.Sizeof(Attr{}))
	sparseSize = 64 // an entry of a map, and what it points to besides
)

// sparseBytes is about how much memory the sparse columns take of one span.
func sparseBytes(message, state StringID, events []Event, links []Link) int {
	n := 0
	if message != 0 {
		n += sparseSize
	}
	if state != 0 {
		n += sparseSize
	}
	if len(events) > 0 {
		n += sparseSize + len(events)*int(unsafe.Sizeof(Event{}))
		for i := range events {
			n += len(events[i].Attrs) * attrSize
		}
	}
	if len(links) > 0 {
		n += sparseSize + len(links)*int(unsafe.Sizeof(Link{}))
	}
	return n
}
