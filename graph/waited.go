package graph

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

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

	// Took is how long the calls of Inside took. Age is how long a call that
	// outlived its parent had run when the parent ended, of those on the parent's
	// clock without another of their slot beside them.
	Took, Age *Sketch
}

func newWaited() *Waited {
	return &Waited{Overhang: map[ClockKey]*Sketch{}, Tail: &Sketch{}, Rest: &Sketch{}, Took: &Sketch{}, Age: &Sketch{}}
}

// waited counts, for each call whose parent ended by itself, whether it
// outlived the parent, and if not whether the parent went on at its end: of the
// calls of those parents that want holds for.
func (f *Folder) waited(r *Record, want func(SlotID) bool) {
	f.left = grow(f.left, len(r.Calls)) // some caller above had departed
	left := f.left
	first := &r.Calls[0]
	left[0] = first.OuterEnd() != Succeeded || first.Paired() && first.WorkEnd != Succeeded
	for p := range r.Calls {
		if r.Calls[p].Len > 1 {
			f.waitedBy(r, p, left, want)
		}
	}
}

// waitedBy is waited for the calls of one parent.
func (f *Folder) waitedBy(r *Record, parent int, left []bool, want func(SlotID) bool) {
	p := &r.Calls[parent]
	f.kids = f.kids[:0]
	for i := int32(parent) + 1; i < int32(parent)+p.Len; i += r.Calls[i].Len {
		left[i] = left[parent] || r.Calls[i].ClientEnd.Left()
		f.kids = append(f.kids, i)
	}
	if left[parent] || !want(p.Slot) {
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
			w.Took.Add(o.Duration())
			if next[side].half == nil {
				next[side] = f.events(r, ph, side)
			}
			next[side].followed(o, w)
			continue
		}
		if over < smallStep && over*overhangPart < o.Duration() {
			continue
		}
		clocks := f.crossed(r, f.host(ph.Proc), f.host(o.Proc))
		s := w.Overhang[clocks]
		if s == nil {
			s = &Sketch{}
			w.Overhang[clocks] = s
		}
		s.Add(over)
		if clocks == (ClockKey{}) && f.only(r, i) {
			w.Age.Add(int64(ph.End - o.Start))
		}
	}
}

// fewKids is how many calls of one parent are looked through for others of a
// slot.
const fewKids = 32

// only reports whether no other call of its slot is among the calls f.kids of
// its parent, which are few.
func (f *Folder) only(r *Record, call int32) bool {
	if len(f.kids) > fewKids {
		return false
	}
	for _, i := range f.kids {
		if i != call && r.Calls[i].Slot == r.Calls[call].Slot {
			return false
		}
	}
	return true
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

// The bounds of atOnce: a part of the parent, in ns at least what a thread takes to go on and at most what is still no
// work of its own.
const (
	atOncePart  = 50
	atOnceLeast = 100_000
	atOnceMost  = 5_000_000
)

// atOnce is how soon after a call's end its parent's next event must come to
// count as caused by it: 2 % of the parent, from 0.1 ms to 5 ms.
func atOnce(parent int64) trace.Time {
	return trace.Time(min(max(parent/atOncePart, atOnceLeast), atOnceMost))
}

// leastParent is the shortest parent that is counted as it is, so that sums of
// rates stay in bounds.
const leastParent = 1000

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
