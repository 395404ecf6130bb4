package ingest

import (
	"math"

	"github.com/tailscope/tailscope/trace"
)

// This file reads spans and their attributes as nearly all writers write them, one
// comparison a field. It judges nothing: what is written any other way is left to
// the reader that takes every dialect, in otlpjson.go and jsonvalue.go.

// usualFields reads fields of a span as nearly all writers write them: without
// spaces and escapes, with identifiers of full length and times of this century. It
// stops in front of the first that is any other, having judged nothing of it.
func (d *jsonDecoder) usualFields(s *trace.RawSpan) {
	const (
		traceID = `"traceId":"`
		spanID  = `"spanId":"`
		parent  = `"parentSpanId":"`
		name    = `"name":"`
		kind    = `"kind":`
		start   = `"startTimeUnixNano":"`
		end     = `"endTimeUnixNano":"`
		attrs   = `"attributes":`
		status  = `"status":{}`
		longest = len(traceID) + 33 // of those of a fixed length
	)
	k := d.sink
	for d.err == nil {
		pos := d.pos
		if !d.fresh {
			if pos >= len(d.data) || d.data[pos] != ',' {
				return
			}
			pos++
		}
		b := d.data[pos:]
		if len(b) < longest {
			return
		}
		switch b[1] {
		case 't':
			if string(b[:len(traceID)]) != traceID || b[len(traceID)+32] != '"' {
				return
			}
			id, ok := trace.ParseTraceID(b[len(traceID) : len(traceID)+32])
			if !ok {
				return
			}
			s.TraceID = id
			pos += len(traceID) + 33
		case 's':
			switch {
			case string(b[:len(spanID)]) == spanID:
				id, ok := trace.ParseSpanID(b[len(spanID) : len(spanID)+16])
				if !ok || b[len(spanID)+16] != '"' {
					return
				}
				s.ID = id
				pos += len(spanID) + 17
			case string(b[:len(start)]) == start:
				t, ok := usualTime(b[len(start):])
				if !ok {
					return
				}
				s.Start = t
				pos += len(start) + 20
			case string(b[:len(status)]) == status:
				pos += len(status)
			default:
				return
			}
		case 'p':
			if string(b[:len(parent)]) != parent {
				return
			}
			if b[len(parent)] == '"' {
				s.ParentID = trace.NoSpanID
				pos += len(parent) + 1
				break
			}
			id, ok := trace.ParseSpanID(b[len(parent) : len(parent)+16])
			if !ok || b[len(parent)+16] != '"' {
				return
			}
			s.ParentID = id
			pos += len(parent) + 17
		case 'n':
			if string(b[:len(name)]) != name {
				return
			}
			to := plainRun(b, len(name))
			if to >= len(b) || b[to] != '"' {
				return
			}
			s.Name = b[len(name):to]
			s.NameID, _ = k.pairs.name(s.Name)
			pos += to + 1
		case 'k':
			if string(b[:len(kind)]) != kind || b[len(kind)]-'0' > byte(trace.KindConsumer) || b[len(kind)+1] != ',' && b[len(kind)+1] != '}' {
				return
			}
			s.Kind = trace.Kind(b[len(kind)] - '0')
			pos += len(kind) + 1
		case 'e':
			if string(b[:len(end)]) != end {
				return
			}
			t, ok := usualTime(b[len(end):])
			if !ok {
				return
			}
			s.End = t
			pos += len(end) + 20
		case 'a':
			if string(b[:len(attrs)]) != attrs {
				return
			}
			d.pos, d.fresh = pos+len(attrs), false
			d.spanAttributes(s)
			continue
		default:
			return
		}
		d.pos, d.fresh = pos, false
	}
}

// usualTime reads 19 digits and a quote.
func usualTime(b []byte) (trace.Time, bool) {
	if len(b) < 20 || b[19] != '"' {
		return 0, false
	}
	var v uint64
	for _, c := range b[:19] {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	return trace.Time(v), v-1 < math.MaxInt64
}

// spanAttributes reads the attributes of a span, which may be known from earlier
// spans.
func (d *jsonDecoder) spanAttributes(s *trace.RawSpan) {
	k := d.sink
	general := func(read func(to []trace.RawAttr, from int) []trace.RawAttr) {
		n := len(s.Attrs)
		s.Attrs = read(s.Attrs, n-len(s.Known))
		for range len(s.Attrs) - n {
			s.Known = append(s.Known, trace.Attr{})
		}
	}
	if d.peek() != '[' {
		general(d.attributesAfter)
		return
	}
	if !d.array() {
		return
	}
	for d.nextAttribute() {
		n := len(s.Known)
		if n < k.limits.Attributes && d.depth+2 <= d.maxDepth {
			if o := k.pairs.opening(n, d.data[d.pos:]); o != nil && d.usualValue(s, o) {
				continue
			}
			var a trace.RawAttr
			if opens := d.usual(&a); opens != nil {
				s.Attrs, s.Known = append(s.Attrs, a), append(s.Known, trace.Attr{})
				k.pairs.open(n, opens, len(a.Key), k.spans.Intern(a.Key), a.Value.Type)
				continue
			}
		}
		general(d.attribute)
	}
}

// nextAttribute is element, where another object follows without a space.
func (d *jsonDecoder) nextAttribute() bool {
	if b := d.data[d.pos:]; len(b) > 1 && b[0] == ',' && b[1] == '{' && !d.fresh && d.err == nil {
		d.pos++
		return true
	}
	return d.element()
}

// usualValue reads the rest of a pair that begins with an opening, if it is written
// as nearly all writers write it; otherwise it has read nothing.
func (d *jsonDecoder) usualValue(s *trace.RawSpan, o *opening) bool {
	k := d.sink
	b := d.data[d.pos:]
	end := plainRun(b, int(o.n))
	v := b[o.n:end]
	key := b[len(pairKey):][:o.keyLen]
	if b = b[end:]; len(b) < len(pairClosing) || string(b[:len(pairClosing)]) != pairClosing || len(v) > k.limits.Text {
		return false
	}
	known, hash := k.pairs.value(o, v)
	if known.Key == 0 {
		a := trace.RawAttr{Key: key, Value: trace.RawValue{Type: o.typ}}
		if o.typ == trace.Int {
			var ok bool
			if a.Value.Int, ok = parseInt(v); !ok {
				return false
			}
		} else {
			a.Value.Bytes = v
		}
		s.Attrs = append(s.Attrs, a)
		k.pairs.miss(v, hash, len(s.Known))
	}
	s.Known = append(s.Known, known)
	d.pos = len(d.data) - len(b) + len(pairClosing)
	return true
}

// How nearly all writers write a pair: its key, and a text or an integer, in
// ASCII without escapes or spaces.
const (
	pairKey     = `{"key":"`
	pairValue   = `","value":{"`
	textValue   = `stringValue":"`
	intValue    = `intValue":"`
	pairClosing = `"}}`
)

// usual reads a pair written so. It returns how the pair is written up to its
// value, or nil, having read nothing, if it is any other.
func (d *jsonDecoder) usual(a *trace.RawAttr) []byte {
	b := d.data[d.pos:]
	if len(b) < len(pairKey) || string(b[:len(pairKey)]) != pairKey {
		return nil
	}
	n := plainRun(b, len(pairKey))
	key := b[len(pairKey):n]
	b = b[n:]
	if len(b) < len(pairValue) || string(b[:len(pairValue)]) != pairValue {
		return nil
	}
	b = b[len(pairValue):]
	switch {
	case len(b) > len(textValue) && string(b[:len(textValue)]) == textValue:
		b = b[len(textValue):]
		n = plainRun(b, 0)
		if n > d.sink.limits.Text {
			return nil
		}
		a.Value.Type, a.Value.Bytes = trace.String, b[:n]
	case len(b) > len(intValue) && string(b[:len(intValue)]) == intValue:
		b = b[len(intValue):]
		n = plainRun(b, 0)
		x, ok := parseInt(b[:n])
		if !ok {
			return nil
		}
		a.Value.Type, a.Value.Int = trace.Int, x
	default:
		return nil
	}
	opening := d.data[d.pos : len(d.data)-len(b)]
	b = b[n:]
	if len(b) < len(pairClosing) || string(b[:len(pairClosing)]) != pairClosing || len(key) > d.sink.limits.Text || d.depth+2 > d.maxDepth {
		return nil
	}
	a.Key = key
	d.pos = len(d.data) - len(b) + len(pairClosing)
	return opening
}
