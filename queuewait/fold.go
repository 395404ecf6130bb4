package queuewait

import (
	"github.com/tailscope/tailscope/graph"
)

// A Fold is what the calls of all requests together tell of waiting. Folds
// merge exactly and in any order, and each of their parts bounds its memory by
// what it holds in all, so that it does not matter in which parts it came.
type Fold struct {
	gaps   windowed // of the calls that succeeded, in windows of a second
	flows  flows    // calls in flight, in bins of 10 ms
	events events   // the calls themselves, or those of some seconds

	lately *[recent]struct { // by a hash of the place
		Place
		*flow
	}

	most int // bins of a place, by Bound; 0: it was none
}

// NewFold returns an empty Fold.
func NewFold() *Fold { return &Fold{gaps: newWindowed(), flows: flows{}} }

// Add counts the calls of a record.
func (f *Fold) Add(r *graph.Record) {
	for i := range r.Calls {
		c := &r.Calls[i]
		if gap, ok := Gap(c); ok {
			f.gaps.add(c.Slot, c.Client.Proc, c.Work.Proc, c.Client.Start, gap, c.Client.Duration())
		}
		f.add(c, r.Class, i == 0)
		if c.Client.Seen() && c.Flags&graph.Async == 0 {
			x := Event{Slot: c.Slot, Caller: c.Client.Proc, Callee: graph.NoProc, Client: c.Client.Interval, Left: c.ClientEnd.Left() || c.Flags&graph.Loser != 0}
			if c.Work.Seen() {
				x.Callee, x.Served = c.Work.Proc, c.Work.Interval
			}
			f.events.add(x)
		}
	}
}

// Merge adds o, whose codes m translates into f's.
func (f *Fold) Merge(o *Fold, m *graph.Remap) {
	f.gaps.merge(&o.gaps, m)
	f.flows.merge(o.flows, m)
	f.events.merge(&o.events, m)
	if f.most == 0 || o.most > 0 && o.most < f.most {
		f.most = o.most
	}
}

// Use marks the strings that the fold refers to.
func (f *Fold) Use(used []bool) {
	for p := range f.flows {
		used[p.Class] = true
	}
}

// Share is the share of the seconds whose calls are held one by one.
func (f *Fold) Share() float64 { return 1 / float64(uint64(1)<<f.events.level) }

// AppendBinary appends the fold in its one canonical form, given that its codes
// are canonical.
func (f *Fold) AppendBinary(to []byte) []byte {
	return f.events.appendBinary(f.flows.appendBinary(f.gaps.appendBinary(to)))
}

// DecodeFold reads what AppendBinary wrote.
func DecodeFold(d *graph.Decoder, dict *graph.Dict) *Fold {
	return &Fold{gaps: decodeWindowed(d, dict), flows: decodeFlows(d, dict), events: decodeEvents(d, dict)}
}
