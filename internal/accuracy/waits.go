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
		runs:    6,
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

// A place is where a wait shows.
type place uint8

const (
	paired   place = iota // between two spans
	alone                 // a gap in the caller, before the client span
	ahead                 // the same before the server span, without a client span
	inside                // within the client span of a callee without spans
	accepted              // within the callee's span
)

func (p place) String() string {
	return [...]string{"between", "alone", "ahead", "inside", "accepted"}[p]
}

// An edgeWait is what the simulator knows of the waits of one edge that a
// report can see in one way.
type edgeWait struct {
	caller, callee, operation string
	at                        place
	explicit                  bool // the caller's spans say it
	waits                     []float64
	client, server            float64 // summed waits by their queue
	long                      int     // waits longer than 2 ms
}

func (e *edgeWait) String() string {
	how := e.at.String()
	if e.explicit {
		how = "explicit"
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

// locked reports whether a service calls another while it holds a lock.
func locked(caller, callee *sim.Service) bool {
	found := false
	for _, op := range caller.Ops {
		sim.Walk(op.Plan, func(st sim.Step) {
			if l, ok := st.(*sim.Lock); ok {
				sim.Walk([]sim.Step{l.Step}, func(st sim.Step) {
					c, ok := st.(*sim.Call)
					found = found || ok && c.To.Service == callee
				})
			}
		})
	}
	return found
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
		edge int32
		at   place
	}
	by := map[key]*edgeWait{}
	var order []*edgeWait
	main := run.System.Workload.Classes[0].Op
	for i := range run.Attempts {
		a := &run.Attempts[i]
		if a.Caller == nil || a.Lost || a.Served == sim.Omitted {
			continue
		}
		if q := &run.Requests[a.Request]; q.Class.Op != main || q.Outcome == sim.Cancelled || q.Outcome == sim.Rejected {
			continue
		}
		from, to := &a.Caller.Service.Spans, &a.Callee.Service.Spans
		see := func(at place, explicit bool, client, server sim.Time) {
			k := key{a.Edge, at}
			e := by[k]
			if e == nil {
				op := run.Edges[a.Edge].Op
				e = &edgeWait{caller: a.Caller.Service.Name, callee: a.Callee.Service.Name, operation: op.Name, at: at, explicit: explicit}
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
		// What is left in the queue has no server span.
		served := a.Callee.Service.Peer == nil && !to.NoServer && (a.Ended > a.Started || !to.ServerAfterQueue)
		if from.NoClient {
			if served {
				server := sim.Time(0)
				if to.ServerAfterQueue {
					server = a.ExecWait
				}
				see(ahead, false, a.PoolWait, server)
			}
			continue
		}
		if a.Callee.Service.Peer == nil && !to.NoServer && !to.ServerAfterQueue && a.Ended > a.Started {
			see(accepted, false, 0, a.ExecWait)
		}
		if locked(a.Caller.Service, a.Callee.Service) {
			continue // a lock before a call is a pool of one to whoever sees spans alone
		}
		pool := a.Caller.Service.Pool(a.Callee.Service.Name) != nil
		explicit := pool && (from.PoolEvents || from.PoolSpan != "")
		if explicit {
			at := paired
			if from.ClientAfterPool {
				at = alone
			}
			see(at, true, a.PoolWait, 0)
			continue
		}
		if from.ClientAfterPool && pool {
			see(alone, false, a.PoolWait, 0)
		}
		if pool && !from.ClientAfterPool && a.Callee.Service.Peer != nil {
			see(inside, false, a.PoolWait, 0)
		}
		if served {
			var client, server sim.Time
			if !from.ClientAfterPool {
				client = a.PoolWait
			}
			if to.ServerAfterQueue {
				server = a.ExecWait
			}
			see(paired, false, client, server)
		}
	}
	for _, e := range order {
		slices.Sort(e.waits)
	}
	return order
}

// slots is the size of the resource of one instance that an owner of the queue has.
func (e *edgeWait) slots(run *sim.Run, owner string) int {
	for _, in := range run.Instances {
		for _, r := range in.Resources() {
			if owner == string(report.ServerQueue) && in.Service.Name == e.callee && r.Kind == "executor" ||
				owner == string(report.ClientWait) && in.Service.Name == e.caller && r.Kind == "pool" && strings.Contains(r.Name, e.callee) {
				return r.Cap
			}
		}
	}
	return 0
}

// evidence is how a row begins to say where its waits show.
var evidence = [...]string{
	paired:   "client duration",
	alone:    "time in the caller before the client span",
	ahead:    "time in the caller before the server span",
	inside:   "time within the client span",
	accepted: "time within the server span",
}

// row is the report's row of an edge.
func (e *edgeWait) row(queues []report.Queue) *report.Queue {
	for i := range queues {
		q := &queues[i]
		if q.Service != e.caller {
			continue
		}
		at := slices.IndexFunc(evidence[:], func(text string) bool { return strings.HasPrefix(q.Evidence, text) })
		switch {
		case e.explicit && at < 0:
			return q
		case !e.explicit && q.Peer == e.callee && q.Operation == e.operation && at == int(e.at):
			return q
		}
	}
	return nil
}

// A waitView is what there is of the telemetry of some scenarios, and what is counted of the waits in it.
type waitView struct {
	scenarios []string
	change    func(*sim.System) // of how it is instrumented; nil: as it is
	requests  int
	head      float64
	metrics   bool

	between, alone, ahead, inside, accepted *waitGroup // by where waits show; nil: not counted

	owner, wrong  *cell
	limit, silent *cell // nil: not counted
	none          *cell // where no call waits, no queue is stated; nil: not counted
}

// A waitGroup is the cells of the waits that show in one way, and how close they are to be.
type waitGroup struct {
	mean, p99, inside, narrow *cell // nil: not counted
	close, close99, tight     float64
}

func newWaitGroup(name string, close, close99, tight float64) *waitGroup {
	return &waitGroup{
		&cell{name: fmt.Sprintf("%s: mean wait within %.0f %%", name, 100*close), target: atLeast(0.95)},
		&cell{name: fmt.Sprintf("%s: p99 of the wait within %.0f %%", name, 100*close99), target: atLeast(0.95)},
		&cell{name: name + ": true mean within [lo, hi]", target: atLeast(0.95)},
		&cell{name: fmt.Sprintf("%s: hi − lo at most %g of the wait", name, tight), target: atLeast(0.5)},
		close, close99, tight,
	}
}

func (g *waitGroup) cells() []cell {
	var out []cell
	for _, c := range []*cell{g.mean, g.p99, g.inside, g.narrow} {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// of is the group of an edge's waits.
func (v *waitView) of(e *edgeWait) *waitGroup {
	return [...]*waitGroup{paired: v.between, alone: v.alone, ahead: v.ahead, inside: v.inside, accepted: v.accepted}[e.at]
}

// measure simulates the view's scenarios and counts.
func (v *waitView) measure(seed uint64, runs int) {
	for _, name := range v.scenarios {
		if only != nil && !only.MatchString(name) {
			continue
		}
		sc, err := scenario.Find(name)
		if err != nil {
			panic(err)
		}
		if v.change != nil {
			seen, both := *sc, sc.Both
			seen.Both = func(s *sim.System) {
				if both != nil {
					both(s)
				}
				v.change(s)
			}
			sc = &seen
		}
		for i := range runs {
			simulated := simulation{scenario: sc, seed: seed + uint64(i), requests: v.requests, head: v.head, blind: !v.metrics}
			a, err := simulated.analyze()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			r := simulated.run()
			v.count(a, [2]*sim.Run{r.Baseline.Run, r.Current.Run})
		}
	}
}

func (v *waitView) count(a *answer, run [2]*sim.Run) {
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
			g := v.of(e)
			if g == nil {
				continue
			}
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
			count := func(c *cell, ok bool, what string, got, want any) {
				if c == nil {
					return
				}
				c.runs++
				if ok {
					c.hits++
				}
				if ok || what == "" {
					return
				}
				fmt.Fprintf(os.Stderr, "%v side %d %s: %s MISSED %v, true %v; mean %.3f p99 %.3f of %.1f\n", a.simulation, side, e, what, got, want, e.mean(), e.quantile(0.99), p99)
			}
			lo, hi, mean := got.LoMs.Or(0), got.HiMs.Or(0), got.MeanMs.Or(0)
			if e.explicit { // of those alone that waited
				mean *= float64(got.N) / float64(len(e.waits))
				lo, hi = lo*float64(got.N)/float64(len(e.waits)), hi*float64(got.N)/float64(len(e.waits))
			}
			if matters {
				count(g.mean, math.Abs(mean-e.mean()) <= g.close*e.mean(), "mean", mean, e.mean())
				if !e.explicit {
					count(g.p99, math.Abs(got.P99Ms.Or(0)-e.quantile(0.99)) <= g.close99*e.quantile(0.99), "p99", got.P99Ms, e.quantile(0.99))
				}
				count(g.narrow, hi-lo <= g.tight*mean, "width", [2]float64{lo, hi}, mean)
				// A row has one owner: that of the set in which calls waited more.
				if want := e.owner(); want != "" && worse[e.String()] == side {
					open := owner == string(report.Untraced) || owner == "no row" || e.at == inside && owner == string(report.ServiceTime)
					count(v.owner, owner == want, "owner", owner, want)
					count(v.wrong, owner != want && !open, "", nil, nil)
				}
			}
			if q != nil && !e.explicit && got.N > 0 {
				count(g.inside, lo <= e.mean()+1e-6 && e.mean() <= hi+1e-6, "interval", [2]float64{lo, hi}, e.mean())
			}
			if e.client+e.server == 0 {
				count(v.none, mean <= 0.02*p99, "no queue", mean, 0)
			}
			whose := e.owner()
			if whose == "" { // of a mixture each limit is one
				whose = owner
			}
			slots := e.slots(r, whose)
			switch x, ok := inferred.Get(); {
			case e.explicit:
			case (e.at == accepted || e.at == ahead) && e.quantile(1) == 0: // nobody waits, and no row says so
				count(v.silent, q == nil || !ok, "limit", inferred, 0)
			case v.head > 0:
				count(v.silent, !ok, "limit", inferred, 0)
			case worse[e.String()] != side && q != nil && q.Owner != whose:
				count(v.silent, !ok, "limit of another queue", inferred, slots)
			case e.long >= 20 && slots > 0:
				count(v.limit, ok && math.Abs(x-float64(slots)) <= 1, "limit", inferred, slots)
			case e.quantile(1) == 0 && q != nil && (side == 1 || !q.InferredLimit.Known()):
				count(v.silent, !ok, "limit", inferred, 0)
			}
		}
	}
}

func waitCells(seed uint64, runs int) []cell {
	v := waitView{
		scenarios: waitScenarios, requests: waitRequests,
		between: newWaitGroup("spans on both sides", 0.10, 0.15, 0.3),
		alone:   newWaitGroup("gaps alone", 0.20, 0.20, 0.6),
		owner:   &cell{name: "owner right", target: atLeast(0.95)},
		wrong:   &cell{name: "owner wrong, not untraced", target: atMost(0.02)},
		limit:   &cell{name: "limit inferred within 1 where the pool saturates", target: atLeast(0.95)},
		silent:  &cell{name: "no limit where no call waits", target: atLeast(0.98)},
	}
	v.measure(seed, runs)
	return append(append(v.between.cells(), v.alone.cells()...), *v.owner, *v.wrong, *v.limit, *v.silent)
}
