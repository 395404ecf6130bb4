package ingest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tailscope/tailscope/trace"
)

// A protoDecoder reads OTLP protobuf requests into a sink: this file spans,
// metricproto.go metrics. Fields come in any order; what a part of a message
// shares (its resource, its scope) is looked up before its items are read,
// which costs one step per list of items.
type protoDecoder struct {
	wire
	sink *sink
}

// request reads data as one request, or a run of its top-level fields.
func (d *protoDecoder) request(k *sink) {
	d.sink, d.data, d.pos, d.err, d.badText = k, k.data, 0, nil, 0
	end := len(d.data)
	what := d.items(end)
	d.pos = 0
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		if num != 1 || typ != length {
			d.unknown("request", num, typ, end)
			continue
		}
		from, to := d.message(end)
		after := d.pos
		switch d.pos = from; what {
		case metricItems:
			d.resource(to, "resourceMetrics", d.scopeMetrics)
		case logItems:
			d.resource(to, "resourceLogs", d.scopeLogs)
		default: // spans, or nothing that tells
			d.resource(to, "resourceSpans", d.scopeSpans)
		}
		d.pos = after
	}
	if d.err == nil {
		k.documents++
	}
	k.defectTexts(d.badText)
	d.badText = 0
}

func (d *protoDecoder) unknown(of string, num, typ, end int) {
	d.sink.skipped(of, strconv.AppendInt(nil, int64(num), 10))
	d.skip(typ, end)
}

// wrongType fails for a known field of another type.
func (d *protoDecoder) wrongType(of string, num, typ int) {
	d.fail(d.pos, false, "field %d of a %s has type %d on the wire", num, of, typ)
}

// The items of a request. Requests of spans, metrics and logs have the same
// outer structure, and nothing on the wire says which one it is.
type itemKind uint8

const (
	noItems itemKind = iota
	spanItems
	metricItems
	logItems
)

// items finds the first item of a request that tells what it is.
func (d *protoDecoder) items(end int) itemKind {
	what := noItems
	d.lists(end, 1, func(end int) bool {
		return d.lists(end, 2, func(end int) bool {
			return d.lists(end, 2, func(end int) bool {
				what = d.item(end)
				return what == noItems
			})
		})
	})
	return what
}

// lists calls f for each message in a field of a message, until f returns false.
func (d *protoDecoder) lists(end, field int, f func(end int) bool) bool {
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		if typ != length || num != field && !(field == 2 && num == 1000) {
			d.skip(typ, end)
			continue
		}
		from, to := d.message(end)
		after := d.pos
		d.pos = from
		if d.err != nil || !f(to) {
			return false
		}
		d.pos = after
	}
	return d.err == nil
}

// item tells a span, a metric and a log record apart by the types of their
// fields: a span has a kind (6, a number) and times at 7 and 8; a log record has
// times at 1 and 11, a severity (2, a number) and flags at 8; the direct fields
// of a metric are all texts and messages, and none is 6. A span of which nothing
// but texts was recorded has an identifier at 1 that is no name.
func (d *protoDecoder) item(end int) itemKind {
	what := noItems
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		from := d.pos
		d.skip(typ, end)
		switch {
		case typ == fixed64 && (num == 7 || num == 8), typ == varint && num == 6, typ == fixed32 && num == 16:
			return spanItems
		case typ == fixed64 && (num == 1 || num == 11), typ == varint && num == 2, typ == fixed32 && num == 8, typ == length && num == 6:
			return logItems
		case typ == length && num == 1 && d.pos-from == 17 && !printable(d.data[from+1:d.pos]):
			return spanItems
		case typ == length && (num == 5 || num == 7 || num == 9 || num == 10 || num == 11):
			what = metricItems
		}
	}
	if d.err != nil {
		d.err = nil // met again when the item is read
		return noItems
	}
	return what
}

func printable(b []byte) bool {
	for _, r := range string(b) {
		if r < ' ' || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// resource reads the element of a list by resource; scopes reads the messages
// by scope in it.
func (d *protoDecoder) resource(end int, name string, scopes func(end int, resource trace.ResourceID)) {
	var resource trace.ResourceID
	var schema trace.StringID
	first := d.sink.spans.Len()
	d.sink.dropped = 0
	start := d.pos
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		if num != 1 {
			d.skip(typ, end)
			continue
		}
		if typ != length {
			d.wrongType(name, num, typ)
			return
		}
		from, to := d.message(end)
		d.pos = from
		resource = d.resourceAttrs(to)
		break
	}
	d.pos = start
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case (num == 2 || num == 1000) && typ == length:
			from, to := d.message(end)
			after := d.pos
			d.pos = from
			scopes(to, resource)
			d.pos = after
		case num == 3 && typ == length && d.sink.keepAll:
			schema = d.sink.spans.Intern(d.text(end))
		case num == 1 || num == 3:
			d.skip(typ, end)
		case num == 2:
			d.wrongType(name, num, typ)
		default:
			d.unknown(name, num, typ, end)
		}
	}
	if dropped := d.sink.dropped; schema != 0 || dropped != 0 {
		d.sink.lists(first, func(s *trace.Scope) { s.ResourceSchemaURL, s.ResourceDropped = schema, dropped })
	}
}

func (d *protoDecoder) resourceAttrs(end int) trace.ResourceID {
	k := d.sink
	k.attrs, k.canon = k.attrs[:0], k.canon[:0]
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == length:
			k.attrs = d.attribute(k.attrs, 0, end)
		case num == 2:
			d.count(&k.dropped, typ, end)
		default:
			d.unknown("resource", num, typ, end)
		}
	}
	if d.err != nil {
		return 0
	}
	return k.spans.AddResource(k.attrs)
}

// scopeMessage reads a scope.
func (d *protoDecoder) scopeMessage(end int) (id trace.ScopeID) {
	k := d.sink
	k.attrs, k.canon = k.attrs[:0], k.canon[:0]
	var s trace.Scope
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == length:
			s.Name = k.spans.Intern(k.text(d.text(end)))
		case num == 2 && typ == length:
			s.Version = k.spans.Intern(k.text(d.text(end)))
		case num == 3 && typ == length:
			k.attrs = d.attribute(k.attrs, 0, end)
		case num == 4:
			d.count(&k.scopeLoss, typ, end)
		default:
			d.unknown("scope", num, typ, end)
		}
	}
	if d.err == nil {
		id = k.scope(s)
	}
	return id
}

// scopeSpans reads the spans of one scope, which may come behind them.
func (d *protoDecoder) scopeSpans(end int, resource trace.ResourceID) {
	first := trace.SpanRef(d.sink.spans.Len())
	var scope trace.ScopeID
	var schema trace.StringID
	d.sink.scopeLoss = 0
	named := false
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 2 && typ == length:
			from, to := d.message(end)
			d.pos = from
			d.span(to, resource, scope)
			d.pos = to
		case num == 1 && typ == length && !named:
			from, to := d.message(end)
			d.pos = from
			scope, named = d.scopeMessage(to), true
			d.pos = to
			d.sink.spans.SetScope(first, scope)
		case num == 3 && typ == length && d.sink.keepAll:
			schema = d.sink.spans.Intern(d.text(end))
		case num == 1 || num == 3:
			d.skip(typ, end)
		case num == 2:
			d.wrongType("scopeSpans", num, typ)
		default:
			d.unknown("scopeSpans", num, typ, end)
		}
	}
	if dropped := d.sink.scopeLoss; schema != 0 || dropped != 0 {
		d.sink.lists(int(first), func(s *trace.Scope) { s.SchemaURL, s.Dropped = schema, dropped })
	}
}

func (d *protoDecoder) scopeLogs(end int, _ trace.ResourceID) {
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		if num == 2 && typ == length {
			d.sink.logs++
		}
		d.skip(typ, end)
	}
}

// span reads one span: its fields as nearly all writers write them one way, and
// all others another.
func (d *protoDecoder) span(end int, resource trace.ResourceID, scope trace.ScopeID) {
	at := d.pos
	d.arena = d.arena[:0]
	k := d.sink
	s := k.beginSpan()
	s.Resource, s.Scope = resource, scope
	var kind trace.DefectKind
	var wrong string
	for {
		d.usualFields(s, end)
		num, typ, ok := d.field(end)
		if !ok {
			break
		}
		switch num {
		case 1, 2, 3, 4, 5, 9, 11, 13, 15:
			if typ != length {
				d.wrongType("span", num, typ)
				return
			}
		case 7, 8:
			if typ != fixed64 {
				d.wrongType("span", num, typ)
				return
			}
		case 6:
			if typ != varint {
				d.wrongType("span", num, typ)
				return
			}
		}
		switch num {
		case 1:
			if s.TraceID, ok = binaryTraceID(d.bytes(end)); !ok {
				kind, wrong = trace.BadID, "the span's trace id has more than 16 bytes"
			}
		case 2:
			if s.ID, ok = binarySpanID(d.bytes(end)); !ok {
				kind, wrong = trace.BadID, "the span's id has more than 8 bytes"
			}
		case 3:
			s.TraceState = d.text(end)
		case 4:
			if s.ParentID, ok = binarySpanID(d.bytes(end)); !ok {
				kind, wrong = trace.BadID, "the id of the span's parent has more than 8 bytes"
			}
		case 5:
			s.Name, s.NameID = d.text(end), 0
		case 6:
			v := d.uvarint(end)
			if v > uint64(trace.KindConsumer) {
				k.fail(at, trace.BadValue, "the span kind "+strconv.FormatUint(v, 10)+" is unknown; unspecified is assumed")
				v = 0
			}
			s.Kind = trace.Kind(v)
		case 7:
			s.Start, ok = protoTime(d.uint64(end))
			if !ok {
				kind, wrong = trace.BadTime, "the span's start time is behind 2^63-1 nanoseconds"
			}
		case 8:
			s.End, ok = protoTime(d.uint64(end))
			if !ok {
				kind, wrong = trace.BadTime, "the span's end time is behind 2^63-1 nanoseconds"
			}
		case 9:
			d.spanAttribute(s, end)
		case 11:
			from, to := d.message(end)
			d.pos = from
			d.event(to)
			d.pos = to
		case 13:
			from, to := d.message(end)
			d.pos = from
			d.link(to)
			d.pos = to
		case 15:
			from, to := d.message(end)
			d.pos = from
			d.status(to, s)
			d.pos = to
		case 10:
			d.count(&k.more.DroppedAttributes, typ, end)
		case 12:
			d.count(&k.more.DroppedEvents, typ, end)
		case 14:
			d.count(&k.more.DroppedLinks, typ, end)
		case 16:
			d.count(&k.more.Flags, typ, end)
		default:
			d.unknown("span", num, typ, end)
		}
	}
	if d.err != nil {
		return
	}
	if wrong != "" {
		k.reject(at, kind, wrong)
		return
	}
	k.marks()
	k.endSpan(at)
}

// usualFields reads fields of a span as nearly all writers write them: with tags,
// lengths and small numbers of one byte, identifiers of full length, and texts
// that were met before or are in order. It stops in front of the first field that
// is any other, having judged nothing of it.
func (d *protoDecoder) usualFields(s *trace.RawSpan, end int) {
	k := d.sink
	b := d.data[:end]
	pos := d.pos
	texts := k.limits.Text >= 0x80
	for pos < len(b)-1 && d.err == nil {
		f := b[pos:]
		n := int(f[1])
		switch f[0] {
		case 1<<3 | length:
			if n != 16 || len(f) < 2+16 {
				d.pos = pos
				return
			}
			s.TraceID = trace.TraceID(f[2:])
			pos += 2 + 16
			continue
		case 2<<3 | length:
			if n == 8 && len(f) >= 2+8 {
				s.ID = trace.SpanID(binary.BigEndian.Uint64(f[2:]))
				pos += 2 + 8
				continue
			}
		case 4<<3 | length:
			if n == 8 && len(f) >= 2+8 {
				s.ParentID = trace.SpanID(binary.BigEndian.Uint64(f[2:]))
				pos += 2 + 8
				continue
			}
		case 5<<3 | length:
			if n < 0x80 && len(f) >= 2+n && texts {
				raw := f[2 : 2+n]
				if id, ok := k.pairs.name(raw); ok {
					s.NameID = id
					pos += 2 + n
					continue
				}
				if utf8.Valid(raw) {
					s.Name, s.NameID = raw, 0
					pos += 2 + n
					continue
				}
			}
		case 6<<3 | varint:
			if n <= int(trace.KindConsumer) {
				s.Kind = trace.Kind(n)
				pos += 2
				continue
			}
		case 7<<3 | fixed64:
			if len(f) >= 1+8 {
				if v := binary.LittleEndian.Uint64(f[1:]); v-1 < math.MaxInt64 {
					s.Start = trace.Time(v)
					pos += 1 + 8
					continue
				}
			}
		case 8<<3 | fixed64:
			if len(f) >= 1+8 {
				if v := binary.LittleEndian.Uint64(f[1:]); v-1 < math.MaxInt64 {
					s.End = trace.Time(v)
					pos += 1 + 8
					continue
				}
			}
		case 9<<3 | length:
			if n < 0x80 && len(f) >= 2+n && texts && len(s.Known) < k.limits.Attributes {
				raw := f[2 : 2+n]
				a, hash := k.pairs.known(raw)
				if a.Key != 0 {
					s.Known = append(s.Known, a)
					pos += 2 + n
					continue
				}
				if k.usual(s, raw, hash) {
					pos += 2 + n
					continue
				}
			}
		case 15<<3 | length:
			if n == 0 {
				pos += 2
				continue
			}
			if n == 2 && len(f) >= 2+2 && f[2] == 3<<3|varint && f[3] <= byte(trace.StatusError) {
				s.Status = trace.Status(f[3])
				pos += 2 + 2
				continue
			}
		case 16<<3&0x7f | fixed32 | 0x80:
			if n == 16>>4 && len(f) >= 2+4 && !k.keepAll {
				pos += 2 + 4
				continue
			}
		}
		break
	}
	d.pos = pos
}

// protoTime reads nanoseconds; zero is a time that was not recorded.
func protoTime(v uint64) (trace.Time, bool) {
	if v == 0 || v > math.MaxInt64 {
		return trace.NoTime, v == 0
	}
	return trace.Time(v), true
}

// binaryTraceID reads an identifier of 16 bytes, of 8 as some libraries write it,
// or of hexadecimal text. Shorter ones are padded on the left.
func binaryTraceID(b []byte) (trace.TraceID, bool) {
	if len(b) == 16 {
		return trace.TraceID(b), true
	}
	if len(b) > 16 {
		return trace.ParseTraceID(b)
	}
	var id trace.TraceID
	copy(id[16-len(b):], b)
	return id, true
}

func binarySpanID(b []byte) (trace.SpanID, bool) {
	if len(b) == 8 {
		return trace.SpanID(binary.BigEndian.Uint64(b)), true
	}
	if len(b) > 8 {
		return trace.ParseSpanID(b)
	}
	var id trace.SpanID
	for _, c := range b {
		id = id<<8 | trace.SpanID(c)
	}
	return id, true
}

// count reads a count or flags, which only a conversion keeps.
func (d *protoDecoder) count(to *uint32, typ, end int) {
	switch {
	case typ == varint && d.sink.keepAll:
		*to = uint32(d.uvarint(end))
	case typ == fixed32 && d.sink.keepAll && end-d.pos >= 4:
		*to = binary.LittleEndian.Uint32(d.data[d.pos:])
		d.pos += 4
	default:
		d.skip(typ, end)
	}
}

func (d *protoDecoder) status(end int, s *trace.RawSpan) {
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 2 && typ == length:
			s.StatusMessage = d.text(end)
		case num == 3 && typ == varint:
			v := d.uvarint(end)
			if v > uint64(trace.StatusError) {
				d.sink.fail(d.pos, trace.BadValue, "the status code "+strconv.FormatUint(v, 10)+" is unknown; unset is assumed")
				v = 0
			}
			s.Status = trace.Status(v)
		case num == 1:
			d.skip(typ, end)
		default:
			d.unknown("status", num, typ, end)
		}
	}
}

func (d *protoDecoder) event(end int) {
	k := d.sink
	at := d.pos
	e := trace.RawEvent{Time: trace.NoTime}
	from := len(k.nested)
	var dropped uint32
	good := true
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == fixed64:
			e.Time, good = protoTime(d.uint64(end))
		case num == 2 && typ == length:
			e.Name = d.text(end)
		case num == 3 && typ == length:
			k.nested = d.attribute(k.nested, from, end)
		case num == 4:
			d.count(&dropped, typ, end)
		default:
			d.unknown("event", num, typ, end)
		}
	}
	if !good {
		k.fail(at, trace.BadValue, "the event's time is behind 2^63-1 nanoseconds; the event was left out")
		k.nested = k.nested[:from]
		return
	}
	k.event(e, from, dropped)
}

func (d *protoDecoder) link(end int) {
	k := d.sink
	at := d.pos
	var l trace.RawLink
	var more trace.RawLinkMore
	from := len(k.nested)
	good := true
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == length:
			l.TraceID, ok = binaryTraceID(d.bytes(end))
			good = good && ok
		case num == 2 && typ == length:
			l.ID, ok = binarySpanID(d.bytes(end))
			good = good && ok
		case num == 4 && typ == length:
			k.nested = d.attribute(k.nested, from, end)
		case num == 3 && typ == length && k.keepAll:
			more.TraceState = d.text(end)
		case num == 3:
			d.skip(typ, end)
		case num == 5:
			d.count(&more.Dropped, typ, end)
		case num == 6:
			d.count(&more.Flags, typ, end)
		default:
			d.unknown("link", num, typ, end)
		}
	}
	if !good {
		k.fail(at, trace.BadID, "a link's identifier is too long; the link was left out")
		k.nested = k.nested[:from]
		return
	}
	k.linkWith(l, from, more)
}

// spanAttribute reads an attribute of a span, which may be known from earlier
// spans.
func (d *protoDecoder) spanAttribute(s *trace.RawSpan, end int) {
	at, stop := d.message(end)
	k := d.sink
	if raw := d.data[at:stop]; len(raw) <= min(maxPair, k.limits.Text) && len(s.Known) < k.limits.Attributes {
		a, hash := k.pairs.known(raw)
		if a.Key != 0 {
			s.Known = append(s.Known, a)
			return
		}
		if k.usual(s, raw, hash) {
			return
		}
	}
	n := len(s.Attrs)
	s.Attrs = d.anyAttribute(s.Attrs, n-len(s.Known), at, stop)
	if len(s.Attrs) > n {
		s.Known = append(s.Known, trace.Attr{})
	}
}

// usual adds an attribute of the span that is written as nearly all are.
func (k *sink) usual(s *trace.RawSpan, raw []byte, hash uint64) bool {
	n := len(s.Attrs)
	s.Attrs = append(s.Attrs, trace.RawAttr{})
	if !usual(&s.Attrs[n], raw) {
		s.Attrs = s.Attrs[:n]
		return false
	}
	if a := &s.Attrs[n]; len(a.Key) != len(sharedHalf) || string(a.Key) != sharedHalf { // see marks
		k.pairs.miss(raw, hash, len(s.Known))
	}
	s.Known = append(s.Known, trace.Attr{})
	return true
}

// attribute reads a key-value pair into a list that begins at from.
func (d *protoDecoder) attribute(to []trace.RawAttr, from, end int) []trace.RawAttr {
	at, stop := d.message(end)
	return d.anyAttribute(to, from, at, stop)
}

func (d *protoDecoder) anyAttribute(to []trace.RawAttr, from, at, stop int) []trace.RawAttr {
	d.pos = at
	key, v := d.keyValue(stop, 0)
	d.pos = stop
	if d.err != nil {
		return to
	}
	return d.sink.add(to, from, key, v)
}

// usual reads a pair as nearly all writers write it: the key, and a text, an
// integer, a double or a boolean, and nothing else; the Collector writes the
// value first. It reports false, having judged nothing, if the pair is any other.
func usual(a *trace.RawAttr, b []byte) bool {
	if len(b) < 4 || b[1] >= 0x80 || len(b) < 4+int(b[1]) {
		return false
	}
	first := int(b[0])
	key, v := b[2:2+b[1]], b[2+b[1]:]
	if int(v[1]) != len(v)-2 || v[1] >= 0x80 {
		return false
	}
	second := int(v[0])
	v = v[2:]
	if first == 2<<3|length {
		first, second = second, first
		key, v = v, key
	}
	if first != 1<<3|length || second != 2<<3|length || len(v) < 2 || !utf8.Valid(key) {
		return false
	}
	a.Key = key
	switch v[0] {
	case 1<<3 | length: // shorter than 128 bytes, as v is
		if int(v[1]) != len(v)-2 || !utf8.Valid(v[2:]) {
			return false
		}
		a.Value.Type, a.Value.Bytes = trace.String, v[2:]
	case 2<<3 | varint:
		if len(v) != 2 || v[1] > 1 {
			return false
		}
		a.Value.Type, a.Value.Int = trace.Bool, int64(v[1])
	case 3<<3 | varint:
		x, size := binary.Uvarint(v[1:])
		if size != len(v)-1 {
			return false
		}
		a.Value.Type, a.Value.Int = trace.Int, int64(x)
	case 4<<3 | fixed64:
		if len(v) != 9 {
			return false
		}
		a.Value.Type, a.Value.Double = trace.Double, math.Float64frombits(binary.LittleEndian.Uint64(v[1:]))
	default:
		return false
	}
	return true
}

func (d *protoDecoder) keyValue(end, depth int) (key []byte, v trace.RawValue) {
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == length:
			key = d.text(end)
		case num == 2 && typ == length:
			from, to := d.message(end)
			d.pos = from
			v = d.anyValue(to, depth)
			d.pos = to
		default:
			d.unknown("attribute", num, typ, end)
		}
	}
	return key, v
}

func (d *protoDecoder) anyValue(end, depth int) (v trace.RawValue) {
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == length:
			v = trace.RawValue{Type: trace.String, Bytes: d.text(end)}
		case num == 2 && typ == varint:
			v = boolValue(d.uvarint(end) != 0)
		case num == 3 && typ == varint:
			v = trace.RawValue{Type: trace.Int, Int: int64(d.uvarint(end))}
		case num == 4 && typ == fixed64:
			v = trace.RawValue{Type: trace.Double, Double: d.float64(end)}
		case num == 5 && typ == length, num == 6 && typ == length:
			from, to := d.message(end)
			d.pos = from
			v = d.list(to, num == 6, depth+1)
			d.pos = to
		case num == 7 && typ == length:
			v = trace.RawValue{Type: trace.Bytes, Bytes: d.bytes(end)}
		case num <= 7:
			d.wrongType("value", num, typ)
		default:
			d.unknown("value", num, typ, end)
		}
	}
	return v
}

// list reads an array or a key-value list as OTLP JSON, as jsonDecoder does.
func (d *protoDecoder) list(end int, pairs bool, depth int) trace.RawValue {
	k := d.sink
	if depth > k.limits.Depth {
		d.fail(d.pos, false, "nesting deeper than %d", k.limits.Depth)
		return trace.RawValue{}
	}
	from := len(k.canon)
	if pairs {
		k.canon = append(k.canon, `{"kvlistValue":{"values":[`...)
	} else {
		k.canon = append(k.canon, `{"arrayValue":{"values":[`...)
	}
	n := 0
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		if num != 1 || typ != length {
			d.unknown("list", num, typ, end)
			continue
		}
		at, stop := d.message(end)
		d.pos = at
		mark := len(k.canon)
		var key []byte
		var v trace.RawValue
		if pairs {
			key, v = d.keyValue(stop, depth)
		} else {
			v = d.anyValue(stop, depth)
		}
		d.pos = stop
		v = k.unwrite(mark, v)
		k.canon = append(k.canon, comma(n)...)
		if pairs {
			k.canon = appendPair(k.canon, key, v)
		} else {
			k.canon = appendValue(k.canon, v)
		}
		n++
	}
	k.canon = append(k.canon, "]}}"...)
	return trace.RawValue{Type: trace.JSON, Bytes: k.canon[from:len(k.canon):len(k.canon)]}
}

// defectTexts counts texts that were repaired.
func (k *sink) defectTexts(n int64) {
	if n > 0 {
		k.defects.AddN(trace.BadText, n, "")
	}
}

// decodeFrames reads the messages of a chunk. If careful, each is first read
// into a trial sink, and into k only if it is sound; otherwise the first damaged
// message ends the reading, and decodeFrames reports false.
func decodeFrames(k *sink, p *protoDecoder, j *jsonDecoder, c *chunk, careful bool, trial func() *sink) bool {
	for _, f := range c.frames {
		k.data = c.data[f.from:f.to]
		k.offset, k.frameAt = f.offset, -1
		if f.packed {
			k.frameAt = f.offset
		}
		if c.format == otlpFrames && len(k.data) > 0 && (k.data[0] == '{' || k.data[0] == '[') {
			if !decodeJSON(k, j, careful, trial) {
				return false
			}
			continue
		}
		if careful {
			t := trial()
			p.request(t)
			if p.err != nil {
				kind := trace.BadSyntax
				if p.err.cut {
					kind = trace.CutOff
				}
				k.reject(p.err.at, kind, fmt.Sprintf("the message is damaged: %s", p.err.message))
				continue
			}
		}
		k.formats |= c.format
		p.request(k)
		if p.err != nil {
			return false
		}
	}
	return true
}
