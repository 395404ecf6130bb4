package otlp

import (
	"bytes"
	"encoding/json"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Every kind of attribute value, and text that needs escaping, come back as they went in, from both
// encodings.
func TestValues(t *testing.T) {
	texts := []string{"plain", "", "quote \" and \\ back", "tab\tline\n", "\x1b[31mred", "naïve 漢字", "<script>&amp;"}
	attrs := []Attr{{"i", int64(-1 << 62)}, {"f", 0.1}, {"t", true}, {"n", false}, {"list", texts}}
	for _, s := range texts {
		attrs = append(attrs, Attr{"text " + s, s})
	}
	doc := []ResourceSpans{{Resource: &Resource{Attrs: attrs}, Scopes: []ScopeSpans{{Spans: []Span{{
		TraceID: [16]byte{1}, SpanID: 2, Name: texts[2], Status: 2, Message: texts[4], TraceState: "ot=th:8", Start: 1<<63 + 1, End: 1<<64 - 1,
		Events: []Event{{Time: 7, Name: texts[3]}},
		Links:  []Link{{TraceID: [16]byte{3}, SpanID: 4, Flags: 1}}}}}}}}
	js := AppendTracesJSON(nil, doc)
	if !json.Valid(js) || bytes.ContainsAny(js, "\n\x1b") {
		t.Fatalf("not one line of JSON: %q", js)
	}
	fromJSON, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(js)
	if err != nil {
		t.Fatal(err)
	}
	fromProto, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(AppendTracesProto(nil, doc))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []ptrace.Traces{fromJSON, fromProto} {
		m := got.ResourceSpans().At(0).Resource().Attributes().AsRaw()
		for _, s := range texts {
			if m["text "+s] != s {
				t.Errorf("%q came back as %q", s, m["text "+s])
			}
		}
		if l := m["list"].([]any); len(l) != len(texts) || l[3] != texts[3] {
			t.Errorf("list came back as %q", l)
		}
		if m["i"] != int64(-1<<62) || m["f"] != 0.1 || m["t"] != true || m["n"] != false {
			t.Errorf("values came back as %v", m)
		}
		sp := got.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		if sp.StartTimestamp() != 1<<63+1 || sp.EndTimestamp() != 1<<64-1 || sp.Name() != texts[2] || sp.Status().Message() != texts[4] ||
			sp.TraceState().AsRaw() != "ot=th:8" || sp.Events().At(0).Name() != texts[3] || sp.Events().At(0).Timestamp() != 7 || sp.Links().At(0).Flags() != 1 {
			t.Errorf("the span came back as %v", sp)
		}
	}
}
