package graph

import (
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// mixed draws requests of two classes: of "batch" a and b are called in turn, of
// "live" at once. In share of the live ones chance has a end before b begins.
func mixed(t *testing.T, batch, live int, share float64) *drawn {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	s := trace.NewStore(trace.NewTables())
	for i := range batch + live {
		at := int64(i) * 1_000_000_000
		a, b := [2]int64{1, 10}, [2]int64{10, 30}
		if i >= batch && rng.Float64() >= share {
			a, b = [2]int64{1, 20}, [2]int64{1, 30}
		}
		one(s, i+1, 1, 0, at, at+32_000_000, trace.KindServer, "root")
		one(s, i+1, 2, 1, at+a[0]*1_000_000, at+a[1]*1_000_000, trace.KindClient, "a")
		one(s, i+1, 3, 1, at+b[0]*1_000_000, at+b[1]*1_000_000, trace.KindClient, "b")
	}
	d := draw(s)
	for _, r := range d.records {
		r.Class = d.dict.InternString("live")
		if r.Start() < tracetest.T0+trace.Time(batch)*1_000_000_000 {
			r.Class = d.dict.InternString("batch")
		}
	}
	d.verdicts.Split(d.records)
	return d
}

// The path of a request in turn leads through both calls, though other requests
// make them at once.
func TestOrdersOfAClass(t *testing.T) {
	for _, c := range []struct {
		name        string
		batch, live int
		share       float64
		through     bool // does the path of a batch request lead through a?
	}{
		{"two classes", 100, 100, 0, true},
		{"a rare class", 30, 2000, 0, true},
		{"one class under two names", 200, 200, 0.9, false},
		{"too few to tell", 10, 400, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mixed(t, c.batch, c.live, c.share)
			if c.name == "one class under two names" { // batch is in turn as often as live is
				rng := rand.New(rand.NewPCG(4, 4))
				for _, r := range d.records {
					r.Class = d.dict.InternString([2]string{"live", "batch"}[rng.IntN(2)])
				}
				d.verdicts = NewVerdicts(d.dict, d.fold, nil)
				d.verdicts.Split(d.records)
			}
			w := &Walker{Dict: d.dict, Verdicts: d.verdicts}
			r := d.records[0]
			w.Walk(r)
			through := false
			for _, p := range w.Path {
				through = through || d.dict.String(d.dict.SlotAt(r.Calls[p.Call].Slot).Shown().Operation) == "a"
			}
			if through != c.through {
				t.Errorf("the path leads through a: %v; %+v", through, w.Path)
			}
			var e Evaluator
			p := w.Plan(r, nil)
			if got := e.Latency(p, p.Values(nil), nil); got != r.Duration() {
				t.Errorf("replaying nothing gives %d of %d", got, r.Duration())
			}
		})
	}
}

// A half may last longer by its slack, and by no more: on any trace.
func TestSlackIsExact(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s := trace.NewStore(trace.NewTables())
		tracetest.Fill(s, tracetest.Random(rng, 40))
		d := draw(s)
		w := &Walker{Dict: d.dict, Verdicts: d.verdicts}
		var e, f Evaluator
		for _, r := range d.records {
			p := w.Plan(r, nil)
			slack := append([]int64(nil), e.Slack(p)...)
			onPath := map[int32]bool{}
			for i, st := range p.Steps {
				if !st.Leave {
					continue
				}
				longer := func(ns int64) int64 {
					v := p.Values(nil)
					v[i] += ns
					return f.Latency(p, v, nil)
				}
				if got := longer(slack[st.Half]); got != r.Duration() {
					t.Fatalf("seed %d: half %d longer by its slack of %d ns: the request lasts %d, not %d", seed, st.Half, slack[st.Half], got, r.Duration())
				}
				if got := longer(slack[st.Half] + 1); got != r.Duration()+1 {
					t.Fatalf("seed %d: half %d longer by more than its slack of %d ns: the request lasts %d, not %d", seed, st.Half, slack[st.Half], got, r.Duration()+1)
				}
				if slack[st.Half] == 0 {
					onPath[st.Half] = true
				}
			}
			if len(onPath) == 0 {
				t.Fatalf("seed %d: no half is without slack", seed)
			}
		}
	}
}
