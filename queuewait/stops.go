package queuewait

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

// A Stop is a stretch in which nothing began or ended at a process that its own rate of events says should not have been
// silent, and after which several requests went on at once.
type Stop struct {
	trace.Interval

	// Held is the work whose events were the last before the stop and the first after it, NoSlot if they were of several: it
	// went on, and all else waited for it. By chance that is 1 in Through.
	Held    graph.SlotID
	Through int // requests at work in the process from its beginning to its end
}

const (
	// minStop is the shortest stop that is looked for, and missedEvents how many events the process' own rate must promise
	// for it: none of three is a chance of 5 %.
	minStop      = 20_000_000
	missedEvents = 3
	// minEvents is how many events make a rate.
	minEvents = 100

	// burst is how soon after a stop what had waited goes on: at least minBurst events, three times what the rate promises,
	// of minResumed requests. What ends and hands its thread or its connection to the next is two.
	burst      = 3_000_000
	minBurst   = 3
	minResumed = 3

	// sameEvent is how far apart the events of one instant may be recorded.
	sameEvent = 50_000
)

// A mark is a beginning or an end that a process saw, in some request that it served.
type mark struct {
	at      trace.Time
	handler int64 // record and call
}

// sorted is marks by time, and by handler those of one instant.
func sorted(list []mark) []mark {
	order := radix.Order(len(list), func(i int) int64 { return int64(list[i].at) })
	out := make([]mark, len(list))
	for i, k := range order {
		out[i] = list[k.Place]
	}
	for i := 0; i < len(out); {
		tie := i + 1
		for tie < len(out) && out[tie].at == out[i].at {
			tie++
		}
		if tie > i+1 {
			slices.SortFunc(out[i:tie], func(a, b mark) int { return cmp.Compare(a.handler, b.handler) })
		}
		i = tie
	}
	return out
}

// A served is what a process does: when its spans of served calls begin and end, both in order of time.
type served struct{ starts, ends []trace.Time }

// An activity is what every process saw.
type activity struct {
	records []*graph.Record
	marks   map[graph.ProcID][]mark // in order of time
	work    map[graph.ProcID]*served
}

func (e *activity) slot(m *mark) graph.SlotID {
	return e.records[m.handler>>32].Calls[int32(m.handler)].Slot
}

func activityOf(records []*graph.Record) *activity {
	e := &activity{records: records, marks: map[graph.ProcID][]mark{}, work: map[graph.ProcID]*served{}}
	var handler []int32 // of each call: the call whose work its work is a part of
	for n, r := range records {
		handler = handler[:0]
		for i := range r.Calls {
			c := &r.Calls[i]
			h := int32(i)
			in := func(proc graph.ProcID) bool { // the parent's work is in the same process
				return c.Parent >= 0 && r.Calls[c.Parent].Work.Seen() && r.Calls[c.Parent].Work.Proc == proc
			}
			if !c.Client.Seen() && c.Work.Seen() && in(c.Work.Proc) {
				h = handler[c.Parent]
			}
			handler = append(handler, h)
			put := func(half *graph.Half, by int32) {
				id := int64(n)<<32 | int64(by)
				e.marks[half.Proc] = append(e.marks[half.Proc], mark{half.Start, id}, mark{half.End, id})
			}
			if c.Work.Seen() {
				put(&c.Work, h)
				if h == int32(i) {
					w := e.work[c.Work.Proc]
					if w == nil {
						w = &served{}
						e.work[c.Work.Proc] = w
					}
					w.starts, w.ends = append(w.starts, c.Work.Start), append(w.ends, c.Work.End)
				}
			}
			if c.Client.Seen() {
				by := int32(i)
				if in(c.Client.Proc) {
					by = handler[c.Parent]
				}
				put(&c.Client, by)
			}
		}
	}
	for p, list := range e.marks {
		e.marks[p] = sorted(list)
	}
	for _, w := range e.work {
		radix.Ints(w.starts)
		radix.Ints(w.ends)
	}
	return e
}

// stop is the stretch between two neighbours of the marks of a process, with what went on through it.
func (e *activity) stop(p graph.ProcID, i int) Stop {
	list := e.marks[p]
	s := Stop{Interval: trace.Interval{Start: list[i-1].at, End: list[i].at}, Held: graph.NoSlot}
	for a := i - 1; a >= 0 && list[a].at >= s.Start-sameEvent; a-- {
		for b := i; b < len(list) && list[b].at <= s.End+sameEvent; b++ {
			if list[a].handler == list[b].handler {
				s.Held = e.slot(&list[a])
			}
		}
	}
	if w := e.work[p]; w != nil {
		began, _ := slices.BinarySearch(w.starts, s.Start+1)
		ended, _ := slices.BinarySearch(w.ends, s.End)
		s.Through = max(0, began-ended)
	}
	return s
}

// stops finds the stops of every process that its rate of events tells of. Of requests that are not kept no event is seen:
// the rates are those of the kept.
func (e *activity) stops() map[graph.ProcID][]Stop {
	out := map[graph.ProcID][]Stop{}
	for p, list := range e.marks {
		if len(list) < minEvents {
			continue
		}
		rate := float64(len(list)) / float64(list[len(list)-1].at-list[0].at+1)
		for i := 1; i < len(list); i++ {
			gap := list[i].at - list[i-1].at
			if gap < minStop || rate*float64(gap) < missedEvents {
				continue
			}
			after := i
			resumed := map[int64]bool{}
			for ; after < len(list) && list[after].at <= list[i].at+burst; after++ {
				resumed[list[after].handler] = true
			}
			if n := float64(after - i); n < minBurst || n < 3*rate*float64(burst) || len(resumed) < minResumed {
				continue
			}
			out[p] = append(out[p], e.stop(p, i))
		}
	}
	return out
}

// with is the stops of a process and those of others that lie in none of them.
func with(stops, others []Stop) []Stop {
	out := slices.Clone(stops)
	for _, s := range others {
		if overlap(stops, s.Interval) == 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y Stop) int { return cmp.Compare(x.Start, y.Start) })
	return out
}

// overlap is the part of v within the stops of a process that are sorted and apart.
func overlap(list []Stop, v trace.Interval) (ns int64) {
	i, _ := slices.BinarySearchFunc(list, v.Start, func(s Stop, t trace.Time) int { return cmp.Compare(s.End, t+1) })
	for ; i < len(list) && list[i].Start < v.End; i++ {
		ns += int64(min(list[i].End, v.End) - max(list[i].Start, v.Start))
	}
	return ns
}

const (
	// minStopped is the share of the time waited that must lie in stops, and overChance by how many times more than moved waits.
	minStopped = 0.5
	overChance = 2
)

// stopped asks whether waits lie in stops of the process that should have ended them: of the callee, or of the caller before the
// call and at its answer.
func (a *asker) stopped(side int) {
	stops := a.o.Stops[side]
	if len(stops) == 0 {
		return
	}
	var total, there, here, chance float64
	n := 0
	for i := range a.calls[side][a.key] {
		c := &a.calls[side][a.key][i]
		if c.Wait < minWait {
			continue
		}
		n++
		total += float64(c.Wait)
		asked := trace.Interval{Start: c.Given - trace.Time(c.Wait), End: c.Given}
		served, read := asked, asked
		if a.key.Site == Between || a.key.Site == Ahead {
			served = trace.Interval{Start: c.GivenThere - trace.Time(c.Wait), End: c.GivenThere}
		}
		if a.key.Site == Between {
			back := c.Given + trace.Time(c.OneWay) + trace.Time(c.Served.Duration()) // the answer was sent, by the caller's clock
			read = trace.Interval{Start: max(back, c.Done-trace.Time(c.Wait)), End: c.Done}
		}
		in := func(shift trace.Time) (there, here int64) {
			move := func(v trace.Interval) trace.Interval {
				return trace.Interval{Start: v.Start + shift, End: v.End + shift}
			}
			if c.Callee != graph.NoProc {
				there = overlap(stops[c.Callee], move(served))
			}
			here = overlap(stops[c.Caller], move(read))
			return min(there, c.Wait), min(here, max(0, c.Wait-there))
		}
		t, h := in(0)
		there, here = there+float64(t), here+float64(h)
		for _, shift := range chanceShifts {
			t, h := in(shift * 8)
			chance += float64(t+h) / float64(len(chanceShifts))
		}
	}
	if n < minWaits || total == 0 || there+here == 0 {
		return
	}
	says := Owner("")
	if (there+here)/total >= minStopped && there+here >= overChance*chance {
		says = Pause
		a.v.Stopped = a.key.Caller
		if there > here {
			a.v.Stopped = a.key.Target
		}
	}
	a.say("stops", says, "of the time that %d calls waited %.0f %% lie in stops of the callee's process, in which nothing began or ended there, and %.0f %% in stops of the caller's; moved waits %.0f %%",
		n, 100*there/total, 100*here/total, 100*chance/total)
}
