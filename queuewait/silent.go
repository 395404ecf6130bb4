package queuewait

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

const (
	// missedStarts is how many spans a process should have begun by its rate while calls waited for it, all waits together,
	// for its silence to tell: none of six is a chance of 0.2 %. lively is the share of that from which it went on.
	missedStarts, lively = 6, 0.1
	// minSilent is how many stretches there must be.
	minSilent = 5
	// released is the share of the waits from which their ends are those of work that held the only place, and releasedIn how
	// soon after it they come: a process that goes on has all it did yet to do.
	released, releasedIn = 0.3, 1_000_000
)

// silent finds the stops of processes whose own rate promises too little for each of them: calls wait long, and in all
// those stretches together the process does nothing. In a queue others end before the wait does, and calls that are held up
// on the way do not keep the process from going on.
func (e *activity) silent(calls map[EdgeKey][]Call) map[graph.ProcID][]Stop {
	waits, waited := map[graph.ProcID][]*Call{}, map[graph.ProcID]map[trace.Time]bool{}
	for k, list := range calls {
		if k.Site != Between {
			continue
		}
		for i := range list {
			if c := &list[i]; c.Wait >= minStop && c.Slack <= c.Wait/2 && float64(c.Given-c.Asked) >= oneWay*float64(c.Wait) {
				waits[c.Callee] = append(waits[c.Callee], c)
				if waited[c.Callee] == nil {
					waited[c.Callee] = map[trace.Time]bool{}
				}
				waited[c.Callee][c.GivenThere] = true
			}
		}
	}
	out := map[graph.ProcID][]Stop{}
	for p, list := range waits {
		w, marks := e.work[p], e.marks[p]
		if w == nil || len(list) < minSilent {
			continue
		}
		slices.SortFunc(list, func(x, y *Call) int {
			return cmp.Or(cmp.Compare(x.GivenThere, y.GivenThere), cmp.Compare(y.Wait, x.Wait))
		})
		usual := e.startsAfter(p, waited[p])
		var found []Stop
		promised := 0.0
		inside, ends := 0, 0
		upTo := marks[0].at
		for _, c := range list {
			from := max(upTo, c.GivenThere-trace.Time(c.Wait))
			to := c.GivenThere - burst
			upTo = c.GivenThere
			if c.GivenThere-from < minStop {
				continue // it waited with the one before, or for it
			}
			a, _ := slices.BinarySearchFunc(marks, from+1, func(m mark, t trace.Time) int { return cmp.Compare(m.at, t) })
			b, _ := slices.BinarySearchFunc(marks, to, func(m mark, t trace.Time) int { return cmp.Compare(m.at, t) })
			promised += usual(to - from)
			inside += b - a
			before, _ := slices.BinarySearch(w.ends, c.GivenThere-releasedIn)
			until, _ := slices.BinarySearch(w.ends, c.GivenThere+sameEvent)
			if until > before {
				ends++
			}
			if b > 0 && b < len(marks) {
				s := e.stop(p, b)
				if s.Start = max(s.Start, from); s.Duration() >= minStop {
					found = append(found, s)
				}
			}
		}
		if len(found) >= minSilent && promised >= missedStarts && float64(inside) <= lively*promised && float64(ends) < released*float64(len(found)) {
			out[p] = found
		}
	}
	return out
}

// comparedStarts is how many starts that nobody waited for tell what a process usually begins after one.
const comparedStarts = 64

// startsAfter is how many spans of served calls a process begins on average in a time after one that did not wait: balanced
// calls come less close together than chance has it.
func (e *activity) startsAfter(p graph.ProcID, waited map[trace.Time]bool) func(trace.Time) float64 {
	starts := e.work[p].starts
	var some []int
	for i := 0; i < len(starts); i += 1 + len(starts)/comparedStarts {
		if !waited[starts[i]] {
			some = append(some, i)
		}
	}
	return func(within trace.Time) float64 {
		n := 0
		for _, i := range some {
			at, _ := slices.BinarySearch(starts, starts[i]+within)
			n += max(0, at-i-1)
		}
		return float64(n) / float64(max(1, len(some)))
	}
}
