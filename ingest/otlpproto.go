package ingest

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/tailscope/tailscope/trace"
)

// A protoDecoder reads OTLP protobuf requests into a sink: this file and its$
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
