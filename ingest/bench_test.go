package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tailscope/tailscope/internal/cputime"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// corpus is requests of about 500 spans in traces of 8, with 12 attributes a
// span and 14 a resource, as instrumented services send them.
func corpus(spans int) (proto, lines []byte) {
	r := rand.New(rand.NewPCG(7, 7))
	var pm ptrace.ProtoMarshaler
	var jm ptrace.JSONMarshaler
	services := []string{"gateway", "cart", "price", "payment", "inventory", "shipping"}
	keys := []string{"http.request.method", "http.route", "http.response.status_code", "url.path", "server.address", "server.port",
		"network.protocol.version", "user_agent.original", "client.address", "thread.id", "thread.name", "app.tenant"}
	for done := 0; done < spans; {
		td := ptrace.NewTraces()
		for range 4 {
			rs := td.ResourceSpans().AppendEmpty()
			service := services[r.IntN(len(services))]
			rs.Resource().Attributes().PutStr("service.name", service)
			for i := range 13 {
				rs.Resource().Attributes().PutStr(fmt.Sprintf("resource.attribute.%d", i), fmt.Sprintf("value %d of %s", i, service))
			}
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName("io.opentelemetry.http")
			var traceID pcommon.TraceID
			var parent pcommon.SpanID
			for i := range 125 {
				s := ss.Spans().AppendEmpty()
				if i%8 == 0 {
					traceID, parent = randomTraceID(r), pcommon.SpanID{}
				}
				s.SetTraceID(traceID)
				s.SetSpanID(randomSpanID(r))
				s.SetParentSpanID(parent)
				parent = s.SpanID()
				s.SetName("GET /api/v1/things/{id}")
				s.SetKind(ptrace.SpanKind(1 + i%3))
				s.SetStartTimestamp(randomTime(r))
				s.SetEndTimestamp(s.StartTimestamp() + 1e6)
				a := s.Attributes()
				for j, k := range keys {
					switch {
					case j == 2 || j == 5 || j == 9:
						a.PutInt(k, int64(r.IntN(50)))
					case j == 3:
						a.PutStr(k, fmt.Sprintf("/api/v1/things/%d", r.IntN(100_000)))
					default:
						a.PutStr(k, fmt.Sprintf("%s-%d", k, r.IntN(20)))
					}
				}
				done++
			}
		}
		b, _ := pm.MarshalTraces(td)
		proto = binary.BigEndian.AppendUint32(proto, uint32(len(b)))
		proto = append(proto, b...)
		b, _ = jm.MarshalTraces(td)
		lines = append(append(lines, b...), '\n')
	}
	return proto, lines
}

// compare times ours, from a file to the joined stores, against pdata's mere
// unmarshalling of the same bytes from memory, in turns, and reports the ratio of
// the sums of processor time, on one core.
func compare(b *testing.B, data []byte, spans int, pdata func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	name := filepath.Join(b.TempDir(), "corpus")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		b.Fatal(err)
	}
	var ours, theirs time.Duration
	var allocs uint64
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := cputime.Used()
		set, err := Read(context.Background(), []string{name}, Options{Workers: 1})
		ours += cputime.Used() - start
		runtime.ReadMemStats(&after)
		if err != nil || set.Spans.Len() != spans || set.Rejected > 0 {
			b.Fatal(err, set.Spans.Len(), set.Rejected, set.Files[0].Errors)
		}
		allocs += after.Mallocs - before.Mallocs
		set = nil
		runtime.GC()
		start = cputime.Used()
		pdata()
		theirs += cputime.Used() - start
	}
	n := float64(b.N) * float64(spans)
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "of-pdata")
	b.ReportMetric(float64(ours.Nanoseconds())/n, "ns/span")
	b.ReportMetric(float64(theirs.Nanoseconds())/n, "ns/span-pdata")
	b.ReportMetric(float64(len(data))*float64(b.N)/ours.Seconds()/1e6, "MB/s-ours")
	b.ReportMetric(float64(allocs)/n, "allocs/span")
}

const benchSpans = 100_000

func BenchmarkProto(b *testing.B) {
	data, _ := corpus(benchSpans)
	var u ptrace.ProtoUnmarshaler
	compare(b, data, benchSpans, func() {
		for rest := data; len(rest) > 0; {
			n := binary.BigEndian.Uint32(rest)
			if _, err := u.UnmarshalTraces(rest[4 : 4+n]); err != nil {
				b.Fatal(err)
			}
			rest = rest[4+n:]
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	_, data := corpus(benchSpans)
	var u ptrace.JSONUnmarshaler
	compare(b, data, benchSpans, func() {
		for line := range bytes.Lines(data) {
			if _, err := u.UnmarshalTraces(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Twice the spans of the same kind take no more allocations but those of chunks
// and tables: none is made for a span, an attribute, an event or a link.
func TestNoAllocationPerSpan(t *testing.T) {
	var few, many [2][]byte
	few[0], few[1] = corpus(4_000)
	many[0], many[1] = corpus(24_000)
	rich := func(n int) []byte {
		var b []byte
		for i := range n {
			b = fmt.Appendf(b, `{"resourceSpans":[{"scopeSpans":[{"spans":[`)
			for j := range 20 {
				if j > 0 {
					b = append(b, ',')
				}
				b = fmt.Appendf(b, `{"traceId":"%032x","spanId":"%016x","name":"n","kind":2,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000000001",`+
					`"attributes":[{"key":"ok","value":{"boolValue":true}},{"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}],`+
					`"events":[{"timeUnixNano":"1700000000000000000","name":"exception","attributes":[{"key":"exception.type","value":{"stringValue":"io"}}]}],`+
					`"links":[{"traceId":"%032x","spanId":"%016x"}],"status":{"code":2,"message":"failed"}}`, i*20+j+1, j+1, i+1, j+1)
			}
			b = append(b, "]}]}]}\n"...)
		}
		return b
	}
	allocs := func(data []byte) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		set, err := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: 1})
		runtime.ReadMemStats(&after)
		if err != nil || set.Rejected > 0 {
			t.Fatal(err, set)
		}
		return float64(after.Mallocs - before.Mallocs)
	}
	for _, c := range []struct {
		what      string
		few, many []byte
		spans     float64
	}{
		{"protobuf", few[0], many[0], 20_000}, {"JSON", few[1], many[1], 20_000}, {"JSON with events, links and lists", rich(200), rich(1200), 20_000},
	} {
		allocs(c.few)
		if per := (allocs(c.many) - allocs(c.few)) / c.spans; per > 0.1 { // some for each list by resource and by scope
			t.Errorf("%s: %.3f allocations a span", c.what, per)
		}
	}
}
