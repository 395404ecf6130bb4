package ingest

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tailscope/tailscope/trace"
)

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
