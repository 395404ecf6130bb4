package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// steeper is the part by which a peer must lengthen own work more than before, and steeperZ how many standard
	// errors that must be above nothing: an endpoint has a few dozen kinds of work that are looked at. From doubtZ on it
	// may be so, and of work that is longer it is likelier than that nobody beside it lengthens it.
	steeper  = 0.1
	steeperZ = 3
	doubtZ   = 2
	// minPeered is the least number of calls with more peers than the average that tell of a slope.
	minPeered = 10
	// slopeSpells is about how many stretches of time a side's calls are cut into: one of them is mixed where things
	// changed while it was observed.
	slopeSpells = 20
)

// A slope is by which part of it one more peer lengthens a call's own work.
//
// It is of the logarithm: work that takes f times as long at every number of peers has the slope that it had, and work
// that takes so much longer at every number a smaller one. A core or a lock that is shared by more has a greater one,
// also where, as with less than one core, work is slower alone. Of sampled requests, whose known peers are a
// draw of those there were, the slope is about the same; what "alone" is they cannot tell.
type slope struct {
	at, se float64
	n      int // calls
}

// slopes is that of a node's calls before and now, at the numbers of peers that both have seen: of queueing the slope
// grows with the load. It compares calls within a process and a stretch of its time: a process that is slow is crowded as
// well, and so is it from when on it became slow.
func (a *Asking) slopes(slot graph.SlotID) (was, is slope, ok bool) {
	was, is, ok0, ok1 := a.bothSlopes(slot)
	return was, is, ok0 && ok1
}

func (a *Asking) bothSlopes(slot graph.SlotID) (was, is slope, ok0, ok1 bool) {
	most := math.Inf(1)
	for side := range a.Sides {
		top := 0.0
		for _, o := range a.ownCalls(side) {
			if o.slot == slot {
				top = max(top, o.peers)
			}
		}
		most = min(most, top)
	}
	was, ok0 = a.slope(summary.Baseline, slot, most)
	is, ok1 = a.slope(summary.Current, slot, most)
	return was, is, ok0, ok1
}

// A bound says what is known of whether others at work in the process lengthen a node's work more than they did.
type bound struct {
	most    float64 // that they lengthen it by at the most: infinite where too few calls with others are known
	known   float64 // the share of all requests that are known
	peered  int     // known calls that had others beside them
	n       int     // of so many
	outcome string
}

// crowding is what is known of a node's work.
func (a *Asking) crowding(slot graph.SlotID) bound {
	b := bound{most: math.Inf(1), known: a.known(summary.Current)}
	for _, o := range a.ownCalls(summary.Current) {
		if o.slot == slot {
			b.n++
			if o.peers > 0 {
				b.peered++
			}
		}
	}
	was, is, ok0, ok1 := a.bothSlopes(slot)
	switch {
	case ok1 && !ok0:
		was = slope{se: math.Inf(1)}
		fallthrough
	case ok1:
		b.most = max(is.most(was), 0)
		b.outcome = prose.Sprintf("each other at work in the process adds %.2g %% to it, at most %.2g %% more than before", 100*is.at, 100*b.most)
	case b.known >= allKnown && b.peered < minPeered:
		b.most = 0
		b.outcome = prose.Sprintf("%d of %d calls had another beside them in the process", b.peered, b.n)
	default:
		b.outcome = prose.Sprintf("%d of %d calls are known to have had another beside them, and %.2g %% of the requests are known", b.peered, b.n, 100*b.known)
	}
	return b
}

// allKnown is the share of the requests of which hardly another at work is missing.
const allKnown = 0.9

// known is the share of a side's requests that were kept.
func (a *Asking) known(side int) float64 {
	var n, w float64
	for _, r := range a.Sides[side].Set.Records {
		n, w = n+1, w+float64(r.Weight)/graph.OneRequest
	}
	if w == 0 {
		return 1
	}
	return min(1, n/w)
}

// slope is that of one side; not ok of too few calls, or too few among peers.
func (a *Asking) slope(side int, slot graph.SlotID, most float64) (slope, bool) {
	type point struct {
		proc  graph.ProcID
		start trace.Time
		k, y  float64
		n     float64 // calls of its stretch
	}
	var points []point
	for _, o := range a.ownCalls(side) {
		if o.slot == slot && o.ns > 0 && o.peers <= most {
			points = append(points, point{proc: o.proc, start: o.start, k: o.peers, y: math.Log(float64(o.ns))})
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.proc, b.proc), cmp.Compare(a.start, b.start), cmp.Compare(a.k, b.k), cmp.Compare(a.y, b.y))
	})
	var kk, ky float64
	peered := 0
	for i := 0; i < len(points); {
		end := i
		for end < len(points) && points[end].proc == points[i].proc {
			end++
		}
		n := min(end-i, max(minCrowd, len(points)/slopeSpells))
		if end-i < 2*n {
			n = end - i // the rest is no stretch of its own
		}
		part := points[i : i+n]
		var k, y float64
		for _, p := range part {
			k, y = k+p.k/float64(n), y+p.y/float64(n)
		}
		for j := range part {
			p := &part[j]
			p.k, p.y, p.n = p.k-k, p.y-y, float64(n)
			kk, ky = kk+p.k*p.k, ky+p.k*p.y
			if p.k > 0 {
				peered++
			}
		}
		i += n
	}
	if len(points) < 2*minCrowd || peered < minPeered || kk <= 0 {
		return slope{}, false
	}
	s := slope{at: ky / kk, n: len(points)}
	var v float64
	for i := range points {
		p := &points[i]
		// As if the call had been left out: the slope of few crowded calls hangs on each of them.
		e := p.k * (p.y - s.at*p.k) / max(1-p.k*p.k/kk-1/p.n, 1e-9)
		v += e * e
	}
	s.se = math.Sqrt(v) / kk
	return s, true
}

// surely is how many standard errors a slope must stay below a bound by to be below it: one-sided, 95 %.
const surely = 1.645

// most is the most by which the slope has grown: the increase's upper bound, or, as nobody's work is made shorter by others
// beside it, the slope's own where that of before is known less well.
func (s slope) most(was slope) float64 {
	return min(s.at+surely*s.se, s.at-was.at+surely*math.Hypot(s.se, was.se))
}

// above is by how many standard errors the slope is greater than it was; zero where it is not by enough to matter. A slope
// below nothing is error: nobody's work is made shorter by others beside it.
func (s slope) above(was slope) float64 {
	d := s.at - max(was.at, 0)
	if !(d >= steeper) {
		return 0
	}
	return d / math.Hypot(s.se, was.se)
}

func steeperThan(was, is slope) string {
	return prose.Sprintf("each other at work in the process adds %.2g %% to it where it added %.2g %%: %.2g standard errors more", 100*is.at, 100*was.at, is.above(was))
}
