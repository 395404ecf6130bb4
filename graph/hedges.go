package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// hedgePart: the delays of hedges may spread by hedgeSpread or by this part of the delay, the 20th, which timers keep.
const hedgePart = 20

// A hedge whose loser is not cancelled looks like any second call that overlaps
// the first. What gives it away, over all requests, is its delay: it begins a
// constant time after the first calls of its kind, and only while one of them
// still runs. KeptHedges finds the slots of which that is so, marks the hedges
// and losers in the records, and returns the slots. Callers did not wait for the
// losers, which may run on beyond them.
func KeptHedges(records []*Record) []SlotID {
	delays := map[SlotID][]int64{}
	each(records, func(_ *Record, slot SlotID, later []int32, delay func(int32) int64) {
		for _, i := range later {
			delays[slot] = append(delays[slot], delay(i))
		}
	})
	at := map[SlotID]int64{}
	var slots []SlotID
	for slot, list := range delays {
		slices.Sort(list)
		n := len(list)
		mid := list[n/2]
		if n >= minKeptHedges && list[n*9/10]-list[n/10] <= max(hedgeSpread, mid/hedgePart) {
			at[slot] = mid
			slots = append(slots, slot)
		}
	}
	if len(slots) == 0 {
		return nil
	}
	slices.Sort(slots)
	each(records, func(r *Record, slot SlotID, later []int32, delay func(int32) int64) {
		want, ok := at[slot]
		if !ok {
			return
		}
		taken := map[int32]bool{}
		for _, i := range later {
			if off := delay(i) - want; max(off, -off) <= max(hedgeSpread, want/hedgePart) {
				keptHedge(r, i, taken)
			}
		}
	})
	return slots
}

const (
	// minKeptHedges is how many second calls must begin at one delay.
	minKeptHedges = 20
	// hedgeSpread is how far apart nine in ten delays may lie: a timer's
	// coarseness and the wait for a thread.
	hedgeSpread = 1_500_000
)

// maxHedged is how many calls of one kind a parent that hedges them makes: each is
// compared with all.
const maxHedged = 1024

// each visits the kinds of calls that a parent makes more than once, in records
// without attempts of their own word: those that begin later than the first by
// hedgeDelay at least, while one of the first still runs.
func each(records []*Record, f func(r *Record, slot SlotID, later []int32, delay func(int32) int64)) {
	groups := map[SlotID][]int32{}
	var slots []SlotID
	for _, r := range records {
		for p := range r.Calls {
			if r.Calls[p].Len < 3 {
				continue
			}
			clear(groups)
			slots = slots[:0]
			for i := int32(p) + 1; i < int32(p)+r.Calls[p].Len; i += r.Calls[i].Len {
				c := &r.Calls[i]
				if c.Client.Seen() && c.Flags&(Async|Retry|Hedge|Loser|WaitSpan) == 0 {
					if len(groups[c.Slot]) == 0 {
						slots = append(slots, c.Slot)
					}
					groups[c.Slot] = append(groups[c.Slot], i)
				}
			}
			for _, slot := range slots {
				g := groups[slot]
				if len(g) < 2 || len(g) > maxHedged {
					continue
				}
				first, running := r.Calls[g[0]].Client.Start, trace.Time(0)
				for _, i := range g {
					first = min(first, r.Calls[i].Client.Start)
				}
				for _, i := range g {
					if c := &r.Calls[i]; c.Client.Start < first+hedgeDelay {
						running = max(running, c.Client.End)
					}
				}
				var later []int32
				for _, i := range g {
					if s := r.Calls[i].Client.Start; s >= first+hedgeDelay && s < running {
						later = append(later, i)
					}
				}
				if len(later) > 0 {
					f(r, slot, later, func(i int32) int64 { return int64(r.Calls[i].Client.Start - first) })
				}
			}
		}
	}
}

// keptHedge marks call h as the hedge of a call of its slot that was running when
// it began: of the one at the same instance, else of the one that ran longest.
// The one of the two that ended last lost.
func keptHedge(r *Record, h int32, taken map[int32]bool) {
	c := &r.Calls[h]
	p := &r.Calls[c.Parent]
	best := int32(-1)
	better := func(a, b *Call) bool {
		same := func(x *Call) int {
			if x.Work.Proc == c.Work.Proc {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(same(a), same(b)), cmp.Compare(a.Client.End, b.Client.End)) > 0
	}
	for i := c.Parent + 1; i < c.Parent+p.Len; i += r.Calls[i].Len {
		b := &r.Calls[i]
		if i == h || b.Slot != c.Slot || taken[i] || b.Flags&(Hedge|Loser|Retry) != 0 || b.Client.Start > c.Client.Start-hedgeDelay || b.Client.End <= c.Client.Start {
			continue
		}
		if best < 0 || better(b, &r.Calls[best]) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	taken[best], taken[h] = true, true
	b := &r.Calls[best]
	c.Flags |= Hedge
	c.Attempt = b.Attempt + 1
	lost, until := h, c.Client.Start
	if b.Client.End > c.Client.End {
		lost = best
	}
	r.Calls[lost].Flags |= Loser
	r.Limits = append(r.Limits, Limit{lost, until})
}

// Hold settles that callers wait for slots whose hedges run on: for the attempt
// that answers first. What outlived the caller, or ran beside its next calls,
// were the losers, so the orders after these slots are counted again without
// them.
func (v *Verdicts) Hold(slots []SlotID, records []*Record) {
	if len(slots) == 0 {
		return
	}
	for _, s := range slots {
		if w := v.waited[s]; w != nil {
			w.Verdict = WaitedHeld
		}
	}
	counts := map[[2]SlotID]*Order{}
	ends := map[SlotID]trace.Time{}
	for _, r := range records {
		for p := range r.Calls {
			if r.Calls[p].Len < 3 {
				continue
			}
			clear(ends)
			for i := int32(p) + 1; i < int32(p)+r.Calls[p].Len; i += r.Calls[i].Len {
				if c := &r.Calls[i]; slices.Contains(slots, c.Slot) && c.Flags&Loser == 0 {
					ends[c.Slot] = max(ends[c.Slot], c.Outer().End)
				}
			}
			for slot, end := range ends {
				for i := int32(p) + 1; i < int32(p)+r.Calls[p].Len; i += r.Calls[i].Len {
					c := &r.Calls[i]
					if c.Slot == slot {
						continue
					}
					k := [2]SlotID{slot, c.Slot}
					if counts[k] == nil {
						counts[k] = &Order{}
					}
					if c.Outer().Start >= end {
						counts[k].Held++
					} else {
						counts[k].Refuted++
					}
				}
			}
		}
	}
	for k, n := range counts {
		o := v.orders[k]
		if o == nil || o.Verdict != OrderRefuted {
			continue
		}
		if total := n.Held + n.Refuted; total >= minOrder && float64(n.Refuted) <= maxRefuted*float64(total) {
			o.Held, o.Refuted, o.Verdict = n.Held, n.Refuted, OrderHeld
		}
	}
}
