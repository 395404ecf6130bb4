package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A Step is one stretch of a half's own time in a Plan: between what it waited
// for before and what it does next.
type Step struct {
	Half  int32 // 2·call of a client half, 2·call+1 of a work half
	Leave bool  // the stretch ends the half; else it leads to the half's start

	// NS is the stretch as recorded. Of a leaf it is all of its duration.
	NS int64

	// At is when the stretch ended, by the clock of the half.
	At trace.Time

	from, to int32 // the halves that must have ended, in Plan.after
}

// Call is the call of the step's half.
func (s *Step) Call() int32 { return s.Half / 2 }

// First reports whether nothing that the half waited for came before.
func (s *Step) First() bool { return s.from == s.to }

// Client reports whether the step's half is the client's.
func (s *Step) Client() bool { return s.Half%2 == 0 }

// A Plan is how a request's latency follows from its own stretches of time: a
// call starts when all calls that come before it have ended and its lead has
// passed; a half ends when all that it waited for has ended and its rest has
// passed. Evaluated with the recorded stretches it gives the recorded latency,
// to the nanosecond.
type Plan struct {
	// Steps is in an order in which each depends on earlier ones only.
	Steps []Step

	// Clipped is whether a call that was waited for had to be cut to fit its
	// caller: its stretches are then not what was recorded.
	Clipped bool

	after  []int32 // halves
	parent []int32 // of each half
	halves int
}

// Plan returns the plan of the record, under the walker's verdicts. The orders
// between the calls of one parent are those of orders, which may be another
// set's; nil means the walker's own.
func (w *Walker) Plan(r *Record, orders *Verdicts) *Plan {
	w.r = r
	w.Late, w.After, w.Moved = w.Late[:0], w.After[:0], w.Moved[:0]
	w.place()
	w.clip()
	w.list()
	if orders == nil {
		orders = w.Verdicts
	}
	w.asked.ask(orders, r)
	p := &Plan{halves: 2 * len(r.Calls), parent: make([]int32, 2*len(r.Calls)), Steps: make([]Step, 0, 2+2*len(w.children))}
	entry := half(0, r.Calls[0].Client.Seen())
	p.parent[entry] = -1

	w.byStart = append(w.byStart[:0], w.children...)
	w.after = w.after[:0]
	p.Steps = append(p.Steps, Step{Half: entry, NS: w.clipStart[entry]})
	w.open = append(w.open[:0], w.kids(entry))
	for len(w.open) > 0 {
		o := &w.open[len(w.open)-1]
		if o.at == o.end {
			w.leave(p, o.half)
			w.open = w.open[:len(w.open)-1]
			continue
		}
		k := w.byStart[o.at]
		w.enter(p, o.half, k)
		o.at++
		w.open = append(w.open, w.kids(k))
	}
	p.after = slices.Clone(w.after)
	return p
}

// An open is a half whose children from at to end, in byStart, are to be planned.
type open struct{ half, at, end int32 }

// kids sorts the children of a half by start.
func (w *Walker) kids(k int32) open {
	o := open{k, w.childStart[k], w.childStart[k+1]}
	w.sort(w.byStart[o.at:o.end], w.clipStart, w.clipEnd)
	return o
}

// compareStarts orders halves by start, then end.
func (w *Walker) compareStarts(a, b int32) int {
	return cmp.Or(cmp.Compare(w.clipStart[a], w.clipStart[b]), cmp.Compare(w.clipEnd[a], w.clipEnd[b]), cmp.Compare(a, b))
}

// enter plans the start of half k: after those of its earlier siblings that end
// before it and whose order before it is not refuted.
func (w *Walker) enter(p *Plan, parent, k int32) {
	p.parent[k] = parent
	s := Step{Half: k, from: int32(len(w.after))}
	start := w.clipStart[k]
	if w.end[k] > w.clipEnd[k] && w.r.Calls[k/2].Flags&Loser == 0 && !w.r.Calls[k/2].ClientEnd.Left() && !w.abandoned(k/2) {
		p.Clipped = true
	}
	base := w.clipStart[parent]
	if k/2 != parent/2 {
		c := &w.r.Calls[k/2]
		ended := w.children[w.childStart[parent]:w.childStart[parent+1]] // by end
		at, _ := slices.BinarySearchFunc(ended, start+mostTouch(c.Outer().Interval), func(e int32, t int64) int { return cmp.Or(cmp.Compare(w.clipEnd[e], t), -1) })
		for i := at - 1; i >= max(0, at-maxEarlier); i-- {
			e := ended[i]
			if e/2 == parent/2 || w.clipStart[e] >= start && w.compareStarts(e, k) >= 0 {
				continue // the server half of the parent itself; what is to begin yet
			}
			if over := w.clipEnd[e] - start; over > 0 && over > w.touch(e, k/2) {
				continue
			}
			if w.asked.order(w.r.Calls[e/2].Slot, c.Slot) == OrderRefuted {
				continue
			}
			base = max(base, w.clipEnd[e])
			w.after = append(w.after, e)
			if len(w.after)-int(s.from) >= maxPredecessors {
				break
			}
		}
	}
	s.to = int32(len(w.after))
	s.NS, s.At = start-base, w.recorded(k, start)
	p.Steps = append(p.Steps, s)
}

// recorded is an instant on the entry's clock by the clock of half k.
func (w *Walker) recorded(k int32, at int64) trace.Time {
	return w.r.Start() + trace.Time(at-w.shift[k])
}

// maxPredecessors is how many siblings are predecessors: of those that ended in
// time, the last. What ended before them they waited for themselves, but for rare
// overlaps.
const maxPredecessors = 64

// maxEarlier is how many of the siblings that ended last are looked at for
// predecessors.
const maxEarlier = 512

func (w *Walker) leave(p *Plan, k int32) {
	kids := w.byStart[w.childStart[k]:w.childStart[k+1]]
	s := Step{Half: k, Leave: true, from: int32(len(w.after))}
	last := w.clipStart[k]
	for _, c := range kids {
		last = max(last, w.clipEnd[c])
	}
	w.after = append(w.after, kids...)
	s.to = int32(len(w.after))
	s.NS, s.At = w.clipEnd[k]-last, w.recorded(k, w.clipEnd[k])
	p.Steps = append(p.Steps, s)
}

// Waits is the number of halves that a step waits for.
func (p *Plan) Waits(step int) int {
	s := &p.Steps[step]
	return int(s.to - s.from)
}

// Values is the recorded stretches of the steps, for editing.
func (p *Plan) Values(to []int64) []int64 {
	to = to[:0]
	for i := range p.Steps {
		to = append(to, p.Steps[i].NS)
	}
	return to
}

// Awaits reports whether a step begins only when a half has ended.
func (p *Plan) Awaits(step int, half int32) bool {
	s := &p.Steps[step]
	return slices.Contains(p.after[s.from:s.to], half)
}

// Gone as the value of the stretch that leads to a half takes the half away,
// with all that it called: what waited for it does not wait.
const Gone = int64(-1) << 60

// An Evaluator computes latencies from plans. It keeps its scratch memory.
type Evaluator struct {
	values, lateStart, lateEnd []int64 // of Slack

	start, end []int64
	dropped    []bool
}

// Half is when a half began and ended, from the entry's start, in the plan that was evaluated last; not ok of one that
// is not there.
func (e *Evaluator) Half(half int32) (start, end int64, ok bool) {
	return e.start[half], e.end[half], !e.dropped[half]
}

// Latency is the request's latency in ns if its stretches were values. drop, if
// not nil, tells of halves that are not there: what waited for them does not.
func (e *Evaluator) Latency(p *Plan, values []int64, drop func(half int32) bool) int64 {
	if drop == nil {
		return e.Run(p, values, Course{})
	}
	return e.Run(p, values, Course{Begin: func(half int32, _ int64) bool { return !drop(half) }})
}

// A Course decides what becomes of the halves of a request while it runs again.
// Times are ns since the request began.
type Course struct {
	// Begin is whether a half begins that would begin at a time; nil: all do. What
	// waited for one that does not begin does not wait.
	Begin func(half int32, at int64) bool

	// End is until when a half is waited for that ran from start to end; nil: to
	// its end.
	End func(half int32, start, end int64) int64
}

// Run is the request's latency in ns if its stretches were values and it took
// the course.
func (e *Evaluator) Run(p *Plan, values []int64, c Course) int64 {
	e.start, e.end = grow(e.start, p.halves), grow(e.end, p.halves)
	e.dropped = grow(e.dropped, p.halves)
	var last int64
	for i := range p.Steps {
		s := &p.Steps[i]
		k := s.Half
		if s.Leave {
			if e.dropped[k] {
				continue
			}
			e.end[k] = e.after(p, s, e.start[k]) + values[i]
			if c.End != nil {
				e.end[k] = c.End(k, e.start[k], e.end[k])
			}
			last = e.end[k]
			continue
		}
		up := p.parent[k]
		// Half of Gone: what others add to the stretch does not bring it back.
		e.dropped[k] = up >= 0 && e.dropped[up] || values[i] < Gone/2
		if e.dropped[k] {
			continue
		}
		at := int64(0)
		if up >= 0 {
			at = e.after(p, s, e.start[up])
		}
		e.start[k] = at + values[i]
		e.dropped[k] = c.Begin != nil && !c.Begin(k, e.start[k])
	}
	return last
}

// Slack is by how much longer each half could have lasted without the request's
// becoming longer, in ns, by the recorded stretches: zero on the critical path.
// The result is scratch memory; halves that no step enters have -1.
func (e *Evaluator) Slack(p *Plan) []int64 {
	n := p.halves
	e.values = p.Values(e.values)
	e.Latency(p, e.values, nil) // leaves each half's end
	e.lateStart, e.lateEnd = grow(e.lateStart, n), grow(e.lateEnd, n)
	for i := range n {
		e.lateStart[i], e.lateEnd[i] = unbounded, unbounded
	}
	// From the end: what may last until when, and so what comes before it.
	for i := len(p.Steps) - 1; i >= 0; i-- {
		s := &p.Steps[i]
		k := s.Half
		switch {
		case s.Leave && p.parent[k] < 0:
			e.lateEnd[k] = e.end[k]
			fallthrough
		case s.Leave:
			by := e.lateEnd[k] - s.NS
			e.lateStart[k] = min(e.lateStart[k], by)
			for _, a := range p.after[s.from:s.to] {
				e.lateEnd[a] = min(e.lateEnd[a], by)
			}
		default:
			by := e.lateStart[k] - s.NS
			if up := p.parent[k]; up >= 0 {
				e.lateStart[up] = min(e.lateStart[up], by)
			}
			for _, a := range p.after[s.from:s.to] {
				e.lateEnd[a] = min(e.lateEnd[a], by)
			}
		}
	}
	for i := range n {
		e.lateEnd[i] -= e.end[i]
		if e.lateStart[i] == unbounded {
			e.lateEnd[i] = -1
		}
	}
	return e.lateEnd
}

// after is when all that a step waits for has ended, not before at.
func (e *Evaluator) after(p *Plan, s *Step, at int64) int64 {
	for _, a := range p.after[s.from:s.to] {
		if !e.dropped[a] {
			at = max(at, e.end[a])
		}
	}
	return at
}

// Ran is when a half ran in the last run; ok is false if it did not.
func (e *Evaluator) Ran(half int32) (start, end int64, ok bool) {
	return e.start[half], e.end[half], !e.dropped[half]
}
