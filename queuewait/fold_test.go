package queuewait

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// identity translates the codes of n names into themselves.
func identity(n int) *graph.Remap {
	m := &graph.Remap{Remap: &trace.Remap{}}
	for i := range n {
		m.Strings, m.Slots, m.Procs = append(m.Strings, trace.StringID(i)), append(m.Slots, graph.SlotID(i)), append(m.Procs, graph.ProcID(i))
	}
	return m
}

// drawn is requests of one call each, over many seconds.
func drawn(rng *rand.Rand, n int, seconds int64) []*graph.Record {
	out := make([]*graph.Record, n)
	for i := range out {
		from := trace.Time(1_700_000_000*second + rng.Int64N(seconds*second))
		took := trace.Time(rng.Int64N(int64(second) * 3))
		c := graph.Call{Slot: graph.SlotID(rng.IntN(3)), Parent: -1, Len: 1,
			Client: graph.Half{Interval: trace.Interval{Start: from, End: from + took}, Proc: graph.ProcID(rng.IntN(3))}, Work: graph.Half{Proc: graph.NoProc}}
		if rng.IntN(4) > 0 {
			c.Work = graph.Half{Interval: trace.Interval{Start: from + took/4, End: from + took/2}, Proc: graph.ProcID(rng.IntN(3))}
		}
		if rng.IntN(5) == 0 {
			c.ClientEnd = graph.TimedOut
		}
		out[i] = &graph.Record{Calls: []graph.Call{c}, Class: trace.StringID(rng.IntN(3))}
	}
	return out
}

func folded(records []*graph.Record) *Fold {
	f := NewFold()
	for _, r := range records {
		f.Add(r)
	}
	return f
}

// A fold that is bounded while it grows is the one that is bounded at the end, but
// for wider bins, and takes no more than it may.
func TestBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	for _, bytes := range []int64{120_000, 200_000, 500_000} {
		records := drawn(rng, 5000, 3000)
		whole := folded(records)
		before := whole.Bytes()
		whole.Bound(bytes)
		if whole.Bytes() > bytes || before < 2*bytes {
			t.Errorf("%d bytes, bounded by %d: %d", before, bytes, whole.Bytes())
		}
		if n := len(whole.events.list); n == 0 || len(whole.gaps.gaps) == 0 || len(whole.flows) == 0 {
			t.Errorf("bounded by %d bytes there are %d events, %d gaps and %d flows", bytes, n, len(whole.gaps.gaps), len(whole.flows))
		}
		grown := NewFold()
		rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		for i, r := range records {
			grown.Add(r)
			if i%500 == 0 {
				grown.Bound(bytes)
			}
		}
		grown.Bound(bytes)
		if grown.Bytes() > bytes {
			t.Errorf("bounded by %d bytes while it grew it takes %d", bytes, grown.Bytes())
		}
		grown.flows, whole.flows = nil, nil
		if !slices.Equal(grown.AppendBinary(nil), whole.AppendBinary(nil)) {
			t.Errorf("bounded by %d bytes while it grew it is another", bytes)
		}
	}
}

// Beyond their budgets folds keep less, and what they keep does not depend on
// how the data came: parts merged in any order are the whole, to the byte.
func TestPartsAreTheWholeBeyondEveryBudget(t *testing.T) {
	defer func(b struct{ windows, bins, events int }) { budget = b }(budget)
	budget.windows, budget.bins, budget.events = 700, 100, 500
	rng := rand.New(rand.NewPCG(8, 1))
	for range 3 {
		records := drawn(rng, 4000, 3000)
		whole := folded(records)
		if whole.gaps.scale == 0 || whole.events.level == 0 || whole.flows[Place{0, 0, false, 0}].scale == 0 {
			t.Fatalf("some budget is not exceeded: windows %d, events %d, bins %d", whole.gaps.scale, whole.events.level, whole.flows[Place{0, 0, false, 0}].scale)
		}
		want := whole.AppendBinary(nil)
		parts := make([]*Fold, 2+rng.IntN(4))
		for i := range parts {
			var mine []*graph.Record
			for k := i; k < len(records); k += len(parts) {
				mine = append(mine, records[k])
			}
			rng.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			parts[i] = folded(mine)
		}
		rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		merged := NewFold()
		for _, p := range parts {
			merged.Merge(p, identity(3))
		}
		if got := merged.AppendBinary(nil); !bytes.Equal(got, want) {
			t.Fatalf("%d parts give %d bytes, the whole %d", len(parts), len(got), len(want))
		}
	}
}

// What is thinned is thinned by whole seconds: of a second that is kept, every
// call is.
func TestEventsAreThinnedBySeconds(t *testing.T) {
	defer func(b struct{ windows, bins, events int }) { budget = b }(budget)
	budget.events = 2000
	records := drawn(rand.New(rand.NewPCG(8, 2)), 20_000, 500)
	f := folded(records)
	kept, all := map[int64]int{}, map[int64]int{}
	for _, x := range f.events.list {
		kept[int64(x.Client.Start)/second]++
	}
	for _, r := range records {
		all[int64(r.Start())/second]++
	}
	for s, n := range kept {
		if n != all[s] {
			t.Errorf("second %d has %d of %d calls", s, n, all[s])
		}
	}
	if got := float64(len(kept)) / float64(len(all)); got < f.Share()/2 || got > f.Share()*2 {
		t.Errorf("%.3f of the seconds are kept, %.3f are said", got, f.Share())
	}
}

// Time in flight is exact whatever the bins' width: two calls of 30 ms and 2 s
// that begin at 0.1 s, 0.99 s.
func TestSecondsAddUpTheTimeInFlight(t *testing.T) {
	const ms = 1_000_000
	f := flows{}
	place := Place{Proc: 1}
	f.at(place).add(trace.Interval{Start: 100 * ms, End: 130 * ms})
	f.at(place).add(trace.Interval{Start: 990 * ms, End: 2990 * ms})
	for scale := range uint8(7) { // up to 640 ms
		f[place].coarsen(scale)
		s := f.series(func(Place) bool { return true }, 1).Procs[0].Seconds
		var mean, begun float64
		for _, x := range s {
			mean += x.Mean
			begun += x.Begun
		}
		if diff := mean - 2.030; diff > 1e-9 || diff < -1e-9 || begun < 1.999999 || begun > 2.000001 {
			t.Errorf("bins of %d ms: %.6f s in flight and %.3f calls, want 2.03 and 2", f[place].width()/ms, mean, begun)
		}
		if scale == 0 && (len(s) != 3 || !near(s[0].Mean, 0.04) || !near(s[1].Mean, 1) || !near(s[2].Mean, 0.99)) {
			t.Errorf("seconds %v, want 0.04, 1 and 0.99 in flight", s)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A limit of two: three in flight use two.
func TestUsedIsWhatALimitAllows(t *testing.T) {
	f := flows{}
	for range 3 {
		f.at(Place{Proc: 1}).add(trace.Interval{Start: 0, End: second})
	}
	if s := f.series(func(Place) bool { return true }, 2).Procs[0].Seconds; !near(s[0].Mean, 3) || !near(s[0].Used, 2) {
		t.Errorf("%+v, want 3 in flight and 2 used", s[0])
	}
}

func TestDecodeGivesBackTheFold(t *testing.T) {
	d := graph.NewDict()
	for _, name := range []string{"a", "b"} {
		d.InternString(name)
	}
	for i := range 3 {
		d.Proc(graph.Proc{Service: trace.StringID(i)})
		d.Slot(graph.Slot{Parent: graph.NoSlot, Caller: trace.Endpoint{Service: trace.StringID(i)}})
	}
	want := folded(drawn(rand.New(rand.NewPCG(8, 3)), 20, 50)).AppendBinary(nil)
	dec := &graph.Decoder{Bytes: slices.Clone(want)}
	got := DecodeFold(dec, d)
	if dec.Err != nil || len(dec.Bytes) > 0 || !bytes.Equal(got.AppendBinary(nil), want) {
		t.Errorf("decoded with %v, %d bytes left", dec.Err, len(dec.Bytes))
	}
	for cut := range len(want) {
		dec := &graph.Decoder{Bytes: slices.Clone(want[:cut])}
		DecodeFold(dec, d)
		if dec.Err == nil {
			t.Fatalf("read of %d of %d bytes", cut, len(want))
		}
	}
}
