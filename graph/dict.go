package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// A SlotID is the place of a call slot in a Dict.
type SlotID int32

// NoSlot is the parent of an entry's slot.
const NoSlot SlotID = -1

// A Slot is a place in the work graph: what is called, from which slot. Repeats
// of one call, and its attempts, share a slot.
type Slot struct {
	Parent SlotID

	// Caller is the client half's service and operation; zero where a call has
	// no client half.
	Caller trace.Endpoint

	// Callee is the work half's: of the server, or of the span itself where
	// there is no client half; zero where only the client half was seen.
	Callee trace.Endpoint

	// Peer is the party that a client half calls, as the caller names it. No call
	// has a slot with both Callee and Peer: such a slot says only that callers know
	// the callee by that name.
	Peer trace.StringID

	// Kind is the kind of the outermost half.
	Kind trace.Kind
}

// A ProcID is the place of a process in a Dict.
type ProcID int32

// A Proc is the process that recorded a half: its clock and its instance.
type Proc struct{ Service, Host, Instance, Version trace.StringID }

// A Dict holds the names that records and folds refer to by code. The codes of
// two Dicts differ; Absorb translates.
type Dict struct {
	*trace.Tables
	slots   []Slot
	slotIDs map[Slot]SlotID
	depth   []int32
	kids    []int32             // of each slot: how many slots it is the parent of
	groups  map[nameGroup]int32 // how many slots there are that differ in name only
	crowded bool                // some of those are too many
	procs   []Proc
	procIDs map[Proc]ProcID
}

// NewDict returns an empty Dict.
func NewDict() *Dict {
	return &Dict{Tables: trace.NewTables(), slotIDs: map[Slot]SlotID{}, groups: map[nameGroup]int32{}, procIDs: map[Proc]ProcID{}}
}

// maxDepth is how deep slots nest. What recursion calls below it shares the
// slot of its kind at that depth: a chain of 20,000 calls is one slot repeated
// and not 20,000 slots.
const maxDepth = 128

// Slot is the id of a slot.
func (d *Dict) Slot(s Slot) SlotID {
	if s.Parent != NoSlot && d.depth[s.Parent] >= maxDepth {
		s.Parent = d.slots[s.Parent].Parent
	}
	if id, ok := d.slotIDs[s]; ok {
		return id
	}
	id := SlotID(len(d.slots))
	d.slots = append(d.slots, s)
	d.slotIDs[s] = id
	depth := int32(0)
	if s.Parent != NoSlot {
		depth = d.depth[s.Parent] + 1
	}
	d.depth = append(d.depth, depth)
	d.count(&s)
	return id
}

// SlotAt is the slot with an id.
func (d *Dict) SlotAt(id SlotID) *Slot { return &d.slots[id] }

// Slots is the number of slots.
func (d *Dict) Slots() int { return len(d.slots) }

// Depth is the number of slots above one.
func (d *Dict) Depth(id SlotID) int { return int(d.depth[id]) }

// Proc is the id of a process.
func (d *Dict) Proc(p Proc) ProcID {
	if id, ok := d.procIDs[p]; ok {
		return id
	}
	id := ProcID(len(d.procs))
	d.procs = append(d.procs, p)
	d.procIDs[p] = id
	return id
}

// ProcAt is the process with an id.
func (d *Dict) ProcAt(id ProcID) *Proc { return &d.procs[id] }

// Procs is the number of processes.
func (d *Dict) Procs() int { return len(d.procs) }

// A Remap translates the codes of one Dict into those of another.
type Remap struct {
	*trace.Remap
	To    *Dict
	Slots []SlotID
	Procs []ProcID
}

// Absorb adds all of o's names to d and returns the translation of o's codes.
func (d *Dict) Absorb(o *Dict) *Remap {
	m := &Remap{To: d, Remap: d.Tables.Absorb(o.Tables), Slots: make([]SlotID, len(o.slots)), Procs: make([]ProcID, len(o.procs))}
	for i, s := range o.slots { // a parent stands before its children
		m.Slots[i] = d.Slot(m.slot(s))
	}
	for i, p := range o.procs {
		m.Procs[i] = d.Proc(Proc{m.Strings[p.Service], m.Strings[p.Host], m.Strings[p.Instance], m.Strings[p.Version]})
	}
	return m
}

// Same is the translation of d's codes into themselves.
func (d *Dict) Same() *Remap {
	m := &Remap{Remap: &trace.Remap{Strings: make([]trace.StringID, d.Strings())}, Slots: make([]SlotID, len(d.slots)), Procs: make([]ProcID, len(d.procs))}
	for i := range m.Strings {
		m.Strings[i] = trace.StringID(i)
	}
	for i := range m.Slots {
		m.Slots[i] = SlotID(i)
	}
	for i := range m.Procs {
		m.Procs[i] = ProcID(i)
	}
	return m
}

// Then is the translation by m and then by o, whose codes are those that m translates into.
func (m *Remap) Then(o *Remap) *Remap {
	both := &Remap{To: o.To, Remap: &trace.Remap{Strings: make([]trace.StringID, len(m.Strings))}, Slots: make([]SlotID, len(m.Slots)), Procs: make([]ProcID, len(m.Procs))}
	for i, id := range m.Strings {
		both.Strings[i] = o.Strings[id]
	}
	for i, id := range m.Slots {
		both.Slots[i] = o.Slots[id]
	}
	for i, id := range m.Procs {
		both.Procs[i] = o.Procs[id]
	}
	return both
}

// Moves reports whether the translation changes the code of a slot.
func (m *Remap) Moves() bool {
	for i, id := range m.Slots {
		if id != SlotID(i) {
			return true
		}
	}
	return false
}

func (m *Remap) slot(s Slot) Slot {
	if s.Parent != NoSlot {
		s.Parent = m.Slots[s.Parent]
	}
	s.Caller = trace.Endpoint{Service: m.Strings[s.Caller.Service], Operation: m.Strings[s.Caller.Operation]}
	s.Callee = trace.Endpoint{Service: m.Strings[s.Callee.Service], Operation: m.Strings[s.Callee.Operation]}
	s.Peer = m.Strings[s.Peer]
	return s
}

// Canonical returns a Dict with the same names under codes that depend on the
// names alone, and the translation to it: strings in byte order, slots parents
// first and then by name, processes by name. Only strings that used selects
// are kept, beside those of slots and processes.
func (d *Dict) Canonical(used []bool) (*Dict, *Remap) {
	keep := slices.Clone(used)
	for len(keep) < d.Strings() {
		keep = append(keep, false)
	}
	for _, s := range d.slots {
		keep[s.Caller.Service], keep[s.Caller.Operation] = true, true
		keep[s.Callee.Service], keep[s.Callee.Operation] = true, true
		keep[s.Peer] = true
	}
	for _, p := range d.procs {
		keep[p.Service], keep[p.Host], keep[p.Instance], keep[p.Version] = true, true, true, true
	}
	var texts []string
	for id, k := range keep {
		if k {
			texts = append(texts, d.String(trace.StringID(id)))
		}
	}
	slices.Sort(texts)
	c := NewDict()
	for _, text := range texts {
		c.InternString(text)
	}
	m := &Remap{To: c, Remap: &trace.Remap{Strings: make([]trace.StringID, d.Strings())}, Slots: make([]SlotID, len(d.slots)), Procs: make([]ProcID, len(d.procs))}
	for id, k := range keep {
		if k {
			m.Strings[id], _ = c.Lookup(d.String(trace.StringID(id)))
		}
	}

	// With the strings in order, comparing codes compares texts.
	procs := make([]Proc, len(d.procs))
	for i, p := range d.procs {
		procs[i] = Proc{m.Strings[p.Service], m.Strings[p.Host], m.Strings[p.Instance], m.Strings[p.Version]}
	}
	sorted := slices.Clone(procs)
	slices.SortFunc(sorted, func(a, b Proc) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Version, b.Version))
	})
	for _, p := range sorted {
		c.Proc(p)
	}
	for i, p := range procs {
		m.Procs[i] = c.procIDs[p]
	}

	// Slots level by level, so that parents have their codes already.
	level := make([]SlotID, 0, len(d.slots))
	for i := range d.slots {
		level = append(level, SlotID(i))
	}
	slices.SortStableFunc(level, func(a, b SlotID) int { return cmp.Compare(d.depth[a], d.depth[b]) })
	for len(level) > 0 {
		n := 1
		for n < len(level) && d.depth[level[n]] == d.depth[level[0]] {
			n++
		}
		moved := make([]Slot, n)
		for i, id := range level[:n] {
			moved[i] = m.slot(d.slots[id])
		}
		order := slices.Clone(moved)
		slices.SortFunc(order, compareSlots)
		for _, s := range order {
			c.Slot(s)
		}
		for i, id := range level[:n] {
			m.Slots[id] = c.slotIDs[moved[i]]
		}
		level = level[n:]
	}
	return c, m
}

func compareSlots(a, b Slot) int {
	return cmp.Or(
		cmp.Compare(a.Parent, b.Parent),
		cmp.Compare(a.Caller.Service, b.Caller.Service), cmp.Compare(a.Caller.Operation, b.Caller.Operation),
		cmp.Compare(a.Callee.Service, b.Callee.Service), cmp.Compare(a.Callee.Operation, b.Callee.Operation),
		cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Kind, b.Kind),
	)
}

// Service and Operation are what a slot is shown as: the callee where it is
// known, else the caller's own view of the call.
func (s *Slot) Shown() trace.Endpoint {
	if s.Callee != (trace.Endpoint{}) {
		return s.Callee
	}
	return s.Caller
}

// Path is the slot's path from its entry as text, for messages and for hashes
// that must not depend on codes.
func (d *Dict) Path(id SlotID) string {
	var parts []string
	for ; id != NoSlot; id = d.slots[id].Parent {
		s := &d.slots[id]
		e := s.Shown()
		parts = append(parts, d.String(e.Service)+"\x1f"+d.String(e.Operation)+"\x1f"+d.String(s.Peer)+"\x1f"+s.Kind.String())
	}
	slices.Reverse(parts)
	return strings.Join(parts, "\x1e")
}
