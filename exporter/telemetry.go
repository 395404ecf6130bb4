package exporter

import (
	"context"
	"errors"
	"math"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/trace"
)

// scope is the name of the meter.
const scope = "github.com/tailscope/tailscope/exporter"

// Rows that the derived metrics have at most: series cost the one who stores
// them.
const (
	maxEndpoints = 20
	maxRows      = 10 // of each endpoint and metric
)

// telemetry is the exporter's own counts, and what the last report says as
// metrics.
type telemetry struct {
	meter    metric.Meter
	callback []metric.Registration

	duration, regression, wait, service, queue, late, amplification, allocation metric.Float64Gauge

	mu   sync.Mutex
	told map[string]map[attribute.Distinct]attribute.Set // by metric, the series of the last report
}

func newTelemetry(p metric.MeterProvider) (*telemetry, error) {
	t := &telemetry{meter: p.Meter(scope), told: map[string]map[attribute.Distinct]attribute.Set{}}
	var errs []error
	gauge := func(to *metric.Float64Gauge, name, unit, what string) {
		g, err := t.meter.Float64Gauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		*to = g
		errs = append(errs, err)
	}
	gauge(&t.duration, "tailscope.request.duration", "s", "The target quantile of an endpoint's latency in the last window, or in the open one where a regression shows")
	gauge(&t.regression, "tailscope.regression", "1", "1 where the last window's tail is slower than what it was compared with, else 0")
	gauge(&t.wait, "tailscope.request.wait", "s", "Of it, what is charged to waiting, backoff and timeouts")
	gauge(&t.service, "tailscope.request.service", "s", "Of it, what is charged to work")
	gauge(&t.allocation, "tailscope.p99.allocation", "s", "The target quantile by node and kind; the largest rows")
	gauge(&t.queue, "tailscope.queue.wait", "s", "The 99th percentile of the likely wait before a call is served")
	gauge(&t.late, "tailscope.late_work.concurrent", "{call}", "Calls that run for callers that have left, on average")
	gauge(&t.amplification, "tailscope.attempts.amplification", "1", "Attempts for each logical call")
	return t, errors.Join(errs...)
}

// observe registers the counts of an engine.
func (t *telemetry) observe(e *live.Engine) error {
	var errs []error
	var all []metric.Observable
	type observed struct {
		instrument metric.Int64Observable
		of         func(*live.Stats) int64
	}
	var list []observed
	counter := func(name, unit, what string, of func(*live.Stats) int64) {
		c, err := t.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs, all, list = append(errs, err), append(all, c), append(list, observed{c, of})
	}
	gauge := func(name, unit, what string, of func(*live.Stats) int64) {
		c, err := t.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs, all, list = append(errs, err), append(all, c), append(list, observed{c, of})
	}
	counter("tailscope.spans.received", "{span}", "Spans that came: analysed + late + shed + open", func(s *live.Stats) int64 { return s.Received })
	counter("tailscope.spans.analysed", "{span}", "Spans that are in a window", func(s *live.Stats) int64 { return s.Analysed })
	counter("tailscope.spans.late", "{span}", "Spans that came after their trace was analysed or their window closed", func(s *live.Stats) int64 { return s.Late })
	counter("tailscope.spans.shed", "{span}", "Spans that did not fit into memory_limit, by whole traces", func(s *live.Stats) int64 { return s.Shed })
	gauge("tailscope.spans.open", "{span}", "Spans of traces that are not whole yet", func(s *live.Stats) int64 { return s.Open })
	counter("tailscope.spans.duplicates", "{span}", "Analysed spans that came before", func(s *live.Stats) int64 { return s.Duplicates })
	counter("tailscope.spans.rejected", "{span}", "Analysed spans that cannot be: without an id or a time, or that end before they start", func(s *live.Stats) int64 { return s.Rejected })
	counter("tailscope.spans.out_of_order", "{span}", "Analysed spans that came after one of their trace that started later", func(s *live.Stats) int64 { return s.OutOfOrder })
	counter("tailscope.traces.cut", "{trace}", "Traces that were analysed after max_age though spans still came", func(s *live.Stats) int64 { return s.Cut })
	counter("tailscope.points.received", "{point}", "Metric points that came", func(s *live.Stats) int64 { return s.Points })
	counter("tailscope.points.late", "{point}", "Metric points that came after their window closed", func(s *live.Stats) int64 { return s.LatePoints })
	counter("tailscope.points.shed", "{point}", "Metric points that did not fit into memory_limit", func(s *live.Stats) int64 { return s.ShedPoints })
	counter("tailscope.windows", "{window}", "Completed windows", func(s *live.Stats) int64 { return s.Windows })
	counter("tailscope.reports", "{report}", "Reports made", func(s *live.Stats) int64 { return s.Reports })
	counter("tailscope.reports.skipped", "{report}", "Reports not made because the one before was not ready", func(s *live.Stats) int64 { return s.Skipped })
	counter("tailscope.looks", "{look}", "Comparisons of windows that were still open", func(s *live.Stats) int64 { return s.Looks })
	counter("tailscope.reports.early", "{report}", "Reports of regressions in windows that were still open", func(s *live.Stats) int64 { return s.Early })
	counter("tailscope.regressions", "{window}", "Windows in which a regression was found", func(s *live.Stats) int64 { return s.Regressions })
	gauge("tailscope.memory", "By", "Memory held, about: of open traces, open windows and completed ones", func(s *live.Stats) int64 { return s.SpanBytes + s.RecordBytes + s.KeptBytes })
	share, err := t.meter.Float64ObservableGauge("tailscope.traces.kept", metric.WithUnit("1"), metric.WithDescription("Share of traces that are taken; below 1 is overload"))
	errs, all = append(errs, err), append(all, share)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := e.Stats()
		for _, l := range list {
			o.ObserveInt64(l.instrument, l.of(&s))
		}
		o.ObserveFloat64(share, s.KeptShare)
		return nil
	}, all...)
	t.callback = append(t.callback, r)
	return err
}

func (t *telemetry) close() error {
	var errs []error
	for _, r := range t.callback {
		errs = append(errs, r.Unregister())
	}
	return errors.Join(errs...)
}

// report records what a report says. A series of the last report that this one
// does not have becomes zero: a gauge would stay what it was for ever.
func (t *telemetry) report(p *live.Published) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := map[string]map[attribute.Distinct]attribute.Set{}
	record := func(ctx context.Context, name string, g metric.Float64Gauge, v report.Num, scale float64, attrs ...attribute.KeyValue) {
		x, ok := v.Get()
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		set := attribute.NewSet(attrs...)
		g.Record(ctx, x*scale, metric.WithAttributeSet(set))
		if now[name] == nil {
			now[name] = map[attribute.Distinct]attribute.Set{}
		}
		now[name][set.Equivalent()] = set
	}
	endpoints := 0
	q := p.Report.Run.Quantile
	for i := range p.Report.Endpoints {
		row := &p.Report.Endpoints[i]
		if !row.Whole() {
			continue
		}
		if endpoints++; endpoints > maxEndpoints {
			break
		}
		ctx := exemplar(row)
		at := []attribute.KeyValue{attribute.String("service", row.Service), attribute.String("operation", row.Operation)}
		at = at[:2:2] // append copies
		if target := row.Of(q); target != nil {
			record(ctx, "duration", t.duration, target.CurrentMs, 1e-3, at...)
		}
		slower := 0.0
		if row.Verdict == report.Regression {
			slower = 1
		}
		record(ctx, "regression", t.regression, report.Some(slower), 1, at...)
		var wait, service float64
		for _, a := range row.Allocation {
			v := a.CurrentMs.Or(0)
			switch a.Kind {
			case report.Wait, report.Backoff, report.Timeout:
				wait += v
			case report.Service:
				service += v
			}
		}
		if len(row.Allocation) > 0 {
			record(ctx, "wait", t.wait, report.Some(wait), 1e-3, at...)
			record(ctx, "service", t.service, report.Some(service), 1e-3, at...)
		}
		for _, a := range row.Allocation[:min(maxRows, len(row.Allocation))] {
			record(ctx, "allocation", t.allocation, a.CurrentMs, 1e-3, append(at, attribute.String("node.service", a.Service), attribute.String("node.operation", a.Operation),
				attribute.String("node.peer", a.Peer), attribute.String("kind", string(a.Kind)))...)
		}
		for _, w := range row.Queues[:min(maxRows, len(row.Queues))] {
			record(ctx, "queue", t.queue, w.Current.P99Ms, 1e-3, append(at, attribute.String("caller", w.Service), attribute.String("callee", w.Peer),
				attribute.String("callee.operation", w.Operation), attribute.String("resource", w.Resource), attribute.String("owner", w.Owner))...)
		}
		record(ctx, "late", t.late, row.LateWork.MeanInFlight, 1, at...)
		for _, a := range row.Attempts[:min(maxRows, len(row.Attempts))] {
			if a.Logical > 0 {
				record(ctx, "amplification", t.amplification, report.Some(float64(a.Attempts)/float64(a.Logical)), 1, append(at, attribute.String("caller", a.Service),
					attribute.String("callee", a.Peer), attribute.String("callee.operation", a.Operation))...)
			}
		}
	}
	gauges := map[string]metric.Float64Gauge{"duration": t.duration, "regression": t.regression, "wait": t.wait, "service": t.service, "allocation": t.allocation, "queue": t.queue, "late": t.late, "amplification": t.amplification}
	for name, old := range t.told {
		for k, set := range old {
			if _, ok := now[name][k]; !ok {
				gauges[name].Record(context.Background(), 0, metric.WithAttributeSet(set))
			}
		}
	}
	t.told = now
}

// exemplar is a context with a request of the current set, so that what is
// recorded in it has that request as its exemplar.
func exemplar(row *report.Endpoint) context.Context {
	ctx := context.Background()
	for _, x := range row.Exemplars {
		if x.Set != report.Current {
			continue
		}
		id, ok := trace.ParseTraceID([]byte(x.TraceID))
		if !ok || id.IsZero() {
			continue
		}
		c := oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: oteltrace.TraceID(id), TraceFlags: oteltrace.FlagsSampled, Remote: true}) // the whole trace, no span of it
		return oteltrace.ContextWithSpanContext(ctx, c)
	}
	return ctx
}
