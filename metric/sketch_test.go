package metric

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/trace"
)

// Tests write points in lines, one a point:
//
//	NAME TYPE key=value…
//
// TYPE is gauge, sum+ (cumulative, rises), sum± (cumulative, may fall), dsum+,
// dsum±, hist, dhist, exp, dexp or summary; d is delta. Keys, all optional:
// t and s are the time and the start in seconds after the epoch (t=100 unless
// given, s=0 is not recorded), v a value (an integer unless it has a point), n,
// sum, min, max of a distribution, b bounds and c counts, scale, zero, thr,
// pos and neg as offset:counts, q as 0.5:7,0.99:20, nov the no-value flag,
// unit, svc, inst, ex value:trace:span@seconds. Any other key is an attribute.
func points(t testing.TB, text string) *Store {
	t.Helper()
	tables := trace.NewTables()
	s := NewStore(tables)
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			s.Add(point(t, tables, line))
		}
	}
	return s
}

func fold(t testing.TB, text string) *Fold { t.Helper(); return points(t, text).Fold() }

const second = trace.Time(1e9)

func point(t testing.TB, tables *trace.Tables, line string) *RawPoint {
	t.Helper()
	f := strings.Fields(line)
	p := &RawPoint{Name: []byte(f[0]), Time: 100 * second}
	kind := f[1]
	p.Temporality = Cumulative
	if strings.HasPrefix(kind, "d") {
		kind, p.Temporality = kind[1:], Delta
	}
	switch kind {
	case "gauge":
		p.Type = Gauge
	case "sum+":
		p.Type, p.Monotonic = Sum, true
	case "sum±":
		p.Type = Sum
	case "hist":
		p.Type = Histogram
	case "exp":
		p.Type = ExponentialHistogram
	case "summary":
		p.Type = Summary
	default:
		t.Fatalf("no type %q in %q", kind, line)
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		return v
	}
	counts := func(text string) (out []uint64) {
		for n := range strings.SplitSeq(text, ",") {
			out = append(out, uint64(number(n)))
		}
		return out
	}
	service, instance := "shop", "1"
	for _, kv := range f[2:] {
		key, v, _ := strings.Cut(kv, "=")
		switch key {
		case "t":
			p.Time = trace.Time(number(v) * 1e9)
		case "s":
			p.Start = trace.Time(number(v) * 1e9)
		case "v":
			p.IsInt = !strings.ContainsAny(v, ".NI")
			if p.IsInt {
				p.Int, _ = strconv.ParseInt(v, 10, 64)
			} else {
				p.Float = number(v)
			}
		case "n":
			p.Count = uint64(number(v))
		case "sum":
			p.Sum, p.HasSum = number(v), true
		case "min":
			p.Min, p.HasMin = number(v), true
		case "max":
			p.Max, p.HasMax = number(v), true
		case "b":
			for n := range strings.SplitSeq(v, ",") {
				p.Bounds = append(p.Bounds, number(n))
			}
		case "c":
			p.BucketCounts = counts(v)
		case "scale":
			p.Scale = int32(number(v))
		case "zero":
			p.ZeroCount = uint64(number(v))
		case "thr":
			p.ZeroThreshold = number(v)
		case "pos", "neg":
			offset, list, _ := strings.Cut(v, ":")
			if key == "pos" {
				p.PosOffset, p.PosCounts = int32(number(offset)), counts(list)
			} else {
				p.NegOffset, p.NegCounts = int32(number(offset)), counts(list)
			}
		case "q":
			for pair := range strings.SplitSeq(v, ",") {
				a, b, _ := strings.Cut(pair, ":")
				p.Quantiles = append(p.Quantiles, Quantile{number(a), number(b)})
			}
		case "nov":
			p.NoValue = true
		case "unit":
			p.Unit = []byte(v)
		case "svc":
			service = v
		case "inst":
			instance = v
		case "ex":
			var e RawExemplar
			var id, span string
			var at float64
			if _, err := fmt.Sscanf(strings.NewReplacer(":", " ", "@", " ").Replace(v), "%g %s %s %g", &e.Value, &id, &span, &at); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			e.TraceID[15] = id[0]
			e.SpanID, _ = trace.ParseSpanID([]byte(span))
			e.Time = trace.Time(at * 1e9)
			p.Exemplars = append(p.Exemplars, e)
		default:
			p.Attrs = append(p.Attrs, trace.RawAttr{Key: []byte(key), Value: text(v)})
		}
	}
	resource := []trace.RawAttr{{Key: []byte("service.name"), Value: text(service)}}
	if instance != "" {
		resource = append(resource, trace.RawAttr{Key: []byte("service.instance.id"), Value: text(instance)})
	}
	p.Resource = tables.AddResource(resource)
	return p
}

func text(s string) trace.RawValue { return trace.RawValue{Type: trace.String, Bytes: []byte(s)} }

// one is the only row of the points in text.
func one(t *testing.T, text string) Row {
	t.Helper()
	rows := fold(t, text).Rows()
	if len(rows) != 1 {
		t.Fatalf("%d series, want 1", len(rows))
	}
	return rows[0]
}

// equal reports whether two numbers are the same, NaN being the same as NaN,
// to the accuracy of one multiplication.
func equal(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*math.Abs(b)
}

func sameBytes(a, b *Fold) bool { return bytes.Equal(a.Append(nil), b.Append(nil)) }
