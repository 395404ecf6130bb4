package hypotheses

import (
	"cmp"
	"fmt"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

var fanOut = Cause{
	Doc: Doc{
		Kind:     "fan-out",
		Title:    "a gather waits for more branches",
		Claim:    "A parent waits for the slowest of more parallel calls than before; each call is as fast as before.",
		Supports: "The number of parallel calls per parent, or of those it needs, rose; the single call's distribution stands; with the surplus calls taken out the requests take as long as before.",
		Refutes:  "The width is as it was, or the calls themselves became slower, as they do when a wider fan-out overloads its callee.",
		Mimics:   "service-time of the callee moves each branch; instance makes one branch slow; mix-shift brings requests with wider fan-out.",
		Emit:     "one client span per branch.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, c := range a.counts() {
			if c.parallel {
				out = append(out, a.wider(&c))
			}
		}
		for _, t := range a.targets() {
			if f, ok := a.needed(t); ok {
				out = append(out, f)
			}
		}
		return out
	},
}

// wider is a gather with more branches.
func (a *Asking) wider(c *count) Finding {
	f := c.finding(a, "fan-out")
	f.Claim = prose.Sprintf("%s waits for the slowest of %.3g calls of %s where it was %.3g", f.Service, c.is, f.Operation, c.was)
	// What one branch exceeds in one of a hundred, the slowest of many exceeds
	// far more often.
	was := c.t.lengths(summary.Baseline, func(*try) bool { return true })
	slow := was.at(0.99)
	p := func(side int) float64 {
		var n, above float64
		for i := range c.t.sides[side].calls {
			x := &c.t.sides[side].calls[i]
			n += x.w
			if float64(x.ns) > slow {
				above += x.w
			}
		}
		return share(above, n)
	}
	meets := func(side int, of float64) float64 { return latework.AnySlow(latework.Repeated(p(side), of)) }
	f.Evidence = append(f.Evidence,
		numbers("spans", len(was.ns), "share", p(0), p(1), fmt.Sprintf("calls slower than %s, the baseline's p99 of one", prose.Ns(slow))),
		numbers("spans", len(c.groups[1]), "share", meets(0, c.was), meets(1, c.is), "requests that meet such a call, if branches were independent"))
	return f
}

// A gather is one parent's parallel calls: how long it waited for those that
// it needed, from the first start.
type gather struct {
	group
	first trace.Time
	ns    int64
	lost  int
}

// gathers is the groups of a target with at least two calls side by side.
func (a *Asking) gathers(side int, t *target) []gather {
	var out []gather
	for _, g := range a.groups(side, t) {
		if g.n < 2 {
			continue
		}
		q := a.Sides[side].Counted[g.req]
		x := gather{group: g}
		calls := t.calls(a, side, &g)
		for i, k := range calls {
			c := &q.Calls[t.sides[side].calls[k].call]
			if o := c.Outer(); i == 0 || o.Start < x.first {
				x.first = o.Start
			}
			if c.Flags&graph.Loser != 0 {
				x.lost++
			}
		}
		for _, k := range calls {
			if c := &q.Calls[t.sides[side].calls[k].call]; c.Flags&graph.Loser == 0 {
				x.ns = max(x.ns, int64(c.Outer().End-x.first))
			}
		}
		out = append(out, x)
	}
	return out
}

// minLost is how many more branches per gather must be left running, or no
// longer be, for the number needed to have changed.
const minLost = 0.5

// needed is a gather that needs more, or fewer, of its branches than before.
func (a *Asking) needed(t *target) (Finding, bool) {
	var sets [2][]gather
	var lost, width [2]float64
	for i := range sets {
		sets[i] = a.gathers(i, t)
		var w float64
		for _, g := range sets[i] {
			lost[i] += g.w * float64(g.lost)
			width[i] += g.w * float64(g.n)
			w += g.w
		}
		if w == 0 {
			return Finding{}, false
		}
		lost[i], width[i] = lost[i]/w, width[i]/w
	}
	if t.sides[0].hedged+t.sides[1].hedged > 0 || max(lost[0]-lost[1], lost[1]-lost[0]) < minLost {
		return Finding{}, false
	}
	f := a.named("fan-out", t)
	f.Claim = prose.Sprintf("%s waits for %.3g of %.3g calls of %s where it waited for %.3g of %.3g", f.Service, width[1]-lost[1], width[1], f.Operation, width[0]-lost[0], width[0])
	f.Evidence = append(f.Evidence, numbers("spans", len(sets[1]), "calls", width[0]-lost[0], width[1]-lost[1], "branches waited for"),
		numbers("spans", len(sets[1]), "calls", lost[0], lost[1], "branches cancelled when enough had answered"))
	f.Check = Check{
		Question: "are branches cancelled while they run, once enough have answered?",
		Rival:    "service-time: the branches became slower or faster themselves",
		IfThis:   "the branches that are waited for have the baseline's distribution up to the cut, and the rest is cancelled",
		IfRival:  "no branch is cancelled, and all have moved",
		Ran:      true,
		Outcome:  prose.Sprintf("%.3g branches of a gather are cancelled where it was %.3g", lost[1], lost[0]),
	}
	waits := func(side int) *part {
		p := &part{}
		for _, g := range sets[side] {
			p.ns, p.w = append(p.ns, g.ns), append(p.w, g.w)
		}
		return p
	}
	to := rankMap(waits(summary.Current), waits(summary.Baseline))
	byReq := map[int][]*gather{}
	for i := range sets[1] {
		byReq[sets[1][i].req] = append(byReq[sets[1][i].req], &sets[1][i])
	}
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		if len(byReq[j]) == 0 {
			return
		}
		q, s := a.request(j), stretchesOf(p)
		for _, g := range byReq[j] {
			ns := to.At(g.ns, a.draw(j, g.parent, 1))
			last, end := -1, int64(-1)
			for _, k := range t.calls(a, summary.Current, &g.group) {
				call := t.sides[1].calls[k].call
				c := &q.Calls[call]
				leave, ok := s.leave.of(outer(c, call))
				if !ok || c.Flags&graph.Loser != 0 {
					continue
				}
				at := int64(c.Outer().End - g.first)
				if at > ns {
					values[leave] -= at - ns
				}
				if cmp.Compare(at, end) > 0 {
					last, end = leave, at
				}
			}
			if last >= 0 && ns > end {
				values[last] += ns - end
			}
		}
	}
	return f, true
}
