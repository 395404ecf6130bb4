package hypotheses

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A callKey names a call, also where a request is a part of another's record.
type callKey struct {
	id    trace.TraceID
	slot  graph.SlotID
	start trace.Time
}

func keyOf(r *graph.Record, c *graph.Call) callKey {
	return callKey{r.TraceID, c.Slot, c.Outer().Start}
}

// A queuedCall is a call at a queue: when it came, how long it held its place, how
// long it is likely to have waited.
type queuedCall struct {
	key        callKey
	at         int64
	hold, wait int64
}

// stillWait is the mean wait, in ns, below which a queue without a limit counts as
// one that nobody waits in.
const stillWait = 1e6

// resize changes the waits of all queues that other sizes or more requests
// change.
func (r *replaying) resize() Factor {
	if len(r.Pools) == 0 && (r.Rate == 0 || r.Rate == 1) {
		return nil
	}
	rate := r.Rate
	if rate == 0 {
		rate = 1
	}
	type change struct {
		v *queuewait.Verdict
		n int
	}
	var changes []change
	cal := r.cur().Set.Calibration
	for _, v := range cal.Owners.All() {
		c := change{v: v}
		for i := range r.Pools {
			if r.meant(&r.Pools[i], v) {
				c.n = r.Pools[i].N
			}
		}
		if r.makes(v) && (c.n > 0 || rate != 1 && v.Claimed()) {
			changes = append(changes, c)
		}
	}
	// The calls of an edge wait at one place: where somebody owns the wait, else
	// between the spans, before them, or within them. Those of all callers wait
	// for the callee's workers.
	changes = slices.DeleteFunc(changes, func(c change) bool {
		return slices.ContainsFunc(changes, func(o change) bool {
			accepted := o.v.Key.Site == queuewait.Accepted || c.v.Key.Site == queuewait.Accepted
			if o.v.Key.Target != c.v.Key.Target || o.v.Key.Site == c.v.Key.Site || !accepted && o.v.Key.Caller != c.v.Key.Caller ||
				accepted && (o.v.Owner == queuewait.ClientWait || c.v.Owner == queuewait.ClientWait) {
				return false
			}
			if o.v.Claimed() != c.v.Claimed() {
				return o.v.Claimed()
			}
			return o.v.Key.Site < c.v.Key.Site
		})
	})
	if r.cur().Set.Sampled() {
		r.out.Unknown = append(r.out.Unknown, "cannot tell (sampled): a queue is run again with all calls of an instance, and most were not kept")
		return nil
	}
	more := map[callKey]int64{}
	sites := map[callKey]queuewait.Site{}
	for _, c := range changes {
		r.rerun(c.v, c.n, rate, more, sites)
	}
	if rate != 1 && len(changes) == 0 {
		r.out.Unknown = append(r.out.Unknown, "nothing shows how more requests would wait: no call waits for a place here; emit the pools' and executors' used, pending and max")
	}
	if rate != 1 {
		r.out.Assumptions = append(r.out.Assumptions, "more requests lengthen the waits at limits that are known, and nothing else; they come in the pattern in which they came")
	}
	if len(r.Pools) > 0 {
		r.out.Assumptions = append(r.out.Assumptions, "what is called takes as long with other numbers of calls at once")
	}
	if len(more) == 0 {
		return nil
	}
	return func(j int, p *graph.Plan, values []int64) {
		q := r.request(j)
		for k := range p.Steps {
			st := &p.Steps[k]
			if _, call, v := r.cur().Set.Calibration.Owners.AcceptedIn(summary.Current, q.Record, st); v != nil {
				if key := keyOf(q.Record, &q.Calls[call]); sites[key] == queuewait.Accepted {
					values[k] = max(0, values[k]+more[key])
				}
			}
			if st.Call() == 0 {
				continue
			}
			key := keyOf(q.Record, &q.Calls[st.Call()])
			d, ok := more[key]
			if site := sites[key]; !ok || site == queuewait.Accepted || st.Leave != (site == queuewait.Inside) || st.Client() != (site != queuewait.Between && site != queuewait.Ahead) {
				continue
			}
			values[k] = max(0, values[k]+d)
		}
	}
}

// makes reports whether the endpoint makes calls of a queue.
func (r *replaying) makes(v *queuewait.Verdict) bool {
	if v.Key.Site == queuewait.Accepted {
		return r.serves[v.Key.Target]
	}
	return r.edges[[2]string{r.Reading.Dict.String(v.Key.Caller), r.Reading.Dict.String(v.Key.Target)}]
}

// meant reports whether a size is meant for a queue: by the resource's name, by
// the edge, or by the service that is called.
func (r *replaying) meant(p *PoolSize, v *queuewait.Verdict) bool {
	caller, target := r.Reading.Dict.String(v.Key.Caller), r.Reading.Dict.String(v.Key.Target)
	if p.Name == "" {
		return (p.Edge.Caller == "" || p.Edge.Caller == caller) && p.Edge.Peer == target
	}
	return p.Name == v.Resource || p.Name == target && (v.Resource == "" || v.Key.Site == queuewait.Accepted)
}

// rerun adds by how much each call of a queue would wait longer. n is the size,
// zero for the present one.
func (r *replaying) rerun(v *queuewait.Verdict, n int, rate float64, more map[callKey]int64, sites map[callKey]queuewait.Site) {
	name := r.Reading.Dict.String(v.Key.Caller) + "→" + r.Reading.Dict.String(v.Key.Target)
	if v.Key.Site == queuewait.Accepted {
		name = r.Reading.Dict.String(v.Key.Target)
	}
	stations := r.stations(v)
	if len(stations) == 0 {
		return
	}
	k := 0
	if s := v.Sides[summary.Current]; s != nil {
		k = s.Limit
	}
	var observed, again, calls float64
	was := make([][]int64, len(stations))
	for i, list := range stations {
		size := k
		if size == 0 {
			size = len(list)
		}
		was[i] = fifo(list, size, 1, v.WakeUp)
		for c, w := range was[i] {
			observed += float64(list[c].wait)
			again += float64(w)
		}
		calls += float64(len(list))
	}
	observed, again = observed/calls, again/calls
	switch {
	case k == 0 && observed > stillWait:
		r.out.Unknown = append(r.out.Unknown, fmt.Sprintf("calls of %s wait %s on average, and no limit shows that would explain it: emit the pool's used, pending and max", name, prose.Ns(observed)))
		return
	case k > 0 && !queuewait.Reproduces(observed, again, stillWait/10):
		r.out.Unknown = append(r.out.Unknown, fmt.Sprintf("the queue of %s, run again with %s, waits %s on average where %s were seen: it is no queue of that size", name, places(k), prose.Ns(again), prose.Ns(observed)))
		return
	}
	if n == 0 {
		n = k
	}
	if n == 0 {
		return
	}
	var sum float64
	for i, list := range stations {
		for c, w := range fifo(list, n, rate, v.WakeUp) {
			more[list[c].key] += w - was[i][c]
			sites[list[c].key] = v.Key.Site
			sum += float64(max(0, list[c].wait+w-was[i][c]))
		}
	}
	size := "no limit that shows"
	if k > 0 {
		size = places(k)
	}
	then := "with " + places(n)
	if rate != 1 {
		then += prose.Sprintf(" and %.3g times the calls", rate)
	}
	r.out.Assumptions = append(r.out.Assumptions, fmt.Sprintf("%s has %s in each instance now: run again its calls wait %s on average where %s were seen, and %s they would wait %s", name, size, prose.Ns(again), prose.Ns(observed), then, prose.Ns(sum/calls)))
}

func places(n int) string {
	if n == 1 {
		return "1 place"
	}
	return fmt.Sprintf("%d places", n)
}

// fifo is the waits of calls at n places, with as many more arrivals as rate
// says.
func fifo(list []queuedCall, n int, rate float64, wake int64) []int64 {
	arrivals, holds := make([]int64, len(list)), make([]int64, len(list))
	for i := range list {
		arrivals[i] = list[0].at + int64(float64(list[i].at-list[0].at)/rate)
		holds[i] = list[i].hold
	}
	return queuewait.FIFO(arrivals, holds, n, wake)
}

// stations is the calls of a queue, by the instance whose place they take.
func (r *replaying) stations(v *queuewait.Verdict) [][]queuedCall {
	set := r.cur().Set
	by := map[graph.ProcID][]queuedCall{}
	l := summary.NewLedger(set.Calibration)
	owners := set.Calibration.Owners
	for _, rec := range set.Records {
		var plan *graph.Plan
		for i := range rec.Calls {
			c := &rec.Calls[i]
			if v.Key.Site == queuewait.Accepted {
				if owners.Of(c, queuewait.Accepted) == v && (c.Client.Seen() || i == 0) {
					w := queuedCall{key: keyOf(rec, c), at: int64(c.Work.Start), wait: l.Accepted(rec, int32(i))}
					w.hold = c.Work.Duration() - w.wait
					by[c.Work.Proc] = append(by[c.Work.Proc], w)
				}
				continue
			}
			if i == 0 || !c.Client.Seen() && v.Key.Site != queuewait.Ahead || c.Flags&(graph.Async|graph.Loser) != 0 {
				continue
			}
			its := owners.Of(c, v.Key.Site)
			if its == nil || its != v && !(v.Owner == queuewait.ServerQueue && its.Key.Target == v.Key.Target && its.Key.Site == v.Key.Site) {
				continue
			}
			w := queuedCall{key: keyOf(rec, c), at: int64(c.Outer().Start), hold: c.Outer().Duration()}
			if v.Key.Site == queuewait.Lead || v.Key.Site == queuewait.Ahead {
				if plan == nil {
					plan = l.Walker.Plan(rec, nil)
				}
				lead, ok := leadOf(plan, int32(i), c.Client.Seen())
				if !ok {
					continue
				}
				w.wait, _ = owners.Lead(set.Calibration.Side, rec, int32(i), max(0, lead))
				w.at -= w.wait
				proc := c.Outer().Proc
				if v.Key.Site == queuewait.Ahead && v.Owner == queuewait.ClientWait {
					proc = rec.Calls[c.Parent].Work.Proc
				}
				by[proc] = append(by[proc], w)
				continue
			}
			if v.Key.Site == queuewait.Inside {
				if c.Work.Seen() {
					continue
				}
				w.wait = l.Inside(rec, int32(i))
				w.hold -= w.wait
				by[c.Client.Proc] = append(by[c.Client.Proc], w)
				continue
			}
			gap, ok := queuewait.Gap(c)
			if !ok {
				continue
			}
			floor, _ := set.Calibration.Floors.Of(c.Slot)
			w.wait = floor.Wait(gap)
			if v.Owner == queuewait.ServerQueue {
				w.at, w.hold = int64(c.Work.Start)-w.wait, c.Work.Duration()
				by[c.Work.Proc] = append(by[c.Work.Proc], w)
				continue
			}
			w.hold = max(0, w.hold-w.wait)
			by[c.Client.Proc] = append(by[c.Client.Proc], w)
		}
	}
	procs := make([]graph.ProcID, 0, len(by))
	for p := range by {
		procs = append(procs, p)
	}
	slices.Sort(procs)
	var out [][]queuedCall
	for _, p := range procs {
		slices.SortFunc(by[p], func(x, y queuedCall) int {
			return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.hold, y.hold), slices.Compare(x.key.id[:], y.key.id[:]), cmp.Compare(x.key.slot, y.key.slot))
		})
		out = append(out, by[p])
	}
	return out
}

// leadOf is the time before a call begins, in a plan.
func leadOf(p *graph.Plan, call int32, client bool) (int64, bool) {
	for k := range p.Steps {
		if st := &p.Steps[k]; !st.Leave && st.Call() == call && st.Client() == client {
			return st.NS, true
		}
	}
	return 0, false
}
