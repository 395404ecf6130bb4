package graph

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// What one kind of request does in turn another does at once: counted together,
// such an order is refuted. Split counts the orders of each class and of each set
// of calls apart, and lets theirs stand where they are surely others than those of
// all.

// A kind is the requests of one class, or those that make one set of calls.
type kind struct {
	class trace.StringID
	calls uint64 // hash of the slots present; zero of a class
}

const (
	// minKind is how many requests a kind must have for orders of its own.
	minKind = 20
	// maxKinds is how many kinds are told apart.
	maxKinds = 1000
	// minSurprise is the number of refutations that a kind without any would have if
	// it were like all others: by chance that is one in 20,000.
	minSurprise = 10
)

// Split tells apart, in records that have the fold's slots, the kinds of request
// whose orders differ from those of all.
func (v *Verdicts) Split(records []*Record) {
	mixed := map[SlotID]bool{} // parents whose calls keep an order in some requests and not in others
	for p, o := range v.orders {
		if p[0] != p[1] && o.Held >= minKind && o.Refuted >= minRefutations {
			mixed[v.Dict.SlotAt(p[0]).Parent] = true
		}
	}
	if len(mixed) == 0 {
		return
	}
	kinds := map[kind][]*Record{}
	var slots []SlotID
	for _, r := range records {
		if !slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Len > 2 && mixed[c.Slot] }) {
			continue
		}
		var of uint64
		of, slots = callSet(r, slots)
		for _, k := range [2]kind{{r.Class, 0}, {0, of}} {
			if k != (kind{}) {
				kinds[k] = append(kinds[k], r)
			}
		}
	}
	chosen := sortedKeys(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(len(kinds[b]), len(kinds[a])), cmp.Compare(a.class, b.class), cmp.Compare(a.calls, b.calls))
	})
	folder := &Folder{Dict: v.Dict}
	for _, k := range chosen[:min(len(chosen), maxKinds)] {
		if len(kinds[k]) < minKind {
			break
		}
		folder.Fold = NewFold()
		for _, r := range kinds[k] {
			folder.parents(r, func(parent SlotID) bool { return mixed[parent] })
		}
		own := NewVerdicts(v.Dict, folder.Fold, v.Clocks)
		for p, o := range own.orders {
			all := v.orders[p]
			if p[0] == p[1] || all == nil || !differs(o, all) {
				continue
			}
			if v.kinds == nil {
				v.kinds = map[kind]map[[2]SlotID]OrderVerdict{}
			}
			if v.kinds[k] == nil {
				v.kinds[k] = map[[2]SlotID]OrderVerdict{}
			}
			v.kinds[k][p] = o.Verdict
			v.byCalls = v.byCalls || k.calls != 0
		}
	}
}

// HeldByKind reports whether a comes before b in all requests of some kind, though
// not in all requests.
func (v *Verdicts) HeldByKind(a, b SlotID) bool {
	for _, k := range v.kinds {
		if k[[2]SlotID{a, b}] == OrderHeld {
			return true
		}
	}
	return false
}

// differs reports whether an order of a kind is surely another than that of all
// requests, the kind's own among them.
func differs(o, all *Order) bool {
	n, others := o.Held+o.Refuted, all.Held+all.Refuted-o.Held-o.Refuted
	if n < minKind || others < minKind || o.Verdict == all.Verdict {
		return false
	}
	refuted := float64(all.Refuted-o.Refuted) / float64(others) // of the others
	switch o.Verdict {
	case OrderHeld:
		return all.Verdict == OrderRefuted && refuted*float64(n) >= minSurprise+float64(o.Refuted)*2
	case OrderRefuted:
		lo, _ := wilson(o.Refuted, n)
		return all.Verdict == OrderHeld && o.Refuted >= minRefutations && lo > maxRefuted
	}
	return false
}

// callSet is the hash of the slots of a record. slots is scratch memory.
func callSet(r *Record, slots []SlotID) (uint64, []SlotID) {
	slots = slots[:0]
	for i := range r.Calls {
		slots = append(slots, r.Calls[i].Slot)
	}
	slices.Sort(slots)
	h := fnv.New64a()
	var b [4]byte
	for _, s := range slices.Compact(slots) {
		binary.LittleEndian.PutUint32(b[:], uint32(s))
		h.Write(b[:])
	}
	return max(h.Sum64(), 1), slots
}

// An asked is the verdicts as they are for one record.
type asked struct {
	*Verdicts
	kinds   [2]map[[2]SlotID]OrderVerdict
	scratch []SlotID
}

// ask prepares for questions about a record.
func (a *asked) ask(v *Verdicts, r *Record) {
	a.Verdicts = v
	a.kinds = [2]map[[2]SlotID]OrderVerdict{}
	if v == nil || len(v.kinds) == 0 {
		return
	}
	if r.Class != 0 {
		a.kinds[0] = v.kinds[kind{class: r.Class}]
	}
	if v.byCalls {
		var of uint64
		of, a.scratch = callSet(r, a.scratch)
		a.kinds[1] = v.kinds[kind{calls: of}]
	}
}

// order is what is known of slot x before slot y in the record.
func (a *asked) order(x, y SlotID) OrderVerdict {
	for _, k := range a.kinds {
		if k == nil {
			continue
		}
		if verdict, ok := k[[2]SlotID{x, y}]; ok {
			return verdict
		}
	}
	return a.refuted(x, y)
}
