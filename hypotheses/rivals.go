package hypotheses

import (
	"fmt"
	"math"
	"strings"

	"github.com/tailscope/tailscope/graph"
)

const (
	// nearShare is the least part of what a finding explains that its nearest rival explains as well, and nearest how many of
	// the first findings are asked for theirs: what comes later is weak by its share.
	nearShare = 0.5
	nearest   = 4
)

// component names what a finding blames.
func (f *Finding) component() string {
	var t string
	switch {
	case f.Attribute != "":
		return f.Attribute + " " + f.Value
	case f.Instance != "":
		return f.Instance + " of " + f.Service
	case f.Peer != "" && f.Peer != f.Service:
		t = f.Service + " → " + f.Peer
	default:
		t = f.Service
	}
	if f.Operation != "" {
		t = f.Operation + " of " + t
	}
	return t
}

// against reports whether a finding's check is one against a kind of cause.
func (c *Check) against(kind string) bool {
	k, _, _ := strings.Cut(c.Rival, ":")
	k, _, _ = strings.Cut(k, " ")
	return k == kind
}

// rivals gives findings the nearest rival in these data: of the others that explain the same milliseconds, so that both put
// back take away no more than one of them, the one that has most of them. A check that tells the two apart stands with
// either of them; where there is none the finding is open.
func (a *Asking) rivals(found []Finding, sign float64) {
	for i := range min(len(found), nearest) {
		f := &found[i]
		var rival *Finding
		most, ahead := 0.0, false
		for k := range found {
			g := &found[k]
			if k == i || !f.rivals(g) {
				continue
			}
			shared := f.Explains + g.Explains - sign*a.either(f.Factor, g.Factor)
			if shared >= nearShare*f.Explains && (rival == nil || shared > most*(1+sameTime)) {
				rival, most, ahead = g, shared, k < i
			}
		}
		if rival != nil {
			f.nearest(rival, min(most, f.Explains), ahead)
		}
	}
}

// either is what two factors take away together where a stretch that both put back goes back once, by the larger part.
func (a *Asking) either(f, g Factor) float64 {
	out := make([]int64, len(a.plans))
	var e graph.Evaluator
	var own, other []int64
	for j, p := range a.plans {
		own, other = p.Values(own), p.Values(other)
		f(j, p, own)
		g(j, p, other)
		for k := range own {
			was := p.Steps[k].NS
			if x, y := own[k]-was, other[k]-was; x < 0 && y < x || x > 0 && y > x || x == 0 {
				own[k] = other[k]
			}
		}
		out[j] = e.Latency(p, own, nil)
	}
	plain := make([]float64, len(a.plans))
	for j := range plain {
		plain[j] = float64(a.request(j).Weight) / graph.OneRequest
	}
	return a.quantile(a.latency, plain) - a.quantile(out, a.weights)
}

// rivals reports whether g may explain what f does in its stead. A consequence is none, nor what a callee that is not needed
// does: that it can be left out is true of it whatever makes it slow. Nor is what may be chance, or its own check speaks against.
func (f *Finding) rivals(g *Finding) bool {
	split := func(x, y *Finding) bool { return x.wait != nil && y.fills[x.wait] > 0 }
	switch {
	case f.Factor == nil || g.Factor == nil || f.Plans != nil || g.Plans != nil || f.Weights != nil || g.Weights != nil:
		return false
	case f.Kind == optionalBranch.Kind || g.Kind == optionalBranch.Kind || f.byChance || g.byChance || g.Doubtful:
		return false
	case f.Kind == load.Kind || g.Kind == load.Kind || split(g, f) || split(f, g) || g.after || f.after:
		return false // of one wait each has its part; and calls that another cause adds arrive as load
	}
	return g.Explains >= nearShare*f.Explains && !(f.Kind == g.Kind && f.component() == g.component())
}

// nearest makes g, with which f shares so many ns, the rival of f. One that comes before f has the check that tells for itself.
// A check that ran and speaks against f stays f's.
func (f *Finding) nearest(g *Finding, shared float64, ahead bool) {
	name := fmt.Sprintf("%s: %s", g.Kind, g.component())
	share := fmt.Sprintf("%.0f %% of what this explains %s explains as well", 100*math.Min(1, shared/f.Explains), g.Kind+" of "+g.component())
	switch {
	case f.Check.Rival == name:
	case f.Check.against(g.Kind):
		f.Check.Rival = name + f.Check.Rival[len(g.Kind):]
	case f.Check.Ran && f.Check.Against:
		// What speaks against it stays said: that some other rival is refuted does not take it back.
		f.Against = append(f.Against, says("spans", 0, "%s", share))
	case g.Check.against(f.Kind):
		c := g.Check
		f.Check = Check{Question: c.Question, Rival: name, IfThis: c.IfRival, IfRival: c.IfThis, Ran: c.Ran, Outcome: c.Outcome, Query: c.Query, Against: c.Ran && !c.Against && !g.Open && ahead}
		f.Open = !f.Check.Against && !c.Against
		if f.Check.Against {
			f.Against = append(f.Against, says("spans", 0, "%s, and of the two that is so: %s", share, c.Outcome))
		}
	default:
		f.Open = true
		f.Against = append(f.Against, says("spans", 0, "%s, and nothing here tells the two apart", share))
	}
}
