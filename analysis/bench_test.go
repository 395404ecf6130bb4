package analysis

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/internal/cputime"
	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

// benchRequests is the requests of each side: about 20 spans each.
const benchRequests = 5000

// unmarshalled has pdata unmarshal all length-prefixed files below dir, and
// returns how many spans they hold.
func unmarshalled(b *testing.B, files map[string][]byte) (spans int) {
	var tu ptrace.ProtoUnmarshaler
	var mu pmetric.ProtoUnmarshaler
	for name, rest := range files {
		for len(rest) > 0 {
			n := binary.BigEndian.Uint32(rest)
			message := rest[4 : 4+n]
			rest = rest[4+n:]
			if filepath.Base(name)[0] == 'm' {
				if _, err := mu.UnmarshalMetrics(message); err != nil {
					b.Fatal(err)
				}
				continue
			}
			td, err := tu.UnmarshalTraces(message)
			if err != nil {
				b.Fatal(err)
			}
			spans += td.SpanCount()
		}
	}
	return spans
}

// BenchmarkAnalyze times a comparison, from files to causes, against pdata's mere
// unmarshalling of the same bytes from memory, in turns, by processor time on one
// core; and the same comparison with two workers, whose processor time should be
// that of one.
func BenchmarkAnalyze(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r, err := scenario.Generate("mercury/drill", 1, benchRequests)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := r.Write(dir, otlp.Format{Encoding: otlp.Proto}, false); err != nil {
		b.Fatal(err)
	}
	r = nil
	files := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(dir, "*", "*.pb"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		if files[name], err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
	}
	o := New()
	o.Baseline, o.Current = [][]string{{filepath.Join(dir, "baseline")}}, [][]string{{filepath.Join(dir, "current")}}
	var load, rest, pdata, two time.Duration
	spans := 0
	for b.Loop() {
		runtime.GC()
		start := cputime.Used()
		l, err := Load(context.Background(), &o)
		if err != nil {
			b.Fatal(err)
		}
		loaded := cputime.Used()
		if _, err := Analyze(l, &o); err != nil {
			b.Fatal(err)
		}
		load, rest = load+loaded-start, rest+cputime.Used()-loaded
		l = nil

		runtime.GC()
		start = cputime.Used()
		spans = unmarshalled(b, files)
		pdata += cputime.Used() - start

		runtime.GC()
		runtime.GOMAXPROCS(2)
		start = cputime.Used()
		if _, err := Run(context.Background(), &o); err != nil {
			b.Fatal(err)
		}
		two += cputime.Used() - start
		runtime.GOMAXPROCS(1)
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N*spans) }
	b.ReportMetric(per(load), "ns/span-load")
	b.ReportMetric(per(rest), "ns/span-analyze")
	b.ReportMetric(per(pdata), "ns/span-pdata")
	b.ReportMetric((load+rest).Seconds()/pdata.Seconds(), "of-pdata")
	b.ReportMetric(load.Seconds()/pdata.Seconds(), "load-of-pdata")
	b.ReportMetric(rest.Seconds()/pdata.Seconds(), "analyze-of-pdata")
	b.ReportMetric(two.Seconds()/(load+rest).Seconds(), "two-of-one")
}
