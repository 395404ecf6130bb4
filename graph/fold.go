package graph

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A SlotPair is two sibling slots, A hypothetically before B; a slot paired
// with itself speaks of its repeats. Clocks is the pair of clocks that was
// crossed to compare them, and when: they drift. It is zero if none was.
type SlotPair struct {
	A, B   SlotID
	Clocks ClockKey
}

// Waited counts what tells whether a slot is waited for.
type Waited struct {
	// N is the calls whose parent ended by itself: without an error, not left
	// by its own caller.
	N int64

	// Overhang is how far calls outlived their parents, by the clocks crossed.
	// Only what can refute is counted: above 1 ms or 5 % of the call.
	Overhang map[ClockKey]*Sketch

	// Inside is the calls of N that ended before their parent did; Followed is
	// those of them after whose end the parent did its next thing at once; Chance
	// is how many of those chance would give, in units of 2^-20.
	Inside, Followed, Chance int64

	// Tail is, of the calls of Inside that ended last of those running, how long after the call's end its parent
	// did its next thing: began a call, or ended. Rate is how many things the
	// parents did per ns, in units of 2^-40, summed: by chance the next one comes
	// in any ns with that share. Rest is how long after the end of the last of
	// its calls the parent ended.
	Tail, Rest *Sketch
	Rate       int64
}

func newWaited() *Waited {
	return &Waited{Overhang: map[ClockKey]*Sketch{}, Tail: &Sketch{}, Rest: &Sketch{}}
}

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

// maxSiblings is how many slots of one parent are compared with each other;
// beyond it only neighbours in order of start are.
const maxSiblings = 256

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

type slotGroup struct {
	slot  SlotID
	calls []int32 // in order of start
}

type pairBound struct {
	pair   HostPair
	lo, hi int64
}

// Add counts one record.
func (f *Folder) Add(r *Record) {
	if gives(cap(f.kids), len(r.Calls)) {
		*f = Folder{Fold: f.Fold, Dict: f.Dict}
	}
	f.clocks(r)
	for p := range r.Calls {
		if r.Calls[p].Len > 1 {
			f.kids = f.kids[:0]
			for i := int32(p) + 1; i < int32(p)+r.Calls[p].Len; i += r.Calls[i].Len {
				f.kids = append(f.kids, i)
			}
			f.siblings(r, p)
		}
	}
	f.waited(r)
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

// clocks bounds the offsets of the hosts between which calls succeeded.
func (f *Folder) clocks(r *Record) {
	f.pairs = f.pairs[:0]
	if len(f.pairAt) > 0 {
		f.pairAt = empty(f.pairAt)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if !c.Paired() || c.ClientEnd != Succeeded || c.Flags&(Async|Loser) != 0 || c.Work.Duration() > c.Client.Duration() {
			continue
		}
		a, b := f.host(c.Client.Proc), f.host(c.Work.Proc)
		if a == b {
			continue
		}
		lo, hi := int64(c.Work.End-c.Client.End), int64(c.Work.Start-c.Client.Start)
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

// siblings counts the order of the calls f.kids of one parent.
func (f *Folder) siblings(r *Record, parent int) {
	kids := f.kids
	if len(kids) < 2 {
		return
	}
	kids = f.byStart(r)
	f.keys = f.keys[:0]
	for rank, i := range kids {
		f.keys = append(f.keys, uint64(r.Calls[i].Slot)<<32|uint64(rank))
	}
	slices.Sort(f.keys)
	f.grouped = f.grouped[:0]
	for _, k := range f.keys {
		f.grouped = append(f.grouped, kids[uint32(k)])
	}
	kids = f.grouped
	f.groups = f.groups[:0]
	for from := 0; from < len(kids); {
		slot := r.Calls[kids[from]].Slot
		to := from + 1
		for to < len(kids) && r.Calls[kids[to]].Slot == slot {
			to++
		}
		f.groups = append(f.groups, slotGroup{slot, kids[from:to]})
		from = to
	}
	if len(f.groups) > maxSiblings {
		slices.SortFunc(f.groups, func(x, y slotGroup) int {
			return cmp.Or(cmp.Compare(r.Calls[x.calls[0]].Outer().Start, r.Calls[y.calls[0]].Outer().Start), cmp.Compare(x.calls[0], y.calls[0]))
		})
	}
	for i, a := range f.groups {
		if len(a.calls) > 1 {
			f.repeats(r, a)
		}
		last := len(f.groups)
		if len(f.groups) > maxSiblings {
			last = min(i+2, last)
		}
		for _, b := range f.groups[i+1 : last] {
			f.order(r, a, b)
			f.order(r, b, a)
		}
	}
}

// takesPart reports whether a call takes part in orders: losers end when the
// winner does, whatever they follow.
func takesPart(c *Call) bool { return c.Flags&(Loser|Async) == 0 && c.Outer().Duration() > 0 }

// repeats counts how the calls of one slot follow each other: by the least gap
// between one's start and the end of all before it.
func (f *Folder) repeats(r *Record, g slotGroup) {
	least, n := int64(math.MaxInt64), 0
	var last *Call // the one that ended last
	for _, i := range g.calls {
		c := &r.Calls[i]
		if !takesPart(c) || c.Flags&Hedge != 0 {
			continue
		}
		if last != nil {
			least = min(least, touching(int64(c.Outer().Start-last.Outer().End), last, c, true))
		}
		if last == nil || c.Outer().End > last.Outer().End {
			last = c
		}
		n++
	}
	if n > 1 {
		f.count(SlotPair{A: g.slot, B: g.slot}, least)
	}
}

// order counts the hypothesis that slot a comes before slot b. Where each was
// called once, the gap from a's end to b's start decides. Where one repeats, a
// call of a that was running when one of b began refutes it, and calls in turn
// do not: a loop is no counter-example.
func (f *Folder) order(r *Record, a, b slotGroup) {
	least, found := int64(math.MaxInt64), false
	var clocks ClockKey
	single := len(a.calls) == 1 && len(b.calls) == 1
	at := 0
	latest := int32(-1) // of a's calls begun before the present one of b, the last to end
	for _, i := range b.calls {
		cb := &r.Calls[i]
		if !takesPart(cb) {
			continue
		}
		for at < len(a.calls) && (single || r.Calls[a.calls[at]].Outer().Start < cb.Outer().Start) {
			ca := &r.Calls[a.calls[at]]
			if takesPart(ca) && (latest < 0 || ca.Outer().End > r.Calls[latest].Outer().End) {
				latest = a.calls[at]
			}
			at++
		}
		if latest < 0 {
			continue
		}
		ca := &r.Calls[latest]
		ha, hb := f.host(ca.Outer().Proc), f.host(cb.Outer().Proc)
		gap := touching(int64(cb.Outer().Start-ca.Outer().End), ca, cb, ha == hb)
		if gap < least {
			least, found = gap, true
			clocks = f.crossed(r, ha, hb)
		}
	}
	if found {
		f.count(SlotPair{a.slot, b.slot, clocks}, least)
	}
}

// crossed is the pair of clocks that is crossed from host a to host b.
func (f *Folder) crossed(r *Record, a, b trace.StringID) ClockKey {
	if a == b {
		return ClockKey{}
	}
	return ClockKey{HostPair{a, b}, windowOf(r.Start())}
}

func (f *Folder) count(p SlotPair, gap int64) {
	h := uint32(p.A)*0x9e3779b1 ^ uint32(p.B)*0x85ebca77 ^ uint32(p.Clocks.A)*0xc2b2ae3d ^ uint32(p.Clocks.B)*0x27d4eb2f ^ uint32(p.Clocks.Window)
	x := &f.recent().orders[h>>16%512]
	if x.Sketch == nil || x.SlotPair != p {
		s := f.Fold.Orders[p]
		if s == nil {
			s = &Sketch{}
			f.Fold.Orders[p] = s
		}
		x.SlotPair, x.Sketch = p, s
	}
	x.Sketch.Add(gap)
}

// touching is gap, or zero where a and b overlap by so little that they touch:
// by the resolution of their timestamps or, on one clock, by 1 % of the shorter
// and at most 0.1 ms.
func touching(gap int64, a, b *Call, oneClock bool) int64 {
	if gap >= 0 || -gap > touch(a.Outer().Interval, b.Outer().Interval, oneClock) {
		return gap
	}
	return 0
}

// touch is the overlap of two intervals up to which they touch.
func touch(a, b trace.Interval, oneClock bool) int64 {
	t := resolution(a.End, b.Start)
	if oneClock {
		t = max(t, min(a.Duration()/100, b.Duration()/100, 100_000))
	}
	return t
}

// mostTouch is the most that touch can be of anything before b.
func mostTouch(b trace.Interval) int64 {
	return max(resolution(b.Start, b.Start), min(b.Duration()/100, 100_000))
}

// resolution is the unit in which two timestamps were taken, as far as their
// digits show it.
func resolution(a, b trace.Time) int64 {
	switch {
	case a%1_000_000 == 0 && b%1_000_000 == 0:
		return 1_000_000
	case a%1_000 == 0 && b%1_000 == 0:
		return 1_000
	}
	return 0
}

// waited counts, for each call whose parent ended by itself, whether it
// outlived the parent, and if not whether the parent went on at its end.
func (f *Folder) waited(r *Record) {
	f.left = grow(f.left, len(r.Calls)) // some caller above had departed
	left := f.left
	first := &r.Calls[0]
	left[0] = first.OuterEnd() != Succeeded || first.Paired() && first.WorkEnd != Succeeded
	for p := range r.Calls {
		if r.Calls[p].Len > 1 {
			f.waitedBy(r, p, left)
		}
	}
}

// waitedBy is waited for the calls of one parent.
func (f *Folder) waitedBy(r *Record, parent int, left []bool) {
	p := &r.Calls[parent]
	f.kids = f.kids[:0]
	for i := int32(parent) + 1; i < int32(parent)+p.Len; i += r.Calls[i].Len {
		left[i] = left[parent] || r.Calls[i].ClientEnd.Left()
		f.kids = append(f.kids, i)
	}
	if left[parent] {
		return
	}
	var next [2]events // of the client half and of the work half
	for _, i := range f.kids {
		c := &r.Calls[i]
		ph, pe, side := p.Inner(), p.WorkEnd, 1
		if !p.Work.Seen() || c.Flags&OnClient != 0 {
			ph, pe, side = &p.Client, p.ClientEnd, 0
		}
		if pe != Succeeded || c.Flags&(Async|Loser) != 0 {
			continue
		}
		o := c.Outer()
		if o.Start >= ph.End {
			continue // asynchronous by itself, whatever others of its slot do
		}
		w := f.waitedFor(c.Slot)
		w.N++
		over := int64(o.End - ph.End)
		if over <= 0 {
			w.Inside++
			if next[side].half == nil {
				next[side] = f.events(r, ph, side)
			}
			next[side].followed(o, w)
			continue
		}
		if over < 1_000_000 && over*20 < o.Duration() {
			continue
		}
		clocks := f.crossed(r, f.host(ph.Proc), f.host(o.Proc))
		s := w.Overhang[clocks]
		if s == nil {
			s = &Sketch{}
			w.Overhang[clocks] = s
		}
		s.Add(over)
	}
}

func (f *Folder) waitedFor(slot SlotID) *Waited {
	l := f.recent()
	if int(slot) >= len(l.waited) {
		l.waited = append(l.waited, make([]*Waited, int(slot)+1-len(l.waited))...)
	}
	if l.waited[slot] == nil {
		w := f.Fold.Waited[slot]
		if w == nil {
			w = newWaited()
			f.Fold.Waited[slot] = w
		}
		l.waited[slot] = w
	}
	return l.waited[slot]
}

// atOnce is how soon after a call's end its parent's next event must come to
// count as caused by it: 2 % of the parent, from 0.1 ms to 5 ms.
func atOnce(parent int64) trace.Time { return trace.Time(min(max(parent/50, 100_000), 5_000_000)) }

// leastParent is the shortest parent that is counted as it is, so that sums of
// rates stay in bounds.
const leastParent = 1000

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

// events is what the calls of one parent did, for asking what came next after the
// end of one of them.
type events struct {
	half     *Half // the parent's half that made the calls asked about
	soon     trace.Time
	starts   []trace.Time // of all calls, ascending
	begun    []trace.Time // of each: when those that started together with it began to
	running  []trace.Time // at each start: the latest end of those begun so far that are waited for perhaps
	clusters int64        // starts, where those that start together are one
	last     trace.Time   // the last end inside the half
}

// events collects what the calls f.kids of one parent did. side tells the
// scratch memory of its two halves apart.
func (f *Folder) events(r *Record, ph *Half, side int) events {
	kids := f.byStart(r)
	e := events{half: ph, soon: atOnce(ph.Duration()), last: ph.Start}
	t := &f.times[side]
	for k := range t {
		t[k] = grow(t[k], len(kids))
	}
	e.starts, e.begun, e.running = t[0], t[1], t[2]
	begun, running := trace.Time(math.MinInt64/2), trace.Time(math.MinInt64)
	for k, i := range kids {
		c := &r.Calls[i]
		o := c.Outer()
		if o.Start > begun+e.soon {
			e.clusters++
			begun = o.Start
		}
		if c.Flags&Async == 0 {
			running = max(running, o.End)
		}
		if o.End <= ph.End {
			e.last = max(e.last, o.End)
		}
		e.starts[k], e.begun[k], e.running[k] = o.Start, begun, running
	}
	return e
}

// followed counts whether the parent did its next thing at the end of call o:
// began a call, or ended.
func (e *events) followed(o *Half, w *Waited) {
	end, ph := o.End, e.half
	at, _ := slices.BinarySearch(e.starts, end)
	alone := at == 0 || e.running[at-1] <= end // of those begun before, none runs on
	if o.Start == end {                        // it is no event after itself
		at++
	}
	next := ph.End
	if at < len(e.starts) {
		next = min(next, e.starts[at])
	}
	// What can be next: the starts of others, of which those together are one, and
	// the parent's end.
	n := e.clusters
	if k, _ := slices.BinarySearch(e.starts, o.Start); e.begun[k] != o.Start || k+1 < len(e.begun) && e.begun[k+1] == o.Start {
		n++
	}
	if alone { // while others run, the parent cannot go on at its end even if it waited
		w.Tail.Add(int64(next - end))
		w.Rate += n << 40 / max(ph.Duration(), leastParent)
	}
	w.Rest.Add(int64(ph.End - max(e.last, end)))
	if next-end <= e.soon {
		w.Followed++
	}
	// Each of them lets a call end just before it with the share soon ÷ duration.
	if d := ph.Duration(); d > 0 {
		w.Chance += min(OneRequest, n*int64(e.soon)*OneRequest/d)
	} else {
		w.Chance += OneRequest
	}
}

// Merge adds o, whose codes m translates into f's.
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
		into := f.Orders[q]
		if into == nil {
			into = &Sketch{}
			f.Orders[q] = into
		}
		into.Merge(s)
	}
	for slot, w := range o.Waited {
		q := m.Slots[slot]
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
		to = w.Rest.AppendBinary(w.Tail.AppendBinary(to))
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
			if n > keptBounds || n == 0 {
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
		w.Tail, w.Rest = sketch(), sketch()
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
