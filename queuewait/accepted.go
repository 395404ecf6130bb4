package queuewait

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/parallel"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

// A server span that begins when its request is accepted, and not when a worker takes it, hides a wait for the worker in what
// looks like work. Workers that take requests in the order in which they came leave no choice, however long each is kept:
// with k of them a request waits until all but k − 1 of those before it have ended. So any k gives each request its wait, and
// one k at most is right: with that wait taken off, requests that had to wait begin to work, or work, as those that found a
// worker free. More work, a lock around a part of it and a CPU that is shared do not look like that for any k.

// A taken is a span of a process that took a request.
type taken struct {
	trace.Interval
	slot graph.SlotID

	// first is the time to the first call that it makes, if it makes any: its wait lies there. Else it is all of its time.
	first int64
	leaf  bool
}

// A crew is what the processes of a service took, each in order, with when those ended.
type crew map[graph.ProcID]*shift

type shift struct {
	took []taken
	ends []trace.Time
}

func (c crew) sort() {
	for _, s := range c {
		slices.SortFunc(s.took, func(a, b taken) int { return cmp.Or(inOrder(a.Interval, b.Interval), cmp.Compare(a.slot, b.slot)) })
		s.ends = s.ends[:0]
		for i := range s.took {
			s.ends = append(s.ends, s.took[i].End)
		}
		radix.Ints(s.ends)
	}
}

// only is the part of a crew that took the calls of some slots.
func (c crew) only(of func(graph.SlotID) bool) crew {
	out := crew{}
	for p, s := range c {
		x := &shift{}
		for _, t := range s.took {
			if of(t.slot) {
				x.took = append(x.took, t)
			}
		}
		if len(x.took) > 0 {
			out[p] = x
		}
	}
	out.sort()
	return out
}

// wait is how long the i-th that a process took waited for one of k workers.
func (s *shift) wait(i, k int) int64 {
	if i < k {
		return 0
	}
	return max(0, int64(s.ends[i-k]-s.took[i].Start))
}

// until is how long that was until a worker went on, which takes some time after it is free.
func (s *shift) until(i, k int, wake int64) int64 {
	w := s.wait(i, k)
	if w > 0 {
		w += wake
	}
	return min(w, s.took[i].first)
}

// most is the most spans that one process had open at once.
func (c crew) most() int {
	most := 0
	for _, s := range c {
		for i := range s.took {
			ended, _ := slices.BinarySearch(s.ends, s.took[i].Start+1)
			most = max(most, i+1-ended)
		}
	}
	return most
}

func (c crew) size() (n int) {
	for _, s := range c {
		n += len(s.took)
	}
	return n
}

// crews is what the processes of each service took in a set.
func (d *Data) crews() map[trace.StringID]crew {
	out := map[trace.StringID]crew{}
	for _, r := range d.Records {
		for i := range r.Calls {
			c := &r.Calls[i]
			slot := d.Dict.SlotAt(c.Slot)
			service := slot.Callee.Service
			if service == 0 || !c.Work.Seen() || c.Flags&graph.Async != 0 {
				continue
			}
			if !c.Client.Seen() && i > 0 && slot.Kind != trace.KindServer { // a part of other work
				continue
			}
			if d.Dict.ProcAt(c.Work.Proc).Service != service {
				continue
			}
			t := taken{Interval: c.Work.Interval, slot: c.Slot, first: c.Work.Duration(), leaf: true}
			for k := int32(i) + 1; k < int32(i)+c.Len; k += r.Calls[k].Len {
				x := &r.Calls[k]
				if o := x.Outer(); o.Seen() && o.Proc == c.Work.Proc && x.Flags&graph.OnClient == 0 {
					t.first, t.leaf = min(t.first, max(0, int64(o.Start-c.Work.Start))), false
				} else if sentUnseen(d.Dict, r, k) {
					shift, _ := shifted(d.Dict, d.Verdicts.Clocks, c.Work.Proc, x)
					t.first, t.leaf = min(t.first, max(0, int64(x.Work.Start+shift-c.Work.Start))), false
				}
			}
			if out[service] == nil {
				out[service] = crew{}
			}
			s := out[service][c.Work.Proc]
			if s == nil {
				s = &shift{}
				out[service][c.Work.Proc] = s
			}
			s.took = append(s.took, t)
		}
	}
	for _, c := range out {
		c.sort()
	}
	return out
}

const (
	// mostWorkers is the largest number that is looked for, mostTaken of how many spans.
	mostWorkers = 256
	mostTaken   = 100_000
	// inTurn is by which part of their waits, or of their own time, those that waited may take longer or shorter than those
	// that did not, beyond what chance and a wake-up allow; wakeUp is that, in ns.
	inTurn = 0.15
	wakeUp = 500_000
	// littlePart of the work of one alone is the other little by which works may differ.
	littlePart = 0.05
	// outOfTurn is the share of the waits that may be longer than what there is.
	outOfTurn = 0.05
	// minSpells is in how many stretches they must wait, if they make no calls.
	minSpells = 10
	// ksChance over the root of their number is by how much two lists' shares below a time differ at the most by chance, 95 of
	// 100 times. fewUnlike is how small that must be for it to tell, and fewWithCalls where calls show when waits ended. mostUnlike and
	// withChance, of what is by chance, are what they may differ by: of workers 0.03 and half of it, of locks around a half twice that.
	ksChance     = 1.36
	fewUnlike    = 0.1
	fewWithCalls = 0.3
	mostUnlike   = 0.05
	withChance   = 0.7
)

// A fit is how k workers that take requests in turn suit a crew.
type fit struct {
	k          int
	waits      int     // longer than minWait
	leaves     int     // of them, those that make no call
	late       int     // of them, those that would be longer than what there is
	free       int     // those that found a worker free
	spells     int     // how often one waited after one that did not
	wait       float64 // the mean of the waits, ns
	own, alone float64 // the mean time without it of those that waited, and of those that found a worker free
	off, sure  float64 // by how much the first is longer, of the same process and slot, and two standard errors of it
	wake       float64 // what of it is the time that a worker takes to go on

	by map[[2]int32]*owns
}

// An owns is the times without a wait of the calls of a slot at a process: of those that found a worker free, and of those
// that waited.
type owns [2][]float64

// differs is by how much the share of those that took less than any time differs at the most between those that waited and
// those that did not, if the former may take a little more or less, and by how much it may by chance. Lengths of the same process and slot are compared.
func (f *fit) differs() (most, chance float64) {
	type point struct{ x, w float64 }
	var points []point
	little := max(wakeUp, littlePart*f.alone)
	for _, sign := range []float64{-1, 1} {
		points = points[:0]
		total := 0.0
		for _, g := range f.by {
			n0, n1 := float64(len(g[0])), float64(len(g[1]))
			if n0 == 0 || n1 == 0 {
				continue
			}
			w := n0 * n1 / (n0 + n1)
			total += w
			for _, x := range g[0] {
				points = append(points, point{x, -sign * w / n0})
			}
			for _, x := range g[1] {
				points = append(points, point{x - f.wake + sign*little, sign * w / n1})
			}
		}
		slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.w, b.w)) })
		sum := 0.0
		for i, p := range points {
			sum += p.w
			if i+1 == len(points) || points[i+1].x > p.x {
				most = max(most, sum/total)
			}
		}
		chance = ksChance / math.Sqrt(total)
	}
	return most, chance
}

// suits tries k workers.
func (c crew) suits(k int) fit {
	f := fit{k: k}
	f.by = map[[2]int32]*owns{}
	for _, p := range slices.Sorted(maps.Keys(c)) {
		s := c[p]
		last := 1
		for i := range s.took {
			t := &s.took[i]
			w := s.wait(i, k)
			kind := 0
			switch {
			case w >= minWait:
				kind = 1
				f.waits++
				f.wait += float64(w)
				if t.leaf {
					f.leaves++
				}
				if t.first-w < -sameEvent {
					f.late++
				}
			case w > 0:
				continue
			default:
				f.free++
			}
			if kind > last {
				f.spells++
			}
			last = kind
			key := [2]int32{int32(p), int32(t.slot)}
			g := f.by[key]
			if g == nil {
				g = &owns{}
				f.by[key] = g
			}
			g[kind] = append(g[kind], float64(t.first-w))
		}
	}
	if f.waits == 0 || f.free == 0 {
		return f
	}
	f.wait /= float64(f.waits)
	var weight, variance float64
	var n, x [2]float64
	for _, key := range slices.SortedFunc(maps.Keys(f.by), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) }) {
		g := f.by[key]
		var mean, square [2]float64
		for kind, list := range g {
			m, s := moments(list)
			n[kind], x[kind] = n[kind]+float64(len(list)), x[kind]+m*float64(len(list))
			mean[kind], square[kind] = m, s/float64(len(list))
		}
		n0, n1 := float64(len(g[0])), float64(len(g[1]))
		if n0 == 0 || n1 == 0 {
			continue
		}
		w := n0 * n1 / (n0 + n1)
		f.off += w * (mean[1] - mean[0])
		weight += w
		variance += w * w * (square[0] + square[1])
	}
	f.alone, f.own = x[0]/n[0], x[1]/n[1]
	if weight == 0 {
		f.sure = math.Inf(1)
		return f
	}
	f.off, f.sure = f.off/weight, 2*math.Sqrt(variance)/weight
	if f.off > f.sure && f.calling() { // without calls a worker that takes its time is more work, or another number of workers
		f.wake = min(f.off, float64(handOverWindows[len(handOverWindows)-1]), f.wait/2)
	}
	return f
}

// moments is the mean of a list, and its variance; zero of none.
func moments(list []float64) (mean, variance float64) {
	for _, x := range list {
		mean += x / float64(len(list))
	}
	for _, x := range list {
		variance += (x - mean) * (x - mean) / float64(len(list))
	}
	return mean, variance
}

// calling reports whether most of those that waited make calls, which show when their waits ended.
func (f *fit) calling() bool { return 2*f.leaves <= f.waits }

// holds reports whether there are as many workers, by what those that waited and those that did not took. Of a side on whose other side
// there are, few that waited do not matter, as long as they do not contradict it.
func (f *fit) holds(known bool) bool {
	off := math.Abs(f.off - f.wake)
	if f.waits == 0 || f.free == 0 || float64(f.late) > outOfTurn*float64(f.waits) || off > inTurn*f.wait+f.sure || off > inTurn*f.alone+wakeUp+f.sure {
		return false
	}
	most, chance := f.differs()
	if known {
		return most <= max(mostUnlike, chance)
	}
	few := fewUnlike
	if f.calling() {
		few = fewWithCalls
	} else if f.spells < minSpells {
		return false // a bad hour and a good one differ by more than waits
	}
	return f.waits >= minWaits && f.free >= minWaits && f.sure <= inTurn*f.wait && chance <= few && most <= max(mostUnlike, withChance*chance)
}

// workers is how many suit a crew best; k is 0 where no number does.
func (c crew) workers() fit {
	some, rest := c, mostTaken
	if c.size() > mostTaken { // the first of each process tell
		some = crew{}
		for p, s := range c {
			n := min(len(s.took), rest/len(c))
			some[p] = &shift{took: slices.Clone(s.took[:n])}
		}
		some.sort()
	}
	best := fit{}
	for k := 1; k <= min(mostWorkers, some.most()-1); k++ {
		f := some.suits(k)
		if f.waits < minWaits {
			break // more workers leave fewer waits
		}
		if f.holds(false) && (best.k == 0 || math.Abs(f.off)/f.wait < math.Abs(best.off)/best.wait) {
			best = f
		}
	}
	if best.k > 0 && some.size() < c.size() {
		if best = c.suits(best.k); !best.holds(false) {
			best = fit{}
		}
	}
	return best
}

// An accepted is the waits of one side's requests for a worker within their server spans.
type accepted struct {
	crew    crew
	workers int
	wake    int64   // how long after a worker is free the next request goes on
	off     float64 // by what part of them they may be longer or shorter
}

// Accepted is how long a call of a side waited for a worker within its server span, likely, and at least and at most.
func (v *Verdict) Accepted(side int, c *graph.Call) (likely, least, most int64) {
	if v == nil || v.accepted[side] == nil || !c.Work.Seen() {
		return 0, 0, 0
	}
	x := v.accepted[side]
	s := x.crew[c.Work.Proc]
	if s == nil {
		return 0, 0, 0
	}
	i, ok := slices.BinarySearchFunc(s.took, taken{Interval: c.Work.Interval, slot: c.Slot}, func(a, b taken) int {
		return cmp.Or(inOrder(a.Interval, b.Interval), cmp.Compare(a.slot, b.slot))
	})
	if !ok {
		return 0, 0, 0
	}
	likely = s.until(i, x.workers, x.wake)
	off := int64(x.off*float64(likely)) + min(wakeUp, likely/5) // a worker may take its time
	return likely, likely - off, min(likely+off, s.took[i].first)
}

// mostKept is how few of the requests may be missing for those in a process to be known.
const mostKept = 0.95

// acceptedWaits asks of every service whether its requests wait for a worker within their spans.
func (o *Owners) acceptedWaits(sets [2]*Data) {
	var crews [2]map[trace.StringID]crew
	parallel.Do(len(sets), func(i int) {
		if d := sets[i]; d != nil && !d.Sampled && d.kept() >= mostKept {
			crews[i] = d.crews()
		}
	})
	seen := map[trace.StringID]bool{}
	for i := range crews {
		if sets[i] != nil && crews[i] == nil {
			return
		}
		for s := range crews[i] {
			seen[s] = true
		}
	}
	services := slices.Sorted(maps.Keys(seen))
	found := make([]*Verdict, len(services))
	parallel.Do(len(services), func(i int) {
		a := asker{o: o, sets: sets, key: EdgeKey{Target: services[i], Site: Accepted}}
		found[i] = a.accepted([2]crew{crews[0][services[i]], crews[1][services[i]]})
	})
	for _, v := range found {
		if v != nil {
			o.edges[v.Key] = v
		}
	}
	list := make([]*Verdict, o.dict.Slots())
	for slot := range list {
		list[slot] = o.of(graph.SlotID(slot), Accepted)
	}
	o.bySlot[Accepted] = list
}

// AcceptedIn is what of a step of a request's plan is a wait for a worker, and the call and the verdict whose wait it is: nil
// where the step is not the first of a server half that may wait.
func (o *Owners) AcceptedIn(side int, r *graph.Record, s *graph.Step) (ns int64, call int32, v *Verdict) {
	call = s.Call()
	switch c := &r.Calls[call]; {
	case !s.First() || s.Leave && s.Client():
		return 0, 0, nil
	case s.Leave:
	case call == 0 || s.Client() != c.Client.Seen() || c.Flags&graph.OnClient != 0:
		return 0, 0, nil
	default:
		call = c.Parent
	}
	c := &r.Calls[call]
	if v = o.Of(c, Accepted); v == nil {
		return 0, 0, nil
	}
	likely, _, _ := v.Accepted(side, c)
	return min(likely, max(0, s.NS)), call, v
}

// accepted is the verdict on a service whose processes took what two crews tell; nil if no number of workers suits them.
func (a *asker) accepted(crews [2]crew) *Verdict {
	all := func(graph.SlotID) bool { return true }
	for _, of := range append([]func(graph.SlotID) bool{all}, a.operations(crews)...) {
		var part [2]crew
		var fits [2]fit
		for i, c := range crews {
			if c != nil {
				part[i] = c.only(of)
				fits[i] = part[i].workers()
			}
		}
		if fits[0].k+fits[1].k > 0 {
			return a.queueWithin(part, fits, of)
		}
	}
	return nil
}

// mostOperations is how many operations of a service are asked about one by one.
const mostOperations = 8

// operations tells the slots of each of a service's operations, those first in which most time is spent.
func (a *asker) operations(crews [2]crew) []func(graph.SlotID) bool {
	time := map[trace.StringID]int64{}
	for _, c := range crews {
		for _, s := range c {
			for i := range s.took {
				time[a.o.dict.SlotAt(s.took[i].slot).Callee.Operation] += s.took[i].Duration()
			}
		}
	}
	if len(time) < 2 {
		return nil
	}
	ops := slices.SortedFunc(maps.Keys(time), func(x, y trace.StringID) int { return cmp.Or(cmp.Compare(time[y], time[x]), cmp.Compare(x, y)) })
	var out []func(graph.SlotID) bool
	for _, op := range ops[:min(len(ops), mostOperations)] {
		out = append(out, func(s graph.SlotID) bool { return a.o.dict.SlotAt(s).Callee.Operation == op })
	}
	return out
}

// queueWithin is the verdict on a queue that was found.
func (a *asker) queueWithin(crews [2]crew, fits [2]fit, of func(graph.SlotID) bool) *Verdict {
	a.v = &Verdict{Key: a.key, Owner: ServerQueue, mine: of}
	a.calls = [2]map[EdgeKey][]Call{{}, {}}
	off := 0.0
	for i := range fits {
		if f := &fits[i]; f.k > 0 {
			off = max(off, min(1, (math.Abs(f.off-f.wake)+f.sure)/f.wait))
			a.v.WakeUp = max(a.v.WakeUp, int64(f.wake))
		}
	}
	for i, c := range crews {
		if a.sets[i] == nil {
			continue
		}
		s := &Side{}
		a.v.Sides[i] = s
		if c == nil {
			continue
		}
		most := c.most()
		s.Limit, s.Shown = fits[i].k, fits[i].k > 0
		if s.Limit == 0 {
			s.Limit = most
			if f := c.suits(fits[1-i].k); most <= f.k || f.holds(true) {
				s.Limit, s.Shown = f.k, f.waits >= minWaits
			}
		}
		s.Plateau = Plateau{Waits: fits[i].waits, K: fits[i].k, Peak: most, Procs: len(c)}
		a.v.accepted[i] = &accepted{c, s.Limit, a.v.WakeUp, off}
		a.calls[i][a.key] = c.calls(s.Limit, a.v.WakeUp)
		a.sums(i, s)
		if p := a.pool(i, ExecutorKind); p != nil && p.Limit.Seconds > 0 && int(p.Limit.P50) == s.Limit {
			s.FromPool, a.v.Resource = true, p.Name
		}
	}
	side := 1
	if fits[1].k == 0 {
		side = 0
	}
	f := &fits[side]
	who, until := prose.Sprintf("%d workers that take requests in the order in which they come keep", f.k), "in all"
	if f.k == 1 {
		who = "one worker that takes requests in the order in which they come keeps"
	}
	if f.calling() {
		until = "to their first call"
	}
	a.v.Tests = append(a.v.Tests, Test{Name: "turns", Says: ServerQueue, Decided: true, Statement: prose.Sprintf(
		"%s %d of them waiting within their spans, %s each on average; without that they take %s %s, where those that find a worker free take %s",
		who, f.waits, prose.Ns(f.wait), prose.Ns(f.own), until, prose.Ns(f.alone))})
	for i := range a.sets {
		if a.v.Sides[i] != nil {
			a.course(i)
		}
	}
	a.model()
	return a.v
}

// sums is the means of the calls of a side.
func (a *asker) sums(i int, s *Side) {
	calls := a.calls[i][a.key]
	s.N = len(calls)
	if s.N == 0 {
		return
	}
	first, last := calls[0].Asked, calls[0].Asked
	for j := range calls {
		c := &calls[j]
		s.Wait += float64(c.Wait)
		s.Hold += float64(c.Served.Duration())
		first, last = min(first, c.Asked), max(last, c.Asked)
	}
	s.Wait, s.Hold = s.Wait/float64(s.N), s.Hold/float64(s.N)
	s.Gap = s.Wait
	if last > first {
		s.PerSecond = float64(s.N) / (float64(last-first) / 1e9)
	}
}

// calls is what a crew of k workers took, one by one.
func (c crew) calls(k int, wake int64) []Call {
	var out []Call
	for _, p := range slices.Sorted(maps.Keys(c)) {
		s := c[p]
		for i := range s.took {
			t := &s.took[i]
			w := s.until(i, k, wake)
			given := t.Start + trace.Time(w)
			out = append(out, Call{Slot: t.slot, Caller: graph.NoProc, Callee: p, Asked: t.Start, Given: given, GivenThere: given, Done: t.End,
				Wait: w, Served: trace.Interval{Start: given, End: t.End}})
		}
	}
	byAsked(out)
	return out
}
