package ingest

import (
	"math"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// This file reads the metrics of OTLP JSON, in the same dialects as the spans.

// metrics reads the lists of metrics by scope; scopes of metrics are not kept.
func (d *jsonDecoder) metrics(resource trace.ResourceID) {
	d.each(func() {
		d.scopeList("scopeMetrics", func(scope trace.ScopeID) {
			if scope != 0 {
				d.sink.lose("metrics.scope")
			}
			d.each(func() { d.metric(resource) })
		})
	})
}

// data is the five kinds of metric data, and where their lists of points begin.
type data struct {
	typ         metric.Type
	temporality metric.Temporality
	monotonic   bool
	at          int // of the points; negative if there are none
}

// metric reads one metric: what all its points share, and then the points.
func (d *jsonDecoder) metric(resource trace.ResourceID) {
	if !d.object() {
		return
	}
	k := d.sink
	d.arena = d.arena[:0]
	var name, unit []byte
	var lists [2]data // a metric has one; more are an error of the writer
	n := 0
	read := func(typ metric.Type) {
		if n == len(lists) {
			d.skip()
			return
		}
		lists[n] = d.metricData(typ)
		n++
	}
	var fields func()
	fields = func() {
		for key, ok := d.field(); ok; key, ok = d.field() {
			switch string(key) {
			case "name":
				name = d.fieldText("metric.name")
			case "unit":
				unit = d.fieldText("metric.unit")
			case "gauge", "Gauge":
				read(metric.Gauge)
			case "sum", "Sum":
				read(metric.Sum)
			case "histogram", "Histogram":
				read(metric.Histogram)
			case "exponentialHistogram", "exponential_histogram", "ExponentialHistogram":
				read(metric.ExponentialHistogram)
			case "summary", "Summary":
				read(metric.Summary)
			case "Data", "data":
				if d.object() {
					fields()
				}
			case "description", "metadata":
				if c := d.peek(); c == '"' && d.pos+1 < len(d.data) && d.data[d.pos+1] != '"' || c == '[' {
					k.lose("metric." + string(key))
				}
				d.skip()
			default:
				k.skipped("metric", key)
				d.skip()
			}
		}
	}
	fields()
	end := d.pos
	for _, l := range lists[:n] {
		if d.err != nil || l.at < 0 {
			continue
		}
		d.pos = l.at
		d.each(func() {
			d.peek()
			at := d.pos
			p := &k.point
			p.Reset()
			p.Name, p.Unit = k.text(name), k.text(unit)
			p.Type, p.Temporality, p.Monotonic = l.typ, l.temporality, l.monotonic
			p.Resource = resource
			d.dataPoint(at)
		})
	}
	if d.err == nil {
		d.pos = end
	}
}

func (d *jsonDecoder) metricData(typ metric.Type) data {
	l := data{typ: typ, at: -1}
	if !d.object() {
		return l
	}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "dataPoints", "data_points":
			if d.peek() == '[' {
				l.at = d.pos
			}
			d.skip()
		case "aggregationTemporality", "aggregation_temporality":
			d.peek()
			at := d.pos
			b, ok := d.scalar()
			var known bool
			if l.temporality, known = parseTemporality(b); !ok || !known {
				d.bad(at, "the temporality "+quoteText(b)+" is unknown")
			}
		case "isMonotonic", "is_monotonic":
			b, _ := d.scalar()
			l.monotonic = string(b) == "true"
		default:
			d.sink.skipped("metric", key)
			d.skip()
		}
	}
	return l
}

func parseTemporality(b []byte) (metric.Temporality, bool) {
	if len(b) == 1 && '0' <= b[0] && b[0] <= '2' {
		return metric.Temporality(b[0] - '0'), true
	}
	if len(b) > 50 {
		return metric.Unspecified, false
	}
	var buf [50]byte
	switch string(trimPrefixFold(upper(buf[:0], b), "AGGREGATION_TEMPORALITY_")) {
	case "", "UNSPECIFIED":
		return metric.Unspecified, true
	case "DELTA":
		return metric.Delta, true
	case "CUMULATIVE":
		return metric.Cumulative, true
	}
	return metric.Unspecified, false
}

// dataPoint reads a point of any type into the scratch point, and adds it.
func (d *jsonDecoder) dataPoint(at int) {
	if !d.object() {
		return
	}
	k := d.sink
	p := &k.point
	k.canon = k.canon[:0]
	p.Start, p.Time = trace.NoTime, trace.NoTime
	wrong := ""
	var fields func()
	fields = func() {
		for key, ok := d.field(); ok; key, ok = d.field() {
			switch string(key) {
			case "attributes":
				p.Attrs = d.attributes(p.Attrs)
			case "labels": // of OTLP before 0.9
				p.Attrs = d.attributes(p.Attrs)
			case "startTimeUnixNano", "start_time_unix_nano":
				p.Start = d.pointTime("start", &wrong)
			case "timeUnixNano", "time_unix_nano":
				p.Time = d.pointTime("", &wrong)
			case "asInt", "as_int", "AsInt":
				p.IsInt, p.Int = true, d.int("value", &wrong)
			case "asDouble", "as_double", "AsDouble":
				p.IsInt, p.Float = false, d.float("value", &wrong)
			case "Value", "value":
				switch d.peek() {
				case '{':
					if d.object() {
						fields()
					}
				default:
					p.IsInt, p.Float = false, d.float("value", &wrong)
				}
			case "flags":
				p.NoValue = d.uint("flags", &wrong)&1 != 0
			case "count":
				p.Count = d.uint("count", &wrong)
			case "sum", "Sum":
				p.Sum, p.HasSum = d.optional("sum", &wrong)
			case "min", "Min":
				p.Min, p.HasMin = d.optional("min", &wrong)
			case "max", "Max":
				p.Max, p.HasMax = d.optional("max", &wrong)
			case "Sum_", "XSum", "Max_", "XMax", "Min_", "XMin":
				if d.object() {
					fields()
				}
			case "explicitBounds", "explicit_bounds":
				d.each(func() { p.Bounds = limited(k, p.Bounds, d.float("bound", &wrong), "bounds") })
			case "bucketCounts", "bucket_counts":
				d.each(func() { p.BucketCounts = limited(k, p.BucketCounts, d.uint("bucket count", &wrong), "buckets") })
			case "scale":
				p.Scale = d.int32("scale", &wrong)
			case "zeroCount", "zero_count":
				p.ZeroCount = d.uint("zero count", &wrong)
			case "zeroThreshold", "zero_threshold":
				p.ZeroThreshold = d.float("zero threshold", &wrong)
			case "positive":
				p.PosOffset, p.PosCounts = d.buckets(p.PosCounts, &wrong)
			case "negative":
				p.NegOffset, p.NegCounts = d.buckets(p.NegCounts, &wrong)
			case "quantileValues", "quantile_values":
				d.each(func() { d.quantile(&wrong) })
			case "exemplars":
				d.each(d.exemplar)
			default:
				k.skipped("dataPoint", key)
				d.skip()
			}
		}
	}
	fields()
	if d.err != nil {
		return
	}
	if wrong != "" {
		k.reject(at, trace.BadValue, "a point of metric "+quoteText(p.Name)+" was left out: "+wrong)
		return
	}
	k.addPoint(at)
}

// addPoint stores the scratch point.
func (k *sink) addPoint(at int) {
	if !k.points.Add(&k.point) {
		k.rejected++
		k.errorsTotal++
		if len(k.errors) < maxErrors {
			k.errors = append(k.errors, Located{k.where(at), "a point of metric " + quoteText(k.point.Name) + " has no time or no type and was left out"})
		}
	}
}

func limited[T any](k *sink, to []T, v T, what string) []T {
	if len(to) >= k.limits.Buckets {
		k.oversized(what, k.limits.Buckets)
		return to
	}
	return append(to, v)
}

func (d *jsonDecoder) pointTime(name string, wrong *string) trace.Time {
	b, ok := d.scalar()
	if ok && len(b) == 0 {
		return trace.NoTime
	}
	t, good := parseTime(b)
	if !ok || !good {
		*wrong = "its " + name + " time " + timeText(b) + " is not a number of nanoseconds from 0 to 2^63-1"
	}
	return t
}

func (d *jsonDecoder) int(name string, wrong *string) int64 {
	b, ok := d.scalar()
	if b == nil && ok {
		return 0
	}
	v, good := parseInt(b)
	if !good {
		*wrong = "its " + name + " " + quoteText(b) + " is not an integer of 64 bits"
	}
	return v
}

func (d *jsonDecoder) int32(name string, wrong *string) int32 {
	v := d.int(name, wrong)
	if v < math.MinInt32 || v > math.MaxInt32 {
		*wrong = "its " + name + " is not an integer of 32 bits"
		return 0
	}
	return int32(v)
}

func (d *jsonDecoder) uint(name string, wrong *string) uint64 {
	b, ok := d.scalar()
	if b == nil && ok {
		return 0
	}
	v, negative, good := parseUint(b)
	if !good || negative && v != 0 {
		*wrong = "its " + name + " " + quoteText(b) + " is not an unsigned integer of 64 bits"
	}
	return v
}

func (d *jsonDecoder) float(name string, wrong *string) float64 {
	v, _ := d.optional(name, wrong)
	return v
}

// optional reads a number that may be null.
func (d *jsonDecoder) optional(name string, wrong *string) (float64, bool) {
	b, ok := d.scalar()
	if b == nil && ok {
		return 0, false
	}
	v, good := parseFloat(b)
	if !ok || !good {
		*wrong = "its " + name + " " + quoteText(b) + " is not a number"
	}
	return v, true
}

func (d *jsonDecoder) buckets(counts []uint64, wrong *string) (offset int32, out []uint64) {
	out = counts
	if !d.object() {
		return 0, out
	}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "offset":
			offset = d.int32("bucket offset", wrong)
		case "bucketCounts", "bucket_counts":
			d.each(func() { out = limited(d.sink, out, d.uint("bucket count", wrong), "buckets") })
		default:
			d.sink.skipped("buckets", key)
			d.skip()
		}
	}
	return offset, out
}

func (d *jsonDecoder) quantile(wrong *string) {
	if !d.object() {
		return
	}
	var q metric.Quantile
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "quantile":
			q.Quantile = d.float("quantile", wrong)
		case "value":
			q.Value = d.float("quantile's value", wrong)
		default:
			d.sink.skipped("quantile", key)
			d.skip()
		}
	}
	p := &d.sink.point
	p.Quantiles = limited(d.sink, p.Quantiles, q, "quantiles")
}

func (d *jsonDecoder) exemplar() {
	d.peek()
	at := d.pos
	if !d.object() {
		return
	}
	k := d.sink
	var e metric.RawExemplar
	wrong := ""
	var fields func()
	fields = func() {
		for key, ok := d.field(); ok; key, ok = d.field() {
			switch string(key) {
			case "timeUnixNano", "time_unix_nano":
				e.Time = d.pointTime("exemplar's", &wrong)
			case "asInt", "as_int", "AsInt":
				e.Value = float64(d.int("exemplar's value", &wrong))
			case "asDouble", "as_double", "AsDouble":
				e.Value = d.float("exemplar's value", &wrong)
			case "Value", "value":
				if d.peek() == '{' {
					if d.object() {
						fields()
					}
				} else {
					e.Value = d.float("exemplar's value", &wrong)
				}
			case "traceId", "trace_id", "traceID":
				e.TraceID = k.traceID(d.fieldText("exemplar.traceId"))
			case "spanId", "span_id", "spanID":
				e.SpanID = k.spanID(d.fieldText("exemplar.spanId"))
			case "filteredAttributes", "filtered_attributes":
				k.lose("exemplar.filteredAttributes")
				d.skip()
			default:
				k.skipped("exemplar", key)
				d.skip()
			}
		}
	}
	fields()
	if wrong != "" {
		d.bad(at, "an exemplar was left out: "+wrong)
		return
	}
	k.point.Exemplars = limited(k, k.point.Exemplars, e, "exemplars")
}

// logs counts the log records of the lists by scope.
func (d *jsonDecoder) logs(trace.ResourceID) {
	d.each(func() {
		d.scopeList("scopeLogs", func(trace.ScopeID) { d.each(d.log) })
	})
}

func (d *jsonDecoder) log() {
	d.skip()
	d.sink.logs++
}
