package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/summary"
	tailtrace "github.com/tailscope/tailscope/trace"
)

// The test's binary is the Collector too: with a configuration in the environment
// it runs as one.
func TestMain(m *testing.M) {
	if c := os.Getenv("COLLECTOR_TEST_CONFIG"); c != "" {
		os.Args = []string{"otelcol-tailscope", "--config", "yaml:" + c}
		main()
		return
	}
	os.Exit(m.Run())
}

const pipeline = `
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:%d"}
      http: {endpoint: "127.0.0.1:%d"}
exporters:
  tailscope: {directory: %q, window: 1h, quiet: %s, max_age: 60s, formats: [json]}
service:
  telemetry: {metrics: {level: none}, logs: {level: error}}
  pipelines:
    traces: {receivers: [otlp], exporters: [tailscope]}
`

// port is a port that is free.
func port(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func settings(uri string) otelcol.CollectorSettings {
	return otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol-tailscope", Version: "test"}, Factories: components, DisableGracefulShutdown: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{uri},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory(), fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	}
}

// The sample configuration is one.
func TestConfigIsValid(t *testing.T) {
	c, err := otelcol.NewCollector(settings("file:config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DryRun(context.Background()); err != nil {
		t.Error(err)
	}
}

// Real clients, both protocols, a real Collector: all that was sent is in the
// snapshot, once.
func TestClients(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	grpcPort, httpPort := port(t), port(t)
	c, err := otelcol.NewCollector(settings("yaml:" + fmt.Sprintf(pipeline, grpcPort, httpPort, dir, "1s")))
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	await(t, func() bool { return c.GetState() == otelcol.StateRunning })

	const requests, seconds = 2500, 4 // of two spans, for each of two clients: 10,000 spans a second together
	hour := time.Now().Add(-time.Hour).Truncate(time.Hour)
	began := time.Now()
	var wg sync.WaitGroup
	for name, client := range map[string]func() (sdktrace.SpanExporter, error){
		"grpc": func() (sdktrace.SpanExporter, error) {
			return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(fmt.Sprintf("127.0.0.1:%d", grpcPort)), otlptracegrpc.WithInsecure())
		},
		"http": func() (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(fmt.Sprintf("127.0.0.1:%d", httpPort)), otlptracehttp.WithInsecure())
		},
	} {
		exporter, err := client()
		if err != nil {
			t.Fatal(err)
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, sdktrace.WithBlocking()),
			sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", name))))
		wg.Go(func() {
			tracer := provider.Tracer("test")
			for second := range seconds {
				for i := range requests {
					at := hour.Add(time.Duration(second*requests+i) * 100 * time.Microsecond)
					ctx, root := tracer.Start(ctx, "GET /cart", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at), trace.WithAttributes(attribute.Int("http.response.status_code", 200)))
					_, child := tracer.Start(ctx, "SELECT", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(at.Add(time.Millisecond)))
					child.End(trace.WithTimestamp(at.Add(4 * time.Millisecond)))
					root.End(trace.WithTimestamp(at.Add(5 * time.Millisecond)))
				}
				if early := time.Duration(second+1)*time.Second - time.Since(began); early > 0 {
					time.Sleep(early) // the rate is what is tested
				}
			}
			if err := provider.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	c.Shutdown()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	s := merged(t, dir)
	want := int64(2 * 2 * requests * seconds)
	if s.Counts.Spans != want || s.Counts.Duplicates != 0 || s.Counts.IncompleteTraces != 0 || len(s.Records) != int(want)/2 {
		t.Errorf("%d spans of %d, %d requests, %d incomplete traces", s.Counts.Spans, want, len(s.Records), s.Counts.IncompleteTraces)
	}
	t.Logf("%.0f spans a second", float64(want)/took.Seconds())
}

// await waits for a condition that another process or goroutine brings about.
func await(t *testing.T, done func() bool) {
	t.Helper()
	for range 1200 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("waited for a minute in vain")
}

// merged is all snapshots in directories.
func merged(t *testing.T, dirs ...string) *summary.Summary {
	t.Helper()
	joined := summary.New()
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.snap"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := summary.Decode(b)
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			joined.Merge(runs[0])
		}
	}
	return joined
}

// A replica is a Collector in a process of its own.
type replica struct {
	dir  string
	port int
	cmd  *exec.Cmd
}

func start(t *testing.T, dir string) *replica { return startWith(t, dir, strings.NewReplacer()) }

func startWith(t *testing.T, dir string, change *strings.Replacer) *replica {
	t.Helper()
	r := &replica{dir: dir, port: port(t)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(self)
	r.cmd.Env = append(os.Environ(), "COLLECTOR_TEST_CONFIG="+change.Replace(fmt.Sprintf(pipeline, port(t), r.port, dir, "500ms")))
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() })
	await(t, func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return r
}

// end ends a replica as an operator does.
func (r *replica) end(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// send shards traces over replicas by a hash of their ids, as a load balancer
// does, and returns how many spans each got.
func send(t *testing.T, to []*replica, td ptrace.Traces) map[*replica]int {
	t.Helper()
	parts := map[*replica]ptrace.Traces{}
	got := map[*replica]int{}
	for _, rs := range td.ResourceSpans().All() {
		for _, s := range rs.ScopeSpans().At(0).Spans().All() {
			h := fnv.New32a()
			id := s.TraceID()
			h.Write(id[:])
			r := to[int(h.Sum32()%uint32(len(to)))]
			p, ok := parts[r]
			if !ok {
				p = ptrace.NewTraces()
				parts[r] = p
			}
			one := p.ResourceSpans().AppendEmpty()
			rs.Resource().CopyTo(one.Resource())
			s.CopyTo(one.ScopeSpans().AppendEmpty().Spans().AppendEmpty())
			got[r]++
		}
	}
	for r, p := range parts {
		b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(p)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/v1/traces", r.port), "application/x-protobuf", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	return got
}

func ts(t time.Time) pcommon.Timestamp { return pcommon.NewTimestampFromTime(t) }

// requests is n traces of three spans that began in an hour.
func requests(rng *rand.Rand, n int, hour time.Time) ptrace.Traces {
	td := ptrace.NewTraces()
	var spans []ptrace.SpanSlice
	for _, service := range []string{"gateway", "payment"} {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", service)
		spans = append(spans, rs.ScopeSpans().AppendEmpty().Spans())
	}
	for range n {
		var id pcommon.TraceID
		binary.BigEndian.PutUint64(id[:], rng.Uint64())
		at := hour.Add(time.Duration(rng.Int64N(int64(50 * time.Minute))))
		work := time.Duration(1e6 + rng.ExpFloat64()*1e7)
		add := func(to ptrace.SpanSlice, id pcommon.TraceID, n, parent byte, kind ptrace.SpanKind, name string, from, end time.Duration) {
			s := to.AppendEmpty()
			s.SetTraceID(id)
			s.SetSpanID(pcommon.SpanID{7: n})
			if parent > 0 {
				s.SetParentSpanID(pcommon.SpanID{7: parent})
			}
			s.SetKind(kind)
			s.SetName(name)
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(at.Add(from)))
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(end)))
		}
		add(spans[0], id, 1, 0, ptrace.SpanKindServer, "GET /checkout", 0, work+3e6)
		add(spans[0], id, 2, 1, ptrace.SpanKindClient, "POST /charge", 1e6, work+2e6)
		add(spans[1], id, 3, 2, ptrace.SpanKindServer, "POST /charge", 15e5, work+15e5)
	}
	return td
}

// Three replicas that share the traces write what one would have: their snapshots
// merge to that of the whole, to the byte.
func TestReplicas(t *testing.T) {
	var all []*replica
	for range 3 {
		all = append(all, start(t, t.TempDir()))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	hour := time.Now().Add(-time.Hour).Truncate(time.Hour)
	store := tailtrace.NewStore(tailtrace.NewTables())
	var dirs []string
	for range 5 {
		td := requests(rng, 200, hour)
		send(t, all, td)
		fill(store, td)
	}
	for _, r := range all {
		r.end(t)
		dirs = append(dirs, r.dir)
	}
	o := analysis.New()
	whole := summary.New()
	whole.KeepWhole()
	whole.AddSpans(store, o.Judge())
	got := merged(t, dirs...)
	if !bytes.Equal(summary.Encode([]*summary.Summary{got}), summary.Encode([]*summary.Summary{whole})) {
		t.Errorf("the replicas have %d requests in %d spans, the whole %d in %d", len(got.Records), got.Counts.Spans, len(whole.Records), whole.Counts.Spans)
	}
	slices.Reverse(dirs)
	if !bytes.Equal(summary.Encode([]*summary.Summary{merged(t, dirs...)}), summary.Encode([]*summary.Summary{got})) {
		t.Error("another order of merging gives another snapshot")
	}
}

// fill reads spans into a store as a file of them is.
func fill(store *tailtrace.Store, td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		service, _ := rs.Resource().Attributes().Get("service.name")
		res := store.AddResource([]tailtrace.RawAttr{{Key: []byte("service.name"), Value: tailtrace.RawValue{Type: tailtrace.String, Bytes: []byte(service.Str())}}})
		for _, s := range rs.ScopeSpans().At(0).Spans().All() {
			id, parent := s.SpanID(), s.ParentSpanID()
			store.Add(&tailtrace.RawSpan{
				TraceID: tailtrace.TraceID(s.TraceID()), ID: tailtrace.SpanID(binary.BigEndian.Uint64(id[:])), ParentID: tailtrace.SpanID(binary.BigEndian.Uint64(parent[:])),
				Start: tailtrace.Time(s.StartTimestamp()), End: tailtrace.Time(s.EndTimestamp()), Kind: tailtrace.Kind(s.Kind()), Name: []byte(s.Name()), Resource: res,
			})
		}
	}
}

// kill -9 loses the open window and nothing else: what was completed is whole on
// disk, the others are not disturbed, a new replica takes its share, and the
// counts say what is missing. Started again, the replica goes on.
func TestReplicaDies(t *testing.T) {
	var all []*replica
	for range 3 {
		all = append(all, start(t, t.TempDir()))
	}
	rng := rand.New(rand.NewPCG(3, 4))
	hour := time.Now().Truncate(time.Hour)
	sent := 0
	count := func(to []*replica, n int, ago time.Duration) map[*replica]int {
		sent += 3 * n
		return send(t, to, requests(rng, n, hour.Add(-ago)))
	}
	count(all, 300, 3*time.Hour) // a window that is over: it is completed soon
	await(t, func() bool {
		for _, r := range all {
			if files, _ := filepath.Glob(filepath.Join(r.dir, "window-*.snap")); len(files) != 1 {
				return false
			}
		}
		return true
	})
	victim := all[1]
	lost := count(all, 200, 2*time.Hour)[victim]
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := victim.cmd.Wait(); err == nil {
		t.Fatal("it ended well")
	}
	dirs := []string{all[0].dir, all[1].dir, all[2].dir}
	all[1] = start(t, t.TempDir()) // another in its place
	dirs = append(dirs, all[1].dir)
	count(all, 300, 2*time.Hour)
	for _, r := range all {
		r.end(t)
	}
	s := merged(t, dirs...) // none is torn: that would be fatal here
	if missing := sent - int(s.Counts.Spans); missing != lost || s.Counts.Duplicates != 0 || s.Counts.IncompleteTraces != 0 {
		t.Errorf("%d spans of %d are missing, and the dead replica had %d open; %d incomplete traces", missing, sent, lost, s.Counts.IncompleteTraces)
	}
	// The victim started again has its window, and takes more.
	again := start(t, victim.dir)
	send(t, []*replica{again}, requests(rng, 100, hour.Add(-2*time.Hour)))
	again.end(t)
	if now := merged(t, victim.dir); now.Counts.Spans <= 300 {
		t.Errorf("%d spans after the restart", now.Counts.Spans)
	}
	if files, _ := filepath.Glob(filepath.Join(victim.dir, "*.part")); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// A configuration that cannot be is refused at start, with its field.
func TestBadConfig(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	bad := fmt.Sprintf(pipeline, port(t), port(t), t.TempDir(), "2h")
	cmd.Env = append(os.Environ(), "COLLECTOR_TEST_CONFIG="+bad)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !bytes.Contains(out, []byte("quiet: must not be longer than the window")) {
		t.Errorf("%v: %s", err, out)
	}
}
