package export_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

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
