package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// mixed is a directory of random OTLP documents with one trace in every other
// format.
func mixed(t *testing.T) string {
	dir := t.TempDir()
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"zipkin1.json", "zipkin2.json", "jaeger.json", "jaeger-spans.jsonl", "tempo.json"} {
		write(name, file(t, "same/"+name))
	}
	r := rand.New(rand.NewPCG(11, 4))
	var tm ptrace.JSONMarshaler
	var mm pmetric.JSONMarshaler
	for i := range 4 {
		var lines []byte
		for range 100 {
			spans, err := tm.MarshalTraces(randomTraces(r))
			if err != nil {
				t.Fatal(err)
			}
			points, err := mm.MarshalMetrics(randomMetrics(r))
			if err != nil {
				t.Fatal(err)
			}
			lines = slices.Concat(lines, spans, []byte{'\n'}, points, []byte{'\n'})
		}
		write(fmt.Sprintf("otlp-%d.jsonl", i), lines)
	}
	return dir
}

// What is handed over in parts, packed and unpacked, is what is read at once.
func TestPartsAreTheWhole(t *testing.T) {
	dir := mixed(t)
	whole, err := Read(context.Background(), []string{dir}, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Spans.Len() < 500 || whole.Metrics.Points() == 0 {
		t.Fatalf("%d spans, %d points: too few to part", whole.Spans.Len(), whole.Metrics.Points())
	}
	want := describe(whole)
	for _, workers := range []int{1, 3} {
		tables := trace.NewTables()
		spans, points := trace.NewStore(tables), metric.NewStore(tables)
		parts := 0
		var p trace.Packer
		part := func(s *trace.Store, m *metric.Store) error {
			parts++
			var refs []trace.SpanRef
			for r := range s.Len() {
				refs = append(refs, trace.SpanRef(r))
			}
			points.Append(m, tables.Absorb(s.Tables))
			return spans.AddPacked(p.Append(nil, s, refs))
		}
		set, err := Read(context.Background(), []string{dir}, Options{Workers: workers, Part: part, PartBytes: 40 << 10, Limits: Limits{chunk: 8 << 10}})
		if err != nil {
			t.Fatal(err)
		}
		if parts < 3 {
			t.Fatalf("%d parts", parts)
		}
		if err := part(set.Spans, set.Metrics); err != nil {
			t.Fatal(err)
		}
		same(t, "parts", describeStores(spans, points), want)
		for i := range set.Files {
			if set.Files[i].Spans != whole.Files[i].Spans || set.Files[i].MetricPoints != whole.Files[i].MetricPoints {
				t.Errorf("%s: %d spans of %d", set.Files[i].Path, set.Files[i].Spans, whole.Files[i].Spans)
			}
		}
		if set.Rejected != whole.Rejected || !slices.Equal(set.Defects.Kinds(), whole.Defects.Kinds()) {
			t.Errorf("%d rejected, whole %d", set.Rejected, whole.Rejected)
		}
	}
}

// Input that is parted to the last span is not empty input, and a part that
// cannot be taken ends the reading with its reason.
func TestPartsThatTakeAll(t *testing.T) {
	data := file(t, "same/otlp.jsonl")
	taken := 0
	set, err := Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: 1, PartBytes: 1, Part: func(s *trace.Store, _ *metric.Store) error {
		taken += s.Len()
		return nil
	}})
	if err != nil || taken != 3 || set.Spans.Len() != 0 || set.Files[0].Spans != 3 {
		t.Fatalf("%d spans taken: %v", taken, err)
	}
	full := errors.New("disk full")
	for _, workers := range []int{1, 3} {
		_, err = Read(context.Background(), []string{"-"}, Options{Stdin: bytes.NewReader(data), Workers: workers, PartBytes: 1, Part: func(*trace.Store, *metric.Store) error { return full }})
		if !errors.Is(err, full) {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}
