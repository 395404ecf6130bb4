package hypotheses

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A window is callers that work, call a desk and end, of which servers' spans are all that there is. Lengths are in ms.
type window struct {
	callers, desks int
	pool, workers  int // of each caller, and of each desk; 0: enough
	gap            float64
	own, work, way float64
}

func (x window) draw(seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 21))
	type visit struct {
		at, asked, begun, ended float64
		caller, desk            int
	}
	around := func(mean float64) float64 { return mean * (0.4 + 1.2*rng.Float64()) }
	visits := make([]visit, 1500)
	at := float64(seed) * 3_600_000
	for i := range visits {
		at += rng.ExpFloat64() * x.gap
		visits[i] = visit{at: at, asked: at + around(x.own), caller: rng.IntN(x.callers), desk: rng.IntN(x.desks)}
	}
	slices.SortFunc(visits, func(a, b visit) int { return cmp.Compare(a.asked, b.asked) })
	places := func(n, k int) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			out[i] = make([]float64, cmp.Or(k, 200))
		}
		return out
	}
	pools, workers := places(x.callers, x.pool), places(x.desks, x.workers)
	first := func(list []float64) int { return slices.Index(list, slices.Min(list)) }
	var b strings.Builder
	for i := range visits {
		v := &visits[i]
		p := first(pools[v.caller])
		came := max(v.asked, pools[v.caller][p]) + around(x.way)
		w := first(workers[v.desk])
		v.begun = max(came, workers[v.desk][w])
		v.ended = v.begun + around(x.work)
		workers[v.desk][w] = v.ended + 0.05
		back := v.ended + around(x.way)
		pools[v.caller][p] = back
		fmt.Fprintf(&b, "front GET /a %.3f..%.3fms server host=f%d resource.service.instance.id=f%[3]d\n  desk ask %.3f..%.3fms server host=d%d resource.service.instance.id=d%[6]d\n\n", v.at, back+2, v.caller, v.begun, v.ended, v.desk)
	}
	return b.String()
}

// Without client spans a queue before the callee's is a cause where the calls show it, of whoever it is; what holds its places
// for longer is the cause where that is why. A caller that works longer, and a longer way, stay what they were: a weak cause
// that names the client span to record.
func TestQueuesWithoutClientSpansAreCauses(t *testing.T) {
	two := window{callers: 2, desks: 2, gap: 10, own: 8, work: 28, way: 0.5}
	with := func(x window, change func(*window)) window {
		change(&x)
		return x
	}
	pooled := with(two, func(x *window) { x.pool = 6 })
	staffed := with(two, func(x *window) { x.workers = 6 })
	one := with(two, func(x *window) { x.callers, x.desks, x.gap = 1, 1, 18 })
	for _, x := range []struct {
		name     string
		was, is  window
		kind, of string
		strength Strength
		says     string
	}{
		{"the caller's pool shrank", pooled, with(pooled, func(x *window) { x.pool = 2 }), "client-wait", "front", Strong, ""},
		{"the desk's workers are fewer", staffed, with(staffed, func(x *window) { x.workers = 2 }), "server-queue", "desk", Strong, ""},
		{"the desk is slower and fills the pool", with(two, func(x *window) { x.pool = 3 }), with(two, func(x *window) { x.pool, x.work = 3, 46 }), "service-time", "desk", Moderate, "desk records no client spans"},
		{"more calls for the same pool", with(two, func(x *window) { x.pool, x.gap = 2, 25 }), with(two, func(x *window) { x.pool = 2 }), "load", "front", Strong, ""},
		{"fewer places between two processes", with(one, func(x *window) { x.pool = 6 }), with(one, func(x *window) { x.pool = 2 }), "", "", Weak, "nothing tells whose queue it is"},
		{"the caller works longer", two, with(two, func(x *window) { x.own = 70 }), "service-time", "front", Weak, "front records no client span for ask of desk"},
		{"the caller works longer, with a pool that hardly fills", pooled, with(pooled, func(x *window) { x.own = 70 }), "service-time", "front", Weak, "front records no client span for ask of desk"},
	} {
		_, r := compared(t, x.was.draw(2), x.is.draw(3))
		f := first(t, r)
		if x.kind != "" && (f.Kind != x.kind || f.Service != x.of) || f.Strength != x.strength {
			t.Errorf("%s: first is %s %s of %s, want %s %s of %s: %q", x.name, f.Strength, f.Kind, f.Service, x.strength, x.kind, x.of, f.Warnings)
		}
		if !strings.Contains(strings.Join(f.Warnings, " "), x.says) {
			t.Errorf("%s: %q, want %q", x.name, f.Warnings, x.says)
		}
	}
}

// What another size would do is run again without client spans, too, and gives what it gives when it is drawn.
func TestAnotherSizeWithoutClientSpans(t *testing.T) {
	for _, x := range []struct {
		name string
		window
		size func(*window, int)
	}{
		{"a pool", window{callers: 2, desks: 2, pool: 2, gap: 10, own: 8, work: 28, way: 0.5}, func(x *window, n int) { x.pool = n }},
		{"workers", window{callers: 2, desks: 2, workers: 2, gap: 10, own: 8, work: 28, way: 0.5}, func(x *window, n int) { x.workers = n }},
		{"places between two processes", window{callers: 1, desks: 1, pool: 2, gap: 19, own: 8, work: 28, way: 0.5}, func(x *window, n int) { x.pool = n }},
	} {
		x.size(&x.window, 3)
		truth := median(t, replayed(t, x.draw(5), WhatIf{Rate: 1}))
		x.size(&x.window, 2)
		was := median(t, replayed(t, x.draw(5), WhatIf{Rate: 1}))
		r := replayed(t, x.draw(5), WhatIf{Pools: []PoolSize{{Edge: Edge{Caller: "front", Peer: "desk"}, N: 3}}})
		if got := median(t, r); was < 1.2*truth || got < 0.9*truth || got > 1.1*truth {
			t.Errorf("%s: a median of %.1f ms where it was %.1f, want %.1f: %q %q", x.name, got, was, truth, r.Assumptions, r.Unknown)
		}
	}
}

func replayed(t *testing.T, text string, w WhatIf) *Replayed {
	t.Helper()
	r, err := single(t, text).Replay(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
