package queuewait

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/tailscope/tailscope/internal/radix"
)

// FIFO is the waits of calls that arrive at the given times at k servers and
// hold one for the given times, first come first served. A call that had to wait
// starts wake after a server was free: a loaded machine takes its time. Times
// are ns and arrivals ascend.
func FIFO(arrivals, holds []int64, k int, wake int64) []int64 {
	waits := make([]int64, len(arrivals))
	free := make(freeTimes, max(k, 1))
	for i := range free {
		free[i] = -1 << 62
	}
	for i, at := range arrivals {
		start := at
		if free[0] > at {
			start = free[0] + wake
		}
		waits[i] = start - at
		free[0] = start + holds[i]
		heap.Fix(&free, 0)
	}
	return waits
}

// freeTimes is a heap of when each server is free.
type freeTimes []int64

func (f freeTimes) Len() int           { return len(f) }
func (f freeTimes) Less(i, j int) bool { return f[i] < f[j] }
func (f freeTimes) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *freeTimes) Push(any)          { panic("queuewait: servers neither come nor go") }
func (f *freeTimes) Pop() any          { panic("queuewait: servers neither come nor go") }

// A Station is the calls to one resource of one instance.
type Station struct {
	Arrivals, Holds []int64 // ns; arrivals ascend
	Observed        float64 // mean wait, ns
}

// meanWait is the mean wait of all stations with k servers each.
func meanWait(stations []Station, k int, wake int64) float64 {
	var sum float64
	n := 0
	for _, s := range stations {
		for _, w := range FIFO(s.Arrivals, s.Holds, k, wake) {
			sum += float64(w)
		}
		n += len(s.Arrivals)
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// withHolds is the stations with the hold times of others, by rank: the longest
// stays the longest.
func withHolds(stations, others []Station) []Station {
	var from, to []int64
	for _, s := range stations {
		from = append(from, s.Holds...)
	}
	for _, s := range others {
		to = append(to, s.Holds...)
	}
	radix.Ints(from)
	radix.Ints(to)
	if len(to) == 0 || len(from) == 0 {
		return stations
	}
	out := make([]Station, len(stations))
	for i, s := range stations {
		holds := make([]int64, len(s.Holds))
		for j, h := range s.Holds {
			lo, _ := slices.BinarySearch(from, h)
			hi, _ := slices.BinarySearch(from, h+1)
			rank := (float64(lo) + float64(hi)) / 2 / float64(len(from))
			holds[j] = to[min(int(rank*float64(len(to))), len(to)-1)]
		}
		out[i] = Station{s.Arrivals, holds, s.Observed}
	}
	return out
}

// spread is the calls of all stations, dealt to as many of them by chance in the shares that others have of their calls.
func spread(stations, others []Station) []Station {
	type call struct{ at, hold int64 }
	var all []call
	for _, s := range stations {
		for i, at := range s.Arrivals {
			all = append(all, call{at, s.Holds[i]})
		}
	}
	slices.SortFunc(all, func(x, y call) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.hold, y.hold)) })
	total := 0
	for _, s := range others {
		total += len(s.Arrivals)
	}
	out := make([]Station, len(others))
	for n, c := range all {
		at := mix(uint64(n)) % uint64(max(total, 1))
		for i, s := range others {
			if at < uint64(len(s.Arrivals)) {
				out[i].Arrivals, out[i].Holds = append(out[i].Arrivals, c.at), append(out[i].Holds, c.hold)
				break
			}
			at -= uint64(len(s.Arrivals))
		}
	}
	return out
}
