package ingest

import "github.com/tailscope/tailscope/trace"

// This file reads Zipkin's JSON, version 2 and version 1. Times are
// microseconds. The client's and the server's half of a call may have one id;
// the server's is marked Shared.

// An endpoint is a service of Zipkin.
type endpoint struct {
	name, address []byte
	port          int64
}

func (d *jsonDecoder) endpoint() (e endpoint) {
	if !d.object() {
		return e
	}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "serviceName":
			e.name = d.fieldText("endpoint.serviceName")
		case "ipv4":
			e.address = d.fieldText("endpoint.ipv4")
		case "ipv6":
			if b := d.fieldText("endpoint.ipv6"); len(e.address) == 0 {
				e.address = b
			}
		case "port":
			b, _ := d.scalar()
			e.port, _ = parseInt(b)
		default:
			d.sink.skipped("endpoint", key)
			d.skip()
		}
	}
	return e
}

// local is the resource of the service that recorded a span.
func (k *sink) local(e endpoint) trace.ResourceID {
	k.attrs = k.attrs[:0]
	if len(e.name) > 0 {
		k.attrs = k.add(k.attrs, 0, []byte("service.name"), trace.RawValue{Type: trace.String, Bytes: e.name})
	}
	if len(e.address) > 0 {
		k.attrs = k.add(k.attrs, 0, []byte("host.ip"), trace.RawValue{Type: trace.String, Bytes: e.address})
	}
	return k.spans.AddResource(k.attrs)
}

// remote adds the attributes that name the peer of a span.
func (k *sink) remote(e endpoint) {
	s := &k.span
	put := func(key string, v trace.RawValue) {
		s.Attrs = k.add(s.Attrs, 0, []byte(key), v)
	}
	if len(e.name) > 0 {
		put("peer.service", trace.RawValue{Type: trace.String, Bytes: e.name})
	}
	if len(e.address) > 0 {
		put("network.peer.address", trace.RawValue{Type: trace.String, Bytes: e.address})
	}
	if e.port > 0 {
		put("network.peer.port", trace.RawValue{Type: trace.Int, Int: e.port})
	}
}

// An annotation is an instant of a span, in version 1 with who recorded it.
type annotation struct {
	time  trace.Time
	value []byte
	at    endpoint
}

// zipkin reads one span of either version.
func (d *jsonDecoder) zipkin() {
	d.peek()
	at := d.pos
	if !d.object() {
		return
	}
	d.arena = d.arena[:0]
	k := d.sink
	s := k.beginSpan()
	d.annotations = d.annotations[:0]
	var here, there, binary endpoint
	var start, duration int64
	var hasStart, hasDuration, old bool
	wrong := ""
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "traceId", "trace_id", "traceID":
			if b := d.fieldText("span.traceId"); len(b) > 0 {
				s.TraceID = k.spans.TextTraceID(k.text(b))
			}
		case "id":
			s.ID = k.spans.TextSpanID(k.text(d.fieldText("span.id")))
		case "parentId", "parent_id":
			s.ParentID = k.spans.TextSpanID(k.text(d.fieldText("span.parentId")))
		case "name":
			s.Name = d.fieldText("span.name")
		case "kind":
			s.Kind = d.spanKind()
		case "timestamp":
			start, hasStart = d.micros("timestamp", &wrong)
		case "duration":
			duration, hasDuration = d.micros("duration", &wrong)
		case "localEndpoint", "local_endpoint":
			here = d.endpoint()
		case "remoteEndpoint", "remote_endpoint":
			there = d.endpoint()
		case "shared":
			if b, _ := d.scalar(); string(b) == "true" {
				s.Flags |= trace.Shared
			}
		case "annotations":
			d.each(func() { d.annotation(&wrong) })
		case "binaryAnnotations", "binary_annotations":
			old = true
			d.each(func() { d.binaryAnnotation(&binary, &there) })
		case "tags":
			if d.object() {
				for name, ok := d.field(); ok; name, ok = d.field() {
					v := d.value()
					k.zipkinTag(name, v)
				}
			}
		case "debug":
			d.skip()
		default:
			k.skipped("span", key)
			d.skip()
		}
	}
	if d.err != nil {
		return
	}
	for _, a := range d.annotations {
		if old = old || a.at.name != nil; old {
			break
		}
	}
	if wrong != "" {
		k.reject(at, trace.BadTime, wrong)
		return
	}
	if hasStart && start > 0 {
		s.Start = trace.Time(start)
		switch {
		case hasDuration:
			s.End = s.Start + trace.Time(duration)
		case s.Kind == trace.KindProducer || s.Kind == trace.KindConsumer:
			s.End = s.Start // one-way: an instant
		}
		if s.End != trace.NoTime && s.End < s.Start {
			k.reject(at, trace.BadTime, "the span's end is behind 2^63-1 nanoseconds")
			return
		}
	}
	k.remote(there)
	if old && here.name == nil && s.Kind == trace.KindUnspecified {
		d.zipkinOld(binary)
		return
	}
	for _, a := range d.annotations {
		k.event(trace.RawEvent{Time: a.time, Name: a.value}, len(k.nested), 0)
	}
	s.Resource = k.local(here)
	k.endSpan(d.pos)
}

// zipkinTag keeps a tag; one named error says that the span failed.
func (k *sink) zipkinTag(name []byte, v trace.RawValue) {
	if string(name) == "error" && !(v.Type == trace.String && string(v.Bytes) == "false" || v.Type == trace.Bool && v.Int == 0) {
		k.span.Status = trace.StatusError
	}
	if !k.tagField(name, v) {
		k.span.Attrs = k.add(k.span.Attrs, 0, name, v)
	}
}

func (d *jsonDecoder) annotation(wrong *string) {
	if !d.object() {
		return
	}
	a := annotation{time: trace.NoTime}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "timestamp":
			if t, ok := d.micros("annotation's time", wrong); ok {
				a.time = trace.Time(t)
			}
		case "value":
			a.value = d.fieldText("annotation.value")
		case "endpoint":
			a.at = d.endpoint()
		default:
			d.sink.skipped("annotation", key)
			d.skip()
		}
	}
	if len(d.annotations) < d.sink.limits.Events {
		d.annotations = append(d.annotations, a)
	} else {
		d.sink.oversized("annotations", d.sink.limits.Events)
	}
}

// binaryAnnotation reads a tag of version 1, or the address of the peer, which
// is spelled as one.
func (d *jsonDecoder) binaryAnnotation(here, there *endpoint) {
	if !d.object() {
		return
	}
	var name []byte
	var v trace.RawValue
	var at endpoint
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "key":
			name = d.fieldText("annotation.key")
		case "value":
			v = d.value()
		case "endpoint":
			at = d.endpoint()
		case "type":
			d.skip()
		default:
			d.sink.skipped("annotation", key)
			d.skip()
		}
	}
	if d.err != nil {
		return
	}
	switch string(name) {
	case "sa", "ca", "ma":
		*there = at
		return
	case "lc": // local component
		if here.name == nil {
			*here = at
		}
		if v.Type == trace.String && len(v.Bytes) == 0 {
			return
		}
	}
	if here.name == nil {
		*here = at
	}
	d.sink.zipkinTag(name, v)
}

// zipkinOld ends a span of version 1, whose kind, service and halves are told by
// its annotations: cs and cr of the client, sr and ss of the server, ms and mr
// of messaging.
func (d *jsonDecoder) zipkinOld(here endpoint) {
	k := d.sink
	s := &k.span
	var cs, cr, sr, ss, ms, mr *annotation
	for i := range d.annotations {
		a := &d.annotations[i]
		switch string(a.value) {
		case "cs":
			cs = a
		case "cr":
			cr = a
		case "sr":
			sr = a
		case "ss":
			ss = a
		case "ms":
			ms = a
		case "mr":
			mr = a
		default:
			if here.name == nil {
				here = a.at
			}
			k.event(trace.RawEvent{Time: a.time, Name: a.value}, len(k.nested), 0)
		}
	}
	start, end := s.Start, s.End
	half := func(kind trace.Kind, from, to *annotation, own bool) {
		s.Kind = kind
		s.Start, s.End = trace.NoTime, trace.NoTime
		if own {
			s.Start, s.End = start, end
		}
		by := here
		for _, a := range []*annotation{to, from} {
			if a != nil && a.at.name != nil {
				by = a.at
			}
		}
		if s.Start == trace.NoTime && from != nil {
			s.Start = from.time
		}
		if s.End == trace.NoTime && to != nil {
			s.End = to.time
		}
		if s.End == trace.NoTime && (kind == trace.KindProducer || kind == trace.KindConsumer) {
			s.End = s.Start
		}
		s.Resource = k.local(by)
		k.endSpan(d.pos)
	}
	client, server := cs != nil || cr != nil, sr != nil || ss != nil
	if client {
		half(trace.KindClient, cs, cr, true)
	}
	if server {
		if client || start == trace.NoTime {
			s.Flags |= trace.Shared
		}
		half(trace.KindServer, sr, ss, !client)
	}
	if ms != nil {
		half(trace.KindProducer, ms, nil, true)
	}
	if mr != nil {
		half(trace.KindConsumer, mr, nil, ms == nil)
	}
	if !client && !server && ms == nil && mr == nil {
		s.Resource = k.local(here)
		k.endSpan(d.pos)
	}
}
