package queuewait

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

const msNS = 1_000_000

// A shop is 700 calls in 14 s from two caller instances to one callee, each held
// 30 ms, behind a limit of the caller's (a pool of each instance) or of the
// callee's (an executor for all). Times are drawn by a queue run by hand here.
func shop(t *testing.T, pool, executor int) *Data {
	t.Helper()
	return shopOf(t, 2, pool, executor, func(*rand.Rand) int64 { return 0 })
}

// shopOf is the same with other callers, and a delay with which a queue goes on after a place is free.
func shopOf(t *testing.T, callers, pool, executor int, wake func(*rand.Rand) int64) *Data {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	type call struct {
		caller int
		at     int64
	}
	var calls []call
	at := int64(0)
	for range 700 {
		at += int64(rng.ExpFloat64() * 20 * msNS)
		calls = append(calls, call{caller: rng.IntN(callers), at: at})
	}
	free := [2][]int64{make([]int64, pool), make([]int64, pool)}
	server := make([]int64, executor)
	earliest := func(list []int64) int {
		best := 0
		for i := range list {
			if list[i] < list[best] {
				best = i
			}
		}
		return best
	}
	s := trace.NewStore(trace.NewTables())
	for i := range calls {
		c := &calls[i]
		p := earliest(free[c.caller])
		sent := max(c.at, free[c.caller][p])
		if sent > c.at {
			sent += wake(rng)
		}
		e := earliest(server)
		begun := max(sent+200_000, server[e])
		if begun > sent+200_000 {
			begun += wake(rng)
		}
		ended := begun + 20*msNS + rng.Int64N(20*msNS)
		done := ended + 200_000
		server[e], free[c.caller][p] = ended, done
		add(t, s, i+1, c.at, c.caller, begun, ended, done)
	}
	return data(s)
}

func add(t *testing.T, s *trace.Store, n int, at int64, caller int, begun, ended, done int64) {
	t.Helper()
	host := fmt.Sprintf("f%d", caller)
	text := fmt.Sprintf("front GET %d..%dns server host=%s\n  front quote %d..%dns client host=%s\n    back quote %d..%dns server host=b\n", at, done+msNS, host, at, done, host, begun, ended)
	if err := tracetest.Add(s, text, n); err != nil {
		t.Fatal(err)
	}
}

func data(s *trace.Store) *Data {
	d := &Data{Dict: graph.NewDict(), Queues: NewFold()}
	fold := graph.NewFold()
	f := &graph.Folder{Fold: fold, Dict: d.Dict}
	b := graph.NewBuilder(d.Dict, s, func(*trace.Store, trace.SpanRef, bool) graph.Judgement {
		return graph.Judgement{Weight: graph.OneRequest}
	})
	var tree graph.Tree
	graph.Group(s, func(id trace.TraceID, refs []trace.SpanRef) {
		tree.Build(s, id, refs)
		b.Records(&tree, func(r *graph.Record, _ []graph.Refs) {
			d.Records = append(d.Records, r)
			f.Add(r)
			d.Queues.Add(r)
		})
	})
	d.Verdicts = graph.NewVerdicts(d.Dict, fold, graph.SolveClocks(fold))
	return d
}

func floorsOf(d *Data) *Floors {
	return NewFloors(d.Queues)
}

// verdict is that on the edge between client and server span.
func verdict(t *testing.T, d *Data) *Verdict {
	t.Helper()
	for _, v := range NewOwners([2]*Data{nil, d}, floorsOf(d)).All() {
		if v.Key.Site == Between {
			return v
		}
	}
	t.Fatal("no edge")
	return nil
}

func TestAPoolOfTheCallerIsClientWait(t *testing.T) {
	v := verdict(t, shop(t, 1, 50))
	if v.Owner != ClientWait {
		t.Errorf("owner %s: %+v", v.Owner, v.Tests)
	}
	if v.Sides[1].Limit != 1 {
		t.Errorf("a limit of %d, want 1", v.Sides[1].Limit)
	}
}

func TestAnExecutorOfTheCalleeIsServerQueue(t *testing.T) {
	v := verdict(t, shop(t, 50, 2))
	if v.Owner != ServerQueue {
		t.Errorf("owner %s: %+v", v.Owner, v.Tests)
	}
	if v.Sides[1].Limit != 2 {
		t.Errorf("a limit of %d, want 2", v.Sides[1].Limit)
	}
}

// With one process at either end each call lets go of a place at both; how soon the callee is busy again tells whose
// queue it was, as long as who waits is quicker than the way.
func TestOneCallerAndOneCallee(t *testing.T) {
	quick := func(rng *rand.Rand) int64 { return rng.Int64N(100_000) }
	for _, x := range []struct {
		name           string
		pool, executor int
		wake           func(*rand.Rand) int64
		want           Owner
	}{
		{"a pool of the caller", 3, 100, quick, ClientWait},
		{"an executor of the callee", 100, 3, quick, ServerQueue},
		{"an executor whose workers wake up late", 100, 3, func(rng *rand.Rand) int64 { return 900_000 + rng.Int64N(100_000) }, NoOwner},
	} {
		d := shopOf(t, 1, x.pool, x.executor, x.wake)
		v := verdict(t, d)
		if v.Owner != x.want {
			t.Errorf("%s: %s; %+v", x.name, v.Owner, v.Tests)
		}
	}
}

// The look-alike: gaps that vary without a queue. Nobody owns them.
func TestNoQueueHasNoOwner(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s := trace.NewStore(trace.NewTables())
	at := int64(0)
	for i := range 600 {
		at += int64(rng.ExpFloat64() * 25 * msNS)
		begun := at + 200_000 + int64(rng.ExpFloat64()*8*msNS)
		ended := begun + 10*msNS
		add(t, s, i+1, at, rng.IntN(2), begun, ended, ended+200_000)
	}
	if v := verdict(t, data(s)); v.Owner != NoOwner {
		t.Errorf("owner %s: %+v", v.Owner, v.Tests)
	}
}

// A gap before a client span is the caller's own time unless a pool's metrics
// say as much: 20 requests with a lead of 420 ms, and a pool whose waits are
// 410 ms, or 0.2 ms.
func TestPoolMetricsDecideALead(t *testing.T) {
	s := trace.NewStore(trace.NewTables())
	for i := range 20 {
		lead := 420
		if i == 0 {
			lead = 10
		}
		text := fmt.Sprintf("shop report %d..%dms server\n  shop SELECT %d..%dms client db.system=pg\n", 1000*i, 1000*i+lead+80, 1000*i+lead, 1000*i+lead+60)
		if err := tracetest.Add(s, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		waitMS float64
		want   Owner
	}{{390, ClientWait}, {0.2, Own}} {
		d := data(s)
		p := metric.PoolView{Service: "shop", Kind: metric.ConnectionPool, Name: "main"}
		p.Wait.Count, p.Wait.MeanMS = 20, c.waitMS
		d.Pools = []metric.PoolView{p}
		found := false
		for _, v := range NewOwners([2]*Data{nil, d}, floorsOf(d)).All() {
			if v.Key.Site == Lead {
				found = true
				if v.Owner != c.want {
					t.Errorf("waits of %g ms: owner %s, want %s: %+v", c.waitMS, v.Owner, c.want, v.Tests)
				}
			}
		}
		if !found {
			t.Error("no lead")
		}
	}
}

// Spans that say where they waited are believed before all other tests: a cold
// start of the callee, an event at the caller. A cold start that explains little
// of the waits decides nothing.
func TestWhatSpansSayDecides(t *testing.T) {
	for _, c := range []struct {
		client, server string
		every          int
		want           Owner
	}{
		{"", "faas.coldstart=true", 1, ServerQueue},
		{"event=GetConn@%dns event=GotConn@%dns", "", 1, ClientWait},
		{"", "faas.coldstart=true", 4, NoOwner},
	} {
		s := trace.NewStore(trace.NewTables())
		for i := range 40 {
			at, client, server := int64(i)*1000*msNS, "", ""
			begun := at + msNS
			if i%2 == 0 {
				begun = at + 200*msNS
				if i/2%c.every == 0 {
					client, server = c.client, c.server
					if client != "" {
						client = fmt.Sprintf(client, at, begun-msNS)
					}
				}
			}
			text := fmt.Sprintf("front GET %d..%dns server host=f\n  front quote %d..%dns client host=f %s\n    back quote %d..%dns server host=b %s\n", at, begun+30*msNS, at, begun+21*msNS, client, begun, begun+20*msNS, server)
			if err := tracetest.Add(s, text, i+1); err != nil {
				t.Fatal(err)
			}
		}
		if v := verdict(t, data(s)); v.Owner != c.want {
			t.Errorf("%s%s on every %d: owner %s, want %s: %+v", c.client, c.server, c.every, v.Owner, c.want, v.Tests)
		}
	}
}
