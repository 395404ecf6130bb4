package latework

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
)

// A Policy is what a client does when its call timed out.
type Policy uint8

const (
	BlindRetry Policy = iota // do it again
	Stop                     // report a failure
	Reconcile                // ask what became of it, then act
)

// An Ambiguity is what a timeout leads to. Where the callee finishes after the
// client has left, the work happens all the same.
type Ambiguity struct {
	Ambiguous     float64 // the client does not know
	Duplicates    float64 // the work is done twice
	FalseFailures float64 // the client reports a failure of what was done
	ExtraCalls    float64
}

// TimedOut is what a policy leads to for a callee that finishes at f and a
// client that waits until w; nothing unless f > w.
func TimedOut(p Policy, f, w int64) Ambiguity {
	if f <= w {
		return Ambiguity{}
	}
	return p.of(1)
}

// of is what a policy leads to where a share of the calls is ambiguous.
func (p Policy) of(share float64) Ambiguity {
	a := Ambiguity{Ambiguous: share}
	switch p {
	case BlindRetry:
		a.Duplicates, a.ExtraCalls = share, share
	case Stop:
		a.FalseFailures = share
	case Reconcile:
		a.ExtraCalls = share
	}
	return a
}

// A Finish is when a callee finished, or was last seen at work, in ns since its
// client began to wait.
type Finish struct {
	NS     int64
	Ended  bool // else it was stopped, or nothing is known of it after NS
	Weight float64
}

// FinishOf is when a call's work ended, if anything tells. shift places the work
// half on the client's clock.
func FinishOf(c *graph.Call, shift int64, weight float64) (Finish, bool) {
	switch {
	case !c.Client.Seen() || c.Flags&graph.Loser != 0 && !c.Work.Seen():
		return Finish{}, false
	case c.Work.Seen():
		return Finish{max(0, int64(c.Work.End-c.Client.Start)+shift), !c.WorkEnd.Left(), weight}, true
	case c.ClientEnd == graph.Succeeded:
		return Finish{c.Client.Duration(), true, weight}, true
	case c.ClientEnd.Left():
		return Finish{c.Client.Duration(), false, weight}, true
	}
	return Finish{}, false // failed for another reason: it says nothing of how long work takes
}

// A Sweep is what other timeouts would have done to the calls that were seen.
type Sweep struct {
	survival stats.Survival
	known    int64 // the longest finish that was seen to its end
	Calls    float64
	Censored float64
}

// NewSweep reads the finish times of one kind of call. What the callee's work
// would have taken had it not been stopped is estimated by Kaplan and Meier's
// method.
func NewSweep(list []Finish) *Sweep {
	s := &Sweep{}
	times, ended, weights := make([]int64, len(list)), make([]bool, len(list)), make([]float64, len(list))
	for i, f := range list {
		times[i], ended[i], weights[i] = f.NS, f.Ended, f.Weight
		s.Calls += f.Weight
		if !f.Ended {
			s.Censored += f.Weight
		} else {
			s.known = max(s.known, f.NS)
		}
	}
	s.survival = stats.KaplanMeier(times, ended, weights)
	return s
}

// At is what a policy leads to per call with a timeout of w ns. It is not known
// beyond the longest finish that was seen to its end, unless nothing was
// stopped.
func (s *Sweep) At(p Policy, w int64) Ambiguity {
	if w > s.known && s.Censored > 0 || s.Calls == 0 {
		nan := math.NaN()
		return Ambiguity{nan, nan, nan, nan}
	}
	return p.of(s.survival.At(w))
}

// Interval is the 95 % interval of the ambiguous share at w. Where no call was
// longer, its upper end is the share that n calls would all miss with 2.5 %.
func (s *Sweep) Interval(w int64) stats.Interval {
	if s.Calls > 0 && s.Censored == 0 && s.survival.At(w) == 0 {
		return stats.Interval{Lo: 0, Hi: 1 - math.Pow(0.025, 1/s.Calls)}
	}
	return s.survival.Interval(w, 0.95)
}

// Known is the longest finish that was seen to its end.
func (s *Sweep) Known() int64 { return s.known }

// Quantile is the time by which a share of the calls has finished; false where
// the calls were stopped too early to tell.
func (s *Sweep) Quantile(q float64) (int64, bool) { return s.survival.Quantile(q) }

const (
	// minPlateau is how many calls must have timed out to say where.
	minPlateau = 3
	// plateauWidth is how far apart the middle half of them may lie, in shares of
	// their median: a timeout is one number, give or take a timer's coarseness.
	plateauWidth = 0.1
)

// Plateau is the timeout that the durations of timed-out calls stand at, in ns;
// false if they are few, or stand at no one value.
func Plateau(timedOut []int64) (ns int64, ok bool) {
	if len(timedOut) < minPlateau {
		return 0, false
	}
	v := slices.Clone(timedOut)
	slices.Sort(v)
	mid := v[len(v)/2]
	lo, hi := v[len(v)/4], v[len(v)*3/4]
	return mid, float64(hi-lo) <= plateauWidth*float64(mid)
}
