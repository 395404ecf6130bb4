package summary

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

func judge(s *trace.Store, r trace.SpanRef, _ bool) graph.Judgement {
	return graph.Judgement{Weight: graph.OneRequest, Class: s.Attr(r, "tenant").TextID()}
}

func summarize(spans []tracetest.RandomSpan) *Summary {
	store := trace.NewStore(trace.NewTables())
	tracetest.Fill(store, spans)
	s := New()
	s.KeepWhole()
	s.AddSpans(store, judge)
	return s
}

func calibrate(s *Summary) *Calibration {
	return &Calibration{Dict: s.Dict, Verdicts: graph.NewVerdicts(s.Dict, s.Graph, graph.SolveClocks(s.Graph)), Floors: queuewait.NewFloors(s.Queues)}
}

// half is the spans whose trace falls into part k of n.
func half(spans []tracetest.RandomSpan, k, n int) []tracetest.RandomSpan {
	var out []tracetest.RandomSpan
	for _, s := range spans {
		if int(s.TraceID[15])%n == k {
			out = append(out, s)
		}
	}
	return out
}

func eachSeed(t *testing.T, f func(t *testing.T, rng *rand.Rand, spans []tracetest.RandomSpan)) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		spans := tracetest.Random(rng, 1+rng.IntN(40))
		f(t, rng, spans)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// First law: the parts of a ledger tile the request.
func TestConservation(t *testing.T) {
	charged := 0
	eachSeed(t, func(t *testing.T, _ *rand.Rand, spans []tracetest.RandomSpan) {
		s := summarize(spans)
		l := NewLedger(calibrate(s))
		for _, r := range s.Records {
			at := int64(0)
			for _, p := range l.Charge(r) {
				if p.Start != at || p.End <= p.Start {
					t.Fatalf("trace %s: part %d..%d after %d", r.TraceID, p.Start, p.End, at)
				}
				at = p.End
				charged++
			}
			if at != r.Duration() {
				t.Fatalf("trace %s: parts sum to %d, the request took %d", r.TraceID, at, r.Duration())
			}
		}
	})
	if charged < 5000 {
		t.Errorf("only %d parts: the traces are too plain", charged)
	}
}

// Second law: halves merged in any order are the whole, also through files.
func TestMergeOfHalvesIsTheWhole(t *testing.T) {
	eachSeed(t, func(t *testing.T, rng *rand.Rand, spans []tracetest.RandomSpan) {
		want := Encode([]*Summary{summarize(spans)})
		n := 2 + rng.IntN(3)
		parts := make([]*Summary, n)
		for k := range parts {
			parts[k] = summarize(half(spans, k, n))
			if rng.IntN(2) == 0 { // by way of a file
				back, err := Decode(Encode([]*Summary{parts[k]}))
				if err != nil {
					t.Fatal(err)
				}
				parts[k] = back[0]
			}
		}
		rng.Shuffle(n, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		merged := parts[0]
		for _, p := range parts[1:] {
			merged.Merge(p)
		}
		if got := Encode([]*Summary{merged}); !bytes.Equal(got, want) {
			t.Fatalf("%d parts merged give %d bytes, the whole %d", n, len(got), len(want))
		}
	})
}

func TestShuffledSpansGiveTheSameBytes(t *testing.T) {
	eachSeed(t, func(t *testing.T, rng *rand.Rand, spans []tracetest.RandomSpan) {
		want := Encode([]*Summary{summarize(spans)})
		mixed := slices.Clone(spans)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if got := Encode([]*Summary{summarize(mixed)}); !bytes.Equal(got, want) {
			t.Fatal("another order of spans, another summary")
		}
	})
}

// A shift of all times by the same changes no part of any request.
func TestShiftOfAllTimes(t *testing.T) {
	const shift = trace.Time(1<<20) * 1_000_000_000
	eachSeed(t, func(t *testing.T, _ *rand.Rand, spans []tracetest.RandomSpan) {
		parts := func(spans []tracetest.RandomSpan) (out [][]Part) {
			s := summarize(spans)
			s.Canonicalize()
			l := NewLedger(calibrate(s))
			for _, r := range s.Records {
				out = append(out, slices.Clone(l.Charge(r)))
			}
			return out
		}
		moved := slices.Clone(spans)
		for i := range moved {
			moved[i].Start += shift
			moved[i].End += shift
			moved[i].Events = slices.Clone(moved[i].Events)
			for k := range moved[i].Events {
				moved[i].Events[k].Time += shift
			}
		}
		if diff := cmp.Diff(parts(spans), parts(moved)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestCorruptSnapshotsAreRefused(t *testing.T) {
	spans := tracetest.Random(rand.New(rand.NewPCG(7, 7)), 5)
	file := Encode([]*Summary{summarize(spans)})
	if _, err := Decode(file); err != nil {
		t.Fatal(err)
	}
	for cut := range len(file) {
		if _, err := Decode(file[:cut]); err == nil {
			t.Fatalf("a file cut at byte %d of %d was read", cut, len(file))
		}
	}
	for i := range file {
		bad := slices.Clone(file)
		bad[i] ^= 0x10
		if _, err := Decode(bad); err == nil {
			t.Fatalf("a file changed at byte %d was read", i)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode([]*Summary{summarize(tracetest.Random(rand.New(rand.NewPCG(1, 2)), 2))}))
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := decode(data, version); err == nil { // the checksum left out, or nothing would get past it
			s.Canonicalize()
			l := NewLedger(calibrate(s))
			for _, r := range s.Records {
				l.Charge(r)
			}
			_ = s.EachWhole(func(*trace.Store) {})
			if _, err := decode(s.append(nil), version); err != nil {
				t.Fatalf("what was read cannot be read again: %v", err)
			}
		}
	})
}

// Third law: a replay of nothing gives back every latency.
func TestReplayOfNothing(t *testing.T) {
	eachSeed(t, func(t *testing.T, _ *rand.Rand, spans []tracetest.RandomSpan) {
		s := summarize(spans)
		c := calibrate(s)
		w := &graph.Walker{Dict: c.Dict, Verdicts: c.Verdicts}
		var e graph.Evaluator
		for _, r := range s.Records {
			p := w.Plan(r, nil)
			for i := range p.Steps {
				if p.Steps[i].NS < 0 && p.Steps[i].Leave {
					t.Fatalf("trace %s: a rest of %d ns", r.TraceID, p.Steps[i].NS)
				}
			}
			if got := e.Latency(p, p.Values(nil), nil); got != r.Duration() {
				t.Fatalf("trace %s: replayed %d ns of %d", r.TraceID, got, r.Duration())
			}
		}
	})
}

// Several goroutines make the summary that one makes, to the byte.
func TestAddingInParallel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(6, 6))
	spans := tracetest.Random(rng, 1500)
	if len(spans) < 6*leastParallel {
		t.Fatalf("%d spans", len(spans))
	}
	keep := func(refs []trace.SpanRef) bool { return len(refs) != 3 }
	build := func(add func(s *Summary, store *trace.Store)) []byte {
		s := New()
		s.KeepWhole()
		for i := range 2 {
			store := trace.NewStore(trace.NewTables())
			tracetest.Fill(store, half(spans, i, 2))
			add(s, store)
		}
		return Encode([]*Summary{s})
	}
	want := build(func(s *Summary, store *trace.Store) { s.AddTraces(store, judge, keep) })
	got := build(func(s *Summary, store *trace.Store) {
		s.AddParallel(store, func() graph.Judge { return judge }, keep)
	})
	if !bytes.Equal(got, want) {
		t.Fatalf("another summary: %d bytes, %d", len(got), len(want))
	}
}
