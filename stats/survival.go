package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// A Survival is the Kaplan–Meier estimate of the share of requests that last longer than a time, where some were
// only seen to last at least so long: calls that the caller gave up on, for instance. That giving up must not depend
// on how long the call would have taken other than through the time waited.
type Survival struct {
	Time  []int64   // ns, ascending: times at which something ended
	Share []float64 // S just after each time
	sum   []float64 // Greenwood's sum of d/(r(r−d))
}

// KaplanMeier estimates from times, of which those with ended false are lower bounds. Nil weights count 1 each. At
// equal times ends come before lower bounds: a call given up at t had not ended at t.
func KaplanMeier(times []int64, ended []bool, weights []float64) Survival {
	order := make([]int, len(times))
	at := 0.0
	weight := func(i int) float64 {
		if weights == nil {
			return 1
		}
		return weights[i]
	}
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(times[a], times[b]), cmp.Compare(weight(a), weight(b)))
	})
	for _, i := range order {
		at += weight(i)
	}
	var s Survival
	share, sum := 1.0, 0.0
	for i := 0; i < len(order); {
		t := times[order[i]]
		var leave, end float64
		for ; i < len(order) && times[order[i]] == t; i++ {
			leave += weight(order[i])
			if ended[order[i]] {
				end += weight(order[i])
			}
		}
		if end > 0 {
			if rest := at - end; rest > at*slack {
				share *= rest / at
				sum += end / (at * rest)
			} else {
				share, sum = 0, math.Inf(1)
			}
			s.Time, s.Share, s.sum = append(s.Time, t), append(s.Share, share), append(s.sum, sum)
		}
		at -= leave
	}
	return s
}

// At is the share that lasts longer than t.
func (s Survival) At(t int64) float64 {
	i := sort.Search(len(s.Time), func(i int) bool { return s.Time[i] > t })
	if i == 0 {
		return 1
	}
	return s.Share[i-1]
}

// Interval is that of At, by Greenwood's variance on the log(−log) scale, which stays within 0..1. It holds for
// unweighted times.
func (s Survival) Interval(t int64, level float64) Interval {
	i := sort.Search(len(s.Time), func(i int) bool { return s.Time[i] > t }) - 1
	if i < 0 || s.Share[i] == 0 {
		return Interval{0, 1}
	}
	log := math.Log(s.Share[i])
	half := normal((1+level)/2) * math.Sqrt(s.sum[i]) / -log
	return Interval{math.Pow(s.Share[i], math.Exp(half)), math.Pow(s.Share[i], math.Exp(-half))}
}

// Quantile is the smallest time by which the share q has ended; ok is false if fewer were seen to end.
func (s Survival) Quantile(q float64) (t int64, ok bool) {
	i := sort.Search(len(s.Time), func(i int) bool { return s.Share[i] <= (1-q)*(1+slack) })
	if i == len(s.Time) {
		return 0, false
	}
	return s.Time[i], true
}
