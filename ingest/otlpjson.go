package ingest

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

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
			d.skip()
		default:
			d.sink.skipped(name, k)
			d.skip()
		}
	}
	d.again(later[:n], func() { scopes(resource) })
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
				d.skip()
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
			d.skip()
		default:
			d.sink.skipped(name, k)
			d.skip()
		}
	}
	d.again(later[:n], func() { items(scope) })
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
				d.skip()
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
		case "flags", "droppedAttributesCount", "dropped_attributes_count", "droppedEventsCount", "dropped_events_count",
			"droppedLinksCount", "dropped_links_count":
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
	k.marks()
	k.endSpan(at)
}

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
			d.skip()
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
	k.event(e, from)
}

func (d *jsonDecoder) link() {
	if !d.object() {
		return
	}
	k := d.sink
	var l trace.RawLink
	from := len(k.nested)
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "traceId", "trace_id", "traceID":
			l.TraceID = k.traceID(d.fieldText("link.traceId"))
		case "spanId", "span_id", "spanID":
			l.ID = k.spanID(d.fieldText("link.spanId"))
		case "attributes":
			k.nested = d.attributesAfter(k.nested, from)
		case "traceState", "trace_state", "flags", "droppedAttributesCount", "dropped_attributes_count":
			d.skip()
		default:
			k.skipped("link", key)
			d.skip()
		}
	}
	k.linkWith(l, k.nested[from:])
	k.nested = k.nested[:from]
}

// linkWith adds a link with attributes, of which one is read: that the link is
// an OpenTracing reference that follows from its target.
func (k *sink) linkWith(l trace.RawLink, attrs []trace.RawAttr) {
	for _, a := range attrs {
		if string(a.Key) == refType && string(a.Value.Bytes) == followsFrom {
			k.follows = append(k.follows, l)
		}
	}
	k.link(l)
}

// sharedHalf and refType are the attributes for which formats other than OTLP
// have fields: the server's half of a Zipkin span, and a Jaeger reference.
const (
	sharedHalf  = "zipkin.shared"
	refType     = "opentracing.ref_type"
	followsFrom = "follows_from"
)

// marks sets the flags of the span that OTLP has no fields for.
func (k *sink) marks() {
	s := &k.span
	for _, l := range k.follows {
		if l.ID == s.ParentID && l.ID != trace.NoSpanID && l.TraceID == s.TraceID {
			s.Flags |= trace.FollowsFrom
			s.Links = slices.DeleteFunc(s.Links, func(o trace.RawLink) bool { return o == l })
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

func comma(n int) string {
	if n == 0 {
		return ""
	}
	return ","
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

// appendValue writes a value as OTLP JSON.
func appendValue(to []byte, v trace.RawValue) []byte {
	switch v.Type {
	case trace.String:
		to = appendString(append(to, `{"stringValue":`...), v.Bytes)
	case trace.Int:
		to = strconv.AppendInt(append(to, `{"intValue":"`...), v.Int, 10)
		to = append(to, '"')
	case trace.Double:
		to = appendFloat(append(to, `{"doubleValue":`...), v.Double)
	case trace.Bool:
		to = strconv.AppendBool(append(to, `{"boolValue":`...), v.Int != 0)
	case trace.Bytes:
		to = base64.StdEncoding.AppendEncode(append(to, `{"bytesValue":"`...), v.Bytes)
		to = append(to, '"')
	case trace.JSON:
		return append(to, v.Bytes...)
	default:
		return append(to, "{}"...)
	}
	return append(to, '}')
}

func appendPair(to, key []byte, v trace.RawValue) []byte {
	to = appendString(append(to, `{"key":`...), key)
	to = append(to, `,"value":`...)
	return append(appendValue(to, v), '}')
}

// appendList writes attributes as the OTLP JSON of a key-value list.
func appendList(to []byte, attrs []trace.RawAttr) []byte {
	to = append(to, `{"kvlistValue":{"values":[`...)
	for i, a := range attrs {
		to = append(to, comma(i)...)
		to = appendPair(to, a.Key, a.Value)
	}
	return append(to, "]}}"...)
}

func appendFloat(to []byte, f float64) []byte {
	switch {
	case f != f:
		return append(to, `"NaN"`...)
	case f > 1.7976931348623157e308:
		return append(to, `"Infinity"`...)
	case f < -1.7976931348623157e308:
		return append(to, `"-Infinity"`...)
	}
	return strconv.AppendFloat(to, f, 'g', -1, 64)
}

const hexLower = "0123456789abcdef"

// appendString writes a JSON string.
func appendString(to, text []byte) []byte {
	to = append(to, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\t':
			to = append(to, `\t`...)
		case c == '\r':
			to = append(to, `\r`...)
		case c < ' ' || c == 0x7f:
			to = append(to, `\u00`...)
			to = append(to, hexLower[c>>4], hexLower[c&15])
		case c < utf8.RuneSelf:
			to = append(to, c)
		default:
			r, n := utf8.DecodeRune(text[i:])
			to = utf8.AppendRune(to, r)
			i += n
			continue
		}
		i++
	}
	return append(to, '"')
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
