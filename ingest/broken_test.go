package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tailscope/tailscope/trace"
)

// spanLine is a request with spans written as JSON objects.
func spanLine(spans ...string) string {
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
}

func spanWith(fields string) string {
	if !strings.Contains(fields, "TimeUnixNano") { // the last of two fields holds
		fields += `,"startTimeUnixNano":"1767268800000000000","endTimeUnixNano":"1767268800001000000"`
	}
	return `{"traceId":"59d6ae79303dfe246e02ca584d812a8f","spanId":"bbdce5f47896d3e9","name":"n",` + fields + `}`
}

// The sound part of a damaged input is read; the rest is counted, named and
// located.
func TestBrokenText(t *testing.T) {
	ok := line(1)
	zipkin := `{"traceId":"1","id":"%d","timestamp":1,"duration":2}`
	z := func(n int) string { return fmt.Sprintf(zipkin, n) }
	for _, c := range []struct {
		name, in        string
		spans, rejected int
		errors          []string // where: part of the message
	}{
		{"last line cut", ok + "\n" + ok[:200], 1, 1, []string{"line 2: ends before it is complete"}},
		{"last line cut between tokens", ok + "\n" + ok[:strings.Index(ok, `"scopeSpans"`)], 1, 1, []string{"line 2: ends before it is complete"}},
		{"line cut inside a text", ok + "\n" + ok[:200] + "\n" + ok, 2, 1, []string{"line 2: a line end inside a string"}},
		{"line cut where a value may follow", ok[:strings.Index(ok, `[{"traceId"`)+1] + "\n" + ok + "\n" + ok, 2, 1, []string{"line 1: ends before it is complete"}},
		{"line cut behind a comma", ok[:strings.Index(ok, `"scopeSpans"`)] + "\n" + ok, 1, 1, []string{"line 1: ends before it is complete"}},
		{"a line of something else", ok + "\nhello, world\n" + ok, 2, 1, []string{`line 2: 'h' where a JSON object or array is expected`}},
		{"wrong JSON in the middle", ok + "\n" + strings.Replace(ok, `"kind":2`, `"kind":02`, 1) + "\n" + ok, 2, 1, []string{"line 2: '2' where a comma"}},
		{"a damaged line leaves nothing", spanLine(spanWith(`"kind":2`), spanWith(`"kind":`)) + "\n" + ok, 1, 1, []string{"line 1: ',' where a number"}},
		{"pretty-printed and cut", string(indent([]byte(ok))) + "\n" + string(indent([]byte(ok)))[:400], 1, 1, []string{"ends before it is complete, where"}},
		{"damaged line after damaged line", ok[:200] + "\n" + ok[:100] + "\n" + ok[:strings.Index(ok, `"scopeSpans"`)] + "\n" + ok, 1, 3, []string{"line 1: a line end", "line 2: a line end", "line 3: ends before"}},
		{"begins with the rest of a line", ok[200:] + "\n" + ok, 1, 1, []string{"line 1: "}},
		{"a span's time beyond 63 bits", spanLine(spanWith(`"startTimeUnixNano":"99999999999999999999"`), spanWith(`"kind":3`)), 1, 1, []string{`line 1: the span's start time 99999999999999999999 ns`}},
		{"a negative time", ok + "\n" + spanLine(spanWith(`"endTimeUnixNano":"-5"`)), 1, 1, []string{`line 2: the span's end time -5 ns`}},
		{"an end before the start", ok + "\n" + spanLine(spanWith(`"startTimeUnixNano":"1767268800001000000","endTimeUnixNano":"1767268800000000000"`)), 1, 1,
			[]string{"line 2: a span ends before it starts"}},
		{"no end", spanLine(spanWith(`"startTimeUnixNano":"1767268800001000000"`), spanWith(`"kind":3`)), 1, 1, []string{"line 1: a span has no start or no end"}},
		{"an empty span id", spanLine(strings.Replace(spanWith(`"kind":3`), "bbdce5f47896d3e9", "", 1), spanWith(`"kind":3`)), 1, 1, []string{"line 1: a span has no trace id or no span id"}},
		{"an attribute that is none", spanLine(spanWith(`"attributes":[{"key":"a","value":{"intValue":"x"}},5,{"key":"b","value":{"intValue":"5"}}]`)), 1, 0,
			[]string{`line 1: the value of attribute "a"`, "line 1: an attribute is not an object"}},
		{"an unknown kind", spanLine(spanWith(`"kind":77`)), 1, 0, []string{`line 1: the span kind "77"`}},
		{"a field of another type", spanLine(spanWith(`"events":"none","name":{"a":1}`)), 1, 0, []string{"line 1: a value that is not an array", "line 1: span.name is not a text"}},
		{"a Zipkin list cut", "[" + z(1) + ",\n" + z(2) + ",\n" + z(3)[:20], 2, 1, []string{"line 3: ends before it is complete"}},
		{"a Zipkin list cut behind a span", "[" + z(1) + ",\n" + z(2), 2, 1, []string{"line 2: ends before it is complete"}},
		{"a Zipkin list with a damaged span", "[" + z(1) + ",\n" + z(2)[:20] + "}}\n," + z(3) + "]", 1, 1, []string{"line 2: '}' where a number is expected, in the document that begins at line 1"}},
		{"a Jaeger export cut", `{"data":[{"spans":[{"traceID":"1","spanID":"2","operationName":"a","startTime":1,"duration":1}],"traceID":"1"},` + "\n" + `{"spans":[{"traceID":"2","spanID":"`, 1, 1,
			[]string{"line 2: ends before it is complete"}},
		{"an array of requests, the last cut", "[" + ok + ",\n" + ok + ",\n" + spanLine(spanWith(`"kind":2`), `{"traceId":"5`), 2, 1, []string{"line 3: ends"}},
		{"Jaeger's error", `{"data":null,"errors":[{"code":404,"msg":"trace not found"}]}` + ok, 1, 0, []string{`line 1: Jaeger answered with an error: "trace not found"`}},
		{"a foreign object", ok + "\n" + `{"level":"info","msg":"hello"}`, 1, 1, []string{"line 2: a log line; logs are not used"}},
		{"nothing but brackets", strings.Repeat("[", 1000) + "\n" + ok, 1, 1, []string{"line 1: nesting deeper than 128"}},
	} {
		for _, workers := range []int{1, 3} {
			set, _ := Read(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader(c.in), Workers: workers})
			f := set.Files[0]
			var got []string
			for _, e := range f.Errors {
				got = append(got, e.Where+": "+e.Message)
			}
			if set.Spans.Len() != c.spans || int(set.Rejected) != c.rejected || len(got) != len(c.errors) {
				t.Errorf("%s: %d spans, %d rejected, want %d and %d; errors %q", c.name, set.Spans.Len(), set.Rejected, c.spans, c.rejected, got)
				continue
			}
			for i, want := range c.errors {
				if !strings.Contains(got[i], want) {
					t.Errorf("%s: error %q, want %q", c.name, got[i], want)
				}
			}
			valid(t, set)
		}
	}
}

func TestBrokenBinary(t *testing.T) {
	set := readBytes(t, []byte(line(1)+"\n"+line(2)), Limits{})
	var b bytes.Buffer
	if err := Convert(&b, set, ProtoFrames); err != nil {
		t.Fatal(err)
	}
	m := requests(b.Bytes())[0] // 2 spans
	frames := framed(m, m)
	at := len(frames)
	damaged := bytes.Clone(m)
	damaged[1]++ // the outer length reaches beyond the message
	half := append(framed(m), framed(m)[:4+len(m)/2]...)
	for _, c := range []struct {
		name     string
		in       []byte
		spans    int
		rejected int64
		where    string
		message  string
	}{
		{"a message cut", append(bytes.Clone(frames), framed(m)[:30]...), 4, 1, fmt.Sprintf("byte %d", at), fmt.Sprintf("a message of %d bytes is cut off after 26", len(m))},
		{"a length cut", append(bytes.Clone(frames), 0, 0), 4, 1, fmt.Sprintf("byte %d", at), "the length of a message is cut off after 2 of 4 bytes"},
		{"an absurd length", append(bytes.Clone(frames), 0xff, 0xff, 0xff, 0xf0, 1), 4, 1, fmt.Sprintf("byte %d", at), "a message of 4294967280 bytes is announced"},
		{"a damaged message", framed(m, damaged, m), 4, 1, fmt.Sprintf("byte %d", len(framed(m))+4+1), "the message is damaged: a length of"},
		{"a bare request cut", append(bytes.Clone(m), m[:len(m)-1]...), 2, 1, fmt.Sprintf("byte %d", len(m)), "is cut off after"},
		{"a group", framed(m, []byte{0x0b}), 2, 1, fmt.Sprintf("byte %d", len(framed(m))+4), "a tag that no field has (number 1, type 3)"},
		{"a zstd frame damaged", slicesConcat(framed(zstded(m), append(zstded(m)[:20], 7, 7, 7)), framed(zstded(m))), 4, 1, fmt.Sprintf("byte %d", len(framed(zstded(m)))), "a zstd frame is damaged"},
		{"gzip cut", gzipped(half)[:len(gzipped(half))-9], 2, 1, "", ""},
		{"zstd cut", zstded([]byte(line(1) + "\n" + line(2)))[:120], 0, 1, "", ""},
		{"frames with half a message", half, 2, 1, fmt.Sprintf("byte %d", len(framed(m))), "is cut off after"},
	} {
		set := readBytes(t, c.in, Limits{})
		f := set.Files[0]
		if set.Spans.Len() != c.spans || set.Rejected != c.rejected || len(f.Errors) != 1 {
			t.Errorf("%s: %d spans, %d rejected, want %d and %d; %v", c.name, set.Spans.Len(), set.Rejected, c.spans, c.rejected, f.Errors)
			continue
		}
		if c.where != "" && (f.Errors[0].Where != c.where || !strings.Contains(f.Errors[0].Message, c.message)) {
			t.Errorf("%s: got %q, want %s: %s", c.name, f.Errors, c.where, c.message)
		}
		valid(t, set)
	}
}

func slicesConcat(a, b []byte) []byte { return append(bytes.Clone(a), b...) }

// What cannot be right is refused by name, with what would be accepted.
func TestForeign(t *testing.T) {
	for in, want := range map[string]string{
		"timestamp,service,duration\n1,a,2\n":       "separated by commas (CSV)",
		"a;b;c\n1;2;3\n":                            "semicolons",
		"PK\x03\x04xxxxxxxx":                        "a zip archive",
		"PAR1xxxxxxxx":                              "a Parquet file",
		"<!DOCTYPE html><html>":                     "an HTML page",
		"2026-01-01 INFO all is well\n":             "not a known format",
		`{"traceEvents":[]}`:                        "a Chrome trace",
		`{"traces":[{"traceID":"a"}],"metrics":{}}`: "a search result of Tempo",
		`[[{"trace_id":1,"span_id":2,"resource":"r","service":"s","start":1,"duration":2}]]`: "a Datadog span list",
		`{"Segments":[],"Id":"1-5"}`:                                "an AWS X-Ray trace",
		`{"data":["a","b"],"total":0}`:                              "a list of names",
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]}]}]}`: "only 2 log records",
		"":      "the input is empty",
		"\n \n": "no spans and no metric points",
		"{}":    "no known format",
		"7":     "not a known format",
	} {
		set, err := Read(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader(in)})
		var e *InputError
		if !errors.As(err, &e) || set == nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "OTLP") {
			t.Errorf("%q: got %q, want %q", in, err, want)
		}
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("a/1.jsonl", line(1))
	write("a/deep/2.json", line(2))
	write("a/README.md", "# Traces\n")
	write("a/.hidden", "x")
	write("b[1].jsonl", line(3))
	empty := filepath.Join(dir, "empty")
	os.Mkdir(empty, 0o700)

	set, err := Read(context.Background(), []string{filepath.Join(dir, "a"), filepath.Join(dir, "a", "1.jsonl"), filepath.Join(dir, "a") + "/./1.jsonl"}, Options{})
	if err != nil || set.Spans.Len() != 2 || len(set.Files) != 3 || set.Rejected != 0 {
		t.Errorf("directory and a file of it twice: %v, %+v", err, set)
	}
	if f := set.Files[1]; !strings.HasSuffix(f.Path, "README.md") || f.ErrorsTotal != 1 || f.Format != "" {
		t.Errorf("another file in the directory: %+v", f)
	}
	set, err = Read(context.Background(), []string{filepath.Join(dir, "a", "*.jsonl"), filepath.Join(dir, "b[1].jsonl"), "-"}, Options{Stdin: strings.NewReader(line(4))})
	if err != nil || set.Spans.Len() != 3 || set.Files[0].Path != "-" {
		t.Errorf("glob, a name with brackets, standard input: %v, %+v", err, set)
	}

	for _, c := range []struct {
		paths []string
		want  string
		is    error
	}{
		{nil, "no input", nil},
		{[]string{filepath.Join(dir, "missing")}, "no such file or directory; check the path; quote a glob", fs.ErrNotExist},
		{[]string{filepath.Join(dir, "a"), filepath.Join(dir, "*.xml")}, "no file matches", nil},
		{[]string{empty}, "the directory holds no files", nil},
		{[]string{filepath.Join(dir, "[")}, "not a valid glob", filepath.ErrBadPattern},
	} {
		set, err := Read(context.Background(), c.paths, Options{})
		var e *InputError
		if set != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%q: got %v, want %q", c.paths, err, c.want)
		}
	}

	secret := write("a/secret.jsonl", line(5))
	os.Chmod(secret, 0)
	if f, err := os.Open(secret); err == nil {
		f.Close()
		t.Log("permissions do not bind this user") // root
	} else {
		if _, err := Read(context.Background(), []string{secret}, Options{}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("an unreadable file: %v", err)
		}
		set, err := Read(context.Background(), []string{filepath.Join(dir, "a")}, Options{})
		if err != nil || set.Rejected != 1 || set.Spans.Len() != 2 {
			t.Errorf("an unreadable file in a directory: %v, %+v", err, set)
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, []string{dir}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRotation(t *testing.T) {
	for _, names := range [][]string{{"t-2026-01-01.jsonl", "t-2026-01-02.jsonl", "t.jsonl"}, {"t.jsonl.2", "t.jsonl.1", "t.jsonl"}} {
		dir := t.TempDir()
		text := line(1) + "\n" + line(2) + "\n" + line(3) + "\n" + line(4)
		a, b := 500, 900
		for i, part := range []string{text[:a], text[a:b], text[b : len(text)-30]} {
			if err := os.WriteFile(filepath.Join(dir, names[i]), []byte(part), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		set, err := Read(context.Background(), []string{dir}, Options{})
		if err != nil || set.Spans.Len() != 3 || set.Rejected != 1 {
			t.Errorf("%v: %v, %d spans, %d rejected, want 3 and 1", names, err, set.Spans.Len(), set.Rejected)
		}
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 1000) + "é"
	attrs := strings.Repeat(`{"key":"k","value":{"stringValue":"`+long+`"}},`, 20)
	in := spanLine(strings.Replace(spanWith(`"attributes":[`+attrs[:len(attrs)-1]+`],"kind":2`), `"n"`, `"`+long+`"`, 1))
	set, err := Read(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader(in), Limits: Limits{Text: 1001, Attributes: 5}})
	if err != nil || len(set.Spans.Attrs(0)) != 5 || len(set.Spans.String(set.Spans.Name(0))) != 1000 || set.Defects[trace.Oversized].N != 15+5+1 {
		t.Errorf("%v, %d attributes, defects %v", err, len(set.Spans.Attrs(0)), set.Defects)
	}

	set, err = Read(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader(line(1) + "\n[" + strings.Repeat(" ", 1<<20)), Limits: Limits{Document: 1 << 19, chunk: 1000}})
	if err != nil || set.Spans.Len() != 1 || set.Rejected != 1 || !strings.Contains(set.Files[0].Errors[0].Message, "a document of more than 524288 bytes") {
		t.Errorf("a document without end: %v, %+v", err, set.Files)
	}

	bomb := zstded(make([]byte, 70<<20))
	if set, err = Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(bomb)}); set.Rejected != 1 || !strings.Contains(err.Error(), "expands more than 2000 times") {
		t.Errorf("a bomb: %v", err)
	}
	if set, err = Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(framed(bomb)), Limits: Limits{Document: 1 << 20}}); set.Rejected != 1 || !strings.Contains(err.Error(), "a zstd frame is damaged") {
		t.Errorf("a bomb in a frame: %v", err)
	}
	deep := gzipped(gzipped(gzipped(gzipped(gzipped([]byte(line(1)))))))
	if _, err = Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(deep)}); err == nil || !strings.Contains(err.Error(), "compressed more than three times") {
		t.Errorf("compression of compression: %v", err)
	}
}

// Many errors cost no more than few: only the first have their place looked up.
func TestManyErrors(t *testing.T) {
	in := strings.Repeat("{\"a\":\n", 50_000) + line(1)
	start := time.Now()
	set := read(t, in)
	if f := set.Files[0]; set.Rejected != 50_000 || len(f.Errors) != maxErrors || f.ErrorsTotal != 50_000 || set.Spans.Len() != 1 {
		t.Errorf("%d rejected, %d errors of %d", set.Rejected, len(f.Errors), f.ErrorsTotal)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestProgress(t *testing.T) {
	dir := t.TempDir()
	_, b := corpus(5000)
	if err := os.WriteFile(filepath.Join(dir, "x"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	var last, of, spans int64
	_, err := Read(context.Background(), []string{dir}, Options{Workers: 2, Progress: func(p Progress) { last, of, spans = p.Bytes, p.Total, p.Spans }})
	if err != nil || last != int64(len(b)) || of != last || spans != 5000 {
		t.Errorf("%v: %d of %d, want %d; %d spans", err, last, of, len(b), spans)
	}
}
