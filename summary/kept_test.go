package summary

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// Bounded halves merged in any order are the bounded whole, to the byte: however
// often they were bounded on the way, and through files.
func TestBoundedHalvesAreTheBoundedWhole(t *testing.T) {
	sampled := 0
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 5))
		spans := tracetest.Random(rng, 120)
		limit := int64(1+rng.IntN(40)) << 12
		whole := summarize(spans)
		whole.Bound(limit)
		want := Encode([]*Summary{whole})
		if whole.Kept != nil && len(whole.Records) < len(summarize(spans).Records) {
			sampled++
		}
		n := 2 + rng.IntN(4)
		parts := make([]*Summary, n)
		for k := range parts {
			parts[k] = summarize(half(spans, k, n))
			if rng.IntN(2) == 0 {
				parts[k].Bound(limit)
			}
			if rng.IntN(3) == 0 {
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
			if rng.IntN(2) == 0 {
				merged.Bound(limit)
			}
		}
		merged.Bound(limit)
		if got := Encode([]*Summary{merged}); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d parts under %d bytes: %d records, level %d; the whole %d, level %d", seed, n, limit, len(merged.Records), merged.Kept.level, len(whole.Records), whole.Kept.level)
		}
	}
	if sampled < 12 {
		t.Errorf("only %d of 25 were sampled", sampled)
	}
}

// Adding to a bounded summary is bounding what was added to.
func TestAddingToWhatWasBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	spans := tracetest.Random(rng, 300)
	const limit = 60_000
	whole := summarize(spans)
	whole.Bound(limit)
	step := New()
	step.KeepWhole()
	for k := range 7 {
		store := trace.NewStore(trace.NewTables())
		tracetest.Fill(store, half(spans, k, 7))
		step.AddSpans(store, judge)
		step.Bound(limit)
	}
	if got, want := Encode([]*Summary{step}), Encode([]*Summary{whole}); !bytes.Equal(got, want) {
		t.Errorf("%d records in steps, %d at once", len(step.Records), len(whole.Records))
	}
}

func TestNothingIsDroppedWithinTheBound(t *testing.T) {
	spans := tracetest.Random(rand.New(rand.NewPCG(3, 5)), 50)
	s, plain := summarize(spans), summarize(spans)
	s.Bound(1 << 30)
	if s.Kept != nil || !bytes.Equal(Encode([]*Summary{s}), Encode([]*Summary{plain})) {
		t.Error("a large bound changes what is kept")
	}
}

// requests is a summary of n requests of one endpoint, with latencies, weights
// and calls of their own.
func requests(n int, of func(i int) (ns, weight int64, calls []string)) *Summary {
	s := New()
	str := s.Dict.InternString
	root := s.Dict.Slot(graph.Slot{Parent: graph.NoSlot, Callee: trace.Endpoint{Service: str("web"), Operation: str("GET /")}, Kind: trace.KindServer})
	proc := s.Dict.Proc(graph.Proc{Service: str("web"), Host: str("h")})
	for i := range n {
		ns, weight, calls := of(i)
		r := &graph.Record{Entry: 1, Weight: weight, Before: graph.NoBefore}
		binary.BigEndian.PutUint64(r.TraceID[8:], uint64(i))
		add := func(parent int32, slot graph.SlotID, from, to int64) {
			c := graph.Call{Slot: slot, Parent: parent, Len: 1}
			c.Client.Proc = graph.NoProc
			c.Work = graph.Half{Interval: trace.Interval{Start: trace.Time(from), End: trace.Time(to)}, Proc: proc}
			r.Calls = append(r.Calls, c)
		}
		start := int64(i) * 1_000_000
		add(-1, root, start, start+ns)
		for _, c := range calls {
			add(0, s.Dict.Slot(graph.Slot{Parent: root, Callee: trace.Endpoint{Service: str("web"), Operation: str(c)}, Kind: trace.KindInternal}), start, start+ns/2)
		}
		r.Calls[0].Len = int32(len(r.Calls))
		s.Records = append(s.Records, r)
	}
	return s
}

// Of 100,000 requests a twentieth is kept, and quantiles are those of all: the
// tail is kept whole, and a bucket is 1 % wide.
func TestQuantilesOfTheKept(t *testing.T) {
	for _, weights := range []string{"equal", "unequal"} {
		rng := rand.New(rand.NewPCG(8, 8))
		const n = 100_000
		latency, weight := make([]int64, n), make([]int64, n)
		s := requests(n, func(i int) (int64, int64, []string) {
			latency[i], weight[i] = int64(50e6*math.Exp(rng.NormFloat64()/3)), graph.OneRequest
			if rng.IntN(50) == 0 {
				latency[i] += int64(300e6 * rng.ExpFloat64())
			}
			if weights == "unequal" {
				weight[i] *= int64(1 + 19*(i%2))
			}
			return latency[i], weight[i], nil
		})
		s.Bound(n / 20 * recordBytes(s.Records[0]))
		if len(s.Records) > n/20 || len(s.Records) < n/80 {
			t.Fatalf("%s: %d records kept", weights, len(s.Records))
		}
		got, stands := s.weigh()
		if got != n {
			t.Errorf("%s: %d requests, want %d", weights, got, n)
		}
		standing := 0.0
		for _, r := range s.Records {
			if f, ok := stands[r]; ok {
				standing += f
			} else {
				standing++
			}
		}
		if math.Abs(standing-n) > n/10 { // of the light half some 250 are kept, each for 200: ± 3 %
			t.Errorf("%s: the records stand for %.0f requests, want %d", weights, standing, n)
		}
		var x []int64
		var w, all []float64
		sum, light := int64(0), 0.0
		for _, r := range s.Records {
			x, w = append(x, r.Duration()), append(w, float64(r.Weight))
			sum += r.Weight
			if binary.BigEndian.Uint64(r.TraceID[8:])%2 == 0 {
				light += float64(r.Weight)
			}
		}
		total, lightAll := int64(0), 0.0
		for i, v := range weight {
			all = append(all, float64(v))
			total += v
			if i%2 == 0 {
				lightAll += float64(v)
			}
		}
		if sum != total {
			t.Errorf("%s: weights sum to %d, want %d", weights, sum, total)
		}
		for q, off := range map[float64]float64{0.5: 0.011, 0.9: 0.011, 0.99: 0.011, 0.999: 1e-9, 0.9999: 1e-9} {
			got, want := stats.Quantile(x, w, q), stats.Quantile(latency, all, q)
			if math.Abs(float64(got-want)) > off*float64(want) {
				t.Errorf("%s: p%v of %d kept is %d, of all %d", weights, 100*q, len(x), got, want)
			}
		}
		// Which half a request is of does not depend on its latency, so the shares hold
		// as far as √kept allows.
		if got, want := light/float64(total), lightAll/float64(total); math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/float64(len(x))) {
			t.Errorf("%s: a share of %.4f of the weight became %.4f", weights, want, got)
		}
	}
}

// A rare shape is kept however common its latency is, and stands for no more than
// itself.
func TestRareShapesAreKept(t *testing.T) {
	s := requests(50_000, func(i int) (int64, int64, []string) {
		calls := []string{"load"}
		if i%12_000 == 7 { // 5 of them
			calls = []string{"load", "repair"}
		}
		return 10_000_000 + int64(i%100), graph.OneRequest, calls
	})
	s.Bound(300 * recordBytes(s.Records[0]))
	if s.Kept == nil || len(s.Records) > 300 {
		t.Fatalf("%d records kept", len(s.Records))
	}
	s.weigh()
	rare, sum := 0, int64(0)
	for _, r := range s.Records {
		sum += r.Weight
		if len(r.Calls) == 3 {
			rare++
			if r.Weight != graph.OneRequest {
				t.Errorf("a rare request stands for %v requests", float64(r.Weight)/graph.OneRequest)
			}
		}
	}
	if rare != 5 || sum != 50_000*graph.OneRequest {
		t.Errorf("%d of 5 rare requests; all stand for %v of 50000", rare, float64(sum)/graph.OneRequest)
	}
}

// Records of a shape that is neither rare nor common get weights without bias:
// averaged over lots, what is kept of a shape stands for as many as there are.
func TestShapesStandForThemselves(t *testing.T) {
	const rounds, n, some = 150, 3000, 60
	mean := 0.0
	for round := range rounds {
		s := requests(n, func(i int) (int64, int64, []string) {
			calls := []string{"load"}
			if i%(n/some) == 0 {
				calls = append(calls, "repair")
			}
			return 10_000_000 + int64(i%100), graph.OneRequest, calls
		})
		for _, r := range s.Records { // another lot
			binary.BigEndian.PutUint64(r.TraceID[:8], uint64(round+1))
		}
		s.Bound(100 * recordBytes(s.Records[0]))
		s.weigh()
		for _, r := range s.Records {
			if len(r.Calls) == 3 {
				mean += float64(r.Weight) / graph.OneRequest / rounds
			}
		}
	}
	// One lot keeps 8 of the 60 or so, each for 7.5: the mean over 150 has a standard
	// error of about 60/√8/√150 = 1.7.
	if mean < some-6 || mean > some+6 {
		t.Errorf("%.1f requests, want %d", mean, some)
	}
}

// How many requests of a kind and an outcome there are is known exactly: they are
// strata of their own.
func TestKindsKeepTheirWeights(t *testing.T) {
	s := summarize(tracetest.Random(rand.New(rand.NewPCG(4, 4)), 400))
	all := len(s.Records)
	count := func() map[string]int64 {
		m := map[string]int64{}
		for _, r := range s.Records {
			e := entryName(s.Dict, r)
			m[fmt.Sprint(s.Dict.String(e.Service), s.Dict.String(e.Operation), s.Dict.String(r.Class), r.Outcome, r.Standing, r.Orphan, r.Torn)] += r.Weight
		}
		return m
	}
	want := count()
	s.Bound(400_000)
	if n := len(s.Records); n > all*2/3 || n < all/20 {
		t.Fatalf("%d of %d records kept", n, all)
	}
	s.weigh()
	if got := count(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Where a few of each of very many latencies are too many, strata are wider, to
// the widest.
func TestStrataWiden(t *testing.T) {
	for l, was := level(1), level(0); l <= lastLevel; l, was = l+1, l {
		if l.m() > was.m() || l.shift() < was.shift() || l.m() == was.m() && l.shift() == was.shift() {
			t.Errorf("level %d: m %d, shift %d after m %d, shift %d", l, l.m(), l.shift(), was.m(), was.shift())
		}
	}
	if lastLevel.m() != 1 || graph.Bin(math.MaxInt64)>>lastLevel.shift() != 0 {
		t.Errorf("the last level keeps %d of each of several strata", lastLevel.m())
	}
	build := func() *Summary {
		return requests(4000, func(i int) (int64, int64, []string) {
			return int64(1000 * math.Exp(float64(i)/200)), graph.OneRequest, nil
		})
	}
	s := build()
	one := recordBytes(s.Records[0])
	for _, n := range []int64{3000, 400, 100, 20, 9} { // 8 are of the shape
		s.Bound(n * one)
		if got := int64(len(s.Records)); got > n || got < n/4 {
			t.Errorf("%d records kept of %d that fit", got, n)
		}
		at := build()
		at.Bound(n * one)
		if !bytes.Equal(Encode([]*Summary{s}), Encode([]*Summary{at})) {
			t.Errorf("bounded step by step to %d records it is another sample than at once", n)
		}
	}
}

// What a bound leaves fits into it, also the texts.
func TestBoundHolds(t *testing.T) {
	s := New()
	for part := range 8 {
		p := requests(5000, func(i int) (int64, int64, []string) {
			return int64(1e6 * math.Exp(float64(i%300)/50)), graph.OneRequest, nil
		})
		for i, r := range p.Records {
			r.TraceID[0] = byte(part + 1)
			id := fmt.Appendf(nil, "order %d of part %d, and more of the kind that nobody else has", i, part)
			r.Attrs = append(r.Attrs, trace.Attr{Key: p.Dict.InternString("order.id"), Value: p.Dict.Value(trace.RawValue{Type: trace.String, Bytes: id})})
		}
		s.Merge(p)
		s.Bound(500_000)
		var sum int64
		for _, r := range s.Records {
			sum += recordBytes(r)
		}
		if sum > 500_000 || s.Dict.Bytes() > 2_500_000 {
			t.Fatalf("part %d: %d records of %d bytes with %d bytes of texts", part, len(s.Records), sum, s.Dict.Bytes())
		}
	}
	if len(s.Records) < 500 {
		t.Errorf("%d records kept", len(s.Records))
	}
}
