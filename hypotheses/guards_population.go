package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// maxCancelled is the shift of the cancelled share beyond which the sides hold
	// different requests: the cancelled are not in the percentiles, and they are
	// the slow ones.
	maxCancelled = 0.05
	// maxFailed is the shift of the failed share beyond which the verdict on
	// successes alone has to agree.
	maxFailed = 0.02
	// minKind is the share of the requests from which a kind of request that came
	// or went is told.
	minKind = 0.02
	// minMix is how many points of the requests must have changed their kind for
	// the mix to be called another: the total variation of the shares.
	minMix = 0.05
)

// A tally is the requests of a side that were offered, by what became of them.
type tally struct {
	of       [5]float64 // weighted, by population.Outcome
	n        [5]int
	offered  float64
	count    int
	excluded map[string]float64
}

func (c *Comparison) tally(s *Side) *tally {
	t := &tally{excluded: map[string]float64{}}
	for _, q := range s.All {
		w := float64(q.Weight) / graph.OneRequest
		switch q.Standing {
		case graph.Excluded, graph.Stream, graph.Scheduled:
			t.excluded[c.Reading.Dict.String(q.Reason)] += w
			continue
		}
		t.of[q.Outcome] += w
		t.n[q.Outcome]++
		t.offered += w
		t.count++
	}
	return t
}

func (t *tally) share(of ...population.Outcome) float64 {
	if t.offered == 0 {
		return 0
	}
	var sum float64
	for _, o := range of {
		sum += t.of[o]
	}
	return sum / t.offered
}

// differs is the p-value of a difference of the share of outcomes.
func (t *tally) differs(o *tally, of ...population.Outcome) float64 {
	var a, b int
	for _, x := range of {
		a, b = a+t.n[x], b+o.n[x]
	}
	return stats.FisherTwoSided(a, t.count, b, o.count)
}

// populationGuard: are the requests of both sides of the same kinds, and did they
// end alike?
func (c *Comparison) populationGuard() Guard {
	base, cur := c.tally(c.Sides[summary.Baseline]), c.tally(c.Sides[summary.Current])
	if base.count == 0 || cur.count == 0 {
		return guard(GuardPopulation, GuardWarn, "one side has no requests that were offered")
	}
	var worst *Guard
	put := func(g Guard) {
		rank := func(g *Guard) int {
			n := slices.Index([]GuardStatus{GuardOK, GuardWarn, GuardFail}, g.Status)
			if g.Incomparable {
				n++
			}
			return n
		}
		switch {
		case worst == nil || rank(&g) > rank(worst):
			worst = &g
		case g.Status == worst.Status:
			worst.Detail += "; " + g.Detail
		}
	}
	outcome := func(name string, o population.Outcome) string {
		return fmt.Sprintf("%s requests went from %s to %s of those offered", name, prose.Percent(base.share(o)), prose.Percent(cur.share(o)))
	}

	// The cancelled leave the percentiles, and with them the slow requests.
	if shift := cur.share(population.Cancelled) - base.share(population.Cancelled); math.Abs(shift) > maxCancelled && base.differs(cur, population.Cancelled) < likely {
		g := guard(GuardPopulation, GuardFail, "%s; they are not in the percentiles, and it is the slow ones that are given up", outcome("cancelled", population.Cancelled))
		g.Incomparable = true
		g.check = Check{Question: "how long had the cancelled requests lasted when they were given up?", Rival: "a change of the latency of the same requests",
			IfThis: "near the upper percentiles: those who would be slow leave", IfRival: "anywhere", Ran: true, Outcome: c.cancelledAt()}
		put(g)
	}
	// Failed requests may be fast, or be the slow ones that failed.
	for _, x := range []struct {
		name string
		of   []population.Outcome
	}{{"failed", []population.Outcome{population.Failed}}, {"failed, timed out or refused", []population.Outcome{population.Failed, population.TimedOut, population.Rejected}}} {
		was, is := base.share(x.of...), cur.share(x.of...)
		if len(x.of) > 1 && is-was == cur.share(population.Failed)-base.share(population.Failed) {
			continue // that was all of them
		}
		if math.Abs(is-was) <= maxFailed || base.differs(cur, x.of...) >= likely {
			continue
		}
		g := guard(GuardPopulation, GuardWarn, "%s requests went from %s to %s of those offered", x.name, prose.Percent(was), prose.Percent(is))
		r, ok := c.without(func(_ int, q *summary.Request) bool { return q.Outcome != population.Completed })
		d := direction(c.Verdict.Outcome)
		switch {
		case len(x.of) == 1 && ok && (r.undone || r.shown):
			g.Status, g.Incomparable, g.Explains = GuardFail, true, r.explains
			g.Detail += fmt.Sprintf("; without them the verdict is another, and p%g differs by %s", 100*c.Options.Quantile, prose.Ns(math.Abs(r.explains)))
		case d < 0 && is > was:
			// Whoever refuses or fails the slow requests has fast ones left.
			g.Status, g.Incomparable = GuardFail, true
			g.Detail += "; fewer answers are no improvement of latency"
		}
		g.check = Check{Question: "is the verdict on completed requests alone the same?", Rival: "a change of the latency of the same requests",
			IfThis: "no, or the requests that failed are those that were slow", IfRival: "yes", Ran: ok, Outcome: map[int]string{1: "a regression", -1: "an improvement", 0: "no change shown"}[r.direction]}
		put(g)
	}
	// What rules leave out.
	var names []string
	for name := range base.excluded {
		names = append(names, name)
	}
	for name := range cur.excluded {
		if _, ok := base.excluded[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, is := base.excluded[name]/(base.offered+base.excluded[name]), cur.excluded[name]/(cur.offered+cur.excluded[name])
		if math.Abs(is-was) > minKind {
			put(guard(GuardPopulation, GuardWarn, "requests excluded as %q went from %s to %s; they are in no percentile", name, prose.Percent(was), prose.Percent(is)))
		}
	}
	if g, ok := c.answersGuard(); ok {
		put(g)
	}
	if g, ok := c.kindsGuard(); ok {
		put(g)
	}
	if worst == nil {
		return guard(GuardPopulation, GuardOK, "the same kinds of requests ended alike: completed %s and %s, cancelled %s and %s", prose.Percent(base.share(population.Completed)), prose.Percent(cur.share(population.Completed)),
			prose.Percent(base.share(population.Cancelled)), prose.Percent(cur.share(population.Cancelled)))
	}
	return *worst
}

// cancelledAt says how long cancelled requests of the current side lasted.
func (c *Comparison) cancelledAt() string {
	var p part
	for _, s := range c.Sides {
		for _, q := range s.All {
			if q.Standing == graph.Counted && q.Outcome == population.Cancelled {
				p.ns, p.w = append(p.ns, q.Duration()), append(p.w, float64(q.Weight))
			}
		}
	}
	median := p.at(0.5)
	return fmt.Sprintf("their median is %s; %s of the current requests in the percentiles last longer", prose.Ns(median), prose.Percent(1-c.Pair.Cur.Rank(median)))
}

// answersGuard finds answers without what was asked for, redirections and refusals of the content, that became more or
// fewer. They are quick, and no sign of how fast the others are.
func (c *Comparison) answersGuard() (Guard, bool) {
	d := c.Reading.Dict
	var key string
	var worst ValueShare
	declined := map[trace.StringID]bool{}
	for _, a := range c.Attributes() {
		if !population.StatusKey(d.String(a.Key)) {
			continue
		}
		for _, v := range a.Values {
			if !population.Declined(d.String(v.Value)) {
				continue
			}
			declined[v.Value] = true
			if shift := math.Abs(v.Cur - v.Base); v.P < sure && shift > max(maxFailed, math.Abs(worst.Cur-worst.Base)) {
				key, worst = d.String(a.Key), v
			}
		}
	}
	if key == "" {
		return Guard{}, false
	}
	name := d.String(worst.Value)
	g := guard(GuardPopulation, GuardWarn, "requests with %s=%s went from %s to %s", key, name, prose.Percent(worst.Base), prose.Percent(worst.Cur))
	r, ok := c.without(func(_ int, q *summary.Request) bool {
		return slices.ContainsFunc(q.Attrs, func(a trace.Attr) bool {
			return declined[a.Value.TextID()] && population.StatusKey(d.String(a.Key))
		})
	})
	if !ok {
		return g, true
	}
	fewer := direction(c.Verdict.Outcome) < 0 && r.direction == 0 && worst.Cur > worst.Base // answers, and so no improvement
	if r.undone || r.shown || fewer {
		g.Status, g.Incomparable, g.Explains = GuardFail, true, r.explains
		g.Detail += fmt.Sprintf("; without such answers the verdict is another, and p%g differs by %s", 100*c.Options.Quantile, prose.Ns(math.Abs(r.explains)))
	}
	g.check = Check{Question: "without redirections and refusals, is the verdict the same?", Rival: "a change of the latency of the same requests",
		IfThis: "no", IfRival: "yes", Ran: true, Outcome: map[int]string{1: "a regression", -1: "an improvement", 0: "no change shown"}[r.direction]}
	return g, true
}

// A drift is a kind of request that came or went.
type drift struct {
	at    *Attribute
	value int
	gain  float64 // points
}

// kindsGuard finds kinds of request that one side lacks: a value of an attribute
// that tells what was asked, and by whom.
func (c *Comparison) kindsGuard() (Guard, bool) {
	d := c.Reading.Dict
	var drifts []drift
	for _, a := range c.Attributes() {
		key := d.String(a.Key)
		if a.P > sure || Consequence(key) || Deployed(key) || a.Sizes || a.recordedAnew() {
			continue
		}
		for i := range a.Values {
			v := &a.Values[i]
			if v.P < sure && math.Abs(v.Cur-v.Base) >= minKind && min(v.Cur, v.Base) < max(v.Cur, v.Base)/20 {
				drifts = append(drifts, drift{a, i, v.Cur - v.Base})
			}
		}
	}
	if len(drifts) == 0 {
		return Guard{}, false
	}
	slices.SortStableFunc(drifts, func(x, y drift) int {
		return cmp.Or(cmp.Compare(boolRank(synthetic(d.String(y.at.Values[y.value].Value))), boolRank(synthetic(d.String(x.at.Values[x.value].Value)))), cmp.Compare(math.Abs(y.gain), math.Abs(x.gain)))
	})
	top := drifts[0]
	v := &top.at.Values[top.value]
	name := d.String(top.at.Key) + "=" + d.String(v.Value)
	g := guard(GuardPopulation, GuardWarn, "requests with %s went from %s to %s", name, prose.Percent(v.Base), prose.Percent(v.Cur))
	if more := len(drifts) - 1; more > 0 {
		g.Detail += fmt.Sprintf(", and %d other values came or went", more)
	}
	side := summary.Current
	if top.gain < 0 {
		side = summary.Baseline
	}
	member := map[*summary.Request]bool{}
	for j, q := range c.Sides[side].Counted {
		if top.at.of[side][j] == top.value {
			member[q] = true
		}
	}
	if len(member) == len(c.Sides[side].Counted) {
		return g, true // all of a side: nothing is left to compare
	}
	// A kind of customer that came, with its own latency, is a change of mix and a
	// true one. What is fast, or is no customer's, changes the question.
	if r, ok := c.without(func(_ int, q *summary.Request) bool { return member[q] }); ok && (r.undone || r.shown) &&
		(synthetic(d.String(v.Value)) || direction(c.Verdict.Outcome) <= 0) {
		g.Status, g.Incomparable, g.Explains = GuardFail, true, r.explains
		g.Detail += "; without them the verdict is another"
		g.check = Check{Question: "without requests with " + name + ", is the verdict the same?", Rival: "a change of the latency of the same requests",
			IfThis: "no", IfRival: "yes", Ran: true, Outcome: "it is not"}
	}
	return g, true
}

// synthetic reports whether a value names a machine that measures: a prober, a
// health check, a load generator.
func synthetic(value string) bool {
	v := strings.ToLower(value)
	for _, w := range []string{"prober", "probe", "healthcheck", "health-check", "kube-probe", "synthetic", "pingdom", "uptime", "k6/", "vegeta", "wrk", "jmeter", "gatling", "locust", "loadtest", "load-test", "apachebench", "hey/", "statuscake", "monitor"} {
		if strings.Contains(v, w) {
			return true
		}
	}
	return false
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mixGuard: are the kinds of requests as frequent as they were?
func (c *Comparison) mixGuard() Guard {
	d := c.Reading.Dict
	var worst *Attribute
	var most float64
	n := [2]float64{weigh(c.Sides[0].Counted).flat(), weigh(c.Sides[1].Counted).flat()}
	for _, a := range c.Attributes() {
		key := d.String(a.Key)
		if a.P > sure || Consequence(key) || Deployed(key) || a.recordedAnew() {
			continue
		}
		if tv := a.Distance() - a.chance(n[0], n[1]); tv > most {
			worst, most = a, tv
		}
	}
	if most < minMix {
		return guard(GuardMix, GuardOK, "no attribute's shares moved by %s of the requests beyond chance", prose.Percent(minMix))
	}
	v := worst.Values[0]
	g := guard(GuardMix, GuardWarn, "%s of the requests have another %s: %s went from %s to %s", prose.Percent(most), d.String(worst.Key), d.String(v.Value), prose.Percent(v.Base), prose.Percent(v.Cur))
	if worst.OneSided > 0 {
		g.Detail += fmt.Sprintf("; %s have a value that the baseline lacks, which no reweighting can make up for", prose.Percent(worst.OneSided))
	}
	return g
}
