package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A SlotPair is two sibling slots, A hypothetically before B; a slot paired
// with itself speaks of its repeats. Clocks is the pair of clocks that was
// crossed to compare them, and when: they drift. It is zero if none was.
type SlotPair struct {
	A, B   SlotID
	Clocks ClockKey
}

// maxSiblings is how many slots of one parent are compared with each other;
// beyond it only neighbours in order of start are.
const maxSiblings = 256

type slotGroup struct {
	slot  SlotID
	calls []int32 // in order of start
}

// parents counts the orders of the calls of those parents that want holds for.
func (f *Folder) parents(r *Record, want func(SlotID) bool) {
	for p := range r.Calls {
		if r.Calls[p].Len > 2 && want(r.Calls[p].Slot) {
			f.kids = f.kids[:0]
			for i := int32(p) + 1; i < int32(p)+r.Calls[p].Len; i += r.Calls[i].Len {
				f.kids = append(f.kids, i)
			}
			f.siblings(r, p)
		}
	}
}

// siblings counts the order of the calls f.kids of one parent.
func (f *Folder) siblings(r *Record, parent int) {
	kids := f.kids
	if len(kids) < 2 {
		return
	}
	kids = f.byStart(r)
	f.keys = f.keys[:0]
	for rank, i := range kids {
		f.keys = append(f.keys, uint64(r.Calls[i].Slot)<<32|uint64(rank))
	}
	slices.Sort(f.keys)
	f.grouped = f.grouped[:0]
	for _, k := range f.keys {
		f.grouped = append(f.grouped, kids[uint32(k)])
	}
	kids = f.grouped
	f.groups = f.groups[:0]
	for from := 0; from < len(kids); {
		slot := r.Calls[kids[from]].Slot
		to := from + 1
		for to < len(kids) && r.Calls[kids[to]].Slot == slot {
			to++
		}
		f.groups = append(f.groups, slotGroup{slot, kids[from:to]})
		from = to
	}
	neighbours := len(f.groups) > maxSiblings || f.wide[r.Calls[parent].Slot]
	if neighbours {
		slices.SortFunc(f.groups, func(x, y slotGroup) int {
			return cmp.Or(cmp.Compare(r.Calls[x.calls[0]].Outer().Start, r.Calls[y.calls[0]].Outer().Start), cmp.Compare(x.calls[0], y.calls[0]))
		})
	}
	for i, a := range f.groups {
		if len(a.calls) > 1 {
			f.repeats(r, a)
		}
		last := len(f.groups)
		if neighbours {
			last = min(i+2, last)
		}
		for _, b := range f.groups[i+1 : last] {
			if len(a.calls) == 1 && len(b.calls) == 1 { // as most are
				f.once(r, a, b)
				continue
			}
			f.order(r, a, b)
			f.order(r, b, a)
		}
	}
}

// once is order, both ways, of two slots that were called once.
func (f *Folder) once(r *Record, a, b slotGroup) {
	ca, cb := &r.Calls[a.calls[0]], &r.Calls[b.calls[0]]
	if !takesPart(ca) || !takesPart(cb) {
		return
	}
	oa, ob := ca.Outer(), cb.Outer()
	ha, hb := f.host(oa.Proc), f.host(ob.Proc)
	f.count(SlotPair{a.slot, b.slot, f.crossed(r, ha, hb)}, touching(int64(ob.Start-oa.End), ca, cb, ha == hb))
	f.count(SlotPair{b.slot, a.slot, f.crossed(r, hb, ha)}, touching(int64(oa.Start-ob.End), cb, ca, ha == hb))
}

// takesPart reports whether a call takes part in orders: losers end when the
// winner does, whatever they follow.
func takesPart(c *Call) bool { return c.Flags&(Loser|Async) == 0 && c.Outer().Duration() > 0 }

// repeats counts how the calls of one slot follow each other: by the least gap
// between one's start and the end of all before it.
func (f *Folder) repeats(r *Record, g slotGroup) {
	least, n := int64(math.MaxInt64), 0
	var last *Call // the one that ended last
	for _, i := range g.calls {
		c := &r.Calls[i]
		if !takesPart(c) || c.Flags&Hedge != 0 {
			continue
		}
		if last != nil {
			least = min(least, touching(int64(c.Outer().Start-last.Outer().End), last, c, true))
		}
		if last == nil || c.Outer().End > last.Outer().End {
			last = c
		}
		n++
	}
	if n > 1 {
		f.count(SlotPair{A: g.slot, B: g.slot}, least)
	}
}

// order counts the hypothesis that slot a comes before slot b. Where each was
// called once, the gap from a's end to b's start decides. Where one repeats, a
// call of a that was running when one of b began refutes it, and calls in turn
// do not: a loop is no counter-example.
func (f *Folder) order(r *Record, a, b slotGroup) {
	least, found := int64(math.MaxInt64), false
	var clocks ClockKey
	single := len(a.calls) == 1 && len(b.calls) == 1
	at := 0
	latest := int32(-1) // of a's calls begun before the present one of b, the last to end
	for _, i := range b.calls {
		cb := &r.Calls[i]
		if !takesPart(cb) {
			continue
		}
		for at < len(a.calls) && (single || r.Calls[a.calls[at]].Outer().Start < cb.Outer().Start) {
			ca := &r.Calls[a.calls[at]]
			if takesPart(ca) && (latest < 0 || ca.Outer().End > r.Calls[latest].Outer().End) {
				latest = a.calls[at]
			}
			at++
		}
		if latest < 0 {
			continue
		}
		ca := &r.Calls[latest]
		ha, hb := f.host(ca.Outer().Proc), f.host(cb.Outer().Proc)
		gap := touching(int64(cb.Outer().Start-ca.Outer().End), ca, cb, ha == hb)
		if gap < least {
			least, found = gap, true
			clocks = f.crossed(r, ha, hb)
		}
	}
	if found {
		f.count(SlotPair{a.slot, b.slot, clocks}, least)
	}
}

func (f *Folder) count(p SlotPair, gap int64) {
	h := uint32(p.A)*0x9e3779b1 ^ uint32(p.B)*0x85ebca77 ^ uint32(p.Clocks.A)*0xc2b2ae3d ^ uint32(p.Clocks.B)*0x27d4eb2f ^ uint32(p.Clocks.Window)
	x := &f.recent().orders[h>>16%512]
	if x.Sketch == nil || x.SlotPair != p {
		s := f.Fold.Orders[p]
		if s == nil {
			s = &Sketch{}
			f.Fold.Orders[p] = s
		}
		x.SlotPair, x.Sketch = p, s
	}
	x.Sketch.Add(gap)
}

// touching is gap, or zero where a and b overlap by so little that they touch:
// by the resolution of their timestamps or, on one clock, by 1 % of the shorter
// and at most 0.1 ms.
func touching(gap int64, a, b *Call, oneClock bool) int64 {
	if gap >= 0 || -gap > touch(a.Outer().Interval, b.Outer().Interval, oneClock) {
		return gap
	}
	return 0
}

// Spans on one clock touch that overlap by a part of the shorter, and by this at most, in ns: the order in which a thread
// ends one span and begins the next is not always that of their timestamps.
const (
	touchPart = 100
	touchMost = 100_000
)

// touch is the overlap of two intervals up to which they touch.
func touch(a, b trace.Interval, oneClock bool) int64 {
	t := resolution(a.End, b.Start)
	if oneClock {
		t = max(t, min(a.Duration()/touchPart, b.Duration()/touchPart, touchMost))
	}
	return t
}

// mostTouch is the most that touch can be of anything before b.
func mostTouch(b trace.Interval) int64 {
	return max(resolution(b.Start, b.Start), min(b.Duration()/touchPart, touchMost))
}

// resolution is the unit in which two timestamps were taken, as far as their
// digits show it.
func resolution(a, b trace.Time) int64 {
	switch {
	case a%1_000_000 == 0 && b%1_000_000 == 0:
		return 1_000_000
	case a%1_000 == 0 && b%1_000 == 0:
		return 1_000
	}
	return 0
}
