package ingest

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// An Encoding is how Convert writes.
type Encoding uint8

const (
	JSONLines   Encoding = iota // OTLP JSON, one request a line
	ProtoFrames                 // OTLP protobuf, each request behind its length in four bytes, as the Collector's file exporter writes
)

// requestSize is about how many spans or points one request holds.
const requestSize = 1024

// Convert writes the spans and metric points of a set that was read with
// KeepAll. What OTLP has no field for is written as other tools do: a parent
// that did not wait as a link to it that says opentracing.ref_type =
// follows_from, the shared half of a Zipkin span as the attribute zipkin.shared.
// Not kept, and so not written, are the descriptions, scopes and schema URLs of
// metrics, and the attributes of exemplars; Set.Lost counts them. A time of zero, which Jaeger has,
// is no time in OTLP.
func Convert(w io.Writer, set *Set, encoding Encoding) error {
	c := &converter{set: set, w: w, framed: encoding == ProtoFrames}
	if c.framed {
		c.out = &protoOut{}
	} else {
		c.out = &jsonOut{}
	}
	if err := c.spans(); err != nil {
		return err
	}
	return c.metrics()
}

// An out builds one message. Every field is given by its number and its name;
// each encoding uses one of them.
type out interface {
	message(num int, name string, fields func())
	list(num int, name string, n int, element func(i int)) // of messages
	text(num int, name, v string)
	uint(num int, name string, v uint64)  // varint; a number in JSON
	sint(num int, name string, v int64)   // zigzag
	fixed(num int, name string, v uint64) // 8 bytes; a text in JSON
	sfixed(num int, name string, v int64) // likewise
	fixed32(num int, name string, v uint32)
	double(num int, name string, v float64)
	fixeds(num int, name string, v []uint64)   // packed
	varints(num int, name string, v []uint64)  // packed
	doubles(num int, name string, v []float64) // packed
	traceID(num int, name string, id trace.TraceID, text string)
	spanID(num int, name string, id trace.SpanID, text string)
	value(num int, name string, v trace.RawValue)
	take() []byte // the message, and an empty one begins
}

type converter struct {
	set    *Set
	w      io.Writer
	out    out
	framed bool
}

// flush writes the request that was built.
func (c *converter) flush() error {
	b := c.out.take()
	if c.framed {
		var head [4]byte
		binary.BigEndian.PutUint32(head[:], uint32(len(b)))
		if _, err := c.w.Write(head[:]); err != nil {
			return err
		}
	} else {
		b = append(b, '\n')
	}
	_, err := c.w.Write(b)
	return err
}

func (c *converter) spans() error {
	s := c.set.Spans
	for from := 0; from < s.Len(); from += requestSize {
		refs := make([]trace.SpanRef, min(requestSize, s.Len()-from))
		for i := range refs {
			refs[i] = trace.SpanRef(from + i)
		}
		slices.SortStableFunc(refs, func(a, b trace.SpanRef) int {
			x, y := s.Scope(s.ScopeOf(a)), s.Scope(s.ScopeOf(b))
			return cmp.Or(cmp.Compare(s.ResourceOf(a), s.ResourceOf(b)),
				cmp.Compare(x.ResourceSchemaURL, y.ResourceSchemaURL), cmp.Compare(x.ResourceDropped, y.ResourceDropped),
				cmp.Compare(s.ScopeOf(a), s.ScopeOf(b)))
		})
		resources := runs(refs, func(a, b trace.SpanRef) bool {
			x, y := s.Scope(s.ScopeOf(a)), s.Scope(s.ScopeOf(b))
			return s.ResourceOf(a) == s.ResourceOf(b) && x.ResourceSchemaURL == y.ResourceSchemaURL && x.ResourceDropped == y.ResourceDropped
		})
		c.out.list(1, "resourceSpans", len(resources), func(i int) {
			refs := resources[i]
			scope := s.Scope(s.ScopeOf(refs[0]))
			c.resource(s.ResourceOf(refs[0]), scope.ResourceDropped)
			scopes := runs(refs, func(a, b trace.SpanRef) bool { return s.ScopeOf(a) == s.ScopeOf(b) })
			c.out.list(2, "scopeSpans", len(scopes), func(i int) {
				scope := s.Scope(s.ScopeOf(scopes[i][0]))
				c.scope(scope)
				c.out.list(2, "spans", len(scopes[i]), func(j int) { c.span(scopes[i][j]) })
				c.out.text(3, "schemaUrl", s.String(scope.SchemaURL))
			})
			c.out.text(3, "schemaUrl", s.String(scope.ResourceSchemaURL))
		})
		if err := c.flush(); err != nil {
			return err
		}
	}
	return nil
}

// runs cuts a list where neighbours differ.
func runs[T any](list []T, same func(a, b T) bool) (out [][]T) {
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && same(list[to-1], list[to]) {
			to++
		}
		out = append(out, list[from:to])
		from = to
	}
	return out
}

func (c *converter) resource(id trace.ResourceID, dropped uint32) {
	attrs := c.set.Tables.Resource(id).Attrs
	c.out.message(1, "resource", func() {
		c.attrs(1, attrs)
		c.out.uint(2, "droppedAttributesCount", uint64(dropped))
	})
}

func (c *converter) scope(s trace.Scope) {
	if s.Name == 0 && s.Version == 0 && s.Attrs == 0 && s.Dropped == 0 {
		return
	}
	t := c.set.Tables
	c.out.message(1, "scope", func() {
		c.out.text(1, "name", t.String(s.Name))
		c.out.text(2, "version", t.String(s.Version))
		if s.Attrs != 0 {
			list := parseList(t.Text(s.Attrs))
			c.out.list(3, "attributes", len(list), func(i int) { c.pair(list[i]) })
		}
		c.out.uint(4, "droppedAttributesCount", uint64(s.Dropped))
	})
}

func (c *converter) attrs(num int, attrs []trace.Attr, more ...trace.RawAttr) {
	t := c.set.Tables
	c.out.list(num, "attributes", len(attrs)+len(more), func(i int) {
		if i < len(attrs) {
			c.pair(trace.RawAttr{Key: []byte(t.String(attrs[i].Key)), Value: t.Raw(attrs[i].Value)})
			return
		}
		c.pair(more[i-len(attrs)])
	})
}

func (c *converter) pair(a trace.RawAttr) {
	c.out.text(1, "key", string(a.Key))
	c.out.value(2, "value", a.Value)
}

func (c *converter) span(r trace.SpanRef) {
	s, o := c.set.Spans, c.out
	id := s.TraceID(r)
	o.traceID(1, "traceId", id, s.TraceIDText(id))
	o.spanID(2, "spanId", s.ID(r), s.SpanIDText(s.ID(r)))
	o.text(3, "traceState", s.String(s.TraceState(r)))
	parent := s.ParentID(r)
	if parent != trace.NoSpanID {
		o.spanID(4, "parentSpanId", parent, s.SpanIDText(parent))
	}
	o.text(5, "name", s.String(s.Name(r)))
	o.uint(6, "kind", uint64(s.Kind(r)))
	iv := s.Interval(r)
	// Always both: on the wire they tell a span from a metric.
	o.fixed(7, "startTimeUnixNano", uint64(max(iv.Start, 0)))
	o.fixed(8, "endTimeUnixNano", uint64(max(iv.End, 0)))
	var more []trace.RawAttr
	if s.SpanFlags(r)&trace.Shared != 0 {
		more = append(more, trace.RawAttr{Key: []byte(sharedHalf), Value: boolValue(true)})
	}
	c.attrs(9, s.Attrs(r), more...)
	x := s.More(r)
	if x == nil {
		x = new(trace.More)
	}
	o.uint(10, "droppedAttributesCount", uint64(x.DroppedAttributes))
	events := s.Events(r)
	o.list(11, "events", len(events), func(i int) {
		c.time(1, "timeUnixNano", events[i].Time)
		o.text(2, "name", s.String(events[i].Name))
		c.attrs(3, events[i].Attrs)
		if i < len(x.EventsDropped) {
			o.uint(4, "droppedAttributesCount", uint64(x.EventsDropped[i]))
		}
	})
	o.uint(12, "droppedEventsCount", uint64(x.DroppedEvents))
	links := s.Links(r)
	n := len(links)
	follows := s.SpanFlags(r)&trace.FollowsFrom != 0
	if follows {
		n++
	}
	o.list(13, "links", n, func(i int) {
		l := trace.Link{TraceID: id, ID: parent}
		if i < len(links) {
			l = links[i]
		}
		o.traceID(1, "traceId", l.TraceID, s.TraceIDText(l.TraceID))
		o.spanID(2, "spanId", l.ID, s.SpanIDText(l.ID))
		if i < len(x.Links) {
			m := x.Links[i]
			o.text(3, "traceState", s.String(m.TraceState))
			c.attrs(4, m.Attrs)
			o.uint(5, "droppedAttributesCount", uint64(m.Dropped))
			o.fixed32(6, "flags", m.Flags)
		}
		if i == len(links) {
			c.attrs(4, nil, trace.RawAttr{Key: []byte(refType), Value: trace.RawValue{Type: trace.String, Bytes: []byte(followsFrom)}})
		}
	})
	o.uint(14, "droppedLinksCount", uint64(x.DroppedLinks))
	status, message := s.Status(r), s.String(s.StatusMessage(r))
	if status != trace.StatusUnset || message != "" {
		o.message(15, "status", func() {
			o.text(2, "message", message)
			o.uint(3, "code", uint64(status))
		})
	}
	o.fixed32(16, "flags", x.Flags)
}

func (c *converter) time(num int, name string, t trace.Time) {
	if t > 0 {
		c.out.fixed(num, name, uint64(t))
	}
}

// pieces cuts series into pieces of a request's size, ordered by resource.
func (c *converter) pieces() []metric.Stored {
	var all []metric.Stored
	for _, s := range c.set.Metrics.Stored() {
		for len(s.Points) > requestSize {
			piece := s
			piece.Points, piece.Exemplars = s.Points[:requestSize], nil
			s.Points = s.Points[requestSize:]
			all = append(all, piece)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b metric.Stored) int { return cmp.Compare(a.Resource, b.Resource) })
	return all
}

func (c *converter) metrics() error {
	n := 0
	var request []metric.Stored
	write := func() error {
		if len(request) == 0 {
			return nil
		}
		resources := runs(request, func(a, b metric.Stored) bool { return a.Resource == b.Resource })
		c.out.list(1, "resourceMetrics", len(resources), func(i int) {
			c.resource(resources[i][0].Resource, 0)
			c.out.list(2, "scopeMetrics", 1, func(int) {
				c.out.list(2, "metrics", len(resources[i]), func(j int) { c.metric(&resources[i][j]) })
			})
		})
		request, n = request[:0], 0
		return c.flush()
	}
	for _, s := range c.pieces() {
		request = append(request, s)
		if n += len(s.Points); n >= requestSize {
			if err := write(); err != nil {
				return err
			}
		}
	}
	return write()
}

func (c *converter) metric(s *metric.Stored) {
	t, o := c.set.Tables, c.out
	o.text(1, "name", t.String(s.Name))
	o.text(3, "unit", t.String(s.Unit))
	num, name := 0, ""
	switch s.Type {
	case metric.Gauge:
		num, name = 5, "gauge"
	case metric.Sum:
		num, name = 7, "sum"
	case metric.Histogram:
		num, name = 9, "histogram"
	case metric.ExponentialHistogram:
		num, name = 10, "exponentialHistogram"
	case metric.Summary:
		num, name = 11, "summary"
	}
	o.message(num, name, func() {
		o.list(1, "dataPoints", len(s.Points), func(i int) {
			exemplars := s.Exemplars
			if i < len(s.Points)-1 {
				exemplars = nil // all stand with the last point
			}
			c.point(s, &s.Points[i], exemplars)
		})
		if s.Type == metric.Sum || s.Type == metric.Histogram || s.Type == metric.ExponentialHistogram {
			o.uint(2, "aggregationTemporality", uint64(s.Temporality))
		}
		if s.Monotonic {
			o.uint(3, "isMonotonic", 1)
		}
	})
}

func (c *converter) point(s *metric.Stored, p *metric.Point, exemplars []metric.Exemplar) {
	o := c.out
	var attrs, flags, examples int
	switch s.Type {
	case metric.Gauge, metric.Sum:
		attrs, flags, examples = 7, 8, 5
	case metric.Histogram:
		attrs, flags, examples = 9, 10, 8
	case metric.ExponentialHistogram:
		attrs, flags, examples = 1, 10, 11
	case metric.Summary:
		attrs, flags = 7, 8
	}
	c.attrs(attrs, s.Attrs)
	c.time(2, "startTimeUnixNano", p.Start)
	c.time(3, "timeUnixNano", p.Time)
	if p.NoValue {
		o.uint(flags, "flags", 1)
	}
	if d := p.Dist; d != nil {
		c.dist(s.Type, d)
	} else if !p.NoValue && attrs == 7 && s.Type != metric.Summary {
		if p.IsInt {
			o.sfixed(6, "asInt", p.Int())
		} else {
			o.double(4, "asDouble", p.Value())
		}
	}
	if examples == 0 {
		return
	}
	o.list(examples, "exemplars", len(exemplars), func(i int) {
		e := exemplars[i]
		c.time(2, "timeUnixNano", e.Time)
		o.double(3, "asDouble", e.Value)
		if e.SpanID != trace.NoSpanID {
			o.spanID(4, "spanId", e.SpanID, c.set.Spans.SpanIDText(e.SpanID))
		}
		if !e.TraceID.IsZero() {
			o.traceID(5, "traceId", e.TraceID, c.set.Spans.TraceIDText(e.TraceID))
		}
	})
}

func (c *converter) dist(t metric.Type, d *metric.Dist) {
	o := c.out
	o.fixed(4, "count", d.Count)
	if d.HasSum {
		o.double(5, "sum", d.Sum)
	}
	low, high := 11, 12
	switch t {
	case metric.Summary:
		o.list(6, "quantileValues", len(d.Quantiles), func(i int) {
			o.double(1, "quantile", d.Quantiles[i].Quantile)
			o.double(2, "value", d.Quantiles[i].Value)
		})
		return
	case metric.Histogram:
		o.fixeds(6, "bucketCounts", d.Counts)
		o.doubles(7, "explicitBounds", d.Bounds)
	case metric.ExponentialHistogram:
		low, high = 12, 13
		o.sint(6, "scale", int64(d.Scale))
		o.fixed(7, "zeroCount", d.Zero)
		c.run(8, "positive", d.Pos)
		c.run(9, "negative", d.Neg)
		o.double(14, "zeroThreshold", d.Threshold)
	}
	if d.HasMin {
		o.double(low, "min", d.Min)
	}
	if d.HasMax {
		o.double(high, "max", d.Max)
	}
}

func (c *converter) run(num int, name string, r metric.Run) {
	if len(r.Counts) == 0 {
		return
	}
	c.out.message(num, name, func() {
		c.out.sint(1, "offset", r.Offset)
		c.out.varints(2, "bucketCounts", r.Counts)
	})
}
