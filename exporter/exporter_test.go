package exporter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func configOf(t *testing.T, yaml map[string]any) (*Config, error) {
	t.Helper()
	c := createDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(yaml).Unmarshal(c); err != nil {
		return nil, err
	}
	return c, confmap.Validate(c)
}

func TestConfig(t *testing.T) {
	if err := componenttest.CheckConfigStruct(createDefaultConfig()); err != nil {
		t.Error(err)
	}
	c, err := configOf(t, map[string]any{
		"directory": "/var/lib/tailscope", "window": "1m", "memory_limit": "256MiB", "compare": "version", "version_of": "checkout",
		"attributes": map[string]any{"allow": []any{"tenant", "http.*"}}, "page": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Window != time.Minute || c.MemoryLimit != 256<<20 || c.VersionOf != "checkout" || len(c.Attributes.Redact) == 0 {
		t.Errorf("%+v", c)
	}
	if c, err := configOf(t, map[string]any{"memory_limit": 64 << 20}); err != nil || c.MemoryLimit != 64<<20 || c.Page.HasValue() || c.QueueConfig.HasValue() {
		t.Errorf("a limit as a number: %v", err)
	}
	if c, err := configOf(t, map[string]any{"page": map[string]any{"endpoint": "localhost:0"}}); err != nil || !c.Page.HasValue() {
		t.Errorf("a page: %v", err)
	}
}

// A mistake is an error at start that names its field.
func TestConfigErrors(t *testing.T) {
	for want, yaml := range map[string]map[string]any{
		"window: ":             {"window": "1ms"},
		"quiet: ":              {"quiet": "1h"},
		"history: ":            {"history": 0},
		"looks: ":              {"looks": 101},
		"max_age: ":            {"max_age": "1s"},
		"retain: ":             {"directory": "x", "retain": 2},
		"compare: ":            {"compare": "weather"},
		"version_of: ":         {"version_of": "a"},
		"baseline: compare":    {"compare": "pinned"},
		"baseline: is only":    {"baseline": "a.snap"},
		"memory_limit: ":       {"memory_limit": "1MiB"},
		"no amount of memory":  {"memory_limit": "much"},
		"formats: ":            {"formats": []any{"pdf"}},
		"only_regressions: ":   {"only_regressions": true},
		"attributes::redact: ": {"attributes": map[string]any{"redact": []any{"*secret*"}}},
		"attributes::allow: ":  {"attributes": map[string]any{"allow": []any{""}}},
		"page::endpoint: ":     {"page": map[string]any{"endpoint": "0.0.0.0:4320"}},
		"invalid keys: windo":  {"windo": "1m"},
	} {
		if _, err := configOf(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", yaml, err, want)
		}
	}
}

// pipelines are the two of one configuration, started.
func pipelines(t *testing.T, c *Config, set exporter.Settings) (exporter.Traces, exporter.Metrics, func() error) {
	t.Helper()
	ctx := context.Background()
	f := NewFactory()
	tr, err := f.CreateTraces(ctx, set, c)
	if err != nil {
		t.Fatal(err)
	}
	me, err := f.CreateMetrics(ctx, set, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []component.Component{tr, me} {
		if err := p.Start(ctx, componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
	}
	return tr, me, func() error {
		if err := tr.Shutdown(ctx); err != nil {
			return err
		}
		return me.Shutdown(ctx)
	}
}

func settings() exporter.Settings { return exportertest.NewNopSettings(componentType) }

// random is traces with everything that a span can have.
func random(rng *rand.Rand, n int) ptrace.Traces {
	td := ptrace.NewTraces()
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	var ids []pcommon.TraceID
	for len(ids) < n/5+1 {
		var id pcommon.TraceID
		for i := range id {
			id[i] = byte(rng.Uint32())
		}
		ids = append(ids, id)
	}
	spanID := func(i int) pcommon.SpanID { return pcommon.SpanID{0: 1, 6: byte(i >> 8), 7: byte(i)} }
	for i := range n {
		if i%7 == 0 {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", pick("a", "b", "c"))
			rs.Resource().Attributes().PutStr("host.name", pick("h1", "h2"))
			rs.Resource().Attributes().PutInt("process.pid", int64(rng.IntN(3)))
			rs.ScopeSpans().AppendEmpty().Scope().SetName(pick("", "lib"))
		}
		s := td.ResourceSpans().At(td.ResourceSpans().Len() - 1).ScopeSpans().At(0).Spans().AppendEmpty()
		s.SetTraceID(ids[i%len(ids)])
		s.SetSpanID(spanID(i + 1))
		if i >= len(ids) && rng.IntN(10) > 0 {
			s.SetParentSpanID(spanID(i + 1 - len(ids)))
		}
		s.SetName(pick("GET /users/1", "POST /cart", "SELECT", "work", "bad\xff\x00text"))
		s.SetKind(ptrace.SpanKind(rng.IntN(7)))
		start := 1_800_000_000_000_000_000 + rng.Int64N(1e10)
		s.SetStartTimestamp(pcommon.Timestamp(start))
		s.SetEndTimestamp(pcommon.Timestamp(start + rng.Int64N(1e8) - 1e6))
		if rng.IntN(20) == 0 {
			s.SetEndTimestamp(0)
		}
		s.Status().SetCode(ptrace.StatusCode(rng.IntN(3)))
		s.Status().SetMessage(pick("", "", "deadline exceeded", "context canceled"))
		s.TraceState().FromRaw(pick("", "", "ot=th:8", "ot=th:zz"))
		a := s.Attributes()
		for range rng.IntN(8) {
			switch rng.IntN(8) {
			case 0:
				a.PutInt("http.response.status_code", int64(pickInt(rng, 200, 503, 499)))
			case 1:
				a.PutStr("http.request.method", pick("GET", "POST"))
			case 2:
				a.PutStr("tenant", pick("x", "y", strings.Repeat("long", 100)))
			case 3:
				a.PutDouble("load", rng.Float64())
			case 4:
				a.PutBool(pick("error", "zipkin.shared", "cache.hit"), rng.IntN(2) == 0)
			case 5:
				a.PutEmptyBytes("blob").FromRaw([]byte{1, 2, 3})
			case 6:
				l := a.PutEmptySlice("list")
				l.AppendEmpty().SetStr("q\"uote")
				l.AppendEmpty().SetInt(4)
				l.AppendEmpty().SetEmptyMap().PutDouble("k", 1.5)
			case 7:
				a.PutEmpty("nothing")
			}
		}
		for range rng.IntN(3) {
			e := s.Events().AppendEmpty()
			e.SetName(pick("exception", "retry", "GotConn"))
			e.SetTimestamp(pcommon.Timestamp(start))
			e.Attributes().PutStr("exception.type", "Timeout")
		}
		if rng.IntN(5) == 0 {
			l := s.Links().AppendEmpty()
			l.SetTraceID(s.TraceID())
			l.SetSpanID(s.ParentSpanID())
			l.Attributes().PutStr("opentracing.ref_type", pick("follows_from", "child_of"))
		}
	}
	return td
}

func pickInt(rng *rand.Rand, v ...int) int { return v[rng.IntN(len(v))] }

// What is moved from pdata is what a file of the same request holds: the same
// snapshot, to the byte.
func TestDecodeIsTheFile(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 8))
		snapshot := func(fill func(*live.Intake)) []byte {
			o := live.New()
			o.Window, o.NoReports = 0, true
			e, err := live.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Add(fill); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(context.Background(), time.Now()); err != nil {
				t.Fatal(err)
			}
			b, err := e.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		td, md := random(rng, 200), randomMetrics(rng)
		all := &redact.Policy{Allow: redact.Patterns{"*"}}
		got := snapshot(func(in *live.Intake) {
			decoderOf(in, all).traces(in, td)
			decoderOf(in, all).metrics(in, md)
		})
		want := snapshot(func(in *live.Intake) { fromFile(t, in, td, md) })
		if !bytes.Equal(got, want) {
			g, _ := summary.Decode(got)
			w, _ := summary.Decode(want)
			texts := func(s *summary.Summary) map[string]bool {
				m := map[string]bool{}
				for i := range s.Dict.Strings() {
					m[s.Dict.String(trace.StringID(i))] = true
				}
				return m
			}
			t.Fatalf("seed %d: the snapshots differ: %s", seed, cmp.Diff(texts(w[0]), texts(g[0])))
		}
	}
}

// What may not leave does not: no report, snapshot, page or metric holds it.
func TestRedaction(t *testing.T) {
	dir := t.TempDir()
	c, err := configOf(t, map[string]any{
		"directory": dir, "window": "1h", "formats": []any{"json", "markdown", "text"},
		"attributes": map[string]any{"allow": []any{"tenant", "card.*", "db.statement", "url.*", "http.*"}, "redact": []any{"card.number", "url.query"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tr, me, end := pipelines(t, c, settings())
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	rs.Resource().Attributes().PutStr("owner", "SECRET-owner")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range 50 {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1: byte(i), 15: 1})
		s.SetSpanID(pcommon.SpanID{7: 1})
		s.SetKind(ptrace.SpanKindServer)
		s.SetName("SELECT * FROM users WHERE name = 'SECRET-name'")
		s.SetStartTimestamp(pcommon.Timestamp(time.Now().UnixNano() - 1e9))
		s.SetEndTimestamp(pcommon.Timestamp(time.Now().UnixNano()))
		s.Attributes().PutStr("tenant", "kept-tenant")
		s.Attributes().PutStr("card.number", "SECRET-card")
		s.Attributes().PutStr("user.email", "SECRET-mail")
		s.Attributes().PutStr("db.statement", "SELECT 1 FROM t WHERE a = 'SECRET-literal' AND b = 424242 -- SECRET-comment")
		s.Attributes().PutStr("url.full", "https://SECRET-user:pw@shop.example/cart?token=SECRET-token#SECRET-part")
		s.Attributes().PutStr("http.url", "https://shop.example/cart?token=SECRET-token")
		s.Attributes().PutStr("url.query", "SECRET-query")
		s.Events().AppendEmpty().Attributes().PutStr("exception.message", "SECRET-event")
	}
	md := pmetric.NewMetrics()
	g := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	g.SetName("g")
	p := g.SetEmptyGauge().DataPoints().AppendEmpty()
	p.SetTimestamp(pcommon.Timestamp(time.Now().UnixNano()))
	p.Attributes().PutStr("card.number", "SECRET-series")
	if err := tr.ConsumeTraces(context.Background(), td); err != nil {
		t.Fatal(err)
	}
	if err := me.ConsumeMetrics(context.Background(), md); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) < 4 {
		t.Fatalf("only %v", files)
	}
	all := ""
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all += string(b)
		for _, secret := range []string{"SECRET", "424242"} {
			if at := bytes.Index(b, []byte(secret)); at >= 0 {
				t.Errorf("%s holds %q", filepath.Base(f), b[max(0, at-40):min(len(b), at+40)])
			}
		}
	}
	for _, kept := range []string{"kept-tenant", "SELECT ? FROM t WHERE a = ? AND b = ?", "https://shop.example/cart"} {
		if !strings.Contains(all, kept) {
			t.Errorf("nothing holds %q, which is allowed", kept)
		}
	}
}

// slow sends traffic to both sides of a window's border, the second slower, and
// waits for its report.
func TestTelemetryAndPage(t *testing.T) {
	reader := metric.NewManualReader()
	set := settings()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	set.MeterProvider = provider
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c, err := configOf(t, map[string]any{"window": "1h", "page": map[string]any{"endpoint": address}})
	if err != nil {
		t.Fatal(err)
	}
	tr, _, end := pipelines(t, c, set)
	rng := rand.New(rand.NewPCG(1, 1))
	hour := time.Now().Truncate(time.Hour)
	for window := range 2 {
		for range 40 {
			if err := tr.ConsumeTraces(context.Background(), shop(rng, hour.Add(time.Duration(window-2)*time.Hour), 50, time.Duration(window)*200*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
	}
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, body := get("/"); status != 200 || !strings.Contains(body, "No window has closed yet") {
		t.Errorf("%d %s", status, body)
	}
	// The counts, while it runs.
	counts := collect(t, reader)
	if got := counts["tailscope.spans.received"]; got != 2*40*50*2 || counts["tailscope.spans.open"] != got {
		t.Errorf("%v", counts)
	}
	http.DefaultClient.CloseIdleConnections()
	done := make(chan error)
	go func() { done <- end() }()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	exemplars := 0
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if g, ok := m.Data.(metricdata.Gauge[float64]); ok {
				for _, p := range g.DataPoints {
					seen[m.Name] += p.Value
					exemplars += len(p.Exemplars)
					if n := p.Attributes.Len(); n > 7 {
						t.Errorf("%s has %d attributes", m.Name, n)
					}
				}
			}
		}
	}
	if seen["tailscope.regression"] != 1 || seen["tailscope.request.duration"] < 0.2 || seen["tailscope.p99.allocation"] < 0.2 || seen["tailscope.request.service"]+seen["tailscope.request.wait"] < 0.2 {
		t.Errorf("%v", seen)
	}
	if exemplars == 0 {
		t.Error("no exemplar leads to a trace")
	}
	if err := provider.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// collect is the whole numbers of all instruments.
func collect(t *testing.T, r *metric.ManualReader) map[string]int64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := r.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				out[m.Name] = d.DataPoints[0].Value
			case metricdata.Gauge[int64]:
				out[m.Name] = d.DataPoints[0].Value
			}
		}
	}
	return out
}

// shop is n requests of an hour: a server and the database it calls.
func shop(rng *rand.Rand, hour time.Time, n int, slow time.Duration) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for range n {
		var id pcommon.TraceID
		for i := range id {
			id[i] = byte(rng.Uint32())
		}
		at := hour.Add(time.Duration(rng.Int64N(int64(59 * time.Minute))))
		took := time.Duration(10e6 + rng.ExpFloat64()*3e6)
		if rng.IntN(10) == 0 {
			took += slow
		}
		s := spans.AppendEmpty()
		s.SetTraceID(id)
		s.SetSpanID(pcommon.SpanID{7: 1})
		s.SetKind(ptrace.SpanKindServer)
		s.SetName("GET /cart")
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(took + 1e6)))
		q := spans.AppendEmpty()
		q.SetTraceID(id)
		q.SetSpanID(pcommon.SpanID{7: 2})
		q.SetParentSpanID(pcommon.SpanID{7: 1})
		q.SetKind(ptrace.SpanKindClient)
		q.SetName("SELECT")
		q.Attributes().PutStr("db.system.name", "postgresql")
		q.SetStartTimestamp(s.StartTimestamp())
		q.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(took)))
	}
	return td
}

// The lifecycle that the Collector asks of every component.
func TestLifecycle(t *testing.T) {
	c := createDefaultConfig().(*Config)
	tr, me, end := pipelines(t, c, settings())
	if tr.Capabilities().MutatesData || me.Capabilities().MutatesData {
		t.Error("it says that it changes data")
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	// Again with the same configuration, as after a reload.
	_, _, end = pipelines(t, c, settings())
	if err := end(); err != nil {
		t.Fatal(err)
	}
	// What cannot start says which field is to blame.
	for field, yaml := range map[string]map[string]any{
		"settings": {"settings": "missing.yaml"}, "baseline": {"compare": "pinned", "baseline": "missing.snap"},
		"page::endpoint": {"page": map[string]any{"endpoint": "127.0.0.1:1"}}, "directory": {"directory": "/dev/null/x"},
	} {
		c, err := configOf(t, yaml)
		if err != nil {
			t.Fatal(err)
		}
		f := NewFactory()
		tr, err := f.CreateTraces(context.Background(), settings(), c)
		if err != nil {
			t.Fatal(err)
		}
		err = tr.Start(context.Background(), componenttest.NewNopHost())
		if err == nil && field == "page::endpoint" {
			_ = tr.Shutdown(context.Background())
			continue // whoever may listen on port 1
		}
		if err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
		_ = tr.Shutdown(context.Background())
	}
}

// A key that takes another's place in what is remembered does not take its
// values.
func TestKeysThatCollide(t *testing.T) {
	o := live.New()
	o.Window, o.NoReports = 0, true
	e, err := live.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	all := &redact.Policy{Allow: redact.Patterns{"*"}}
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range 3 {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1: byte(i + 1)})
		s.SetSpanID(pcommon.SpanID{1})
		s.SetKind(ptrace.SpanKindServer)
		s.SetStartTimestamp(1)
		s.SetEndTimestamp(2)
		for k := range 3000 { // three times as many as there are places
			s.Attributes().PutStr(fmt.Sprintf("key-%d", k), fmt.Sprintf("value %d", k%50))
		}
	}
	if err := e.Add(func(in *live.Intake) { decoderOf(in, all).traces(in, td) }); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(context.Background(), time.Now()); err != nil {
		t.Fatal(err)
	}
	b, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	runs, err := summary.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs[0].Records {
		right := 0
		for _, a := range r.Attrs {
			key, text := runs[0].Dict.String(a.Key), runs[0].Dict.String(a.Value.TextID())
			var k int
			if _, err := fmt.Sscanf(key, "key-%d", &k); err == nil && text == fmt.Sprintf("value %d", k%50) {
				right++
			}
		}
		if right != 3000 {
			t.Errorf("%d of 3000 attributes are right", right)
		}
	}
}
