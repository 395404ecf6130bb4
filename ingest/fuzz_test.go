package ingest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/trace"
)

// small limits, so that a fuzzer meets them.
var small = Limits{Document: 1 << 20, Depth: 20, Text: 100, Attributes: 8, Events: 8, Buckets: 16, chunk: 256}

// FuzzRead gives any bytes to everything: sniffing, framing, decompression and
// all decoders. Nothing panics, the output is valid, it does not depend on the
// number of workers, and what was read survives a conversion.
func FuzzRead(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/*/*")
	for _, name := range seeds {
		if b, err := os.ReadFile(name); err == nil && len(b) < 20_000 {
			f.Add(b)
		}
	}
	for _, text := range []string{
		line(1), line(1) + "\n" + line(2)[:150], "[" + line(1) + "," + line(2) + "]",
		`{"data":[{"traceID":"A","spans":[{"spanID":"B","operationName":"o","startTime":0,"duration":1,"processID":"p","references":[{"refType":"FOLLOWS_FROM","spanID":"C"}]}],"processes":{"p":{"serviceName":"s"}}}]}`,
		`[{"traceId":"1","id":"2","timestamp":1,"duration":2,"shared":true},{"traceId":"1","id":"3","annotations":[{"timestamp":1,"value":"cs","endpoint":{"serviceName":"s"}},{"timestamp":2,"value":"sr"}],"binaryAnnotations":[]}]`,
		`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","sum":{"dataPoints":[{"timeUnixNano":"1","asInt":"1"}],"aggregationTemporality":2}}]}]}]}`,
		`[{"spans":[{}]}0`, `[{"traceId":"","":"","id":"","annotations":[{}]}0`, // the sound part of a cut list; spans without anything
		"\x0a\x00", "\x00\x00\x00\x02\x0a\x00", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd", "a,b,c\n1,2,3\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: 1, Limits: small})
		if one == nil {
			t.Fatal(err)
		}
		valid(t, one)
		two, _ := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: 3, Limits: small})
		same(t, "3 workers against 1", describe(two), describe(one))
		if one.Rejected != two.Rejected || len(one.Files[0].Errors) != len(two.Files[0].Errors) {
			t.Errorf("%d rejected with one worker, %d with three", one.Rejected, two.Rejected)
		}
		for _, e := range []Encoding{JSONLines, ProtoFrames} {
			var out bytes.Buffer
			if err := Convert(&out, one, e); err != nil {
				t.Fatal(err)
			}
			if out.Len() == 0 {
				continue
			}
			back, err := Read(context.Background(), []string{"-"}, Options{Stdin: &out, KeepAll: true}) // a time of zero is no time in OTLP
			if back == nil {
				t.Fatal(err)
			}
			if back.Spans.Len() != one.Spans.Len() || back.Rejected > 0 {
				t.Errorf("encoding %d: %d spans of %d survive the conversion, %d rejected: %v", e, back.Spans.Len(), one.Spans.Len(), back.Rejected, back.Files[0].Errors)
			}
		}
	})
}

// valid checks what every set holds to.
func valid(t *testing.T, s *Set) {
	t.Helper()
	for i := range s.Spans.Len() {
		r := trace.SpanRef(i)
		iv := s.Spans.Interval(r)
		if iv.Start < 0 && iv.Start != trace.NoTime || iv.End < 0 && iv.End != trace.NoTime {
			t.Errorf("a span with times %d..%d", iv.Start, iv.End)
		}
		if s.Spans.Kind(r) > trace.KindConsumer || s.Spans.Status(r) > trace.StatusError {
			t.Errorf("kind %d, status %d", s.Spans.Kind(r), s.Spans.Status(r))
		}
	}
	for i := 0; i < s.Spans.Len(); i++ {
		for _, a := range s.Spans.Attrs(trace.SpanRef(i)) {
			text := s.Spans.Text(a.Value)
			if a.Value.Type() != trace.Bytes && !utf8.ValidString(text) {
				t.Errorf("attribute %q is not UTF-8", text)
			}
		}
		if name := s.Spans.String(s.Spans.Name(trace.SpanRef(i))); !utf8.ValidString(name) {
			t.Errorf("name %q is not UTF-8", name)
		}
	}
	var spans, points, rejected int64
	for _, f := range s.Files {
		spans, points, rejected = spans+f.Spans, points+f.MetricPoints, rejected+f.Rejected
		if len(f.Errors) > maxErrors || int64(len(f.Errors)) > f.ErrorsTotal {
			t.Errorf("%d errors kept of %d", len(f.Errors), f.ErrorsTotal)
		}
		if f.Rejected > 0 && f.ErrorsTotal == 0 {
			t.Errorf("%d rejected without a word", f.Rejected)
		}
	}
	if spans != int64(s.Spans.Len()) || points != int64(s.Metrics.Points()) || rejected != s.Rejected {
		t.Errorf("files hold %d spans, %d points, %d rejected; the set %d, %d, %d", spans, points, rejected, s.Spans.Len(), s.Metrics.Points(), s.Rejected)
	}
}

// FuzzProto gives any bytes to the protobuf decoder. What both it and pdata
// accept, they read alike.
func FuzzProto(f *testing.F) {
	f.Add([]byte("\x0a\x25\x12\x23\x12\x21\x0a\x100123456789abcdef\x12\x0801234567\x2a\x01n\x30\x02"))
	f.Add([]byte("\x0a\x0f\x0a\x0d\x0a\x0b\x0a\x01k\x12\x06\x2a\x04\x0a\x02\x18\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &chunk{data: data, binary: true, format: otlpProto, frames: []frame{{0, len(data), 0, false}}}
		p := newPool(nil, Options{KeepAll: true}, Limits{}.withDefaults())
		w := &worker{pool: p}
		w.begin()
		k := w.decode(c)
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(bytes.Clone(data))
		if err != nil || k.rejected > 0 || k.points.Points() > 0 || k.logs > 0 || len(k.defects) > 0 || k.spans.Len() == 0 {
			return
		}
		if len(k.unknown) > 0 {
			return
		}
		want, none := pdataSet(td, pmetricNone)
		got := describeStores(k.spans, k.points)
		if w := describeStores(want, none); got != w {
			t.Error(differ(got, w))
		}
	})
}

// FuzzScanner checks the JSON scanner against encoding/json on any bytes, and
// that both find the same texts.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00"],"b":null}`, `"\ud800"`, `[]`, `-0`, "\"\xff\"", `{"a":1,}`, `[1,]`, `01`, `"\x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s scanner
		s.reset(data)
		s.maxDepth = 1000
		s.skip()
		s.peek()
		ok := s.err == nil && s.pos == len(data)
		want := jsonValid(data)
		if ok != want && !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
			t.Errorf("%q: accepted %t, want %t (%v)", data, ok, want, s.err)
		}
		if !want || len(data) == 0 {
			return
		}
		s.reset(data)
		if s.peek() == '"' {
			if got, want := string(s.str()), jsonString(data); got != want && utf8.Valid(data) {
				t.Errorf("%q: got %q, want %q", data, got, want)
			}
		}
	})
}

// FuzzNumbers checks the exact reading of integers against big arithmetic.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"0", "-5", "1.767268800000000123e18", "18446744073709551615", "18446744073709551616", "10e-1", "1e400", "0.000e99", "123e0", "1.50"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, negative, ok := parseUint([]byte(s))
		want, valid := bigInt(s)
		if !valid {
			return // not a JSON number: then the scanner does not pass it on, but as a text
		}
		fits := want != nil && want.CmpAbs(maxUint) <= 0
		if ok != fits {
			t.Fatalf("%q: read %t, want %t", s, ok, fits)
		}
		if ok && (want.Uint64() != v && -want.Int64() != int64(v) || negative != (s[0] == '-')) {
			t.Errorf("%q: got %d %t, want %v", s, v, negative, want)
		}
	})
}
