package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tailscope/tailscope/report"
)

// One trace of 120,000 siblings and one of 20,000 generations: nothing recurses
// and nothing is sorted again for each node, so both take seconds.
func TestWideAndDeep(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	const start, limit = 1767268800_000_000_000, 30 * time.Second
	span := func(w *bufio.Writer, id, parent, name string, from, to int64) {
		fmt.Fprintf(w, `{"traceId":"000000000000000000000000000000aa","spanId":"%s","parentSpanId":"%s","name":"%s","kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`, id, parent, name, start+from, start+to)
	}
	id := func(i int) string { return fmt.Sprintf("%016x", i) }
	for _, c := range []struct {
		name     string
		n        int
		segments int
		spans    func(w *bufio.Writer, i, n int)
	}{
		// Siblings that touch: each is on the path for its whole 5 ms.
		{"wide", 120_000, 120_000, func(w *bufio.Writer, i, n int) {
			span(w, id(i+1), id(0xffffff), "row", int64(i)*5e6, int64(i+1)*5e6)
		}},
		// Each generation begins and ends 1 µs inside the one above.
		{"deep", 20_000, 2*20_000 + 1, func(w *bufio.Writer, i, n int) {
			parent := id(i)
			if i == 0 {
				parent = id(0xffffff)
			}
			span(w, id(i+1), parent, "level", int64(i+1)*1000, 600e9-int64(i+1)*1000)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mega.jsonl")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			w.WriteString(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"batch"}}]},"scopeSpans":[{"spans":[`)
			span(w, id(0xffffff), "", "nightly", 0, 600e9)
			for i := range c.n {
				w.WriteByte(',')
				c.spans(w, i, c.n)
			}
			w.WriteString("]}]}]}\n")
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			f.Close()

			began := time.Now()
			r := checkReport(t, command(t, "analyze", "--format", "json", path))
			if took := time.Since(began); took > limit {
				t.Errorf("analyze took %v", took)
			}
			if r.Ingest.Spans != int64(c.n+1) || r.Ingest.Orphans != 0 || len(r.Endpoints) != 1 || r.Endpoints[0].P99.CurrentMs != report.Some(600_000) {
				t.Errorf("%d spans, %d orphans, %d endpoints", r.Ingest.Spans, r.Ingest.Orphans, len(r.Endpoints))
			}
			began = time.Now()
			tr, err := report.DecodeTrace(bytes.NewReader(command(t, "trace", "aa", path, "--format", "json")))
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > limit {
				t.Errorf("trace took %v", took)
			}
			var sum int64
			for _, s := range tr.Path {
				sum += s.EndNS - s.StartNS
			}
			if len(tr.Path) != c.segments || sum != 600e9 {
				t.Errorf("the path has %d segments that sum to %d ns", len(tr.Path), sum)
			}
			// A screen does not draw them all, and says so.
			if text := command(t, "trace", "aa", path); bytes.Count(text, []byte("\n")) > 5000 || !bytes.Contains(text, []byte("left out")) {
				t.Errorf("text of %d lines", bytes.Count(text, []byte("\n")))
			}
		})
	}
}
