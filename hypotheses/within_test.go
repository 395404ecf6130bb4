package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

// A bureau answers requests of one process, whose spans begin when they come in. Its work takes 10 to 30 ms times factor, of which
// the last half is a query, and begins when one of so many workers is free; places 0 is enough. A part of it may be done one at a
// time, under a lock.
type bureau struct {
	places int
	gap    float64 // ms between requests on average
	factor float64
	locked float64
	calls  bool
}

func (s bureau) draw(seed uint64) string {
	rng, comes := rand.New(rand.NewPCG(seed, 11)), rand.New(rand.NewPCG(seed/2, 12)) // both sides of a seed are asked as often
	var b strings.Builder
	free := make([]int64, max(s.places, 1))
	at, lock := int64(0), int64(0)
	for range 1500 {
		at += int64(comes.ExpFloat64() * s.gap * 1e6)
		p := 0
		for i := range free {
			if free[i] < free[p] {
				p = i
			}
		}
		begun := at
		if s.places > 0 {
			begun = max(at, free[p])
		}
		work := int64((10 + 20*rng.Float64()) * 1e6 * s.factor)
		end := begun + work
		if s.locked > 0 {
			part := int64(s.locked * float64(work))
			lock = max(lock, end-part) + part
			end = lock
		}
		free[p] = end
		fmt.Fprintf(&b, "desk POST_/x %d..%dns server resource.service.instance.id=d\n", at, end)
		if s.calls {
			fmt.Fprintf(&b, "  desk SELECT %d..%dns client db.system=pg peer.service=db resource.service.instance.id=d\n", begun+work/2, end-1000)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A wait for a worker within a span is told from its work, whatever made it: fewer workers, more requests, or work that holds
// them for longer, which is the cause then and the wait its consequence. What takes longer by itself, or under a lock, waits for none.
func TestWaitsWithinSpansAreToldFromWork(t *testing.T) {
	for _, x := range []struct {
		name    string
		was, is bureau
		kind    string
		within  bool
	}{
		{"fewer workers", bureau{4, 16, 1, 0, true}, bureau{2, 16, 1, 0, true}, "server-queue", true},
		{"fewer workers, no calls", bureau{5, 13, 1, 0, false}, bureau{2, 13, 1, 0, false}, "server-queue", true},
		{"more requests", bureau{2, 30, 1, 0, true}, bureau{2, 12.5, 1, 0, true}, "load", true},
		{"more requests, no calls", bureau{2, 30, 1, 0, false}, bureau{2, 12.5, 1, 0, false}, "load", true},
		{"longer work fills the workers", bureau{2, 20, 1, 0, false}, bureau{2, 20, 1.7, 0, false}, "service-time", true},
		{"longer work", bureau{0, 20, 1, 0, false}, bureau{0, 20, 1.7, 0, false}, "service-time", false},
		{"a lock around a half", bureau{0, 16, 1, 0, false}, bureau{0, 16, 1, 0.5, false}, "contention", false},
	} {
		for seed := range uint64(3) {
			c, r := comparedOf(t, graph.OneRequest, x.was.draw(2*seed), x.is.draw(2*seed+1))
			f := first(t, r)
			if f.Kind != x.kind || f.Service != "desk" {
				t.Errorf("%s, seed %d: %q: %s", x.name, seed, kinds(r), f.Claim)
			}
			within := false
			for _, v := range c.Sides[summary.Current].Set.Calibration.Owners.All() {
				within = within || v.Key.Site == queuewait.Accepted
			}
			if within != x.within {
				t.Errorf("%s, seed %d: a queue within spans: %v", x.name, seed, within)
			}
		}
	}
}

// More workers are tried on what was recorded.
func TestReplayWithMoreWorkers(t *testing.T) {
	for _, calls := range []bool{false, true} {
		text := bureau{1, 28, 1, 0, calls}.draw(3)
		n := atBureau(t, text, 2)
		if want := median(t, atBureau(t, bureau{2, 28, 1, 0, calls}.draw(3), 0)); !near(median(t, n), want, 0.02*want) {
			t.Errorf("calls %v: the median is %.1f ms, want %.1f", calls, median(t, n), want)
		}
	}
}

// atBureau replays a bureau with so many workers; 0: as it is.
func atBureau(t *testing.T, text string, workers int) *Replayed {
	t.Helper()
	w := WhatIf{Rate: 1}
	if workers > 0 {
		w = WhatIf{Pools: []PoolSize{{Name: "desk", N: workers}}}
	}
	r, err := single(t, text).Replay(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
