package ingest

import (
	"bytes"

	"github.com/tailscope/tailscope/trace"
)

// This file reads Jaeger's JSON: the answers of its query API, what its UI
// saves, single traces, and single spans with their process inside, as its
// storage holds them. Times are microseconds; zero is a time.

// jaeger reads an answer of the query API.
func (d *jsonDecoder) jaeger() {
	if !d.object() {
		return
	}
	k := d.sink
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "data":
			if !d.array() {
				continue
			}
			for d.element() {
				at := d.pos
				if !k.unit(at) {
					d.fail(at, "stop")
					return
				}
				if d.peek() == '{' {
					d.jaegerTrace()
				} else {
					d.skip()
					k.reject(at, trace.BadSyntax, "a list of names and not of traces")
				}
				k.whole(d.err == nil)
			}
		case "errors":
			d.each(d.jaegerError)
		case "total", "limit", "offset":
			d.skip()
		default:
			k.skipped("document", key)
			d.skip()
		}
	}
}

// jaegerError is a message from Jaeger in place of traces.
func (d *jsonDecoder) jaegerError() {
	d.peek()
	at := d.pos
	var msg []byte
	if d.object() {
		for key, ok := d.field(); ok; key, ok = d.field() {
			if string(key) == "msg" {
				msg, _ = d.scalar()
				continue
			}
			d.skip()
		}
	}
	if d.err == nil {
		d.sink.fail(at, trace.BadSyntax, "Jaeger answered with an error: "+quoteText(msg))
	}
}

// jaegerTrace reads one trace. The processes of its spans come behind them, so
// the spans are read last.
func (d *jsonDecoder) jaegerTrace() {
	if !d.object() {
		return
	}
	k := d.sink
	var id trace.TraceID
	var later [2]int
	n := 0
	clear(d.processes)
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "traceID", "traceId":
			if b := d.fieldText("trace.traceID"); len(b) > 0 {
				id = k.spans.TextTraceID(k.text(b))
			}
		case "spans":
			d.peek()
			if n < len(later) {
				later[n] = d.pos
				n++
			}
			d.skip()
		case "processes":
			if d.object() {
				for name, ok := d.field(); ok; name, ok = d.field() {
					p := string(name)
					if d.processes == nil {
						d.processes = map[string]trace.ResourceID{}
					}
					d.processes[p] = d.jaegerProcess()
				}
			}
		case "warnings":
			d.skip()
		default:
			k.skipped("trace", key)
			d.skip()
		}
	}
	d.again(later[:n], func() { d.each(func() { d.jaegerSpan(id) }) })
}

// processNames are the names of OpenTelemetry for tags of Jaeger's processes.
var processNames = map[string]string{"hostname": "host.name", "ip": "host.ip"}

func (d *jsonDecoder) jaegerProcess() trace.ResourceID {
	k := d.sink
	k.attrs = k.attrs[:0] // canon may hold attributes of the span around it
	if !d.object() {
		return 0
	}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "serviceName":
			if b := d.fieldText("process.serviceName"); len(b) > 0 {
				k.attrs = k.add(k.attrs, 0, []byte("service.name"), trace.RawValue{Type: trace.String, Bytes: b})
			}
		case "tags":
			d.each(func() {
				name, v := d.jaegerTag()
				if known := processNames[string(name)]; known != "" {
					name = []byte(known)
				}
				k.attrs = k.add(k.attrs, 0, name, v)
			})
		case "tag":
			d.skip()
		default:
			k.skipped("process", key)
			d.skip()
		}
	}
	if d.err != nil {
		return 0
	}
	return k.spans.AddResource(k.attrs)
}

// A reference is a RawLink with its type.
type reference struct {
	trace.RawLink
	own     bool // of the span's own trace
	follows bool
}

func (d *jsonDecoder) jaegerSpan(id trace.TraceID) {
	d.peek()
	at := d.pos
	if !d.object() {
		return
	}
	d.arena = d.arena[:0]
	k := d.sink
	s := k.beginSpan()
	s.TraceID = id
	d.references = d.references[:0]
	var duration int64
	var hasDuration bool
	var process trace.ResourceID
	wrong := ""
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "traceID", "traceId":
			if b := d.fieldText("span.traceID"); len(b) > 0 {
				s.TraceID = k.spans.TextTraceID(k.text(b))
			}
		case "spanID", "spanId":
			s.ID = k.spans.TextSpanID(k.text(d.fieldText("span.spanID")))
		case "parentSpanID", "parentSpanId":
			s.ParentID = k.spans.TextSpanID(k.text(d.fieldText("span.parentSpanID")))
		case "operationName":
			s.Name = d.fieldText("span.operationName")
		case "references":
			d.each(d.jaegerReference)
		case "startTime":
			if t, ok := d.micros("start time", &wrong); ok {
				s.Start = trace.Time(t)
			}
		case "duration":
			duration, hasDuration = d.micros("duration", &wrong)
		case "tags":
			d.each(func() {
				name, v := d.jaegerTag()
				if d.err == nil && !k.tagField(name, v) {
					s.Attrs = k.add(s.Attrs, 0, name, v)
				}
			})
		case "tag": // tags as fields, dots as @
			if d.object() {
				for name, ok := d.field(); ok; name, ok = d.field() {
					name = bytes.ReplaceAll(name, []byte("@"), []byte("."))
					if v := d.value(); !k.tagField(name, v) {
						s.Attrs = k.add(s.Attrs, 0, name, v)
					}
				}
			}
		case "logs":
			d.each(d.jaegerLog)
		case "processID":
			process = d.processes[string(d.fieldText("span.processID"))]
		case "process":
			if d.peek() == '{' {
				// The process has scratch of its own, but the arena is shared.
				process = d.jaegerProcess()
			} else {
				d.skip()
			}
		case "flags", "warnings", "startTimeMillis",
			"relativeStartTime", "depth", "hasChildren", "childSpanIds", "subsidiarilyReferencedBy": // added by the UI
			d.skip()
		default:
			k.skipped("span", key)
			d.skip()
		}
	}
	if d.err != nil {
		return
	}
	if wrong != "" {
		k.reject(at, trace.BadTime, wrong)
		return
	}
	if hasDuration && s.Start != trace.NoTime {
		if s.End = s.Start + trace.Time(duration); s.End < s.Start {
			k.reject(at, trace.BadTime, "the span's end is behind 2^63-1 nanoseconds")
			return
		}
	}
	s.Resource = process
	k.refer(d.references)
	k.endSpan(at)
}

// refer turns references into the parent and links: the first CHILD_OF of the
// span's own trace is the parent, else the first FOLLOWS_FROM, which says that
// the parent did not wait.
func (k *sink) refer(refs []reference) {
	s := &k.span
	parent := -1
	for i, r := range refs {
		refs[i].own = r.own || r.TraceID == s.TraceID
		if r.own {
			refs[i].TraceID = s.TraceID
		}
		if refs[i].own && r.ID != trace.NoSpanID && (parent < 0 || refs[parent].follows && !r.follows) {
			parent = i
		}
	}
	if parent >= 0 && s.ParentID == trace.NoSpanID {
		s.ParentID = refs[parent].ID
		if refs[parent].follows {
			s.Flags |= trace.FollowsFrom
		}
	}
	for i, r := range refs {
		if i != parent && r.ID != trace.NoSpanID {
			k.link(r.RawLink)
		}
	}
}

func (d *jsonDecoder) jaegerReference() {
	if !d.object() {
		return
	}
	k := d.sink
	r := reference{own: true}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "refType":
			b := d.fieldText("reference.refType")
			r.follows = len(b) > 0 && b[0]|0x20 == 'f'
		case "traceID", "traceId":
			if b := d.fieldText("reference.traceID"); len(b) > 0 {
				r.TraceID, r.own = k.spans.TextTraceID(k.text(b)), false
			}
		case "spanID", "spanId":
			r.ID = k.spans.TextSpanID(k.text(d.fieldText("reference.spanID")))
		case "span": // the parent again, with its own references
			d.skip()
		default:
			k.skipped("reference", key)
			d.skip()
		}
	}
	if len(d.references) < k.limits.Events {
		d.references = append(d.references, r)
	} else {
		k.oversized("references", k.limits.Events)
	}
}

// micros reads microseconds as nanoseconds. It reports false for null.
func (d *jsonDecoder) micros(name string, wrong *string) (int64, bool) {
	b, ok := d.scalar()
	if ok && len(b) == 0 {
		return 0, false
	}
	v, good := parseMicros(b)
	if !ok || !good {
		*wrong = "the span's " + name + " " + quoteText(b) + " is not a number of microseconds from 0 to 2^63/1000"
		return 0, false
	}
	return v, true
}

// jaegerTag reads a tag. Its type says what a value that was written as a text
// stands for.
func (d *jsonDecoder) jaegerTag() (name []byte, v trace.RawValue) {
	d.peek()
	at := d.pos
	if !d.object() {
		return nil, v
	}
	var typ []byte
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "key":
			name = d.fieldText("tag.key")
		case "type":
			typ = d.fieldText("tag.type")
		case "value":
			v = d.value()
		default:
			d.sink.skipped("tag", key)
			d.skip()
		}
	}
	if v.Type == trace.Int && string(typ) == "float64" {
		v = trace.RawValue{Type: trace.Double, Double: float64(v.Int)}
	}
	if v.Type != trace.String {
		return name, v
	}
	good := true
	switch string(typ) {
	case "int64":
		v.Type = trace.Int
		v.Int, good = parseInt(v.Bytes)
	case "float64":
		v.Type = trace.Double
		v.Double, good = parseFloat(v.Bytes)
	case "bool":
		good = string(v.Bytes) == "true" || string(v.Bytes) == "false"
		v = boolValue(string(v.Bytes) == "true")
	case "binary":
		raw, err := appendBase64(d.arena, v.Bytes)
		v.Type, v.Bytes, good = trace.Bytes, raw[len(d.arena):], err == nil
		d.arena = raw
	}
	if !good {
		d.bad(at, "tag "+quoteText(name)+" is not of its type "+quoteText(typ)+"; it was left out")
		return name, trace.RawValue{}
	}
	return name, v
}

// tagField sets the field of the span that a tag stands for, and reports whether
// it did: formats without fields for them have agreed on names.
func (k *sink) tagField(name []byte, v trace.RawValue) bool {
	s := &k.span
	switch string(name) {
	case "span.kind":
		kind, known := parseKind(v.Bytes)
		if v.Type != trace.String || !known {
			return false
		}
		s.Kind = kind
	case "otel.status_code":
		status, known := parseStatus(v.Bytes)
		if v.Type != trace.String || !known {
			return false
		}
		s.Status = status
	case "otel.status_description":
		if v.Type != trace.String {
			return false
		}
		s.StatusMessage = v.Bytes
	case "w3c.tracestate":
		if v.Type != trace.String {
			return false
		}
		s.TraceState = v.Bytes
	case "otel.scope.name", "otel.library.name":
		c := k.spans.Scope(s.Scope)
		c.Name = k.spans.Intern(k.text(v.Bytes))
		s.Scope = k.spans.AddScope(c)
	case "otel.scope.version", "otel.library.version":
		c := k.spans.Scope(s.Scope)
		c.Version = k.spans.Intern(k.text(v.Bytes))
		s.Scope = k.spans.AddScope(c)
	case "error":
		if v.Type == trace.Bool && v.Int != 0 || v.Type == trace.String && string(v.Bytes) != "false" && string(v.Bytes) != "" {
			if s.Status == trace.StatusUnset {
				s.Status = trace.StatusError
			}
		}
		return false // and it stays an attribute
	default:
		return false
	}
	return true
}

// jaegerLog reads a log of a span as an event; its field "event" is the name.
func (d *jsonDecoder) jaegerLog() {
	d.peek()
	at := d.pos
	if !d.object() {
		return
	}
	k := d.sink
	e := trace.RawEvent{Time: trace.NoTime}
	from := len(k.nested)
	wrong := ""
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "timestamp":
			if t, ok := d.micros("log time", &wrong); ok {
				e.Time = trace.Time(t)
			}
		case "fields":
			d.each(func() {
				name, v := d.jaegerTag()
				if string(name) == "event" && v.Type == trace.String && e.Name == nil {
					e.Name = v.Bytes
					return
				}
				k.nested = k.add(k.nested, from, name, v)
			})
		default:
			k.skipped("log", key)
			d.skip()
		}
	}
	if wrong != "" {
		d.bad(at, wrong+"; the event was left out")
		k.nested = k.nested[:from]
		return
	}
	k.event(e, from, 0)
}
