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
		slices.SortFunc(b.groups, func(x, y int32) int {
			return cmp.Or(cmp.Compare(b.attemptKey(&calls[x]), b.attemptKey(&calls[y])), cmp.Compare(calls[x].Outer().Start, calls[y].Outer().Start), cmp.Compare(x, y))
		})
		for from := 0; from < len(b.groups); {
			to := from + 1
			for to < len(b.groups) && b.attemptKey(&calls[b.groups[to]]) == b.attemptKey(&calls[b.groups[from]]) {
				to++
			}
			if to-from > 1 {
				group(r, b.groups[from:to])
			}
			from = to
		}
	}
}

// attemptKey is what attempts of one logical call have in common. It is not the
// slot: of two attempts the server half of one may be lost.
func (b *Builder) attemptKey(c *Call) int64 {
	s := b.Dict.SlotAt(c.Slot)
	e := s.Caller
	if !c.Client.Seen() {
		e = s.Callee
	}
	return int64(e.Service)<<32 | int64(e.Operation)
}

// group judges the calls of one key in order of start.
func group(r *Record, calls []int32) {
	for k := 1; k < len(calls); k++ {
		c := &r.Calls[calls[k]]
		prev := &r.Calls[calls[k-1]]
		pe, end := prev.Outer().End, prev.OuterEnd()
		explicit := c.Attempt > 0
		switch {
		case pe <= c.Outer().Start && (end != Succeeded || explicit || prev.Flags&Redirected != 0):
			c.Flags |= Retry
		case pe > c.Outer().Start && (explicit || hedged(prev, c)):
			c.Flags |= Hedge
		default:
			continue
		}
		if !explicit {
			c.Attempt = prev.Attempt + 1
		}
	}
	for k, i := range calls {
		c := &r.Calls[i]
		if c.OuterEnd() != Cancelled || !lost(r, calls, k) {
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

// lost reports whether the cancelled call k was ended by the answer of another
// of its kind.
func lost(r *Record, calls []int32, k int) bool {
	v := r.Calls[calls[k]].Outer().Interval
	for j, i := range calls {
		o := r.Calls[i].Outer().Interval
		if j != k && r.Calls[i].OuterEnd() == Succeeded && o.End <= v.End+cancelSlack && o.End >= v.End-cancelDelay && o.End > v.Start {
			return true
		}
	}
	return false
}

// cancelDelay is how long after the winner's answer a loser may end: what is
// cancelled later was cancelled for another reason.
const cancelDelay trace.Time = 5_000_000

// cancelSlack is how much earlier than the winner's end a loser may end: the
// two are ended by one event loop, in either order.
const cancelSlack trace.Time = 1_000_000
