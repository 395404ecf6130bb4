package ingest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// hugeDocuments are single documents whose lists can be cut, and some that cannot.
func hugeDocuments(r *rand.Rand) map[string]string {
	join := func(n int, each func(i int) string) string {
		var list []string
		for i := range n {
			list = append(list, each(i))
		}
		return strings.Join(list, ",")
	}
	span := func(i int) string {
		return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":"a \\\"}],{[ %d","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000000%03d","attributes":[{"key":"k","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"[,"}]}}}]}`, i+1, i+1, i, i+1)
	}
	scope := func(i int) string {
		return fmt.Sprintf(`{"scope":{"name":"s%d","version":"]}"},"spans":[%s]}`, i, join(5, func(j int) string { return span(10*i + j) }))
	}
	resource := func(i int) string {
		return fmt.Sprintf(`{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"r%d"}}]},"scopeSpans":[%s]}`, i, join(3, func(j int) string { return scope(3*i + j) }))
	}
	late := func(i int) string {
		return fmt.Sprintf(`{"scopeSpans":[{"spans":[%s],"scope":{"name":"s%d"}}],"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"late%d"}}]}}`, join(20, func(j int) string { return span(20*i + j) }), i, i)
	}
	jaeger := func(i int) string {
		return fmt.Sprintf(`{"traceID":"%x","spans":[{"traceID":"%x","spanID":"1","operationName":"o","startTime":1,"duration":2,"processID":"p"}],"processes":{"p":{"serviceName":"s%d"}}}`, i+1, i+1, i)
	}
	zipkin := func(i int) string {
		return fmt.Sprintf(`{"traceId":"%016x","id":"%016x","name":"z","timestamp":1700000000000000,"duration":5,"localEndpoint":{"serviceName":"z%d"}}`, i+1, i+1, i)
	}
	var metrics pmetric.JSONMarshaler
	var traces ptrace.JSONMarshaler
	documents := join(12, func(int) string {
		a, _ := traces.MarshalTraces(randomTraces(r))
		b, _ := metrics.MarshalMetrics(randomMetrics(r))
		return string(a) + "," + string(b)
	})
	return map[string]string{
		"a request":                      `{"resourceSpans":[` + join(8, resource) + `],"later":[1,2]}`,
		"one resource":                   `{"resourceSpans":[` + strings.Replace(resource(0), `"scopeSpans":[`, `"scopeSpans":[`+join(9, scope)+`,`, 1) + `]}`,
		"one scope":                      `{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{"name":"x"},"spans":[` + join(60, span) + `]},{"spans":[]}]}]}`,
		"resources and scopes come last": `{"resourceSpans":[` + join(6, late) + `]}`,
		"a scope comes last": `{"resourceSpans":[{"resource":{},"scopeSpans":[` + join(4, func(i int) string {
			return fmt.Sprintf(`{"spans":[%s],"scope":{"name":"s%d"}}`, join(30, func(j int) string { return span(30*i + j) }), i)
		}) + `]}]}`,
		"neither resource nor scope": `{"resourceSpans":[{"scopeSpans":[{"spans":[` + join(60, span) + `]}]}]}`,
		"Tempo's envelope":           `{"trace":{"batches":[` + join(8, resource) + `]},"metrics":{"a":1}}`,
		"a list of documents":        `[` + documents + `]`,
		"lists of lists":             `[[` + documents + `],[` + documents + `]]`,
		"a list with junk":           `[` + join(6, resource) + `,5,` + join(6, resource) + `,null]`,
		"Jaeger":                     `{"total":0,"data":[` + join(60, jaeger) + `],"errors":null}`,
		"Jaeger, bare traces":        `[` + join(60, jaeger) + `]`,
		"Zipkin":                     `[` + join(60, zipkin) + `]`,
		"Zipkin, lists of traces":    `[` + join(30, func(i int) string { return `[` + zipkin(2*i) + `,` + zipkin(2*i+1) + `]` }) + `]`,
		"a Jaeger trace": strings.Replace(jaeger(0), `"spans":[`, `"spans":[`+join(60, func(i int) string {
			return fmt.Sprintf(`{"spanID":"%x","startTime":1,"duration":2,"operationName":"o","processID":"p"}`, i+2)
		})+`,`, 1),
		"small ones around a large one": `{"resourceSpans":[` + resource(1) + `]}{"resourceSpans":[` + join(8, resource) + `]}{"resourceSpans":[` + resource(2) + `]}`,
		"a bare resource":               resource(7),
		"signals in one document":       `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{},{}]}]}],"resourceSpans":[` + join(6, resource) + `],"resource_metrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"timeUnixNano":"5","asInt":"3"}]}}]}]}]}`,
		"the end is missing, in a text": `{"resourceSpans":[` + join(8, resource) + `,{"resource":{"attributes":[{"key":"serv`,
	}
}

// A document that is read in parts is what it is when it is read whole.
func TestLargeDocumentsInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 15))
	readParts := func(data string, keepAll bool, chunk, workers int) *Set {
		set, err := Read(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader(data), Workers: workers, KeepAll: keepAll, Limits: Limits{chunk: chunk}})
		if set == nil {
			t.Fatal(err)
		}
		return set
	}
	for what, doc := range hugeDocuments(r) {
		forms := map[string]string{"": doc}
		cut := strings.Contains(what, "missing")
		if !cut && !strings.Contains(what, "around") {
			forms["pretty "] = string(indent([]byte(doc)))
			forms["CRLF "] = strings.ReplaceAll(string(indent([]byte(doc))), "\n", "\r\n")
		}
		for form, data := range forms {
			for _, keepAll := range []bool{false, true} {
				whole := readParts(data, keepAll, 1<<20, 1)
				for _, chunk := range []int{40, 100, 1000} {
					for _, workers := range []int{1, 3} {
						parts := readParts(data, keepAll, chunk, workers)
						name := fmt.Sprintf("%s%s, all %t, chunks of %d, %d workers", form, what, keepAll, chunk, workers)
						if cut { // more of it is read
							if parts.Spans.Len() <= whole.Spans.Len() || parts.Rejected != 1 || parts.Defects["cut-off"].N != 1 {
								t.Errorf("%s: %d spans, whole %d; %d rejected, %v", name, parts.Spans.Len(), whole.Spans.Len(), parts.Rejected, parts.Defects)
							}
							continue
						}
						same(t, name, describe(parts), describe(whole))
						got, want := parts.Files[0], whole.Files[0]
						if fmt.Sprint(got.Format, got.Spans, got.LogRecords, got.Rejected, got.ErrorsTotal, got.Errors, parts.Unknown) != fmt.Sprint(want.Format, want.Spans, want.LogRecords, want.Rejected, want.ErrorsTotal, want.Errors, whole.Unknown) {
							t.Errorf("%s:\n got %v %v\nwant %v %v", name, got, parts.Unknown, want, whole.Unknown)
						}
						if t.Failed() {
							return
						}
					}
				}
			}
		}
	}
}

// However long a list is, no more than a few chunks of it are in memory.
func TestLargeDocumentsAreNotHeld(t *testing.T) {
	for what, doc := range map[string][2]string{
		"a request": {`{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{},"spans":[`, `]}]}]}`},
		"a list":    {`[`, `]`},
	} {
		const one = `{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000aa","name":"n","startTimeUnixNano":"1","endTimeUnixNano":"2"}`
		data := doc[0] + strings.Repeat(one+",", 5000) + one + doc[1]
		limits := Limits{chunk: 10_000}.withDefaults()
		cutter := &textCutter{r: bufio.NewReader(bytes.NewReader([]byte(data))), limits: &limits, line: 1, deep: true}
		largest, parts := 0, 0
		for {
			c := cutter.next()
			if c.data == nil {
				break
			}
			largest = max(largest, len(c.data))
			parts++
		}
		if largest > 6*limits.chunk || parts < 20 {
			t.Errorf("%s: %d parts, the largest of %d bytes", what, parts, largest)
		}
	}
}

// Whatever the bytes, a document that is sound is read in parts as it is whole.
func FuzzParts(f *testing.F) {
	for _, doc := range hugeDocuments(rand.New(rand.NewPCG(1, 1))) {
		if len(doc) < 4000 {
			f.Add([]byte(doc), uint8(40))
		}
	}
	f.Add([]byte(`{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{},"spans":[{"name":"\\\""},{},{}]},{}]},{},{}]}`), uint8(4))
	f.Add([]byte(`[{"resource":{}},{"a":"\\"},[],[[{},{}]],{"data":[{},{}]}]`), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		if len(data) > 1<<16 {
			return
		}
		whole, _ := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: 1})
		parts, _ := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: 1, Limits: Limits{chunk: 1 + int(chunk)}})
		if whole == nil || parts == nil {
			t.Fatal("no set")
		}
		if whole.Files[0].Format != "" && whole.Files[0].ErrorsTotal == 0 && len(whole.Defects) == 0 {
			same(t, fmt.Sprintf("%q in chunks of %d", data, chunk), describe(parts), describe(whole))
		}
	})
}
