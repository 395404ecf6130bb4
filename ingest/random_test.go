package ingest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// names are texts that a decoder can get wrong.
var names = []string{
	"", "GET /", "naïve café", "日本語", "🙂", "quote\" back\\ slash/", "line\nend\ttab", "\u0001\u001f\u007f", "\u202eevil", "<script>", "a.b.c",
	"service.name", "peer.service", "http.route", "a name that is a good deal longer than eight bytes", "é", "12345678", "1234567é", "\u2028",
}

func name(r *rand.Rand) string { return names[r.IntN(len(names))] }

func randomTraceID(r *rand.Rand) (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[:], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	return id
}

func randomSpanID(r *rand.Rand) (id pcommon.SpanID) {
	binary.BigEndian.PutUint64(id[:], r.Uint64()|1)
	return id
}

const t0 = 1767268800_000000000

func randomTime(r *rand.Rand) pcommon.Timestamp { return pcommon.Timestamp(t0 + r.Int64N(1e12)) }

func randomValue(r *rand.Rand, v pcommon.Value, depth int) {
	n := 8
	if depth > 2 {
		n = 5
	}
	switch r.IntN(n) {
	case 0, 1:
		v.SetStr(name(r))
	case 2:
		v.SetInt(int64(r.Uint64()))
	case 3:
		v.SetDouble([]float64{0, 1.5, -2e-9, 1e300, 3}[r.IntN(5)])
	case 4:
		v.SetBool(r.IntN(2) == 0)
	case 5:
		b := v.SetEmptyBytes()
		for range 1 + r.IntN(5) {
			b.Append(byte(r.Uint32()))
		}
	case 6:
		s := v.SetEmptySlice()
		for range 1 + r.IntN(3) {
			randomValue(r, s.AppendEmpty(), depth+1)
		}
	case 7:
		m := v.SetEmptyMap()
		for i := range 1 + r.IntN(3) {
			randomValue(r, m.PutEmpty(fmt.Sprint(name(r), i)), depth+1)
		}
	}
}

func randomAttrs(r *rand.Rand, m pcommon.Map) {
	for i := range r.IntN(5) {
		randomValue(r, m.PutEmpty(fmt.Sprint(name(r), i)), 0)
	}
}

func randomTraces(r *rand.Rand) ptrace.Traces {
	td := ptrace.NewTraces()
	for range 1 + r.IntN(3) {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", name(r))
		randomAttrs(r, rs.Resource().Attributes())
		for range 1 + r.IntN(2) {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName(name(r))
			ss.Scope().SetVersion(name(r))
			randomAttrs(r, ss.Scope().Attributes())
			for range r.IntN(5) {
				s := ss.Spans().AppendEmpty()
				s.SetTraceID(randomTraceID(r))
				s.SetSpanID(randomSpanID(r))
				if r.IntN(2) == 0 {
					s.SetParentSpanID(randomSpanID(r))
				}
				s.SetName(name(r))
				s.SetKind(ptrace.SpanKind(r.IntN(6)))
				s.SetStartTimestamp(randomTime(r))
				if r.IntN(10) > 0 {
					s.SetEndTimestamp(randomTime(r))
				}
				s.TraceState().FromRaw([]string{"", "ot=th:8", "a=b,c=d"}[r.IntN(3)])
				s.SetFlags(uint32(r.IntN(300)))
				s.Status().SetCode(ptrace.StatusCode(r.IntN(3)))
				s.Status().SetMessage(name(r))
				randomAttrs(r, s.Attributes())
				for range r.IntN(3) {
					e := s.Events().AppendEmpty()
					e.SetName(name(r))
					e.SetTimestamp(randomTime(r))
					randomAttrs(r, e.Attributes())
				}
				for range r.IntN(2) {
					l := s.Links().AppendEmpty()
					l.SetTraceID(randomTraceID(r))
					l.SetSpanID(randomSpanID(r))
					randomAttrs(r, l.Attributes())
				}
			}
		}
	}
	return td
}

func randomMetrics(r *rand.Rand) pmetric.Metrics {
	md := pmetric.NewMetrics()
	number := func(p pmetric.NumberDataPoint) {
		p.SetStartTimestamp(t0)
		p.SetTimestamp(randomTime(r))
		randomAttrs(r, p.Attributes())
		switch r.IntN(3) {
		case 0:
			p.SetIntValue(int64(r.Uint64()))
		case 1:
			p.SetDoubleValue(r.NormFloat64())
		case 2:
			p.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
		}
		for range r.IntN(2) {
			e := p.Exemplars().AppendEmpty()
			e.SetTraceID(randomTraceID(r))
			e.SetSpanID(randomSpanID(r))
			e.SetTimestamp(randomTime(r))
			e.SetDoubleValue(r.Float64())
		}
	}
	for range 1 + r.IntN(2) {
		rm := md.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("service.name", name(r))
		sm := rm.ScopeMetrics().AppendEmpty()
		for range 1 + r.IntN(4) {
			m := sm.Metrics().AppendEmpty()
			m.SetName("m" + name(r))
			m.SetUnit([]string{"", "s", "ms", "{connection}"}[r.IntN(4)])
			temporality := pmetric.AggregationTemporality(r.IntN(3))
			switch r.IntN(5) {
			case 0:
				number(m.SetEmptyGauge().DataPoints().AppendEmpty())
			case 1:
				s := m.SetEmptySum()
				s.SetIsMonotonic(r.IntN(2) == 0)
				s.SetAggregationTemporality(temporality)
				for range r.IntN(3) {
					number(s.DataPoints().AppendEmpty())
				}
			case 2:
				h := m.SetEmptyHistogram()
				h.SetAggregationTemporality(temporality)
				p := h.DataPoints().AppendEmpty()
				p.SetTimestamp(randomTime(r))
				a, b := r.Uint64N(1000), r.Uint64N(1000)
				p.SetCount(a + b)
				p.ExplicitBounds().FromRaw([]float64{0.5})
				p.BucketCounts().FromRaw([]uint64{a, b})
				p.SetSum(r.Float64())
				p.SetMin(0.25)
				p.SetMax(7)
				randomAttrs(r, p.Attributes())
			case 3:
				h := m.SetEmptyExponentialHistogram()
				h.SetAggregationTemporality(temporality)
				p := h.DataPoints().AppendEmpty()
				p.SetTimestamp(randomTime(r))
				p.SetScale(int32(r.IntN(20) - 10))
				p.SetZeroCount(1)
				p.SetZeroThreshold(1e-6)
				p.Positive().SetOffset(int32(r.IntN(100) - 50))
				p.Positive().BucketCounts().FromRaw([]uint64{1, 0, 300})
				p.Negative().SetOffset(-3)
				p.Negative().BucketCounts().FromRaw([]uint64{2})
				p.SetCount(304)
				p.SetSum(1)
			case 4:
				p := m.SetEmptySummary().DataPoints().AppendEmpty()
				p.SetTimestamp(randomTime(r))
				p.SetCount(7)
				p.SetSum(2.5)
				q := p.QuantileValues().AppendEmpty()
				q.SetQuantile(0.99)
				q.SetValue(r.Float64())
			}
		}
	}
	return md
}

// pdataSet puts what pdata holds into stores, as the slow and obvious way.
func pdataSet(td ptrace.Traces, md pmetric.Metrics) (*trace.Store, *metric.Store) {
	s := trace.NewStore(trace.NewTables())
	s.KeepAll = true
	m := metric.NewStore(s.Tables)
	for _, rs := range td.ResourceSpans().All() {
		resource := s.AddResource(pdataAttrs(rs.Resource().Attributes()))
		for _, ss := range rs.ScopeSpans().All() {
			scope := trace.Scope{Name: s.InternString(ss.Scope().Name()), Version: s.InternString(ss.Scope().Version())}
			if ss.Scope().Attributes().Len() > 0 {
				scope.Attrs = s.Value(trace.RawValue{Type: trace.JSON, Bytes: appendList(nil, pdataAttrs(ss.Scope().Attributes()))})
			}
			for _, sp := range ss.Spans().All() {
				raw := trace.RawSpan{
					TraceID: trace.TraceID(sp.TraceID()), ID: pdataSpanID(sp.SpanID()), ParentID: pdataSpanID(sp.ParentSpanID()),
					Start: pdataTime(sp.StartTimestamp()), End: pdataTime(sp.EndTimestamp()),
					Kind: trace.Kind(sp.Kind()), Status: trace.Status(sp.Status().Code()),
					Name: []byte(sp.Name()), StatusMessage: []byte(sp.Status().Message()), TraceState: []byte(sp.TraceState().AsRaw()),
					Resource: resource, Scope: s.AddScope(scope), Attrs: pdataAttrs(sp.Attributes()),
				}
				for _, e := range sp.Events().All() {
					raw.Events = append(raw.Events, trace.RawEvent{Time: pdataTime(e.Timestamp()), Name: []byte(e.Name()), Attrs: pdataAttrs(e.Attributes())})
				}
				for _, l := range sp.Links().All() {
					raw.Links = append(raw.Links, trace.RawLink{TraceID: trace.TraceID(l.TraceID()), ID: pdataSpanID(l.SpanID())})
				}
				s.Add(&raw)
			}
		}
	}
	for _, rm := range md.ResourceMetrics().All() {
		resource := s.AddResource(pdataAttrs(rm.Resource().Attributes()))
		for _, sm := range rm.ScopeMetrics().All() {
			for _, x := range sm.Metrics().All() {
				base := metric.RawPoint{Name: []byte(x.Name()), Unit: []byte(x.Unit()), Resource: resource}
				pdataPoints(x, base, func(p metric.RawPoint) { m.Add(&p) })
			}
		}
	}
	return s, m
}

func pdataTime(t pcommon.Timestamp) trace.Time {
	if t == 0 {
		return trace.NoTime
	}
	return trace.Time(t)
}

func pdataSpanID(id pcommon.SpanID) trace.SpanID { return trace.SpanID(binary.BigEndian.Uint64(id[:])) }

func pdataAttrs(m pcommon.Map) (out []trace.RawAttr) {
	for k, v := range m.All() {
		out = append(out, trace.RawAttr{Key: []byte(k), Value: pdataValue(v)})
	}
	return out
}

func pdataValue(v pcommon.Value) trace.RawValue {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return trace.RawValue{Type: trace.String, Bytes: []byte(v.Str())}
	case pcommon.ValueTypeInt:
		return trace.RawValue{Type: trace.Int, Int: v.Int()}
	case pcommon.ValueTypeDouble:
		return trace.RawValue{Type: trace.Double, Double: v.Double()}
	case pcommon.ValueTypeBool:
		return boolValue(v.Bool())
	case pcommon.ValueTypeBytes:
		return trace.RawValue{Type: trace.Bytes, Bytes: v.Bytes().AsRaw()}
	case pcommon.ValueTypeMap:
		return trace.RawValue{Type: trace.JSON, Bytes: appendList(nil, pdataAttrs(v.Map()))}
	case pcommon.ValueTypeSlice:
		b := []byte(`{"arrayValue":{"values":[`)
		for i, e := range v.Slice().All() {
			b = append(b, comma(i)...)
			b = appendValue(b, pdataValue(e))
		}
		return trace.RawValue{Type: trace.JSON, Bytes: append(b, "]}}"...)}
	}
	return trace.RawValue{}
}

func pdataPoints(x pmetric.Metric, base metric.RawPoint, add func(metric.RawPoint)) {
	exemplars := func(es pmetric.ExemplarSlice) (out []metric.RawExemplar) {
		for _, e := range es.All() {
			v := e.DoubleValue()
			if e.ValueType() == pmetric.ExemplarValueTypeInt {
				v = float64(e.IntValue())
			}
			out = append(out, metric.RawExemplar{Value: v, Time: pdataTime(e.Timestamp()), TraceID: trace.TraceID(e.TraceID()), SpanID: pdataSpanID(e.SpanID())})
		}
		return out
	}
	number := func(ps pmetric.NumberDataPointSlice) {
		for _, p := range ps.All() {
			q := base
			q.Attrs, q.Start, q.Time = pdataAttrs(p.Attributes()), pdataTime(p.StartTimestamp()), pdataTime(p.Timestamp())
			q.NoValue = p.Flags().NoRecordedValue()
			q.IsInt, q.Int, q.Float = p.ValueType() == pmetric.NumberDataPointValueTypeInt, p.IntValue(), p.DoubleValue()
			q.Exemplars = exemplars(p.Exemplars())
			add(q)
		}
	}
	switch x.Type() {
	case pmetric.MetricTypeGauge:
		base.Type = metric.Gauge
		number(x.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		base.Type, base.Monotonic, base.Temporality = metric.Sum, x.Sum().IsMonotonic(), metric.Temporality(x.Sum().AggregationTemporality())
		number(x.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		base.Type, base.Temporality = metric.Histogram, metric.Temporality(x.Histogram().AggregationTemporality())
		for _, p := range x.Histogram().DataPoints().All() {
			q := base
			q.Attrs, q.Start, q.Time = pdataAttrs(p.Attributes()), pdataTime(p.StartTimestamp()), pdataTime(p.Timestamp())
			q.NoValue = p.Flags().NoRecordedValue()
			q.Count, q.Sum, q.HasSum, q.Min, q.HasMin, q.Max, q.HasMax = p.Count(), p.Sum(), p.HasSum(), p.Min(), p.HasMin(), p.Max(), p.HasMax()
			q.Bounds, q.BucketCounts = p.ExplicitBounds().AsRaw(), p.BucketCounts().AsRaw()
			q.Exemplars = exemplars(p.Exemplars())
			add(q)
		}
	case pmetric.MetricTypeExponentialHistogram:
		base.Type, base.Temporality = metric.ExponentialHistogram, metric.Temporality(x.ExponentialHistogram().AggregationTemporality())
		for _, p := range x.ExponentialHistogram().DataPoints().All() {
			q := base
			q.Attrs, q.Start, q.Time = pdataAttrs(p.Attributes()), pdataTime(p.StartTimestamp()), pdataTime(p.Timestamp())
			q.NoValue = p.Flags().NoRecordedValue()
			q.Count, q.Sum, q.HasSum, q.Min, q.HasMin, q.Max, q.HasMax = p.Count(), p.Sum(), p.HasSum(), p.Min(), p.HasMin(), p.Max(), p.HasMax()
			q.Scale, q.ZeroCount, q.ZeroThreshold = p.Scale(), p.ZeroCount(), p.ZeroThreshold()
			q.PosOffset, q.PosCounts = p.Positive().Offset(), p.Positive().BucketCounts().AsRaw()
			q.NegOffset, q.NegCounts = p.Negative().Offset(), p.Negative().BucketCounts().AsRaw()
			q.Exemplars = exemplars(p.Exemplars())
			add(q)
		}
	case pmetric.MetricTypeSummary:
		base.Type = metric.Summary
		for _, p := range x.Summary().DataPoints().All() {
			q := base
			q.Attrs, q.Start, q.Time = pdataAttrs(p.Attributes()), pdataTime(p.StartTimestamp()), pdataTime(p.Timestamp())
			q.NoValue = p.Flags().NoRecordedValue()
			q.Count, q.Sum, q.HasSum = p.Count(), p.Sum(), true
			for _, v := range p.QuantileValues().All() {
				q.Quantiles = append(q.Quantiles, metric.Quantile{Quantile: v.Quantile(), Value: v.Value()})
			}
			add(q)
		}
	}
}
