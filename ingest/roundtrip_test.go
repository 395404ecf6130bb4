package ingest

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/trace"
)

// Everything that OTLP says of spans comes back from a conversion, from either
// encoding into either, and chunk by chunk.
func TestConversionLosesNothing(t *testing.T) {
	td := ptrace.NewTraces()
	for i := range 3 {
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl([]string{"https://resource/1", "https://resource/2", ""}[i])
		rs.Resource().Attributes().PutStr("service.name", []string{"a", "a", "b"}[i]) // two differ in nothing but what stands around
		rs.Resource().SetDroppedAttributesCount(uint32(2 - i))
		for j := range 2 {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.SetSchemaUrl([]string{"", "https://scope"}[j])
			ss.Scope().SetName("scope")
			ss.Scope().SetVersion([]string{"1", "2"}[j])
			ss.Scope().Attributes().PutInt("k", 7)
			ss.Scope().SetDroppedAttributesCount(uint32(j))
			for k := range 3 {
				s := ss.Spans().AppendEmpty()
				s.SetTraceID(pcommon.TraceID{1, byte(i)})
				s.SetSpanID(pcommon.SpanID{1, byte(i), byte(j), byte(k)})
				s.SetName("name")
				s.SetStartTimestamp(1)
				s.SetEndTimestamp(2)
				s.Attributes().PutBool("kept", true)
				s.TraceState().FromRaw("a=b")
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage("m")
				if k == 0 {
					continue // one that has nothing of the rest
				}
				s.SetFlags(0x101)
				s.SetDroppedAttributesCount(uint32(3 * k))
				s.SetDroppedEventsCount(uint32(4 * k))
				s.SetDroppedLinksCount(1 << 31)
				for n := range uint32(3) {
					e := s.Events().AppendEmpty()
					e.SetName("event")
					e.SetTimestamp(5)
					e.Attributes().PutStr("e", "v")
					e.SetDroppedAttributesCount(n % 2 * 6)
					l := s.Links().AppendEmpty()
					l.SetTraceID(pcommon.TraceID{9})
					l.SetSpanID(pcommon.SpanID{9, byte(n)})
					if n == 1 {
						l.TraceState().FromRaw("c=d")
						l.Attributes().PutStr("l", "v")
						l.Attributes().PutEmptySlice("list").AppendEmpty().SetInt(3)
						l.SetDroppedAttributesCount(8)
						l.SetFlags(1)
					}
				}
			}
		}
	}
	var jm ptrace.JSONMarshaler
	var pm ptrace.ProtoMarshaler
	want, err := jm.MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	proto, _ := pm.MarshalTraces(td)
	for from, data := range map[string][]byte{"JSON": want, "shuffled JSON": respell(want, spelling{key: snake}), "protobuf": proto} {
		set := readBytes(t, data, Limits{})
		clean(t, set)
		if len(set.Lost) > 0 {
			t.Errorf("%s: lost %v", from, set.Lost)
		}
		for to, encoding := range map[string]Encoding{"JSON": JSONLines, "protobuf": ProtoFrames} {
			var b bytes.Buffer
			if err := Convert(&b, set, encoding); err != nil {
				t.Fatal(err)
			}
			var got ptrace.Traces
			if encoding == JSONLines {
				got, err = new(ptrace.JSONUnmarshaler).UnmarshalTraces(b.Bytes())
			} else {
				got, err = new(ptrace.ProtoUnmarshaler).UnmarshalTraces(b.Bytes()[4:])
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := jm.MarshalTraces(got)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(indent(want)), string(indent(text))); d != "" {
				t.Errorf("%s to %s:\n%s", from, to, d)
			}
		}
	}

	// An analysis keeps none of it.
	set, err := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(want)})
	if err != nil {
		t.Fatal(err)
	}
	for r := range set.Spans.Len() {
		if set.Spans.More(trace.SpanRef(r)) != nil || set.Spans.Scope(set.Spans.ScopeOf(trace.SpanRef(r))).SchemaURL != 0 {
			t.Fatal(r)
		}
	}

	lossy := readBytes(t, []byte(`{"resourceMetrics":[{"scopeMetrics":[{"schemaUrl":"u","scope":{"name":"s"},"metrics":[{"name":"m","description":"d","gauge":{"dataPoints":[{"timeUnixNano":"5","asInt":"3","exemplars":[{"timeUnixNano":"5","asInt":"3","filteredAttributes":[]}]}]}},{"name":"n","description":"","gauge":{"dataPoints":[{"timeUnixNano":"5","asInt":"3"}]}}]}]}]}`), Limits{})
	if d := cmp.Diff(lossy.Lost, map[string]int64{"metric.description": 1, "metrics.scope": 1, "metrics.schemaUrl": 1, "exemplar.filteredAttributes": 1}); d != "" {
		t.Error(d)
	}
}
