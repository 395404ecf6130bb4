package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/scenario"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

func init() {
	add(suite{
		name: "waits",
		about: `
Waits before service in every simulated system, 2,000 requests a side, unsampled, without any metrics. Each edge of the
main endpoint, on each side, is held against what the simulator knows of every call. Edges that matter are those whose
true p99 of the wait is at least a twentieth of the endpoint's p99. Spans on both sides: client and server spans enclose
the wait. Gaps alone: the client span begins only when a connection was got, so that the wait is a gap in its caller.
A pool saturates where at least 20 calls of the side waited longer than 2 ms; it does not where none waited.`,
		version: analysis.Version,
		runs:    2,
		run:     waitCells,
		slow:    true,
	})
}

// waitScenarios have waits of every kind. Their baselines are the systems as
// they are, where hardly a call waits.
var waitScenarios = []string{
	"mercury/null", "mercury/client-wait", "mercury/server-queue", "mercury/service-time-pool", "mercury/load",
	"checkout/client-wait", "checkout/server-queue", "checkout/load",
	"search/server-queue", "search/client-wait", "search/load",
	"mesh/server-queue", "mesh/server-queue-sidecars", "mesh/client-wait", "mesh/load", "mesh/load-burst",
}

const waitRequests = 2000

// An edgeWait is what the simulator knows of the waits of one edge that a
// report can see in one way.
type edgeWait struct {
	caller, callee, operation string
	alone                     bool // a gap in the caller, not between two spans
	explicit                  bool // the caller's spans say it
	waits                     []float64
	client, server            float64 // summed waits by their queue
	limit                     int     // slots of an instance of the queue's owner
	long                      int     // waits longer than 2 ms
}

func (e *edgeWait) String() string {
	how := "between"
	switch {
	case e.explicit:
		how = "explicit"
	case e.alone:
		how = "alone"
	}
	return fmt.Sprintf("%s→%s %s (%s)", e.caller, e.callee, e.operation, how)
}

func (e *edgeWait) mean() float64 {
	var sum float64
	for _, x := range e.waits {
		sum += x
	}
	return sum / float64(max(len(e.waits), 1))
}

func (e *edgeWait) quantile(q float64) float64 {
	if len(e.waits) == 0 {
		return 0
	}
	return e.waits[max(0, int(math.Ceil(q*float64(len(e.waits))-1e-9))-1)]
}

// owner is whose queue it was, "" of a mixture.
func (e *edgeWait) owner() string {
	switch all := e.client + e.server; {
	case e.client > 0.9*all:
		return string(report.ClientWait)
	case e.server > 0.9*all:
		return string(report.ServerQueue)
	}
	return ""
}

// edgeWaits reads them off a run.
func edgeWaits(run *sim.Run) []*edgeWait {
	type key struct {
		edge  int32
		alone bool
	}
	by := map[key]*edgeWait{}
	var order []*edgeWait
	main := run.System.Workload.Classes[0].Op
	for i := range run.Attempts {
		a := &run.Attempts[i]
		if a.Caller == nil || a.Caller.Service.Spans.NoClient || a.Lost || a.Served == sim.Omitted {
			continue
		}
		if q := &run.Requests[a.Request]; q.Class.Op != main || q.Outcome == sim.Cancelled || q.Outcome == sim.Rejected {
			continue
		}
		from, to := &a.Caller.Service.Spans, &a.Callee.Service.Spans
		see := func(alone, explicit bool, client, server sim.Time) {
			k := key{a.Edge, alone}
			e := by[k]
			if e == nil {
				op := run.Edges[a.Edge].Op
				e = &edgeWait{caller: a.Caller.Service.Name, callee: a.Callee.Service.Name, operation: op.Name, alone: alone, explicit: explicit}
				by[k] = e
				order = append(order, e)
			}
			w := client + server
			e.waits = append(e.waits, w.Seconds()*1e3)
			e.client += client.Seconds() * 1e3
			e.server += server.Seconds() * 1e3
			if w > 2*sim.Time(1e6) {
				e.long++
			}
		}
		pool := a.Caller.Service.Pool(a.Callee.Service.Name) != nil
		explicit := pool && (from.PoolEvents || from.PoolSpan != "")
		// What is left in the queue has no server span.
		paired := a.Callee.Service.Peer == nil && !to.NoServer && (a.Ended > a.Started || !to.ServerAfterQueue)
		if explicit {
			see(from.ClientAfterPool, true, a.PoolWait, 0)
			continue
		}
		if from.ClientAfterPool && pool {
			see(true, false, a.PoolWait, 0)
		}
		if paired {
			var client, server sim.Time
			if !from.ClientAfterPool {
				client = a.PoolWait
			}
			if to.ServerAfterQueue {
				server = a.ExecWait
			}
			see(false, false, client, server)
		}
	}
	for _, e := range order {
		slices.Sort(e.waits)
		e.limit = slotsOf(run, e)
	}
	return order
}

// slotsOf is the size of the queue's resource in one instance.
func slotsOf(run *sim.Run, e *edgeWait) int {
	for _, in := range run.Instances {
		for _, r := range in.Resources() {
			if e.owner() == string(report.ServerQueue) && in.Service.Name == e.callee && r.Kind == "executor" ||
				e.owner() == string(report.ClientWait) && in.Service.Name == e.caller && r.Kind == "pool" && strings.Contains(r.Name, e.callee) {
				return r.Cap
			}
		}
	}
	return 0
}

// row is the report's row of an edge.
func (e *edgeWait) row(queues []report.Queue) *report.Queue {
	for i := range queues {
		q := &queues[i]
		if q.Service != e.caller {
			continue
		}
		alone := strings.HasPrefix(q.Evidence, "time in the caller")
		between := strings.HasPrefix(q.Evidence, "client duration")
		switch {
		case e.explicit && !alone && !between:
			return q
		case !e.explicit && q.Peer == e.callee && q.Operation == e.operation && (e.alone && alone || !e.alone && between):
			return q
		}
	}
	return nil
}

func waitCells(seed uint64, runs int) []cell {
	type group struct{ mean, p99, inside, narrow cell }
	groups := map[bool]*group{}
	for _, alone := range []bool{false, true} {
		name, close, tight := "spans on both sides", "10 %", 0.3
		p99 := "15 %"
		if alone {
			name, close, p99, tight = "gaps alone", "20 %", "20 %", 0.6
		}
		groups[alone] = &group{
			cell{name: name + ": mean wait within " + close, target: atLeast(0.95)},
			cell{name: name + ": p99 of the wait within " + p99, target: atLeast(0.95)},
			cell{name: name + ": true mean within [lo, hi]", target: atLeast(0.95)},
			cell{name: fmt.Sprintf("%s: hi − lo at most %g of the wait", name, tight), target: atLeast(0.5)},
		}
	}
	ownerRight := cell{name: "owner right", target: atLeast(0.95)}
	ownerWrong := cell{name: "owner wrong, not untraced", target: atMost(0.02)}
	limit := cell{name: "limit inferred within 1 where the pool saturates", target: atLeast(0.95)}
	silent := cell{name: "no limit where no call waits", target: atLeast(0.98)}
	for _, name := range waitScenarios {
		if only != nil && !only.MatchString(name) {
			continue
		}
		for i := range runs {
			sc, err := scenario.Find(name)
			if err != nil {
				panic(err)
			}
			simulated := simulation{scenario: sc, seed: seed + uint64(i), requests: waitRequests, blind: true}
			a, err := simulated.analyze()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			r := simulated.run()
			run := [2]*sim.Run{r.Baseline.Run, r.Current.Run}
			worse := map[string]int{}
			most := map[string]float64{}
			for side, r := range run {
				for _, e := range edgeWaits(r) {
					if w := e.client + e.server; w > most[e.String()] {
						most[e.String()], worse[e.String()] = w, side
					}
				}
			}
			for side, r := range run {
				p99 := a.endpoint.P99.CurrentMs.Or(0)
				if side == 0 {
					p99 = a.endpoint.P99.BaselineMs.Or(0)
				}
				for _, e := range edgeWaits(r) {
					q := e.row(a.endpoint.Queues)
					matters := e.quantile(0.99) >= 0.05*p99
					got := &report.QueueSide{}
					inferred, owner := report.Null, "no row"
					if q != nil {
						got, inferred, owner = &q.Current, q.InferredLimit, q.Owner
						if side == 0 {
							got, inferred = q.Baseline, q.InferredLimitBaseline
						}
					}
					close, close99, tight := 0.10, 0.15, 0.3
					if e.alone {
						close, close99, tight = 0.20, 0.20, 0.6
					}
					g := groups[e.alone]
					say := func(what string, got, want any) {
						fmt.Fprintf(os.Stderr, "%s seed %d side %d %s: %s %v, true %v; mean %.3f p99 %.3f of %.1f\n", name, seed+uint64(i), side, e, what, got, want, e.mean(), e.quantile(0.99), p99)
					}
					count := func(c *cell, ok bool, what string, got, want any) {
						c.runs++
						if ok {
							c.hits++
						} else {
							say(what+" MISSED", got, want)
						}
					}
					lo, hi, mean := got.LoMs.Or(0), got.HiMs.Or(0), got.MeanMs.Or(0)
					if e.explicit { // of those alone that waited
						mean *= float64(got.N) / float64(len(e.waits))
						lo, hi = lo*float64(got.N)/float64(len(e.waits)), hi*float64(got.N)/float64(len(e.waits))
					}
					if matters {
						count(&g.mean, math.Abs(mean-e.mean()) <= close*e.mean(), "mean", mean, e.mean())
						if !e.explicit {
							count(&g.p99, math.Abs(got.P99Ms.Or(0)-e.quantile(0.99)) <= close99*e.quantile(0.99), "p99", got.P99Ms, e.quantile(0.99))
						}
						count(&g.narrow, hi-lo <= tight*mean, "width", [2]float64{lo, hi}, mean)
						// A row has one owner: that of the set in which calls waited more.
						if want := e.owner(); want != "" && worse[e.String()] == side {
							count(&ownerRight, owner == want, "owner", owner, want)
							ownerWrong.runs++
							if owner != want && owner != string(report.Untraced) && owner != "no row" {
								ownerWrong.hits++
							}
						}
					}
					if q != nil && !e.explicit && got.N > 0 {
						count(&g.inside, lo <= e.mean()+1e-6 && e.mean() <= hi+1e-6, "interval", [2]float64{lo, hi}, e.mean())
					}
					switch x, ok := inferred.Get(); {
					case e.explicit:
					case worse[e.String()] != side && q != nil && q.Owner != e.owner():
						count(&silent, !ok, "limit of another queue", inferred, e.limit)
					case e.long >= 20 && e.limit > 0:
						count(&limit, ok && math.Abs(x-float64(e.limit)) <= 1, "limit", inferred, e.limit)
					case e.quantile(1) == 0 && q != nil && (side == 1 || !q.InferredLimit.Known()):
						count(&silent, !ok, "limit", inferred, 0)
					}
				}
			}
		}
	}
	var out []cell
	for _, alone := range []bool{false, true} {
		g := groups[alone]
		out = append(out, g.mean, g.p99, g.inside, g.narrow)
	}
	return append(out, ownerRight, ownerWrong, limit, silent)
}
