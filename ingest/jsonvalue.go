package ingest

import (
	"encoding/base64"

	"github.com/tailscope/tailscope/trace"
)

// This file reads attributes of OTLP JSON and their values in every dialect.

// attributes reads a list of key-value pairs, or a plain object.
func (d *jsonDecoder) attributes(to []trace.RawAttr) []trace.RawAttr {
	return d.attributesAfter(to, 0)
}

// attributesAfter is attributes of a list that begins at from.
func (d *jsonDecoder) attributesAfter(to []trace.RawAttr, from int) []trace.RawAttr {
	k := d.sink
	if d.peek() == '{' {
		if d.object() {
			for key, ok := d.field(); ok; key, ok = d.field() {
				to = k.add(to, from, key, d.value())
			}
		}
		return to
	}
	if d.array() {
		for d.element() {
			to = d.attribute(to, from)
		}
	}
	return to
}

// attribute is attributes of one element of a list.
func (d *jsonDecoder) attribute(to []trace.RawAttr, from int) []trace.RawAttr {
	at := d.pos
	if len(to)-from < d.sink.limits.Attributes {
		to = append(to, trace.RawAttr{})
		if d.usual(&to[len(to)-1]) != nil {
			return to
		}
		to = to[:len(to)-1]
	}
	if d.peek() != '{' {
		d.bad(at, "an attribute is not an object; it was left out")
		d.skip()
		return to
	}
	key, v, ok := d.keyValue()
	if d.err != nil {
		return to
	}
	if !ok {
		d.bad(at, "the value of attribute "+quoteText(key)+" cannot be read; it was left out")
		return to
	}
	return d.sink.add(to, from, key, v)
}

// keyValue reads a pair, its keys in any order.
func (d *jsonDecoder) keyValue() (key []byte, v trace.RawValue, ok bool) {
	ok = true
	if !d.object() {
		return nil, v, false
	}
	for name, more := d.field(); more; name, more = d.field() {
		switch string(name) {
		case "key", "Key":
			key = d.fieldText("attribute.key")
		case "value":
			v, ok = d.anyValue()
		case "Value":
			v, ok = d.anyValue()
		default:
			d.sink.skipped("attribute", name)
			d.skip()
		}
	}
	return key, v, ok
}

// value is anyValue; what cannot be read is empty.
func (d *jsonDecoder) value() trace.RawValue {
	d.peek()
	at := d.pos
	v, ok := d.anyValue()
	if !ok {
		d.bad(at, "an attribute's value cannot be read; it was left out")
	}
	return v
}

// anyValue reads an AnyValue, or a bare scalar in its place.
func (d *jsonDecoder) anyValue() (v trace.RawValue, ok bool) {
	switch d.peek() {
	case '"':
		return trace.RawValue{Type: trace.String, Bytes: d.str()}, true
	case 't', 'f':
		b, _ := d.scalar()
		return boolValue(len(b) == 4), true
	case 'n':
		d.literal("null")
		return v, true
	case '[':
		return d.plainArray()
	case '{':
	default:
		b := d.number()
		if n, ok := parseInt(b); ok {
			return trace.RawValue{Type: trace.Int, Int: n}, true
		}
		f, ok := parseFloat(b)
		return trace.RawValue{Type: trace.Double, Double: f}, ok
	}
	if !d.object() {
		return v, false
	}
	ok = true
	for key, more := d.field(); more; key, more = d.field() {
		switch string(key) {
		case "stringValue", "string_value", "StringValue":
			b, good := d.scalar()
			v, ok = trace.RawValue{Type: trace.String, Bytes: b}, good
		case "intValue", "int_value", "IntValue":
			b, good := d.scalar()
			n, exact := parseInt(b)
			v, ok = trace.RawValue{Type: trace.Int, Int: n}, good && exact
		case "doubleValue", "double_value", "DoubleValue":
			b, good := d.scalar()
			f, exact := parseFloat(b)
			v, ok = trace.RawValue{Type: trace.Double, Double: f}, good && exact
		case "boolValue", "bool_value", "BoolValue":
			b, good := d.scalar()
			v, ok = boolValue(string(b) == "true"), good && (string(b) == "true" || string(b) == "false")
		case "bytesValue", "bytes_value", "BytesValue":
			b, good := d.scalar()
			raw, err := appendBase64(d.arena, b)
			v, ok = trace.RawValue{Type: trace.Bytes, Bytes: raw[len(d.arena):]}, good && err == nil
			d.arena = raw
		case "arrayValue", "array_value", "ArrayValue":
			v, ok = d.arrayValue()
		case "kvlistValue", "kvlist_value", "KvlistValue":
			v, ok = d.kvlistValue()
		case "Value", "value":
			v, ok = d.anyValue()
		default:
			d.sink.skipped("value", key)
			d.skip()
		}
	}
	return v, ok
}

func boolValue(b bool) trace.RawValue {
	v := trace.RawValue{Type: trace.Bool}
	if b {
		v.Int = 1
	}
	return v
}

func appendBase64(to, b []byte) ([]byte, error) {
	out, err := base64.StdEncoding.AppendDecode(to, b)
	if err != nil {
		return base64.RawURLEncoding.AppendDecode(to, b)
	}
	return out, nil
}

// The values of arrays and lists are kept as their OTLP JSON, without spaces
// and with integers as texts, so that every dialect and format gives the same.

func (d *jsonDecoder) arrayValue() (trace.RawValue, bool) {
	from := d.beginList(`{"arrayValue":{"values":[`)
	ok := true
	if d.object() {
		for key, more := d.field(); more; key, more = d.field() {
			if string(key) != "values" {
				d.sink.skipped("arrayValue", key)
				d.skip()
				continue
			}
			ok = d.elements() && ok
		}
	}
	return d.endList(from), ok
}

// plainArray reads a bare array in place of an AnyValue.
func (d *jsonDecoder) plainArray() (trace.RawValue, bool) {
	from := d.beginList(`{"arrayValue":{"values":[`)
	ok := d.elements()
	return d.endList(from), ok
}

func (d *jsonDecoder) elements() bool {
	ok := true
	if d.array() {
		for n := 0; d.element(); n++ {
			if n > 0 {
				d.sink.canon = append(d.sink.canon, ',')
			}
			d.element1(&ok)
		}
	}
	return ok
}

func (d *jsonDecoder) element1(ok *bool) {
	k := d.sink
	mark := len(k.canon)
	v, good := d.anyValue()
	*ok = *ok && good
	v = k.unwrite(mark, v)
	k.canon = appendValue(k.canon, v)
}

// unwrite takes back the canonical form of an inner list, so that it can be
// written again behind what must come before it.
func (k *sink) unwrite(mark int, v trace.RawValue) trace.RawValue {
	if v.Type == trace.JSON {
		k.inner = append(k.inner[:0], v.Bytes...)
		v.Bytes = k.inner
	}
	k.canon = k.canon[:mark]
	return v
}

func (d *jsonDecoder) kvlistValue() (trace.RawValue, bool) {
	k := d.sink
	from := d.beginList(`{"kvlistValue":{"values":[`)
	ok := true
	n := 0
	if d.object() {
		for key, more := d.field(); more; key, more = d.field() {
			if string(key) != "values" {
				k.skipped("kvlistValue", key)
				d.skip()
				continue
			}
			if !d.array() {
				continue
			}
			for d.element() {
				mark := len(k.canon)
				name, v, good := d.keyValue()
				ok = ok && good
				v = k.unwrite(mark, v)
				k.canon = append(k.canon, comma(n)...)
				k.canon = appendPair(k.canon, name, v)
				n++
			}
		}
	}
	return d.endList(from), ok
}

func (d *jsonDecoder) beginList(opening string) int {
	from := len(d.sink.canon)
	d.sink.canon = append(d.sink.canon, opening...)
	return from
}

func (d *jsonDecoder) endList(from int) trace.RawValue {
	d.sink.canon = append(d.sink.canon, "]}}"...)
	return trace.RawValue{Type: trace.JSON, Bytes: d.sink.canon[from:len(d.sink.canon):len(d.sink.canon)]}
}
