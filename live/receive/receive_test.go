package receive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcgzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/live/receive"
	"github.com/tailscope/tailscope/summary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is a receiver on this machine; finish ends it and returns what came.
func start(t *testing.T) (address string, h *receive.Handler, finish func() *live.Published) {
	t.Helper()
	o := live.New()
	o.Window = 0
	o.Warn = func(err error) { t.Error(err) }
	e, err := live.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h = receive.New(e, nil)
	srv := h.Server()
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	done := false
	finish = func() *live.Published {
		if done {
			return e.Latest()
		}
		done = true
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		wg.Wait()
		http.DefaultClient.CloseIdleConnections()
		if err := e.Close(ctx, time.Now()); err != nil {
			t.Error(err)
		}
		return e.Latest()
	}
	t.Cleanup(func() { finish() })
	return l.Addr().String(), h, finish
}

// Clients of the OpenTelemetry SDK are understood, over both protocols and
// compressed.
func TestSDK(t *testing.T) {
	ctx := context.Background()
	for name, client := range map[string]func(address string) (sdktrace.SpanExporter, error){
		"grpc": func(a string) (sdktrace.SpanExporter, error) {
			return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(a), otlptracegrpc.WithInsecure())
		},
		"grpc gzip": func(a string) (sdktrace.SpanExporter, error) {
			return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(a), otlptracegrpc.WithInsecure(), otlptracegrpc.WithCompressor(grpcgzip.Name))
		},
		"http": func(a string) (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(a), otlptracehttp.WithInsecure())
		},
		"http gzip": func(a string) (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(a), otlptracehttp.WithInsecure(), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, _, finish := start(t)
			exporter, err := client(address)
			if err != nil {
				t.Fatal(err)
			}
			provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, sdktrace.WithMaxExportBatchSize(100)),
				sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))))
			tracer := provider.Tracer("test")
			begin := time.Now().Add(-time.Minute)
			for i := range 300 {
				at := begin.Add(time.Duration(i) * time.Millisecond)
				ctx, root := tracer.Start(ctx, "GET /cart", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at))
				_, child := tracer.Start(ctx, "SELECT", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(at.Add(time.Millisecond)))
				child.End(trace.WithTimestamp(at.Add(4 * time.Millisecond)))
				root.End(trace.WithTimestamp(at.Add(5 * time.Millisecond)))
			}
			if err := provider.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
			p := finish()
			row := p.Report.Endpoints[0]
			if row.Operation != "GET /cart" || row.Service != "shop" || row.Requests.Current.Sampled != 300 || row.P99.CurrentMs.Or(0) != 5 {
				t.Errorf("%s %s: %d requests, p99 %v", row.Service, row.Operation, row.Requests.Current.Sampled, row.P99.CurrentMs)
			}
			if in := p.Report.Ingest; in.Spans != 600 || in.IncompleteTraces != 0 {
				t.Errorf("%d spans, %d incomplete traces", in.Spans, in.IncompleteTraces)
			}
		})
	}
}

func traces(n int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range n {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{15: byte(i + 1), 1: 9})
		s.SetSpanID(pcommon.SpanID{7: 1})
		s.SetKind(ptrace.SpanKindServer)
		s.SetName("GET /cart")
		s.SetStartTimestamp(1_800_000_000_000_000_000)
		s.SetEndTimestamp(1_800_000_000_005_000_000)
	}
	return td
}

func metrics() pmetric.Metrics {
	md := pmetric.NewMetrics()
	m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("queue.length")
	p := m.SetEmptyGauge().DataPoints().AppendEmpty()
	p.SetTimestamp(1_800_000_000_000_000_000)
	p.SetIntValue(3)
	return md
}

func post(t *testing.T, url, media, encoding string, body []byte) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", media)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if got := resp.Header.Get("Content-Type"); resp.StatusCode == 200 && got != media {
		t.Errorf("answers %s with %s", media, got)
	}
	return resp.StatusCode, string(b)
}

func gz(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func zst(b []byte) []byte {
	z, _ := zstd.NewWriter(nil)
	defer z.Close()
	return z.EncodeAll(b, nil)
}

// Every encoding of OTLP/HTTP is taken, and what is none is refused with the
// status that the specification names.
func TestHTTP(t *testing.T) {
	address, h, finish := start(t)
	url := "http://" + address
	request := ptraceotlp.NewExportRequestFromTraces(traces(4))
	proto, _ := request.MarshalProto()
	js, _ := request.MarshalJSON()
	points := pmetricotlp.NewExportRequestFromMetrics(metrics())
	pointsProto, _ := points.MarshalProto()
	pointsJSON, _ := points.MarshalJSON()
	for _, c := range []struct {
		path, media, encoding string
		body                  []byte
		status                int
		answer                string
	}{
		{"/v1/traces", "application/x-protobuf", "", proto, 200, ""},
		{"/v1/traces", "application/x-protobuf", "gzip", gz(proto), 200, ""},
		{"/v1/traces", "application/x-protobuf", "zstd", zst(proto), 200, ""},
		{"/v1/traces", "application/json", "", js, 200, "{}"},
		{"/v1/traces", "application/json", "gzip", gz(js), 200, "{}"},
		{"/v1/metrics", "application/x-protobuf", "", pointsProto, 200, ""},
		{"/v1/metrics", "application/json", "zstd", zst(pointsJSON), 200, "{}"},
		{"/v1/logs", "application/json", "", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}`), 200, "{}"},
		{"/v1/traces", "application/json", "", []byte(`{"resourceSpans":[]}`), 200, "{}"},
		{"/v1/traces", "text/plain", "", proto, 415, ""},
		{"/v1/traces", "application/x-protobuf", "br", proto, 415, ""},
		{"/v1/traces", "application/x-protobuf", "", proto[:len(proto)-3], 400, ""},
		{"/v1/traces", "application/x-protobuf", "gzip", proto, 400, ""},
		{"/v1/traces", "application/x-protobuf", "zstd", proto, 400, ""},
		{"/v1/traces", "application/json", "", js[:len(js)-3], 400, `"code":3`},
		{"/v2/traces", "application/json", "", js, 404, `"code":12`},
		{"/v1/traces", "application/x-protobuf", "gzip", gz(make([]byte, 65<<20)), 413, ""},
		{"/v1/traces", "application/x-protobuf", "zstd", zst(make([]byte, 65<<20)), 413, ""},
		// One span without an end: the rest is taken, and the answer says so.
		{"/v1/traces", "application/json", "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","startTimeUnixNano":"5"}]}]}]}`), 200, `"rejectedSpans":"1"`},
	} {
		status, answer := post(t, url+c.path, c.media, c.encoding, c.body)
		if status != c.status || !strings.Contains(answer, c.answer) {
			t.Errorf("%s as %s %s: %d %s, want %d %s", c.path, c.media, c.encoding, status, answer, c.status, c.answer)
		}
	}
	resp, err := http.Get(url + "/v1/traces")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 405 {
		t.Errorf("GET: %d", resp.StatusCode)
	}
	if h.Logs() != 1 || h.Damaged() != 2 {
		t.Errorf("%d logs, %d damaged", h.Logs(), h.Damaged())
	}
	p := finish()
	// The same four spans five times.
	if in := p.Report.Ingest; in.Spans != 4 || in.Duplicates != 16 || in.MetricPoints != 2 {
		t.Errorf("%d spans, %d duplicates, %d points", in.Spans, in.Duplicates, in.MetricPoints)
	}
}

// A client of the gRPC framework gets the statuses that it retries or gives up
// by.
func TestGRPC(t *testing.T) {
	address, _, finish := start(t)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	client := ptraceotlp.NewGRPCClient(conn)
	td := traces(3)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty().SetName("no id")
	resp, err := client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
	if err != nil || resp.PartialSuccess().RejectedSpans() != 1 || resp.PartialSuccess().ErrorMessage() == "" {
		t.Errorf("%v, %d rejected: %q", err, resp.PartialSuccess().RejectedSpans(), resp.PartialSuccess().ErrorMessage())
	}
	if _, err := client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(traces(3)), grpc.UseCompressor(grpcgzip.Name)); err != nil {
		t.Error(err)
	}
	if _, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(metrics())); err != nil {
		t.Error(err)
	}
	err = conn.Invoke(ctx, "/some.other.Service/Call", &raw{}, &raw{}, grpc.ForceCodec(rawCodec{}))
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("an unknown service: %v", err)
	}
	err = conn.Invoke(ctx, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", &raw{[]byte{0x0a, 0xff}}, &raw{}, grpc.ForceCodec(rawCodec{}))
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a damaged message: %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if in := finish().Report.Ingest; in.Spans != 3 || in.Duplicates != 3 || in.Rejected != 0 && in.Rejected != 1 {
		t.Errorf("%d spans, %d duplicates, %d rejected", in.Spans, in.Duplicates, in.Rejected)
	}
}

type raw struct{ b []byte }

type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)      { return v.(*raw).b, nil }
func (rawCodec) Unmarshal(data []byte, v any) error { v.(*raw).b = data; return nil }
func (rawCodec) Name() string                       { return "proto" }

func TestPage(t *testing.T) {
	o := live.New()
	o.Window = 0
	e, err := live.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, host string) (int, http.Header, string) {
		r, _ := http.NewRequest(method, path, nil)
		r.Host = host
		w := &answer{header: http.Header{}, status: 200}
		e.Page().ServeHTTP(w, r)
		return w.status, w.header, w.body.String()
	}
	if status, _, body := ask("GET", "/", "127.0.0.1:4320"); status != 200 || !strings.Contains(body, "No window has closed yet") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := ask("GET", "/report.json", "localhost:4320"); status != 404 {
		t.Errorf("a report before there is one: %d", status)
	}
	h := receive.New(e, nil)
	body := fmt.Sprintf(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","name":%q,"kind":2,"startTimeUnixNano":"5","endTimeUnixNano":"9"}]}]}]}`,
		`<script>alert(1)</script>`)
	r, _ := http.NewRequest("POST", "/v1/traces", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(&answer{header: http.Header{}}, r)
	if err := e.Close(context.Background(), time.Now()); err != nil {
		t.Fatal(err)
	}
	status, header, body := ask("GET", "/", "[::1]:4320")
	if status != 200 || strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("%d %s", status, body)
	}
	if !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("a browser may run what it finds")
	}
	for path, media := range map[string]string{"/report.json": "application/json", "/report.txt": "text/plain; charset=utf-8", "/report.md": "text/markdown; charset=utf-8", "/stats.json": "application/json"} {
		status, header, body := ask("GET", path, "localhost")
		if status != 200 || header.Get("Content-Type") != media || body == "" {
			t.Errorf("%s: %d %s", path, status, header.Get("Content-Type"))
		}
		if media == "application/json" && !json.Valid([]byte(body)) {
			t.Errorf("%s is not JSON", path)
		}
	}
	for _, c := range []struct {
		method, path, host string
		status             int
	}{{"POST", "/", "localhost", 405}, {"DELETE", "/report.json", "localhost", 405}, {"GET", "/etc/passwd", "localhost", 404}, {"GET", "/", "evil.example", 403}, {"HEAD", "/", "localhost", 200}} {
		if status, _, _ := ask(c.method, c.path, c.host); status != c.status {
			t.Errorf("%s %s of %s: %d, want %d", c.method, c.path, c.host, status, c.status)
		}
	}
}

type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// Nothing that a client sends makes the receiver panic.
func FuzzHTTP(f *testing.F) {
	request := ptraceotlp.NewExportRequestFromTraces(traces(2))
	proto, _ := request.MarshalProto()
	js, _ := request.MarshalJSON()
	f.Add("/v1/traces", "application/json", "", js)
	f.Add("/v1/traces", "application/x-protobuf", "gzip", gz(proto))
	f.Add("/opentelemetry.proto.collector.trace.v1.TraceService/Export", "application/grpc", "", append([]byte{0, 0, 0, 0, byte(len(proto))}, proto...))
	f.Add("/v1/metrics", "application/x-protobuf", "zstd", zst([]byte("x")))
	o := live.New()
	o.Window = 0
	e, err := live.Open(o)
	if err != nil {
		f.Fatal(err)
	}
	h := receive.New(e, nil)
	f.Fuzz(func(t *testing.T, path, media, encoding string, body []byte) {
		r, err := http.NewRequest("POST", "/", bytes.NewReader(body))
		if err != nil {
			return
		}
		r.URL.Path = path
		r.Header.Set("Content-Type", media)
		r.Header.Set("Content-Encoding", encoding)
		r.Header.Set("Grpc-Encoding", encoding)
		h.ServeHTTP(&answer{header: http.Header{}}, r)
		s := e.Stats()
		if s.Received != s.Analysed+s.Late+s.Shed+s.Open {
			t.Errorf("%+v", s)
		}
	})
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "x": false} {
		if receive.Loopback(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}

// What the policy does not let through is not kept, by either protocol and in any
// signal; the rest of it is.
func TestRedaction(t *testing.T) {
	o := live.New()
	o.Window, o.NoReports = 0, true
	e, err := live.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	h := receive.New(e, &redact.Policy{Allow: redact.Patterns{"tenant", "card.*", "owner", "pool", "db.*", "url.full"}, Redact: redact.Patterns{"card.number", "owner"}})
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	rs.Resource().Attributes().PutStr("owner", "SECRET-owner")
	rs.Resource().Attributes().PutStr("other", "SECRET-other")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("lib")
	ss.Scope().Attributes().PutStr("x", "SECRET-scope")
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{1})
	s.SetKind(ptrace.SpanKindServer)
	s.SetName("GET /cart?token=SECRET-query")
	s.SetStartTimestamp(pcommon.Timestamp(time.Now().UnixNano() - 1e6))
	s.SetEndTimestamp(pcommon.Timestamp(time.Now().UnixNano()))
	for k, v := range map[string]string{"tenant": "kept-tenant", "card.number": "SECRET-card", "card.kind": "kept-kind", "session": "SECRET-session",
		"db.statement": "SELECT a FROM t WHERE b = 'SECRET-literal'", "url.full": "https://SECRET-user@kept.example/cart?SECRET-query"} {
		s.Attributes().PutStr(k, v)
	}
	s.Events().AppendEmpty().Attributes().PutStr("session", "SECRET-event")
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("owner", "SECRET-owner")
	m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("kept.metric")
	g := m.SetEmptyGauge().DataPoints()
	for i := range 3 {
		p := g.AppendEmpty()
		p.SetTimestamp(pcommon.Timestamp(time.Now().UnixNano()) - pcommon.Timestamp(i))
		p.Attributes().PutStr("card.number", fmt.Sprintf("SECRET-%d", i))
		p.Attributes().PutStr("pool", "kept-pool")
	}
	spans, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	points, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		path, media string
		body        []byte
	}{{"/v1/traces", "application/x-protobuf", spans}, {"/v1/metrics", "application/json", points}} {
		q := httptest.NewRequest(http.MethodPost, r.path, bytes.NewReader(r.body))
		q.Header.Set("Content-Type", r.media)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, q); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", r.path, w.Code, w.Body)
		}
	}
	if err := e.Close(context.Background(), time.Now()); err != nil {
		t.Fatal(err)
	}
	snapshot, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(snapshot, []byte("SECRET")); at >= 0 {
		t.Errorf("the snapshot holds %q", snapshot[max(0, at-20):min(len(snapshot), at+30)])
	}
	for _, kept := range []string{"kept-tenant", "kept-kind", "kept.metric", "kept-pool", "SELECT a FROM t WHERE b = ?", "https://kept.example/cart", "GET /cart"} {
		if !bytes.Contains(snapshot, []byte(kept)) {
			t.Errorf("the snapshot does not hold %q", kept)
		}
	}
	runs, err := summary.Decode(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if n, received := runs[0].Metrics.Points(); n != 3 || received != 3 {
		t.Errorf("%d of %d points are left of one series", n, received)
	}
}
