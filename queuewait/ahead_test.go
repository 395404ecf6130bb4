package queuewait

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A counter is callers that work, call a desk and end; nobody records client spans. Lengths are in ms.
type counter struct {
	callers, desks int
	pool, executor int // of each caller, and of each desk; 0: no limit
	loop           int // requests come when one of so many has been answered, instead of by chance
	gap            float64
	own, work, way float64   // means: before the call, at the desk, and there as well as back
	varied         float64   // by how much of it own work differs at the most
	ahead          []float64 // by how much each desk's clock is ahead
	calls          int
	oneAtATime     bool // the caller's own work
}

// draw runs it by hand, and says how long calls waited on average.
func (x counter) draw(t *testing.T, seed uint64) (d *Data, waited float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 6))
	n := cmp.Or(x.calls, 1500)
	type visit struct {
		at, asked, begun, ended int64
		caller, desk            int
	}
	around := func(mean, by float64) int64 { return int64(mean * (1 - by + 2*by*rng.Float64()) * msNS) }
	visits := make([]visit, n)
	at := int64(0)
	busy := make([]int64, x.callers)
	ready := make([]int64, x.loop) // when each of a closed loop comes again
	places := func(n, k int) [][]int64 {
		out := make([][]int64, n)
		for i := range out {
			out[i] = make([]int64, cmp.Or(k, 300))
		}
		return out
	}
	pools, workers := places(x.callers, x.pool), places(x.desks, x.executor)
	first := func(list []int64) int { return slices.Index(list, slices.Min(list)) }
	serve := func(v *visit) (ended int64) {
		p := first(pools[v.caller])
		sent := max(v.asked, pools[v.caller][p])
		came := sent + around(x.way, 0.3)
		w := first(workers[v.desk])
		v.begun = max(came, workers[v.desk][w])
		waited += float64(sent-v.asked+v.begun-came) / float64(n)
		v.ended = v.begun + around(x.work, 0.5)
		workers[v.desk][w] = v.ended + 50_000
		ended = v.ended + around(x.way, 0.3)
		pools[v.caller][p] = ended
		return ended
	}
	for i := range visits {
		v := &visits[i]
		if x.loop == 0 {
			at += int64(rng.ExpFloat64() * x.gap * msNS)
			v.at = at
		}
		v.caller, v.desk = rng.IntN(x.callers), rng.IntN(x.desks)
		if x.loop > 0 {
			k := first(ready)
			v.at = ready[k] + msNS/2
			v.asked = v.at + around(x.own, x.varied)
			ready[k] = serve(v)
			continue
		}
		v.asked = v.at + around(x.own, x.varied)
		if x.oneAtATime {
			v.asked += max(0, busy[v.caller]-v.at)
			busy[v.caller] = v.asked
		}
	}
	if x.loop == 0 {
		slices.SortFunc(visits, func(a, b visit) int { return cmp.Compare(a.asked, b.asked) })
		for i := range visits {
			serve(&visits[i])
		}
	}
	s := trace.NewStore(trace.NewTables())
	for i, v := range visits {
		ahead := int64(0)
		if len(x.ahead) > 0 {
			ahead = int64(x.ahead[v.desk] * msNS)
		}
		text := fmt.Sprintf("front GET %d..%dns server host=f%d\n  desk ask %d..%dns server host=d%d\n", v.at, v.ended+2*msNS, v.caller, v.begun+ahead, v.ended+ahead, v.desk)
		if err := tracetest.Add(s, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	return data(s), waited
}

// ahead is the verdict on what comes before server spans that have no client spans.
func ahead(t *testing.T, d *Data) *Verdict {
	t.Helper()
	for _, v := range NewOwners([2]*Data{nil, d}, floorsOf(d)).All() {
		if v.Key.Site == Ahead {
			return v
		}
	}
	t.Fatal("nothing comes before a server span")
	return nil
}

// A queue before server spans shows without client spans by the limit that calls keep to, and whose it is by who lets go:
// a connection of the caller wherever it was used, a worker of the callee whoever called. Between two processes nothing tells.
func TestQueuesShowWithoutClientSpans(t *testing.T) {
	for _, x := range []struct {
		name string
		counter
		want  Owner
		limit int
	}{
		{"a pool of each of two callers, two desks", counter{callers: 2, desks: 2, pool: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5}, ClientWait, 2},
		{"a pool of one caller, two desks", counter{callers: 1, desks: 2, pool: 3, gap: 12, own: 8, varied: 0.8, work: 30, way: 0.5}, ClientWait, 3},
		{"a pool of each of two callers, one desk", counter{callers: 2, desks: 1, pool: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5}, ClientWait, 2},
		{"workers of each of two desks, two callers", counter{callers: 2, desks: 2, executor: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5}, ServerQueue, 2},
		{"workers of two desks, one caller", counter{callers: 1, desks: 2, executor: 1, gap: 20, own: 8, varied: 0.8, work: 28, way: 0.5}, ServerQueue, 1},
		{"workers of one desk, two callers", counter{callers: 2, desks: 1, executor: 3, gap: 12, own: 8, varied: 0.8, work: 30, way: 0.5}, ServerQueue, 3},
		{"a pool, of one caller to one desk", counter{callers: 1, desks: 1, pool: 2, gap: 18, own: 8, varied: 0.8, work: 28, way: 0.5}, NoOwner, 2},
		{"workers, of one desk for one caller", counter{callers: 1, desks: 1, executor: 2, gap: 18, own: 8, varied: 0.8, work: 28, way: 0.5}, NoOwner, 2},
		{"a pool, and desks whose clocks differ", counter{callers: 2, desks: 3, pool: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5, ahead: []float64{0, 1.5, -1.5}}, ClientWait, 2},
		{"workers, and desks whose clocks differ", counter{callers: 2, desks: 2, executor: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5, ahead: []float64{1.5, -3}}, ServerQueue, 2},
	} {
		for seed := range uint64(3) {
			d, waited := x.draw(t, seed)
			v := ahead(t, d)
			if v.Owner != x.want || !v.Queued() {
				t.Errorf("%s, seed %d: owner %s, want %s: %+v", x.name, seed, v.Owner, x.want, v.Tests)
				continue
			}
			s := v.Sides[1]
			if s.Limit != x.limit {
				t.Errorf("%s, seed %d: a limit of %d, want %d", x.name, seed, s.Limit, x.limit)
			}
			if math.Abs(s.Wait-waited) > 0.2*waited {
				t.Errorf("%s, seed %d: calls wait %.2f ms on average, want %.2f", x.name, seed, s.Wait/1e6, waited/1e6)
			}
		}
	}
}

// What looks like a queue before server spans and is none: a caller that works for longer, whatever its work depends on; a
// longer way; a desk that takes its time for any number of calls at once; callers that come when they have been answered.
func TestNoQueueWithoutClientSpans(t *testing.T) {
	for _, x := range []struct {
		name string
		counter
	}{
		{"a caller that works longer", counter{callers: 2, desks: 2, gap: 10, own: 60, varied: 0.9, work: 20, way: 0.5}},
		{"the same, seldom", counter{callers: 1, desks: 1, gap: 100, own: 60, varied: 0.9, work: 20, way: 0.5}},
		{"a caller that does its own work one at a time", counter{callers: 2, desks: 2, gap: 12, own: 18, varied: 0.5, work: 28, way: 0.5, oneAtATime: true}},
		{"a longer way", counter{callers: 2, desks: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 25}},
		{"a slow desk", counter{callers: 2, desks: 2, gap: 9, own: 8, varied: 0.8, work: 90, way: 0.5}},
		{"desks whose clocks differ much", counter{callers: 2, desks: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5, ahead: []float64{40, -8}}},
		{"a quick desk", counter{callers: 2, desks: 2, gap: 9, own: 12, varied: 0.8, work: 2, way: 0.5}},
		{"four that come again when they are answered", counter{callers: 1, desks: 1, loop: 4, own: 12, varied: 0.8, work: 30, way: 0.5}},
		{"the same, with little to do for the caller", counter{callers: 2, desks: 2, loop: 6, own: 3, varied: 0.9, work: 30, way: 0.5}},
	} {
		for seed := range uint64(3) {
			d, _ := x.draw(t, seed)
			if v := ahead(t, d); v.Queued() {
				t.Errorf("%s, seed %d: owner %s, a limit of %d: %+v", x.name, seed, v.Owner, v.Sides[1].Limit, v.Tests)
			}
		}
	}
}

// Two calls of each request at once: one often begins shortly after the other has ended, request for request, without having
// waited for it.
func TestCallsAtOnceLetNobodyGo(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s := trace.NewStore(trace.NewTables())
		at := int64(0)
		for i := range 1500 {
			at += int64(rng.ExpFloat64() * 60 * msNS)
			asked := at + 2*msNS
			if rng.IntN(3) == 0 {
				asked += rng.Int64N(40 * msNS)
			}
			text, last := "", int64(0)
			for n, op := range []string{"ask", "tell"} {
				begun := asked + int64(10+6*n)*msNS + rng.Int64N(3*msNS)
				ended := begun + 4*msNS + rng.Int64N(2*msNS)
				last = max(last, ended)
				text += fmt.Sprintf("  desk %s %d..%dns server host=d%d\n", op, begun, ended, rng.IntN(2))
			}
			if err := tracetest.Add(s, fmt.Sprintf("front GET %d..%dns server host=f\n%s", at, last+12*msNS, text), i+1); err != nil {
				t.Fatal(err)
			}
		}
		if v := ahead(t, data(s)); v.Queued() {
			t.Errorf("seed %d: owner %s, a limit of %d: %+v", seed, v.Owner, v.Sides[1].Limit, v.Tests)
		}
	}
}

// Of sampled calls no limit is known. Who let go tells all the same, of as many as are seen to, and looks-alike stay silent.
func TestSampledQueuesWithoutClientSpans(t *testing.T) {
	pool := counter{callers: 2, desks: 2, pool: 2, gap: 9, own: 3, varied: 0.3, work: 28, way: 0.5, calls: 4000}
	staff := counter{callers: 2, desks: 2, executor: 2, gap: 9, own: 3, varied: 0.3, work: 28, way: 0.5, calls: 4000}
	for _, x := range []struct {
		name string
		counter
		want Owner
	}{
		{"a pool", pool, ClientWait},
		{"workers", staff, ServerQueue},
		{"a caller that works longer", counter{callers: 2, desks: 2, gap: 10, own: 60, varied: 0.9, work: 20, way: 0.5, calls: 4000}, Own},
		{"a longer way", counter{callers: 2, desks: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 25, calls: 4000}, Own},
		{"desks whose clocks differ much", counter{callers: 2, desks: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5, ahead: []float64{40, -8}, calls: 4000}, Own},
	} {
		for seed := range uint64(3) {
			d, waited := x.draw(t, seed)
			kept := d.Records[:0]
			for i, r := range d.Records {
				if mix(uint64(i))%5 < 2 {
					r.Weight = graph.OneRequest * 5 / 2
					kept = append(kept, r)
				}
			}
			d.Records, d.Sampled = kept, true
			v := ahead(t, d)
			if v.Owner != x.want || v.Sides[1].Limit != 0 {
				t.Errorf("%s, seed %d: owner %s, a limit of %d: %+v", x.name, seed, v.Owner, v.Sides[1].Limit, v.Tests)
			}
			if v.Queued() && v.Sides[1].Wait < 0.8*waited {
				t.Errorf("%s, seed %d: calls wait %.2f ms on average, want %.2f at least", x.name, seed, v.Sides[1].Wait/1e6, waited/1e6)
			}
		}
	}
}

// Requests in any order say the same, to the byte.
func TestOrderOfRequestsWithoutClientSpans(t *testing.T) {
	for _, x := range []counter{
		{callers: 2, desks: 3, pool: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5, ahead: []float64{0, 1.5, -1.5}},
		{callers: 2, desks: 2, executor: 2, gap: 9, own: 8, varied: 0.8, work: 28, way: 0.5},
	} {
		d, _ := x.draw(t, 4)
		say := func() string {
			v := ahead(t, d)
			side := *v.Sides[1]
			side.Full, side.Pool = nil, nil // where they are in memory
			return fmt.Sprintf("%s %+v %+v %d", v.Owner, v.Tests, side, v.WakeUp)
		}
		want := say()
		slices.Reverse(d.Records)
		if got := say(); got != want {
			t.Errorf("%s\nin another order %s", want, got)
		}
	}
}
