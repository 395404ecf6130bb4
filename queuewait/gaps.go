package queuewait

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/tailscope/tailscope/graph"
)

// A GapKey is an edge as its two processes saw it.
type GapKey struct {
	Slot           graph.SlotID
	Caller, Callee graph.ProcID
}

// Gaps counts client duration less server duration of the calls of one key.
// Being a difference of two durations it needs no common clock.
type Gaps struct {
	Min    int64
	Sketch graph.Sketch
}

// A Fold is the gaps of all calls that succeeded. Folds merge exactly and in
// any order.
type Fold struct {
	Gaps map[GapKey]*Gaps
}

// NewFold returns an empty Fold.
func NewFold() *Fold { return &Fold{Gaps: map[GapKey]*Gaps{}} }

// Add counts the calls of a record.
func (f *Fold) Add(r *graph.Record) {
	for i := range r.Calls {
		c := &r.Calls[i]
		if gap, ok := Gap(c); ok {
			k := GapKey{c.Slot, c.Client.Proc, c.Work.Proc}
			g := f.Gaps[k]
			if g == nil {
				g = &Gaps{Min: gap}
				f.Gaps[k] = g
			}
			g.Min = min(g.Min, gap)
			g.Sketch.Add(gap)
		}
	}
}

// Gap is the time of a call that its client half saw and its server half did
// not. It is not ok of calls without both halves, of calls that were left, and
// where the server half is the longer.
func Gap(c *graph.Call) (int64, bool) {
	if !c.Paired() || c.ClientEnd.Left() || c.Flags&(graph.Async|graph.Loser) != 0 {
		return 0, false
	}
	g := c.Client.Duration() - c.Work.Duration()
	return g, g >= 0
}

// Merge adds o, whose codes m translates into f's.
func (f *Fold) Merge(o *Fold, m *graph.Remap) {
	for k, g := range o.Gaps {
		q := GapKey{m.Slots[k.Slot], m.Procs[k.Caller], m.Procs[k.Callee]}
		into := f.Gaps[q]
		if into == nil {
			into = &Gaps{Min: g.Min}
			f.Gaps[q] = into
		}
		into.Min = min(into.Min, g.Min)
		into.Sketch.Merge(&g.Sketch)
	}
}

func (f *Fold) keys() []GapKey {
	keys := make([]GapKey, 0, len(f.Gaps))
	for k := range f.Gaps {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b GapKey) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
	})
	return keys
}

// AppendBinary appends the fold in its one canonical form, given that its codes
// are canonical.
func (f *Fold) AppendBinary(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(len(f.Gaps)))
	for _, k := range f.keys() {
		g := f.Gaps[k]
		to = binary.AppendUvarint(to, uint64(k.Slot))
		to = binary.AppendUvarint(to, uint64(k.Caller))
		to = binary.AppendUvarint(to, uint64(k.Callee))
		to = binary.AppendUvarint(to, uint64(g.Min))
		to = g.Sketch.AppendBinary(to)
	}
	return to
}

// DecodeFold reads what AppendBinary wrote.
func DecodeFold(d *graph.Decoder, dict *graph.Dict) *Fold {
	f := NewFold()
	for range d.Length(5) {
		k := GapKey{graph.SlotID(d.Code(dict.Slots())), graph.ProcID(d.Code(dict.Procs())), graph.ProcID(d.Code(dict.Procs()))}
		g := &Gaps{Min: int64(d.Uint())}
		g.Sketch = d.Sketch()
		f.Gaps[k] = g
	}
	return f
}

// Floors is the network's share of the gap of each slot.
type Floors struct {
	floors map[graph.SlotID]Floor
}

// A Floor is the time that a call's way there and back takes at least, in ns.
type Floor struct {
	NS int64
	N  int64 // calls that tell
}

// floorQuantile is the quantile of the gaps that counts as free of waiting, and
// minFloor how many calls make a quantile: of fewer the least gap is taken.
const (
	floorQuantile = 0.05
	minFloor      = 20
)

// NewFloors reads merged folds: those of all sets together, since a network
// does not know which set it is in.
func NewFloors(folds ...*Fold) *Floors {
	merged := map[graph.SlotID]*Gaps{}
	for _, f := range folds {
		for k, g := range f.Gaps {
			into := merged[k.Slot]
			if into == nil {
				into = &Gaps{Min: g.Min}
				merged[k.Slot] = into
			}
			into.Min = min(into.Min, g.Min)
			into.Sketch.Merge(&g.Sketch)
		}
	}
	fl := &Floors{map[graph.SlotID]Floor{}}
	for slot, g := range merged {
		fl.floors[slot] = g.floor()
	}
	return fl
}

// Of is the floor of a slot.
func (f *Floors) Of(slot graph.SlotID) (Floor, bool) {
	if f == nil {
		return Floor{}, false
	}
	fl, ok := f.floors[slot]
	return fl, ok
}
