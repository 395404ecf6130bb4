package hypotheses

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

var pause = Cause{
	Doc: Doc{
		Kind:     "pause",
		Title:    "an instance that stood still",
		Claim:    "An instance did nothing for a while (garbage collection, a stopped event loop, a throttled CPU), and what was in flight waited.",
		Supports: "Stretches in which nothing began or ended at the instance though its rate says that much should have, after which several requests went on at once, with work of its own in flight that took far longer than it does; or its spans begin late and it reads answers late, without more to do.",
		Refutes:  "Other calls of the instance made progress meanwhile, or all that was in flight waited for somebody else.",
		Mimics:   "client-wait and server-queue end with a release, that hands on to one other; network moves both ways and the least time too; a lull of traffic has nothing of its own in flight; stops that begin and end with one operation of the endpoint itself are its service-time.",
		Emit:     "GC pause (jvm.gc.duration), event-loop delay (nodejs.eventloop.delay.max) and CPU throttling (container_cpu_cfs_throttled_seconds_total) of each instance.",
	},
	find: func(a *Asking) []Finding {
		return slices.Concat(a.pauses(), a.waiting(queuewait.Pause), a.turns("pause"))
	},
}

const (
	// minSilence is the shortest stretch of a request that is looked at for being longer than usual.
	minSilence = 20_000_000
	// burst is how soon after a stop what had waited for it ends.
	burst = 3_000_000
	// minPiled is how much that is late must end with a stop where nothing was in flight through all of it: two do not
	// end together by chance.
	minPiled = 2
	// pausesRose is by how much the time stood still must have grown, and
	// minPauses how many stops make a finding.
	pausesRose = 2
	minPauses  = 3
)

// stops are those of each process of one side that had work of this endpoint in flight which took longer than usual.
func (a *Asking) stops(side int) map[graph.ProcID][]queuewait.Stop {
	work := map[graph.ProcID][]trace.Interval{}
	long := map[PartKey]float64{} // the usual longest of each part
	for j, q := range a.Sides[side].Counted {
		plan := a.planOf(side, j)
		for k := range plan.Steps {
			st := &plan.Steps[k]
			if st.NS < minSilence {
				continue
			}
			usual, ok := long[a.key(q, st)]
			if !ok {
				usual = a.parts[summary.Baseline][a.key(q, st)].at(0.99)
				long[a.key(q, st)] = usual
			}
			if float64(st.NS) <= usual {
				continue
			}
			if p, ok := a.stillAt(q, st); ok {
				work[p] = append(work[p], trace.Interval{Start: st.At - trace.Time(st.NS), End: st.At})
			}
		}
	}
	out := map[graph.ProcID][]queuewait.Stop{}
	for p, list := range a.cur().Set.Calibration.Owners.Stops[side] {
		for _, v := range list {
			// Work was in flight throughout, or what came meanwhile piled up and went on at the end.
			through, piled := false, 0
			for _, b := range work[p] {
				if b.Start <= v.Start+edge(v.Duration()) && b.End >= v.End-edge(v.Duration()) {
					through = true
				}
				if b.Start < v.End-minSilence && b.End >= v.End && b.End <= v.End+burst {
					piled++
				}
			}
			if through || piled >= minPiled {
				out[p] = append(out[p], v)
			}
		}
	}
	return out
}

// edge is a tenth of a stretch: how far the work in flight may fail to reach its ends.
func edge(ns int64) trace.Time { return trace.Time(ns / 10) }

// stillAt is the process whose standing still would lengthen a step: that of its
// own time, or the callee's before its span begins.
func (a *Asking) stillAt(q *summary.Request, s *graph.Step) (graph.ProcID, bool) {
	c := &q.Calls[s.Call()]
	switch {
	case s.Client() && c.Client.Seen():
		if s.Leave && !c.Work.Seen() {
			return 0, false // an uninstrumented peer's
		}
		return c.Client.Proc, true
	case !s.Client() && c.Work.Seen():
		return c.Work.Proc, true
	}
	return 0, false
}

// A standstill is the stops of an instance, or of all instances of a service.
type standstill struct {
	service, instance trace.StringID // no instance: all, of several
	stops             [2]map[graph.ProcID][]queuewait.Stop

	// holder is the work that went on through nearly all stops alone, so that all else waited for it; NoSlot if there is none.
	// node is the endpoint's own slot for it, NoSlot where it is work of another endpoint.
	holder, node graph.SlotID
	held         int
}

func (s *standstill) sum(side int) (n int, ns float64) {
	for _, list := range s.stops[side] {
		for _, v := range list {
			n++
			ns += float64(v.Duration())
		}
	}
	return n, ns
}

// standstills are the instances that stood still more than they did; of a service whose instances all did it is the service.
func (a *Asking) standstills() []*standstill {
	if a.still != nil {
		return a.still
	}
	by := map[instanceKey]*standstill{}
	for side := range a.Sides {
		for p, list := range a.stops(side) {
			k := a.instanceOf(p)
			if by[k] == nil {
				by[k] = &standstill{service: k.service, instance: k.instance}
			}
			if by[k].stops[side] == nil {
				by[k].stops[side] = map[graph.ProcID][]queuewait.Stop{}
			}
			by[k].stops[side][p] = list
		}
	}
	working := map[trace.StringID]map[trace.StringID]bool{} // instances of each service
	for _, q := range a.cur().Counted {
		for i := range q.Calls {
			if w := &q.Calls[i].Work; w.Seen() {
				k := a.instanceOf(w.Proc)
				if working[k.service] == nil {
					working[k.service] = map[trace.StringID]bool{}
				}
				working[k.service][k.instance] = true
			}
		}
	}
	a.still = []*standstill{}
	many := map[trace.StringID][]*standstill{}
	for _, k := range slices.SortedFunc(maps.Keys(by), func(x, y instanceKey) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.instance, y.instance))
	}) {
		s := by[k]
		_, was := s.sum(summary.Baseline)
		if n, is := s.sum(summary.Current); n >= minPauses && is >= pausesRose*was {
			many[k.service] = append(many[k.service], s)
			a.still = append(a.still, s)
		}
	}
	for service, list := range many {
		if len(list) < 2 || len(list) < len(working[service]) {
			continue
		}
		all := &standstill{service: service}
		for side := range all.stops {
			all.stops[side] = map[graph.ProcID][]queuewait.Stop{}
			for _, s := range list {
				maps.Copy(all.stops[side], s.stops[side])
			}
		}
		a.still = slices.DeleteFunc(a.still, func(s *standstill) bool { return s.service == service })
		a.still = append(a.still, all)
	}
	slices.SortStableFunc(a.still, func(x, y *standstill) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.instance, y.instance))
	})
	for _, s := range a.still {
		a.hold(s)
	}
	return a.still
}

const (
	// minHeld is the share of stops that one work must have gone on through alone to have caused them, and sureHeld by how
	// many standard errors it must exceed chance, which is one of those at work.
	minHeld  = 0.7
	sureHeld = 3
)

// hold finds what went on while a process stood still.
func (a *Asking) hold(s *standstill) {
	s.holder, s.node = graph.NoSlot, graph.NoSlot
	type name struct{ service, operation trace.StringID }
	by, slots := map[name]int{}, map[name]graph.SlotID{}
	n, chance := 0, 0.0
	for _, list := range s.stops[summary.Current] {
		for _, v := range list {
			n++
			chance += 1 / float64(max(1, v.Through))
			if v.Held == graph.NoSlot {
				continue
			}
			shown := a.slot(v.Held).Shown()
			k := name{shown.Service, shown.Operation}
			by[k]++
			if at, ok := slots[k]; !ok || v.Held < at {
				slots[k] = v.Held
			}
		}
	}
	chance /= float64(n)
	for _, k := range slices.SortedFunc(maps.Keys(by), func(x, y name) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.operation, y.operation))
	}) {
		share := float64(by[k]) / float64(n)
		if share < minHeld || share-chance < sureHeld*math.Sqrt(chance*(1-chance)/float64(n)) || chance > minHeld {
			continue
		}
		s.holder, s.held = slots[k], by[k]
		for rel, abs := range a.slots[summary.Current] {
			for _, x := range abs {
				if sh := a.slot(x).Shown(); (name{sh.Service, sh.Operation}) == k && (s.node == graph.NoSlot || rel < s.node) {
					s.node = rel
				}
			}
		}
	}
}

// pauses finds the instances that stood still more than they did, but for work of this endpoint: then the work is the cause.
func (a *Asking) pauses() []Finding {
	var out []Finding
	for _, s := range a.standstills() {
		if s.node != graph.NoSlot {
			continue
		}
		d := a.Reading.Dict
		n0, was := s.sum(summary.Baseline)
		n1, is := s.sum(summary.Current)
		f := Finding{Kind: "pause", Service: d.String(s.service), Instance: d.String(s.instance)}
		who := "the instances of " + f.Service
		if s.instance != 0 || len(s.stops[summary.Current]) == 1 {
			who = fmt.Sprintf("instance %s of %s", f.Instance, f.Service)
		}
		f.Claim = fmt.Sprintf("%s stood still %d times, for %s on average", who, n1, prose.Ns(is/float64(n1)))
		f.Evidence = append(f.Evidence,
			numbers("spans", n1, "", float64(n0), float64(n1), "stretches without any event, with work of its own in flight"),
			numbers("spans", n1, "ms", was/1e6, is/1e6, "time stood still in all"),
		)
		f.Check = Check{
			Question: "did anything of the instance make progress while it seemed to stand still?",
			Rival:    "instance: it is slower, but never stops",
			IfThis:   "no: nothing began or ended for longer than its rate allows",
			IfRival:  "yes: others went on beside what was slow",
			Ran:      true,
			Outcome:  fmt.Sprintf("%d stretches without a single event, of %s together", n1, prose.Ns(is)),
			Query:    "",
		}
		a.whyStill(s, &f)
		f.Factor = a.goOn(s)
		out = append(out, f)
	}
	return out
}

// goOn takes the stops of a standstill out of what waited for them.
func (a *Asking) goOn(s *standstill) Factor {
	var work []graph.SlotID
	if s.node != graph.NoSlot {
		work = a.work(s.node)
	}
	stops := s.stops[summary.Current]
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for i := range p.Steps {
			st := &p.Steps[i]
			if st.NS < minSilence/4 {
				continue
			}
			proc, ok := a.stillAt(q, st)
			c := &q.Calls[st.Call()]
			least := min(st.NS, 0)
			read := !ok && st.Leave && c.Client.Seen() && !c.Work.Seen()
			if read { // the reply of a peer that says nothing: read when the process went on, and not sooner than it usually comes
				proc = c.Client.Proc
				least = int64(a.parts[summary.Baseline][a.key(q, st)].at(0.5))
			} else if !ok {
				continue
			}
			if work != nil && a.ownPart(q, st, work) {
				continue // what goes on while all else waits
			}
			v := trace.Interval{Start: st.At - trace.Time(st.NS), End: st.At}
			for _, s := range stops[proc] {
				if o := s.Clip(v); v.Overlaps(s.Interval) && (!read || v.End <= s.End+burst) {
					values[i] -= o.Duration()
				}
			}
			values[i] = min(st.NS, max(values[i], least))
		}
	}
}
