package queuewait

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/trace"
)

// Inside a client span whose callee has no span of its own, a wait for a connection of the caller looks like work of the
// callee. The pool's metrics alone tell them apart. They say how many places there are, or how long calls waited on
// average, and the spans how long each took in all. Places that are given in the order in which calls ask leave no
// choice: of k places the one for call i is free when i − k calls have ended, however long any of them held its own.

// An inside is the waits of one side's calls within their client spans.
type inside struct {
	lines  map[graph.ProcID]*line // nil: only the mean is known
	places int

	// beyond is what a call takes without a wait, at most, where only the mean wait is known: the longest calls are those
	// that waited, as far as their lengths beyond it add up to it.
	beyond int64

	lo, hi float64 // what the mean may be, as parts of the likely one
}

// wait is how long a call waited for one of k places. It is longer than the call where places were given in another
// order, or were more.
func (l *line) wait(k int, v trace.Interval) int64 {
	i, _ := slices.BinarySearchFunc(l.calls, v, inOrder)
	if i < k {
		return 0
	}
	return max(0, int64(l.ends[i-k]-v.Start))
}

// Inside is how long a call of a side waited within its client span, likely, and at least and at most as far as the mean
// is known.
func (v *Verdict) Inside(side int, c *graph.Call) (likely, least, most int64) {
	if v == nil || v.inside[side] == nil || c.Work.Seen() || c.ClientEnd.Left() {
		return 0, 0, 0
	}
	x, whole := v.inside[side], c.Client.Duration()
	likely = min(x.of(c.Client.Proc, c.Client.Interval), whole)
	return likely, int64(x.lo * float64(likely)), min(whole, int64(x.hi*float64(likely)))
}

func (x *inside) of(p graph.ProcID, v trace.Interval) int64 {
	if x.lines == nil {
		return max(0, v.Duration()-x.beyond)
	}
	if l := x.lines[p]; l != nil {
		return l.wait(x.places, v)
	}
	return 0
}

// MeanOnly reports whether waits within client spans are known in the mean only, not of each call.
func (v *Verdict) MeanOnly() bool {
	return slices.ContainsFunc(v.inside[:], func(x *inside) bool { return x != nil && x.lines == nil })
}

// linesOf is the calls of the slots of an edge's calls at each process, with those that were left: they had places, too.
func (a *asker) linesOf(side int) map[graph.ProcID]*line {
	mine := map[graph.SlotID]bool{}
	for i := range a.calls[side][a.key] {
		mine[a.calls[side][a.key][i].Slot] = true
	}
	lines := map[graph.ProcID]*line{}
	list := a.sets[side].Queues.events.list
	for i := range list {
		x := &list[i]
		if !mine[x.Slot] {
			continue
		}
		l := lines[x.Caller]
		if l == nil {
			l = &line{}
			lines[x.Caller] = l
		}
		l.calls, l.ends = append(l.calls, x.Client), append(l.ends, x.Client.End)
	}
	for _, l := range lines {
		slices.SortFunc(l.calls, inOrder)
		slices.Sort(l.ends)
	}
	return lines
}

const (
	// maxOutOfOrder is the share of the calls that may seem to get a place after they have ended, for the clock's ticks.
	maxOutOfOrder = 0.02
	// smallMisfit is a difference of mean waits, in ns, that says nothing.
	smallMisfit = 200_000
	// minInside is the least mean wait, in ns, and minPart the least part of a client span, that is called a wait.
	minInside = 100_000
	minPart   = 0.05
)

// within asks the pool's metrics how long calls waited in their client spans. It is false of an edge that no pool's
// metrics belong to.
func (a *asker) within() bool {
	var says [2]poolSays
	var lengths [2]float64
	known := false
	for i := range a.sets {
		if a.v.Sides[i] == nil || a.v.Sides[i].N == 0 {
			continue
		}
		says[i] = a.poolSays(i, a.v.Sides[i])
		lengths[i] = a.v.Sides[i].Hold
		known = known || says[i].view != nil
	}
	if !known {
		return false
	}
	exact, mean, before := true, true, false
	var in [2]*inside
	var again, left [2]float64 // waits by turns, and by the metrics without those before the client spans
	for i, s := range a.v.Sides {
		if s == nil || s.N == 0 {
			continue
		}
		x := &says[i]
		if x.places == 0 {
			x.places = says[1-i].places // of a side whose metrics are silent
		}
		in[i], again[i] = a.inLine(i, x.places)
		left[i] = x.wait - a.leadWait(i) // one wait is counted once
		before = before || left[i] < x.wait && left[i] <= maxMisfit*x.wait
		exact = exact && in[i] != nil && (math.IsNaN(left[i]) || math.Abs(again[i]-left[i]) <= max(maxMisfit*left[i], smallMisfit))
		// Calls last as long as the pool says that they wait and hold, not only as they hold.
		mean = mean && (left[i] < max(minInside, minPart*lengths[i]) || math.Abs(lengths[i]-x.hold-left[i]) < math.Abs(lengths[i]-x.hold))
	}
	exact, mean = exact && !before, mean && !before
	if !exact && mean {
		for i, s := range a.v.Sides {
			if s != nil && s.N > 0 {
				in[i] = a.longest(i, max(0, left[i]))
			}
		}
	}
	side := a.worseOf(says, again, exact)
	x, s := &says[side], a.v.Sides[side]
	about := a.about(x)
	switch {
	case !exact && !mean:
		why := "nothing says how long its calls wait or hold a connection"
		switch {
		case in[side] != nil && !math.IsNaN(x.wait):
			why = prose.Sprintf("its places given in turn would let calls wait %s within their client spans", prose.Ns(again[side]))
		case before:
			why = prose.Sprintf("calls wait %s before their client spans, so that its waits do not lie in them", prose.Ns(a.leadWait(side)))
		case !math.IsNaN(x.wait + x.hold):
			why = prose.Sprintf("it holds each for %s and the client spans last %s, so that its waits do not lie in them", prose.Ns(x.hold), prose.Ns(lengths[side]))
		}
		a.say("metrics", "", "%s; %s: not told from the callee's work", about, why)
		return true
	case exact:
		for i := range in {
			if in[i] == nil || again[i] == 0 {
				continue
			}
			// Two accounts of one thing are off by about as much as they differ; one alone is by what they may.
			off := maxMisfit / 2
			if !math.IsNaN(left[i]) {
				off = 2 * math.Abs(left[i]/again[i]-1)
			}
			in[i].lo, in[i].hi = max(0, 1-off), 1+off
		}
	}
	a.v.inside = in
	for i, s := range a.v.Sides {
		if s == nil || in[i] == nil {
			continue
		}
		s.Wait, s.Gap = 0, 0
		calls := a.calls[i][a.key]
		for j := range calls {
			c := &calls[j]
			c.Wait = min(in[i].of(c.Caller, trace.Interval{Start: c.Asked, End: c.Done}), int64(c.Done-c.Asked))
			c.Given = c.Asked + trace.Time(c.Wait)
			s.Wait += float64(c.Wait) / float64(len(calls))
		}
		s.Gap, s.Hold = s.Wait, lengths[i]-s.Wait
		s.Pool = says[i].view
		if says[i].places > 0 {
			s.Limit, s.FromPool = says[i].places, says[i].view != nil
		}
	}
	if s.Wait < max(minInside, minPart*lengths[side]) {
		a.v.inside = [2]*inside{}
		a.say("metrics", Own, "%s: client spans last %s on average, of which %s are a wait for a connection", about, prose.Ns(lengths[side]), prose.Ns(s.Wait))
		return true
	}
	a.v.Resource = x.view.Name
	how := "taken off the longest, for which of them waited is not known"
	if exact {
		how = prose.Sprintf("by its %d places, given in the order in which calls ask", x.places)
	}
	a.say("metrics", ClientWait, "%s: of the %s that client spans last on average %s are a wait for a connection, %s", about, prose.Ns(lengths[side]), prose.Ns(s.Wait), how)
	return true
}

// leadWait is the mean time for which the calls of an edge waited for a connection before their client spans.
func (a *asker) leadWait(side int) float64 {
	v := a.o.edges[EdgeKey{a.key.Caller, a.key.Target, Lead}]
	if v == nil || v.Owner != ClientWait || v.Sides[side] == nil {
		return 0
	}
	return v.Sides[side].Wait
}

// worseOf is the side on which calls waited more in all, by their places or by the metrics.
func (a *asker) worseOf(says [2]poolSays, again [2]float64, exact bool) int {
	worst, most := 1, 0.0
	for i, s := range a.v.Sides {
		if s == nil || s.N == 0 || says[i].view == nil {
			continue
		}
		wait := again[i]
		if !exact && !math.IsNaN(says[i].wait) {
			wait = says[i].wait
		}
		if total := wait * float64(s.N); total >= most {
			worst, most = i, total
		}
	}
	return worst
}

// inLine gives the calls of a side their places in turn. It is nil where not all calls are known, and where some would
// have got theirs after they had ended.
func (a *asker) inLine(side, places int) (*inside, float64) {
	d := a.sets[side]
	if places == 0 || d.Sampled || d.Queues.Share() < 1 {
		return nil, 0
	}
	x := &inside{lines: a.linesOf(side), places: places, lo: 1, hi: 1}
	var sum float64
	late, n := 0, 0
	for _, c := range a.calls[side][a.key] {
		v := trace.Interval{Start: c.Asked, End: c.Done}
		wait := x.of(c.Caller, v)
		if wait > v.Duration() {
			late++
		}
		sum += float64(min(wait, v.Duration()))
		n++
	}
	if float64(late) > maxOutOfOrder*float64(n) {
		return nil, 0
	}
	return x, sum / float64(n)
}

// longest takes a mean wait off the longest calls of a side.
func (a *asker) longest(side int, wait float64) *inside {
	calls := a.calls[side][a.key]
	lengths := make([]int64, len(calls))
	var sum, squares float64
	for i := range calls {
		lengths[i] = int64(calls[i].Done - calls[i].Asked)
		sum += float64(lengths[i])
		squares += float64(lengths[i]) * float64(lengths[i])
	}
	slices.Sort(lengths)
	left := wait * float64(len(lengths))
	x := &inside{beyond: math.MaxInt64, lo: 1, hi: 1}
	if !(left > 0) {
		return x
	}
	// The pool counts all calls, and these are some of them.
	off := maxMisfit + 2*math.Sqrt(max(0, squares-sum*sum/float64(len(calls))))/left
	x.lo, x.hi = max(0, 1-off), 1+off
	// Of the longest, the lengths beyond the next add up to no more than all waits together.
	for n := len(lengths); n > 0; n-- {
		longer, next := float64(len(lengths)-n+1), int64(0)
		if n > 1 {
			next = lengths[n-2]
		}
		step := float64(lengths[n-1]-next) * longer
		if step >= left {
			x.beyond = lengths[n-1] - int64(left/longer)
			return x
		}
		left -= step
	}
	return x
}
