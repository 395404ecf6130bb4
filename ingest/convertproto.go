package ingest

import (
	"encoding/binary"
	"math"

	"github.com/tailscope/tailscope/trace"
)

// A protoOut builds OTLP protobuf.
type protoOut struct{ b []byte }

func (o *protoOut) take() []byte {
	b := o.b
	o.b = o.b[:0]
	return b
}

func (o *protoOut) tag(num, typ int) { o.b = binary.AppendUvarint(o.b, uint64(num)<<3|uint64(typ)) }

// sized writes a field of known length behind its length, which is written when
// the content is: one byte is kept for it, and the content moves if it takes
// more.
func (o *protoOut) sized(num int, content func()) {
	o.tag(num, length)
	at := len(o.b)
	o.b = append(o.b, 0)
	content()
	n := len(o.b) - at - 1
	if n < 0x80 {
		o.b[at] = byte(n)
		return
	}
	var head [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(head[:], uint64(n))
	o.b = append(o.b, head[:size-1]...)
	copy(o.b[at+size:], o.b[at+1:at+1+n])
	copy(o.b[at:], head[:size])
}

func (o *protoOut) message(num int, _ string, fields func()) { o.sized(num, fields) }

func (o *protoOut) list(num int, _ string, n int, element func(i int)) {
	for i := range n {
		o.sized(num, func() { element(i) })
	}
}

func (o *protoOut) raw(num int, v []byte) {
	o.tag(num, length)
	o.b = binary.AppendUvarint(o.b, uint64(len(v)))
	o.b = append(o.b, v...)
}

func (o *protoOut) text(num int, _, v string) {
	if v != "" {
		o.raw(num, []byte(v))
	}
}

func (o *protoOut) uint(num int, _ string, v uint64) {
	if v != 0 {
		o.tag(num, varint)
		o.b = binary.AppendUvarint(o.b, v)
	}
}

func (o *protoOut) sint(num int, _ string, v int64) {
	if v != 0 {
		o.tag(num, varint)
		o.b = binary.AppendVarint(o.b, v)
	}
}

func (o *protoOut) fixed(num int, _ string, v uint64) {
	o.tag(num, fixed64)
	o.b = binary.LittleEndian.AppendUint64(o.b, v)
}

func (o *protoOut) fixed32(num int, _ string, v uint32) {
	if v != 0 {
		o.tag(num, fixed32)
		o.b = binary.LittleEndian.AppendUint32(o.b, v)
	}
}

func (o *protoOut) sfixed(num int, _ string, v int64) { o.fixed(num, "", uint64(v)) }

func (o *protoOut) double(num int, _ string, v float64) { o.fixed(num, "", math.Float64bits(v)) }

func (o *protoOut) fixeds(num int, _ string, v []uint64) {
	if len(v) > 0 {
		o.sized(num, func() {
			for _, x := range v {
				o.b = binary.LittleEndian.AppendUint64(o.b, x)
			}
		})
	}
}

func (o *protoOut) varints(num int, _ string, v []uint64) {
	if len(v) > 0 {
		o.sized(num, func() {
			for _, x := range v {
				o.b = binary.AppendUvarint(o.b, x)
			}
		})
	}
}

func (o *protoOut) doubles(num int, _ string, v []float64) {
	if len(v) > 0 {
		o.sized(num, func() {
			for _, x := range v {
				o.b = binary.LittleEndian.AppendUint64(o.b, math.Float64bits(x))
			}
		})
	}
}

func (o *protoOut) traceID(num int, _ string, id trace.TraceID, _ string) {
	if !id.IsZero() {
		o.raw(num, id[:])
	}
}

func (o *protoOut) spanID(num int, _ string, id trace.SpanID, _ string) {
	if id != trace.NoSpanID {
		o.raw(num, binary.BigEndian.AppendUint64(nil, uint64(id)))
	}
}

func (o *protoOut) value(num int, _ string, v trace.RawValue) {
	o.sized(num, func() { o.anyValue(v) })
}

func (o *protoOut) anyValue(v trace.RawValue) {
	switch v.Type {
	case trace.String:
		o.raw(1, v.Bytes)
	case trace.Bool:
		o.tag(2, varint)
		o.b = append(o.b, byte(v.Int))
	case trace.Int:
		o.tag(3, varint)
		o.b = binary.AppendUvarint(o.b, uint64(v.Int))
	case trace.Double:
		o.double(4, "", v.Double)
	case trace.Bytes:
		o.raw(7, v.Bytes)
	case trace.JSON:
		list, pairs := parseAny(v.Bytes)
		num := 5
		if pairs {
			num = 6
		}
		o.sized(num, func() {
			for _, a := range list {
				o.sized(1, func() {
					if !pairs {
						o.anyValue(a.Value)
						return
					}
					o.text(1, "", string(a.Key))
					o.value(2, "", a.Value)
				})
			}
		})
	}
}

// parseList is the pairs of a key-value list in its canonical form.
func parseList(text string) []trace.RawAttr {
	list, _ := parseAny([]byte(text))
	return list
}

// parseAny is the elements of a list in its canonical form, one level deep: the
// lists in it are in canonical form too. Elements of an array have no keys.
func parseAny(text []byte) (list []trace.RawAttr, pairs bool) {
	d := jsonDecoder{sink: &sink{limits: &Limits{}}}
	d.reset(text)
	d.maxDepth = math.MaxInt
	if !d.object() {
		return nil, false
	}
	name, _ := d.field()
	pairs = string(name) == "kvlistValue"
	if !d.object() {
		return nil, pairs
	}
	d.field()
	d.each(func() {
		var a trace.RawAttr
		if pairs {
			a.Key, a.Value, _ = d.keyValue()
		} else {
			a.Value, _ = d.anyValue()
		}
		if a.Value.Type == trace.JSON {
			a.Value.Bytes = append([]byte(nil), a.Value.Bytes...)
		}
		d.sink.canon = d.sink.canon[:0]
		list = append(list, a)
	})
	return list, pairs
}
