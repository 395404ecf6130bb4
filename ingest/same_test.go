package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tailscope/tailscope/trace"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testdata/same holds one trace in every format. All give the same store; only
// Zipkin can say that a server's half shares its id with the client's.
func TestSameTraceInEveryFormat(t *testing.T) {
	want := describe(readBytes(t, file(t, "same/otlp.jsonl"), Limits{}))
	if n := strings.Count(want, "\n"); n != 3 {
		t.Fatalf("%d spans, want 3", n)
	}
	unshared := strings.ReplaceAll(want, "flags 1", "flags 0")
	for name, f := range map[string]struct{ format, want string }{
		"zipkin2.json":       {"zipkin-json", want},
		"zipkin1.json":       {"zipkin-json", want},
		"jaeger.json":        {"jaeger-json", unshared},
		"jaeger-spans.jsonl": {"jaeger-json", unshared},
		"tempo.json":         {"tempo-json", unshared},
		"tempo2.json":        {"otlp-json", unshared},
	} {
		set := readBytes(t, file(t, "same/"+name), Limits{})
		same(t, name, describe(set), f.want)
		if got := set.Files[0].Format; got != f.format || set.Rejected > 0 || len(set.Files[0].Errors) > 0 {
			t.Errorf("%s: format %q, %d rejected, errors %v", name, got, set.Rejected, set.Files[0].Errors)
		}
	}
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

var zstdEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))

func zstded(b []byte) []byte { return zstdEncoder.EncodeAll(b, nil) }

func framed(messages ...[]byte) (out []byte) {
	for _, m := range messages {
		out = binary.BigEndian.AppendUint32(out, uint32(len(m)))
		out = append(out, m...)
	}
	return out
}

// requests is the messages of what Convert wrote as ProtoFrames.
func requests(b []byte) (out [][]byte) {
	for len(b) > 0 {
		n := 4 + binary.BigEndian.Uint32(b)
		out = append(out, b[4:n])
		b = b[n:]
	}
	return out
}

// However requests are framed and packed, they give the same store.
func TestPacking(t *testing.T) {
	set := readBytes(t, file(t, "same/otlp.jsonl"), Limits{})
	want := describe(set)
	var b bytes.Buffer
	if err := Convert(&b, set, ProtoFrames); err != nil {
		t.Fatal(err)
	}
	frames := bytes.Clone(b.Bytes())
	messages := requests(frames)
	lines := bytes.Split(bytes.TrimSpace(file(t, "same/otlp.jsonl")), []byte("\n"))
	text := append(slices.Concat(lines[0], []byte("\n")), lines[1]...)

	for name, f := range map[string]struct {
		data   []byte
		format string
	}{
		"frames":                       {frames, "otlp-proto-frames"},
		"bare":                         {messages[0], "otlp-proto"},
		"JSON lines":                   {text, "otlp-json"},
		"gzip":                         {gzipped(text), "otlp-json+gzip"},
		"gzip, many members":           {append(gzipped(append(lines[0], '\n')), gzipped(lines[1])...), "otlp-json+gzip"},
		"gzip of frames":               {gzipped(frames), "otlp-proto-frames+gzip"},
		"zstd":                         {zstded(text), "otlp-json+zstd"},
		"zstd, many frames":            {append(zstded(append(lines[0], '\n')), zstded(lines[1])...), "otlp-json+zstd"},
		"zstd of a bare request":       {zstded(messages[0]), "otlp-proto+zstd"},
		"gzip of zstd":                 {gzipped(zstded(text)), "otlp-json+gzip+zstd"},
		"the Collector's zstd, proto":  {framed(zstded(messages[0])), "otlp-proto-frames+zstd-frames"},
		"the Collector's zstd, JSON":   {framed(zstded(lines[0]), zstded(lines[1])), "otlp-json+zstd-frames"},
		"frames of JSON":               {framed(lines...), "otlp-json"},
		"a byte order mark and CRLF":   {append([]byte("\xef\xbb\xbf"), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))...), "otlp-json"},
		"blank lines":                  {append([]byte("\n\n \n"), bytes.ReplaceAll(text, []byte("\n"), []byte("\n\n\n"))...), "otlp-json"},
		"UTF-16":                       {inUTF16(text, binary.LittleEndian), "otlp-json+utf-16"},
		"UTF-16, high byte first":      {inUTF16(text, binary.BigEndian), "otlp-json+utf-16"},
		"glued":                        {slices.Concat(lines[0], lines[1]), "otlp-json"},
		"text sequences (RFC 7464)":    {slices.Concat([]byte{0x1e}, lines[0], []byte("\n\x1e"), lines[1], []byte("\n")), "otlp-json"},
		"an array that lost its edges": {slices.Concat(lines[0], []byte(",\n"), lines[1], []byte(",\n")), "otlp-json"},
	} {
		got := readBytes(t, f.data, Limits{})
		same(t, name, describe(got), want)
		if format := got.Files[0].Format; format != f.format {
			t.Errorf("%s: format %q, want %q", name, format, f.format)
		}
		clean(t, got)
	}
}

func inUTF16(b []byte, order binary.AppendByteOrder) (out []byte) {
	for _, c := range utf16.Encode([]rune("\ufeff" + string(b))) {
		out = order.AppendUint16(out, c)
	}
	return out
}

// Signals mixed in one file, a hole of NUL bytes, and what is not used.
func TestMixed(t *testing.T) {
	set := read(t, line(1)+"\n\x00\x00\x00"+`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{}},{}]}]}]}`+"\n"+
		`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"timeUnixNano":"5","asInt":"3"}]}}]}]}]}`+"\n"+
		`{"resourceSpans":[{"scopeSpans":[{"spans":[],"newList":[]}],"entity":1}]}`)
	if set.Spans.Len() != 1 || set.Metrics.Points() != 1 || set.LogRecords != 2 || set.Rejected != 0 {
		t.Errorf("%d spans, %d points, %d logs, %d rejected", set.Spans.Len(), set.Metrics.Points(), set.LogRecords, set.Rejected)
	}
	if set.Defects["nul-bytes"].N != 1 || set.Unknown["scopeSpans.newList"] != 1 || set.Unknown["resourceSpans.entity"] != 1 {
		t.Errorf("defects %v, unknown %v", set.Defects, set.Unknown)
	}
}

// Lines in any order, in any number of files, with any number of workers and any
// size of chunks, give the same set.
func TestRelations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var lines []string
	for range 3 {
		_, b := corpus(1)
		lines = append(lines, strings.TrimSuffix(string(b), "\n"))
	}
	for i := range 40 {
		lines = append(lines, line(i))
	}
	write := func(t *testing.T, files int, lines []string) string {
		dir := t.TempDir()
		parts := make([][]string, files)
		for i, l := range lines {
			parts[i*files/len(lines)] = append(parts[i*files/len(lines)], l)
		}
		for i, p := range parts {
			if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".jsonl"), []byte(strings.Join(p, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	var want string
	for _, c := range []struct {
		files, workers, chunk int
	}{{1, 1, 1 << 20}, {1, 1, 100}, {1, 3, 1000}, {5, 2, 1 << 20}, {7, 4, 5000}, {3, 8, 50}} {
		set, err := Read(context.Background(), []string{write(t, c.files, lines)}, Options{Workers: c.workers, KeepAll: true, Limits: Limits{chunk: c.chunk}})
		if err != nil {
			t.Fatal(err)
		}
		got := describe(set)
		if want == "" {
			want = got
		}
		same(t, "the same lines", got, want)
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
}

// Even the numbers that strings have are the same for any number of workers.
func TestStringsAreNumberedByInput(t *testing.T) {
	_, b := corpus(5_000)
	var sets []*Set
	for _, workers := range []int{1, 2, 5} {
		set, err := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(b), Workers: workers, Limits: Limits{chunk: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	for _, s := range sets[1:] {
		if s.Tables.Strings() != sets[0].Tables.Strings() {
			t.Fatalf("%d strings and %d", s.Tables.Strings(), sets[0].Tables.Strings())
		}
		for id := range trace.StringID(s.Tables.Strings()) {
			if got, want := s.Tables.String(id), sets[0].Tables.String(id); got != want {
				t.Fatalf("string %d is %q and %q", id, got, want)
			}
		}
	}
}
