package queuewait

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A visit is a request at a desk whose span begins when it comes in. before is its own time until its first call, or all
// of it if it makes none, and after what follows.
type visit struct {
	at, before, after int64
	given, ended      int64 // filled by how the desk works
}

// visits come by chance, every gap ms on average.
func visits(seed uint64, n int, gap float64, own func(*rand.Rand) (before, after int64)) []visit {
	rng := rand.New(rand.NewPCG(seed, 5))
	var out []visit
	at := int64(0)
	for range n {
		at += int64(rng.ExpFloat64() * gap * msNS)
		b, a := own(rng)
		out = append(out, visit{at: at, before: b, after: a})
	}
	return out
}

// workers serve in order.
func workers(k int) func([]visit) { return drowsy(k, 0) }

// drowsy ones take a while to go on.
func drowsy(k int, wake int64) func([]visit) {
	return func(list []visit) {
		free := make([]int64, k)
		for i := range list {
			v := &list[i]
			p := 0
			for j := range free {
				if free[j] < free[p] {
					p = j
				}
			}
			v.given = v.at
			if free[p] > v.at {
				v.given = free[p] + wake
			}
			v.ended = v.given + v.before + v.after
			free[p] = v.ended
		}
	}
}

// locked works for a part at once and for the rest one by one.
func locked(part float64) func([]visit) {
	return func(list []visit) {
		free := int64(0)
		for i := range list {
			v := &list[i]
			v.given = v.at
			all := v.before + v.after
			alone := int64(part * float64(all))
			got := max(v.at+all-alone, free)
			free = got + alone
			v.ended = free
		}
	}
}

// shared lets all work at once, each by an equal share of some CPUs.
func shared(cpus float64) func([]visit) {
	return func(list []visit) {
		left := map[int]float64{}
		now := 0.0
		next := 0
		for next < len(list) || len(left) > 0 {
			speed := min(1, cpus/float64(max(len(left), 1)))
			first, at := -1, 0.0
			for i, x := range left {
				if t := now + x/speed; first < 0 || t < at || t == at && i < first {
					first, at = i, t
				}
			}
			if next < len(list) && (first < 0 || float64(list[next].at) <= at) {
				first, at = -1, float64(list[next].at)
			}
			for i := range left {
				left[i] -= (at - now) * speed
			}
			now = at
			if first >= 0 {
				delete(left, first)
				list[first].ended = int64(at)
				continue
			}
			v := &list[next]
			v.given = v.at
			left[next] = float64(v.before + v.after)
			next++
		}
	}
}

// desk is what two processes record of visits, each of which takes turns with the other.
func desk(t *testing.T, list []visit, works func([]visit), calls bool, also ...func(*trace.Store)) *Data {
	t.Helper()
	s := trace.NewStore(trace.NewTables())
	var halves [2][]visit
	for i, v := range list {
		halves[i%2] = append(halves[i%2], v)
	}
	n := 0
	for h := range halves {
		works(halves[h])
		for _, v := range halves[h] {
			n++
			text := fmt.Sprintf("desk POST %d..%dns server host=d%d\n", v.at, v.ended, h)
			if calls {
				text += fmt.Sprintf("  desk SELECT %d..%dns client host=d%d db.system=pg server.address=files\n", v.given+v.before, v.ended-v.after/4, h)
			}
			if err := tracetest.Add(s, text, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range also {
		f(s)
	}
	return data(s)
}

// acceptedOf is the verdict on the desk's requests, with the sum of their waits.
func acceptedOf(was, is *Data) (v *Verdict, sum float64) {
	floors := floorsOf(is)
	o := NewOwners([2]*Data{was, is}, floors)
	for _, r := range is.Records {
		c := &r.Calls[0]
		if x := o.Of(c, Accepted); x != nil {
			v = x
			wait, _, _ := v.Accepted(1, c)
			sum += float64(wait)
		}
	}
	return v, sum
}

func between(lo, hi int64) func(*rand.Rand) (int64, int64) {
	return func(r *rand.Rand) (int64, int64) {
		all := (lo + r.Int64N(hi-lo)) * msNS
		return all / 4, all - all/4
	}
}

// skewed is work of which some takes ten times as long.
func skewed(r *rand.Rand) (int64, int64) {
	all := int64((5 + r.ExpFloat64()*12) * msNS)
	return all / 10, all - all/10
}

// waited is the true waits at a desk, in all.
func waited(list []visit, works func([]visit)) (sum float64) {
	for h := range 2 {
		var half []visit
		for i := h; i < len(list); i += 2 {
			half = append(half, list[i])
		}
		works(half)
		for _, x := range half {
			sum += float64(x.given - x.at)
		}
	}
	return sum
}

func TestWorkersThatTakeTurnsTellWaitsWithinSpans(t *testing.T) {
	for _, calls := range []bool{false, true} {
		for _, k := range []int{1, 2, 4, 9} {
			for name, own := range map[string]func(*rand.Rand) (int64, int64){"even": between(20, 40), "skewed": skewed} {
				list := visits(uint64(k), 3000, 30/float64(2*k)/0.85, own)
				if name == "skewed" {
					list = visits(uint64(k), 3000, 17/float64(2*k)/0.85, own)
				}
				d := desk(t, list, workers(k), calls)
				v, sum := acceptedOf(nil, d)
				if v == nil || v.Owner != ServerQueue || v.Sides[1].Limit != k {
					t.Errorf("%s, %d workers, calls %v: %+v", name, k, calls, v)
					continue
				}
				if want := waited(list, workers(k)); sum < 0.999*want || sum > 1.001*want {
					t.Errorf("%s, %d workers, calls %v: waits of %.0f ms, want %.0f", name, k, calls, sum/1e6, want/1e6)
				}
			}
		}
	}
}

// passed lets one in some that come while all workers are busy be answered at once, by none of them.
func passed(k, every int) func([]visit) {
	return func(list []visit) {
		free := make([]int64, k)
		n := 0
		for i := range list {
			v := &list[i]
			p := slices.Index(free, slices.Min(free))
			if free[p] > v.at {
				if n++; n%every == 0 {
					v.given, v.before, v.after = v.at, msNS/2, msNS/2
					v.ended = v.at + msNS
					continue
				}
			}
			v.given = max(v.at, free[p])
			v.ended = v.given + v.before + v.after
			free[p] = v.ended
		}
	}
}

// Workers that take requests in turn leave none that is answered before its turn. A few may be another kind, answered
// by nobody; where more are, it is no number of workers, though the others wait as for one.
func TestRequestsAnsweredBeforeTheirTurn(t *testing.T) {
	for _, x := range []struct {
		every int
		told  bool
	}{{60, true}, {6, false}} {
		for seed := range uint64(3) {
			list := visits(seed, 400, 9, between(20, 40))
			v, _ := acceptedOf(nil, desk(t, list, passed(2, x.every), true))
			if told := v != nil && v.Sides[1].Limit == 2; told != x.told {
				t.Errorf("seed %d, one in %d answered at once: %+v", seed, x.every, v)
			}
		}
	}
}

// Calls show when a worker goes on, also one that takes a while for it.
func TestDrowsyWorkers(t *testing.T) {
	list := visits(6, 3000, 9, between(20, 40))
	works := drowsy(2, 3*msNS)
	v, sum := acceptedOf(nil, desk(t, list, works, true))
	if v == nil || v.Sides[1].Limit != 2 || v.WakeUp < 2.7*msNS || v.WakeUp > 3.3*msNS {
		t.Fatalf("%d workers, %d ns, %s", v.Sides[1].Limit, v.WakeUp, v.Tests[0].Statement)
	}
	if want := waited(list, works); sum < 0.99*want || sum > 1.01*want {
		t.Errorf("waits of %.0f ms, want %.0f", sum/1e6, want/1e6)
	}
}

// What is a worker's for one operation is told beside others that have none, and a set in which few wait has as many as the
// other.
func TestOneOperationMayHaveWorkersOfItsOwn(t *testing.T) {
	busy, calm := visits(3, 2000, 8, between(20, 40)), visits(4, 2000, 60, between(20, 40))
	also := func(s *trace.Store) {
		for i, v := range visits(5, 2000, 10, skewed) {
			text := fmt.Sprintf("desk GET %d..%dns server host=d%d\n", v.at, v.at+v.before+v.after, i%2)
			if err := tracetest.Add(s, text, 10_000+i); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, sum := acceptedOf(desk(t, calm, workers(2), true, also), desk(t, busy, workers(2), true, also))
	if v == nil || v.Sides[0].Limit != 2 || v.Sides[1].Limit != 2 {
		t.Fatalf("%+v", v)
	}
	if want := waited(busy, workers(2)); sum < 0.99*want || sum > 1.01*want {
		t.Errorf("waits of %.0f ms, want %.0f", sum/1e6, want/1e6)
	}
	if m := v.Model; !m.OK || m.ArrivalShare() < 0.9 {
		t.Errorf("%+v", m)
	}
}

// Nothing else that takes longer with more at once looks like workers that take turns.
func TestOtherCrowdsAreNoWorkers(t *testing.T) {
	for name, works := range map[string]func([]visit){
		"nobody waits":             workers(1000),
		"a CPU for all":            shared(1),
		"two CPUs":                 shared(2),
		"half a CPU":               shared(0.5),
		"a lock around a third":    locked(0.33),
		"a lock around a half":     locked(0.5),
		"a lock around two thirds": locked(0.66),
		"the last comes first":     lastFirst(2),
	} {
		for _, calls := range []bool{false, true} {
			for own, f := range map[string]func(*rand.Rand) (int64, int64){"even": between(10, 20), "skewed": skewed} {
				for _, gap := range []float64{4, 9, 12} {
					d := desk(t, visits(uint64(gap), 1600, gap, f), works, calls)
					if v, _ := acceptedOf(nil, d); v != nil {
						t.Errorf("%s, %s, every %g ms, calls %v: %s", name, own, gap, calls, v.Tests[0].Statement)
					}
				}
			}
		}
	}
}

// lastFirst is workers that take who came last.
func lastFirst(k int) func([]visit) {
	return func(list []visit) {
		free := make([]int64, k)
		var open []int
		next := 0
		for next < len(list) || len(open) > 0 {
			p := 0
			for j := range free {
				if free[j] < free[p] {
					p = j
				}
			}
			if len(open) == 0 {
				open = append(open, next)
				next++
			}
			for next < len(list) && list[next].at <= free[p] {
				open = append(open, next)
				next++
			}
			v := &list[open[len(open)-1]]
			open = open[:len(open)-1]
			v.given = max(v.at, free[p])
			v.ended = v.given + v.before + v.after
			free[p] = v.ended
		}
	}
}

// Services of which only servers have spans tell of their workers, too.
func TestWorkersWithoutClientSpans(t *testing.T) {
	list := visits(8, 2000, 20, between(10, 20))
	workers(1)(list)
	s := trace.NewStore(trace.NewTables())
	for i, v := range list {
		text := fmt.Sprintf("hall GET %d..%dns server host=h\n  desk POST %d..%dns server host=d\n", v.at-msNS, v.ended+msNS, v.at, v.ended)
		if err := tracetest.Add(s, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	d := data(s)
	o := NewOwners([2]*Data{nil, d}, floorsOf(d))
	sum := 0.0
	for _, r := range d.Records {
		c := &r.Calls[1]
		wait, _, _ := o.Of(c, Accepted).Accepted(1, c)
		sum += float64(wait)
		if x := o.Of(&r.Calls[0], Accepted); x != nil {
			t.Fatalf("the hall: %s", x.Tests[0].Statement)
		}
	}
	want := 0.0
	for _, v := range list {
		want += float64(v.given - v.at)
	}
	if sum < 0.999*want || sum > 1.001*want {
		t.Errorf("waits of %.0f ms, want %.0f", sum/1e6, want/1e6)
	}
}
