package latework

import (
	"slices"

	"github.com/tailscope/tailscope/graph"
)

// A Deadline is what the calls of one target say of the time that they are
// given. Counts are weighted; times are in ns.
type Deadline struct {
	Slot graph.SlotID

	Calls   float64
	Timeout int64 // where the timed-out calls stand; 0 if at no one value

	// Left is what the callers had left when they called, at the median: of the
	// nearest limit above. Known is false where nothing above is known to be
	// limited.
	Left   int64
	Known  bool
	Beyond float64 // calls that were given longer than their caller had

	Retries float64 // of the calls whose callers' limit is known
	TooLate float64 // retries that began when no useful attempt fitted any more
	Useful  int64   // a useful attempt: the median of those that were answered

	// Of the calls that were left and whose callee was seen: those that stopped, by
	// their own word or within a moment, and those that began only then.
	Departed, Heard, Began float64
}

// heardWithin is how long after a departure a callee may go on and still be said
// to have heard of it, in ns: the way of a cancellation, and a step of work.
const heardWithin = 20_000_000

// A DeadlineCounter reads the time that calls are given. Records are added twice:
// first to learn the timeouts, then to hold calls against those above them.
type DeadlineCounter struct {
	// Whole is the limit of the requests themselves, in ns; 0: none is known but
	// what their own clients show.
	Whole int64

	learnt  map[graph.SlotID]*learning
	entries []int64
	limits  map[graph.SlotID]int64
	by      map[Target]*Deadline
	lefts   map[Target][]int64
	chain   []int32
}

type learning struct{ timedOut, answered []int64 }

// Learn takes the durations of a record's calls. slot is what a call's slot is
// called by.
func (n *DeadlineCounter) Learn(r *graph.Record, slot func(graph.SlotID) graph.SlotID) {
	if n.learnt == nil {
		n.learnt = map[graph.SlotID]*learning{}
	}
	if r.Calls[0].OuterEnd().Left() {
		n.entries = append(n.entries, r.Duration())
	}
	for i := 1; i < len(r.Calls); i++ {
		c := &r.Calls[i]
		if !c.Client.Seen() || c.Flags&(graph.Loser|graph.WaitSpan) != 0 {
			continue
		}
		s := slot(c.Slot)
		l := n.learnt[s]
		if l == nil {
			l = &learning{}
			n.learnt[s] = l
		}
		switch c.ClientEnd {
		case graph.TimedOut:
			l.timedOut = append(l.timedOut, c.Client.Duration())
		case graph.Succeeded:
			l.answered = append(l.answered, c.Client.Duration())
		}
	}
}

// ready settles the limits that were learnt.
func (n *DeadlineCounter) ready() {
	if n.limits != nil {
		return
	}
	n.limits, n.by, n.lefts = map[graph.SlotID]int64{}, map[Target]*Deadline{}, map[Target][]int64{}
	for s, l := range n.learnt {
		if ns, ok := Plateau(l.timedOut); ok {
			n.limits[s] = ns
		}
		slices.Sort(l.answered)
	}
	if n.Whole == 0 {
		if ns, ok := Plateau(n.entries); ok {
			n.Whole = ns
		}
	}
}

// Add holds a record's calls, which w has walked, against what limits their
// callers.
func (n *DeadlineCounter) Add(w *graph.Walker, r *graph.Record, weight float64, slot func(graph.SlotID) graph.SlotID) {
	n.ready()
	n.chain = Chains(w.Dict, r, n.chain)
	for i := 1; i < len(r.Calls); i++ {
		c := &r.Calls[i]
		if !c.Client.Seen() || c.Flags&(graph.Async|graph.Loser|graph.WaitSpan) != 0 {
			continue
		}
		s := slot(c.Slot)
		t := TargetOf(w.Dict, s)
		d := n.by[t]
		if d == nil {
			d = &Deadline{Slot: s}
			n.by[t] = d
		}
		if named, was := w.Dict.SlotAt(s).Callee.Service != 0, w.Dict.SlotAt(d.Slot).Callee.Service != 0; named && !was || named == was && s < d.Slot {
			d.Slot = s
		}
		d.Calls += weight
		if limit := n.limits[s]; limit > 0 {
			d.Timeout = limit
		}
		if d.Useful == 0 && n.learnt[s] != nil && len(n.learnt[s].answered) > 0 {
			a := n.learnt[s].answered
			d.Useful = a[len(a)/2]
		}
		n.departures(w, r, int32(i), d, weight)
		left, known := n.left(w, r, int32(i), slot)
		if !known {
			continue
		}
		d.Known = true
		n.lefts[t] = append(n.lefts[t], left)
		if limit := n.limits[s]; limit > left {
			d.Beyond += weight
		}
		if c.Flags&graph.Retry != 0 {
			d.Retries += weight
			if !Fits(left, 0, d.Useful, 0) {
				d.TooLate += weight
			}
		}
	}
}

// left is the least that any limit above call i leaves when it begins.
func (n *DeadlineCounter) left(w *graph.Walker, r *graph.Record, i int32, slot func(graph.SlotID) graph.SlotID) (left int64, known bool) {
	at := w.Began(i, true)
	take := func(ns int64) {
		if !known || ns < left {
			left, known = ns, true
		}
	}
	if n.Whole > 0 {
		take(n.Whole - at)
	}
	for p := r.Calls[i].Parent; p > 0; p = r.Calls[p].Parent {
		if c := &r.Calls[p]; c.Client.Seen() {
			if limit := n.limits[slot(c.Slot)]; limit > 0 {
				take(limit - (at - w.Began(p, true)))
			}
		}
	}
	return left, known
}

// departures counts how the callee took it that its caller left.
func (n *DeadlineCounter) departures(w *graph.Walker, r *graph.Record, i int32, d *Deadline, weight float64) {
	c := &r.Calls[i]
	if !c.ClientEnd.Left() || !c.Work.Seen() {
		return
	}
	left, began, ended := w.Ended(i, true), w.Began(i, false), w.Ended(i, false)
	if ended <= left {
		if c.WorkEnd.Left() {
			d.Departed += weight
			d.Heard += weight
		}
		return // it had ended: nothing to hear
	}
	d.Departed += weight
	switch {
	case began >= left:
		d.Began += weight
	case c.WorkEnd.Left() || ended-left <= heardWithin:
		d.Heard += weight
	}
}

// Deadlines is what was found, in order of slot.
func (n *DeadlineCounter) Deadlines() []*Deadline {
	n.ready()
	var out []*Deadline
	for t, d := range n.by {
		if l := n.lefts[t]; len(l) > 0 {
			slices.Sort(l)
			d.Left = l[len(l)/2]
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *Deadline) int { return int(a.Slot) - int(b.Slot) })
	return out
}
