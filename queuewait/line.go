package queuewait

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// A line is the calls of one process, in the order in which they begin.
type line struct {
	calls []trace.Interval
	ends  []trace.Time
}

func inOrder(a, b trace.Interval) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
}

// found reports whether a call that began at t found one of k places free: fewer were held then, with those that had been
// given back for less than late.
func (l *line) found(k int, t, late trace.Time) bool {
	began, _ := slices.BinarySearchFunc(l.calls, t, func(v trace.Interval, t trace.Time) int { return cmp.Compare(v.Start, t) })
	ended, _ := slices.BinarySearch(l.ends, t-late)
	return began-ended < k
}

// turns tells the calls that waited before their first spans from those that found a place free, where it is known how
// many places there are, and at the caller or at the callee. What comes before a call is the caller's own time then, and what that is those that did not wait
// tell: it may vary as it likes.
type turns struct {
	lines  map[graph.ProcID]*line
	places int
	late   trace.Time
	owner  Owner
	ahead  bool // no client span tells that the wait was in this queue
	own    map[graph.SlotID]ownTime
}

// An ownTime is the time that a caller takes by itself before its calls of a slot: the mean, in ns, by how much that
// of the calls that waited may differ from it, and up to where it may be all that there is. Beyond far a call that found a
// place free may have waited for another's.
type ownTime struct{ mean, off, reach, far int64 }

// ownDiffers is by which part of it the own time before calls without client spans may differ between those that waited and
// those that did not: it holds whatever their callers do that no span shows, which takes longer when there is more to do.
const ownDiffers = 0.25

// minFree is how many calls that found a place free tell the caller's own time.
const minFree = 20

// Lead is how long call i of a side's record, whose first span began ns after the step before it had ended, is likely to have
// waited in that time, and what of it is no wait.
func (o *Owners) Lead(side int, r *graph.Record, i int32, ns int64) (wait int64, floor Floor) {
	c := &r.Calls[i]
	floor, _ = o.Leads.Of(c.Slot)
	v := o.Before(c)
	if v != nil && v.Key.Site == Ahead {
		return o.leadAhead(side, v, r, c, ns, floor)
	}
	if v == nil || v.turns[side] == nil {
		return floor.Wait(ns), floor
	}
	return v.turns[side].wait(c.Slot, c.Client.Proc, c.Client.Start, ns, floor)
}

func (t *turns) wait(slot graph.SlotID, proc graph.ProcID, at trace.Time, ns int64, floor Floor) (int64, Floor) {
	own, ok := t.own[slot]
	l := t.lines[proc]
	if !ok || l == nil {
		return floor.Wait(ns), floor
	}
	if l.found(t.places, at, t.late) {
		f := Floor{NS: floor.NS, N: floor.N, Typical: ns, Reach: ns, Lo: ns, Hi: ns}
		if t.ahead && ns > own.far {
			f.Lo = own.mean // another's place, of which nothing is known
		}
		return 0, f
	}
	f := Floor{NS: floor.NS, N: floor.N, Typical: min(own.mean, ns), Lo: min(max(0, own.mean-own.off), ns), Hi: min(own.mean+own.off, ns)}
	if t.ahead {
		f.Hi = own.mean + own.off // those that took less make up for others that took more
	}
	if ns <= own.reach {
		f.Hi = max(f.Hi, ns) // a place may have been given back just before by chance
	}
	return ns - f.Typical, f
}

// takeTurns tells by the limit which calls waited before their first spans, where all calls are known and the ends of
// others let them go on: a place may be held for longer than a call, such as a lock around it.
func (a *asker) takeTurns() {
	lets := slices.ContainsFunc(a.v.Tests, func(t Test) bool { return t.Name == "hand-over" && t.Says == a.v.Owner })
	mayTell := a.key.Site == Lead && a.v.Owner == ClientWait || a.key.Site == Ahead && a.v.Queued() && a.v.Owner != Pause
	if !mayTell || !lets || a.share() < 1 {
		return
	}
	type leads struct{ free, waited []float64 }
	by := map[graph.SlotID]*leads{}
	var took [2]*turns
	for i, d := range a.sets {
		s := a.v.Sides[i]
		if d == nil || s.N == 0 {
			continue
		}
		if a.partial(i) || s.Limit == 0 {
			return
		}
		took[i] = &turns{places: s.Limit, late: handOverWindows[len(handOverWindows)-1], owner: a.v.Owner, ahead: a.key.Site == Ahead, own: map[graph.SlotID]ownTime{}}
		if a.key.Site == Ahead {
			took[i].lines = a.placesAhead(i, a.v.Owner)
		} else {
			took[i].lines = a.linesOf(i)
		}
		for j := range a.calls[i][a.key] {
			c := &a.calls[i][a.key][j]
			x := by[c.Slot]
			if x == nil {
				x = &leads{}
				by[c.Slot] = x
			}
			list := &x.waited
			if proc, at := c.placeOf(a.v.Owner); took[i].lines[proc].found(s.Limit, at, took[i].late) {
				list = &x.free
			}
			*list = append(*list, float64(c.Given-c.Asked))
		}
	}
	for slot, x := range by {
		n := float64(len(x.free))
		if n < minFree {
			continue
		}
		slices.Sort(x.free) // so that the sums do not depend on the order of the input
		var sum, squares float64
		for _, ns := range x.free {
			sum += ns
		}
		mean := sum / n
		for _, ns := range x.free {
			squares += (ns - mean) * (ns - mean)
		}
		sd := math.Sqrt(squares / n)
		off := 2 * sd * math.Sqrt(1/n+1/float64(max(1, len(x.waited))))
		for _, t := range took {
			if t != nil {
				if t.ahead {
					off = max(off, ownDiffers*mean+wakeUp)
				}
				t.own[slot] = ownTime{int64(mean), int64(off), int64(mean + 2*sd), int64(mean + sd)}
			}
		}
	}
	a.v.turns = took
	for i, s := range a.v.Sides {
		if took[i] == nil {
			continue
		}
		s.Wait = 0
		calls := a.calls[i][a.key]
		for j := range calls {
			c := &calls[j]
			floor, _ := a.o.Leads.Of(c.Slot)
			proc, at := c.placeOf(a.v.Owner)
			c.Wait, _ = took[i].wait(c.Slot, proc, at, int64(c.Given-c.Asked), floor)
			s.Wait += float64(c.Wait)
		}
		s.Wait /= float64(len(calls))
	}
}
