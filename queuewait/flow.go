package queuewait

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// A Place is where calls of one slot and class can be in flight: at the process
// that makes them, or at the one that serves them.
type Place struct {
	Proc    graph.ProcID
	Slot    graph.SlotID
	Serving bool
	Class   trace.StringID
}

func (p Place) compare(o Place) int {
	serving := func(p Place) int {
		if p.Serving {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(p.Proc, o.Proc), cmp.Compare(p.Slot, o.Slot), cmp.Compare(serving(p), serving(o)), cmp.Compare(p.Class, o.Class))
}

// A tick is what began and ended in one bin of time. Over half-open bins of a
// width w, with n in flight when a bin begins, the time in flight in it is
// n·w + rest, exactly.
type tick struct {
	begun, ended int32
	rest         int64 // ns in the bin after each beginning, less that after each end
}

// binWidth is the width of the finest bins in ns, which are aligned to the epoch.
// Beyond the budget they become twice as wide: of a process that is never idle
// it holds 40 s at the finest, an hour at a second.
const binWidth = 10_000_000

// A flow is the calls in flight at a place, as additive counts: it sums over
// traces, files and replicas.
type flow struct {
	scale uint8 // bins are binWidth·2^scale wide
	bins  ticks
}

// ticks is a tick of each bin in which something began or ended: a hash table
// with open addressing, because every call adds to two of them. A place without
// either is free.
type ticks struct {
	at   []int64 // bins
	tick []tick
	used int
}

func (k tick) free() bool { return k.begun == 0 && k.ended == 0 }

// place is where a bin is, or would be.
func (t *ticks) place(b int64) int {
	mask := len(t.at) - 1
	i := int(uint64(b)*0x9e3779b97f4a7c15>>40) & mask
	for !t.tick[i].free() && t.at[i] != b {
		i = (i + 1) & mask
	}
	return i
}

// add adds a tick, in which something began or ended, to that of a bin.
func (t *ticks) add(b int64, k tick) {
	if t.used*4 >= len(t.at)*3 {
		old := *t
		size := max(8, 2*len(old.at))
		*t = ticks{make([]int64, size), make([]tick, size), old.used}
		for i, x := range old.tick {
			if !x.free() {
				n := t.place(old.at[i])
				t.at[n], t.tick[n] = old.at[i], x
			}
		}
	}
	x := &t.tick[t.place(b)]
	if x.free() {
		t.at[t.place(b)] = b
		t.used++
	}
	x.begun, x.ended, x.rest = x.begun+k.begun, x.ended+k.ended, x.rest+k.rest
}

// all is the bins and their ticks, in no order.
func (t *ticks) all() iter.Seq2[int64, tick] {
	return func(yield func(int64, tick) bool) {
		for i, k := range t.tick {
			if !k.free() && !yield(t.at[i], k) {
				return
			}
		}
	}
}

// sorted is the bins, ascending.
func (t *ticks) sorted() []int64 {
	bins := make([]int64, 0, t.used)
	for b := range t.all() {
		bins = append(bins, b)
	}
	slices.Sort(bins)
	return bins
}

// of is the tick of a bin that is there.
func (t *ticks) of(b int64) tick { return t.tick[t.place(b)] }

func (f *flow) width() int64 { return binWidth << f.scale }

func (f *flow) bin(t trace.Time) int64 {
	b := int64(t) / binWidth
	if int64(t)%binWidth < 0 {
		b--
	}
	return b >> f.scale
}

func (f *flow) add(v trace.Interval) {
	b := f.bin(v.Start)
	f.bins.add(b, tick{begun: 1, rest: (b+1)*f.width() - int64(v.Start)})
	b = f.bin(v.End)
	f.bins.add(b, tick{ended: 1, rest: int64(v.End) - (b+1)*f.width()})
	f.fit()
}

func (f *flow) fit() {
	for f.bins.used > budget.bins && f.scale < maxScale {
		f.coarsen(f.scale + 1)
	}
}

func (f *flow) coarsen(scale uint8) {
	for ; f.scale < scale; f.scale++ {
		old := f.bins
		f.bins = ticks{}
		for b, k := range old.all() {
			if b&1 == 0 { // what is in flight here is so in the second half too
				k.rest += int64(k.begun-k.ended) * f.width()
			}
			f.bins.add(b>>1, k)
		}
	}
}

func (f *flow) merge(o *flow) {
	scale := max(f.scale, o.scale)
	f.coarsen(scale)
	if o.scale < scale {
		c := *o // coarsening makes new ticks
		c.coarsen(scale)
		o = &c
	}
	if f.bins.used == 0 {
		f.bins = ticks{slices.Clone(o.bins.at), slices.Clone(o.bins.tick), o.bins.used}
	} else {
		for b, k := range o.bins.all() {
			f.bins.add(b, k)
		}
	}
	f.fit()
}

// flows is the calls in flight at every place.
type flows map[Place]*flow

func (f flows) at(p Place) *flow {
	x := f[p]
	if x == nil {
		x = &flow{}
		f[p] = x
	}
	return x
}

// add counts a call: a client span where it is made, a server half where it is
// served. Spans inside a process hold no place of their own.
func (f *Fold) add(c *graph.Call, class trace.StringID, entry bool) {
	if c.Client.Seen() {
		f.flowAt(Place{c.Client.Proc, c.Slot, false, class}).add(c.Client.Interval)
	}
	if c.Work.Seen() && (c.Client.Seen() || entry) {
		f.flowAt(Place{c.Work.Proc, c.Slot, true, class}).add(c.Work.Interval)
	}
}

// recent is how many of what calls were added to last are found without the map:
// requests of one kind add to the same.
const recent = 256

// flowAt is flows.at.
func (f *Fold) flowAt(p Place) *flow {
	if f.lately == nil {
		f.lately = new([recent]struct {
			Place
			*flow
		})
	}
	h := uint32(p.Slot)*0x9e3779b1 ^ uint32(p.Proc)*0x85ebca77 ^ uint32(p.Class)*0xc2b2ae3d
	if p.Serving {
		h = ^h
	}
	x := &f.lately[h>>16%recent]
	if x.flow == nil || x.Place != p {
		x.Place, x.flow = p, f.flows.at(p)
	}
	return x.flow
}

func (f flows) merge(o flows, m *graph.Remap) {
	for p, x := range o {
		f.at(Place{m.Procs[p.Proc], m.Slots[p.Slot], p.Serving, m.Strings[p.Class]}).merge(x)
	}
}

func (f flows) appendBinary(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(len(f)))
	for _, p := range slices.SortedFunc(maps.Keys(f), Place.compare) {
		x := f[p]
		serving := byte(0)
		if p.Serving {
			serving = 1
		}
		to = binary.AppendUvarint(to, uint64(p.Proc))
		to = binary.AppendUvarint(to, uint64(p.Slot))
		to = append(to, serving)
		to = binary.AppendUvarint(to, uint64(p.Class))
		to = append(to, x.scale)
		to = binary.AppendUvarint(to, uint64(x.bins.used))
		last := int64(0)
		for _, b := range x.bins.sorted() {
			k := x.bins.of(b)
			to = binary.AppendVarint(to, b-last)
			last = b
			to = binary.AppendUvarint(to, uint64(k.begun))
			to = binary.AppendUvarint(to, uint64(k.ended))
			to = binary.AppendVarint(to, k.rest)
		}
	}
	return to
}

func decodeFlows(d *graph.Decoder, dict *graph.Dict) flows {
	f := flows{}
	for range d.Length(6) {
		p := Place{Proc: graph.ProcID(d.Code(dict.Procs())), Slot: graph.SlotID(d.Code(dict.Slots())), Serving: d.Code(2) == 1, Class: trace.StringID(d.Code(dict.Strings()))}
		x := &flow{scale: d.Take(1)[0]}
		n := d.Length(4)
		if x.scale > maxScale || n > budget.bins && x.scale < maxScale {
			d.Fail()
			return f
		}
		last := int64(0)
		for range n {
			last += d.Int()
			begun, ended := d.Uint(), d.Uint()
			if begun > math.MaxInt32 || ended > math.MaxInt32 {
				d.Fail()
				return f
			}
			k := tick{int32(begun), int32(ended), d.Int()}
			if k.free() {
				d.Fail()
				return f
			}
			x.bins.add(last, k)
		}
		f[p] = x
	}
	return f
}

// A Second is one second of a place.
type Second struct {
	At    int64   // seconds since the epoch
	Begun float64 // calls that began
	Mean  float64 // in flight
	Used  float64 // in flight, of those up to a limit
}

// A Series is the calls in flight of places of one kind: at each of the
// processes that could hold them, second by second. Where bins are wider than a
// second, a second is a share of its bin.
type Series struct {
	Procs []ProcSeries // by process
}

// A ProcSeries is that of one process.
type ProcSeries struct {
	Proc    graph.ProcID
	Seconds []Second // without gaps, from the first beginning to the last end
}

// maxSeconds bounds a series: what is longer is cut. A week and a bit.
const maxSeconds = 700_000

// series sums over classes and reads the seconds of each process. Calls in
// flight beyond limit do not count as used; a limit of zero is none.
func (f flows) series(pick func(Place) bool, limit int) Series {
	by := map[graph.ProcID]*flow{}
	for _, p := range slices.SortedFunc(maps.Keys(f), Place.compare) {
		if pick(p) {
			if by[p.Proc] == nil {
				by[p.Proc] = &flow{}
			}
			by[p.Proc].merge(f[p])
		}
	}
	var out Series
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if s := by[p].seconds(limit); len(s) > 0 {
			out.Procs = append(out.Procs, ProcSeries{p, s})
		}
	}
	return out
}

const second = 1_000_000_000

func (f *flow) seconds(limit int) []Second {
	bins := f.bins.sorted()
	if len(bins) == 0 {
		return nil
	}
	w := f.width()
	floorDiv := func(a, b int64) int64 {
		q := a / b
		if a%b < 0 {
			q--
		}
		return q
	}
	first, last := floorDiv(bins[0]*w, second), floorDiv((bins[len(bins)-1]+1)*w-1, second)
	if last-first >= maxSeconds {
		last = first + maxSeconds - 1
	}
	out := make([]Second, last-first+1)
	for i := range out {
		out[i].At = first + int64(i)
	}
	// spread gives each second its share of [from, to) with n in flight.
	spread := func(from, to int64, n, begun float64) {
		used := n
		if limit > 0 {
			used = min(n, float64(limit))
		}
		for at := from; at < to; {
			i := floorDiv(at, second)
			end := min(to, (i+1)*second)
			if i > last {
				return
			}
			share := float64(end-at) / second
			s := &out[i-first]
			s.Mean += n * share
			s.Used += used * share
			s.Begun += begun * float64(end-at) / float64(to-from)
			at = end
		}
	}
	inFlight := int64(0)
	for i, b := range bins {
		k := f.bins.of(b)
		spread(b*w, (b+1)*w, float64(inFlight)+float64(k.rest)/float64(w), float64(k.begun))
		inFlight += int64(k.begun) - int64(k.ended)
		if i+1 < len(bins) && inFlight > 0 {
			spread((b+1)*w, bins[i+1]*w, float64(inFlight), 0)
		}
	}
	return out
}
