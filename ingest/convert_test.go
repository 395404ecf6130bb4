package ingest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// What is converted reads back the same, by us and by pdata.
func TestConvert(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var tp ptrace.ProtoMarshaler
	var mp pmetric.ProtoMarshaler
	for range 40 {
		td, md := randomTraces(r), randomMetrics(r)
		a, _ := tp.MarshalTraces(td)
		b, _ := mp.MarshalMetrics(md)
		set := readBytes(t, framed(a, b), Limits{})
		want := describe(set)
		for _, e := range []Encoding{JSONLines, ProtoFrames} {
			var out bytes.Buffer
			if err := Convert(&out, set, e); err != nil {
				t.Fatal(err)
			}
			if out.Len() == 0 {
				continue
			}
			back := readBytes(t, out.Bytes(), Limits{})
			same(t, "read back", describe(back), want)
			clean(t, back)

			td, md := ptrace.NewTraces(), pmetric.NewMetrics()
			messages := requests
			unmarshal := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces
			unmarshalMetrics := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics
			if e == JSONLines {
				messages = func(b []byte) [][]byte { return bytes.Split(bytes.TrimSpace(b), []byte("\n")) }
				unmarshal = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces
				unmarshalMetrics = (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics
			}
			for i, m := range messages(out.Bytes()) {
				if set.Spans.Len() > 0 && i == 0 { // spans fit into one request
					got, err := unmarshal(m)
					if err != nil {
						t.Fatal(err)
					}
					td = got
					continue
				}
				got, err := unmarshalMetrics(m)
				if err != nil {
					t.Fatal(err)
				}
				got.ResourceMetrics().MoveAndAppendTo(md.ResourceMetrics())
			}
			same(t, "read by pdata", describeStores(pdataSet(td, md)), want)
		}
	}
}

// What OTLP has no field for survives two conversions, and identifiers that are
// not hexadecimal survive as JSON.
func TestConvertMarks(t *testing.T) {
	for _, in := range []string{
		string(file(t, "same/zipkin2.json")),
		`{"data":[{"traceID":"one","spans":[{"spanID":"span-A","operationName":"a","startTime":1,"duration":5,"processID":"p"},` +
			`{"spanID":"span-B","operationName":"b","startTime":2,"duration":5,"processID":"p","references":[{"refType":"FOLLOWS_FROM","spanID":"span-A"}]}],"processes":{"p":{"serviceName":"s"}}}]}`,
	} {
		set := read(t, in)
		want := describe(set)
		if !strings.Contains(want, "flags 1") && !strings.Contains(want, "flags 2") {
			t.Fatal("no flags")
		}
		var out bytes.Buffer
		if err := Convert(&out, set, JSONLines); err != nil {
			t.Fatal(err)
		}
		same(t, "JSON", describe(read(t, out.String())), want)
		out.Reset()
		if err := Convert(&out, set, ProtoFrames); err != nil {
			t.Fatal(err)
		}
		back, err := Read(context.Background(), []string{"-"}, Options{Stdin: &out, KeepAll: true})
		if err != nil || back.Spans.SpanFlags(1) != set.Spans.SpanFlags(1) || back.Spans.ParentID(1) != set.Spans.ParentID(1) {
			t.Errorf("protobuf: %v, %s", err, describe(back))
		}
	}
}

// Times are exact to the nanosecond, as texts, as numbers beyond 2^53 and with
// exponents; zero was not recorded in OTLP and is a time in Jaeger.
func TestTimes(t *testing.T) {
	set := read(t, spanLine(
		spanWith(`"startTimeUnixNano":1767268800000000123,"endTimeUnixNano":1767268800000001000`),
		spanWith(`"startTimeUnixNano":"1767268800000000123","endTimeUnixNano":"1767268800000001000"`),
		spanWith(`"startTimeUnixNano":1.767268800000000123e18,"endTimeUnixNano":17672688000000010.00e2`),
		spanWith(`"startTimeUnixNano":"9223372036854775806","endTimeUnixNano":"9223372036854775807"`),
	))
	want := []int64{877, 877, 877, 1}
	for i, w := range want {
		if got := set.Spans.Interval(refOf(i)).Duration(); got != w {
			t.Errorf("span %d: %d ns, want %d", i, got, w)
		}
	}
	set = read(t, spanLine(spanWith(`"startTimeUnixNano":"0"`)))
	if got := describe(set); !strings.Contains(got, " -..- ") {
		t.Error(got)
	}
	set = read(t, `{"data":[{"traceID":"A","spans":[{"spanID":"B","startTime":0,"duration":3}],"processes":{}}]}`)
	if got := describe(set); !strings.Contains(got, " 0..3000 ") {
		t.Error(got)
	}
}

// Texts are repaired, never passed on broken, and counted.
func TestTexts(t *testing.T) {
	set := read(t, spanLine(spanWith(`"status":{"message":"a`+"\xff\xfe"+`b \ud83d\ude00 \ud800 \u0000"}`)))
	if got := set.Spans.String(set.Spans.StatusMessage(0)); got != "a\uFFFDb 😀 \uFFFD \x00" || set.Defects["bad-text"].N != 1 {
		t.Errorf("%q, %v", got, set.Defects)
	}
}

// Identifiers in the spellings that exist; equal ones are equal.
func TestIdentifiers(t *testing.T) {
	for _, c := range []struct{ in, trace, span string }{
		{`"traceId":"A17E5F070B4677D3","spanId":"1"`, "0000000000000000a17e5f070b4677d3", "0000000000000001"},
		{`"traceId":"0000000000000000a17e5f070b4677d3","spanId":"0000000000000001"`, "0000000000000000a17e5f070b4677d3", "0000000000000001"},
		{`"traceId":"AAAAAAAAAAChfl8HC0Z30w==","spanId":"AAAAAAAAAAE="`, "0000000000000000a17e5f070b4677d3", "0000000000000001"},
		{`"traceId":"oX5fBwtGd9M=","spanId":"MDAwMDAwMDAwMDAwMDAwMQ=="`, "0000000000000000a17e5f070b4677d3", "0000000000000001"},
		{`"traceId":"same","spanId":"span-X"`, "same", "span-X"},
		{`"traceId":12,"spanId":7`, "00000000000000000000000000000012", "0000000000000007"},
		{`"traceId":"","spanId":null`, "00000000000000000000000000000000", ""},
	} {
		set := read(t, spanLine(`{"name":"n","startTimeUnixNano":"1",`+c.in+`}`))
		s := set.Spans
		if got := s.TraceIDText(s.TraceID(0)); got != c.trace {
			t.Errorf("%s: trace %q, want %q", c.in, got, c.trace)
		}
		if got := s.SpanIDText(s.ID(0)); got != c.span {
			t.Errorf("%s: span %q, want %q", c.in, got, c.span)
		}
	}
}

// Jaeger's references: CHILD_OF before FOLLOWS_FROM, other traces as links.
func TestReferences(t *testing.T) {
	set := read(t, `{"data":[{"traceID":"1","spans":[
		{"spanID":"a","startTime":1,"duration":1,"references":[{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"b"},{"refType":"CHILD_OF","traceID":"1","spanID":"c"},{"refType":"CHILD_OF","traceID":"2","spanID":"d"}]},
		{"spanID":"e","startTime":1,"duration":1,"references":[{"refType":"FOLLOWS_FROM","traceID":"2","spanID":"f"},{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"a"}]}]}]}`)
	got := describe(set)
	for _, want := range []string{
		`000000000000000a parent "000000000000000c"`, "link 00000000000000000000000000000001 000000000000000b link 00000000000000000000000000000002 000000000000000d\n",
		`000000000000000e parent "000000000000000a" "" 1000..2000 unspecified unset "" flags 2`, "link 00000000000000000000000000000002 000000000000000f\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// Zipkin: a span of version 1 with both halves is two, and one-way spans are
// instants.
func TestZipkinHalves(t *testing.T) {
	set := read(t, `[{"traceId":"1","id":"2","parentId":"1","name":"x","timestamp":10,"duration":90,"annotations":[
		{"timestamp":10,"value":"cs","endpoint":{"serviceName":"a"}},{"timestamp":30,"value":"sr","endpoint":{"serviceName":"b"}},
		{"timestamp":80,"value":"ss","endpoint":{"serviceName":"b"}},{"timestamp":100,"value":"cr","endpoint":{"serviceName":"a"}}],"binaryAnnotations":[{"key":"k","value":"v"}]},
		{"traceId":"1","id":"3","kind":"CONSUMER","timestamp":5},{"traceId":"1","id":"4","timestamp":5}]`)
	got := describe(set)
	for _, want := range []string{
		`0000000000000002 parent "0000000000000001" "x" 10000..100000 client unset "" flags 0`, `{"service.name"=1:"a"}`,
		`0000000000000002 parent "0000000000000001" "x" 30000..80000 server unset "" flags 1`, `{"service.name"=1:"b"}`,
		`0000000000000003 parent "" "" 5000..5000 consumer`, `0000000000000004 parent "" "" 5000..- unspecified`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
