package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

// Where not all requests are known the queue cannot be run again call by call: its places are not known, nor who else came.
// What is known is a draw, and a queue that is driven by the draw, each call as much work as the calls that it stands for,
// fills and empties as the whole one does. So it tells whether the baseline's arrivals would wait at what serves the current
// ones, whatever number of places that is.

const (
	// burstier is by how many standard errors of its logarithm the dispersion of arrivals must have grown, and burstsStood by
	// what part of it, for calls to come in bursts. minBins is of how many stretches it is read.
	burstier = 3
	minBins  = 20
	// nearWait is how near the driven queue's mean wait must come to the observed one.
	nearWait = 0.05
)

// A drawn call is one that is known of a queue.
type drawnCall struct {
	proc           graph.ProcID
	at, hold, wait int64 // ns
}

// drawnCalls are the known calls of a queue before spans of the callee, on one side, by process and time.
func (a *Asking) drawnCalls(side int, b *queue) []drawnCall {
	s := a.Sides[side]
	l := summary.NewLedger(s.Set.Calibration)
	through := a.through(side, b, queuewait.Between)
	var out []drawnCall
	for _, q := range s.Counted {
		for i := range q.Calls {
			c := &q.Calls[i]
			if !through[c.Slot] || !c.Paired() {
				continue
			}
			if wait, _, _, ok := l.Gap(q.Record, int32(i)); ok {
				out = append(out, drawnCall{c.Work.Proc, int64(c.Work.Start) - wait, int64(c.Work.End - c.Work.Start), wait})
			}
		}
	}
	slices.SortFunc(out, func(x, y drawnCall) int {
		return cmp.Or(cmp.Compare(x.proc, y.proc), cmp.Compare(x.at, y.at), cmp.Compare(x.hold, y.hold))
	})
	return out
}

// drivenWait is the mean wait of a queue that is driven by drawn calls, at each process one server that does a call's work in
// the part pace of its time.
func drivenWait(calls []drawnCall, pace float64) float64 {
	var sum, free float64
	for i := range calls {
		c := &calls[i]
		if i == 0 || c.proc != calls[i-1].proc {
			free = math.Inf(-1)
		}
		start := max(float64(c.at), free)
		sum += start - float64(c.at)
		free = start + pace*float64(c.hold)
	}
	return sum / float64(max(len(calls), 1))
}

// dispersion is the variance of the number of calls in stretches of a width over its mean, and the number of stretches.
func dispersion(calls []drawnCall, width int64) (d float64, n int) {
	if len(calls) == 0 {
		return 0, 0
	}
	first, last := calls[0].at, calls[0].at
	for i := range calls {
		first, last = min(first, calls[i].at), max(last, calls[i].at)
	}
	n = int((last - first) / width)
	if n < minBins {
		return 0, n
	}
	counts := make([]float64, n)
	for i := range calls {
		if k := int((calls[i].at - first) / width); k < n {
			counts[k]++
		}
	}
	var sum, squares float64
	for _, x := range counts {
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / float64(n)
	return (squares/float64(n) - mean*mean) / mean, n
}

// inBursts asks of sampled calls that wait longer, with holds and a mean rate that stood, whether they come in bursts that the
// baseline's did not, and which part of the wait's rise goes with them.
func (a *Asking) inBursts(b *queue) (share float64) {
	was, is := b.v.Sides[0], b.v.Sides[1]
	if b.v.Key.Site != queuewait.Between || b.v.Owner != queuewait.ServerQueue && b.v.Owner != queuewait.NoOwner ||
		was == nil || was.N < minDriven || is.N < minDriven || is.Wait <= was.Wait || is.Hold >= (1+holdRose)*was.Hold || a.known(summary.Current) >= allKnown {
		return 0
	}
	calls := [2][]drawnCall{a.drawnCalls(summary.Baseline, b), a.drawnCalls(summary.Current, b)}
	var waits, waiting int64
	for i := range calls[1] {
		if w := calls[1][i].wait; w > 0 {
			waits, waiting = waits+w, waiting+1
		}
	}
	if waiting == 0 {
		return 0
	}
	width := max(waits/waiting, minSilence) // what comes and goes faster than calls wait makes none wait
	d0, n0 := dispersion(calls[0], width)
	d1, n1 := dispersion(calls[1], width)
	if n0 < minBins || n1 < minBins || d1 <= (1+burstsStood)*max(d0, 1) || math.Log(d1/max(d0, 1)) < burstier*math.Sqrt(2/float64(n0)+2/float64(n1)) {
		return 0
	}
	// The pace at which the current calls wait as long as they did, times the share that is known.
	lo, hi := 0.0, 2.0
	for drivenWait(calls[1], hi) < is.Wait && hi < 1e3 {
		hi *= 2
	}
	for range 40 {
		if mid := (lo + hi) / 2; drivenWait(calls[1], mid) < is.Wait {
			lo = mid
		} else {
			hi = mid
		}
	}
	if got := drivenWait(calls[1], hi); math.Abs(got-is.Wait) > nearWait*is.Wait {
		return 0
	}
	pace := hi * a.known(summary.Baseline) / a.known(summary.Current)
	before := max(drivenWait(calls[0], pace), was.Wait)
	b.bursts = [2]float64{d0, d1}
	return min(1, max(0, (is.Wait-before)/(is.Wait-was.Wait)))
}
