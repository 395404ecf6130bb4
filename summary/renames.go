package summary

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/trace"
)

// A Rename is a slot of the baseline and the one of the current side that it is
// read as.
type Rename struct{ From, To graph.SlotID }

const (
	// minRenamed is how many calls each name must have.
	minRenamed = 5
	// sameCount is the factor that the calls a request may differ by under the two
	// names, and sameLength the factor between their median lengths: what is
	// renamed goes on as it was. A call replaced by another of another length is a
	// change of structure.
	sameCount, sameLength = 1.15, 1.6
	// sameCalls is the share of the calls below an endpoint that it must have in
	// common under its two names.
	sameCalls = 0.6
	// maxPairs is how many pairs of names without a counterpart are compared at one
	// place: where there are more, names hold ids and come and go by themselves.
	maxPairs = 10_000
)

// A place is how a set uses a slot.
type place struct {
	calls, requests int
	ns              []int64
}

func (s *Set) places() map[graph.SlotID]*place {
	m := map[graph.SlotID]*place{}
	last := map[graph.SlotID]int{}
	for i, rec := range s.Records {
		for k := range rec.Calls {
			c := &rec.Calls[k]
			p := m[c.Slot]
			if p == nil {
				p = &place{}
				m[c.Slot] = p
			}
			p.calls++
			if at, ok := last[c.Slot]; !ok || at != i {
				last[c.Slot] = i
				p.requests++
			}
			p.ns = append(p.ns, c.Outer().Duration())
		}
	}
	return m
}

// rename makes one slot of what both sides call differently though it is the
// same: a call, or an endpoint, whose name an upgrade changed, and a call whose
// callee's half one side lacks. Otherwise everything below would be a lost call
// and a new one. Slots that are to be counted anew are so under their new name too.
func (r *Reading) rename(recount map[graph.SlotID]bool) {
	if !r.Comparison() {
		return
	}
	base, cur := r.Sets[Baseline].places(), r.Sets[Current].places()
	d := r.Dict
	to := [2][]graph.SlotID{make([]graph.SlotID, d.Slots()), make([]graph.SlotID, d.Slots())}
	for i := range d.Slots() {
		to[0][i], to[1][i] = graph.SlotID(i), graph.SlotID(i)
	}
	byParent := map[graph.SlotID][]graph.SlotID{}
	var roots []graph.SlotID
	for i := range d.Slots() {
		id := graph.SlotID(i)
		if base[id] == nil && cur[id] == nil {
			continue
		}
		if p := d.SlotAt(id).Parent; p == graph.NoSlot {
			roots = append(roots, id)
		} else {
			byParent[p] = append(byParent[p], id)
		}
	}
	m := &matcher{dict: d, base: base, cur: cur, to: to, kids: byParent}
	m.match(graph.NoSlot, only(roots, base), only(roots, cur))
	if !m.changed {
		return
	}
	// What stands below a renamed call stands below its new name.
	for side := range to {
		for i, slot := range to[side] { // parents before children
			if s := *d.SlotAt(slot); s.Parent != graph.NoSlot {
				s.Parent = to[side][d.SlotAt(graph.SlotID(i)).Parent]
				to[side][i] = d.Slot(s)
			}
		}
	}
	for side, set := range r.Sets {
		set.remap(d.Remap(m.to[side]))
		for _, slot := range slices.Collect(maps.Keys(recount)) {
			if int(slot) < len(m.to[side]) {
				recount[m.to[side][slot]] = true
			}
		}
	}
	for i, slot := range m.to[Baseline] {
		id := graph.SlotID(i)
		was, is := d.SlotAt(id), d.SlotAt(slot)
		none := trace.Endpoint{}
		if base[id] != nil && (was.Callee != is.Callee && was.Callee != none && is.Callee != none || was.Caller != is.Caller) {
			r.Renames = append(r.Renames, Rename{id, slot})
		}
	}
}

func only(slots []graph.SlotID, in map[graph.SlotID]*place) (out []graph.SlotID) {
	for _, s := range slots {
		if in[s] != nil {
			out = append(out, s)
		}
	}
	return out
}

// A matcher pairs the slots of two sides level by level. to[side][slot] is what a
// slot of a side is read as.
type matcher struct {
	dict      *graph.Dict
	base, cur map[graph.SlotID]*place
	to        [2][]graph.SlotID
	kids      map[graph.SlotID][]graph.SlotID
	changed   bool
}

func (m *matcher) set(side int, from, to graph.SlotID) {
	if m.to[side][from] != to {
		m.to[side][from], m.changed = to, true
	}
}

// match pairs the slots below one parent (or the endpoints, below none). was and
// is are the slots of the two sides there.
func (m *matcher) match(parent graph.SlotID, was, is []graph.SlotID) {
	d := m.dict
	twin := map[graph.SlotID]graph.SlotID{} // the current side's for the baseline's
	taken := map[graph.SlotID]bool{}
	pair := func(b, c graph.SlotID) { twin[b] = c; taken[c] = true }
	for _, b := range was {
		if slices.Contains(is, b) {
			pair(b, b)
		}
	}
	rest := func() (x, y []graph.SlotID) {
		for _, b := range was {
			if _, ok := twin[b]; !ok {
				x = append(x, b)
			}
		}
		for _, c := range is {
			if !taken[c] {
				y = append(y, c)
			}
		}
		return x, y
	}
	// The same names below a parent of another name.
	x, y := rest()
	for _, b := range x {
		for _, c := range y {
			p, q := *d.SlotAt(b), *d.SlotAt(c)
			p.Parent, q.Parent = 0, 0
			if p == q && !taken[c] {
				pair(b, c)
				break
			}
		}
	}
	// The callee's half is missing on one side. The slot that names it stands for
	// both, if it is one.
	x, y = rest()
	for _, b := range x {
		var found []graph.SlotID
		for _, c := range y {
			if !taken[c] && m.half(b, c) {
				found = append(found, c)
			}
		}
		if len(found) == 1 {
			pair(b, found[0])
		}
	}
	// Another name, and all else as it was.
	x, y = rest()
	type option struct {
		b, c graph.SlotID
		far  float64
	}
	var options []option
	if len(x)*len(y) > maxPairs {
		x = nil
	}
	for _, b := range x {
		for _, c := range y {
			if far, ok := m.renamed(parent, b, c); ok {
				options = append(options, option{b, c, far})
			}
		}
	}
	slices.SortFunc(options, func(p, q option) int {
		return cmp.Or(cmp.Compare(p.far, q.far), cmp.Compare(p.b, q.b), cmp.Compare(p.c, q.c))
	})
	for _, o := range options {
		if _, ok := twin[o.b]; !ok && !taken[o.c] {
			pair(o.b, o.c)
		}
	}
	for _, b := range was {
		c, ok := twin[b]
		if !ok {
			continue
		}
		// What is read as what: the current side's name, but a name with its callee
		// before one without.
		stands := c
		if d.SlotAt(c).Callee == (trace.Endpoint{}) && d.SlotAt(b).Callee != (trace.Endpoint{}) {
			stands = b
		}
		m.set(0, b, stands)
		m.set(1, c, stands)
		if wasKids, isKids := only(m.kids[b], m.base), only(m.kids[c], m.cur); len(wasKids) > 0 && len(isKids) > 0 {
			m.match(c, wasKids, isKids)
		}
	}
}

// half reports whether two slots are one call, of which one side lacks the
// callee's half.
func (m *matcher) half(b, c graph.SlotID) bool {
	p, q := m.dict.SlotAt(b), m.dict.SlotAt(c)
	none := trace.Endpoint{}
	return p.Caller == q.Caller && p.Caller != none && (p.Callee == none) != (q.Callee == none)
}

// renamed reports whether b of the baseline can be c of the current side under
// another name, and how far they are apart.
func (m *matcher) renamed(parent, b, c graph.SlotID) (far float64, ok bool) {
	d := m.dict
	p, q := d.SlotAt(b), d.SlotAt(c)
	if p.Kind != q.Kind || p.Caller.Service != q.Caller.Service || p.Callee.Service != q.Callee.Service || p.Peer != q.Peer {
		return 0, false
	}
	x, y := m.base[b], m.cur[c]
	if x.calls < minRenamed || y.calls < minRenamed || m.cur[b] != nil || m.base[c] != nil {
		return 0, false
	}
	ratio := func(a, b float64) float64 { return max(a/b, b/a) }
	count := 1.0
	if parent != graph.NoSlot {
		// Calls for each of their parent's.
		up := func(m map[graph.SlotID]*place, of graph.SlotID) float64 { return float64(m[d.SlotAt(of).Parent].calls) }
		count = ratio(float64(x.calls)/up(m.base, b), float64(y.calls)/up(m.cur, c))
		if count > sameCount {
			return 0, false
		}
	} else if m.alike(b, c) < sameCalls {
		return 0, false
	}
	length := ratio(float64(max(1, stats.Quantile(x.ns, nil, 0.5))), float64(max(1, stats.Quantile(y.ns, nil, 0.5))))
	if parent != graph.NoSlot && length > sameLength {
		return 0, false // an endpoint may well have changed: its calls tell that it is one
	}
	return count * length, true
}

// alike is the share of the calls below two endpoints that are the same.
func (m *matcher) alike(b, c graph.SlotID) float64 {
	type name struct{ caller, callee trace.Endpoint }
	names := func(of graph.SlotID, in map[graph.SlotID]*place) map[name]bool {
		out := map[name]bool{}
		for _, k := range only(m.kids[of], in) {
			s := *m.dict.SlotAt(k)
			out[name{s.Caller, s.Callee}] = true
		}
		return out
	}
	x, y := names(b, m.base), names(c, m.cur)
	both := 0
	for n := range x {
		if y[n] {
			both++
		}
	}
	all := len(x) + len(y) - both
	if all == 0 {
		return 0 // nothing tells
	}
	return float64(both) / float64(all)
}
