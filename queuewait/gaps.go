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

// A GapKey is an edge as its two processes saw it, in one window of time.
type GapKey struct {
	Slot           graph.SlotID
	Caller, Callee graph.ProcID
	Window         int64 // start of the calls, in windows of the Fold
}

func (k GapKey) compare(o GapKey) int {
	return cmp.Or(cmp.Compare(k.Slot, o.Slot), cmp.Compare(k.Caller, o.Caller), cmp.Compare(k.Callee, o.Callee), cmp.Compare(k.Window, o.Window))
}

// Gaps counts client duration less server duration of the calls of one key.
// Being a difference of two durations it needs no common clock.
type Gaps struct {
	Min    int64
	Busy   int64 // client durations, summed: what was in flight
	Sketch graph.Sketch
}

func (g *Gaps) add(gap, busy int64) {
	if g.Sketch.N() == 0 || gap < g.Min {
		g.Min = gap
	}
	g.Busy += busy
	g.Sketch.Add(gap)
}

func (g *Gaps) merge(o *Gaps) {
	if g.Sketch.N() == 0 || o.Sketch.N() > 0 && o.Min < g.Min {
		g.Min = o.Min
	}
	g.Busy += o.Busy
	g.Sketch.Merge(&o.Sketch)
}

// gapWindow is the length of the finest windows, in ns. As many windows as the
// budget allows are a quarter of an hour of ten edges between two instances on
// either side; beyond it they become twice as long, maxScale times at most.
const (
	gapWindow = 1_000_000_000
	maxScale  = 32
)

// budget is how much a Fold holds: windows of all keys, bins of a place, calls
// one by one, of 56 bytes each. It is a variable for tests.
var budget = struct{ windows, bins, events int }{1 << 15, 1 << 12, 1 << 20}

// windowOf is the window of a length of gapWindow·2^scale that holds t.
func windowOf(t trace.Time, scale uint8) int64 {
	w := int64(t) / gapWindow
	if int64(t)%gapWindow < 0 {
		w--
	}
	return w >> scale
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

// A windowed is the gaps of keys in windows of equal length. The windows are as
// short as the budget allows for what they hold in all: it does not matter in
// which parts it came.
type windowed struct {
	scale uint8 // windows are gapWindow·2^scale long
	gaps  map[GapKey]*Gaps

	lately *[recent]struct { // by a hash of the key
		GapKey
		*Gaps
	}
}

func newWindowed() windowed { return windowed{gaps: map[GapKey]*Gaps{}} }

func (w *windowed) at(k GapKey) *Gaps {
	g := w.gaps[k]
	if g == nil {
		g = &Gaps{}
		w.gaps[k] = g
	}
	return g
}

func (w *windowed) add(slot graph.SlotID, caller, callee graph.ProcID, at trace.Time, gap, busy int64) {
	if w.lately == nil {
		w.lately = new([recent]struct {
			GapKey
			*Gaps
		})
	}
	k := GapKey{slot, caller, callee, windowOf(at, w.scale)}
	x := &w.lately[(uint32(slot)*0x9e3779b1^uint32(caller)*0x85ebca77^uint32(callee)*0xc2b2ae3d^uint32(k.Window)*0x27d4eb2f)>>16%recent]
	if x.Gaps == nil || x.GapKey != k {
		x.GapKey, x.Gaps = k, w.at(k)
		x.Gaps.add(gap, busy)
		w.fit()
		return
	}
	x.Gaps.add(gap, busy)
}

// fit makes windows longer until they are few enough.
func (w *windowed) fit() {
	for len(w.gaps) > budget.windows && w.scale < maxScale {
		w.coarsen(w.scale + 1)
	}
}

func (w *windowed) coarsen(scale uint8) {
	if scale <= w.scale {
		return
	}
	by := scale - w.scale
	w.scale, w.lately = scale, nil
	old := w.gaps
	w.gaps = make(map[GapKey]*Gaps, len(old)/2+1)
	for k, g := range old {
		k.Window >>= by
		if into := w.gaps[k]; into != nil {
			into.merge(g)
		} else {
			w.gaps[k] = g
		}
	}
}

func (w *windowed) merge(o *windowed, m *graph.Remap) {
	w.coarsen(o.scale)
	for k, g := range o.gaps {
		k = GapKey{m.Slots[k.Slot], m.Procs[k.Caller], m.Procs[k.Callee], k.Window >> (w.scale - o.scale)}
		w.at(k).merge(g)
	}
	w.fit()
}

func (w *windowed) appendBinary(to []byte) []byte {
	to = append(to, w.scale)
	to = binary.AppendUvarint(to, uint64(len(w.gaps)))
	for _, k := range slices.SortedFunc(maps.Keys(w.gaps), GapKey.compare) {
		g := w.gaps[k]
		to = binary.AppendUvarint(to, uint64(k.Slot))
		to = binary.AppendUvarint(to, uint64(k.Caller))
		to = binary.AppendUvarint(to, uint64(k.Callee))
		to = binary.AppendVarint(to, k.Window)
		to = binary.AppendUvarint(to, uint64(g.Min))
		to = binary.AppendUvarint(to, uint64(g.Busy))
		to = g.Sketch.AppendBinary(to)
	}
	return to
}

func decodeWindowed(d *graph.Decoder, dict *graph.Dict) windowed {
	w := newWindowed()
	w.scale = d.Take(1)[0]
	if w.scale > maxScale {
		d.Fail()
	}
	for range d.Length(7) {
		k := GapKey{graph.SlotID(d.Code(dict.Slots())), graph.ProcID(d.Code(dict.Procs())), graph.ProcID(d.Code(dict.Procs())), d.Int()}
		g := &Gaps{Min: int64(d.Uint()), Busy: int64(d.Uint())}
		g.Sketch = d.Sketch()
		w.gaps[k] = g
	}
	if len(w.gaps) > budget.windows && w.scale < maxScale {
		d.Fail()
	}
	return w
}

// Floors is the network's share of gaps.
type Floors struct {
	slots []*Floor // by slot; nil: nothing is known
}

// A Floor is the part of a gap that is no wait: the way there and back of a
// call, or the time that a caller takes by itself before one. Lengths are ns.
type Floor struct {
	NS int64 // the least that it takes, but for the fastest calls
	N  int64 // calls that tell

	// Typical is its mean, and gaps up to Reach are nothing else: they vary no
	// more than they do when nobody waits. Of few calls both are NS.
	Typical, Reach int64

	// Lo and Hi bound the mean. Lo is zero of few calls: then a wait may be as
	// long as the whole gap.
	Lo, Hi int64
}

// Wait is the likely wait in a gap.
func (f Floor) Wait(gap int64) int64 {
	if gap <= f.Reach {
		return 0
	}
	return max(0, gap-f.Typical)
}

// Usual is what of a gap is no wait.
func (f Floor) Usual(gap int64) int64 { return gap - f.Wait(gap) }

// Half is the floor of one of the two ways.
func (f Floor) Half() Floor {
	return Floor{NS: f.NS / 2, N: f.N, Typical: f.Typical / 2, Reach: f.Reach / 2, Lo: f.Lo / 2, Hi: f.Hi / 2}
}

const (
	// floorQuantile is the quantile of the quiet gaps that counts as free of
	// waiting, and minFloor how many calls make a quantile: of fewer the least
	// gap is taken.
	floorQuantile = 0.05
	minFloor      = 20

	// minSpread is how many calls say how much a floor varies: ten lie below
	// floorQuantile then.
	minSpread = 200

	// quietShare is the share of the windows, those with the least in flight,
	// that are quiet.
	quietShare = 0.25

	// straight is by how much the median may exceed the floor, in units of what
	// the first quartile exceeds it by, before waits are in it: 1.7 of the
	// normal, 2.2 of the sum of two exponentials, 2.7 of one.
	straight = 3.5

	// spreads is how far gaps reach that hold no wait, in units of what the
	// median exceeds the floor by: 1 to 4 % of the gaps of an exponential and of
	// the sum of two lie beyond.
	spreads = 4
)

// NewFloors reads merged folds: those of all sets together, since a network
// does not know which set it is in.
func NewFloors(folds ...*Fold) *Floors {
	var sets []*windowed
	for _, f := range folds {
		sets = append(sets, &f.gaps)
	}
	return newFloors(sets...)
}

func newFloors(sets ...*windowed) *Floors {
	quiet := quietGaps(sets...)
	fl := &Floors{}
	for slot, g := range quiet {
		if n := int(slot) + 1; n > len(fl.slots) {
			fl.slots = append(fl.slots, make([]*Floor, n-len(fl.slots))...)
		}
		f := g.floor()
		fl.slots[slot] = &f
	}
	return fl
}

// slotGaps is the gaps of a slot: all, and those of quiet windows.
type slotGaps struct{ all, quiet Gaps }

// quietGaps collects the gaps of each slot that began while little was in
// flight: in the windows of its two processes in which their calls to each
// other's services kept the fewest in flight.
func quietGaps(sets ...*windowed) map[graph.SlotID]*slotGaps {
	type place struct {
		set  int
		slot graph.SlotID
	}
	type window struct {
		gaps *Gaps
		busy int64
		key  GapKey
	}
	out := map[graph.SlotID]*slotGaps{}
	by := map[place][]window{}
	for i, w := range sets {
		callees := map[[2]int64]int64{} // in flight at a process in a window
		for k, g := range w.gaps {
			callees[[2]int64{int64(k.Callee), k.Window}] += g.Busy
		}
		for k, g := range w.gaps {
			p := place{i, k.Slot}
			by[p] = append(by[p], window{g, callees[[2]int64{int64(k.Callee), k.Window}], k})
		}
	}
	for p, list := range by {
		// Windows of equal business go together, whatever their order.
		slices.SortFunc(list, func(a, b window) int { return cmp.Or(cmp.Compare(a.busy, b.busy), a.key.compare(b.key)) })
		last := list[max(0, int(math.Ceil(quietShare*float64(len(list))))-1)].busy
		s := out[p.slot]
		if s == nil {
			s = &slotGaps{}
			out[p.slot] = s
		}
		for _, x := range list {
			s.all.merge(x.gaps)
			if x.busy <= last {
				s.quiet.merge(x.gaps)
			}
		}
	}
	return out
}

// floor reads the gaps of a slot.
func (s *slotGaps) floor() Floor {
	q := &s.quiet
	if q.Sketch.N() < minSpread {
		q = &s.all
	}
	f := Floor{NS: s.all.Min, N: q.Sketch.N()}
	if f.N >= minFloor {
		f.NS = max(f.NS, int64(q.Sketch.Quantile(floorQuantile)))
	}
	f.Typical, f.Reach, f.Hi = f.NS, f.NS, f.NS
	if f.N < minSpread {
		return f
	}
	first, middle := int64(q.Sketch.Quantile(0.25))-f.NS, int64(q.Sketch.Quantile(0.5))-f.NS
	// What varies more than it takes at all is not the way of a call.
	if first <= 0 || float64(middle) > straight*float64(first) || middle > f.NS {
		f.Lo, f.Hi = s.all.Min, max(f.NS, int64(q.Sketch.Mean(math.MaxInt64)))
		return f
	}
	f.Reach = f.NS + spreads*middle
	f.Typical = int64(q.Sketch.Mean(f.Reach))
	f.Lo = f.NS + first/2 // a mean below the first quartile has not been seen of a network
	// The mean of N gaps that reach this far is off by less than a quarter of
	// the reach over the root of N; a fifth more is what lies beyond.
	f.Hi = f.Typical + (f.Typical-f.NS)/5 + int64(2*float64(middle)/math.Sqrt(float64(f.N)))
	return f
}

// Of is the floor of a slot.
func (f *Floors) Of(slot graph.SlotID) (Floor, bool) {
	if f == nil || int(slot) >= len(f.slots) || f.slots[slot] == nil {
		return Floor{}, false
	}
	return *f.slots[slot], true
}
