package hypotheses

import (
	"cmp"
	"fmt"
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

// A silence is a stretch in which nothing began or ended at a process, though something there took longer than it ever
// did and ended with the stretch, or lasted all through it.
type silence struct {
	trace.Interval
	sure bool // by itself: the process's own rate promises events for it, and they came in a burst at its end
}

// A delayed is a stretch of a request that took longer than it did in all but 1 % of the baseline, and that a process
// which stands still would lengthen.
type delayed struct {
	trace.Interval
	req int
}

// delays are the delayed stretches of one side by process.
func (a *Asking) delays(side int) map[graph.ProcID][]delayed {
	out := map[graph.ProcID][]delayed{}
	long := map[PartKey]float64{} // the usual longest of each part
	usual := func(k PartKey) float64 {
		x, ok := long[k]
		if !ok {
			x = math.Inf(1) // what was not there before was never late
			if p := a.parts[summary.Baseline][k]; p != nil {
				x = p.at(0.99)
			}
			long[k] = x
		}
		return x
	}
	s := a.Sides[side]
	w := graph.Walker{Dict: a.Reading.Dict, Verdicts: s.Set.Calibration.Verdicts}
	for j, q := range s.Counted {
		plan := a.planOf(side, j)
		for k := range plan.Steps {
			st := &plan.Steps[k]
			if st.NS < minSilence || float64(st.NS) <= usual(a.key(q, st)) {
				continue
			}
			if p, ok := a.stillAt(q, st); ok {
				out[p] = append(out[p], delayed{trace.Interval{Start: st.At - trace.Time(st.NS), End: st.At}, j})
			}
		}
		// Of a call that was left, what its callee did is no part of the request's plan. When it began tells.
		walked := false
		for k := range q.Calls {
			c := &q.Calls[k]
			if !c.Paired() || !c.OuterEnd().Left() || c.Flags&graph.Loser != 0 {
				continue
			}
			if !walked {
				w.Walk(q.Record)
				walked = true
			}
			ns := int64(c.Work.Start-c.Client.Start) + w.Shift(int32(k), false) - w.Shift(int32(k), true)
			if ns >= minSilence && float64(ns) > usual(PartKey{Slot: a.Relative(q, c.Slot)}) {
				out[c.Work.Proc] = append(out[c.Work.Proc], delayed{trace.Interval{Start: c.Work.Start - trace.Time(ns), End: c.Work.Start}, j})
			}
		}
	}
	return out
}

// silences are the stops of each process of one side.
func (a *Asking) silences(side int) map[graph.ProcID][]silence {
	events := map[graph.ProcID][]trace.Time{}
	for _, rec := range a.Sides[side].Set.Records {
		for i := range rec.Calls {
			for _, h := range [2]*graph.Half{&rec.Calls[i].Client, &rec.Calls[i].Work} {
				if h.Seen() {
					events[h.Proc] = append(events[h.Proc], h.Start, h.End)
				}
			}
		}
	}
	late := a.delays(side)
	out := map[graph.ProcID][]silence{}
	for p, list := range events {
		if len(late[p]) == 0 || len(list) < 2 {
			continue
		}
		slices.Sort(list)
		rate := float64(len(list)) / float64(list[len(list)-1]-list[0]+1)
		long := len(list) >= 100
		var perhaps []silence
		together, stops := 0, 0
		for i := 1; i < len(list); i++ {
			gap := list[i] - list[i-1]
			if gap < minSilence {
				continue
			}
			// Work was in flight throughout, or what came meanwhile piled up and went on at the end.
			v := trace.Interval{Start: list[i-1], End: list[i]}
			through, piled, reqs := false, 0, map[int]bool{}
			for _, b := range late[p] {
				if b.Start <= v.Start+edge(gap) && b.End >= v.End-edge(gap) {
					through = true
				}
				if b.Start < v.End-minSilence && b.End >= v.End && b.End <= v.End+burst {
					piled++
					reqs[b.req] = true
				}
			}
			if !through && piled == 0 {
				continue
			}
			// What waited goes on together.
			after, _ := slices.BinarySearch(list, list[i]+burst+1)
			n := float64(after - i)
			sure := long && rate*float64(gap) >= missedEvents && n >= minBurst && n >= 3*rate*float64(burst) && (through || piled >= minPiled)
			if len(reqs) >= minPiled {
				together += len(reqs)
				stops++
			}
			perhaps = append(perhaps, silence{v, sure})
		}
		// Few of the calls of a process may be known, so that its rate promises nothing. Then what was late at one time
		// tells: it ends together if the process stood still, and one after the other if it waited in a queue or was slow.
		all := stops >= minPauses && float64(together) >= endTogether*float64(together+apart(late[p]))
		for _, s := range perhaps {
			if s.sure || all {
				out[p] = append(out[p], s)
			}
		}
	}
	return out
}

// endTogether is the share of what was late at the same time as something else that must end with it for stops to be
// believed by this alone.
const endTogether = 0.5

// apart is how many of those that are late at the same time as one of another request end at another time.
func apart(late []delayed) int {
	list := slices.Clone(late)
	slices.SortFunc(list, func(x, y delayed) int { return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Start, y.Start)) })
	n := 0
	for i, d := range list {
		alone, with := false, false
		for k := i - 1; k >= 0 && list[k].End > d.Start+minSilence; k-- {
			if list[k].req != d.req {
				with = with || d.End-list[k].End <= burst
				alone = true
			}
		}
		if alone && !with {
			n++
		}
	}
	return n
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
		still := func(j int, p *graph.Plan, values []int64) {
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
					if o := s.Interval.Clip(v); v.Overlaps(s.Interval) && (!read || v.End <= s.End+burst) {
						values[i] -= o.Duration()
					}
				}
				values[i] = min(st.NS, max(values[i], least))
			}
		}
		f.Factor = a.withLeft(&f, stops, still)
		out = append(out, f)
	}
	return out
}

// withLeft adds to a replay of stops the calls that were left because their callee stood still: those are answered as
// fast as before.
func (a *Asking) withLeft(f *Finding, stops map[graph.ProcID][]silence, still Factor) Factor {
	back := []Factor{still}
	for _, t := range a.targets() {
		is := &t.sides[summary.Current]
		left := map[int]map[int32]bool{}
		n, weight := 0, 0.0
		for i := range is.calls {
			x := &is.calls[i]
			c := &a.request(x.req).Calls[x.call]
			if x.ended != graph.TimedOut || !c.Work.Seen() || !meets(stops[c.Work.Proc], c.Work.Start-trace.Time(x.ns), c.Work.End) {
				continue
			}
			if left[x.req] == nil {
				left[x.req] = map[int32]bool{}
			}
			left[x.req][x.call] = true
			n, weight = n+1, weight+x.w
		}
		if n == 0 {
			continue
		}
		_, _, op := a.names(t.slot)
		f.Evidence = append(f.Evidence, says("spans", n, "%s timed out around the stops", plural(n, "call of "+op, "calls of "+op)))
		if f.limits == nil {
			f.limits = map[*target]float64{}
		}
		f.limits[t] = share(weight, is.timedOut)
		back = append(back, a.answeredAsBefore(t, func(j int, attempts []int32) bool {
			return slices.ContainsFunc(attempts, func(c int32) bool { return left[j][c] })
		}))
	}
	if len(back) == 1 {
		return still
	}
	return func(j int, p *graph.Plan, values []int64) {
		for _, g := range back {
			g(j, p, values)
		}
	}
}

// meets reports whether a stop lies in a stretch of time, at least its shortest.
func meets(stops []silence, from, to trace.Time) bool {
	return slices.ContainsFunc(stops, func(s silence) bool {
		return s.Interval.Clip(trace.Interval{Start: from, End: to}).Duration() >= minSilence
	})
}
