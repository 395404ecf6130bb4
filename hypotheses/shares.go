package hypotheses

import (
	"math"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

const (
	// holdRose and arrivalsStood: where no model runs, holds that rose by this
	// and arrivals that rose by less put the callee first; arrivals that rose at a
	// limit and with holds that stood are the load. Where arrivals rose by
	// arrivalsRose, more than the rates of a few hundred sampled calls differ by
	// chance, the rise is split between both as the load they offer grew by each:
	// it is their product, so by logarithms.
	holdRose      = 0.15
	arrivalsStood = 0.10
	arrivalsRose  = 0.20
	// burstsStood: calls that come in bursts have a variance of their number a second that rose by this over its mean.
	burstsStood = 0.5
	// minDriven is the fewest calls a side whose holds and rates are compared: the mean of fewer is anything.
	minDriven = 20
)

// shares says whose the wait's change is.
func (b *queue) shares() {
	if b.v.Owner == queuewait.Pause {
		return // no place is held longer by a process that stands still
	}
	if b.v.Model.OK {
		b.hold, b.arrivals = b.v.Model.HoldShare(), b.v.Model.ArrivalShare()
		return
	}
	was, is := b.v.Sides[0], b.v.Sides[1]
	if was == nil || was.N < minDriven || is.N < minDriven || was.Hold <= 0 {
		return
	}
	if is.Wait <= was.Wait {
		return
	}
	rose := is.Hold >= (1+holdRose)*was.Hold
	more := is.PerSecond > (1+arrivalsStood)*was.PerSecond
	bursts := is.Peak > (1+arrivalsStood)*was.Peak && is.Bursts > (1+burstsStood)*was.Bursts && is.BurstsDiffer(was)
	switch {
	case rose && !more && !bursts:
		b.hold = 1
	case !rose && (more || bursts) && sameLimit(was, is):
		b.arrivals = 1 // the holds and the places are what they were
	case known(was) && known(is) && was.Limit > is.Limit:
		// There are fewer places, too, and nothing tells the parts.
	case is.PerSecond >= (1+arrivalsRose)*was.PerSecond && was.PerSecond > 0 && is.RateDiffers(was):
		more, longer := math.Log(is.PerSecond/was.PerSecond), math.Log(max(1, is.Hold/was.Hold))
		b.arrivals, b.hold = more/(more+longer), longer/(more+longer)
	}
}

// mostlyLeft reports whether of the current calls between client and server span most were given up before they were served,
// so that those that were, so many, tell nothing of how often calls come.
func (a *Asking) mostlyLeft(b *queue, served int) bool {
	if b.v.Key.Site != queuewait.Between {
		return false
	}
	through, n := a.through(summary.Current, b, queuewait.Between), 0
	for _, q := range a.cur().Counted {
		for i := range q.Calls {
			if c := &q.Calls[i]; c.Client.Seen() && through[c.Slot] {
				n++
			}
		}
	}
	return 2*served < n
}

// rose is by how much the mean wait of the queue rose, in ns; it stands where one side has no waits to compare.
func (b *queue) rose() float64 {
	was, is := b.v.Sides[0], b.v.Sides[1]
	if is == nil {
		return 0
	}
	if was == nil {
		return is.Wait
	}
	return is.Wait - was.Wait
}

// sameLimit reports whether as many calls could be in service on both sides, by metrics or by calls that waited on both.
func sameLimit(was, is *queuewait.Side) bool {
	return known(was) && known(is) && was.Limit == is.Limit
}

// known reports whether a side tells of the limit itself.
func known(s *queuewait.Side) bool {
	return s.Limit > 0 && (s.FromPool || s.Shown)
}

// byMix moves that part of the arrivals' share which comes with the mix of
// requests: more calls a request, not more requests. reweighted are the weights
// that give the current requests the baseline's mix. It returns what the shares were before.
func (a *Asking) byMix(reweighted []float64) map[*queue][2]float64 {
	before := map[*queue][2]float64{}
	plain := make([]float64, len(a.plans))
	for j := range plain {
		plain[j] = float64(a.request(j).Weight) / graph.OneRequest
	}
	perRequest := func(b *queue, side int, w []float64) float64 {
		var calls, requests float64
		through := a.through(side, b, b.v.Key.Site)
		for j, q := range a.Sides[side].Counted {
			x := float64(q.Weight) / graph.OneRequest
			if w != nil {
				x = w[j]
			}
			requests += x
			for i := range q.Calls {
				if c := &q.Calls[i]; through[c.Slot] && (c.Client.Seen() || b.v.Key.Site == queuewait.Ahead) {
					calls += x
				}
			}
		}
		return calls / requests
	}
	rate := func(side int) float64 {
		s := a.Sides[side]
		var first, last int64
		for j, q := range s.Counted {
			t := int64(q.Start())
			if j == 0 || t < first {
				first = t
			}
			if j == 0 || t > last {
				last = t
			}
		}
		if last == first {
			return 0
		}
		return s.Sample.Weight() / float64(last-first)
	}
	r0, r1 := rate(summary.Baseline), rate(summary.Current)
	for _, b := range a.queues() {
		before[b] = [2]float64{b.arrivals, b.mix}
		if b.arrivals <= 0 {
			continue
		}
		was, is, without := r0*perRequest(b, summary.Baseline, nil), r1*perRequest(b, summary.Current, plain), r1*perRequest(b, summary.Current, reweighted)
		if is <= was {
			continue
		}
		b.mix = b.arrivals * min(1, max(0, (is-without)/(is-was)))
		b.arrivals -= b.mix
	}
	return before
}
