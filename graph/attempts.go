package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// attempts finds, among the calls that one parent makes to one slot, which are
// attempts of one logical call: retries (begun after the one before had
// failed), hedges (begun while it was running, one of the two cancelled), and
// the losers among them. A loser is cancelled because another of its kind had
// answered: it was waited for only until the next attempt began, and not at all
// where none began, as in a gather that needed only some of its branches.
func (b *Builder) attempts(r *Record) {
	calls := r.Calls
	b.groups = b.groups[:0]
	for p := range calls {
		if calls[p].Len == 1 {
			continue
		}
		b.groups = b.groups[:0]
		for i := int32(p) + 1; i < int32(p)+calls[p].Len; i += calls[i].Len {
			b.groups = append(b.groups, i)
		}
		if len(b.groups) < 2 {
			continue
		}
		byStart := func(x, y int32) int {
			return cmp.Or(cmp.Compare(calls[x].Outer().Start, calls[y].Outer().Start), cmp.Compare(x, y))
		}
		if !slices.IsSortedFunc(b.groups, byStart) {
			slices.SortFunc(b.groups, byStart)
		}
		b.keyed = b.keyed[:0]
		b.kinds = empty(b.kinds)
		for rank, i := range b.groups {
			b.keyed = append(b.keyed, uint64(b.attemptKind(&calls[i]))<<32|uint64(rank))
		}
		slices.Sort(b.keyed)
		for from := 0; from < len(b.keyed); {
			to := from + 1
			for to < len(b.keyed) && b.keyed[to]>>32 == b.keyed[from]>>32 {
				to++
			}
			if to-from > 1 {
				b.alike = b.alike[:0]
				for _, k := range b.keyed[from:to] {
					b.alike = append(b.alike, b.groups[uint32(k)])
				}
				group(r, b.alike)
			}
			from = to
		}
	}
}

// attemptKind numbers what attempts of one logical call have in common, in the
// order in which it is met among the calls of one parent. It is not the slot: of
// two attempts the server half of one may be lost.
func (b *Builder) attemptKind(c *Call) uint32 {
	s := b.Dict.SlotAt(c.Slot)
	e := s.Caller
	if !c.Client.Seen() {
		e = s.Callee
	}
	n, ok := b.kinds[e]
	if !ok {
		n = uint32(len(b.kinds))
		b.kinds[e] = n
	}
	return n
}

// group judges the calls of one key in order of start. What begins after one that failed and that nothing followed yet
// is tried again, also where others ran beside the one that failed.
func group(r *Record, calls []int32) {
	failed := failures(r, calls)
	over, followed := 0, 0 // of those that failed: had ended when the call began, and were tried again
	for k := 1; k < len(calls); k++ {
		c := &r.Calls[calls[k]]
		prev := &r.Calls[calls[k-1]]
		pe, end := prev.Outer().End, prev.OuterEnd()
		explicit := c.Attempt > 0
		for over < len(failed) && failed[over] <= c.Outer().Start {
			over++
		}
		switch {
		case pe <= c.Outer().Start && (end != Succeeded || explicit || prev.Flags&Redirected != 0):
			c.Flags |= Retry
			followed = min(over, followed+1)
		case pe > c.Outer().Start && (explicit || hedged(prev, c)):
			c.Flags |= Hedge
		case over > followed:
			c.Flags |= Retry
			followed++
		default:
			continue
		}
		if !explicit {
			c.Attempt = min(prev.Attempt+1, 1<<15)
		}
	}
	var won []trace.Time // the ends of those that succeeded, ascending; once asked for
	for k, i := range calls {
		c := &r.Calls[i]
		if c.OuterEnd() != Cancelled {
			continue
		}
		if won == nil {
			won = wins(r, calls)
		}
		if !lost(c.Outer().Interval, won) {
			continue
		}
		c.Flags |= Loser
		until := c.Outer().Start
		if k+1 < len(calls) {
			if next := &r.Calls[calls[k+1]]; next.Flags&Hedge != 0 {
				until = min(next.Outer().Start, c.Outer().End)
			}
		}
		r.Limits = append(r.Limits, Limit{i, until})
	}
}

// hedgeDelay is how much later than the first a second attempt starts at least:
// branches of one gather start together, a hedge waits to see whether the first
// is slow.
const hedgeDelay = 1_000_000

// hedged reports whether two overlapping calls of one kind are attempts of one
// logical call: the one was cancelled, once the other had answered.
func hedged(a, b *Call) bool {
	if b.Outer().Start-a.Outer().Start < hedgeDelay {
		return false
	}
	ea, eb := a.OuterEnd(), b.OuterEnd()
	return (ea == Cancelled) != (eb == Cancelled) && (ea == Succeeded || eb == Succeeded)
}

// failures is the ends of the calls that failed by themselves, ascending. One that was cancelled may have lost.
func failures(r *Record, calls []int32) []trace.Time {
	var ends []trace.Time
	for _, i := range calls {
		if e := r.Calls[i].OuterEnd(); e != Succeeded && e != Cancelled {
			ends = append(ends, r.Calls[i].Outer().End)
		}
	}
	slices.Sort(ends)
	return ends
}

// wins is the ends of the calls that succeeded, ascending.
func wins(r *Record, calls []int32) []trace.Time {
	ends := []trace.Time{}
	for _, i := range calls {
		if r.Calls[i].OuterEnd() == Succeeded {
			ends = append(ends, r.Calls[i].Outer().End)
		}
	}
	slices.Sort(ends)
	return ends
}

// lost reports whether a cancelled call was ended by the answer of another of its
// kind. won is the ends of those that answered.
func lost(v trace.Interval, won []trace.Time) bool {
	after, _ := slices.BinarySearch(won, v.End+cancelSlack+1)
	return after > 0 && won[after-1] >= v.End-cancelDelay && won[after-1] > v.Start
}

// cancelDelay is how long after the winner's answer a loser may end: what is
// cancelled later was cancelled for another reason.
const cancelDelay trace.Time = 5_000_000

// cancelSlack is how much earlier than the winner's end a loser may end: the
// two are ended by one event loop, in either order.
const cancelSlack trace.Time = 1_000_000
