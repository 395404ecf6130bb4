package ingest

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/tailscope/tailscope/trace"
)

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
