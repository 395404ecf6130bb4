package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

// A group is the logical calls that one call makes to a target.
type group struct {
	req    int
	parent int32
	n      int32 // first attempts only
	w      float64
}

// calls is the indices in tries.calls of the calls of a group.
func (t *target) calls(a *Asking, side int, g *group) []int {
	calls := make([]int, 0, g.n)
	q := a.Sides[side].Counted[g.req]
	for k := range t.sides[side].of(g.req) {
		if x := &t.sides[side].calls[k]; x.prev < 0 && q.Calls[x.call].Parent == g.parent {
			calls = append(calls, k)
		}
	}
	return calls
}

// groups is a target's calls by the call that makes them, also where it makes
// none.
func (a *Asking) groups(side int, t *target) []group {
	s, tries := a.Sides[side], &t.sides[side]
	at := a.callsOf(side, t.Parent)
	out := make([]group, 0, len(at))
	for from := 0; from < len(at); {
		j := int(at[from].req)
		q := s.Counted[j]
		w := float64(q.Weight) / graph.OneRequest
		if side == summary.Current && a.weights != nil {
			w = a.weights[j]
		}
		to := from
		for ; to < len(at) && int(at[to].req) == j; to++ {
			out = append(out, group{req: j, parent: at[to].at, w: w})
		}
		for k := range tries.of(j) {
			x := &tries.calls[k]
			if x.prev >= 0 {
				continue
			}
			for g := from; g < to; g++ {
				if out[g].parent == q.Calls[x.call].Parent {
					out[g].n++
				}
			}
		}
		from = to
	}
	return out
}

// A count is a target that is called more or less often per parent.
type count struct {
	t        *target
	was, is  float64 // calls per parent
	parallel bool    // side by side
	groups   [2][]group
}

const (
	// minCount is the relative, and minCalls the absolute change of the calls per
	// parent that is a change of their count.
	minCount = 0.10
	minCalls = 0.05
)

// counts is the targets whose calls per parent changed.
func (a *Asking) counts() []count {
	if a.changed != nil {
		return a.changed
	}
	out := []count{}
	for _, t := range slices.Concat(a.targets(), a.ownParts()) {
		if t.sides[0].logical == 0 || t.sides[1].logical == 0 {
			continue // new-hop's
		}
		c := count{t: t}
		var mean, variance [2]float64
		for i := range mean {
			c.groups[i] = a.groups(i, t)
			mean[i], variance[i] = meanCalls(c.groups[i])
		}
		c.was, c.is = mean[0], mean[1]
		d := c.is - c.was
		if max(d, -d) < minCalls || max(d, -d) < minCount*min(c.was, c.is) || d*d < 9*(variance[0]+variance[1]) {
			continue
		}
		if t.own && a.onlySeen(&c) {
			continue
		}
		wider := summary.Current
		if c.was > c.is {
			wider = summary.Baseline
		}
		for _, slot := range a.slots[wider][t.slot] {
			_, parallel, _ := inTurn(a.Sides[wider].Set.Calibration.Verdicts, slot, slot)
			c.parallel = c.parallel || parallel
		}
		out = append(out, c)
	}
	a.changed = out
	return out
}

// maxSeen is how much of the time of a part's further spans may have left the own time of the span around them: of more,
// the work was always done, and more of it has a span.
const maxSeen = 0.5

// eachSlower is by how much the median of calls must have grown to speak against causes that leave each call as it was.
// It varies less than that between windows.
const eachSlower = 1.5

// onlySeen reports whether a part of a service's own work is not done more or less often but only seen so: what its
// spans take more, the span around them takes less itself.
func (a *Asking) onlySeen(c *count) bool {
	more := (c.is - c.was) * c.t.lengths(summary.Current, func(*try) bool { return true }).mean()
	var around [2]float64 // own time of one span around them
	for i := range around {
		ns := 0.0
		for _, x := range a.workIn(i, []graph.SlotID{c.t.Parent}) {
			ns += float64(x.ns)
		}
		around[i] = share(ns, float64(len(c.groups[i])))
	}
	less := around[0] - around[1]
	return less/more > maxSeen
}

// meanCalls is the mean number of calls of a group, and the variance of that mean: requests are drawn, and their groups
// with them. Where few requests make many calls, and happen to be more in one set than in the other, the mean moves
// although nobody makes another call.
func meanCalls(groups []group) (mean, variance float64) {
	var calls, weight float64
	for _, g := range groups {
		calls, weight = calls+g.w*float64(g.n), weight+g.w
	}
	mean = share(calls, weight)
	for i := 0; i < len(groups); {
		off, req := 0.0, groups[i].req
		for ; i < len(groups) && groups[i].req == req; i++ {
			off += groups[i].w * (float64(groups[i].n) - mean)
		}
		variance += off * off
	}
	return mean, share(variance, weight*weight)
}

// back thins surplus calls, by hash, to the baseline's count per parent of the
// same rank; calls that are missing are put in with the baseline's durations.
func (c *count) back(a *Asking) Factor {
	sizes := func(side int) *part {
		p := &part{}
		for _, g := range c.groups[side] {
			p.ns, p.w = append(p.ns, int64(g.n)), append(p.w, g.w)
		}
		return p
	}
	to := rankMap(sizes(summary.Current), sizes(summary.Baseline))
	byReq := map[int][]*group{}
	for i := range c.groups[summary.Current] {
		g := &c.groups[summary.Current][i]
		byReq[g.req] = append(byReq[g.req], g)
	}
	was := c.t.lengths(summary.Baseline, func(*try) bool { return true })
	tries := &c.t.sides[summary.Current]
	return func(j int, p *graph.Plan, values []int64) {
		for _, g := range byReq[j] {
			n := int(g.n)
			m := int(to.At(int64(n), a.draw(j, g.parent, 1)))
			switch {
			case m < n:
				calls := c.t.calls(a, summary.Current, g)
				slices.SortFunc(calls, func(x, y int) int {
					return cmp.Or(cmp.Compare(a.draw(j, tries.calls[x].call, 2), a.draw(j, tries.calls[y].call, 2)), cmp.Compare(x, y))
				})
				gone := map[int32]bool{}
				for _, k := range calls[m:] {
					gone[tries.calls[k].call] = true
				}
				for k := range tries.of(j) { // their later attempts go with them
					if x := &tries.calls[k]; x.prev >= 0 && gone[x.prev] {
						gone[x.call] = true
					}
				}
				q := a.request(j)
				for k := range p.Steps {
					if st := &p.Steps[k]; !st.Leave && gone[st.Call()] && st.Half == outer(&q.Calls[st.Call()], st.Call()) {
						values[k] = graph.Gone
					}
				}
			case m > n && n > 0 && len(was.ns) > 0:
				var add, longest int64
				for e := range m - n {
					d := int64(was.at(a.draw(j, g.parent, 3+uint64(e))))
					add, longest = add+d, max(longest, d)
				}
				last := slices.MaxFunc(c.t.calls(a, summary.Current, g), func(x, y int) int { return cmp.Compare(tries.calls[x].ns, tries.calls[y].ns) })
				if c.parallel {
					add = max(0, longest-tries.calls[last].ns)
				}
				call := tries.calls[last].call
				if leave, ok := stretchesOf(p).leave.of(outer(&a.request(j).Calls[call], call)); ok {
					values[leave] += add
				}
			}
		}
	}
}

// further is the part of the rise of a queue's arrivals that a target brings whose calls each parent makes more often: of
// as many requests it is all of it, of more requests the arrivals are a product, split by logarithms.
func (a *Asking) further(b *queue, c *count) float64 {
	was, is := b.v.Sides[0], b.v.Sides[1]
	if c.is <= c.was || was == nil || is == nil || is.N == 0 || !slices.ContainsFunc(c.t.slots, func(s graph.SlotID) bool { return slices.Contains(b.slots, s) }) {
		return 0
	}
	of := min(1, float64(len(c.t.sides[summary.Current].calls))/float64(is.N))
	more := of * math.Log(c.is/c.was)
	return more / max(more, math.Log(is.PerSecond/max(was.PerSecond, math.SmallestNonzeroFloat64)))
}

// belowMore puts the work of an operation below its calls that each parent makes more often: the more of them run at once,
// the longer each takes, and no longer work makes anyone call more.
func (a *Asking) belowMore(found []Finding) {
	for _, c := range a.counts() {
		if c.is <= c.was {
			continue
		}
		caller, peer, op := a.names(c.t.slot)
		more := func(o *Finding) bool {
			return (o.Kind == callCount.Kind || o.Kind == fanOut.Kind) && o.Service == caller && o.Peer == peer && o.Operation == op
		}
		for i := range found {
			f := &found[i]
			if !f.own || f.places != nil || !slices.Contains(c.t.slots, f.node) {
				continue
			}
			if f.Below == nil {
				f.Below = more
			} else {
				f.Below = either(f.Below, more)
			}
		}
	}
}

// lengths is how long the calls of a target took on one side.
func (t *target) lengths(side int, of func(*try) bool) *part {
	p := &part{}
	for i := range t.sides[side].calls {
		if x := &t.sides[side].calls[i]; of(x) {
			p.ns, p.w = append(p.ns, max(x.ns, 0)), append(p.w, x.w)
		}
	}
	return p
}

func (c *count) finding(a *Asking, kind string) Finding {
	f := a.named(kind, c.t)
	n := len(c.groups[summary.Current])
	f.Evidence = append(f.Evidence, numbers("spans", n, "calls", c.was, c.is, "calls of "+f.Operation+" per request of its parent"))
	all := func(*try) bool { return true }
	was, is := c.t.lengths(summary.Baseline, all), c.t.lengths(summary.Current, all)
	f.Evidence = append(f.Evidence, numbers("spans", len(is.ns), "ms", was.at(0.5)/1e6, is.at(0.5)/1e6, "median of one such call"))
	f.Factor = c.back(a)
	for _, b := range a.queues() {
		share := b.arrivals * a.further(b, c)
		if share <= minFilled {
			continue
		}
		// The further calls queue, and so does everyone behind them.
		thin, wait := f.Factor, a.waitBack(b, share)
		f.Factor = func(j int, p *graph.Plan, values []int64) {
			wait(j, p, values)
			thin(j, p, values)
		}
		f.Evidence = append(f.Evidence, says("spans", b.calls, "%.0f %% of the change of the wait %s come from the further calls", 100*share, b.where()))
	}
	f.Check = Check{
		Question: "does each call take as long as before, while there are more of them?",
		Rival:    "service-time: the calls themselves are slower",
		IfThis:   "their number rose and each takes as long as before",
		IfRival:  "their number stands and each takes longer",
		Ran:      true,
		Outcome:  prose.Sprintf("%.3g calls per parent where it was %.3g; the median call takes %s where it was %s", c.is, c.was, prose.Ns(is.at(0.5)), prose.Ns(was.at(0.5))),
	}
	if is.at(0.5) > eachSlower*was.at(0.5) && c.is > c.was {
		f.Against = append(f.Against, says("spans", len(is.ns), "each call takes longer too: %s where it was %s", prose.Ns(is.at(0.5)), prose.Ns(was.at(0.5))))
	}
	return f
}

var callCount = Cause{
	Doc: Doc{
		Kind:     "call-count",
		Title:    "a call is made more often",
		Claim:    "A call that was always made is made more often by each request, one after the other; each takes as long as before.",
		Supports: "The number of calls per parent rose; with the surplus calls taken out the requests take as long as before.",
		Refutes:  "The number of calls per parent is as it was, or the further ones are attempts of calls that failed, or requests that always made many are more frequent.",
		Mimics:   "retries repeat what failed; fan-out calls side by side; mix-shift brings requests with more calls.",
		Emit:     "one client span per call.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, c := range a.counts() {
			if c.parallel {
				continue
			}
			f := c.finding(a, "call-count")
			f.Claim = prose.Sprintf("%s calls %s %.3g times where it did %.3g times", f.Service, f.Operation, c.is, c.was)
			if c.t.own {
				f.Claim = prose.Sprintf("%s does %s, a part of its own work, %.3g times where it did %.3g times", f.Service, f.Operation, c.is, c.was)
			}
			out = append(out, f)
		}
		return out
	},
}
