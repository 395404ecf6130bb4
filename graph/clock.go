package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A HostPair names two clocks by their hosts' names, A before B.
type HostPair struct{ A, B trace.StringID }

// Bounds are what the calls between two hosts say of clock(B) − clock(A): the
// server's span lies within the client's, so each call that succeeded bounds
// the offset by [server end − client end, server start − client start].
type Bounds struct {
	N int64 // requests that tell

	// The few greatest lower and the few least upper bounds, so that one lying
	// call can be told from a clock.
	Lo []int64 // descending
	Hi []int64 // ascending
}

// keptBounds is how many bounds of each side are kept. Up to keptBounds−1 lying
// calls can be set aside.
const keptBounds = 16

func (b *Bounds) add(lo, hi int64) {
	b.N++
	b.Lo = insert(b.Lo, lo, func(a, b int64) int { return cmp.Compare(b, a) })
	b.Hi = insert(b.Hi, hi, cmp.Compare[int64])
}

func insert(list []int64, v int64, order func(a, b int64) int) []int64 {
	at, _ := slices.BinarySearchFunc(list, v, order)
	if at == keptBounds {
		return list
	}
	list = slices.Insert(list, at, v)
	return list[:min(len(list), keptBounds)]
}

func (b *Bounds) merge(o *Bounds) {
	b.N += o.N
	for _, v := range o.Lo {
		b.Lo = insert(b.Lo, v, func(a, b int64) int { return cmp.Compare(b, a) })
	}
	for _, v := range o.Hi {
		b.Hi = insert(b.Hi, v, cmp.Compare[int64])
	}
}

// flip is the bounds of clock(A) − clock(B).
func (b *Bounds) flip() *Bounds {
	f := &Bounds{N: b.N}
	for _, v := range b.Hi {
		f.Lo = append(f.Lo, -v)
	}
	for _, v := range b.Lo {
		f.Hi = append(f.Hi, -v)
	}
	return f
}

// An Offset is what is known of clock(B) − clock(A), in ns.
type Offset struct {
	Lo, Hi int64

	// Contradictions is how many bounds had to be set aside to leave any offset.
	Contradictions int64
	N              int64
}

// offset intersects the bounds. Where they contradict each other, the fewest
// are set aside, from the two ends in turn.
func (b *Bounds) offset() Offset {
	o := Offset{N: b.N}
	i, j := 0, 0
	for i < len(b.Lo)-1 && j < len(b.Hi)-1 && b.Lo[i] > b.Hi[j] {
		// Drop the one that stands farther from its own neighbours.
		if b.Lo[i]-b.Lo[i+1] >= b.Hi[j+1]-b.Hi[j] {
			i++
		} else {
			j++
		}
		o.Contradictions++
	}
	o.Lo, o.Hi = b.Lo[i], b.Hi[j]
	if o.Lo > o.Hi { // drift or lies beyond what was kept
		o.Contradictions++
		o.Lo, o.Hi = o.Hi, o.Lo
	}
	return o
}

// Clocks says how the clocks of hosts differ. The zero Clocks knows nothing:
// recorded times stand.
type Clocks struct {
	Pairs  []HostPair // in order of the hosts' codes
	Offset map[HostPair]Offset

	ahead map[trace.StringID]int64 // what a host's clock is ahead of its group's first
	group map[trace.StringID]int
}

// solveClocks finds one offset for each host that fits the bounds of all pairs,
// as far as there is one. Clocks that could all be right are left alone; one
// request alone moves no clock.
func solveClocks(d *Dict, bounds map[HostPair]*Bounds) *Clocks {
	c := &Clocks{Offset: map[HostPair]Offset{}, ahead: map[trace.StringID]int64{}, group: map[trace.StringID]int{}}
	near := map[trace.StringID][]trace.StringID{}
	for p, b := range bounds {
		c.Pairs = append(c.Pairs, p)
		c.Offset[p] = b.offset()
		if b.N > 1 {
			near[p.A] = append(near[p.A], p.B)
			near[p.B] = append(near[p.B], p.A)
		}
	}
	slices.SortFunc(c.Pairs, func(a, b HostPair) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })

	var hosts []trace.StringID
	for h := range near {
		slices.Sort(near[h])
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	groups := 0
	for _, first := range hosts {
		if _, done := c.group[first]; done {
			continue
		}
		groups++
		c.group[first], c.ahead[first] = groups, 0
		for queue := []trace.StringID{first}; len(queue) > 0; queue = queue[1:] {
			for _, h := range near[queue[0]] {
				if _, done := c.group[h]; done {
					continue
				}
				c.group[h], c.ahead[h] = groups, c.place(h, near[h])
				queue = append(queue, h)
			}
		}
	}
	return c
}

// place is an offset of h that fits its neighbours that have one: zero if it
// can be, else the middle of what is left. Where nothing is left the neighbour
// with the tightest bounds decides.
func (c *Clocks) place(h trace.StringID, near []trace.StringID) int64 {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	tightLo, tightHi := lo, hi
	for _, n := range near {
		ahead, ok := c.ahead[n]
		if !ok {
			continue
		}
		o, ok := c.Between(n, h)
		if !ok {
			continue
		}
		l, u := ahead+o.Lo, ahead+o.Hi
		lo, hi = max(lo, l), min(hi, u)
		if tightHi == math.MaxInt64 || u-l < tightHi-tightLo {
			tightLo, tightHi = l, u
		}
	}
	if lo > hi {
		lo, hi = tightLo, tightHi
	}
	if lo <= 0 && 0 <= hi {
		return 0
	}
	return lo + (hi-lo)/2
}

// Between is what is known of clock(b) − clock(a).
func (c *Clocks) Between(a, b trace.StringID) (Offset, bool) {
	if o, ok := c.Offset[HostPair{a, b}]; ok {
		return o, true
	}
	o, ok := c.Offset[HostPair{b, a}]
	o.Lo, o.Hi = -o.Hi, -o.Lo
	return o, ok
}

// Shift is what to add to a time of host h to place it on the clock of host
// entry, and whether anything is known of it.
func (c *Clocks) Shift(entry, h trace.StringID) (int64, bool) {
	if entry == h {
		return 0, true
	}
	if c == nil || c.group[entry] == 0 || c.group[entry] != c.group[h] {
		return 0, false
	}
	return c.ahead[entry] - c.ahead[h], true
}

// Slack is how far the offset between two hosts may be from the one used. It is
// zero within one host, and where nothing is known: recorded times stand.
func (c *Clocks) Slack(a, b trace.StringID) int64 {
	if a == b || c == nil {
		return 0
	}
	o, ok := c.Between(a, b)
	if !ok {
		return 0
	}
	return o.Hi - o.Lo
}
