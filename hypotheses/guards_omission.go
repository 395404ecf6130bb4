package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

// An interval of one request's stay.
type stay struct{ from, to int64 }

// stays are the requests that were offered, by their start.
func stays(s *Side) []stay {
	var out []stay
	for _, q := range s.All {
		if q.Standing != graph.Counted {
			continue
		}
		v := q.Calls[0].Outer()
		out = append(out, stay{int64(v.Start), int64(v.End)})
	}
	slices.SortFunc(out, func(a, b stay) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return out
}

// A pressure is how fast requests arrive while few, and while many, are there.
type pressure struct {
	few, many   float64 // arrivals per second
	fewN, manyN int
	at          int     // many: at least so many in flight
	most        int     // in flight
	atMost      float64 // share of the time
	perSecond   float64
	mean        float64 // latency, ns
}

// pressureOf counts arrivals by the number that are there already. Where the load
// does not care (it is open), that makes no difference, or more arrive when many
// are there, since many arriving is why they are. Clients that wait for their
// answers arrive the less the more of them wait.
func pressureOf(list []stay) (p pressure) {
	if len(list) < 2 {
		return p
	}
	type event struct {
		at    int64
		start bool
	}
	events := make([]event, 0, 2*len(list))
	var busy float64
	for _, s := range list {
		events = append(events, event{s.from, true}, event{max(s.to, s.from), false})
		p.mean += float64(s.to - s.from)
	}
	p.mean /= float64(len(list))
	slices.SortFunc(events, func(a, b event) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		return cmp.Compare(boolRank(a.start), boolRank(b.start)) // who leaves makes room for who comes
	})
	var time []float64
	var starts []int
	n, last := 0, events[0].at
	for _, e := range events {
		for len(time) <= n {
			time, starts = append(time, 0), append(starts, 0)
		}
		time[n] += float64(e.at-last) / 1e9
		last = e.at
		if e.start {
			starts[n]++
			n++
		} else {
			n = max(0, n-1)
		}
	}
	var span float64
	for k, t := range time {
		span += t
		busy += t * float64(k)
	}
	if span == 0 {
		return p
	}
	p.perSecond = float64(len(list)) / span
	p.most = len(time) - 1
	if len(starts) > 0 && p.most > 0 && time[p.most] == 0 {
		p.most--
	}
	p.atMost = time[p.most] / span
	// Many: the upper half of the time.
	var below float64
	for p.at = 0; p.at < len(time) && below+time[p.at] <= span/2; p.at++ {
		below += time[p.at]
	}
	p.at = max(1, p.at)
	var few, many float64
	for k := range time {
		if k < p.at {
			few, p.fewN = few+time[k], p.fewN+starts[k]
		} else {
			many, p.manyN = many+time[k], p.manyN+starts[k]
		}
	}
	if few > 0 && many > 0 {
		p.few, p.many = float64(p.fewN)/few, float64(p.manyN)/many
	}
	return p
}

const (
	// closedRatio is how much fewer must arrive while many are there for the load
	// to be called one that waits for its answers. Of w clients that wait, and
	// think for as long as they wait, half as many come while half of them wait.
	closedRatio = 0.75
	// minClosed is the number of arrivals on each side of that comparison.
	minClosed = 30
)

// closed reports whether arrivals thin out while requests are there, beyond chance.
// Those that come at a steady pace do, too: who just came is there, and the next is
// not due yet; see waitedFor.
func (p *pressure) closed() bool {
	if p.fewN < minClosed || p.manyN < 5 || p.few == 0 || p.many >= closedRatio*p.few {
		return false
	}
	// Poisson counts: many·T expected under the rate of few.
	expected := p.few * float64(p.manyN) / max(p.many, 1e-9)
	z := (expected - float64(p.manyN)) / math.Sqrt(expected*(1+expected/float64(p.fewN)))
	return z > 4
}

const (
	// nearby is how many requests before and after one its stay is held against.
	nearby = 8
	// stayBlock is how many stays in a row are one observation: neighbours count
	// many of the same arrivals.
	stayBlock = 20
	// waitedSure is by how many standard errors fewer must come during long stays
	// for a load to wait, and waitedLikely for it to be like one that does.
	waitedSure, waitedLikely = 3, 1
)

// waitedFor is by how many standard errors fewer requests begin during a long
// request than within as long a time from the beginning of those around it. To a
// load that comes by itself, at any pace, the length of a request makes no
// difference; a client that waits for it does not ask again meanwhile. The list is
// sorted by start.
func waitedFor(list []stay) float64 {
	starts := make([]int64, len(list))
	lengths := make([]int64, len(list))
	for i, s := range list {
		starts[i], lengths[i] = s.from, s.to-s.from
	}
	slices.Sort(lengths)
	median := lengths[len(lengths)/2]
	// after is how many begin within a time after one began.
	after := func(i int, time int64) float64 {
		from, _ := slices.BinarySearch(starts, starts[i]+1)
		to, _ := slices.BinarySearch(starts, starts[i]+time+1)
		return float64(to - from)
	}
	var fewer []float64 // by stayBlock long stays
	sum, n := 0.0, 0
	for i, s := range list {
		length := s.to - s.from
		if length < median || i < nearby || i+nearby >= len(list) || starts[i+nearby]+length > starts[len(list)-1] {
			continue
		}
		others := 0.0
		for k := 1; k <= nearby; k++ {
			others += after(i-k, length) + after(i+k, length)
		}
		sum += others/(2*nearby) - after(i, length)
		if n++; n == stayBlock {
			fewer = append(fewer, sum)
			sum, n = 0, 0
		}
	}
	if len(fewer) < 2 {
		return 0
	}
	mean, squares := 0.0, 0.0
	for _, x := range fewer {
		mean += x / float64(len(fewer))
	}
	for _, x := range fewer {
		squares += (x - mean) * (x - mean)
	}
	k := float64(len(fewer))
	if squares == 0 {
		return 0
	}
	return mean / math.Sqrt(squares/(k-1)/k)
}

// omissionGuard: does the load slow down with the system? Then the slow moments
// are asked about less often, and every percentile is too good.
func (c *Comparison) omissionGuard() Guard {
	if c.Endpoint.Inner {
		return guard(GuardOmission, GuardOK, "not asked of inner endpoints: their callers wait for them by design")
	}
	var p [2]pressure
	var waited [2]float64
	for i, s := range c.Sides {
		list := stays(s)
		p[i] = pressureOf(list)
		if p[i].closed() {
			waited[i] = waitedFor(list)
		}
	}
	base, cur := &p[summary.Baseline], &p[summary.Current]
	// That one side waits and the other does not needs both to be sure.
	b, k := waited[summary.Baseline] > waitedSure, waited[summary.Current] > waitedSure
	if b != k && min(waited[0], waited[1]) > waitedLikely {
		b, k = true, true
	}
	say := func(x *pressure) string {
		return prose.Sprintf("%.3g arrive per second while fewer than %d are there and %.3g while more are", x.few, x.at, x.many)
	}
	switch {
	case b && k:
		return guard(GuardOmission, GuardWarn, "the load of both sides waits for its answers: in the current one %s; the slow moments are asked about too seldom on both", say(cur))
	case !b && !k:
		if cur.few == 0 {
			return guard(GuardOmission, GuardOK, "too few requests overlap to tell whether arrivals wait for answers")
		}
		if cur.closed() {
			return guard(GuardOmission, GuardOK, "requests come at a pace that their length makes no difference to, %.3g per second", cur.perSecond)
		}
		return guard(GuardOmission, GuardOK, "arrivals do not thin out while requests are there: %.3g and %.3g per second", cur.few, cur.many)
	}
	side, x := "current", cur
	if b {
		side, x = "baseline", base
	}
	g := guard(GuardOmission, GuardFail, "the %s load waits for its answers: %s; %.3g requests per second against %.3g of the baseline, at a mean of %s against %s",
		side, say(x), cur.perSecond, base.perSecond, prose.Ns(cur.mean), prose.Ns(base.mean))
	g.Incomparable = true
	g.check = Check{Question: "does the arrival rate fall while many requests are there?", Rival: "a change of the latency under the same load",
		IfThis: "yes: clients wait for their answers before they ask again", IfRival: "no: users come whether others wait or not", Ran: true, Outcome: say(x)}
	return g
}
