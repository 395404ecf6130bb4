package queuewait

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
)

// minSeconds is how many seconds a rate's variance is read from.
const minSeconds = 10

// course reads how the calls of one side came over time, and how full the
// resource was.
func (a *asker) course(side int) {
	s, set := a.v.Sides[side], a.sets[side]
	mine := map[graph.SlotID]bool{}
	at := func(p Place) bool {
		is, ok := mine[p.Slot]
		if !ok {
			k := key(set.Dict, p.Slot, a.key.Site)
			is = k == a.key && (a.v.mine == nil || a.v.mine(p.Slot)) || (a.key.Site == Between || a.key.Site == Ahead) && a.v.Owner == ServerQueue && k.Target == a.key.Target
			mine[p.Slot] = is
		}
		return is && p.Serving == (a.v.Owner == ServerQueue || a.key.Site == Ahead)
	}
	limit := s.Limit
	if a.partial(side) || a.key.Site == Ahead && a.v.Owner != ServerQueue { // at the callee nothing tells how full the caller's places are
		limit = 0
	}
	calls := set.Queues.flows.series(at, limit)
	s.Peak, s.Bursts = calls.arrivals()
	if limit > 0 {
		s.Full = calls.full(limit)
	}
	s.Little, s.Pending = s.PerSecond*s.Wait/1e9, math.NaN()
	if p := s.Pool; p != nil && p.Pending.Seconds > 0 {
		s.Pending = 0
		for i := range set.Pools {
			if x := &set.Pools[i]; x.Service == p.Service && x.Kind == p.Kind && x.Name == p.Name && x.Pending.Seconds > 0 {
				s.Pending += x.Pending.Mean
			}
		}
	}
}

// arrivals is the most calls that began in one second, and the variance of their
// number over its mean, without the first and the last second, which are parts.
func (s Series) arrivals() (peak, bursts float64) {
	total := map[int64]float64{}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, p := range s.Procs {
		for _, x := range p.Seconds {
			total[x.At] += x.Begun
		}
		first, last = min(first, p.Seconds[0].At), max(last, p.Seconds[len(p.Seconds)-1].At)
	}
	n := float64(last - first - 1)
	if n < minSeconds {
		return 0, 0
	}
	var sum, squares float64
	for at := first + 1; at < last; at++ {
		x := total[at]
		peak = max(peak, x)
		sum += x
		squares += x * x
	}
	if sum == 0 {
		return 0, 0
	}
	mean := sum / n
	return peak, (squares/n - mean*mean) / mean
}

// full is how full the limit was at the process at which it was fullest.
func (s Series) full(limit int) *Full {
	var best *Full
	for _, p := range s.Procs {
		levels := make([]float64, len(p.Seconds))
		for i, x := range p.Seconds {
			levels[i] = min(1, x.Used/float64(limit))
		}
		sorted := slices.Sorted(slices.Values(levels))
		at := func(q float64) float64 { return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)] }
		f := &Full{P50: at(0.5), P99: at(0.99), Max: sorted[len(sorted)-1]}
		if best != nil && f.P99 <= best.P99 {
			continue
		}
		best = f
		each := (len(levels) + metric.OverTime - 1) / metric.OverTime
		for from := 0; from < len(levels); from += each {
			part := levels[from:min(from+each, len(levels))]
			var sum float64
			for _, x := range part {
				sum += x
			}
			best.Over = append(best.Over, sum/float64(len(part)))
		}
	}
	return best
}

// unlike is by how much two numbers that ought to be the same may differ before
// it is said.
const unlike = 2

// leastPending is the mean number waiting below which nobody waits much, and ratios say nothing.
const leastPending = 0.2

// LittleDisagrees reports whether the calls that waited by the metrics are not
// those that waited by the spans: a mean number waiting is a rate times a mean
// wait.
func (s *Side) LittleDisagrees() bool {
	if math.IsNaN(s.Pending) || max(s.Pending, s.Little) < leastPending {
		return false
	}
	return s.Pending > unlike*s.Little || s.Little > unlike*s.Pending
}
