package queuewait

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/stats"
)

// A Model splits the change of a mean wait over its drivers, by running the
// queue again with each of them as it was.
type Model struct {
	// OK is whether the runs reproduce what was observed, within maxMisfit; Why
	// says why not.
	OK  bool
	Why string

	Observed, Reproduced [2]float64 // mean wait, ns

	// Change = Arrivals + Placement + Holds + Size + Residual, in ns of mean wait. Placement is what would go if calls came
	// as they do now, and to the instances in the shares they had.
	Change, Arrivals, Placement, Holds, Size, Residual float64
}

// maxMisfit is how far a run's mean wait may be from the observed one.
const maxMisfit = 0.20

// shortWait is the part of the longer of both sides' mean waits by which either may be off whatever it is itself: a side
// that hardly waits does not refute the model of the one that does.
const shortWait = 0.1

// Reproduces reports whether a queue that was run again waits as long on average
// as was observed: within maxMisfit, or within slack where waits are short. All
// in ns. A queue that does not is no queue of that size.
func Reproduces(observed, again, slack float64) bool {
	return math.Abs(again-observed) <= max(maxMisfit*observed, slack)
}

// HoldShare is the share of the change that longer holds explain; zero where
// the model cannot tell or the wait did not grow.
func (m *Model) HoldShare() float64 { return m.share(m.Holds) }

// ArrivalShare is the share that more or burstier arrivals explain.
func (m *Model) ArrivalShare() float64 { return m.share(m.Arrivals) }

// PlacementShare is the share that calls which go to other instances explain.
func (m *Model) PlacementShare() float64 { return m.share(m.Placement) }

func (m *Model) share(part float64) float64 {
	if !m.OK || m.Change <= 0 {
		return 0
	}
	return min(max(part/m.Change, 0), 1)
}

// model runs the queue of a claimed edge.
func (a *asker) model() {
	m := &a.v.Model
	m.Why = "there is one data set"
	if a.sets[0] == nil {
		return
	}
	if !a.v.Queued() || a.v.Owner == Pause {
		m.Why = "no queue owns the wait"
		return
	}
	if a.partial(0) || a.partial(1) {
		m.Why = "not all requests were kept: arrivals are not known"
		return
	}
	k0, k1 := a.v.Sides[0].Limit, a.v.Sides[1].Limit
	if k0 == 0 || k1 == 0 {
		m.Why = "no limit shows and no metric gives one"
		return
	}
	base, cur := a.stations(0), a.stations(1)
	m.Observed = [2]float64{observed(base), observed(cur)}
	m.Reproduced = [2]float64{meanWait(base, k0, a.v.WakeUp), meanWait(cur, k1, a.v.WakeUp)}
	scale := max(m.Observed[0], m.Observed[1])
	for i := range m.Observed {
		if !Reproduces(m.Observed[i], m.Reproduced[i], shortWait*scale) {
			m.Why = fmt.Sprintf("a queue with a limit of %d waits %s on average where %s were observed", [2]int{k0, k1}[i], prose.Ns(m.Reproduced[i]), prose.Ns(m.Observed[i]))
			return
		}
	}
	curHolds, baseHolds := withHolds(cur, base), withHolds(base, cur)
	// A driver in the set is as it is now, else as it was.
	parts := stats.Shapley(3, func(set uint) float64 {
		stations := base
		switch {
		case set&1 != 0 && set&2 != 0:
			stations = cur
		case set&1 != 0:
			stations = curHolds
		case set&2 != 0:
			stations = baseHolds
		}
		k := k0
		if set&4 != 0 {
			k = k1
		}
		return meanWait(stations, k, a.v.WakeUp)
	})
	m.OK, m.Why = true, ""
	m.Change = m.Observed[1] - m.Observed[0]
	m.Arrivals, m.Holds, m.Size = parts[0], parts[1], parts[2]
	// Dealt by chance, calls that come together part: so they do in what it is compared with.
	if moved := meanWait(spread(cur, cur), k1, a.v.WakeUp) - meanWait(spread(cur, base), k1, a.v.WakeUp); len(cur) == len(base) && moved > 0 {
		m.Placement = min(moved, max(0, m.Arrivals))
		m.Arrivals -= m.Placement
	}
	m.Residual = m.Change - parts[0] - parts[1] - parts[2]
	alone := meanWait(curHolds, k0, a.v.WakeUp) - meanWait(base, k0, a.v.WakeUp)
	if was, is := a.v.Sides[0], a.v.Sides[1]; !is.RateDiffers(was) && !is.BurstsDiffer(was) {
		m.stood(alone)
	}
}

// stood leaves arrivals that came as they did what they bring alone, with all else as it was, and gives the rest of what the
// split charges to them to what changed beside them. No two draws of the same arrivals crowd alike, and where calls hold their
// places longer, or there are fewer, either draw waits longer: putting that back would take nothing away.
func (m *Model) stood(alone float64) {
	others := max(0, m.Holds) + max(0, m.Size)
	over := m.Arrivals - max(0, alone)
	if over <= 0 || others <= 0 {
		return
	}
	m.Arrivals -= over
	holds := over * max(0, m.Holds) / others
	m.Holds += holds
	m.Size += over - holds
}

// RateDiffers reports whether the rate of calls differs from that of another side by more than those of so many calls do that
// come independently, or in bursts as these do, by two standard errors of the logarithm of their ratio: of the calls of an
// overload few may have been served.
func (s *Side) RateDiffers(was *Side) bool {
	variance := func(s *Side) float64 { return max(1, s.Bursts) / float64(s.N) }
	return math.Abs(math.Log(s.PerSecond/was.PerSecond)) > 2*math.Sqrt(variance(was)+variance(s))
}

// BurstsDiffer reports whether the variance of the calls a second is larger than on another side by more than those of calls
// that come alike are in so many seconds, by two standard errors of the logarithm of their ratio.
func (s *Side) BurstsDiffer(was *Side) bool {
	free := func(s *Side) float64 { return max(float64(s.N)/s.PerSecond-1, 1) } // seconds but one
	return math.Log(s.Bursts/was.Bursts) > 2*math.Sqrt(2/free(was)+2/free(s))
}

func observed(stations []Station) float64 {
	var sum float64
	n := 0
	for _, s := range stations {
		sum += s.Observed * float64(len(s.Arrivals))
		n += len(s.Arrivals)
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// stations is the calls of the queue's owner, per instance.
func (a *asker) stations(side int) []Station {
	type served struct{ at, hold, wait int64 }
	by := map[graph.ProcID][]served{}
	lists := [][]Call{a.calls[side][a.key]}
	atCallee := a.v.Owner != ClientWait
	switch {
	case atCallee && a.key.Site == Ahead:
		lists = a.toCallee(side)
	case atCallee && a.key.Site == Between:
		lists = nil
		for _, k := range a.toTarget(side) {
			lists = append(lists, a.calls[side][k])
		}
	}
	for _, list := range lists {
		for i := range list {
			c := &list[i]
			if atCallee {
				by[c.Callee] = append(by[c.Callee], served{int64(c.GivenThere) - c.Wait, c.Served.Duration(), c.Wait})
			} else {
				by[c.Caller] = append(by[c.Caller], served{int64(c.Given) - c.Wait, c.hold(), c.Wait})
			}
		}
	}
	procs := make([]graph.ProcID, 0, len(by))
	for p := range by {
		procs = append(procs, p)
	}
	slices.Sort(procs)
	var out []Station
	for _, p := range procs {
		list := by[p]
		slices.SortFunc(list, func(x, y served) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.hold, y.hold)) })
		var s Station
		for _, x := range list {
			s.Arrivals, s.Holds = append(s.Arrivals, x.at), append(s.Holds, x.hold)
			s.Observed += float64(x.wait)
		}
		s.Observed /= float64(len(list))
		out = append(out, s)
	}
	return out
}
