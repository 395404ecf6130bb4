package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/stats"
)

const (
	// unsaid is the part of the change that findings must leave for others to be asked what they explain together.
	unsaid = 0.25
	// mostTogether is of how many the shares are taken: each set of them is a replay.
	mostTogether = 5
)

// together finds causes of which none explains enough alone, since those requests that another makes slow take the places of
// those that it made slow: two that each hold up one request in twenty hold up the slowest hundredth, and with either gone the
// other still does. What they explain put back together, beside what was found, is split among them as fairly as can be.
func (a *Asking) together(found []Finding, asked []*Finding, change, target float64) []Finding {
	if len(asked) == 0 {
		return nil
	}
	rest := change - a.takes(found, nil)
	if !a.worth(rest, change) || rest < unsaid*math.Abs(change) {
		return nil
	}
	slow := a.slowest()
	type part struct {
		f    *Finding
		tail float64 // what it takes off the slowest requests, on average
	}
	var parts []part
	for _, f := range asked {
		if f.Plans != nil || f.own && sharesWork(f, found, parts, func(p part) *Finding { return p.f }) {
			continue
		}
		out := a.put(f)
		tail := 0.0
		for _, j := range slow {
			tail += float64(a.latency[j]-out[j]) / float64(len(slow))
		}
		if a.worth(tail, change) {
			parts = append(parts, part{f, tail})
		}
	}
	slices.SortStableFunc(parts, func(x, y part) int { return cmp.Compare(y.tail, x.tail) })
	parts = parts[:min(len(parts), mostTogether)]
	if len(parts) < 1 {
		return nil
	}
	some := make([]*Finding, 0, len(parts))
	of := func(set uint) []*Finding {
		some = some[:0]
		for i := range parts {
			if set&(1<<i) != 0 {
				some = append(some, parts[i].f)
			}
		}
		return some
	}
	all := uint(1)<<len(parts) - 1
	if !a.worth(a.takes(found, of(all))-(change-rest), change) {
		return nil
	}
	shares := stats.Shapley(len(parts), func(set uint) float64 { return a.takes(found, of(set)) })
	sum := 0.0
	for _, x := range shares {
		sum += max(x, 0)
	}
	whole := a.replay(factors(found, of(all))...)
	_, lo, hi := a.effect(whole, a.weights, a.weights)
	at := Effect{change - rest + sum, lo, hi}
	var out []Finding
	for i, p := range parts {
		if !a.worth(shares[i], change) {
			continue
		}
		f := *p.f
		alone, part := f.Explains, shares[i]/at.NS
		f.Explains, f.Lo, f.Hi = shares[i], part*at.Lo, part*at.Hi
		if target == a.Options.Quantile {
			f.Target = Effect{f.Explains, f.Lo, f.Hi}
		} else {
			ns, lo, hi := a.effectAt(target, whole, a.weights, a.weights)
			f.Target = Effect{part * ns, part * lo, part * hi}
		}
		f.Evidence = append(f.Evidence, says("spans", len(a.latency), "put back alone it takes %s off: requests that are slow for another reason take the places of its own; what both take off together is split between them", prose.Ns(alone)))
		out = append(out, f)
	}
	return out
}

// sharesWork reports whether a finding about a node's own work is about that of another one.
func sharesWork[P any](f *Finding, found []Finding, parts []P, of func(P) *Finding) bool {
	same := func(g *Finding) bool { return g.own && g.node == f.node }
	return slices.ContainsFunc(found, func(g Finding) bool { return same(&g) }) || slices.ContainsFunc(parts, func(p P) bool { return same(of(p)) })
}

// takes is how much of the quantile findings take off, put back in one replay.
func (a *Asking) takes(found []Finding, more []*Finding) float64 {
	return a.quantile(a.latency, a.weights) - a.quantile(a.replay(factors(found, more)...), a.weights)
}

// factors is what puts findings back in one replay of the requests' own plans.
func factors(found []Finding, more []*Finding) []Factor {
	var out []Factor
	for _, f := range once(found, more) {
		if f.Plans == nil {
			out = append(out, f.Factor)
		}
	}
	return out
}

// once is the findings that are put back together: own work goes back once, whatever made it longer.
func once(found []Finding, more []*Finding) []*Finding {
	var out []*Finding
	own := map[graph.SlotID]bool{}
	add := func(f *Finding) {
		if f.own && own[f.node] {
			return
		}
		own[f.node] = own[f.node] || f.own
		out = append(out, f)
	}
	for i := range found {
		add(&found[i])
	}
	for _, f := range more {
		add(f)
	}
	return out
}

// slowest is the current requests from the quantile on.
func (a *Asking) slowest() []int32 {
	from := a.quantile(a.latency, a.weights)
	if a.ranked == nil {
		a.ranked = ranked(a.latency)
	}
	k := len(a.ranked)
	for k > 0 && float64(a.latency[a.ranked[k-1]]) >= from {
		k--
	}
	return a.ranked[k:]
}
