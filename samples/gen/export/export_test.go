package export_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

// Both encodings are read by the Collector's own code, into the same data; and its writer, given that
// data, writes our JSON again, byte for byte.
func TestEncodingsAgreeWithCollector(t *testing.T) {
	r, err := scenario.Generate("mercury/client-wait", 7, 150)
	if err != nil {
		t.Fatal(err)
	}
	jt, jm := r.Current.Encode(otlp.JSON)
	pt, pm := r.Current.Encode(otlp.Proto)
	frames := func(b []byte) [][]byte {
		var out [][]byte
		for len(b) > 0 {
			n := binary.BigEndian.Uint32(b)
			out = append(out, b[4:4+n])
			b = b[4+n:]
		}
		return out
	}
	lines := bytes.Split(bytes.TrimSpace(jt), []byte("\n"))
	spans := 0
	for i, f := range frames(pt) {
		want, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(lines[i])
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		got, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(f)
		if err != nil {
			t.Fatalf("frame %d: %v", i+1, err)
		}
		again, _ := (&ptrace.JSONMarshaler{}).MarshalTraces(got)
		if same, _ := (&ptrace.JSONMarshaler{}).MarshalTraces(want); !bytes.Equal(again, same) {
			t.Fatalf("message %d differs between JSON and proto", i+1)
		}
		if !bytes.Equal(again, lines[i]) {
			differ(t, "traces", i+1, lines[i], again)
		}
		spans += got.SpanCount()
		if id := got.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SpanID(); id == (pcommon.SpanID{}) {
			t.Fatal("a span without an id")
		}
	}
	if spans != len(r.Current.Run.Spans) {
		t.Errorf("%d spans written of %d", spans, len(r.Current.Run.Spans))
	}
	lines = bytes.Split(bytes.TrimSpace(jm), []byte("\n"))
	for i, f := range frames(pm) {
		got, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(f)
		if err != nil {
			t.Fatalf("metrics frame %d: %v", i+1, err)
		}
		again, _ := (&pmetric.JSONMarshaler{}).MarshalMetrics(got)
		if !bytes.Equal(again, lines[i]) {
			differ(t, "metrics", i+1, lines[i], again)
		}
	}
}

func differ(t *testing.T, what string, line int, ours, theirs []byte) {
	t.Helper()
	i := 0
	for i < len(ours) && i < len(theirs) && ours[i] == theirs[i] {
		i++
	}
	from := max(0, i-200)
	t.Fatalf("%s, line %d, byte %d:\n%.400s\nthe Collector writes\n%.400s", what, line, i, ours[from:], theirs[from:])
}

// spansOf are the spans of a set, by trace.
func spansOf(t *testing.T, s *export.Set) map[[16]byte][]otlp.Span {
	t.Helper()
	m := map[[16]byte][]otlp.Span{}
	if err := s.Traces(func(rs []otlp.ResourceSpans) error {
		for _, r := range rs {
			for _, sc := range r.Scopes {
				for _, sp := range sc.Spans {
					m[sp.TraceID] = append(m[sp.TraceID], sp)
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

func generate(t *testing.T, name string, requests int) *export.Set {
	t.Helper()
	r, err := scenario.Generate(name, 1, requests)
	if err != nil {
		t.Fatal(err)
	}
	return r.Current
}

// Consistent sampling keeps the traces whose last 56 bits are not below the threshold in tracestate, whole.
func TestHeadSampling(t *testing.T) {
	all := generate(t, "mercury/null", 2000)
	part := &export.Set{Run: all.Run, Options: all.Options}
	part.Options.Head = 0.1
	whole, kept := spansOf(t, all), spansOf(t, part)
	// 200 ± 3.5·√(2000·0.1·0.9)
	if n := len(kept); n < 153 || n > 247 {
		t.Errorf("%d of 2000 traces at 10 %%", n)
	}
	for id, spans := range kept {
		if len(spans) != len(whole[id]) {
			t.Fatalf("%d of a trace's %d spans", len(spans), len(whole[id]))
		}
		// 0.9·2^16 = 58982.4, so e666 followed by zeros, which are not written.
		if spans[0].TraceState != "ot=th:e666" || binary.BigEndian.Uint64(id[8:])&(1<<56-1) < 0xe666<<40 {
			t.Fatalf("trace %x has %q", id, spans[0].TraceState)
		}
	}
	for id := range whole {
		if kept[id] == nil && binary.BigEndian.Uint64(id[8:])&(1<<56-1) >= 0xe666<<40 {
			t.Fatalf("trace %x is not kept", id)
		}
	}
}

// Tail sampling keeps every slow trace and a share of the others; no span says so.
func TestTailSampling(t *testing.T) {
	all := generate(t, "mercury/null", 1000)
	part := &export.Set{Run: all.Run, Options: all.Options}
	part.Options.Tail = &export.Tail{Slower: 100 * time.Millisecond, Rate: 0.2}
	kept := spansOf(t, part)
	slow, fast := 0, 0
	for _, q := range all.Run.Requests {
		switch spans := kept[q.Trace]; {
		case q.Latency() >= 100*time.Millisecond:
			slow++
			if spans == nil {
				t.Fatal("a slow trace is missing")
			}
		case spans != nil:
			fast++
			if spans[0].TraceState != "" {
				t.Fatalf("tracestate %q", spans[0].TraceState)
			}
		}
	}
	// 0.2 of the others ± 4 standard errors
	if n := float64(1000 - slow); math.Abs(float64(fast)-0.2*n) > 4*math.Sqrt(0.16*n) {
		t.Errorf("%d of %g fast traces at 20 %%", fast, n)
	}
}

// Lost spans leave children without parents; silent services leave all of theirs so.
func TestLoss(t *testing.T) {
	all := generate(t, "checkout/null", 300)
	orphans := func(o func(*export.Options)) (orphans, spans int) {
		s := &export.Set{Run: all.Run, Options: all.Options}
		o(&s.Options)
		for _, tr := range spansOf(t, s) {
			ids := map[uint64]bool{0: true}
			for _, sp := range tr {
				ids[sp.SpanID] = true
			}
			for _, sp := range tr {
				spans++
				if !ids[sp.Parent] {
					orphans++
				}
			}
		}
		return orphans, spans
	}
	if n, _ := orphans(func(*export.Options) {}); n != 0 {
		t.Errorf("%d orphans without loss", n)
	}
	if n, spans := orphans(func(o *export.Options) { o.LoseSpans = 0.05 }); n == 0 || math.Abs(float64(spans)/float64(len(all.Run.Spans))-0.95) > 0.02 {
		t.Errorf("%d orphans; %d spans of %d left at 5 %% loss", n, spans, len(all.Run.Spans))
	}
	if n, _ := orphans(func(o *export.Options) { o.Silent = []string{"orders"} }); n == 0 {
		t.Error("no orphans below a silent service")
	}
}

// A host's clock shifts all times of its instances alike.
func TestClocks(t *testing.T) {
	s := generate(t, "checkout/measurement-clock", 50)
	off := map[time.Duration]bool{}
	for _, in := range s.Run.Instances {
		off[in.Offset] = true
	}
	if len(off) < 3 {
		t.Fatalf("%d different clocks", len(off))
	}
	spans := spansOf(t, s)
	at := map[uint64]otlp.Span{}
	for _, tr := range spans {
		for _, sp := range tr {
			at[sp.SpanID] = sp
		}
	}
	for _, sp := range s.Run.Spans {
		o := at[sp.ID]
		want := s.Options.Start.Add(sp.Start + sp.In.Offset)
		if o.Start != uint64(want.UnixNano()) || time.Duration(o.End-o.Start) != sp.End-sp.Start {
			t.Fatalf("span %x at %d for %d", sp.ID, o.Start, o.End-o.Start)
		}
	}
}
