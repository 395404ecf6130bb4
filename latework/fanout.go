package latework

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/trace"
)

// A Branch is one parallel call of a gather: its slot, and when it ended, in ns
// since the first of the gather began.
type Branch struct {
	Slot graph.SlotID
	NS   int64
}

// A Gather is the parallel calls that one parent waited for.
type Gather struct {
	Branches []Branch
	Begun    int // branches, with those that were cancelled when enough had answered
	Weight   float64
}

// NS is how long the gather took: its slowest branch.
func (g *Gather) NS() int64 {
	var ns int64
	for _, b := range g.Branches {
		ns = max(ns, b.NS)
	}
	return ns
}

// Gathers finds the largest set of overlapping calls that each call of a record
// waits for, by the slot of the caller. A call that was tried again is one branch,
// from its first attempt until it was answered. What nobody waits for is none.
func Gathers(d *graph.Dict, r *graph.Record, v *graph.Verdicts, weight float64, slot func(graph.SlotID) graph.SlotID, to map[graph.SlotID][]Gather) {
	type branch struct {
		trace.Interval
		call int32
	}
	var kids []branch
	var next map[int32][]int32
	var chain []int32
	for p := range r.Calls {
		if r.Calls[p].Len <= 2 {
			continue
		}
		if chain == nil {
			chain = Chains(d, r, nil)
			next = Next(chain)
		}
		kids = kids[:0]
		lost := 0
		for i := int32(p) + 1; i < int32(p)+r.Calls[p].Len; i += r.Calls[i].Len {
			c := &r.Calls[i]
			if chain[i] >= 0 || c.Flags&(graph.Async|graph.WaitSpan) != 0 || v.WaitedFor(c.Slot).Verdict == graph.Asynchronous {
				continue
			}
			b := branch{c.Outer().Interval, i}
			if len(next[i]) > 0 {
				list := Logical(next, i)
				attempts := make([]*graph.Call, len(list))
				for k, at := range list {
					attempts[k] = &r.Calls[at]
				}
				b.End = attempts[Answered(attempts)].Outer().End
			} else if c.Flags&graph.Loser != 0 {
				lost++
				continue
			}
			kids = append(kids, b)
		}
		if len(kids) < 2 {
			continue
		}
		slices.SortFunc(kids, func(a, b branch) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.call, b.call))
		})
		from, best, bestTo := 0, 0, 0
		end := kids[0].End
		for i := 1; i <= len(kids); i++ {
			if i < len(kids) && kids[i].Start < end {
				end = max(end, kids[i].End)
				continue
			}
			if i-from > bestTo-best {
				best, bestTo = from, i
			}
			if i < len(kids) {
				from, end = i, kids[i].End
			}
		}
		if bestTo-best < 2 {
			continue
		}
		g := Gather{Weight: weight, Begun: bestTo - best + lost}
		for _, b := range kids[best:bestTo] {
			g.Branches = append(g.Branches, Branch{slot(r.Calls[b.call].Slot), int64(b.End - kids[best].Start)})
		}
		parent := slot(r.Calls[p].Slot)
		to[parent] = append(to[parent], g)
	}
}

// A FanOut is what gathers of one parent say of their branches.
type FanOut struct {
	Branches    float64 // per gather, on average
	Begun       float64 // with those that were cancelled when enough had answered
	Slots       []SlotOdds
	Independent float64 // P(any slow) if the branches were independent
	Observed    float64
	Effective   float64 // independent branches that would give Observed; NaN if none or all are slow
	Threshold   int64
}

// A SlotOdds is the branches of one slot.
type SlotOdds struct {
	Slot  graph.SlotID
	Calls float64 // per gather
	Slow  float64 // P(slow) of one
	Last  float64 // share of the gathers that it ends last
}

// SlowShare is the share of gathers that Threshold calls slow.
const SlowShare = 0.1

// Threshold is the time that one gather in ten exceeds.
func Threshold(g []Gather) int64 {
	ns, w := make([]int64, len(g)), make([]float64, len(g))
	for i := range g {
		ns[i], w[i] = g[i].NS(), g[i].Weight
	}
	return stats.Quantile(ns, w, 1-SlowShare)
}

// Judge reads gathers: a branch is slow if it ends later than threshold.
func Judge(gathers []Gather, threshold int64) FanOut {
	f := FanOut{Threshold: threshold}
	at := map[graph.SlotID]int{}
	var total, branches, slow, observed float64
	for i := range gathers {
		g := &gathers[i]
		total += g.Weight
		f.Begun += g.Weight * float64(max(g.Begun, len(g.Branches)))
		last, hit := 0, false
		for k, b := range g.Branches {
			n, ok := at[b.Slot]
			if !ok {
				n = len(f.Slots)
				at[b.Slot] = n
				f.Slots = append(f.Slots, SlotOdds{Slot: b.Slot})
			}
			f.Slots[n].Calls += g.Weight
			branches += g.Weight
			if b.NS > threshold {
				f.Slots[n].Slow += g.Weight
				slow += g.Weight
				hit = true
			}
			if b.NS > g.Branches[last].NS {
				last = k
			}
		}
		f.Slots[at[g.Branches[last].Slot]].Last += g.Weight
		if hit {
			observed += g.Weight
		}
	}
	if total == 0 {
		return f
	}
	var none []float64
	for i := range f.Slots {
		s := &f.Slots[i]
		s.Slow /= s.Calls
		s.Calls /= total
		s.Last /= total
		none = append(none, Repeated(s.Slow, s.Calls)...)
	}
	slices.SortFunc(f.Slots, func(a, b SlotOdds) int { return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(a.Slot, b.Slot)) })
	f.Begun /= total
	f.Branches, f.Observed, f.Independent = branches/total, observed/total, AnySlow(none)
	f.Effective = EffectiveWidth(f.Observed, slow/branches)
	if math.IsInf(f.Effective, 0) {
		f.Effective = math.NaN()
	}
	return f
}
