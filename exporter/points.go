package exporter

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// Bounds of one point.
const maxBuckets = 16384

// metrics moves all points.
func (d *decoder) metrics(in *live.Intake, md pmetric.Metrics) {
	var p metric.RawPoint
	for _, rm := range md.ResourceMetrics().All() {
		resource := d.resource(in, rm.Resource().Attributes())
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				begin := func(t metric.Type, temporality pmetric.AggregationTemporality, start, at pcommon.Timestamp, flags pmetric.DataPointFlags, attrs pcommon.Map) {
					p.Reset()
					p.Name, p.Unit, p.Type, p.Resource = text(m.Name()), text(m.Unit()), t, resource
					if temporality == pmetric.AggregationTemporalityDelta || temporality == pmetric.AggregationTemporalityCumulative {
						p.Temporality = metric.Temporality(temporality)
					}
					p.Start, p.Time, p.NoValue = nanos(start), nanos(at), flags.NoRecordedValue()
					p.Attrs = d.pointAttrs(p.Attrs, attrs)
				}
				number := func(t metric.Type, temporality pmetric.AggregationTemporality, monotonic bool, points pmetric.NumberDataPointSlice) {
					for _, q := range points.All() {
						begin(t, temporality, q.StartTimestamp(), q.Timestamp(), q.Flags(), q.Attributes())
						p.Monotonic = monotonic
						switch q.ValueType() {
						case pmetric.NumberDataPointValueTypeInt:
							p.IsInt, p.Int = true, q.IntValue()
						case pmetric.NumberDataPointValueTypeDouble:
							p.Float = q.DoubleValue()
						}
						exemplars(&p, q.Exemplars())
						in.Point(&p)
					}
				}
				switch m.Type() {
				case pmetric.MetricTypeGauge:
					number(metric.Gauge, 0, false, m.Gauge().DataPoints())
				case pmetric.MetricTypeSum:
					number(metric.Sum, m.Sum().AggregationTemporality(), m.Sum().IsMonotonic(), m.Sum().DataPoints())
				case pmetric.MetricTypeHistogram:
					for _, q := range m.Histogram().DataPoints().All() {
						begin(metric.Histogram, m.Histogram().AggregationTemporality(), q.StartTimestamp(), q.Timestamp(), q.Flags(), q.Attributes())
						p.Count, p.Sum, p.HasSum = q.Count(), q.Sum(), q.HasSum()
						p.Min, p.HasMin, p.Max, p.HasMax = q.Min(), q.HasMin(), q.Max(), q.HasMax()
						p.Bounds = append(p.Bounds, bounded(q.ExplicitBounds().AsRaw())...)
						p.BucketCounts = append(p.BucketCounts, bounded(q.BucketCounts().AsRaw())...)
						exemplars(&p, q.Exemplars())
						in.Point(&p)
					}
				case pmetric.MetricTypeExponentialHistogram:
					for _, q := range m.ExponentialHistogram().DataPoints().All() {
						begin(metric.ExponentialHistogram, m.ExponentialHistogram().AggregationTemporality(), q.StartTimestamp(), q.Timestamp(), q.Flags(), q.Attributes())
						p.Count, p.Sum, p.HasSum = q.Count(), q.Sum(), q.HasSum()
						p.Min, p.HasMin, p.Max, p.HasMax = q.Min(), q.HasMin(), q.Max(), q.HasMax()
						p.Scale, p.ZeroCount, p.ZeroThreshold = q.Scale(), q.ZeroCount(), q.ZeroThreshold()
						p.PosOffset, p.NegOffset = q.Positive().Offset(), q.Negative().Offset()
						p.PosCounts = append(p.PosCounts, bounded(q.Positive().BucketCounts().AsRaw())...)
						p.NegCounts = append(p.NegCounts, bounded(q.Negative().BucketCounts().AsRaw())...)
						exemplars(&p, q.Exemplars())
						in.Point(&p)
					}
				case pmetric.MetricTypeSummary:
					for _, q := range m.Summary().DataPoints().All() {
						begin(metric.Summary, 0, q.StartTimestamp(), q.Timestamp(), q.Flags(), q.Attributes())
						p.Count, p.Sum, p.HasSum = q.Count(), q.Sum(), q.Sum() != 0 // protobuf does not tell zero from none
						for i := range min(q.QuantileValues().Len(), maxBuckets) {
							v := q.QuantileValues().At(i)
							p.Quantiles = append(p.Quantiles, metric.Quantile{Quantile: v.Quantile(), Value: v.Value()})
						}
						in.Point(&p)
					}
				}
			}
		}
	}
}

func bounded[T any](s []T) []T { return s[:min(len(s), maxBuckets)] }

// pointAttrs appends the attributes of a point, but for what is redacted: a
// metric's attributes are what tells its series apart.
func (d *decoder) pointAttrs(to []trace.RawAttr, m pcommon.Map) []trace.RawAttr {
	for k, v := range m.All() {
		if len(to) >= maxAttributes {
			break
		}
		do := d.policy.OfPoint(k)
		if do == redact.Drop {
			continue
		}
		raw := value(v)
		if do != redact.Keep && raw.Type == trace.String {
			raw.Bytes = do.Template(raw.Bytes)
		}
		to = append(to, trace.RawAttr{Key: text(k), Value: raw})
	}
	return to
}

func exemplars(p *metric.RawPoint, all pmetric.ExemplarSlice) {
	for i := range min(all.Len(), maxBuckets) {
		e := all.At(i)
		r := metric.RawExemplar{Time: nanos(e.Timestamp()), TraceID: trace.TraceID(e.TraceID()), SpanID: spanID(e.SpanID())}
		switch e.ValueType() {
		case pmetric.ExemplarValueTypeInt:
			r.Value = float64(e.IntValue())
		case pmetric.ExemplarValueTypeDouble:
			r.Value = e.DoubleValue()
		}
		p.Exemplars = append(p.Exemplars, r)
	}
}
