package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// js builds a JSON document: the methods take care of the commas.
type js struct {
	b    []byte
	next bool // a comma is due before the next value
}

func (j *js) key(k string) {
	j.comma()
	j.b = append(append(append(j.b, '"'), k...), '"', ':')
	j.next = false
}

func (j *js) comma() {
	if j.next {
		j.b = append(j.b, ',')
	}
	j.next = true
}

func (j *js) open(k string, c byte) {
	if k != "" {
		j.key(k)
	}
	j.comma()
	j.b = append(j.b, c)
	j.next = false
}

func (j *js) close(c byte) {
	j.b = append(j.b, c)
	j.next = true
}

func (j *js) text(s string) {
	j.comma()
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			q, _ := json.Marshal(s)
			j.b = append(j.b, q...)
			return
		}
	}
	j.b = append(append(append(j.b, '"'), s...), '"')
}

func (j *js) str(k, v string) {
	if v != "" {
		j.key(k)
		j.text(v)
	}
}

// big writes a 64-bit integer, which JSON carries as a string.
func (j *js) big(k string, v uint64) {
	j.key(k)
	j.bigValue(v)
}

func (j *js) bigValue(v uint64) {
	j.comma()
	j.b = append(strconv.AppendUint(append(j.b, '"'), v, 10), '"')
}

func (j *js) int(k string, v int64) {
	j.key(k)
	j.comma()
	j.b = strconv.AppendInt(j.b, v, 10)
}

func (j *js) float(v float64) {
	j.comma()
	j.b = strconv.AppendFloat(j.b, v, 'g', -1, 64)
}

func (j *js) trace(id [16]byte) {
	j.key("traceId")
	j.comma()
	j.b = append(hex.AppendEncode(append(j.b, '"'), id[:]), '"')
}

func (j *js) span(k string, id uint64) {
	j.key(k)
	j.comma()
	j.b = append(j.b, '"')
	const digits = "0123456789abcdef"
	for s := 60; s >= 0; s -= 4 {
		j.b = append(j.b, digits[id>>s&15])
	}
	j.b = append(j.b, '"')
}

func (j *js) attrs(k string, as []Attr) {
	if len(as) == 0 {
		return
	}
	j.open(k, '[')
	for _, a := range as {
		j.open("", '{')
		j.str("key", a.Key)
		j.open("value", '{')
		switch v := a.Value.(type) {
		case string:
			j.key("stringValue")
			j.text(v)
		case int64:
			j.key("intValue")
			j.comma()
			j.b = append(strconv.AppendInt(append(j.b, '"'), v, 10), '"')
		case float64:
			j.key("doubleValue")
			j.float(v)
		case bool:
			j.key("boolValue")
			j.comma()
			j.b = strconv.AppendBool(j.b, v)
		case []string:
			j.open("arrayValue", '{')
			j.open("values", '[')
			for _, s := range v {
				j.open("", '{')
				j.key("stringValue")
				j.text(s)
				j.close('}')
			}
			j.close(']')
			j.close('}')
		}
		j.close('}')
		j.close('}')
	}
	j.close(']')
}

func (j *js) resource(r *Resource) {
	j.open("resource", '{')
	j.attrs("attributes", r.Attrs)
	j.close('}')
}

func (j *js) scope(s Scope) {
	j.open("scope", '{')
	j.str("name", s.Name)
	j.str("version", s.Version)
	j.close('}')
}

// AppendTracesJSON appends one TracesData document, without a line end.
func AppendTracesJSON(dst []byte, rs []ResourceSpans) []byte {
	j := &js{b: dst}
	j.open("", '{')
	j.open("resourceSpans", '[')
	for i := range rs {
		j.open("", '{')
		j.resource(rs[i].Resource)
		j.open("scopeSpans", '[')
		for k := range rs[i].Scopes {
			j.open("", '{')
			j.scope(rs[i].Scopes[k].Scope)
			j.open("spans", '[')
			spans := rs[i].Scopes[k].Spans
			for n := range spans {
				j.spanDoc(&spans[n])
			}
			j.close(']')
			j.close('}')
		}
		j.close(']')
		j.str("schemaUrl", rs[i].Resource.SchemaURL)
		j.close('}')
	}
	j.close(']')
	j.close('}')
	return j.b
}

func (j *js) spanDoc(s *Span) {
	j.open("", '{')
	j.trace(s.TraceID)
	j.span("spanId", s.SpanID)
	j.str("traceState", s.TraceState)
	if s.Parent != 0 {
		j.span("parentSpanId", s.Parent)
	}
	if s.Flags != 0 {
		j.int("flags", int64(s.Flags))
	}
	j.str("name", s.Name)
	j.int("kind", int64(s.Kind))
	j.big("startTimeUnixNano", s.Start)
	j.big("endTimeUnixNano", s.End)
	j.attrs("attributes", s.Attrs)
	if len(s.Events) > 0 {
		j.open("events", '[')
		for _, e := range s.Events {
			j.open("", '{')
			j.big("timeUnixNano", e.Time)
			j.str("name", e.Name)
			j.close('}')
		}
		j.close(']')
	}
	if len(s.Links) > 0 {
		j.open("links", '[')
		for _, l := range s.Links {
			j.open("", '{')
			j.trace(l.TraceID)
			j.span("spanId", l.SpanID)
			if l.Flags != 0 {
				j.int("flags", int64(l.Flags))
			}
			j.close('}')
		}
		j.close(']')
	}
	j.open("status", '{')
	j.str("message", s.Message)
	if s.Status != 0 {
		j.int("code", int64(s.Status))
	}
	j.close('}')
	j.close('}')
}

// AppendMetricsJSON appends one MetricsData document, without a line end.
func AppendMetricsJSON(dst []byte, rms []ResourceMetrics) []byte {
	j := &js{b: dst}
	j.open("", '{')
	j.open("resourceMetrics", '[')
	for i := range rms {
		rm := &rms[i]
		j.open("", '{')
		j.resource(rm.Resource)
		j.open("scopeMetrics", '[')
		j.open("", '{')
		j.scope(rm.Scope)
		j.open("metrics", '[')
		for k := range rm.Metrics {
			j.metric(&rm.Metrics[k])
		}
		j.close(']')
		j.close('}')
		j.close(']')
		j.str("schemaUrl", rm.Resource.SchemaURL)
		j.close('}')
	}
	j.close(']')
	j.close('}')
	return j.b
}

func (j *js) metric(m *Metric) {
	j.open("", '{')
	j.str("name", m.Name)
	j.str("unit", m.Unit)
	switch m.Type {
	case Gauge:
		j.open("gauge", '{')
	case Histogram:
		j.open("histogram", '{')
	default:
		j.open("sum", '{')
	}
	j.open("dataPoints", '[')
	for i := range m.Points {
		j.point(m, &m.Points[i])
	}
	j.close(']')
	if m.Type != Gauge {
		j.int("aggregationTemporality", 2)
	}
	if m.Type == Counter {
		j.key("isMonotonic")
		j.comma()
		j.b = append(j.b, "true"...)
	}
	j.close('}')
	j.close('}')
}

func (j *js) point(m *Metric, p *Point) {
	j.open("", '{')
	j.attrs("attributes", p.Attrs)
	if m.Type != Gauge {
		j.big("startTimeUnixNano", p.Start)
	}
	j.big("timeUnixNano", p.Time)
	switch {
	case m.Type == Histogram:
		j.big("count", p.Count)
		j.key("sum")
		j.float(p.Sum)
		j.open("bucketCounts", '[')
		for _, c := range p.Buckets {
			j.bigValue(c)
		}
		j.close(']')
		j.open("explicitBounds", '[')
		for _, b := range p.Bounds {
			j.float(b)
		}
		j.close(']')
		if len(p.Exemplars) > 0 {
			j.open("exemplars", '[')
			for _, x := range p.Exemplars {
				j.open("", '{')
				j.big("timeUnixNano", x.Time)
				j.key("asDouble")
				j.float(x.Value)
				j.trace(x.TraceID)
				j.span("spanId", x.SpanID)
				j.close('}')
			}
			j.close(']')
		}
		if p.Count > 0 {
			j.key("min")
			j.float(p.Min)
			j.key("max")
			j.float(p.Max)
		}
	case p.IsFloat:
		j.key("asDouble")
		j.float(p.Float)
	default:
		j.key("asInt")
		j.comma()
		j.b = append(strconv.AppendInt(append(j.b, '"'), p.Int, 10), '"')
	}
	j.close('}')
}
