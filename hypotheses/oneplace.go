package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

// alikeLonger is how much less, by the logarithm, one operation of a callee may have become longer than another and both be
// for what slows the callee.
const alikeLonger = 0.5

// ofOnePlace joins the longer work of several operations of one callee, or of one operation at several places of a request,
// where all of them take longer alike: what slows a callee is one cause, of which each call of a request explains a part.
// The operation that explains most names it.
func (a *Asking) ofOnePlace(asked []*Finding, explain func(*Finding)) []*Finding {
	type place struct{ service, peer string }
	members := map[place][]*Finding{}
	other := map[graph.SlotID]bool{} // nodes that something else is said of
	for _, f := range asked {
		if f.own && f.Kind != "service-time" {
			other[f.node] = true
		}
	}
	for _, f := range asked {
		if f.Kind == "service-time" && f.own && f.part == graph.NoSlot && f.places == nil && f.Below == nil && !f.unseen && !other[f.node] && f.Explains > 0 && f.Plans == nil {
			k := place{f.Service, f.Peer}
			members[k] = append(members[k], f)
		}
	}
	for _, f := range slices.Clone(asked) {
		k := place{f.Service, f.Peer}
		list := members[k]
		if len(list) < 2 || !slices.Contains(list, f) {
			continue
		}
		delete(members, k)
		lead := slices.MaxFunc(list, func(x, y *Finding) int { return cmp.Compare(x.Explains, y.Explains) })
		list = slices.DeleteFunc(slices.Clone(list), func(m *Finding) bool { return !a.longerAlike(lead, m) })
		if len(list) < 2 {
			continue
		}
		one := a.joined(lead, list)
		if explain(one); one.Explains <= lead.Explains {
			continue
		}
		at := slices.Index(asked, lead)
		asked[at] = one
		asked = slices.DeleteFunc(asked, func(m *Finding) bool { return m != one && slices.Contains(list, m) })
	}
	return asked
}

// longerAlike reports whether two findings are of work that took longer by about as many times.
func (a *Asking) longerAlike(f, g *Finding) bool {
	times := func(f *Finding) float64 {
		was, is := a.lengthsOf(summary.Baseline, f), a.lengthsOf(summary.Current, f)
		if was.mean() <= 0 || is.mean() <= was.mean() {
			return 0
		}
		return math.Log(is.mean() / was.mean())
	}
	x, y := times(f), times(g)
	return min(x, y) > 0 && min(x, y) >= alikeLonger*max(x, y)
}

// lengthsOf is the lengths of a finding on one side.
func (a *Asking) lengthsOf(side int, f *Finding) *part {
	p := &part{}
	for j, q := range a.Sides[side].Counted {
		if ns, ok := f.lengths(side, j); ok {
			p.ns, p.w = append(p.ns, ns), append(p.w, float64(q.Weight)/graph.OneRequest)
		}
	}
	return p
}

// joined is the finding about all of list, named by its lead.
func (a *Asking) joined(lead *Finding, list []*Finding) *Finding {
	one := *lead
	callee := one.Service
	if one.Peer != "" {
		callee = one.Peer
	}
	var operations []string
	for _, m := range list {
		if m != lead && m.Operation != lead.Operation && !slices.Contains(operations, m.Operation) {
			operations = append(operations, m.Operation)
		}
	}
	if n := len(operations); n > 0 {
		one.Claim = prose.Sprintf("%s and %s of %s take longer", one.Operation, plural(n, "other operation", "other operations"), callee)
		if one.Peer != "" {
			one.Claim += " behind the client spans of " + one.Service
		}
	}
	one.Evidence, one.Warnings = slices.Clone(one.Evidence), slices.Clone(one.Warnings)
	for _, m := range list {
		if m == lead {
			continue
		}
		was, is := a.lengthsOf(summary.Baseline, m), a.lengthsOf(summary.Current, m)
		one.Evidence = append(one.Evidence, numbers("spans", len(is.ns), "ms", was.mean()/1e6, is.mean()/1e6, "mean own time of "+m.Operation+" at another place of the request"))
		one.Doubtful, one.Open = one.Doubtful || m.Doubtful, one.Open || m.Open
	}
	one.Factor = func(j int, p *graph.Plan, values []int64) {
		for _, m := range list {
			m.Factor(j, p, values)
		}
	}
	return &one
}
