package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// Names that hold a user, a file or a text are as many as there are of those. What
// a Fold counts of a pair of them it counts once, at the price of all the others.
// So it counts nothing below a parent that calls too many; when a summary is read,
// and all names are known, FoldNames makes few of the many, and Recount counts from
// the records what was left out. Both depend on which names there are alone, not on
// when they came.

const (
	// maxNames is how many names the calls of one parent to one service may have, or
	// the requests that a service is entered by. Of more, those that differ in the
	// same word are one.
	maxNames = 1000
	// mostWords is how many words of a name are told apart; what follows is one.
	mostWords = 32
)

// nameless is a word that stands for many.
const nameless = "{…}"

// A nameGroup is the slots that differ in name only.
type nameGroup struct {
	parent         SlotID
	caller, callee trace.StringID
	kind           trace.Kind
}

func groupOf(s *Slot) nameGroup {
	return nameGroup{s.Parent, s.Caller.Service, s.Callee.Service, s.Kind}
}

// count counts a new slot among its siblings.
func (d *Dict) count(s *Slot) {
	d.kids = append(d.kids, 0)
	if s.Parent != NoSlot {
		if d.kids[s.Parent]++; d.kids[s.Parent] > maxSiblings {
			d.crowded = true
		}
	}
	g := groupOf(s)
	if d.groups[g]++; d.groups[g] > maxNames {
		d.crowded = true
	}
}

// Uncounted reports whether the orders of a slot's calls, and who waits for them,
// are left to Recount: it calls too many, or names above it are too many.
func (d *Dict) Uncounted(slot SlotID) bool {
	if !d.crowded {
		return false
	}
	if d.kids[slot] > maxSiblings {
		return true
	}
	for ; slot != NoSlot; slot = d.slots[slot].Parent {
		if d.groups[groupOf(&d.slots[slot])] > maxNames {
			return true
		}
	}
	return false
}

// A Folding is what became of names that are too many.
type Folding struct {
	// To is the slot that each is read as: itself, unless its name or that of one
	// above it was folded.
	To []SlotID

	// Names is how many names each folded slot stands for.
	Names map[SlotID]int

	// Recount is the slots, as they are read, whose calls have to be counted anew.
	Recount map[SlotID]bool
}

// FoldNames makes few of too many names. It is nil where there are none. Slots may be
// added to d.
func (d *Dict) FoldNames() *Folding {
	if !d.crowded {
		return nil
	}
	n := len(d.slots)
	f := &Folding{To: make([]SlotID, n), Names: map[SlotID]int{}, Recount: map[SlotID]bool{}}
	level := make([]SlotID, n)
	uncounted := make([]bool, n)
	for i := range level {
		level[i] = SlotID(i)
		uncounted[i] = d.Uncounted(SlotID(i))
	}
	slices.SortStableFunc(level, func(a, b SlotID) int { return cmp.Compare(d.depth[a], d.depth[b]) })
	for len(level) > 0 {
		k := 1
		for k < len(level) && d.depth[level[k]] == d.depth[level[0]] {
			k++
		}
		d.foldLevel(f, level[:k])
		level = level[k:]
	}
	for i, u := range uncounted {
		if u {
			f.Recount[f.To[i]] = true
		}
	}
	return f
}

// foldLevel folds names of slots of one depth, whose parents are folded.
func (d *Dict) foldLevel(f *Folding, level []SlotID) {
	moved := make([]Slot, len(level)) // below what their parents are read as
	groups := map[nameGroup]map[Slot][]int{}
	var order []nameGroup
	for i, id := range level {
		s := d.slots[id]
		if s.Parent != NoSlot {
			s.Parent = f.To[s.Parent]
		}
		moved[i] = s
		g := groupOf(&s)
		if groups[g] == nil {
			groups[g] = map[Slot][]int{}
			order = append(order, g)
		}
		groups[g][s] = append(groups[g][s], i)
	}
	for _, g := range order {
		if len(groups[g]) <= maxNames {
			continue
		}
		slots := sortedKeys(groups[g], compareSlots)
		names := make([][]string, 0, len(slots))
		for _, s := range slots {
			names = append(names, words(d.String(s.Caller.Operation)+"\x00"+d.String(s.Callee.Operation)+"\x00"+d.String(s.Peer)))
		}
		for i, name := range foldNames(names) {
			parts := strings.Split(name, "\x00")
			s := slots[i]
			if parts[0] != d.String(s.Caller.Operation) || parts[1] != d.String(s.Callee.Operation) || parts[2] != d.String(s.Peer) {
				s.Caller.Operation, s.Callee.Operation, s.Peer = d.InternString(parts[0]), d.InternString(parts[1]), d.InternString(parts[2])
				if g.parent != NoSlot {
					f.Recount[g.parent] = true
				}
			}
			for _, at := range groups[g][slots[i]] {
				moved[at] = s
			}
		}
	}
	for i, id := range level {
		to := d.Slot(moved[i])
		f.To[id] = to
		if was := &d.slots[id]; was.Caller.Operation != moved[i].Caller.Operation || was.Callee.Operation != moved[i].Callee.Operation || was.Peer != moved[i].Peer {
			f.Names[to]++
		}
	}
}

// words cuts a name into words, each with what separates it from the next.
func words(name string) []string {
	var out []string
	for len(name) > 0 && len(out) < mostWords-1 {
		i := strings.IndexAny(name, "/ \x00")
		if i < 0 {
			break
		}
		out, name = append(out, name[:i+1]), name[i+1:]
	}
	return append(out, name)
}

// foldNames replaces words until few enough names are left: those at a place where
// the names that are alike up to there have many, and as few places as do.
func foldNames(names [][]string) []string {
	for most := maxNames / 2; ; most /= 2 {
		folded, distinct := make([]string, len(names)), map[string]bool{}
		f := nameFolder{names: names, folded: folded, most: most}
		all := make([]int, len(names))
		for i := range all {
			all[i] = i
		}
		f.fold(all, 0)
		for _, name := range folded {
			distinct[name] = true
		}
		if len(distinct) <= maxNames {
			return folded
		}
		if most == 0 { // names of all lengths and with all separators
			for i := range folded {
				folded[i] = nameless + "\x00" + nameless + "\x00" + nameless
			}
			return folded
		}
	}
}

// A nameFolder folds names whose words at one place are more than most.
type nameFolder struct {
	names  [][]string
	folded []string
	most   int
}

// fold goes on with names that are alike before a place.
func (f *nameFolder) fold(alike []int, place int) {
	next := map[string][]int{}
	for _, i := range alike {
		if place < len(f.names[i]) {
			next[f.names[i][place]] = append(next[f.names[i][place]], i)
		}
	}
	if len(next) > f.most {
		joined := map[string][]int{}
		for word, list := range next {
			w := word
			if text := strings.TrimRight(word, "/ \x00"); text != "" {
				w = nameless + word[len(text):]
			}
			joined[w] = append(joined[w], list...)
		}
		next = joined
	}
	for word, list := range next {
		for _, i := range list {
			f.folded[i] += word
		}
		f.fold(list, place+1)
	}
}

// Recount counts from the records what was left out: the orders of the calls of
// some slots, and who waits for them. Where those are of too many kinds still, a call
// is compared with the next one only.
func (f *Fold) Recount(d *Dict, slots map[SlotID]bool, records []*Record) {
	for p := range f.Orders {
		if slots[d.SlotAt(p.A).Parent] {
			delete(f.Orders, p)
		}
	}
	for s := range f.Waited {
		if slots[d.SlotAt(s).Parent] {
			delete(f.Waited, s)
		}
	}
	want := func(s SlotID) bool { return slots[s] }
	kinds := map[SlotID]map[SlotID]bool{}
	for _, r := range records {
		for i := range r.Calls {
			if c := &r.Calls[i]; c.Parent >= 0 && slots[r.Calls[c.Parent].Slot] {
				up := r.Calls[c.Parent].Slot
				if kinds[up] == nil {
					kinds[up] = map[SlotID]bool{}
				}
				kinds[up][c.Slot] = true
			}
		}
	}
	folder := &Folder{Fold: f, Dict: d, wide: map[SlotID]bool{}}
	for s, of := range kinds {
		folder.wide[s] = len(of) > maxSiblings
	}
	for _, r := range records {
		folder.parents(r, want)
		folder.waited(r, want)
	}
}
