package otlp

import (
	"encoding/binary"
	"math"
)

// pb builds a protobuf message. Field numbers are those of opentelemetry-proto.
type pb struct{ b []byte }

func (p *pb) tag(field, wire int) { p.b = binary.AppendUvarint(p.b, uint64(field<<3|wire)) }

func (p *pb) varint(field int, v uint64) {
	if v != 0 {
		p.tag(field, 0)
		p.b = binary.AppendUvarint(p.b, v)
	}
}

func (p *pb) fixed64(field int, v uint64) {
	p.tag(field, 1)
	p.b = binary.LittleEndian.AppendUint64(p.b, v)
}

func (p *pb) double(field int, v float64) { p.fixed64(field, math.Float64bits(v)) }

func (p *pb) fixed32(field int, v uint32) {
	if v != 0 {
		p.tag(field, 5)
		p.b = binary.LittleEndian.AppendUint32(p.b, v)
	}
}

func (p *pb) str(field int, s string) {
	if s != "" {
		p.tag(field, 2)
		p.b = append(binary.AppendUvarint(p.b, uint64(len(s))), s...)
	}
}

func (p *pb) bytes(field int, s []byte) {
	p.tag(field, 2)
	p.b = append(binary.AppendUvarint(p.b, uint64(len(s))), s...)
}

func (p *pb) spanID(field int, id uint64) {
	if id != 0 {
		p.tag(field, 2)
		p.b = binary.BigEndian.AppendUint64(append(p.b, 8), id)
	}
}

// message writes a nested message: fill appends its fields, then its length is put before them.
func (p *pb) message(field int, fill func()) {
	p.tag(field, 2)
	at := len(p.b)
	fill()
	n := len(p.b) - at
	var l [binary.MaxVarintLen64]byte
	k := binary.PutUvarint(l[:], uint64(n))
	p.b = append(p.b, l[:k]...)
	copy(p.b[at+k:], p.b[at:at+n])
	copy(p.b[at:], l[:k])
}

func (p *pb) attrs(field int, as []Attr) {
	for _, a := range as {
		p.message(field, func() {
			p.str(1, a.Key)
			p.message(2, func() { p.value(a.Value) })
		})
	}
}

func (p *pb) value(v any) {
	switch v := v.(type) {
	case string:
		p.bytes(1, []byte(v))
	case bool:
		p.tag(2, 0)
		p.b = append(p.b, 0)
		if v {
			p.b[len(p.b)-1] = 1
		}
	case int64:
		p.tag(3, 0)
		p.b = binary.AppendUvarint(p.b, uint64(v))
	case float64:
		p.double(4, v)
	case []string:
		p.message(5, func() {
			for _, s := range v {
				p.message(1, func() { p.value(s) })
			}
		})
	}
}

func (p *pb) scope(s Scope) {
	p.message(1, func() {
		p.str(1, s.Name)
		p.str(2, s.Version)
	})
}

// AppendTracesProto appends one TracesData message, without its length.
func AppendTracesProto(dst []byte, rs []ResourceSpans) []byte {
	p := &pb{dst}
	for i := range rs {
		p.message(1, func() {
			p.message(1, func() { p.attrs(1, rs[i].Resource.Attrs) })
			for k := range rs[i].Scopes {
				p.message(2, func() {
					p.scope(rs[i].Scopes[k].Scope)
					spans := rs[i].Scopes[k].Spans
					for n := range spans {
						p.message(2, func() { p.span(&spans[n]) })
					}
				})
			}
			p.str(3, rs[i].Resource.SchemaURL)
		})
	}
	return p.b
}

func (p *pb) span(s *Span) {
	p.bytes(1, s.TraceID[:])
	p.spanID(2, s.SpanID)
	p.str(3, s.TraceState)
	p.spanID(4, s.Parent)
	p.str(5, s.Name)
	p.varint(6, uint64(s.Kind))
	p.fixed64(7, s.Start)
	p.fixed64(8, s.End)
	p.attrs(9, s.Attrs)
	for _, e := range s.Events {
		p.message(11, func() {
			p.fixed64(1, e.Time)
			p.str(2, e.Name)
		})
	}
	for _, l := range s.Links {
		p.message(13, func() {
			p.bytes(1, l.TraceID[:])
			p.spanID(2, l.SpanID)
			p.fixed32(6, l.Flags)
		})
	}
	p.message(15, func() {
		p.str(2, s.Message)
		p.varint(3, uint64(s.Status))
	})
	p.tag(16, 5)
	p.b = binary.LittleEndian.AppendUint32(p.b, s.Flags)
}

// AppendMetricsProto appends one MetricsData message, without its length.
func AppendMetricsProto(dst []byte, rms []ResourceMetrics) []byte {
	p := &pb{dst}
	for i := range rms {
		rm := &rms[i]
		p.message(1, func() {
			p.message(1, func() { p.attrs(1, rm.Resource.Attrs) })
			p.message(2, func() {
				p.scope(rm.Scope)
				for k := range rm.Metrics {
					p.message(2, func() { p.metric(&rm.Metrics[k]) })
				}
			})
			p.str(3, rm.Resource.SchemaURL)
		})
	}
	return p.b
}

func (p *pb) metric(m *Metric) {
	p.str(1, m.Name)
	p.str(3, m.Unit)
	field := map[MetricType]int{Gauge: 5, Counter: 7, UpDownCounter: 7, Histogram: 9}[m.Type]
	p.message(field, func() {
		for i := range m.Points {
			p.message(1, func() { p.point(m, &m.Points[i]) })
		}
		if m.Type != Gauge {
			p.varint(2, 2)
		}
		if m.Type == Counter {
			p.varint(3, 1)
		}
	})
}

func (p *pb) point(m *Metric, d *Point) {
	if m.Type != Gauge {
		p.fixed64(2, d.Start)
	}
	p.fixed64(3, d.Time)
	if m.Type != Histogram {
		if d.IsFloat {
			p.double(4, d.Float)
		} else {
			p.fixed64(6, uint64(d.Int))
		}
		p.attrs(7, d.Attrs)
		return
	}
	p.fixed64(4, d.Count)
	p.double(5, d.Sum)
	p.message(6, func() {
		for _, c := range d.Buckets {
			p.b = binary.LittleEndian.AppendUint64(p.b, c)
		}
	})
	p.message(7, func() {
		for _, b := range d.Bounds {
			p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(b))
		}
	})
	for _, x := range d.Exemplars {
		p.message(8, func() {
			p.fixed64(2, x.Time)
			p.double(3, x.Value)
			p.spanID(4, x.SpanID)
			p.bytes(5, x.TraceID[:])
		})
	}
	p.attrs(9, d.Attrs)
	if d.Count > 0 {
		p.double(11, d.Min)
		p.double(12, d.Max)
	}
}
