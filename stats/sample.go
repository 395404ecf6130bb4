package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"github.com/tailscope/tailscope/internal/radix"
)

// Requests are the requests of one side, as columns of equal length. A nil column means that nothing is known.
type Requests struct {
	// Latency is in nanoseconds, never negative and below 2^53 (104 days), where float64 is exact.
	Latency []int64

	// Weight is the number of requests that each one stands for, above zero. Nil: 1 each.
	Weight []float64

	// Second is the second since the epoch in which each request began. Nil: times are not known.
	Second []int64

	// Run numbers the independent run that each request belongs to, from 0. Nil: one run.
	Run []int

	// Key tells apart requests that are equal in everything else, so that the order of the input cannot reach a
	// result: a hash of the trace and span id. Nil: equal requests keep the order of the input, which reaches
	// only the allocation intervals where times are not known.
	Key []uint64

	// Seed is added to what resampling draws from the data themselves: another one shows by how much the ends of
	// intervals are the resamples' and not the data's.
	Seed uint64
}

// A Sample holds the requests of one side in canonical order. It is read-only and safe for concurrent use.
type Sample struct {
	// Ascending by latency, then weight, second, run, key.
	x     []float64
	w     []float64
	cum   []float64 // cum[i] is the weight of x[:i]
	sec   []int64   // nil: not known
	run   []int     // nil: one run
	order []int32   // place in the Requests
	runs  int
	equal bool // all weights are equal, so that counts are exact
	seed  uint64

	plan func() *plan // how to resample it, made when first needed
}

// maxSecond keeps block arithmetic far from overflow.
const maxSecond = 1 << 40

// NewSample checks and sorts the requests. The columns are not kept.
func NewSample(r Requests) (*Sample, error) {
	n := len(r.Latency)
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("stats: %d requests in one sample; at most %d", n, math.MaxInt32)
	}
	for _, column := range []struct {
		name string
		len  int
		set  bool
	}{
		{"Weight", len(r.Weight), r.Weight != nil},
		{"Second", len(r.Second), r.Second != nil},
		{"Run", len(r.Run), r.Run != nil},
		{"Key", len(r.Key), r.Key != nil},
	} {
		if column.set && column.len != n {
			return nil, fmt.Errorf("stats: %d requests but %d values of %s", n, column.len, column.name)
		}
	}
	s := &Sample{
		x:     make([]float64, n),
		w:     make([]float64, n),
		cum:   make([]float64, n+1),
		order: make([]int32, n),
		runs:  1,
		equal: true,
		seed:  r.Seed,
	}
	for i, x := range r.Latency {
		if x < 0 || x >= 1<<53 {
			return nil, fmt.Errorf("stats: latency %d ns of request %d is outside 0..2^53", x, i)
		}
		if r.Weight != nil && !(r.Weight[i] > 0 && r.Weight[i] <= 1e15) {
			return nil, fmt.Errorf("stats: weight %v of request %d is outside 0..1e15", r.Weight[i], i)
		}
		if r.Second != nil && (r.Second[i] < -maxSecond || r.Second[i] > maxSecond) {
			return nil, fmt.Errorf("stats: second %d of request %d is more than 30,000 years from the epoch", r.Second[i], i)
		}
	}
	r.sort(s.order)
	for i, j := range s.order {
		s.x[i], s.w[i] = float64(r.Latency[j]), 1
		if r.Weight != nil {
			s.w[i] = r.Weight[j]
		}
		s.cum[i+1] = s.cum[i] + s.w[i]
		s.equal = s.equal && s.w[i] == s.w[0]
	}
	if r.Second != nil && n > 0 {
		s.sec = make([]int64, n)
		for i, j := range s.order {
			s.sec[i] = r.Second[j]
		}
	}
	if r.Run != nil {
		if err := s.setRuns(r.Run); err != nil {
			return nil, err
		}
	}
	s.plan = sync.OnceValue(func() *plan { return newPlan(s) })
	return s, nil
}

// sort puts the places of the requests into canonical order: by latency first, which nearly always decides, then
// among equal latencies by the rest.
func (r *Requests) sort(order []int32) {
	requests := radix.Order(len(order), func(i int) int64 { return r.Latency[i] })
	for i, q := range requests {
		order[i] = q.Place
	}
	for i := 0; i < len(order); {
		tie := i + 1
		for tie < len(order) && requests[tie].Key == requests[i].Key {
			tie++
		}
		if tie > i+1 {
			slices.SortFunc(order[i:tie], r.compareTied)
		}
		i = tie
	}
}

// compareTied orders requests of equal latency.
func (r *Requests) compareTied(a, b int32) int {
	c := 0
	if r.Weight != nil {
		c = cmp.Compare(r.Weight[a], r.Weight[b])
	}
	if c == 0 && r.Second != nil {
		c = cmp.Compare(r.Second[a], r.Second[b])
	}
	if c == 0 && r.Run != nil {
		c = cmp.Compare(r.Run[a], r.Run[b])
	}
	if c == 0 && r.Key != nil {
		c = cmp.Compare(r.Key[a], r.Key[b])
	}
	return cmp.Or(c, cmp.Compare(a, b))
}

// setRuns numbers the runs that have requests 0, 1, … in ascending order; a run without requests is no run.
func (s *Sample) setRuns(run []int) error {
	seen := slices.Clone(run)
	slices.Sort(seen)
	seen = slices.Compact(seen)
	if len(seen) > 0 && seen[0] < 0 {
		return errors.New("stats: negative run")
	}
	s.runs = max(1, len(seen))
	if s.runs == 1 {
		return nil
	}
	s.run = make([]int, len(run))
	for i, j := range s.order {
		s.run[i], _ = slices.BinarySearch(seen, run[j])
	}
	return nil
}

// runOf is the run of the i-th request in sorted order.
func (s *Sample) runOf(i int) int {
	if s.run == nil {
		return 0
	}
	return s.run[i]
}

// N is the number of requests, unweighted.
func (s *Sample) N() int { return len(s.x) }

// Runs is the number of runs that have requests, at least 1.
func (s *Sample) Runs() int { return s.runs }

// Weight is the number of requests that the sample stands for.
func (s *Sample) Weight() float64 { return s.cum[len(s.x)] }

// Max is the largest latency in nanoseconds; 0 without requests.
func (s *Sample) Max() float64 {
	if len(s.x) == 0 {
		return 0
	}
	return s.x[len(s.x)-1]
}

// Quantile is the smallest latency with at least the share q of the weight at or below it; 0 without requests.
func (s *Sample) Quantile(q float64) float64 {
	if len(s.x) == 0 {
		return 0
	}
	return s.x[s.place(q)]
}

// Rank is the weighted share of requests that took x or less; 0 without requests.
func (s *Sample) Rank(x float64) float64 {
	if len(s.x) == 0 {
		return 0
	}
	return s.cum[s.above(x)] / s.Weight()
}

// slack makes 0.07·100 not exceed 7: the relative error that a sum of weights or a product may carry.
const slack = 1e-12

// place is the place of the point quantile q in sorted order.
func (s *Sample) place(q float64) int {
	n := len(s.x)
	target := q * s.cum[n] * (1 - slack)
	i := sort.Search(n, func(i int) bool { return s.cum[i+1] >= target })
	return min(i, n-1)
}

// between is the latency at the rank u, interpolated between the middles of the ranks that requests occupy.
func (s *Sample) between(u float64) float64 {
	target := u * s.Weight()
	middle := func(i int) float64 { return s.cum[i] + s.w[i]/2 }
	i := sort.Search(len(s.x), func(i int) bool { return middle(i) >= target })
	switch i {
	case 0:
		return s.x[0]
	case len(s.x):
		return s.x[i-1]
	}
	return s.x[i-1] + (s.x[i]-s.x[i-1])*(target-middle(i-1))/(middle(i)-middle(i-1))
}

// above is the place of the first request whose latency is above x.
func (s *Sample) above(x float64) int {
	return sort.Search(len(s.x), func(i int) bool { return s.x[i] > x })
}

// shareAbove is the weighted share of requests above x, strictly.
func (s *Sample) shareAbove(x float64) float64 {
	n := len(s.x)
	return (s.cum[n] - s.cum[s.above(x)]) / s.cum[n]
}

// Quantile is the smallest value with at least the share q of the weight at or below it; 0 without values.
// Nil weights count 1 each. Use a [Sample] where more than one number is wanted.
func Quantile(values []int64, weights []float64, q float64) int64 {
	if len(values) == 0 {
		return 0
	}
	equal := true
	for _, w := range weights {
		equal = equal && w == weights[0]
	}
	if equal {
		i := int(math.Ceil(q*float64(len(values))*(1-slack))) - 1
		return smallest(slices.Clone(values), min(max(i, 0), len(values)-1))
	}
	sorted := radix.Order(len(values), func(i int) int64 { return values[i] })
	for i := 0; i < len(sorted); {
		tie := i + 1
		for tie < len(sorted) && sorted[tie].Key == sorted[i].Key {
			tie++
		}
		if tie > i+1 {
			slices.SortFunc(sorted[i:tie], func(a, b radix.Keyed) int { return cmp.Compare(weights[a.Place], weights[b.Place]) })
		}
		i = tie
	}
	total := 0.0
	for _, x := range sorted {
		total += weights[x.Place]
	}
	target, sum := q*total*(1-slack), 0.0
	for _, x := range sorted {
		if sum += weights[x.Place]; sum >= target {
			return x.Key
		}
	}
	return sorted[len(sorted)-1].Key
}

// smallest is the value that would stand at place k if the values were sorted,
// which it rearranges: Hoare's selection, with the middle of three as the pivot
// and a plain sort where that divides badly.
func smallest(values []int64, k int) int64 {
	for budget := 2 * bits.Len(uint(len(values))); len(values) > 32; budget-- {
		if budget == 0 {
			break
		}
		a, b, c := values[0], values[len(values)/2], values[len(values)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(values)-1
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			values = values[:j+1]
		case k >= i:
			values, k = values[i:], k-i
		default:
			return pivot
		}
	}
	slices.Sort(values)
	return values[k]
}
