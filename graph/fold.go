package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A Fold is what requests together tell. Its codes refer to a Dict. Folds merge
// exactly and in any order.
type Fold struct {
	Clocks map[ClockKey]*Bounds
	Orders map[SlotPair]*Sketch // start of B less end of A, ns
	Waited map[SlotID]*Waited
	// Producers is the ends of producer spans, for the dwell of consumers that
	// link to them.
	Producers map[trace.Link]trace.Time
}

// NewFold returns an empty Fold.
func NewFold() *Fold {
	return &Fold{Clocks: map[ClockKey]*Bounds{}, Orders: map[SlotPair]*Sketch{}, Waited: map[SlotID]*Waited{}, Producers: map[trace.Link]trace.Time{}}
}

// A Folder adds records to a Fold and keeps the scratch memory for that.
type Folder struct {
	Fold    *Fold
	Dict    *Dict
	kids    []int32
	sorted  []int32
	keys    []uint64
	grouped []int32
	left    []bool
	groups  []slotGroup
	pairs   []pairBound
	pairAt  map[HostPair]int // beyond few pairs
	lately  *lately

	times [2][3][]trace.Time

	// Bounded leaves out what a Dict says that Recount will count.
	Bounded bool

	wide map[SlotID]bool // of whose calls only neighbours are compared
}

// lately is where what was counted last of a Fold is found without its maps:
// requests of one kind count the same.
type lately struct {
	of     *Fold
	orders [512]struct { // by a hash of the pair
		SlotPair
		*Sketch
	}
	waited []*Waited // by slot
}

// recent is what was counted last of the Fold.
func (f *Folder) recent() *lately {
	l := f.lately
	if l == nil {
		l = &lately{of: f.Fold}
		f.lately = l
	}
	if l.of != f.Fold {
		l.of = f.Fold
		clear(l.orders[:])
		clear(l.waited)
	}
	return l
}

// Add counts one record.
func (f *Folder) Add(r *Record) {
	f.clocks(r)
	f.Calls(r)
}

// Calls is Add but for what the record tells of clocks.
func (f *Folder) Calls(r *Record) {
	if gives(cap(f.kids), len(r.Calls)) {
		*f = Folder{Fold: f.Fold, Dict: f.Dict, Bounded: f.Bounded}
	}
	want := func(SlotID) bool { return true }
	if f.Bounded && f.Dict.crowded {
		want = func(s SlotID) bool { return !f.Dict.Uncounted(s) }
	}
	f.parents(r, want)
	f.waited(r, want)
}

// Producers keeps the ends of a tree's producer spans.
func (f *Folder) Producers(t *Tree) {
	for i := range t.Spans {
		if n := Node(i); t.kind(n) == trace.KindProducer {
			f.Fold.addProducer(trace.Link{TraceID: t.ID, ID: t.id(n)}, t.Interval(n).End)
		}
	}
}

func (f *Folder) host(p ProcID) trace.StringID { return f.Dict.ProcAt(p).Host }

// crossed is the pair of clocks that is crossed from host a to host b.
func (f *Folder) crossed(r *Record, a, b trace.StringID) ClockKey {
	if a == b {
		return ClockKey{}
	}
	return ClockKey{HostPair{a, b}, windowOf(r.Start())}
}

type pairBound struct {
	pair   HostPair
	lo, hi int64
}

// clocks bounds the offsets of the hosts between which calls succeeded, and from one side those of the hosts whose work
// made a call without a span of its own.
func (f *Folder) clocks(r *Record) {
	f.pairs = f.pairs[:0]
	if len(f.pairAt) > 0 {
		f.pairAt = empty(f.pairAt)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		from, lo := &c.Client, -unbounded
		switch {
		case c.Paired():
			if c.ClientEnd != Succeeded || c.Flags&(Async|Loser) != 0 || c.Work.Duration() > c.Client.Duration() {
				continue
			}
			lo = int64(c.Work.End - c.Client.End)
		case i > 0 && c.Work.Seen():
			from = r.Calls[c.Parent].Inner()
		default:
			continue
		}
		a, b := f.host(from.Proc), f.host(c.Work.Proc)
		if a == b {
			continue
		}
		hi := int64(c.Work.Start-from.Start) + cutOff(c.Work.Interval)
		if a > b {
			a, b, lo, hi = b, a, -hi, -lo
		}
		p := HostPair{a, b}
		at := slices.IndexFunc(f.pairs[:min(len(f.pairs), few)], func(x pairBound) bool { return x.pair == p })
		if at < 0 && len(f.pairs) >= few {
			if f.pairAt == nil {
				f.pairAt = map[HostPair]int{}
			}
			if i, ok := f.pairAt[p]; ok {
				at = i
			}
		}
		if at < 0 {
			if len(f.pairs) >= few {
				f.pairAt[p] = len(f.pairs)
			}
			f.pairs = append(f.pairs, pairBound{p, lo, hi})
			continue
		}
		f.pairs[at].lo, f.pairs[at].hi = max(f.pairs[at].lo, lo), min(f.pairs[at].hi, hi)
	}
	for _, p := range f.pairs {
		k := ClockKey{p.pair, windowOf(r.Start())}
		b := f.Fold.Clocks[k]
		if b == nil {
			b = &Bounds{}
			f.Fold.Clocks[k] = b
		}
		b.add(p.lo, p.hi)
	}
}

// cutOff is by how much a span may have begun later than it says. Agents are known that take the start of a span by a
// clock of milliseconds, and its end by a finer one.
func cutOff(v trace.Interval) int64 {
	const ms = 1_000_000
	if v.Start%ms == 0 && v.End%ms != 0 {
		return ms - 1
	}
	return 0
}

// byStart is the calls f.kids in order of start, which they are in already unless
// something moved them.
func (f *Folder) byStart(r *Record) []int32 {
	order := func(x, y int32) int {
		return cmp.Or(cmp.Compare(r.Calls[x].Outer().Start, r.Calls[y].Outer().Start), cmp.Compare(x, y))
	}
	if slices.IsSortedFunc(f.kids, order) {
		return f.kids
	}
	f.sorted = append(f.sorted[:0], f.kids...)
	slices.SortFunc(f.sorted, order)
	return f.sorted
}

// Merge adds o, whose codes m translates into f's, but for what m's Dict says that
// Recount will count.
func (f *Fold) Merge(o *Fold, m *Remap) {
	for p, b := range o.Clocks {
		q := ClockKey{HostPair{m.Strings[p.A], m.Strings[p.B]}, p.Window}
		if q.A > q.B {
			q.HostPair, b = HostPair{q.B, q.A}, b.flip()
		}
		into := f.Clocks[q]
		if into == nil {
			into = &Bounds{}
			f.Clocks[q] = into
		}
		into.merge(b)
	}
	for p, s := range o.Orders {
		q := SlotPair{m.Slots[p.A], m.Slots[p.B], m.clocks(p.Clocks)}
		if m.uncounted(q.A) {
			continue
		}
		into := f.Orders[q]
		if into == nil {
			into = &Sketch{}
			f.Orders[q] = into
		}
		into.Merge(s)
	}
	for slot, w := range o.Waited {
		q := m.Slots[slot]
		if m.uncounted(q) {
			continue
		}
		into := f.Waited[q]
		if into == nil {
			into = newWaited()
			f.Waited[q] = into
		}
		into.N += w.N
		into.Inside += w.Inside
		into.Followed += w.Followed
		into.Chance += w.Chance
		into.Rate += w.Rate
		into.Tail.Merge(w.Tail)
		into.Rest.Merge(w.Rest)
		into.Took.Merge(w.Took)
		into.Age.Merge(w.Age)
		for p, s := range w.Overhang {
			h := m.clocks(p)
			if into.Overhang[h] == nil {
				into.Overhang[h] = &Sketch{}
			}
			into.Overhang[h].Merge(s)
		}
	}
	for l, end := range o.Producers {
		f.addProducer(l, end)
	}
}

// uncounted reports whether what is known of a slot and its siblings is left out.
func (m *Remap) uncounted(slot SlotID) bool {
	if m.To == nil || !m.To.crowded {
		return false
	}
	parent := m.To.slots[slot].Parent
	return parent != NoSlot && m.To.Uncounted(parent)
}

// MergeClocks adds what o, of the same Dict, says of clocks.
func (f *Fold) MergeClocks(o *Fold) {
	for p, b := range o.Clocks {
		if f.Clocks[p] == nil {
			f.Clocks[p] = &Bounds{}
		}
		f.Clocks[p].merge(b)
	}
}

func (f *Fold) addProducer(l trace.Link, end trace.Time) {
	if old, ok := f.Producers[l]; !ok || end < old {
		f.Producers[l] = end
	}
}

// clocks translates a pair of clocks; the pair that was not crossed stays zero.
func (m *Remap) clocks(p ClockKey) ClockKey {
	if p == (ClockKey{}) {
		return p
	}
	return ClockKey{HostPair{m.Strings[p.A], m.Strings[p.B]}, p.Window}
}
