package latework

import (
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// A Target is what the attempts of one logical call have in common: the slot
// that calls, and what it calls by its own word. It is not the slot called,
// since of two attempts the server half of one may be lost.
type Target struct {
	Parent graph.SlotID
	Name   trace.Endpoint // of the client half; of the work half where there is none
	Peer   trace.StringID
}

// TargetOf is the target of a slot.
func TargetOf(d *graph.Dict, slot graph.SlotID) Target {
	s := d.SlotAt(slot)
	if s.Caller == (trace.Endpoint{}) {
		return Target{s.Parent, s.Callee, 0}
	}
	return Target{Parent: s.Parent, Name: s.Caller}
}

// Chains links the attempts of logical calls: to[i] is the attempt that call i,
// a retry or a hedge, follows, and -1 of a first attempt. A retry follows the
// failed attempt that ended last before it and that no other retry follows; a
// hedge the one that began last before it. Calls of one parent may be retried
// side by side, so the attempt before is not simply the call before.
func Chains(d *graph.Dict, r *graph.Record, to []int32) []int32 {
	to = to[:0]
	for range r.Calls {
		to = append(to, -1)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Flags&(graph.Retry|graph.Hedge) == 0 || c.Parent < 0 {
			continue
		}
		target, parent := TargetOf(d, c.Slot), &r.Calls[c.Parent]
		best, bestFailed, bestAt := int32(-1), false, trace.Time(0)
		for k := c.Parent + 1; k < c.Parent+parent.Len; k += r.Calls[k].Len {
			b := &r.Calls[k]
			if int(k) == i || TargetOf(d, b.Slot) != target || slices.Contains(to, k) {
				continue
			}
			at, failed := b.Outer().Start, false
			if c.Flags&graph.Retry != 0 {
				at, failed = b.Outer().End, b.OuterEnd() != graph.Succeeded
			}
			if at > c.Outer().Start || at == c.Outer().Start && int(k) > i {
				continue
			}
			if best < 0 || failed && !bestFailed || failed == bestFailed && at > bestAt {
				best, bestFailed, bestAt = k, failed, at
			}
		}
		to[i] = best
	}
	return to
}
