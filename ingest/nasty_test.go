package ingest

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/trace"
)

var update = flag.Bool("update", false, "rewrite the expected answers of testdata/nasty")

// testdata/nasty holds files as bad as any that came: each .in gives what stands
// in its .want, as OTLP JSON behind what was wrong.
func TestNasty(t *testing.T) {
	names, err := filepath.Glob("testdata/nasty/*.in")
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set := readBytes(t, data, Limits{})
		var got bytes.Buffer
		fmt.Fprintf(&got, "%s: %d spans, %d points, %d rejected\n", set.Files[0].Format, set.Spans.Len(), set.Metrics.Points(), set.Rejected)
		for _, e := range set.Files[0].Errors {
			fmt.Fprintf(&got, "%s: %s\n", e.Where, e.Message)
		}
		for _, kind := range set.Defects.Kinds() {
			fmt.Fprintf(&got, "%s: %d\n", kind, set.Defects[kind].N)
		}
		for _, field := range slices.Sorted(maps.Keys(set.Unknown)) {
			fmt.Fprintf(&got, "unknown %s: %d\n", field, set.Unknown[field])
		}
		if err := Convert(&got, set, JSONLines); err != nil {
			t.Fatal(err)
		}
		wanted := strings.TrimSuffix(name, ".in") + ".want"
		if *update {
			if err := os.WriteFile(wanted, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(wanted)
		if err != nil {
			t.Fatal(err)
		}
		same(t, name, got.String(), string(want))
	}
}

// overlong writes fields of an OTLP request with tags and lengths of more bytes
// than they need, some of them: nobody writes so, and it says the same.
func overlong(b []byte, r *rand.Rand, depth int) (out []byte) {
	long := func(v uint64) {
		for range r.IntN(3) {
			if v < 0x80 {
				out = append(out, byte(v)|0x80)
				v = 0
				continue
			}
			out = append(out, byte(v)|0x80)
			v >>= 7
		}
		for ; v >= 0x80; v >>= 7 {
			out = append(out, byte(v)|0x80)
		}
		out = append(out, byte(v))
	}
	w := wire{data: b}
	for {
		num, typ, ok := w.field(len(b))
		if !ok {
			return out
		}
		long(uint64(num)<<3 | uint64(typ))
		at := w.pos
		if typ != length {
			w.skip(typ, len(b))
			if typ == varint {
				x := wire{data: b, pos: at}
				long(x.uvarint(len(b)))
				continue
			}
			out = append(out, b[at:w.pos]...)
			continue
		}
		content := w.bytes(len(b))
		if depth < 3 && num <= 2 && !(depth > 0 && num == 1) || depth == 3 && num == 9 || depth == 4 && num == 2 {
			content = overlong(content, r, depth+1)
		}
		long(uint64(len(content)))
		out = append(out, content...)
	}
}

// However a writer spells a message, what was read before it, and what is
// remembered of that, the answer is the same: a fast path never changes it.
func TestFastPathsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	var tj ptrace.JSONMarshaler
	var tp ptrace.ProtoMarshaler
	for range 4 {
		var usual, lengths []byte
		var lines, spaced []byte
		proto, text := corpus(1)
		usual, lengths, lines, spaced = append(usual, proto...), append(lengths, proto...), append(lines, text...), append(append(spaced, indent(text)...), '\n')
		for range 10 {
			td := randomTraces(r)
			b, _ := tp.MarshalTraces(td)
			usual, lengths = append(usual, framed(b)...), append(lengths, framed(overlong(b, r, 0))...)
			b, _ = tj.MarshalTraces(td)
			lines, spaced = append(append(lines, b...), '\n'), append(append(spaced, indent(b)...), '\n')
		}
		set := readBytes(t, usual, Limits{})
		clean(t, set)
		want := describe(set)
		for what, data := range map[string][]byte{"overlong": lengths, "JSON": lines, "JSON with spaces": spaced,
			"usual after overlong": append(bytes.Clone(lengths), usual...)} {
			got := readBytes(t, data, Limits{})
			clean(t, got)
			want := want
			if what == "usual after overlong" {
				want = describe(readBytes(t, append(bytes.Clone(usual), usual...), Limits{}))
			}
			same(t, what, describe(got), want)
		}
		if t.Failed() {
			return
		}
	}
}

// What is remembered of attributes and names is told apart by key, by type, and
// by which of two came last.
func TestMemosTellApart(t *testing.T) {
	var usual, spaced strings.Builder
	n := 0
	span := func(fields string) {
		n++
		one := fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x",%s,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000000001"}`, n, n, fields)
		usual.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + one + "]}]}]}\n")
		spaced.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.NewReplacer(`":`, `" : `, "},{", "} , {").Replace(one) + "]}]}]}\n")
	}
	attribute := func(key, typ string) {
		for range 3 {
			span(fmt.Sprintf(`"name":"n","attributes":[{"key":"%s","value":{"%sValue":"42"}}]`, key, typ))
		}
	}
	for i := range 2000 { // more keys than there are sets of slots
		attribute(fmt.Sprint("k", i), "string")
	}
	for range 3 {
		attribute("both", "string")
		attribute("both", "int")
	}
	for range 3 {
		span(`"name":"first","kind":2,"name": "second"`)
		span(`"name": "first","kind":2,"name":"second"`)
	}
	json := readBytes(t, []byte(usual.String()), Limits{})
	clean(t, json)
	want := describe(readBytes(t, []byte(spaced.String()), Limits{}))
	same(t, "JSON", describe(json), want)
	if k := strings.Count(want, `{"both"=1:"42"}`); k != 9 || strings.Count(want, `{"both"=2:"42"}`) != 9 || strings.Count(want, `"second"`) != 6 {
		t.Errorf("the plain reading is wrong: %d texts", k)
	}
	var b bytes.Buffer
	if err := Convert(&b, json, ProtoFrames); err != nil {
		t.Fatal(err)
	}
	same(t, "protobuf", describe(readBytes(t, b.Bytes(), Limits{})), want)

	// A name that is known, and behind it one whose length takes a byte too many.
	one := func(fields ...string) []byte {
		s := "\x0a\x10abcdefghijklmnop\x12\x08abcdefgh\x39\x01\x00\x00\x00\x00\x00\x00\x00\x41\x02\x00\x00\x00\x00\x00\x00\x00" + strings.Join(fields, "")
		s = fmt.Sprintf("\x12%c%s", len(s), s)
		s = fmt.Sprintf("\x12%c%s", len(s), s)
		return fmt.Appendf(nil, "\x0a%c%s", len(s), s)
	}
	const known, last = "\x2a\x05known", "\x2a\x84\x00last"
	set := readBytes(t, framed(one(known), one(known), one(known, last), one(last, known)), Limits{})
	var names []string
	for r := range set.Spans.Len() {
		names = append(names, set.Spans.String(set.Spans.Name(trace.SpanRef(r))))
	}
	if got := strings.Join(names, " "); got != "known known last known" {
		t.Error(got)
	}
}
