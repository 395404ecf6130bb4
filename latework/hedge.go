package latework

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
)

// A HedgeTable counts logical calls by whether their first attempt was slow, and
// the second, where there was one. Slow is longer than the delay after which the
// second attempt is made.
type HedgeTable struct {
	Calls, FirstSlow float64
	Second, BothSlow float64 // second attempts, and those that were slow too
}

// Rate is second attempts per call.
func (h *HedgeTable) Rate() float64 { return ratio(h.Second, h.Calls) }

// Slow is P(slow) of a first attempt.
func (h *HedgeTable) Slow() float64 { return ratio(h.FirstSlow, h.Calls) }

// Again is P(second slow | first slow). Near Slow, slowness is the attempt's own
// and a second attempt escapes it; near 1 it is the request's or the callee's.
func (h *HedgeTable) Again() float64 { return ratio(h.BothSlow, h.Second) }

// A HedgeVerdict says whether hedging pays.
type HedgeVerdict string

// Verdicts on hedging.
const (
	HedgePays    HedgeVerdict = "it pays: the second attempt is rarely slow where the first is"
	HedgeDoesNot HedgeVerdict = "it does not pay: the second attempt is slow where the first is"
	HedgeOverrun HedgeVerdict = "slowness is bound to load or to the request: far more calls are hedged than the delay should let through"
	HedgeTooFew  HedgeVerdict = "too few calls were hedged to tell"
)

const (
	// minHedges is how many hedged calls are needed for a verdict.
	minHedges = 20
	// againSlow is P(second slow | first slow) from which on hedging buys nothing
	// for its double cost.
	againSlow = 0.5
	// nominalRate is the hedge rate of a delay at the p95, and rateOverrun how far
	// above it a rate must be to say anything: near it proves nothing.
	nominalRate = 0.05
	rateOverrun = 2
)

// NominalHedgeRate is the share of calls that a hedge delay at the p95 lets
// through to a second attempt.
const NominalHedgeRate = nominalRate

// Verdict judges by P(second slow | first slow).
func (h *HedgeTable) Verdict() HedgeVerdict {
	switch {
	case h.Second < minHedges:
		return HedgeTooFew
	case h.Again() >= againSlow:
		return HedgeDoesNot
	case h.Rate() > rateOverrun*nominalRate:
		return HedgeOverrun
	}
	return HedgePays
}

// A HedgeCounter counts the hedged calls of one target.
type HedgeCounter struct {
	first   []Finish // of first attempts
	second  []Finish // of second ones
	answers []Finish // from the first attempt's begin until the first answer
	delays  []int64
	hedged  []float64
	wins    float64

	losers    float64 // with their work seen
	loserWork float64 // their work's time, ns
	allWork   float64
	stops     []int64 // how long losers' work went on after they were cancelled
	stopsW    []float64
}

// Add counts a logical call by its attempts in order of start; answer is the one
// that answered first. shift places an attempt's work half on its client's
// clock.
func (n *HedgeCounter) Add(attempts []*graph.Call, answer int, shift func(i int) int64, w float64) {
	first := attempts[0]
	if f, ok := hedgeFinish(first, shift(0), w); ok {
		n.first = append(n.first, f)
	}
	a := attempts[answer]
	n.answers = append(n.answers, Finish{max(0, int64(a.Outer().End-first.Outer().Start)), a.OuterEnd() == graph.Succeeded, w})
	for i, c := range attempts {
		if !c.Work.Seen() {
			continue
		}
		n.allWork += w * float64(c.Work.Duration())
		if c.Flags&graph.Loser != 0 {
			n.losers += w
			n.loserWork += w * float64(c.Work.Duration())
			if c.ClientEnd.Left() { // else it was not cancelled, and both went on
				n.stops = append(n.stops, max(0, int64(c.Work.End-c.Client.End)+shift(i)))
				n.stopsW = append(n.stopsW, w)
			}
		}
	}
	if len(attempts) < 2 || attempts[1].Flags&graph.Hedge == 0 {
		return
	}
	n.delays = append(n.delays, int64(attempts[1].Outer().Start-first.Outer().Start))
	n.hedged = append(n.hedged, w)
	if answer > 0 {
		n.wins += w
	}
	if f, ok := hedgeFinish(attempts[1], shift(1), w); ok {
		n.second = append(n.second, f)
	}
}

// hedgeFinish is how long an attempt takes: as its client saw it where that waited
// to the end, else by when its work ended.
func hedgeFinish(c *graph.Call, shift int64, w float64) (Finish, bool) {
	if c.ClientEnd == graph.Succeeded {
		return Finish{c.Client.Duration(), true, w}, true
	}
	return FinishOf(c, shift, w)
}

// A Hedged is what hedging does to the calls of one target. Times are in ns; NaN
// where the data do not say.
type Hedged struct {
	HedgeTable
	Delay  float64 // after which the second attempt is made, at the median
	Wins   float64 // second attempts that answered first
	Losers float64 // attempts that did not answer first, whose work was seen
	Load   float64 // share of the callee's work that was done for losers

	// FirstP99 is the p99 of the calls had they not been hedged: of the first
	// attempts, by Kaplan and Meier's method where they were cancelled. P99 is that
	// of the calls as they were.
	FirstP99, P99 float64

	// StopP50 and StopP99 are how long a loser's work goes on after it was
	// cancelled; NaN where none was.
	StopP50, StopP99 float64
}

// Read reads the counts. Of a second attempt that was cancelled early it is
// not known whether it would have been slow: of those, Kaplan and Meier's
// method.
func (n *HedgeCounter) Read() Hedged {
	nan := math.NaN()
	h := Hedged{Delay: nan, Wins: n.wins, Losers: n.losers, Load: nan, FirstP99: nan, P99: nan, StopP50: nan, StopP99: nan}
	for _, f := range n.answers {
		h.Calls += f.Weight
	}
	for _, w := range n.hedged {
		h.Second += w
	}
	if n.allWork > 0 {
		h.Load = n.loserWork / n.allWork
	}
	if len(n.stops) > 0 {
		h.StopP50, h.StopP99 = float64(stats.Quantile(n.stops, n.stopsW, 0.5)), float64(stats.Quantile(n.stops, n.stopsW, 0.99))
	}
	if len(n.delays) == 0 {
		return h
	}
	delay := stats.Quantile(n.delays, n.hedged, 0.5)
	h.Delay = float64(delay)
	alone := NewSweep(n.first)
	h.FirstSlow = h.Calls * alone.survival.At(delay)
	if len(n.second) > 0 {
		h.BothSlow = h.Second * NewSweep(n.second).survival.At(delay)
	}
	if ns, ok := alone.Quantile(0.99); ok {
		h.FirstP99 = float64(ns)
	}
	if ns, ok := NewSweep(n.answers).Quantile(0.99); ok {
		h.P99 = float64(ns)
	}
	return h
}

// Hedges counts the hedged calls of records by target. Only targets that are
// hedged at all are kept.
type Hedges struct {
	Targets map[Target]*HedgeCounter
	Slots   map[Target]graph.SlotID
	chain   []int32
}

// Add counts a record that w has walked. slot is what a call's slot is called
// by.
func (n *Hedges) Add(w *graph.Walker, r *graph.Record, weight float64, slot func(graph.SlotID) graph.SlotID) {
	if n.Targets == nil {
		n.Targets, n.Slots = map[Target]*HedgeCounter{}, map[Target]graph.SlotID{}
	}
	n.chain = Chains(w.Dict, r, n.chain)
	next := Next(n.chain)
	for i := 1; i < len(r.Calls); i++ {
		if !r.Calls[i].Client.Seen() || n.chain[i] >= 0 {
			continue
		}
		list := Logical(next, int32(i))
		attempts := make([]*graph.Call, len(list))
		for k, at := range list {
			attempts[k] = &r.Calls[at]
		}
		s := slot(r.Calls[i].Slot)
		t := TargetOf(w.Dict, s)
		if n.Targets[t] == nil {
			n.Targets[t] = &HedgeCounter{}
			n.Slots[t] = s
		}
		if named, was := w.Dict.SlotAt(s).Callee.Service != 0, w.Dict.SlotAt(n.Slots[t]).Callee.Service != 0; named && !was || named == was && s < n.Slots[t] {
			n.Slots[t] = s
		}
		n.Targets[t].Add(attempts, Answered(attempts), func(k int) int64 {
			if !attempts[k].Paired() {
				return 0
			}
			return w.Shift(list[k], false) - w.Shift(list[k], true)
		}, weight)
	}
}

// Hedged reports whether any call of the target was hedged.
func (n *HedgeCounter) Hedged() bool { return len(n.delays) > 0 }

// Next is the attempts that follow each attempt. to is what Chains gives.
func Next(to []int32) map[int32][]int32 {
	var next map[int32][]int32
	for i, p := range to {
		if p >= 0 {
			if next == nil {
				next = map[int32][]int32{}
			}
			next[p] = append(next[p], int32(i))
		}
	}
	return next
}

// Logical is the attempts of the logical call that begins with one, in order.
func Logical(next map[int32][]int32, first int32) []int32 {
	out := []int32{first}
	for at := 0; at < len(out); at++ {
		out = append(out, next[out[at]]...)
	}
	slices.Sort(out[1:])
	return out
}

// Answered is the attempt that answered first; the last one if none did.
func Answered(attempts []*graph.Call) int {
	best := -1
	for i, c := range attempts {
		if c.OuterEnd() == graph.Succeeded && (best < 0 || c.Outer().End < attempts[best].Outer().End) {
			best = i
		}
	}
	if best >= 0 {
		return best
	}
	return len(attempts) - 1
}
