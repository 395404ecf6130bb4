package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is the time at which tests begin: the start of a window.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, change func(*Options)) *Engine {
	t.Helper()
	o := New()
	o.Looks = 0
	o.Warn = func(err error) { t.Error(err) }
	if change != nil {
		change(&o)
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// checked is the stats, which must add up.
func checked(t *testing.T, e *Engine) Stats {
	t.Helper()
	s := e.Stats()
	if s.Received != s.Analysed+s.Late+s.Shed+s.Open {
		t.Fatalf("received %d is not analysed %d + late %d + shed %d + open %d", s.Received, s.Analysed, s.Late, s.Shed, s.Open)
	}
	return s
}

func add(t *testing.T, e *Engine, s *trace.Store) {
	t.Helper()
	if err := e.Add(func(in *Intake) { in.Store(s, nil, nil) }); err != nil {
		t.Fatal(err)
	}
}

// A request is a gateway that calls a backend, beginning at an instant.
type request struct {
	id      uint64
	start   time.Time
	took    time.Duration
	backend time.Duration
	version string
}

func (q request) traceID() (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[8:], q.id)
	return id
}

func attr(key, value string) trace.RawAttr {
	return trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.String, Bytes: []byte(value)}}
}

// spans calls f for the spans of the request: the entry's, then the call's two
// halves.
func (q request) spans(in *Intake, which ...int) {
	service := func(name, version string) trace.ResourceID {
		attrs := []trace.RawAttr{attr("service.name", name), attr("host.name", name+"-1")}
		if version != "" {
			attrs = append(attrs, attr("service.version", version))
		}
		return in.Tables.AddResource(attrs)
	}
	at := trace.Time(q.start.UnixNano())
	call := at + trace.Time(time.Millisecond)
	all := []trace.RawSpan{
		{ID: 1, Start: at, End: at + trace.Time(q.took), Kind: trace.KindServer, Name: []byte("GET /checkout"), Resource: service("gateway", q.version)},
		{ID: 2, ParentID: 1, Start: call, End: call + trace.Time(q.backend+200*time.Microsecond), Kind: trace.KindClient, Name: []byte("POST /charge"), Resource: service("gateway", q.version)},
		{ID: 3, ParentID: 2, Start: call + 1e5, End: call + 1e5 + trace.Time(q.backend), Kind: trace.KindServer, Name: []byte("POST /charge"), Resource: service("payment", "")},
	}
	for i := range all {
		if len(which) == 0 || slices.Contains(which, i) {
			all[i].TraceID = q.traceID()
			in.Span(&all[i])
		}
	}
}

func send(t *testing.T, e *Engine, q request, which ...int) {
	t.Helper()
	if err := e.Add(func(in *Intake) { q.spans(in, which...) }); err != nil {
		t.Fatal(err)
	}
}

// traffic sends requests for a while, n a second, and ticks once a second. slow
// is how long the backend takes for one request in ten.
func traffic(t *testing.T, e *Engine, from time.Time, long time.Duration, n int, slow time.Duration, version string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(from.UnixNano()), 5))
	for now := from; now.Before(from.Add(long)); now = now.Add(time.Second) {
		for i := range n {
			q := request{id: uint64(now.UnixNano()) + uint64(i), start: now.Add(time.Duration(rng.Int64N(7e8))), version: version}
			q.backend = time.Duration(10+rng.ExpFloat64()*4) * time.Millisecond
			if rng.IntN(10) == 0 {
				q.backend += slow
			}
			q.took = q.backend + time.Duration(2+rng.ExpFloat64())*time.Millisecond
			send(t, e, q)
		}
		e.Tick(now.Add(time.Second))
		checked(t, e)
	}
}

// idle ticks for a while without traffic.
func idle(t *testing.T, e *Engine, from time.Time, long time.Duration) {
	t.Helper()
	for now := from; !now.After(from.Add(long)); now = now.Add(time.Second) {
		e.Tick(now)
		checked(t, e)
	}
}

// A stream of whole traces, however its spans are spread over batches and
// generations, gives the snapshot of the file with the same spans, to the byte.
func TestStreamIsTheFile(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 1))
		spans := tracetest.Random(rng, 1+rng.IntN(40))
		all := trace.NewStore(trace.NewTables())
		tracetest.Fill(all, spans)
		o := New()
		want := summary.New()
		want.KeepWhole()
		want.AddSpans(all, o.Analysis.Judge())

		dir := t.TempDir()
		e := open(t, func(o *Options) { o.Window, o.Dir, o.Formats = 0, dir, nil })
		rng.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		now := epoch
		for len(spans) > 0 {
			n := min(len(spans), 1+rng.IntN(20))
			part := trace.NewStore(trace.NewTables())
			tracetest.Fill(part, spans[:n])
			add(t, e, part)
			spans = spans[n:]
			// At most 9 s between two batches, so that no trace is quiet for long enough
			// to be taken for whole; unless all its spans are far apart, see below.
			now = now.Add(time.Duration(rng.IntN(300)) * time.Millisecond)
			e.Tick(now)
			checked(t, e)
		}
		if err := e.Close(context.Background(), now); err != nil {
			t.Fatal(err)
		}
		s := checked(t, e)
		if s.Open != 0 || s.Shed != 0 {
			t.Fatalf("seed %d: %+v", seed, s)
		}
		if s.Late > 0 {
			continue // a trace with a gap of more than a generation: told, and not the same
		}
		got, err := os.ReadFile(filepath.Join(dir, "snapshot.snap"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, summary.Encode([]*summary.Summary{want})) {
			t.Fatalf("seed %d: the snapshot of the stream is not that of the file", seed)
		}
	}
}

// A trace is whole when none of its spans came for a while, however long it took,
// and what comes for it afterwards is late.
func TestWholeWhenQuiet(t *testing.T) {
	e := open(t, nil)
	now := epoch
	q := request{id: 7, start: epoch, took: time.Second, backend: time.Millisecond}
	e.Tick(now)
	for i := range 3 { // a span every 9 s
		send(t, e, q, i)
		for range 9 {
			now = now.Add(time.Second)
			e.Tick(now)
		}
		if s := checked(t, e); s.Open != int64(i+1) {
			t.Fatalf("after span %d: %+v", i+1, s)
		}
	}
	idle(t, e, now, 30*time.Second)
	if s := checked(t, e); s.Open != 0 || s.Analysed != 3 {
		t.Fatalf("after half a minute: %+v", s)
	}
	send(t, e, q, 1)
	idle(t, e, now.Add(30*time.Second), 30*time.Second)
	if s := checked(t, e); s.Late != 1 || s.Analysed != 3 {
		t.Fatalf("after a late span: %+v", s)
	}
}

// A trace whose spans never end is cut, and the rest of it is late.
func TestTraceThatGoesOnIsCut(t *testing.T) {
	e := open(t, func(o *Options) { o.MaxAge = 40 * time.Second })
	q := request{id: 7, start: epoch, took: time.Second, backend: time.Millisecond}
	for i := range 120 {
		send(t, e, q, 1)
		e.Tick(epoch.Add(time.Duration(i) * time.Second))
		checked(t, e)
	}
	s := checked(t, e)
	if s.Cut != 1 || s.Analysed == 0 || s.Late == 0 || s.Open > 20 {
		t.Errorf("%+v", s)
	}
}

func TestCountsOfBadSpans(t *testing.T) {
	e := open(t, nil)
	q := request{id: 7, start: epoch, took: time.Second, backend: time.Millisecond}
	send(t, e, q)
	send(t, e, q, 2, 0) // again, and the child before its parent
	err := e.Add(func(in *Intake) {
		in.Span(&trace.RawSpan{TraceID: q.traceID(), ID: 9, Start: 5, End: 4})
		in.Span(&trace.RawSpan{ID: 9, Start: 5, End: 6})
		in.Reject()
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := checked(t, e); s.Received != 8 || s.Rejected != 3 || s.Open != 5 {
		t.Fatalf("%+v", s)
	}
	idle(t, e, epoch, 30*time.Second)
	if s := checked(t, e); s.Analysed != 8 || s.Rejected != 3 || s.Duplicates != 2 || s.OutOfOrder < 1 || s.OutOfOrder > 3 { // by which slot is collected first
		t.Errorf("%+v", s)
	}
}

// The window after a change is compared with those before it.
func TestRollingWindows(t *testing.T) {
	dir := t.TempDir()
	var reports []*Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Dir = time.Minute, 2*time.Second, 20*time.Second, dir
		o.Report = func(p *Published) { reports = append(reports, p) }
	})
	traffic(t, e, epoch, 3*time.Minute, 20, 0, "")
	traffic(t, e, epoch.Add(3*time.Minute), time.Minute, 20, 200*time.Millisecond, "")
	idle(t, e, epoch.Add(4*time.Minute), time.Minute)
	if len(reports) != 4 {
		t.Fatalf("%d reports", len(reports))
	}
	for i, p := range reports {
		if want := epoch.Add(time.Duration(i) * time.Minute); !p.Window.Equal(want) {
			t.Errorf("report %d is of the window from %v", i, p.Window)
		}
		if len(p.Report.Endpoints) == 0 {
			t.Fatalf("report %d has no endpoint", i)
		}
		row := p.Report.Endpoints[0]
		switch {
		case i == 0 && row.Verdict != report.Single, i > 0 && i < 3 && row.Verdict == report.Regression, i == 3 && row.Verdict != report.Regression:
			t.Errorf("window %d: %s", i, row.Verdict)
		}
		if i > 0 && row.Requests.Baseline.Sampled != int64(i*1200) || row.Requests.Current.Sampled != 1200 {
			t.Errorf("window %d: %d and %d requests", i, row.Requests.Baseline.Sampled, row.Requests.Current.Sampled)
		}
	}
	if s := checked(t, e); s.Windows != 4 || s.Regressions != 1 || s.Late+s.Shed+s.Open > 0 || s.Analysed != 4*60*20*3 {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"report.json", "report.md", "regression-20260301T120300Z.json", "window-20260301T120000Z.snap", "window-20260301T120300Z.snap"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := report.Decode(bytes.NewReader(b)); err != nil || r.Endpoints[0].Verdict != report.Regression {
		t.Errorf("report.json: %v", err)
	}
	parts, _ := filepath.Glob(filepath.Join(dir, "*.part"))
	if len(parts) > 0 {
		t.Errorf("left behind: %v", parts)
	}
}

// The same traffic over and over is no regression, and windows of a slow stretch
// do not become the baseline of themselves at once.
func TestSteadyTrafficIsNoRegression(t *testing.T) {
	e := open(t, func(o *Options) { o.Window, o.Quiet, o.MaxAge = time.Minute, 2*time.Second, 20*time.Second })
	traffic(t, e, epoch, 6*time.Minute, 10, 50*time.Millisecond, "")
	idle(t, e, epoch.Add(6*time.Minute), time.Minute)
	if s := checked(t, e); s.Windows != 6 || s.Regressions != 0 {
		t.Errorf("%+v", s)
	}
}

func TestVersions(t *testing.T) {
	var last *Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Compare, o.VersionOf = time.Minute, 2*time.Second, 20*time.Second, ByVersion, "gateway"
		o.Report = func(p *Published) { last = p }
	})
	traffic(t, e, epoch, time.Minute, 20, 0, "1.9/old")
	idle(t, e, epoch.Add(time.Minute), 30*time.Second)
	if last == nil || last.Report.Comparison() {
		t.Fatal("one version is compared with something")
	}
	for i := range 60 { // a canary beside it
		at := epoch.Add(2 * time.Minute).Add(time.Duration(i) * time.Second)
		traffic(t, e, at, time.Second, 20, 0, "1.9/old")
		traffic(t, e, at.Add(time.Millisecond), time.Second, 10, 300*time.Millisecond, "2.0")
	}
	idle(t, e, epoch.Add(3*time.Minute), time.Minute)
	row := last.Report.Endpoints[0]
	if row.Verdict != report.Regression || row.Requests.Baseline.Sampled != 2400 || row.Requests.Current.Sampled != 600 {
		t.Errorf("%s with %d and %d requests", row.Verdict, row.Requests.Baseline.Sampled, row.Requests.Current.Sampled)
	}
}

func TestPinned(t *testing.T) {
	dir := t.TempDir()
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Dir = time.Minute, 2*time.Second, 20*time.Second, dir
	})
	traffic(t, e, epoch, time.Minute, 20, 0, "")
	idle(t, e, epoch.Add(time.Minute), 30*time.Second)
	pin, err := os.ReadFile(filepath.Join(dir, "window-20260301T120000Z.snap"))
	if err != nil {
		t.Fatal(err)
	}
	var reports []*Published
	e = open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Compare, o.Baseline = time.Minute, 2*time.Second, 20*time.Second, Pinned, pin
		o.Report = func(p *Published) { reports = append(reports, p) }
	})
	for i, slow := range []time.Duration{0, 200 * time.Millisecond, 200 * time.Millisecond} {
		traffic(t, e, epoch.Add(time.Duration(10+i)*time.Minute), time.Minute, 20, slow, "")
	}
	idle(t, e, epoch.Add(13*time.Minute), 30*time.Second)
	if len(reports) != 3 {
		t.Fatalf("%d reports", len(reports))
	}
	for i, p := range reports {
		if got := p.Report.Endpoints[0].Verdict == report.Regression; got != (i > 0) {
			t.Errorf("window %d: %s", i, p.Report.Endpoints[0].Verdict)
		}
	}
}

// What is closed is found again after a crash; a torn file is not taken for one.
// A window left open by an orderly end goes on.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	var reports []*Published
	options := func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Dir = time.Minute, 2*time.Second, 20*time.Second, dir
		o.Report = func(p *Published) { reports = append(reports, p) }
	}
	e := open(t, options)
	traffic(t, e, epoch, 90*time.Second, 20, 0, "")
	// A crash: nothing is closed, and a file is torn.
	if err := os.WriteFile(filepath.Join(dir, "window-20260301T120100Z.snap.part"), []byte("tailscope sna"), 0o600); err != nil {
		t.Fatal(err)
	}
	e = open(t, options)
	if s := e.Stats(); s.KeptBytes == 0 {
		t.Fatal("the window of before the crash is gone")
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(found) > 0 {
		t.Errorf("%v is still there", found)
	}
	traffic(t, e, epoch.Add(2*time.Minute), 30*time.Second, 20, 0, "")
	if err := e.Close(context.Background(), epoch.Add(150*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := e.Add(func(*Intake) { t.Error("taken after the end") }); err != ErrClosed {
		t.Error(err)
	}
	last := reports[len(reports)-1]
	if !last.Cut || !last.Report.Comparison() || last.Report.Endpoints[0].Requests.Current.Sampled != 600 {
		t.Errorf("the report at the end: cut %v, %+v", last.Cut, last.Report.Endpoints[0].Requests)
	}
	if _, err := os.Stat(filepath.Join(dir, "open-20260301T120200Z.snap")); err != nil {
		t.Error(err)
	}
	e = open(t, options)
	traffic(t, e, epoch.Add(150*time.Second), 30*time.Second, 20, 0, "")
	idle(t, e, epoch.Add(3*time.Minute), 30*time.Second)
	last = reports[len(reports)-1]
	if got := last.Report.Endpoints[0].Requests.Current.Sampled; last.Cut || got != 1200 {
		t.Errorf("the window over two engines: cut %v, %d requests", last.Cut, got)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "open-*")); len(found) > 0 {
		t.Errorf("%v is still there", found)
	}
	// Damage is told of, and the rest goes on.
	damaged := filepath.Join(dir, "window-20260301T120000Z.snap")
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(damaged, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var warned []error
	e = open(t, func(o *Options) { options(o); o.Warn = func(err error) { warned = append(warned, err) } })
	if len(warned) != 1 || !strings.Contains(warned[0].Error(), damaged) || e.Stats().KeptBytes == 0 {
		t.Errorf("warned of %v, kept %d bytes", warned, e.Stats().KeptBytes)
	}
}

// Replicas that share the traces write snapshots that merge to that of the
// whole, to the byte.
func TestReplicas(t *testing.T) {
	names := []string{"window-20260301T120000Z.snap", "window-20260301T120100Z.snap"}
	run := func(n, of int) [][]byte {
		dir := t.TempDir()
		e := open(t, func(o *Options) {
			o.Window, o.Quiet, o.MaxAge, o.Dir = time.Minute, 2*time.Second, 20*time.Second, dir
		})
		rng := rand.New(rand.NewPCG(4, 4))
		for now := epoch; now.Before(epoch.Add(2 * time.Minute)); now = now.Add(time.Second) {
			for i := range 12 {
				q := request{id: rng.Uint64(), start: now.Add(time.Duration(i*70) * time.Millisecond)}
				q.backend = time.Duration(rng.ExpFloat64()*2e7) + 1000
				q.took = q.backend + 2e6
				if int(q.id%uint64(of)) == n {
					send(t, e, q)
				}
			}
			e.Tick(now.Add(time.Second))
		}
		idle(t, e, epoch.Add(2*time.Minute), 30*time.Second)
		var out [][]byte
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b)
		}
		return out
	}
	whole := run(0, 1)
	parts := [][][]byte{run(0, 3), run(2, 3), run(1, 3)}
	for i := range names {
		joined := summary.New()
		for _, p := range parts {
			runs, err := summary.Decode(p[i])
			if err != nil {
				t.Fatal(err)
			}
			joined.Merge(runs[0])
		}
		if !bytes.Equal(summary.Encode([]*summary.Summary{joined}), whole[i]) {
			t.Errorf("%s: the replicas' parts are not the whole", names[i])
		}
	}
}

// More than fits is shed by whole traces: what is left is complete, stands for
// all in its weights, and memory stays bounded. Then the gate opens again.
func TestOverload(t *testing.T) {
	var last *Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Memory = 2*time.Minute, 10*time.Second, time.Minute, MinMemory
		o.Report = func(p *Published) { last = p }
	})
	rng := rand.New(rand.NewPCG(9, 9))
	now := epoch
	var most int64
	sent := 0
	second := func(n int) {
		for range n {
			q := request{id: rng.Uint64(), start: now, took: 12 * time.Millisecond, backend: 10 * time.Millisecond}
			send(t, e, q, 0, 1)
			send(t, e, q, 2)
			sent++
		}
		now = now.Add(time.Second)
		e.Tick(now)
		most = max(most, checked(t, e).SpanBytes)
	}
	for range 30 {
		second(2000)
	}
	s := checked(t, e)
	if s.Shed == 0 || s.KeptShare > 0.9 {
		t.Fatalf("60,000 traces in 30 s fit into %d MiB: %+v", MinMemory>>20, s)
	}
	if most > MinMemory/2 {
		t.Errorf("spans took %d KiB of %d", most>>10, MinMemory>>10)
	}
	for range 80 {
		second(5)
	}
	if s := checked(t, e); s.KeptShare != 1 {
		t.Errorf("the gate is still closed: %+v", s)
	}
	idle(t, e, now, 2*time.Minute)
	s = checked(t, e)
	if s.Open != 0 || last == nil {
		t.Fatalf("%+v", s)
	}
	if in := last.Report.Ingest; in.IncompleteTraces > 0 || in.Orphans > 0 {
		t.Errorf("%d incomplete traces: shedding tore them", in.IncompleteTraces)
	}
	r := last.Report.Endpoints[0].Requests.Current
	if est := float64(r.Estimated); est < 0.9*float64(sent) || est > 1.1*float64(sent) {
		t.Errorf("%d requests are said to stand for %.0f; there were %d", r.Sampled, est, sent)
	}
}

// Old data, as of a file that is sent, gets the windows of its own time.
func TestDataOfThePast(t *testing.T) {
	var reports []*Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge = time.Minute, 2*time.Second, 20*time.Second
		o.Report = func(p *Published) { reports = append(reports, p) }
	})
	for i := range 600 {
		send(t, e, request{id: uint64(i + 1), start: epoch.Add(-48 * time.Hour).Add(time.Duration(i) * 300 * time.Millisecond), took: 5e6, backend: 1e6})
	}
	send(t, e, request{id: 9999, start: epoch.Add(300 * time.Hour), took: 5e6, backend: 1e6}) // a wrong clock
	idle(t, e, epoch, 3*time.Minute)
	s := checked(t, e)
	if s.Windows != 4 || s.Late != 0 || s.Future != 3 || len(reports) != 4 {
		t.Errorf("%d reports, %+v", len(reports), s)
	}
}

// Metric points go to the window of their time.
func TestMetrics(t *testing.T) {
	var reports []*Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge = time.Minute, 2*time.Second, 20*time.Second
		o.Report = func(p *Published) { reports = append(reports, p) }
	})
	traffic(t, e, epoch, time.Minute, 5, 0, "")
	for i := range 12 {
		point(t, e, "db.client.connection.count", epoch.Add(time.Duration(i)*10*time.Second), float64(i))
	}
	traffic(t, e, epoch.Add(time.Minute), time.Minute, 5, 0, "")
	idle(t, e, epoch.Add(2*time.Minute), time.Minute)
	if s := checked(t, e); len(reports) != 2 || s.Points != 12 || s.LatePoints != 0 {
		t.Fatalf("%d reports, %+v", len(reports), s)
	}
	m := reports[1].Report.Metrics
	if len(m) != 2 || m[0].Points != 6 || m[1].Points != 6 || m[0].Set != report.Baseline {
		t.Errorf("%+v", m)
	}
	point(t, e, "db.client.connection.count", epoch, 1)
	idle(t, e, epoch.Add(3*time.Minute), time.Minute)
	if s := checked(t, e); s.LatePoints != 1 {
		t.Errorf("%+v", s)
	}
}

// Run does it all by the clock, while batches come from many goroutines, and
// ends with its context.
func TestRun(t *testing.T) {
	done := make(chan *Published, 100)
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge = time.Second, 50*time.Millisecond, time.Second
		o.Report = func(p *Published) { done <- p }
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { e.Run(ctx) })
	for k := range 4 {
		wg.Go(func() {
			for i := range 200 {
				send(t, e, request{id: uint64(k*1000 + i + 1), start: time.Now(), took: 5e6, backend: 1e6})
				checkedNow(t, e)
			}
		})
	}
	<-done
	cancel()
	wg.Wait()
	if err := e.Close(context.Background(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if s := checked(t, e); s.Analysed+s.Late != 2400 || s.Open != 0 {
		t.Errorf("%+v", s)
	}
}

func checkedNow(t *testing.T, e *Engine) {
	s := e.Stats()
	if s.Received != s.Analysed+s.Late+s.Shed+s.Open {
		t.Errorf("received %d is not analysed %d + late %d + shed %d + open %d", s.Received, s.Analysed, s.Late, s.Shed, s.Open)
	}
}

// A regression is told of while its window is open, once, and once more when the
// window closes. One burst is none.
func TestLooks(t *testing.T) {
	for _, c := range []struct {
		name  string
		rate  int
		slow  time.Duration // of the window
		early int
		holds bool
	}{
		{"to the end", 20, time.Minute, 1, true}, {"a moment", 20, 4 * time.Second, 0, false}, {"not at all", 20, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var reports []*Published
			e := open(t, func(o *Options) {
				o.Window, o.Quiet, o.MaxAge, o.Dir, o.Looks = time.Minute, 2*time.Second, 20*time.Second, dir, 7
				o.OnlyRegressions = true
				o.Report = func(p *Published) { reports = append(reports, p) }
			})
			traffic(t, e, epoch, 2*time.Minute, c.rate, 0, "")
			at := epoch.Add(2 * time.Minute)
			traffic(t, e, at, c.slow, c.rate, 300*time.Millisecond, "")
			traffic(t, e, at.Add(c.slow), time.Minute-c.slow, c.rate, 0, "")
			idle(t, e, at.Add(time.Minute), 30*time.Second)
			early := 0
			for _, p := range reports {
				if !p.Open {
					continue
				}
				early++
				if !p.Regression() || !p.Window.Equal(at) || p.At.After(at.Add(40*time.Second)) || len(p.Report.Warnings) == 0 {
					t.Errorf("an early report of the window from %v, made at %v: %v", p.Window, p.At, p.Report.Warnings)
				}
				if float64(p.Report.Run.Alpha) >= 0.05/2 {
					t.Errorf("a look has an alpha of %v", p.Report.Run.Alpha)
				}
			}
			last := reports[len(reports)-1]
			if early != c.early || last.Open || last.Regression() != c.holds {
				t.Fatalf("%d early reports; the last is of an open window: %v, of a regression: %v", early, last.Open, last.Regression())
			}
			s := checked(t, e)
			if s.Early != int64(c.early) || s.Regressions != int64(c.early) || s.Looks != 7 && s.Looks != 14 {
				t.Errorf("%+v", s)
			}
			if _, err := os.Stat(filepath.Join(dir, "regression-20260301T120200Z.json")); (err == nil) != (c.early > 0) {
				t.Error(err)
			}
		})
	}
}

// An incident is told of in every window that it lasts, and not held against itself;
// what lasts as long as the history is how things are. A restart forgets nothing of it.
func TestIncidentThatLasts(t *testing.T) {
	for _, restart := range []bool{false, true} {
		dir := t.TempDir()
		told := map[time.Time]bool{}
		start := func() *Engine {
			return open(t, func(o *Options) {
				o.Window, o.Quiet, o.MaxAge, o.History, o.Dir = 30*time.Second, time.Second, 10*time.Second, 3, dir
				o.Report = func(p *Published) {
					if !p.Cut {
						told[p.Window] = p.Regression()
					}
				}
			})
		}
		e := start()
		const calm, slow = 4, 7
		at := epoch
		for w := range calm + slow {
			var by time.Duration
			if w >= calm {
				by = 300 * time.Millisecond
			}
			traffic(t, e, at, 30*time.Second, 20, by, "")
			at = at.Add(30 * time.Second)
			if restart && w == calm+1 {
				idle(t, e, at, 10*time.Second)
				if err := e.Close(context.Background(), at.Add(10*time.Second)); err != nil {
					t.Fatal(err)
				}
				e = start()
			}
		}
		idle(t, e, at, 10*time.Second)
		var got []bool
		for w := range calm + slow {
			got = append(got, told[epoch.Add(time.Duration(w)*30*time.Second)])
		}
		if want := []bool{false, false, false, false, true, true, true, true, true, false, false}; !slices.Equal(got, want) {
			t.Errorf("restart %v: told %v, want %v", restart, got, want)
		}
	}
}

// A look does not tell of an endpoint with so few requests that they were taken for
// independent of each other: one burst would do.
func TestLookAtFew(t *testing.T) {
	p := &Published{Report: &report.Report{Endpoints: []report.Endpoint{
		{Service: "web", Operation: "GET /few", Verdict: report.Regression, Basis: &report.Basis{Method: string(stats.Independent)}},
		{Service: "web", Operation: "GET /same", Verdict: report.NoRegression, Basis: &report.Basis{Method: string(stats.Blocks)}},
	}}}
	var told told
	if told.note(p) {
		t.Errorf("told of %v", told.endpoints)
	}
	p.Report.Endpoints[0].Basis.Method = string(stats.Blocks)
	if !told.note(p) || told.note(p) || len(told.endpoints) != 1 {
		t.Errorf("told of %v", told.endpoints)
	}
}

// What a look found and the whole window does not show is told of when it closes.
func TestLookThatDoesNotHold(t *testing.T) {
	var last *Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Looks = time.Minute, 2*time.Second, 20*time.Second, 7
		o.Report = func(p *Published) { last = p }
	})
	traffic(t, e, epoch, 90*time.Second, 20, 0, "")
	for _, w := range e.windows {
		w.told.endpoints = map[[2]string]bool{{"gateway", "GET /checkout"}: true}
	}
	traffic(t, e, epoch.Add(90*time.Second), 30*time.Second, 20, 0, "")
	idle(t, e, epoch.Add(2*time.Minute), 20*time.Second)
	if !strings.Contains(strings.Join(last.Report.Warnings, " "), "does not show in the whole") {
		t.Errorf("%q", last.Report.Warnings)
	}
}

// Looks find versions and pinned baselines too, and metrics come with them.
func TestLooksOfVersions(t *testing.T) {
	var early *Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Compare, o.Looks = time.Minute, 2*time.Second, 20*time.Second, ByVersion, 3
		o.Report = func(p *Published) {
			if p.Open {
				early = p
			}
		}
	})
	for i := range 40 {
		at := epoch.Add(time.Duration(i) * time.Second)
		traffic(t, e, at, time.Second, 20, 0, "1.9")
		if i >= 5 {
			traffic(t, e, at.Add(time.Millisecond), time.Second, 10, 300*time.Millisecond, "2.0")
		}
		point(t, e, "db.client.connection.count", at, float64(i))
	}
	if early == nil {
		t.Fatal("nothing was found in the open window")
	}
	if early.Report.Endpoints[0].Verdict != report.Regression || len(early.Report.Metrics) != 2 {
		t.Errorf("%s, %d metrics", early.Report.Endpoints[0].Verdict, len(early.Report.Metrics))
	}
	traffic(t, e, epoch.Add(40*time.Second), 20*time.Second, 20, 0, "1.9")
	idle(t, e, epoch.Add(time.Minute), 30*time.Second) // to look has changed nothing of the window
	if r := e.Latest().Report; e.Latest().Open || r.Endpoints[0].Requests.Current.Sampled != 350 || r.Endpoints[0].Requests.Baseline.Sampled != 1200 || r.Metrics[0].Points != 40 {
		t.Errorf("%+v", r.Endpoints[0].Requests)
	}
}

// Whatever is done with what was taken, and however long it takes: nobody who
// brings more waits for it, the counts can be read, and memory stays bounded.
func TestStalledAnalysisDelaysNothing(t *testing.T) {
	stalled, goOn := make(chan struct{}), make(chan struct{})
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Memory = time.Second, 10*time.Millisecond, time.Second, MinMemory
		o.Report = func(*Published) { close(stalled); <-goOn }
	})
	q := request{start: time.Now().Add(-time.Minute), took: 5e6, backend: 1e6}
	q.id = 1
	send(t, e, q)
	now := time.Now()
	ended := make(chan struct{})
	go func() { // a Tick that does not end, by the report of the window
		defer close(ended)
		for i := range 8 {
			e.Tick(now.Add(time.Duration(i) * 10 * time.Second))
			if e.reports.Load() > 0 {
				return
			}
		}
	}()
	<-stalled
	var wg sync.WaitGroup
	const senders, each = 4, 20_000
	for k := range senders {
		wg.Go(func() {
			for i := range each {
				q := q
				q.id = uint64(k*each + i + 2)
				if err := e.Add(func(in *Intake) { q.spans(in) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait() // while the analysis stands
	if s := e.Stats(); s.Reports == 1 && s.Open > 3 {
		t.Errorf("the counts are not those of the last tick: %+v", s)
	}
	if held := e.coming.Load() + e.held.Load(); held > 2*e.spanBudget {
		t.Errorf("%d KiB are held of %d", held>>10, e.spanBudget>>10)
	}
	close(goOn)
	<-ended
	e.o.Report = nil
	if err := e.Close(context.Background(), now); err != nil {
		t.Fatal(err)
	}
	if s := checked(t, e); s.Received != 3*(senders*each+1) || s.Shed == 0 || s.Open != 0 {
		t.Errorf("%+v", s)
	}
}

// The records and the folds of open windows fit into their share, and what is left
// stands for all.
func TestWindowsFitIntoMemory(t *testing.T) {
	var last *Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Memory = 5*time.Minute, 10*time.Second, time.Minute, MinMemory
		o.Report = func(p *Published) { last = p }
	})
	rng := rand.New(rand.NewPCG(9, 9))
	sent := 0
	for now := epoch; now.Before(epoch.Add(5 * time.Minute)); now = now.Add(time.Second) {
		for range 250 {
			send(t, e, request{id: rng.Uint64(), start: now, took: 12 * time.Millisecond, backend: time.Duration(1+rng.IntN(1e7)) * time.Nanosecond})
			sent++
		}
		e.Tick(now.Add(time.Second))
		if s := checked(t, e); s.RecordBytes > e.recordBudget {
			t.Fatalf("%d KiB are held of %d", s.RecordBytes>>10, e.recordBudget>>10)
		}
	}
	idle(t, e, epoch.Add(5*time.Minute), time.Minute)
	s := checked(t, e)
	if s.Shed != 0 || last == nil {
		t.Fatalf("%+v", s)
	}
	if r := last.Report.Endpoints[0].Requests.Current; math.Abs(float64(r.Estimated)-float64(sent)) > 1 || r.Sampled >= int64(sent) {
		t.Errorf("%d requests are said to stand for %v; there were %d", r.Sampled, r.Estimated, sent)
	}
}

// Metric points that do not fit are shed and counted, and the report says so.
func TestPointsFitIntoMemory(t *testing.T) {
	var last *Published
	e := open(t, func(o *Options) {
		o.Window, o.Quiet, o.MaxAge, o.Memory = time.Minute, 2*time.Second, 20*time.Second, MinMemory
		o.Report = func(p *Published) { last = p }
	})
	n := int64(0)
	for i := range 60 {
		now := epoch.Add(time.Duration(i) * time.Second)
		send(t, e, request{id: uint64(i + 1), start: now, took: 5e6, backend: 1e6})
		for k := range 400 {
			point(t, e, fmt.Sprintf("metric.%d", k), now, float64(i))
			n++
		}
		e.Tick(now.Add(time.Second))
		if held := e.pointBytes.Load(); held > e.pointBudget+e.pointBudget/8 {
			t.Fatalf("%d KiB wait", held>>10)
		}
	}
	idle(t, e, epoch.Add(time.Minute), 30*time.Second)
	s := checked(t, e)
	if s.Points != n || s.ShedPoints == 0 || s.ShedPoints == n || e.pointBytes.Load() != 0 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(strings.Join(last.Report.Warnings, " "), "did not fit into memory") {
		t.Errorf("%q", last.Report.Warnings)
	}
}

// A lapsing context ends when it has been asked so often.
type lapsing struct {
	context.Context
	left int
	by   time.Time
}

func (l *lapsing) Err() error {
	if l.left--; l.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func (l *lapsing) Deadline() (time.Time, bool) { return l.by, !l.by.IsZero() }

// A deadline that comes in the middle of a step is kept too; and half of the time
// is for what was analysed to be written.
func TestCloseKeepsItsDeadlineInside(t *testing.T) {
	for _, c := range []struct {
		name string
		ctx  *lapsing
	}{{"in the middle", &lapsing{context.Background(), 300, time.Time{}}}, {"half", &lapsing{context.Background(), 1e9, time.Now().Add(-time.Hour)}}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			e := open(t, func(o *Options) { o.Dir = dir })
			traffic(t, e, epoch, 40*time.Second, 20, 0, "")
			before := checked(t, e)
			if err := e.Close(c.ctx, epoch.Add(40*time.Second)); err == nil {
				t.Error("no error")
			}
			s := checked(t, e)
			found, _ := filepath.Glob(filepath.Join(dir, "open-*.snap"))
			if c.name == "half" {
				if s.Analysed != before.Analysed || s.Open == 0 || len(found) != 1 {
					t.Errorf("%+v then %+v; written: %v", before, s, found)
				}
			} else if s.Analysed <= before.Analysed || s.Analysed > before.Analysed+900 || s.Open == 0 {
				t.Errorf("%+v then %+v", before, s)
			}
		})
	}
}

// A deadline that is over leaves what is open open, and says so.
func TestCloseKeepsItsDeadline(t *testing.T) {
	e := open(t, nil)
	send(t, e, request{id: 1, start: epoch, took: 5e6, backend: 1e6})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Close(ctx, epoch); err == nil {
		t.Error("no error")
	}
	if s := checked(t, e); s.Open != 3 {
		t.Errorf("%+v", s)
	}
}

func TestCheckNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*Options){
		"window": func(o *Options) { o.Window = time.Millisecond }, "quiet": func(o *Options) { o.Quiet = time.Hour },
		"max_age": func(o *Options) { o.MaxAge = time.Second }, "history": func(o *Options) { o.History = 0 },
		"memory_limit": func(o *Options) { o.Memory = 1 }, "retain": func(o *Options) { o.Dir, o.Retain = "x", 3 },
		"baseline": func(o *Options) { o.Compare = Pinned }, "version_of": func(o *Options) { o.VersionOf = "x" },
		"looks": func(o *Options) { o.Looks = -1 }, "compare": func(o *Options) { o.Compare = "weather" }, "formats": func(o *Options) { o.Formats = []string{"pdf"} },
	} {
		o := New()
		change(&o)
		if err := o.Check(); err == nil || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	o := New()
	if err := o.Check(); err != nil {
		t.Error(err)
	}
}

// Random streams: batches, ticks, repeats, late spans and pressure in any order
// always add up, and no trace is both analysed and shed.
func TestCountsReconcile(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 2))
		e := open(t, func(o *Options) {
			o.Window, o.Quiet, o.MaxAge, o.Memory = 30*time.Second, time.Second, 5*time.Second, MinMemory
		})
		e.spanBudget = 12 << 10 // overload with little data
		e.raiseAt.Store(e.spanBudget)
		now := epoch
		var sent []request
		var n int64
		for range 600 {
			switch rng.IntN(4) {
			case 0:
				now = now.Add(time.Duration(rng.IntN(1500)) * time.Millisecond)
				e.Tick(now)
			default:
				for range rng.IntN(60) {
					q := request{id: rng.Uint64(), start: now.Add(-time.Duration(rng.IntN(20)) * time.Second), took: 5e6, backend: 1e6}
					if len(sent) > 0 && rng.IntN(3) == 0 {
						q = sent[rng.IntN(len(sent))]
					}
					sent = append(sent, q)
					send(t, e, q, rng.IntN(3))
					n++
				}
			}
			if s := checked(t, e); s.Received != n {
				t.Fatalf("seed %d: received %d of %d", seed, s.Received, n)
			}
		}
		if err := e.Close(context.Background(), now); err != nil {
			t.Fatal(err)
		}
		if s := checked(t, e); s.Open != 0 || s.Late == 0 || s.Shed == 0 || s.Analysed == 0 {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}

func ExampleEngine() {
	o := New()
	o.Window = 0 // one window for everything
	e, err := Open(o)
	if err != nil {
		panic(err)
	}
	_ = e.Add(func(in *Intake) {
		request{id: 1, start: epoch, took: 20 * time.Millisecond, backend: 5 * time.Millisecond}.spans(in)
	})
	_ = e.Close(context.Background(), epoch)
	row := e.Latest().Report.Endpoints[0]
	fmt.Println(row.Operation, row.Max.CurrentMs.Or(0), "ms")
	// Output: GET /checkout 20 ms
}
