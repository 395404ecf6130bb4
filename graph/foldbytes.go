package graph

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// Use marks the strings that the fold refers to.
func (f *Fold) Use(used []bool) {
	for p := range f.Clocks {
		used[p.A], used[p.B] = true, true
	}
	for p := range f.Orders {
		used[p.Clocks.A], used[p.Clocks.B] = true, true
	}
	for _, w := range f.Waited {
		for p := range w.Overhang {
			used[p.A], used[p.B] = true, true
		}
	}
}

// AppendBinary appends the fold in its one canonical form, given that its codes
// are canonical.
func (f *Fold) AppendBinary(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(len(f.Clocks)))
	for _, p := range sortedKeys(f.Clocks, compareClocks) {
		b := f.Clocks[p]
		to = appendClocks(to, p)
		to = binary.AppendUvarint(to, uint64(b.N))
		to = binary.AppendVarint(to, b.Least)
		for _, list := range [2][]int64{b.Lo, b.Hi} {
			to = binary.AppendUvarint(to, uint64(len(list)))
			for _, v := range list {
				to = binary.AppendVarint(to, v)
			}
		}
	}
	to = binary.AppendUvarint(to, uint64(len(f.Orders)))
	for _, p := range sortedKeys(f.Orders, comparePairs) {
		to = binary.AppendUvarint(to, uint64(p.A))
		to = binary.AppendUvarint(to, uint64(p.B))
		to = appendClocks(to, p.Clocks)
		to = f.Orders[p].AppendBinary(to)
	}
	to = binary.AppendUvarint(to, uint64(len(f.Waited)))
	for _, slot := range sortedKeys(f.Waited, cmp.Compare[SlotID]) {
		w := f.Waited[slot]
		to = binary.AppendUvarint(to, uint64(slot))
		for _, v := range [5]int64{w.N, w.Inside, w.Followed, w.Chance, w.Rate} {
			to = binary.AppendUvarint(to, uint64(v))
		}
		for _, s := range [4]*Sketch{w.Tail, w.Rest, w.Took, w.Age} {
			to = s.AppendBinary(to)
		}
		to = binary.AppendUvarint(to, uint64(len(w.Overhang)))
		for _, p := range sortedKeys(w.Overhang, compareClocks) {
			to = appendClocks(to, p)
			to = w.Overhang[p].AppendBinary(to)
		}
	}
	to = binary.AppendUvarint(to, uint64(len(f.Producers)))
	for _, l := range sortedKeys(f.Producers, func(a, b trace.Link) int {
		return cmp.Or(a.TraceID.Compare(b.TraceID), cmp.Compare(a.ID, b.ID))
	}) {
		to = append(to, l.TraceID[:]...)
		to = binary.BigEndian.AppendUint64(to, uint64(l.ID))
		to = binary.AppendVarint(to, int64(f.Producers[l]))
	}
	return to
}

func appendClocks(to []byte, p ClockKey) []byte {
	return binary.AppendVarint(binary.AppendUvarint(binary.AppendUvarint(to, uint64(p.A)), uint64(p.B)), p.Window)
}

func compareHosts(a, b HostPair) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) }

func compareClocks(a, b ClockKey) int {
	return cmp.Or(cmp.Compare(a.Window, b.Window), compareHosts(a.HostPair, b.HostPair))
}

func comparePairs(a, b SlotPair) int {
	return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), compareClocks(a.Clocks, b.Clocks))
}

func sortedKeys[K comparable, V any](m map[K]V, order func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, order)
	return keys
}

// DecodeFold reads what AppendBinary wrote.
func DecodeFold(d *Decoder, dict *Dict) *Fold {
	f := NewFold()
	clocks := func() ClockKey {
		return ClockKey{HostPair{trace.StringID(d.Code(dict.Strings())), trace.StringID(d.Code(dict.Strings()))}, d.Int()}
	}
	slot := func() SlotID { return SlotID(d.Code(dict.Slots())) }
	sketch := func() *Sketch {
		s := d.Sketch()
		return &s
	}
	for range d.Length(4) {
		p := clocks()
		b := &Bounds{N: int64(d.Uint()), Least: d.Int()}
		for _, list := range [2]*[]int64{&b.Lo, &b.Hi} {
			n := d.Length(1)
			if n > keptBounds {
				d.fail()
				break
			}
			for range n {
				*list = append(*list, d.Int())
			}
		}
		f.Clocks[p] = b
	}
	for range d.Length(6) {
		p := SlotPair{slot(), slot(), clocks()}
		f.Orders[p] = sketch()
	}
	for range d.Length(9) {
		s := slot()
		w := newWaited()
		for _, v := range [5]*int64{&w.N, &w.Inside, &w.Followed, &w.Chance, &w.Rate} {
			*v = int64(d.Uint())
		}
		w.Tail, w.Rest, w.Took, w.Age = sketch(), sketch(), sketch(), sketch()
		for range d.Length(4) {
			p := clocks()
			w.Overhang[p] = sketch()
		}
		f.Waited[s] = w
	}
	for range d.Length(25) {
		var l trace.Link
		copy(l.TraceID[:], d.Take(16))
		l.ID = trace.SpanID(binary.BigEndian.Uint64(d.Take(8)))
		f.Producers[l] = trace.Time(d.Int())
	}
	if d.Err != nil {
		return NewFold()
	}
	return f
}
