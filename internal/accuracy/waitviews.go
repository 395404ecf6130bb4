package main

import (
	"fmt"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

func init() {
	add(suite{
		name: "waits-gaps",
		about: `
Waits that show in one process alone, 2,000 requests a side, unsampled. Gaps alone: systems in which every client
span begins when a connection was got, without metrics. Within client spans: waits for a connection to a callee without spans, with
the metrics of the pools; service-time counts as untraced there. Within server spans: all begin when their request comes in, and not when a
worker takes it, without metrics; contention and service-time are among the incidents. Otherwise as in waits.`,
		version: analysis.Version,
		runs:    2,
		run:     gapCells,
		slow:    true,
	})
	add(suite{
		name: "waits-server-only",
		about: `
Waits before the server spans of systems in which nobody records client spans, without metrics: 2,000 requests a side, unsampled, and
40 % of the traces of 4,000. Among the incidents are work of the caller, a longer way, and none. A queue is stated where its mean is more than
2 % of the endpoint's p99. Otherwise as in waits.`,
		version: analysis.Version,
		runs:    1,
		run:     serverOnlyCells,
		slow:    true,
	})
	add(suite{
		name: "waits-sampled",
		about: `
The waits of sampled systems, without metrics: 40 % and 10 % of the traces of 4,000 requests a side, 1 % of those of 20,000. The
truth is that of all requests. A limit is not to be stated.`,
		version: analysis.Version,
		runs:    2,
		run:     sampledWaitCells,
		slow:    true,
	})
}

// serverOnly lets nobody record client spans, nor what they wait for.
func serverOnly(s *sim.System) {
	for _, v := range s.Services {
		v.Spans.NoClient, v.Spans.ClientAfterPool, v.Spans.PoolEvents, v.Spans.PoolSpan = true, false, false, ""
	}
}

// serverOnlyScenarios have waits of every kind, and what looks like them: work of the caller, the way between hosts, nothing.
var serverOnlyScenarios = []string{
	"mercury/client-wait", "mercury/server-queue", "mercury/service-time-pool", "mercury/load", "checkout/client-wait", "search/server-queue", "mesh/server-queue",
	"mercury/null", "mercury/service-time", "mercury/network", "search/load", "checkout/service-time",
}

func serverOnlyCells(seed uint64, runs int) []cell {
	all := waitView{
		scenarios: serverOnlyScenarios, change: serverOnly, requests: waitRequests,
		ahead:  newWaitGroup("all requests", 0.20, 0.20, 0.6),
		owner:  &cell{name: "all requests: owner right", target: atLeast(0.95)},
		wrong:  &cell{name: "all requests: owner wrong, not untraced", target: atMost(0.02)},
		none:   &cell{name: "all requests: no queue where no call waits", target: atLeast(0.98)},
		limit:  &cell{name: "all requests: limit inferred within 1 where it saturates", target: atLeast(0.95)},
		silent: &cell{name: "all requests: no limit where no call waits", target: atLeast(0.98)},
	}
	inside := &cell{name: "40 %: true mean within [lo, hi]", target: atLeast(0.95)}
	some := waitView{
		scenarios: serverOnlyScenarios, change: serverOnly, requests: 2 * waitRequests, head: 0.4,
		ahead:  &waitGroup{inside: inside},
		owner:  &cell{name: "40 %: owner right"},
		wrong:  &cell{name: "40 %: owner wrong, not untraced", target: atMost(0.02)},
		none:   &cell{name: "40 %: no queue where no call waits", target: atLeast(0.98)},
		silent: &cell{name: "40 %: no limit", target: atLeast(1)},
	}
	g := all.ahead
	all.measure(seed, wanted(runs, g.mean.name, g.p99.name, g.inside.name, g.narrow.name, all.owner.name, all.wrong.name, all.none.name, all.limit.name, all.silent.name))
	some.measure(seed, wanted(runs, inside.name, some.owner.name, some.wrong.name, some.none.name, some.silent.name))
	found := append(g.cells(), *all.owner, *all.wrong, *all.none, *all.limit, *all.silent, *inside, *some.owner, *some.wrong, *some.none, *some.silent)
	for i := range found {
		if c := &found[i]; !c.target.met(c.share()) {
			c.missed = mixedLeads
		}
	}
	return found
}

// mixedLeads is what stops the cells of waits before server spans without client spans.
const mixedLeads = "what a caller does before a call is in the same number, and takes longer when there is more to do; and where some calls wait for a place\nof the caller and others for one of the callee, only the queue that is the longer is told."

// afterPool lets all client spans begin when a connection was got, and says so nowhere else.
func afterPool(s *sim.System) {
	for _, v := range s.Services {
		v.Spans.ClientAfterPool, v.Spans.PoolEvents, v.Spans.PoolSpan = true, false, ""
	}
}

// onAccept lets all server spans begin when their request came in, and not when a worker took it.
func onAccept(s *sim.System) {
	for _, v := range s.Services {
		v.Spans.ServerAfterQueue = false
	}
}

func gapCells(seed uint64, runs int) []cell {
	alone := waitView{
		scenarios: []string{"mercury/client-wait", "mercury/load-pool", "mercury/service-time-pool", "mercury/mixture-pool",
			"search/client-wait", "mesh/client-wait", "checkout/client-wait", "feed/client-wait"},
		change: afterPool, requests: waitRequests,
		alone: newWaitGroup("gaps alone", 0.20, 0.20, 0.6),
		owner: &cell{name: "gaps alone: owner right", target: atLeast(0.95)},
		wrong: &cell{name: "gaps alone: owner wrong, not untraced", target: atMost(0.02)},
	}
	within := waitView{
		scenarios: []string{"feed/client-wait-inside", "feed/service-time-inside", "mesh/client-wait"},
		requests:  waitRequests, metrics: true,
		inside: newWaitGroup("within client spans", 0.20, 0.20, 0.6),
		owner:  &cell{name: "within client spans: owner right", target: atLeast(0.95)},
		wrong:  &cell{name: "within client spans: owner wrong, not untraced", target: atMost(0.02)},
	}
	accepted := waitView{
		scenarios: []string{"mercury/server-queue", "mercury/load", "checkout/server-queue", "search/server-queue", "search/load", "mesh/server-queue", "mesh/load-burst",
			"mercury/service-time", "mercury/contention", "search/contention", "mesh/contention", "checkout/service-time"},
		change: onAccept, requests: waitRequests,
		accepted: newWaitGroup("within server spans", 0.20, 0.20, 0.6),
		owner:    &cell{name: "within server spans: owner right", target: atLeast(0.95)},
		wrong:    &cell{name: "within server spans: owner wrong, not untraced", target: atMost(0.02)},
		limit:    &cell{name: "within server spans: limit inferred within 1 where it saturates", target: atLeast(0.95)},
		silent:   &cell{name: "within server spans: no limit where no call waits", target: atLeast(0.98)},
	}
	var out []cell
	for _, v := range []*waitView{&alone, &within, &accepted} {
		g := v.alone
		if g == nil {
			g = v.inside
		}
		if g == nil {
			g = v.accepted
		}
		v.measure(seed, wanted(runs, g.mean.name, g.p99.name, g.inside.name, g.narrow.name, v.owner.name, v.wrong.name))
		found := append(g.cells(), *v.owner, *v.wrong)
		if v.limit != nil {
			found = append(found, *v.limit, *v.silent)
		}
		for i := range found {
			if c := &found[i]; v == &accepted && !c.target.met(c.share()) {
				c.missed = starved
			}
		}
		out = append(out, found...)
	}
	return out
}

// starved is what stops the cells of waits within server spans.
const starved = "in search/contention the workers of a process share a quarter of a core: their work itself takes longer the more of them are\nbusy, no number of workers that take turns suits that, and what waits beside it is called work."

func sampledWaitCells(seed uint64, runs int) []cell {
	var out []cell
	for _, x := range []struct {
		head     float64
		requests int
	}{{0.4, 4000}, {0.1, 4000}, {0.01, 20000}} {
		name := fmt.Sprintf("%g %%", 100*x.head)
		inside := &cell{name: name + ": true mean within [lo, hi]", target: atLeast(0.95)}
		g := &waitGroup{inside: inside}
		v := waitView{
			scenarios: []string{"mercury/client-wait", "mercury/server-queue", "checkout/client-wait", "search/server-queue", "mesh/server-queue", "mesh/load-burst"},
			requests:  x.requests, head: x.head,
			between: g, alone: g,
			owner:  &cell{name: name + ": owner right"},
			wrong:  &cell{name: name + ": owner wrong, not untraced", target: atMost(0.02)},
			silent: &cell{name: name + ": no limit", target: atLeast(1)},
		}
		v.measure(seed, wanted(runs, inside.name, v.owner.name, v.wrong.name, v.silent.name))
		out = append(out, *inside, *v.owner, *v.wrong, *v.silent)
	}
	return out
}
