package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A SegmentKind says what a stretch of the critical path is, before anything
// is known of queues.
type SegmentKind uint8

const (
	Own             SegmentKind = iota // the half's own time
	GapBefore                          // in the client half, before the server half began
	GapAfter                           // in the client half, after the server half ended
	Waiting                            // the half's own span says that it waited
	Backoff                            // between attempts of one logical call
	TimedOutWaiting                    // waited out; nothing is known of the callee
)

// A Segment is a stretch of a request charged to one half of one call. Times
// are ns from the request's start on the entry's clock.
type Segment struct {
	Start, End int64
	Call       int32
	Client     bool // charged to the client half
	Kind       SegmentKind

	// Next is the call that begins at the segment's end within the same half; -1
	// if the half ends there, or none does.
	Next int32

	// Wait is the index of the record's Wait of a Waiting segment; -1 else.
	Wait int32

	// Inferred marks time that is on the path by its timing in this request
	// only: too few requests show whether it was waited for, or in what order.
	Inferred bool
}

// A Beside is work outside the request's latency: a half that ran on after its
// caller had left, or after its parent had ended.
type Beside struct {
	Call       int32
	Client     bool
	Start, End int64
	// Departed is when the caller left, and By the call that was left; By is -1
	// where nobody left.
	Departed int64
	By       int32
}

// A Walker charges the time of records. It keeps its scratch memory between
// records and is not safe for concurrent use.
type Walker struct {
	Dict     *Dict
	Verdicts *Verdicts // nil: recorded times and orders stand

	// Of the last Walk.
	Path  []Segment // tiles the request: in order, without gap or overlap
	Late  []Beside  // after a departure
	After []Beside  // after the parent's end, nobody having left

	// Moved is the calls whose work half had to be centred in the client half.
	Moved []int32

	r          *Record
	asked      asked
	clocks     *ClockWindow
	start, end []int64 // of each half on the entry's clock; half 2i is the client's, 2i+1 the work's
	clipStart  []int64
	clipEnd    []int64
	shift      []int64 // added to the recorded times of each half, beside the request's start
	departed   []int64 // when someone above left; noDeparture
	leftBy     []int32
	childStart []int32
	children   []int32 // halves, ascending by clipped end
	byStart    []int32 // the same, ascending by start, of the last Plan
	up         []int32 // of each half: the one that encloses it; -1 of the outermost
	hosts      []hostClock
	stack      []frame
	open       []open
	after      []int32         // of the Plan being made
	aside      []int32         // where the next child of each half goes
	spans      [][2]int64      // of what a half called
	limits     map[int32]int32 // of the record's Limits, by call

	// lastKid is when the last waited-for call of a half ended that ended before
	// it; -1 for none asked yet.
	lastKid struct {
		of  int32
		end int64
	}
}

// A hostClock is what a window of clocks knows of a process' host.
type hostClock struct {
	window *ClockWindow
	host   trace.StringID
	asked  bool
	knownHost
}

// clockOf is what the clocks of the record know of a process' host.
func (w *Walker) clockOf(p ProcID) *hostClock {
	if int(p) >= len(w.hosts) {
		w.hosts = append(w.hosts, make([]hostClock, w.Dict.Procs()-len(w.hosts))...)
	}
	h := &w.hosts[p]
	if !h.asked || h.window != w.clocks {
		*h = hostClock{window: w.clocks, host: w.Dict.ProcAt(p).Host, asked: true}
		if w.clocks != nil {
			h.knownHost = w.clocks.known[h.host]
		}
	}
	return h
}

// shiftTo is ClockWindow.Shift to a host from this one.
func (h *hostClock) shiftTo(o *hostClock) (int64, bool) {
	switch {
	case h.host == o.host:
		return 0, true
	case h.group == 0 || h.group != o.group:
		return 0, false
	}
	return h.ahead - o.ahead, true
}

type frame struct {
	half  int32
	t     int64 // everything from here on is charged
	at    int32 // children at and after this index are done
	next  int32 // the call that begins at t, -1 at the end
	infer bool
}

const noDeparture = int64(1)<<62 - 1

// Place puts the halves of a record on the entry's clock, for Shift, Began and
// Ended, if it is not the last record.
func (w *Walker) Place(r *Record) {
	if w.r == r {
		return
	}
	w.r = r
	w.Path, w.Late, w.After, w.Moved = w.Path[:0], w.Late[:0], w.After[:0], w.Moved[:0]
	w.place()
}

// Shift is what was added to the recorded times of a half of the last record,
// to place it on the entry's clock.
func (w *Walker) Shift(call int32, client bool) int64 { return w.shift[half(call, client)] }

// Began and Ended are the start and end of a half of the last record on the
// entry's clock, in ns from the request's start.
func (w *Walker) Began(call int32, client bool) int64 { return w.start[half(call, client)] }

// Ended: see Began.
func (w *Walker) Ended(call int32, client bool) int64 { return w.end[half(call, client)] }

// Self is how long the half that did the work of a call of the last record had
// nothing running that it had called.
func (w *Walker) Self(call int32) int64 {
	r := w.r
	c := &r.Calls[call]
	k := half(call, !c.Work.Seen())
	w.spans = w.spans[:0]
	for i := call + 1; i < call+c.Len; i += r.Calls[i].Len {
		o := half(i, r.Calls[i].Client.Seen())
		w.spans = append(w.spans, [2]int64{w.start[o], w.end[o]})
	}
	slices.SortFunc(w.spans, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	self, at := w.end[k]-w.start[k], w.start[k]
	for _, s := range w.spans {
		if from, to := max(s[0], at), min(s[1], w.end[k]); to > from {
			self -= to - from
			at = to
		}
	}
	return self
}

// Waited is how long the caller of a call of the last record waited for it at most:
// the call's time as far as the caller had neither left nor ended.
func (w *Walker) Waited(call int32) int64 {
	k := half(call, w.r.Calls[call].Client.Seen())
	return w.clipEnd[k] - w.clipStart[k]
}

// Slack is that of a call, given the slack of the halves of the last record's Plan;
// -1 of a call that is no part of the plan.
func (w *Walker) Slack(slack []int64, call int32) int64 {
	return slack[half(call, w.r.Calls[call].Client.Seen())]
}

func half(call int32, client bool) int32 {
	if client {
		return 2 * call
	}
	return 2*call + 1
}

// Walk charges the record's time. The path starts at zero and ends at the
// record's duration.
func (w *Walker) Walk(r *Record) {
	w.r = r
	if gives(cap(w.Path), len(r.Calls)) {
		w.Path, w.Late, w.After, w.Moved, w.stack = nil, nil, nil, nil, nil
	}
	w.Path, w.Late, w.After, w.Moved = w.Path[:0], w.Late[:0], w.After[:0], w.Moved[:0]
	w.place()
	w.clip()
	w.list()
	w.asked.ask(w.Verdicts, r)
	w.back()
	slices.Reverse(w.Path)
	w.splitWaits()
}

// giant is the scratch memory, in elements, that is given back once a request
// needs a sixteenth of it or less.
const giant = 1 << 16

// gives reports whether scratch memory of so many elements is to be given back by
// something that needs n.
func gives(capacity, n int) bool { return capacity > giant && n < capacity/16 }

// empty is m without its keys: cleared, or new where clearing costs more.
func empty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil || len(m) > 1024 {
		return map[K]V{}
	}
	clear(m)
	return m
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n || gives(cap(s), n) {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// parentHalf is the half that made call i; -1 of the entry.
func (w *Walker) parentHalf(i int) int32 {
	c := &w.r.Calls[i]
	if c.Parent < 0 {
		return -1
	}
	p := &w.r.Calls[c.Parent]
	return half(c.Parent, !p.Work.Seen() || c.Flags&OnClient != 0 && p.Client.Seen())
}

// place puts every half on the entry's clock.
func (w *Walker) place() {
	r := w.r
	n := 2 * len(r.Calls)
	w.start, w.end, w.shift, w.up = grow(w.start, n), grow(w.end, n), grow(w.shift, n), grow(w.up, n)
	zero := r.Start()
	w.clocks = w.Verdicts.clocks().At(zero)
	entry := *w.clockOf(r.Calls[0].Outer().Proc)
	for i := range r.Calls {
		c := &r.Calls[i]
		work := half(int32(i), false)
		up := w.parentHalf(i)
		if c.Client.Seen() {
			w.put(work-1, up, &c.Client, zero, &entry)
			up = work - 1
		}
		if c.Work.Seen() {
			w.put(work, up, &c.Work, zero, &entry)
		}
	}
}

// put puts one half on the entry's clock.
func (w *Walker) put(k, up int32, h *Half, zero trace.Time, entry *hostClock) {
	w.up[k] = up
	clock := w.clockOf(h.Proc)
	shift, known := entry.shiftTo(clock)
	if !known && up >= 0 && w.hostOf(up) == clock.host {
		// Keep to the clock of the half that caused this one: what was centred takes
		// along what its host did below it.
		shift = w.shift[up]
	}
	if up == k-1 && k%2 == 1 && !w.r.Calls[k/2].ClientEnd.Left() {
		var centred bool
		if shift, centred = w.fit(int(k/2), shift); centred {
			w.Moved = append(w.Moved, k/2)
		}
	}
	w.shift[k] = shift
	w.start[k] = int64(h.Start-zero) + shift
	w.end[k] = int64(h.End-zero) + shift
}

func (w *Walker) hostOf(k int32) (host trace.StringID) {
	c := &w.r.Calls[k/2]
	if k%2 == 0 {
		return w.clockOf(c.Client.Proc).host
	}
	return w.clockOf(c.Work.Proc).host
}

// fit is the shift that puts the work half of call i inside its client half, if
// the shift used leaves it outside, it would fit, and the two are of different
// hosts. By less than the clocks' slack it is moved as little as needed; else the
// clocks say nothing of it, and it is centred.
func (w *Walker) fit(i int, shift int64) (fitted int64, centred bool) {
	c := &w.r.Calls[i]
	k := half(int32(i), true)
	zero := w.r.Start()
	ws, we := int64(c.Work.Start-zero)+shift, int64(c.Work.End-zero)+shift
	cs, ce := w.start[k], w.end[k]
	if ws >= cs && we <= ce || we-ws > ce-cs {
		return shift, false
	}
	host := w.clockOf(c.Work.Proc).host
	if host == w.hostOf(k) {
		return shift, false
	}
	out := max(cs-ws, we-ce)
	if out <= max(w.clocks.Slack(w.hostOf(k), host), smallStep) {
		if ws < cs {
			return shift + cs - ws, false
		}
		return shift + ce - we, false
	}
	return shift + cs + (ce-cs-(we-ws))/2 - ws, true
}

// smallStep is how far a callee's half may lie outside its caller's to be a
// matter of timestamps and not of clocks.
const smallStep = 1_000_000

// overhangPart: what lies outside by less than smallStep counts from this part of the callee on, the 20th: of a short call
// less than a step matters.
const overhangPart = 20

// clip cuts every half to what its caller waited for, from the entry down, and
// sets aside what ran beyond.
func (w *Walker) clip() {
	r := w.r
	w.lastKid.of = -1
	if len(w.limits)+len(r.Limits) > 0 {
		w.limits = empty(w.limits)
	}
	for i := range r.Limits {
		if _, ok := w.limits[r.Limits[i].Call]; !ok {
			w.limits[r.Limits[i].Call] = int32(i)
		}
	}
	n := 2 * len(r.Calls)
	w.clipStart, w.clipEnd = grow(w.clipStart, n), grow(w.clipEnd, n)
	w.departed, w.leftBy = grow(w.departed, n), grow(w.leftBy, n)
	duration := r.Duration()
	for i := range r.Calls {
		c := &r.Calls[i]
		for _, client := range [2]bool{true, false} {
			h := &c.Work
			if client {
				h = &c.Client
			}
			if !h.Seen() {
				continue
			}
			k := half(int32(i), client)
			up := w.up[k]
			w.departed[k], w.leftBy[k] = noDeparture, -1
			lo, hi := int64(0), duration
			moved := noDeparture // when the parent went on without the call
			if up >= 0 && up/2 != int32(i) {
				moved = w.movedOn(k, up)
			}
			if up >= 0 {
				lo, hi = w.clipStart[up], w.clipEnd[up]
				w.departed[k], w.leftBy[k] = w.departed[up], w.leftBy[up]
				// The half above may have been left by its own word: the client half
				// of this call, or the entry.
				if e := w.endOf(up); e.Left() && (up%2 == 0 || up/2 == 0) && w.end[up] < w.departed[k] {
					w.departed[k], w.leftBy[k] = w.end[up], up/2
				}
				if moved < w.departed[k] {
					w.departed[k], w.leftBy[k] = moved, int32(i)
				}
				if w.departed[k] != noDeparture && len(r.Held) > 0 {
					w.departed[k] = max(w.departed[k], w.held(int32(i)))
				}
				if moved == noDeparture || !c.Paired() { // a client half that nobody waits for does no work
					w.beside(k, w.clipEnd[up])
				}
			}
			s, e := min(max(w.start[k], lo), hi), min(max(w.end[k], lo), hi)
			if h == c.Outer() {
				e = min(e, max(s, moved))
				if l := w.limit(int32(i)); l != nil {
					e = min(e, max(s, int64(l.Until-r.Start())+w.shift[k]))
				}
			}
			w.clipStart[k], w.clipEnd[k] = s, max(s, e)
		}
	}
}

// movedOn is when the parent went on without the call whose outer half is k,
// noDeparture if it did not: the call is one that callers wait for and give up
// on, and ran on when the parent ended by itself. The parent gave up when its
// usual time after its last call was left, and not before its other calls had
// ended.
func (w *Walker) movedOn(k, up int32) int64 {
	c := &w.r.Calls[k/2]
	over := w.end[k] - w.end[up]
	if over <= 0 || over <= w.slack(k) || over < smallStep && over*overhangPart < w.end[k]-w.start[k] || w.start[k] >= w.end[up] {
		return noDeparture
	}
	v := w.Verdicts.WaitedFor(c.Slot)
	if v.Verdict != Abandoned || c.Flags&(Async|Loser) != 0 || c.ClientEnd.Left() || w.endOf(up) != Succeeded || w.departed[up] != noDeparture {
		return noDeparture
	}
	if w.lastKid.of != up {
		w.lastKid.of, w.lastKid.end = up, w.start[up]
		p := up / 2
		for i := p + 1; i < p+w.r.Calls[p].Len; i += w.r.Calls[i].Len {
			if w.parentHalf(int(i)) != up || w.r.Calls[i].Flags&Async != 0 || w.Verdicts.waitedVerdict(w.r.Calls[i].Slot) == Asynchronous {
				continue
			}
			if end := w.end[half(i, w.r.Calls[i].Client.Seen())]; end <= w.end[up] {
				w.lastKid.end = max(w.lastKid.end, end)
			}
		}
	}
	return min(max(w.clipEnd[up]-v.Rest, w.lastKid.end, w.start[k]), w.clipEnd[up])
}

// abandoned reports whether the parent went on without call i.
func (w *Walker) abandoned(i int32) bool {
	k := half(i, w.r.Calls[i].Client.Seen())
	return w.leftBy[k] == i && w.Verdicts.waitedVerdict(w.r.Calls[i].Slot) == Abandoned
}

// limit is how long a loser was waited for; nil of what is none.
func (w *Walker) limit(call int32) *Limit {
	if w.r.Calls[call].Flags&Loser == 0 || len(w.r.Limits) == 0 {
		return nil
	}
	if i, ok := w.limits[call]; ok {
		return &w.r.Limits[i]
	}
	return nil
}

func (w *Walker) endOf(k int32) End {
	c := &w.r.Calls[k/2]
	if k%2 == 0 {
		return c.ClientEnd
	}
	return c.WorkEnd
}

// beside lists what a half did after its caller had left or its parent ended.
func (w *Walker) beside(k int32, parentEnd int64) {
	if d := w.departed[k]; d != noDeparture {
		if from := max(parentEnd, w.start[k]); len(w.r.Held) > 0 && min(d, w.end[k]) > from { // for others who had joined the call
			w.After = append(w.After, Beside{k / 2, k%2 == 0, from, min(d, w.end[k]), 0, -1})
		}
		if w.end[k] > max(d, w.start[k]) {
			w.Late = append(w.Late, Beside{k / 2, k%2 == 0, max(d, w.start[k]), w.end[k], d, w.leftBy[k]})
		}
		return
	}
	if w.end[k] > max(parentEnd, w.start[k]) && w.end[k]-parentEnd > w.slack(k) {
		w.After = append(w.After, Beside{k / 2, k%2 == 0, max(parentEnd, w.start[k]), w.end[k], 0, -1})
	}
}

// slack is how far the clock of a half may be from that of the half above.
func (w *Walker) slack(k int32) int64 {
	return w.clocks.Slack(w.hostOf(w.up[k]), w.hostOf(k))
}

// list makes the children of each half that its end may have waited for, in
// ascending order of their ends.
func (w *Walker) list() {
	r := w.r
	n := 2 * len(r.Calls)
	w.childStart = grow(w.childStart, n+1)
	clear(w.childStart)
	w.aside = w.aside[:0] // the halves that are children
	for i := range r.Calls {
		c := &r.Calls[i]
		k := int32(2*i + 1)
		if c.Paired() && w.clipEnd[k] > w.clipStart[k] {
			w.aside = append(w.aside, k)
			w.childStart[k]++ // of its parent k-1, one place on
		}
		if i == 0 {
			continue
		}
		if c.Client.Seen() {
			k--
		}
		if up := w.up[k]; w.clipEnd[k] > w.clipStart[k] && w.start[k] < w.end[up] && c.Flags&Async == 0 && w.Verdicts.waitedVerdict(c.Slot) != Asynchronous {
			w.aside = append(w.aside, k)
			w.childStart[up+1]++
		}
	}
	for i := range n {
		w.childStart[i+1] += w.childStart[i]
	}
	w.children = grow(w.children, len(w.aside))
	// From the last to the first, so that each child goes to the end of what is free
	// of its parent's places.
	for i := len(w.aside) - 1; i >= 0; i-- {
		k := w.aside[i]
		up := w.up[k]
		w.childStart[up+1]--
		w.children[w.childStart[up+1]] = k
	}
	// Now childStart[up+1] is where the children of up begin.
	copy(w.childStart, w.childStart[1:])
	w.childStart[n] = int32(len(w.children))
	for up := range n {
		w.sort(w.children[w.childStart[up]:w.childStart[up+1]], w.clipEnd, w.clipStart)
	}
}

// few is how many halves are sorted by insertion.
const few = 16

// sort orders halves by two times, then by themselves.
func (w *Walker) sort(list []int32, first, second []int64) {
	if len(list) > few {
		slices.SortFunc(list, func(a, b int32) int {
			return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(second[a], second[b]), cmp.Compare(a, b))
		})
		return
	}
	for i := 1; i < len(list); i++ {
		k := list[i]
		j := i
		for ; j > 0; j-- {
			o := list[j-1]
			if first[o] < first[k] || first[o] == first[k] && (second[o] < second[k] || second[o] == second[k] && o < k) {
				break
			}
			list[j] = o
		}
		list[j] = k
	}
}

// back walks from the request's end to its start:
//
//  1. In a half, from the instant t: the child that ended last at or before t
//     was waited for. The time from its end to t is the half's own.
//  2. Walk the child in the same way, from its end to its start.
//  3. Go on at the child's start, in the parent; a sibling counts as waited for
//     only if its order before the child is not refuted. What is passed over is
//     the parent's own time.
//  4. With no child left, the rest is the half's own.
//
// Each half is entered once and each child looked at once.
func (w *Walker) back() {
	entry := half(0, w.r.Calls[0].Client.Seen())
	w.stack = append(w.stack[:0], frame{half: entry, t: w.clipEnd[entry], at: w.childStart[entry+1], next: -1})
	for len(w.stack) > 0 {
		f := &w.stack[len(w.stack)-1]
		k, inferred := w.predecessor(f)
		if k < 0 {
			w.charge(f, w.clipStart[f.half], -1)
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		w.charge(f, min(w.clipEnd[k], f.t), k/2)
		end := min(w.clipEnd[k], f.t)
		f.t, f.next = w.clipStart[k], k/2
		if k/2 == f.half/2 {
			f.next = -1 // the server half of the same call
		}
		w.stack = append(w.stack, frame{half: k, t: end, at: w.childStart[k+1], next: -1, infer: f.infer || inferred})
	}
}

// predecessor is the child of the frame's half that was waited for until t, and
// whether that is inferred from this request's timing alone.
func (w *Walker) predecessor(f *frame) (int32, bool) {
	for f.at > w.childStart[f.half] {
		f.at--
		k := w.children[f.at]
		if w.clipStart[k] >= f.t {
			continue
		}
		if over := w.clipEnd[k] - f.t; over > 0 && (f.next < 0 || over > w.touch(k, f.next)) {
			continue
		}
		if k/2 == f.half/2 {
			return k, false
		}
		c := &w.r.Calls[k/2]
		inferred := w.Verdicts.waitedVerdict(c.Slot) == WaitedUndecided
		if f.next >= 0 {
			switch w.asked.order(c.Slot, w.r.Calls[f.next].Slot) {
			case OrderRefuted:
				continue
			case OrderUndecided:
				inferred = true
			}
		}
		return k, inferred
	}
	return -1, false
}

// touch is the overlap up to which half k ends where call next begins.
func (w *Walker) touch(k, next int32) int64 {
	c, b := w.r.Calls[k/2].Outer(), w.r.Calls[next].Outer()
	return touch(c.Interval, b.Interval, w.hostOf(k) == w.clockOf(b.Proc).host)
}

// charge adds the frame's own time from start to t. before is the call that
// ended at start, -1 for none.
func (w *Walker) charge(f *frame, start int64, before int32) {
	if start >= f.t {
		return
	}
	call, client := f.half/2, f.half%2 == 0
	c := &w.r.Calls[call]
	kind := Own
	switch {
	case client && c.Paired() && f.t <= w.clipStart[f.half+1]:
		kind = GapBefore
	case client && c.Paired() && w.clipEnd[f.half+1] > w.clipStart[f.half+1]:
		kind = GapAfter
	case client && c.Paired(): // the server began after the caller had left
		kind = GapBefore
	case client && c.Flags&WaitSpan == 0 && (c.ClientEnd == TimedOut || w.abandoned(call)) && c.Len == 1:
		kind = TimedOutWaiting
	case f.next >= 0 && before >= 0 && w.r.Calls[f.next].Flags&Retry != 0 && w.r.Calls[before].OuterEnd() != Succeeded:
		kind = Backoff
	}
	w.Path = append(w.Path, Segment{start, f.t, call, client, kind, f.next, -1, f.infer})
}

// splitWaits turns the stretches of the path that their own spans call waits
// into Waiting segments.
func (w *Walker) splitWaits() {
	r := w.r
	if len(r.Waits) == 0 {
		return
	}
	byHalf := map[int32][]int32{}
	for i := range r.Waits {
		k := half(r.Waits[i].Call, r.Waits[i].Client)
		byHalf[k] = append(byHalf[k], int32(i))
	}
	byStart := func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.Waits[a].Start, r.Waits[b].Start), cmp.Compare(a, b))
	}
	for _, waits := range byHalf {
		slices.SortFunc(waits, byStart)
	}
	var out []Segment
	for _, s := range w.Path {
		k := half(s.Call, s.Client)
		// What ended before this segment, which is later than all of the half before
		// it, is done.
		waits := byHalf[k]
		for len(waits) > 0 && int64(r.Waits[waits[0]].End-r.Start())+w.shift[k] <= s.Start {
			waits = waits[1:]
		}
		byHalf[k] = waits
		if s.Kind == GapBefore { // of the way to the server, the server's side tells as well
			waits = append(slices.Clone(waits), byHalf[k+1]...)
			slices.SortFunc(waits, byStart)
		}
		for _, i := range waits {
			shift := w.shift[half(s.Call, r.Waits[i].Client)]
			from := max(s.Start, int64(r.Waits[i].Start-r.Start())+shift)
			to := min(s.End, int64(r.Waits[i].End-r.Start())+shift)
			if from >= s.End && s.Kind != GapBefore {
				break
			}
			if to <= from {
				continue
			}
			if from > s.Start {
				head := s
				head.End, head.Next = from, -1
				out = append(out, head)
			}
			wait := s
			wait.Start, wait.End, wait.Kind, wait.Wait = from, to, Waiting, i
			out = append(out, wait)
			s.Start = to
		}
		if s.End > s.Start {
			out = append(out, s)
		}
	}
	w.Path = out
}
