package analysis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/scenario"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// odd writes random traces, whose spans are torn over the whole file, and returns
// the file and the id of one of them.
func odd(t *testing.T) (path, id string) {
	rng := rand.New(rand.NewPCG(17, 2))
	spans := tracetest.Random(rng, 150)
	id = spans[0].TraceID.String()
	rng.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
	for i := range spans {
		spans[i].Flags = 0 // OTLP has no word for them
		if spans[i].ParentID == 0 {
			spans[i].Attrs = append(spans[i].Attrs, trace.RawAttr{Key: []byte("service.version"), Value: trace.RawValue{Type: trace.String, Bytes: []byte{'1' + byte(i%3)}}})
		}
	}
	s := trace.NewStore(trace.NewTables())
	s.KeepAll = true
	tracetest.Fill(s, spans)
	lines, err := tracetest.Lines(s)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "odd.jsonl")
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, id
}

// simulated writes a comparison with metrics.
func simulated(t *testing.T) *Options {
	r, err := scenario.Generate("checkout/client-wait", 3, 300)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.Write(dir, otlp.Format{Encoding: otlp.Proto}, false); err != nil {
		t.Fatal(err)
	}
	o := New()
	o.Baseline, o.Current = [][]string{{filepath.Join(dir, "baseline")}}, [][]string{{filepath.Join(dir, "current")}}
	return &o
}

// Whatever is asked, the answer from parts on disk is that from memory, to the
// byte.
func TestSpilledIsTheSame(t *testing.T) {
	path, id := odd(t)
	one := func(change func(*Options)) *Options {
		o := New()
		o.Current = [][]string{{path}}
		change(&o)
		return &o
	}
	// An analysis is made of what was loaded and of nothing else.
	analyze := func(w io.Writer, o *Options) error {
		l, err := Load(context.Background(), o)
		if err != nil {
			return err
		}
		for _, runs := range l.Sides {
			if _, err := w.Write(summary.Encode(runs)); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(w, "%+v %v %v %v %v %v %v", l.Files, l.LogRecords, l.Rejected, l.Defects, l.Unknown, l.Cut, l.LeftOut)
		return err
	}
	look := func(id string) func(io.Writer, *Options) error {
		return func(w io.Writer, o *Options) error {
			r, err := Trace(context.Background(), o, id)
			if err != nil {
				return err
			}
			return report.EncodeTrace(w, r)
		}
	}
	inspect := func(w io.Writer, o *Options) error {
		r, err := Inspect(context.Background(), o)
		if err != nil {
			return err
		}
		return report.EncodeInspection(w, r)
	}
	for _, c := range []struct {
		name string
		o    *Options
		ask  func(io.Writer, *Options) error
	}{
		{"single", one(func(*Options) {}), analyze},
		{"class", one(func(o *Options) { o.ClassAttr = "tenant" }), analyze},
		{"operations by configuration", one(func(o *Options) {
			o.Config = &config.Config{Operations: []config.Operation{{Attribute: "tenant", Name: "for {value}"}}}
		}), analyze},
		{"split by time", one(func(o *Options) { o.Split = "time" }), analyze},
		{"split by version", one(func(o *Options) { o.Split = "version" }), analyze},
		{"split by value", one(func(o *Options) { o.Split = "tenant=t1" }), analyze},
		{"comparison", simulated(t), analyze},
		{"inspect", one(func(*Options) {}), inspect},
		{"trace", one(func(*Options) {}), look(id)},
		{"trace by prefix", one(func(*Options) {}), look(id[:20])},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want string
			c.o.Memory = 1 << 40
			for i, at := range []int64{0, 100_000, 25_000, 1} {
				c.o.spillAt = at
				var got bytes.Buffer
				if err := c.ask(&got, c.o); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					if want = got.String(); len(want) < 1000 {
						t.Fatalf("a poor answer: %s", want)
					}
				} else if got.String() != want {
					t.Errorf("with %d bytes of spans in memory, from byte %d of %d on: another answer", at, common(got.String(), want), len(want))
				}
			}
		})
	}
}

func common(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// The parts are gone when an answer is there, when there is none, and when the
// reading is broken off.
func TestNoPartsAreLeft(t *testing.T) {
	path, _ := odd(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	o := New()
	o.Current, o.Memory = [][]string{{path}}, 1
	if _, err := Run(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	o.Split = "no.such.attribute"
	if _, err := Run(context.Background(), &o); err == nil {
		t.Error("split by what is not there")
	}
	o.Split = ""
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(ingest.Progress) { cancel() }
	if _, err := Run(ctx, &o); err == nil {
		t.Error("not broken off")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%d files are left: %v", len(files), err)
	}
}

// Where the records do not fit either, a sample of them gives the same answer to
// what the report is about, and the report says that it is one.
func TestSampledAnswer(t *testing.T) {
	r, err := scenario.Generate("checkout/new-hop", 3, 3000)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.Write(dir, otlp.Format{Encoding: otlp.Proto}, false); err != nil {
		t.Fatal(err)
	}
	o := New()
	o.Baseline, o.Current = [][]string{{filepath.Join(dir, "baseline")}}, [][]string{{filepath.Join(dir, "current")}}
	whole, err := Run(context.Background(), &o)
	if err != nil {
		t.Fatal(err)
	}
	o.Memory = 24 << 20
	sample, err := Run(context.Background(), &o)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Run.Kept != report.KeptAll || sample.Run.Kept != report.KeptSample || len(sample.LeftOut) != len(whole.LeftOut)+2 {
		t.Fatalf("kept %s and %s, left out: %v", whole.Run.Kept, sample.Run.Kept, sample.LeftOut)
	}
	a, b := &whole.Endpoints[0], &sample.Endpoints[0]
	if n := b.Requests.Current.Sampled; n >= a.Requests.Current.Sampled*2/3 || n < 200 {
		t.Errorf("%d of %d requests in the sample", n, a.Requests.Current.Sampled)
	}
	near := func(what string, got, want float64, off float64) {
		if math.Abs(got-want) > off*want {
			t.Errorf("%s: %v of a sample, %v of all", what, got, want)
		}
	}
	near("p99 before", b.P99.BaselineMs.Or(-1), a.P99.BaselineMs.Or(-2), 0.011)
	near("p99", b.P99.CurrentMs.Or(-1), a.P99.CurrentMs.Or(-2), 0.011)
	near("p50", b.P50.CurrentMs.Or(-1), a.P50.CurrentMs.Or(-2), 0.011)
	near("offered", float64(b.Requests.Current.Offered), float64(a.Requests.Current.Offered), 1e-9)
	near("completed", float64(b.Requests.Current.Completed), float64(a.Requests.Current.Completed), 1e-9)
	if a.Verdict != b.Verdict || len(b.Hypotheses) == 0 || a.Hypotheses[0].Kind != b.Hypotheses[0].Kind || a.Hypotheses[0].Peer != b.Hypotheses[0].Peer {
		t.Errorf("verdict %s, cause %v; of all %s, %v", b.Verdict, b.Hypotheses, a.Verdict, a.Hypotheses)
	}
}
