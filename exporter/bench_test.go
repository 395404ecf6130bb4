//go:build unix

package exporter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/internal/cputime"
	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
)

// batchSpans is how many spans the Collector's batch processor and the SDKs send
// at once.
const batchSpans = 512

// batches is requests of batchSpans spans in traces of 8, with 12 attributes a
// span and 14 a resource, as instrumented services send them.
func batches(n int, at time.Time) [][]byte {
	rng := rand.New(rand.NewPCG(7, 7))
	var m ptrace.ProtoMarshaler
	services := []string{"gateway", "cart", "price", "payment", "inventory", "shipping"}
	keys := []string{"http.request.method", "http.route", "http.response.status_code", "url.path", "server.address", "server.port",
		"network.protocol.version", "user_agent.original", "network.peer.port", "thread.id", "thread.name", "app.tenant"}
	var out [][]byte
	for len(out) < n {
		td := ptrace.NewTraces()
		spans := make([]ptrace.SpanSlice, len(services))
		for i, service := range services {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", service)
			for k := range 13 {
				rs.Resource().Attributes().PutStr(fmt.Sprintf("resource.attribute.%d", k), fmt.Sprintf("value %d of %s", k, service))
			}
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName("io.opentelemetry.http")
			spans[i] = ss.Spans()
		}
		for range batchSpans / 8 {
			var id pcommon.TraceID
			for i := range id {
				id[i] = byte(rng.Uint32())
			}
			begin := at.Add(time.Duration(rng.Int64N(1e9)))
			var parent pcommon.SpanID
			for i := range 8 {
				service := (i + 1) / 2 // a server and the client of the next
				s := spans[service].AppendEmpty()
				s.SetTraceID(id)
				var span pcommon.SpanID
				for k := range span {
					span[k] = byte(rng.Uint32())
				}
				s.SetSpanID(span)
				s.SetParentSpanID(parent)
				parent = span
				s.SetName("GET /api/v1/things/{id}")
				s.SetKind(ptrace.SpanKindServer)
				if i%2 == 1 {
					s.SetKind(ptrace.SpanKindClient)
				}
				s.SetStartTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(i) * time.Millisecond)))
				s.SetEndTimestamp(pcommon.NewTimestampFromTime(begin.Add(time.Duration(40-i) * time.Millisecond)))
				a := s.Attributes()
				for j, k := range keys {
					switch j {
					case 2:
						a.PutInt(k, 200)
					case 5, 8, 9:
						a.PutInt(k, int64(rng.IntN(50)))
					case 3:
						a.PutStr(k, fmt.Sprintf("/api/v1/things/%d", rng.IntN(100_000)))
					default:
						a.PutStr(k, fmt.Sprintf("%s-%d", k, rng.IntN(20)))
					}
				}
			}
		}
		b, _ := m.MarshalTraces(td)
		out = append(out, b)
	}
	return out
}

// BenchmarkConsume takes batches in, each just after pdata unmarshalled it, as in a
// Collector, and compares the processor time of the two; then what it takes to fold
// the traces. A machine with other work says more about ratios than about times.
func BenchmarkConsume(b *testing.B) {
	const n = 300 // batches a round
	requests := batches(n, time.Now().Add(-time.Minute))
	var taking, folding, theirs, wall time.Duration
	var calls []time.Duration
	ctx := context.Background()
	for b.Loop() {
		o := live.New()
		o.NoReports = true
		e, err := live.Open(o)
		if err != nil {
			b.Fatal(err)
		}
		s := &shared{policy: &redact.Policy{Allow: redact.Patterns{"*"}, Redact: redact.Default}, engine: e}
		tr, err := exporterhelper.NewTraces(ctx, settings(), createDefaultConfig(), s.pushTraces)
		if err != nil {
			b.Fatal(err)
		}
		if err := tr.Start(ctx, componenttest.NewNopHost()); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		var u ptrace.ProtoUnmarshaler
		for _, r := range requests {
			start := cputime.Used()
			td, err := u.UnmarshalTraces(r)
			if err != nil {
				b.Fatal(err)
			}
			theirs += cputime.Used() - start
			start = cputime.Used()
			at := time.Now()
			if err := tr.ConsumeTraces(ctx, td); err != nil {
				b.Fatal(err)
			}
			calls = append(calls, time.Since(at))
			taking += cputime.Used() - start
		}
		start := cputime.Used()
		now := time.Now()
		for i := range 4 {
			e.Tick(now.Add(time.Duration(i) * o.Quiet))
		}
		folding += cputime.Used() - start
		if st := e.Stats(); st.Analysed != n*batchSpans {
			b.Fatalf("%+v", st)
		}
		if err := tr.Shutdown(ctx); err != nil {
			b.Fatal(err)
		}
		// Two at once, on what is in memory.
		tds := make([]ptrace.Traces, 60)
		for i := range tds {
			tds[i], _ = u.UnmarshalTraces(requests[i])
		}
		runtime.GC()
		at := time.Now()
		var wg sync.WaitGroup
		for k := range 2 {
			wg.Go(func() {
				for i := k; i < len(tds); i += 2 {
					if err := s.pushTraces(ctx, tds[i]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		wall += time.Since(at)
	}
	spans := float64(b.N) * n * batchSpans
	slices.Sort(calls)
	b.ReportMetric(float64(b.N)*60*batchSpans/wall.Seconds(), "spans/s")
	b.ReportMetric(float64(taking.Nanoseconds())/spans, "cpu-ns/span-in")
	b.ReportMetric(float64(folding.Nanoseconds())/spans, "cpu-ns/span-fold")
	b.ReportMetric(float64(theirs.Nanoseconds())/spans, "cpu-ns/span-pdata")
	b.ReportMetric(taking.Seconds()/theirs.Seconds(), "in-of-pdata")
	b.ReportMetric(float64(calls[len(calls)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(calls[len(calls)/2].Microseconds())/1000, "p50-ms")
}
