package queuewait

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
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

// handOver asks whether the waits of calls ended at releases: last is the latest of those a call may have waited for, at or
// before a time. at is when a call's wait ended, in the clock of the releases; early is
// how much before that instant a release may seem to come, for the clocks.
func handOver(calls []Call, last func(*Call, trace.Time) (trace.Time, bool), at func(*Call) trace.Time, early func(*Call) trace.Time) HandOver {
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
			t := at(c)
			// What ends a wait lies within it: a release before the call was asked for left the place free, and its own end comes
			// too late. So clocks of which little is known tell nothing, instead of what a sequence of calls shows anyway.
			e := min(early(c), c.Done-c.Given-1)
			latest := min(window+e, c.Given-c.Asked-1)
			if r, ok := last(c, t+e); ok && t-r <= latest {
				h.Share++
				delays = append(delays, t-r)
			}
			for _, shift := range chanceShifts {
				if r, ok := last(c, t+e+shift); ok && t+shift-r <= latest {
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
		if h.Excess() >= nearBest*best.Excess() {
			return h
		}
	}
	return tries[0]
}

// chanceShifts are by how much waits are moved to ask what chance gives: far
// enough that another release is meant, near enough that load is the same.
var chanceShifts = []trace.Time{-61_700_000, -41_300_000, -23_900_000, -13_100_000, 13_700_000, 24_300_000, 42_100_000, 63_100_000}

const (
	minHandOver  = 0.25 // share of waits, beyond chance, that a release must have ended
	overRival    = 2    // and how much more often than at the rival's
	sameCaller   = 0.9  // share of releases by the caller's own calls that tells a pool of the caller
	minPlateaued = 0.6  // share of waits at whose middle the same number is in service, within one
	nearBest     = 0.8  // of the excess of the best window: the narrowest such is taken
	// mostExpected is the share of releases by the caller's own calls up to which it can tell: of a caller that makes nearly
	// all calls any release is its own. halfway to all is the most that a server's queue, which takes them as they come, shows.
	mostExpected = 0.7
	halfway      = 0.5
	// unsteady is by how much the start of a span may follow the moment that it means, in ns, beside what clocks are off by.
	unsteady = 100_000
)

// handOver asks who let go when waits ended.
func (a *asker) handOver(side int) {
	if a.key.Site == Ahead {
		a.letGoAhead(side)
		return
	}
	calls := a.calls[side][a.key]
	client := a.sets[side].Queues.releases(func(s graph.SlotID) bool { return key(a.o.dict, s, a.key.Site) == a.key })
	c := handOver(calls, func(c *Call, t trace.Time) (trace.Time, bool) { return client.before(c.Caller, t) }, func(c *Call) trace.Time { return c.Given },
		func(c *Call) trace.Time {
			if a.key.Site == Lead {
				return 0
			}
			return trace.Time(c.Slack/2) + unsteady
		})
	if c.Waits < minWaits {
		a.say("hand-over", "", "%d calls waited longer than %s: %d are needed", c.Waits, prose.Ns(float64(minWait)), minWaits)
		return
	}
	if a.key.Site == Lead {
		says := Owner("")
		if c.ofAll(a.sets[side].kept()) >= minHandOver {
			says = ClientWait
		}
		a.v.WakeUp = max(0, int64(c.Delay))
		a.say("hand-over", says, "%.0f %% of %d waits ended within %s after another call of the same process ended; chance gives %.0f %%", 100*c.Share, c.Waits, prose.Ns(float64(c.Window)), 100*c.Chance)
		return
	}
	server := releases{}
	type end struct {
		at     trace.Time
		caller graph.ProcID
	}
	ends := map[graph.ProcID][]end{}
	for _, k := range a.toTarget(side) {
		for i := range a.calls[side][k] {
			x := &a.calls[side][k][i]
			server[x.Callee] = append(server[x.Callee], x.Served.End)
			ends[x.Callee] = append(ends[x.Callee], end{x.Served.End, x.Caller})
		}
	}
	server.sort()
	s := handOver(calls, func(c *Call, t trace.Time) (trace.Time, bool) { return server.before(c.Callee, t) },
		func(c *Call) trace.Time { return c.GivenThere }, func(*Call) trace.Time { return 0 })

	// Whose calls were the releases at the server?
	for _, list := range ends {
		slices.SortFunc(list, func(x, y end) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.caller, y.caller)) })
	}
	perCaller := map[graph.ProcID]float64{}
	same, asked := 0.0, 0.0
	var trips trips
	trips.add(calls)
	for i := range calls {
		x := &calls[i]
		perCaller[x.Caller]++
		if x.Wait < minWait {
			continue
		}
		list := ends[x.Callee]
		at, _ := slices.BinarySearchFunc(list, x.GivenThere+1, func(e end, t trace.Time) int { return cmp.Compare(e.at, t) })
		if at == 0 || x.GivenThere-list[at-1].at > s.Window+trace.Time(2*x.OneWay) {
			continue
		}
		asked++
		if list[at-1].caller == x.Caller {
			same++
			trips.idle = append(trips.idle, x.GivenThere-list[at-1].at)
		}
	}
	expected := 0.0
	for _, n := range perCaller {
		expected += n / float64(len(calls)) * n / float64(len(calls))
	}
	if asked > 0 {
		same /= asked
	}
	statement := prose.Sprintf("of %d waits %.0f %% ended within %s after a call of the same caller instance ended (chance %.0f %%), %.0f %% within %s after a span of the server instance ended (chance %.0f %%); %.0f %% of those were the caller's own (%.0f %% by its share of calls)",
		c.Waits, 100*c.Share, prose.Ns(float64(c.Window)), 100*c.Chance, 100*s.Share, prose.Ns(float64(s.Window)), 100*s.Chance, 100*same, 100*expected)
	kept := a.sets[side].kept()
	ce, se := c.ofAll(kept), s.ofAll(kept)
	says := Owner("")
	switch {
	case ce < minHandOver && se < minHandOver:
	case asked >= minWaits && expected < mostExpected && same >= sameCaller && ce >= minHandOver:
		says = ClientWait
	case asked >= minWaits && expected < mostExpected && same <= expected+halfway*(1-expected) && se >= minHandOver:
		says = ServerQueue
	case ce >= overRival*se:
		says = ClientWait
	case se >= overRival*ce:
		says = ServerQueue
	default:
		// Both at once: each call of the only caller lets go of a place at either end. Then how soon the callee is busy
		// again tells.
		var soon string
		says, soon = trips.says()
		statement += soon
	}
	switch says {
	case ClientWait:
		a.v.WakeUp = max(0, int64(c.Delay))
	case ServerQueue:
		a.v.WakeUp = max(0, int64(s.Delay))
	}
	a.say("hand-over", says, "%s", statement)
}
