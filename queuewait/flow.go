package queuewait

import (
	"cmp"
	"encoding/binary"
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
	bins  map[int64]tick
}

func (f *flow) width() int64 { return binWidth << f.scale }

func (f *flow) bin(t trace.Time) int64 {
	b := int64(t) / binWidth
	if int64(t)%binWidth < 0 {
		b--
	}
	return b >> f.scale
}

func (f *flow) add(v trace.Interval) {
	if f.bins == nil {
		f.bins = map[int64]tick{}
	}
	for i, t := range [2]trace.Time{v.Start, v.End} {
		b := f.bin(t)
		k := f.bins[b]
		after := (b+1)*f.width() - int64(t)
		if i == 0 {
			k.begun++
			k.rest += after
		} else {
			k.ended++
			k.rest -= after
		}
		f.bins[b] = k
	}
	f.fit()
}

func (f *flow) fit() {
	for len(f.bins) > budget.bins && f.scale < maxScale {
		f.coarsen(f.scale + 1)
	}
}

func (f *flow) coarsen(scale uint8) {
	for ; f.scale < scale; f.scale++ {
		old := f.bins
		f.bins = make(map[int64]tick, len(old)/2+1)
		for b, k := range old {
			if b&1 == 0 { // what is in flight here is so in the second half too
				k.rest += int64(k.begun-k.ended) * f.width()
			}
			f.put(b>>1, k)
		}
	}
}

func (f *flow) put(b int64, k tick) {
	x := f.bins[b]
	x.begun, x.ended, x.rest = x.begun+k.begun, x.ended+k.ended, x.rest+k.rest
	f.bins[b] = x
}

func (f *flow) merge(o *flow) {
	if f.bins == nil {
		f.bins = make(map[int64]tick, len(o.bins))
	}
	scale := max(f.scale, o.scale)
	f.coarsen(scale)
	if o.scale < scale {
		c := flow{o.scale, maps.Clone(o.bins)}
		c.coarsen(scale)
		o = &c
	}
	for b, k := range o.bins {
		f.put(b, k)
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
func (f flows) add(c *graph.Call, class trace.StringID, entry bool) {
	if c.Client.Seen() {
		f.at(Place{c.Client.Proc, c.Slot, false, class}).add(c.Client.Interval)
	}
	if c.Work.Seen() && (c.Client.Seen() || entry) {
		f.at(Place{c.Work.Proc, c.Slot, true, class}).add(c.Work.Interval)
	}
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
		to = binary.AppendUvarint(to, uint64(len(x.bins)))
		last := int64(0)
		for _, b := range slices.Sorted(maps.Keys(x.bins)) {
			k := x.bins[b]
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
		x := &flow{scale: d.Take(1)[0], bins: map[int64]tick{}}
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
			x.bins[last] = tick{int32(begun), int32(ended), d.Int()}
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
	bins := slices.Sorted(maps.Keys(f.bins))
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
		k := f.bins[b]
		spread(b*w, (b+1)*w, float64(inFlight)+float64(k.rest)/float64(w), float64(k.begun))
		inFlight += int64(k.begun) - int64(k.ended)
		if i+1 < len(bins) && inFlight > 0 {
			spread((b+1)*w, bins[i+1]*w, float64(inFlight), 0)
		}
	}
	return out
}
