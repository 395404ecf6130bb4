package ingest

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/tailscope/tailscope/trace"
)

// A jsonDecoder reads JSON documents of any known format into a sink. The
// methods of this file read OTLP, in the spelling of the specification, in
// snake case, and as encoding/json prints the generated Go types (oneofs in an
// object of their own, with capitals). Keys come in any order: what depends on
// a key that has not come yet is skipped, and read when it has.
type jsonDecoder struct {
	scanner
	sink *sink

	// Of Jaeger and Zipkin.
	processes   map[string]trace.ResourceID
	references  []reference
	annotations []annotation
}

// each calls f for each element of an array.
func (d *jsonDecoder) each(f func()) {
	if !d.array() {
		return
	}
	for d.element() {
		before := d.pos
		f()
		if d.pos == before && d.err == nil {
			d.skip() // f could not use it
		}
	}
}

// fieldText reads a field that is a text.
func (d *jsonDecoder) fieldText(of string) []byte {
	d.peek()
	at := d.pos
	b, ok := d.scalar()
	if !ok {
		d.sink.fail(at, trace.BadValue, of+" is not a text")
	}
	return b
}

// bad reports a field whose value cannot be used.
func (d *jsonDecoder) bad(at int, what string) {
	if d.err == nil {
		d.sink.fail(at, trace.BadValue, what)
	}
}

// resourceSpans reads the elements of a list of resource spans.
func (d *jsonDecoder) resourceSpans() { d.each(d.resourceSpan) }

func (d *jsonDecoder) resourceSpan() { d.resourceList("resourceSpans", d.scopeSpans) }

// resourceList reads one element of a list by resource of spans, metrics or
// logs; scopes reads the lists by scope that the element holds.
func (d *jsonDecoder) resourceList(name string, scopes func(trace.ResourceID)) {
	var resource trace.ResourceID
	var later [4]int // lists that came before the resource
	n, known := 0, false
	first := d.sink.spans.Len()
	var schema trace.StringID
	d.sink.dropped = 0
	if !d.object() {
		return
	}
	for k, ok := d.field(); ok; k, ok = d.field() {
		switch string(k) {
		case "resource":
			resource, known = d.resource(), true
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans",
			"scopeMetrics", "scope_metrics", "instrumentationLibraryMetrics", "instrumentation_library_metrics",
			"scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs":
			if !known && n < len(later) {
				d.peek()
				later[n] = d.pos
				n++
				d.skip()
				continue
			}
			scopes(resource)
		case "schemaUrl", "schema_url":
			schema = d.schemaURL()
		default:
			d.sink.skipped(name, k)
			d.skip()
		}
	}
	dropped := d.sink.dropped
	d.again(later[:n], func() { scopes(resource) })
	if schema != 0 || dropped != 0 {
		d.sink.lists(first, func(s *trace.Scope) { s.ResourceSchemaURL, s.ResourceDropped = schema, dropped })
	}
}

// again reads values that were skipped, and returns to where it was.
func (d *jsonDecoder) again(at []int, read func()) {
	end := d.pos
	for _, p := range at {
		if d.err != nil {
			return
		}
		d.pos = p
		read()
	}
	if d.err == nil {
		d.pos = end
	}
}

func (d *jsonDecoder) resource() trace.ResourceID {
	k := d.sink
	k.attrs = k.attrs[:0]
	k.canon = k.canon[:0]
	if d.object() {
		for key, ok := d.field(); ok; key, ok = d.field() {
			switch string(key) {
			case "attributes":
				k.attrs = d.attributes(k.attrs)
			case "droppedAttributesCount", "dropped_attributes_count":
				d.count(&k.dropped)
			default:
				k.skipped("resource", key)
				d.skip()
			}
		}
	}
	if d.err != nil {
		return 0
	}
	return k.spans.AddResource(k.attrs)
}

// scopeSpans reads the lists of spans by scope.
func (d *jsonDecoder) scopeSpans(resource trace.ResourceID) {
	d.each(func() {
		d.scopeList("scopeSpans", func(scope trace.ScopeID) { d.each(func() { d.span(resource, scope) }) })
	})
}

// scopeList reads one element of a list by scope of spans, metrics or logs.
func (d *jsonDecoder) scopeList(name string, items func(trace.ScopeID)) {
	var scope trace.ScopeID
	var later [4]int
	n, known := 0, false
	first := d.sink.spans.Len()
	var schema trace.StringID
	d.sink.scopeLoss = 0
	if !d.object() {
		return
	}
	for k, ok := d.field(); ok; k, ok = d.field() {
		switch string(k) {
		case "scope", "instrumentationLibrary", "instrumentation_library":
			scope, known = d.scope(), true
		case "spans", "metrics", "logRecords", "log_records", "logs":
			if !known && n < len(later) {
				d.peek()
				later[n] = d.pos
				n++
				d.skip()
				continue
			}
			items(scope)
		case "schemaUrl", "schema_url":
			schema = d.schemaURL()
		default:
			d.sink.skipped(name, k)
			d.skip()
		}
	}
	if schema != 0 && name == "scopeMetrics" {
		d.sink.lose("metrics.schemaUrl")
	}
	dropped := d.sink.scopeLoss
	d.again(later[:n], func() { items(scope) })
	if schema != 0 || dropped != 0 {
		d.sink.lists(first, func(s *trace.Scope) { s.SchemaURL, s.Dropped = schema, dropped })
	}
}

func (d *jsonDecoder) scope() trace.ScopeID {
	k := d.sink
	k.attrs = k.attrs[:0]
	k.canon = k.canon[:0]
	var s trace.Scope
	if d.object() {
		for key, ok := d.field(); ok; key, ok = d.field() {
			switch string(key) {
			case "name":
				s.Name = k.spans.Intern(k.text(d.fieldText("scope.name")))
			case "version":
				s.Version = k.spans.Intern(k.text(d.fieldText("scope.version")))
			case "attributes":
				k.attrs = d.attributes(k.attrs)
			case "droppedAttributesCount", "dropped_attributes_count":
				d.count(&k.scopeLoss)
			default:
				k.skipped("scope", key)
				d.skip()
			}
		}
	}
	if d.err != nil {
		return 0
	}
	return k.scope(s)
}

// scope adds a scope whose attributes are in attrs.
func (k *sink) scope(s trace.Scope) trace.ScopeID {
	if len(k.attrs) > 0 {
		from := len(k.canon)
		k.canon = appendList(k.canon, k.attrs)
		s.Attrs = k.spans.Value(trace.RawValue{Type: trace.JSON, Bytes: k.canon[from:]})
	}
	return k.spans.AddScope(s)
}

// span reads one span.
func (d *jsonDecoder) span(resource trace.ResourceID, scope trace.ScopeID) {
	d.peek()
	at := d.pos
	if !d.object() {
		return
	}
	d.arena = d.arena[:0]
	k := d.sink
	s := k.beginSpan()
	s.Resource, s.Scope = resource, scope
	wrong := ""
	for {
		d.usualFields(s)
		key, ok := d.field()
		if !ok {
			break
		}
		switch string(key) {
		case "traceId", "trace_id", "traceID":
			s.TraceID = k.traceID(d.fieldText("span.traceId"))
		case "spanId", "span_id", "spanID":
			s.ID = k.spanID(d.fieldText("span.spanId"))
		case "parentSpanId", "parent_span_id", "parentSpanID":
			s.ParentID = k.spanID(d.fieldText("span.parentSpanId"))
		case "name":
			s.Name, s.NameID = d.fieldText("span.name"), 0
		case "kind":
			s.Kind = d.spanKind()
		case "startTimeUnixNano", "start_time_unix_nano":
			s.Start = d.time("start", &wrong)
		case "endTimeUnixNano", "end_time_unix_nano":
			s.End = d.time("end", &wrong)
		case "attributes":
			d.spanAttributes(s)
		case "status":
			d.status(s)
		case "events":
			d.each(d.event)
		case "links":
			d.each(d.link)
		case "traceState", "trace_state":
			s.TraceState = d.fieldText("span.traceState")
		case "flags":
			d.count(&k.more.Flags)
		case "droppedAttributesCount", "dropped_attributes_count":
			d.count(&k.more.DroppedAttributes)
		case "droppedEventsCount", "dropped_events_count":
			d.count(&k.more.DroppedEvents)
		case "droppedLinksCount", "dropped_links_count":
			d.count(&k.more.DroppedLinks)
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
	k.marks()
	k.endSpan(at)
}

// time reads a time in nanoseconds. If it is none, wrong says why.
func (d *jsonDecoder) time(name string, wrong *string) trace.Time {
	b, ok := d.scalar()
	if ok && len(b) == 0 {
		return trace.NoTime
	}
	t, good := parseTime(b)
	if !ok || !good {
		*wrong = "the span's " + name + " time " + timeText(b) + " is not a number of nanoseconds from 0 to 2^63-1"
	}
	return t
}

// quoteText is b for a message, shortened.
func quoteText(b []byte) string {
	if len(b) > 40 {
		b = append(append([]byte{}, b[:40]...), "…"...)
	}
	return strconv.Quote(string(b))
}

func (d *jsonDecoder) spanKind() trace.Kind {
	d.peek()
	at := d.pos
	b, ok := d.scalar()
	kind, known := parseKind(b)
	if !ok || !known {
		d.bad(at, "the span kind "+quoteText(b)+" is unknown; unspecified is assumed")
	}
	return kind
}

// parseKind reads a span kind by its number or name; none is unspecified.
func parseKind(b []byte) (trace.Kind, bool) {
	if len(b) == 1 && '0' <= b[0] && b[0] <= '5' {
		return trace.Kind(b[0] - '0'), true
	}
	if len(b) > 40 {
		return trace.KindUnspecified, false
	}
	var buf [40]byte
	name := trimPrefixFold(upper(buf[:0], b), "SPAN_KIND_")
	switch string(name) {
	case "", "UNSPECIFIED":
		return trace.KindUnspecified, true
	case "INTERNAL":
		return trace.KindInternal, true
	case "SERVER":
		return trace.KindServer, true
	case "CLIENT":
		return trace.KindClient, true
	case "PRODUCER":
		return trace.KindProducer, true
	case "CONSUMER":
		return trace.KindConsumer, true
	}
	return trace.KindUnspecified, false
}

func upper(to, b []byte) []byte {
	for _, c := range b {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		to = append(to, c)
	}
	return to
}

func trimPrefixFold(b []byte, prefix string) []byte {
	if len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix {
		return b[len(prefix):]
	}
	return b
}

func (d *jsonDecoder) status(s *trace.RawSpan) {
	if !d.object() {
		return
	}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "code":
			d.peek()
			at := d.pos
			b, ok := d.scalar()
			var known bool
			if s.Status, known = parseStatus(b); !ok || !known {
				d.bad(at, "the status code "+quoteText(b)+" is unknown; unset is assumed")
			}
		case "message":
			s.StatusMessage = d.fieldText("status.message")
		case "deprecatedCode", "deprecated_code":
			d.skip()
		default:
			d.sink.skipped("status", key)
			d.skip()
		}
	}
}

// parseStatus reads a status code by its number or name; none is unset.
func parseStatus(b []byte) (trace.Status, bool) {
	if len(b) == 1 && '0' <= b[0] && b[0] <= '2' {
		return trace.Status(b[0] - '0'), true
	}
	if len(b) > 40 {
		return trace.StatusUnset, false
	}
	var buf [40]byte
	name := trimPrefixFold(upper(buf[:0], b), "STATUS_CODE_")
	switch string(name) {
	case "", "UNSET":
		return trace.StatusUnset, true
	case "OK":
		return trace.StatusOK, true
	case "ERROR":
		return trace.StatusError, true
	}
	return trace.StatusUnset, false
}

func (d *jsonDecoder) event() {
	d.peek()
	at := d.pos
	if !d.object() {
		return
	}
	k := d.sink
	e := trace.RawEvent{Time: trace.NoTime}
	from := len(k.nested)
	var dropped uint32
	wrong := ""
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "timeUnixNano", "time_unix_nano":
			e.Time = d.time("event", &wrong)
		case "name":
			e.Name = d.fieldText("event.name")
		case "attributes":
			k.nested = d.attributesAfter(k.nested, from)
		case "droppedAttributesCount", "dropped_attributes_count":
			d.count(&dropped)
		default:
			k.skipped("event", key)
			d.skip()
		}
	}
	if wrong != "" {
		d.bad(at, wrong+"; the event was left out")
		k.nested = k.nested[:from]
		return
	}
	k.event(e, from, dropped)
}

func (d *jsonDecoder) link() {
	if !d.object() {
		return
	}
	k := d.sink
	var l trace.RawLink
	var more trace.RawLinkMore
	from := len(k.nested)
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "traceId", "trace_id", "traceID":
			l.TraceID = k.traceID(d.fieldText("link.traceId"))
		case "spanId", "span_id", "spanID":
			l.ID = k.spanID(d.fieldText("link.spanId"))
		case "attributes":
			k.nested = d.attributesAfter(k.nested, from)
		case "traceState", "trace_state":
			if !k.keepAll {
				d.skip()
				continue
			}
			more.TraceState = d.fieldText("link.traceState")
		case "flags":
			d.count(&more.Flags)
		case "droppedAttributesCount", "dropped_attributes_count":
			d.count(&more.Dropped)
		default:
			k.skipped("link", key)
			d.skip()
		}
	}
	k.linkWith(l, from, more)
}

// count reads a count or flags, which only a conversion keeps.
func (d *jsonDecoder) count(to *uint32) {
	if !d.sink.keepAll {
		d.skip()
		return
	}
	d.peek()
	at := d.pos
	b, ok := d.scalar()
	v, negative, exact := parseUint(b)
	if len(b) > 0 && (!ok || !exact || negative || v > math.MaxUint32) {
		d.bad(at, "a count or flags are not a number of 32 bits; it was left out")
		return
	}
	*to = uint32(v)
}

// schemaURL reads a schema's URL, which only a conversion keeps.
func (d *jsonDecoder) schemaURL() trace.StringID {
	if !d.sink.keepAll {
		d.skip()
		return 0
	}
	return d.sink.spans.Intern(d.fieldText("schemaUrl"))
}

// linkWith adds a link with the attributes nested[from:], of which one is read:
// that the link is an OpenTracing reference that follows from its target. The
// others only a conversion keeps.
func (k *sink) linkWith(l trace.RawLink, from int, more trace.RawLinkMore) {
	for _, a := range k.nested[from:] {
		if string(a.Key) == refType && string(a.Value.Bytes) == followsFrom {
			k.follows = append(k.follows, l)
		}
	}
	k.link(l)
	if !k.keepAll {
		k.nested = k.nested[:from]
		return
	}
	k.more.Links = append(k.more.Links, more)
	k.linkExtents = append(k.linkExtents, extent{from, len(k.nested)})
}

// sharedHalf and refType are the attributes for which formats other than OTLP
// have fields: the server's half of a Zipkin span, and a Jaeger reference.
const (
	sharedHalf  = "zipkin.shared"
	refType     = "opentracing.ref_type"
	followsFrom = "follows_from"
)

// dropLink takes back link i.
func (k *sink) dropLink(i int) {
	k.span.Links = slices.Delete(k.span.Links, i, i+1)
	if i < len(k.more.Links) && k.keepAll {
		k.more.Links, k.linkExtents = slices.Delete(k.more.Links, i, i+1), slices.Delete(k.linkExtents, i, i+1)
	}
}

// marks sets the flags of the span that OTLP has no fields for.
func (k *sink) marks() {
	s := &k.span
	for _, l := range k.follows {
		if l.ID == s.ParentID && l.ID != trace.NoSpanID && l.TraceID == s.TraceID {
			s.Flags |= trace.FollowsFrom
			for i := len(s.Links) - 1; i >= 0; i-- {
				if s.Links[i] == l {
					k.dropLink(i)
				}
			}
		}
	}
	for i := range s.Attrs {
		if a := &s.Attrs[i]; len(a.Key) == len(sharedHalf) && string(a.Key) == sharedHalf && a.Value.Type == trace.Bool {
			if a.Value.Int != 0 {
				s.Flags |= trace.Shared
			}
			s.Attrs = slices.Delete(s.Attrs, i, i+1)
			for j, known := range s.Known { // the pair without a key that stands for attribute i
				if known.Key == 0 {
					if i--; i < 0 {
						s.Known = slices.Delete(s.Known, j, j+1)
						break
					}
				}
			}
			k.pairs.begin() // their places have changed
			break
		}
	}
}

// timeText shows a time that is out of range: with its unit, if it is a whole
// number.
func timeText(b []byte) string {
	digits := bytes.TrimPrefix(bytes.Trim(b, `"`), []byte("-"))
	if len(digits) > 0 && len(digits) <= 40 && len(bytes.Trim(digits, "0123456789")) == 0 {
		return string(bytes.Trim(b, `"`)) + " ns"
	}
	return quoteText(b)
}
