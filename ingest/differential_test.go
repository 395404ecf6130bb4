package ingest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// readBytes reads data as standard input, keeping everything.
func readBytes(t testing.TB, data []byte, limits Limits) *Set {
	t.Helper()
	set, err := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), KeepAll: true, Limits: limits})
	if set == nil {
		t.Fatal(err)
	}
	return set
}

// differ is the first line in which two descriptions differ.
func differ(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return "got  " + a + "\nwant " + b
		}
	}
	return ""
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s", what, differ(got, want))
	}
}

// The same data give the same stores through pdata's model and through our
// decoders, in both encodings and in every spelling of JSON.
func TestAgainstPdata(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	var tj ptrace.JSONMarshaler
	var tp ptrace.ProtoMarshaler
	var mj pmetric.JSONMarshaler
	var mp pmetric.ProtoMarshaler
	for range 30 {
		td, md := randomTraces(r), randomMetrics(r)
		spans, none := pdataSet(td, pmetric.NewMetrics())
		want := describeStores(spans, none)
		nothing, points := pdataSet(ptrace.NewTraces(), md)
		wantPoints := describeStores(nothing, points)

		b, _ := tp.MarshalTraces(td)
		if spans.Len() > 0 {
			set := readBytes(t, b, Limits{})
			clean(t, set)
			same(t, "protobuf", describe(set), want)
		}
		b, _ = tj.MarshalTraces(td)
		for dialect, spell := range dialects {
			set := readBytes(t, spell(b, r), Limits{})
			clean(t, set)
			same(t, "JSON, "+dialect, describe(set), want)
		}

		b, _ = mp.MarshalMetrics(md)
		if points.Points() > 0 {
			set := readBytes(t, b, Limits{})
			clean(t, set)
			same(t, "protobuf metrics", describe(set), wantPoints)
		}
		b, _ = mj.MarshalMetrics(md)
		for dialect, spell := range dialects {
			set := readBytes(t, spell(b, r), Limits{})
			clean(t, set)
			same(t, "JSON metrics, "+dialect, describe(set), wantPoints)
		}
		if t.Failed() {
			break
		}
	}
}

func clean(t *testing.T, s *Set) {
	t.Helper()
	if s.Rejected != 0 || s.errorsTotal() != 0 || len(s.Defects) != 0 || len(s.Unknown) != 0 {
		t.Errorf("rejected %d, errors %v, defects %v, unknown %v", s.Rejected, s.Files[0].Errors, s.Defects, s.Unknown)
	}
}

// dialects are ways in which the same OTLP JSON is found in the wild.
var dialects = map[string]func(b []byte, r *rand.Rand) []byte{
	"as pdata writes it": func(b []byte, _ *rand.Rand) []byte { return b },
	"pretty-printed":     func(b []byte, _ *rand.Rand) []byte { return append([]byte("\xef\xbb\xbf"), indent(b)...) },
	"CRLF":               func(b []byte, _ *rand.Rand) []byte { return bytes.ReplaceAll(indent(b), []byte("\n"), []byte("\r\n")) },
	"in an array":        func(b []byte, _ *rand.Rand) []byte { return append(append([]byte("[\n"), b...), "\n]"...) },
	"NUL holes":          func(b []byte, _ *rand.Rand) []byte { return append(b, '\n') },
	"escaped":            func(b []byte, _ *rand.Rand) []byte { return respell(b, spelling{ascii: true}) },
	"shuffled keys":      func(b []byte, r *rand.Rand) []byte { return respell(b, spelling{shuffle: r}) },
	"snake case":         func(b []byte, _ *rand.Rand) []byte { return respell(b, spelling{key: snake}) },
	"legacy names":       func(b []byte, _ *rand.Rand) []byte { return respell(b, spelling{key: legacy}) },
	"base64 ids":         func(b []byte, _ *rand.Rand) []byte { return respell(b, spelling{id: base64ID}) },
	"base64 of hex": func(b []byte, _ *rand.Rand) []byte {
		return respell(b, spelling{id: func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }})
	},
	"capital ids": func(b []byte, _ *rand.Rand) []byte { return respell(b, spelling{id: strings.ToUpper}) },
	"Go structs": func(b []byte, r *rand.Rand) []byte {
		return respell(b, spelling{key: snake, id: base64ID, goOneof: true, shuffle: r})
	},
	"numbers":    func(b []byte, _ *rand.Rand) []byte { return respell(b, spelling{numbers: true}) },
	"enum names": func(b []byte, _ *rand.Rand) []byte { return respell(b, spelling{enums: true}) },
}

func indent(b []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		panic(err)
	}
	return out.Bytes()
}
