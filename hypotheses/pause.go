package hypotheses

import (
	"fmt"
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
		Supports: "Stretches in which nothing began or ended at the instance though its rate says that much should have, with work of its own in flight that took far longer than it does; or only the way back from the callee became longer.",
		Refutes:  "Other calls of the instance made progress meanwhile, or all that was in flight waited for somebody else.",
		Mimics:   "client-wait and server-queue end with a release; network moves both ways and the least time too; a lull of traffic has nothing of its own in flight.",
		Emit:     "GC pause, event-loop lag and CPU throttling metrics of each instance.",
	},
	find: func(a *Asking) []Finding { return append(a.pauses(), a.waiting(queuewait.Pause)...) },
}

const (
	// minSilence is the shortest stop that is looked for, and missedEvents how
	// many events an instance's own rate must promise for it: none of three is a
	// chance of 5 %, and work that took longer than all but 1 % of the baseline's
	// was in flight besides.
	minSilence   = 20_000_000
	missedEvents = 3
	// minBurst events within burst end a stop: what had waited begins or ends
	// together. A lull that one long piece of work ends has one.
	burst    = 3_000_000
	minBurst = 3
	// minPiled is how much that is late must end with a stop where nothing was in flight through all of it: two do not
	// end together by chance.
	minPiled = 2
	// pausesRose is by how much the time stood still must have grown, and
	// minPauses how many stops make a finding.
	pausesRose = 2
	minPauses  = 3
)

// A silence is a stretch in which nothing began or ended at a process.
type silence struct{ trace.Interval }

// silences are the stops of each process of one side: silent, with work of its
// own in flight.
func (a *Asking) silences(side int) map[graph.ProcID][]silence {
	events := map[graph.ProcID][]trace.Time{}
	type busy = silence
	work := map[graph.ProcID][]busy{}
	long := map[PartKey]float64{} // the usual longest of each part
	s := a.Sides[side]
	for _, rec := range s.Set.Records {
		for i := range rec.Calls {
			for _, h := range [2]*graph.Half{&rec.Calls[i].Client, &rec.Calls[i].Work} {
				if h.Seen() {
					events[h.Proc] = append(events[h.Proc], h.Start, h.End)
				}
			}
		}
	}
	for j, q := range s.Counted {
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
				work[p] = append(work[p], busy{trace.Interval{Start: st.At - trace.Time(st.NS), End: st.At}})
			}
		}
	}
	out := map[graph.ProcID][]silence{}
	for p, list := range events {
		if len(work[p]) == 0 || len(list) < 100 {
			continue
		}
		slices.Sort(list)
		rate := float64(len(list)) / float64(list[len(list)-1]-list[0]+1)
		for i := 1; i < len(list); i++ {
			gap := list[i] - list[i-1]
			if gap < minSilence || rate*float64(gap) < missedEvents {
				continue
			}
			// What waited goes on together.
			after, _ := slices.BinarySearch(list, list[i]+burst+1)
			if n := float64(after - i); n < minBurst || n < 3*rate*float64(burst) {
				continue
			}
			// Work was in flight throughout, or what came meanwhile piled up and went on at the end.
			v := trace.Interval{Start: list[i-1], End: list[i]}
			through, piled := false, 0
			for _, b := range work[p] {
				if b.Start <= v.Start+edge(gap) && b.End >= v.End-edge(gap) {
					through = true
				}
				if b.Start < v.End-minSilence && b.End >= v.End && b.End <= v.End+burst {
					piled++
				}
			}
			if through || piled >= minPiled {
				out[p] = append(out[p], silence{v})
			}
		}
	}
	return out
}

// edge is a tenth of a stretch: how far the work in flight may fail to reach its ends.
func edge(gap trace.Time) trace.Time { return gap / 10 }

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

// pauses finds the instances that stood still more than they did.
func (a *Asking) pauses() []Finding {
	lost := func(m map[graph.ProcID][]silence) (map[instanceKey]float64, map[instanceKey]int) {
		sum, n := map[instanceKey]float64{}, map[instanceKey]int{}
		for p, list := range m {
			for _, s := range list {
				sum[a.instanceOf(p)] += float64(s.Duration())
				n[a.instanceOf(p)]++
			}
		}
		return sum, n
	}
	now := a.silences(summary.Current)
	was, wasN := lost(a.silences(summary.Baseline))
	is, isN := lost(now)
	var out []Finding
	for _, k := range sortedInstances(is) {
		if isN[k] < minPauses || is[k] < pausesRose*was[k] {
			continue
		}
		d := a.Reading.Dict
		f := Finding{Kind: "pause", Service: d.String(k.service), Instance: d.String(k.instance)}
		f.Claim = fmt.Sprintf("instance %s of %s stood still %d times, for %s on average", f.Instance, f.Service, isN[k], prose.Ns(is[k]/float64(isN[k])))
		f.Evidence = append(f.Evidence,
			numbers("spans", isN[k], "", float64(wasN[k]), float64(isN[k]), "stretches without any event, with work of its own in flight"),
			numbers("spans", isN[k], "ms", was[k]/1e6, is[k]/1e6, "time stood still in all"),
		)
		f.Check = Check{
			Question: "did anything of the instance make progress while it seemed to stand still?",
			Rival:    "instance: it is slower, but never stops",
			IfThis:   "no: nothing began or ended for longer than its rate allows",
			IfRival:  "yes: others went on beside what was slow",
			Ran:      true,
			Outcome:  fmt.Sprintf("%d stretches without a single event, of %s together", isN[k], prose.Ns(is[k])),
			Query:    "",
		}
		stops := map[graph.ProcID][]silence{}
		for p, list := range now {
			if a.instanceOf(p) == k {
				stops[p] = list
			}
		}
		f.Factor = func(j int, p *graph.Plan, values []int64) {
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
				v := trace.Interval{Start: st.At - trace.Time(st.NS), End: st.At}
				for _, s := range stops[proc] {
					if o := s.Clip(v); v.Overlaps(s.Interval) && (!read || v.End <= s.End+burst) {
						values[i] -= o.Duration()
					}
				}
				values[i] = min(st.NS, max(values[i], least))
			}
		}
		out = append(out, f)
	}
	return out
}
