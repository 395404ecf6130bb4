package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A Resolution says to which slot the calls of a slot belong whose server half
// was lost. One span in a hundred may be lost on its way; the call it was part
// of is the same call for all that, and no slot of its own.
//
// What is lost is the callee's own name. The caller's name of the call and of
// the party called are left: the slot is that of siblings with the same caller's
// name whose callee was known to the caller by the same name of the party. A
// caller that names no party may have called any of them.
type Resolution struct {
	// To is where each slot's calls belong: its own id, but for what was lost and
	// what is below it.
	To []SlotID

	// Ambiguous lists the slots that may be meant where there are several, in
	// order of their codes. To is then the one with the most calls.
	Ambiguous map[SlotID][]SlotID
}

// Resolve finds where the slots of d belong, after a folding of names, which may be
// nil. calls is how many calls each has. Slots may be added to d.
func (d *Dict) Resolve(calls []int64, names *Folding) *Resolution {
	r := &Resolution{To: make([]SlotID, len(d.slots)), Ambiguous: map[SlotID][]SlotID{}}
	n := len(d.slots)
	calls = append(slices.Clone(calls), make([]int64, max(0, n-len(calls)))...)
	levels := make([]SlotID, 0, n)
	for i := range SlotID(n) {
		r.To[i] = i
		if names == nil || int(i) >= len(names.To) || names.To[i] == i {
			levels = append(levels, i)
		}
	}
	slices.SortStableFunc(levels, func(a, b SlotID) int { return cmp.Compare(d.depth[a], d.depth[b]) })
	for len(levels) > 0 {
		k := 1
		for k < len(levels) && d.depth[levels[k]] == d.depth[levels[0]] {
			k++
		}
		d.resolveLevel(r, levels[:k], calls)
		levels = levels[k:]
	}
	return r
}

// A sight is a call as its caller sees it.
type sight struct {
	parent SlotID
	caller trace.Endpoint
	kind   trace.Kind
	peer   trace.StringID
}

// resolveLevel resolves slots of one depth, whose parents are resolved.
func (d *Dict) resolveLevel(r *Resolution, level []SlotID, calls []int64) {
	served := map[sight][]SlotID{} // whose callee is known, by what the caller saw
	add := func(s sight, id SlotID) {
		if !slices.Contains(served[s], id) {
			served[s] = append(served[s], id)
		}
	}
	lost := func(s *Slot) bool {
		return s.Parent != NoSlot && s.Callee == (trace.Endpoint{}) && s.Caller != (trace.Endpoint{})
	}
	for _, id := range level {
		s := d.slots[id]
		if s.Parent != NoSlot {
			s.Parent = r.To[s.Parent]
		}
		if s.Caller != (trace.Endpoint{}) && s.Callee != (trace.Endpoint{}) {
			peer := s.Peer
			s.Peer = 0
			r.To[id] = d.Slot(s)
			add(sight{s.Parent, s.Caller, s.Kind, 0}, r.To[id])
			add(sight{s.Parent, s.Caller, s.Kind, peer}, r.To[id])
			continue
		}
		r.To[id] = d.Slot(s)
	}
	for _, id := range level {
		s := d.slots[r.To[id]]
		if !lost(&s) {
			continue
		}
		to := served[sight{s.Parent, s.Caller, s.Kind, s.Peer}]
		if len(to) == 0 {
			continue
		}
		slices.Sort(to)
		best := to[0]
		for _, c := range to[1:] {
			if int(c) < len(calls) && int(best) < len(calls) && calls[c] > calls[best] {
				best = c
			}
		}
		r.To[id] = best
		if len(to) > 1 {
			r.Ambiguous[id] = slices.Clone(to)
		}
	}
}

// Record gives the record's calls their slots. Where several may be meant, it is
// one that the same parent has not called yet.
func (r *Resolution) Record(rec *Record) {
	var called map[calledBy]bool
	for i := range rec.Calls {
		if int(rec.Calls[i].Slot) < len(r.To) && len(r.Ambiguous[rec.Calls[i].Slot]) > 0 {
			called = map[calledBy]bool{}
			break
		}
	}
	if called != nil {
		for i := range rec.Calls {
			if c := &rec.Calls[i]; len(r.Ambiguous[c.Slot]) == 0 && int(c.Slot) < len(r.To) {
				called[calledBy{c.Parent, r.To[c.Slot]}] = true
			}
		}
	}
	for i := range rec.Calls {
		c := &rec.Calls[i]
		from := c.Slot
		if int(from) >= len(r.To) {
			continue
		}
		c.Slot = r.To[from]
		if several := r.Ambiguous[from]; len(several) > 0 {
			for _, s := range several {
				if !called[calledBy{c.Parent, s}] {
					c.Slot = s
					break
				}
			}
			called[calledBy{c.Parent, c.Slot}] = true
		}
	}
}

// calledBy is that a call of a record calls a slot.
type calledBy struct {
	parent int32
	slot   SlotID
}

// Fold returns f under the resolved slots. What is said of a slot that may be
// any of several is left out, and so is the order between what turns out to be
// one slot: it is no statement on repeats.
func (r *Resolution) Fold(f *Fold, m *Remap) *Fold {
	kept := &Fold{Clocks: f.Clocks, Orders: map[SlotPair]*Sketch{}, Waited: map[SlotID]*Waited{}, Producers: f.Producers}
	for p, s := range f.Orders {
		if len(r.Ambiguous[p.A]) > 0 || len(r.Ambiguous[p.B]) > 0 || p.A != p.B && r.To[p.A] == r.To[p.B] {
			continue
		}
		kept.Orders[p] = s
	}
	for slot, w := range f.Waited {
		if len(r.Ambiguous[slot]) == 0 {
			kept.Waited[slot] = w
		}
	}
	out := NewFold()
	out.Merge(kept, m)
	return out
}

// Remap is the translation of slots alone.
func (d *Dict) Remap(slots []SlotID) *Remap {
	m := d.Same()
	m.To, m.Slots = d, slots
	return m
}
