package queuewait

import (
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

// minWait is the wait beyond the floor from which a call counts as having
// waited, and minWaits how many such calls a test needs.
const (
	minWait  = 1_500_000
	minWaits = 20
)

// handOverWindows are how soon after a release a wait may end to have been
// ended by it. The first is that of one machine; the others allow for the
// wake-up delay of a loaded one. The narrowest that shows as much as the widest
// is used.
var handOverWindows = []trace.Time{200_000, 500_000, 1_000_000, 2_000_000, 5_000_000}

// A HandOver is how often the end of another holder ended a wait.
type HandOver struct {
	Waits  int        // that were asked
	Share  float64    // of them that ended within Window after a release
	Chance float64    // the same at shifted times
	Window trace.Time // ns
	Delay  trace.Time // the mean time from the release to the wait's end, of those within Window
}

// Excess is the share that chance does not explain.
func (h HandOver) Excess() float64 {
	if h.Chance >= 1 {
		return 0
	}
	return max(0, (h.Share-h.Chance)/(1-h.Chance))
}

// releases is the ends of holders by the process that held.
type releases map[graph.ProcID][]trace.Time

func (r releases) sort() {
	for _, list := range r {
		radix.Ints(list)
	}
}

// before is the latest release of p at or before t, and whether there is one.
func (r releases) before(p graph.ProcID, t trace.Time) (trace.Time, bool) {
	list := r[p]
	i, found := slices.BinarySearch(list, t)
	if found {
		return list[i], true
	}
	if i == 0 {
		return 0, false
	}
	return list[i-1], true
}

// handOver asks whether the waits of calls ended at releases. at is when a
// call's wait ended, in the clock of the releases of the process of; early is
// how much before that instant a release may seem to come, for the clocks.
func handOver(calls []Call, rel releases, at func(*Call) (graph.ProcID, trace.Time), early func(*Call) trace.Time) HandOver {
	best := HandOver{}
	var waits []*Call
	for i := range calls {
		if calls[i].Wait >= minWait {
			waits = append(waits, &calls[i])
		}
	}
	if len(waits) < minWaits {
		return HandOver{Waits: len(waits)}
	}
	tries := make([]HandOver, len(handOverWindows))
	for n, window := range handOverWindows {
		h := HandOver{Waits: len(waits), Window: window}
		var delays []trace.Time
		for _, c := range waits {
			p, t := at(c)
			e := early(c)
			if r, ok := rel.before(p, t+e); ok && t-r <= window+e {
				h.Share++
				delays = append(delays, t-r)
			}
			for _, shift := range chanceShifts {
				if r, ok := rel.before(p, t+e+shift); ok && t+shift-r <= window+e {
					h.Chance++
				}
			}
		}
		h.Share /= float64(len(waits))
		h.Chance /= float64(len(waits) * len(chanceShifts))
		for _, d := range delays {
			h.Delay += d
		}
		if len(delays) > 0 {
			h.Delay /= trace.Time(len(delays))
		}
		tries[n] = h
		if h.Excess() > best.Excess() {
			best = h
		}
	}
	for _, h := range tries {
		if h.Excess() >= 0.8*best.Excess() {
			return h
		}
	}
	return tries[0]
}

// chanceShifts are by how much waits are moved to ask what chance gives: far
// enough that another release is meant, near enough that load is the same.
var chanceShifts = []trace.Time{-61_700_000, -41_300_000, -23_900_000, -13_100_000, 13_700_000, 24_300_000, 42_100_000, 63_100_000}
