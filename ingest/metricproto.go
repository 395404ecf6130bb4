package ingest

import (
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

func (d *protoDecoder) scopeMetrics(end int, resource trace.ResourceID) {
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 2 && typ == length:
			from, to := d.message(end)
			d.pos = from
			d.metric(to, resource)
			d.pos = to
		case num == 1 || num == 3:
			at := d.pos
			if d.skip(typ, end); d.pos > at+1 {
				d.sink.lose([]string{1: "metrics.scope", 3: "metrics.schemaUrl"}[num])
			}
		case num == 2:
			d.wrongType("scopeMetrics", num, typ)
		default:
			d.unknown("scopeMetrics", num, typ, end)
		}
	}
}

// metric reads one metric: its names first, wherever they stand.
func (d *protoDecoder) metric(end int, resource trace.ResourceID) {
	d.arena = d.arena[:0]
	start := d.pos
	var name, unit []byte
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == length:
			name = d.text(end)
		case num == 3 && typ == length:
			unit = d.text(end)
		default:
			d.skip(typ, end)
		}
	}
	d.pos = start
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		var t metric.Type
		switch num {
		case 5:
			t = metric.Gauge
		case 7:
			t = metric.Sum
		case 9:
			t = metric.Histogram
		case 10:
			t = metric.ExponentialHistogram
		case 11:
			t = metric.Summary
		case 2, 12:
			d.sink.lose([]string{2: "metric.description", 12: "metric.metadata"}[num])
			d.skip(typ, end)
			continue
		case 1, 3:
			d.skip(typ, end)
			continue
		default:
			d.unknown("metric", num, typ, end)
			continue
		}
		if typ != length {
			d.wrongType("metric", num, typ)
			return
		}
		from, to := d.message(end)
		d.pos = from
		d.metricData(to, t, name, unit, resource)
		d.pos = to
	}
}

func (d *protoDecoder) metricData(end int, t metric.Type, name, unit []byte, resource trace.ResourceID) {
	k := d.sink
	start := d.pos
	var temporality metric.Temporality
	var monotonic bool
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 2 && typ == varint:
			v := d.uvarint(end)
			if v > uint64(metric.Cumulative) {
				k.fail(d.pos, trace.BadValue, "the temporality of metric "+quoteText(name)+" is unknown")
				v = 0
			}
			temporality = metric.Temporality(v)
		case num == 3 && typ == varint:
			monotonic = d.uvarint(end) != 0
		case num == 1 && typ != length:
			d.wrongType("metric's data", num, typ)
		case num == 1:
			d.skip(typ, end)
		default:
			d.unknown("metricData", num, typ, end)
		}
	}
	d.pos = start
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		if num != 1 {
			d.skip(typ, end)
			continue
		}
		from, to := d.message(end)
		d.pos = from
		p := &k.point
		p.Reset()
		k.canon = k.canon[:0]
		p.Name, p.Unit, p.Type, p.Temporality, p.Monotonic, p.Resource = k.text(name), k.text(unit), t, temporality, monotonic, resource
		p.Start, p.Time = trace.NoTime, trace.NoTime
		d.point(to, p)
		d.pos = to
	}
}

// point reads a point. The fields of the types have different numbers.
func (d *protoDecoder) point(end int, p *metric.RawPoint) {
	at := d.pos
	k := d.sink
	good := true
	fields := pointFields[p.Type]
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		f := pointField{}
		if num < len(fields) {
			f = fields[num]
		}
		if f.what == 0 {
			d.unknown("dataPoint", num, typ, end)
			continue
		}
		if typ != f.typ && !(typ == length && f.list) {
			d.wrongType("point", num, typ)
			return
		}
		switch f.what {
		case 'a':
			p.Attrs = d.attribute(p.Attrs, 0, end)
		case 's':
			p.Start, ok = protoTime(d.uint64(end))
			good = good && ok
		case 't':
			p.Time, ok = protoTime(d.uint64(end))
			good = good && ok
		case 'f':
			p.NoValue = d.uvarint(end)&1 != 0
		case 'e':
			from, to := d.message(end)
			d.pos = from
			d.exemplar(to, p)
			d.pos = to
		case 'd':
			p.IsInt, p.Float = false, d.float64(end)
		case 'i':
			p.IsInt, p.Int = true, int64(d.uint64(end))
		case 'c':
			p.Count = d.uint64(end)
		case 'S':
			p.Sum, p.HasSum = d.float64(end), true
		case '<':
			p.Min, p.HasMin = d.float64(end), true
		case '>':
			p.Max, p.HasMax = d.float64(end), true
		case 'b':
			d.packed(typ, end, func(end int) { p.Bounds = limited(k, p.Bounds, d.float64(end), "bounds") })
		case 'n':
			d.packed(typ, end, func(end int) { p.BucketCounts = limited(k, p.BucketCounts, d.uint64(end), "buckets") })
		case 'x':
			p.Scale = d.sint32(end)
		case 'z':
			p.ZeroCount = d.uint64(end)
		case 'T':
			p.ZeroThreshold = d.float64(end)
		case '+':
			p.PosOffset, p.PosCounts = d.buckets(p.PosCounts, end)
		case '-':
			p.NegOffset, p.NegCounts = d.buckets(p.NegCounts, end)
		case 'q':
			from, to := d.message(end)
			d.pos = from
			d.quantile(to, p)
			d.pos = to
		}
	}
	if d.err != nil {
		return
	}
	if !good {
		k.reject(at, trace.BadValue, "a point of metric "+quoteText(p.Name)+" was left out: its time is behind 2^63-1 nanoseconds")
		return
	}
	k.addPoint(at)
}

// A pointField is what a field of a point is, and its type on the wire; a list
// of numbers may be packed.
type pointField struct {
	what byte
	typ  int
	list bool
}

var numberFields = []pointField{
	2: {'s', fixed64, false}, 3: {'t', fixed64, false}, 4: {'d', fixed64, false}, 5: {'e', length, false},
	6: {'i', fixed64, false}, 7: {'a', length, false}, 8: {'f', varint, false},
}

var pointFields = [...][]pointField{
	metric.Gauge: numberFields,
	metric.Sum:   numberFields,
	metric.Histogram: {
		2: {'s', fixed64, false}, 3: {'t', fixed64, false}, 4: {'c', fixed64, false}, 5: {'S', fixed64, false},
		6: {'n', fixed64, true}, 7: {'b', fixed64, true}, 8: {'e', length, false}, 9: {'a', length, false},
		10: {'f', varint, false}, 11: {'<', fixed64, false}, 12: {'>', fixed64, false},
	},
	metric.ExponentialHistogram: {
		1: {'a', length, false}, 2: {'s', fixed64, false}, 3: {'t', fixed64, false}, 4: {'c', fixed64, false},
		5: {'S', fixed64, false}, 6: {'x', varint, false}, 7: {'z', fixed64, false}, 8: {'+', length, false},
		9: {'-', length, false}, 10: {'f', varint, false}, 11: {'e', length, false}, 12: {'<', fixed64, false},
		13: {'>', fixed64, false}, 14: {'T', fixed64, false},
	},
	metric.Summary: {
		2: {'s', fixed64, false}, 3: {'t', fixed64, false}, 4: {'c', fixed64, false}, 5: {'S', fixed64, false},
		6: {'q', length, false}, 7: {'a', length, false}, 8: {'f', varint, false},
	},
}

// packed calls read for the numbers of a list, packed or one by one.
func (d *protoDecoder) packed(typ, end int, read func(end int)) {
	if typ != length {
		read(end)
		return
	}
	from, to := d.message(end)
	for d.pos = from; d.pos < to && d.err == nil; {
		read(to)
	}
	d.pos = to
}

func (d *protoDecoder) buckets(counts []uint64, end int) (offset int32, out []uint64) {
	out = counts
	from, to := d.message(end)
	d.pos = from
	for num, typ, ok := d.field(to); ok; num, typ, ok = d.field(to) {
		switch {
		case num == 1 && typ == varint:
			offset = d.sint32(to)
		case num == 2 && (typ == length || typ == varint):
			d.packed(typ, to, func(end int) { out = limited(d.sink, out, d.uvarint(end), "buckets") })
		default:
			d.unknown("buckets", num, typ, to)
		}
	}
	d.pos = to
	return offset, out
}

func (d *protoDecoder) quantile(end int, p *metric.RawPoint) {
	var q metric.Quantile
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 1 && typ == fixed64:
			q.Quantile = d.float64(end)
		case num == 2 && typ == fixed64:
			q.Value = d.float64(end)
		default:
			d.unknown("quantile", num, typ, end)
		}
	}
	p.Quantiles = limited(d.sink, p.Quantiles, q, "quantiles")
}

func (d *protoDecoder) exemplar(end int, p *metric.RawPoint) {
	k := d.sink
	at := d.pos
	var e metric.RawExemplar
	good := true
	for num, typ, ok := d.field(end); ok; num, typ, ok = d.field(end) {
		switch {
		case num == 2 && typ == fixed64:
			e.Time, ok = protoTime(d.uint64(end))
			good = good && ok
		case num == 3 && typ == fixed64:
			e.Value = d.float64(end)
		case num == 6 && typ == fixed64:
			e.Value = float64(int64(d.uint64(end)))
		case num == 4 && typ == length:
			e.SpanID, ok = binarySpanID(d.bytes(end))
			good = good && ok
		case num == 5 && typ == length:
			e.TraceID, ok = binaryTraceID(d.bytes(end))
			good = good && ok
		case num == 7:
			k.lose("exemplar.filteredAttributes")
			d.skip(typ, end)
		default:
			d.unknown("exemplar", num, typ, end)
		}
	}
	if !good {
		k.fail(at, trace.BadValue, "an exemplar with a bad time or identifier was left out")
		return
	}
	p.Exemplars = limited(k, p.Exemplars, e, "exemplars")
}
