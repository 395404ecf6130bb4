package exporter

import (
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/live"
)

// fromFile gives an intake what the decoder of files makes of requests.
func fromFile(t *testing.T, in *live.Intake, td ptrace.Traces, md pmetric.Metrics) {
	t.Helper()
	spans, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	points, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	if err != nil {
		t.Fatal(err)
	}
	var d ingest.Decoder
	for _, b := range [][]byte{spans, points} {
		set, err := d.Decode(b, false)
		if err != nil {
			t.Fatal(err)
		}
		in.Store(set.Spans, set.Metrics, nil)
	}
}

// randomMetrics is a metric of every type.
func randomMetrics(rng *rand.Rand) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "a")
	ms := rm.ScopeMetrics().AppendEmpty().Metrics()
	at := func(i int) pcommon.Timestamp { return pcommon.Timestamp(1_800_000_000_000_000_000 + int64(i)*1e9) }
	g := ms.AppendEmpty()
	g.SetName("gauge")
	g.SetUnit("1")
	gauge := g.SetEmptyGauge()
	s := ms.AppendEmpty()
	s.SetName("sum")
	sum := s.SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	h := ms.AppendEmpty()
	h.SetName("histogram")
	histogram := h.SetEmptyHistogram()
	histogram.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	x := ms.AppendEmpty()
	x.SetName("exponential")
	exponential := x.SetEmptyExponentialHistogram()
	exponential.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	q := ms.AppendEmpty()
	q.SetName("summary")
	summary := q.SetEmptySummary()
	for i := range 5 {
		p := gauge.DataPoints().AppendEmpty()
		p.SetTimestamp(at(i))
		p.SetDoubleValue(rng.NormFloat64())
		p.Attributes().PutStr("pool", "p")
		p = sum.DataPoints().AppendEmpty()
		p.SetStartTimestamp(at(0))
		p.SetTimestamp(at(i + 1))
		p.SetIntValue(int64(i * 3))
		e := p.Exemplars().AppendEmpty()
		e.SetTimestamp(at(i))
		e.SetIntValue(int64(rng.IntN(9)))
		e.SetTraceID(pcommon.TraceID{1, 2})
		d := histogram.DataPoints().AppendEmpty()
		d.SetStartTimestamp(at(i))
		d.SetTimestamp(at(i + 1))
		d.SetCount(7)
		d.SetSum(9.5)
		d.SetMax(4)
		d.ExplicitBounds().FromRaw([]float64{1, 2, 5})
		d.BucketCounts().FromRaw([]uint64{1, 2, 3, 1})
		y := exponential.DataPoints().AppendEmpty()
		y.SetStartTimestamp(at(0))
		y.SetTimestamp(at(i + 1))
		y.SetScale(2)
		y.SetCount(uint64(6 * (i + 1)))
		y.SetZeroCount(uint64(i + 1))
		y.Positive().SetOffset(-3)
		y.Positive().BucketCounts().FromRaw([]uint64{uint64(2 * (i + 1)), uint64(3 * (i + 1))})
		v := summary.DataPoints().AppendEmpty()
		v.SetTimestamp(at(i + 1))
		v.SetCount(uint64(i + 1))
		v.SetSum(float64(i))
		qv := v.QuantileValues().AppendEmpty()
		qv.SetQuantile(0.5)
		qv.SetValue(1.5)
	}
	return md
}
