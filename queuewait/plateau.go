package queuewait

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

// A Plateau is how many calls were in service while others waited. A queue
// behind a limit shows the limit, again and again.
type Plateau struct {
	Waits int     // longer than 2 ms
	K     int     // the median in service at the middle of them
	Share float64 // of the waits, those within one of K
	Peak  int     // the most that were ever in service at once
	Procs int
	Idle  float64 // the share of the waits in whose middle none was in service

	// Above is the time for which more than one above K were in service, of that for which at least K were. Stretches in service are
	// known as well as clocks and floors are: some reach beyond a limit that all keep to.
	Above float64
}

// plateauWait is the wait at whose middle the calls in service are counted.
const plateauWait = 2_000_000

// holders is the stretches in service of one process, for counting how many
// there were at an instant.
type holders struct{ starts, ends []trace.Time }

func (h *holders) at(t trace.Time) int {
	// Half-open: what ends at t is gone, what starts at t is there.
	s, _ := slices.BinarySearch(h.starts, t+1)
	e, _ := slices.BinarySearch(h.ends, t+1)
	return s - e
}

func (h *holders) peak() int {
	peak := 0
	for i, s := range h.starts {
		e, _ := slices.BinarySearch(h.ends, s+1)
		peak = max(peak, i+1-e)
	}
	return peak
}

// above is how long at least k, and more than one above it, were in service.
func (h *holders) above(k int) (least, more float64) {
	n, e := 0, 0
	var last trace.Time
	add := func(to trace.Time) {
		if n >= k {
			least += float64(to - last)
		}
		if n > k+1 {
			more += float64(to - last)
		}
		last = to
	}
	for _, s := range h.starts {
		for ; e < len(h.ends) && h.ends[e] <= s; e++ {
			add(h.ends[e])
			n--
		}
		add(s)
		n++
	}
	for ; e < len(h.ends); e++ {
		add(h.ends[e])
		n--
	}
	return least, more
}

// plateau counts calls in service at the middle of waits, per process. held is
// the stretch that a call was in service, wait the stretch it waited, both by
// the clock of the process.
func plateau(calls []Call, held func(*Call) (graph.ProcID, trace.Interval), wait func(*Call) trace.Interval) Plateau {
	by := map[graph.ProcID]*holders{}
	for i := range calls {
		p, v := held(&calls[i])
		if p == graph.NoProc || v.End <= v.Start {
			continue
		}
		if by[p] == nil {
			by[p] = &holders{}
		}
		by[p].starts = append(by[p].starts, v.Start)
		by[p].ends = append(by[p].ends, v.End)
	}
	pl := Plateau{Procs: len(by)}
	for _, h := range by {
		radix.Ints(h.starts)
		radix.Ints(h.ends)
		pl.Peak = max(pl.Peak, h.peak())
	}
	var seen []int
	for i := range calls {
		p, _ := held(&calls[i])
		if p == graph.NoProc || calls[i].Wait < plateauWait {
			continue
		}
		v := wait(&calls[i])
		seen = append(seen, by[p].at(v.Start+trace.Time(v.Duration()/2)))
	}
	pl.Waits = len(seen)
	if len(seen) == 0 {
		return pl
	}
	slices.SortFunc(seen, cmp.Compare[int])
	pl.K = seen[len(seen)/2]
	idle, _ := slices.BinarySearch(seen, 1)
	pl.Idle = float64(idle) / float64(len(seen))
	var least, more float64
	for _, h := range by {
		l, m := h.above(pl.K)
		least, more = least+l, more+m
	}
	if pl.K > 0 && least > 0 {
		pl.Above = more / least
	}
	near := 0
	for _, k := range seen {
		if k >= pl.K-1 && k <= pl.K+1 {
			near++
		}
	}
	pl.Share = float64(near) / float64(len(seen))
	return pl
}

// maxAbove is how much of the time of a limit more may seem to be in service. Of calls that come by chance and know no limit
// a fifth of it and more is.
const maxAbove = 0.02

// Level reports whether hardly more calls were in service at any time than while others waited: a limit, and not just the usual
// number.
func (p Plateau) Level() bool { return p.K >= p.Peak-1 || p.Above <= maxAbove }

// Known reports whether enough waits show the limit.
func (p Plateau) Known() bool { return p.Waits >= minWaits && p.K > 0 && p.Share >= minPlateaued }
