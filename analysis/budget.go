package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// budget holds an endpoint, or one of its classes, to the bounds that its rules
// state.
func (a *analyzer) budget(e *report.Endpoint, v *view, r *config.Rules) {
	b := r.Budget
	if b == nil {
		return
	}
	x := &bounding{analyzer: a, e: e, v: v, r: r}
	x.share("core_mismatch", b.CoreMismatch, report.Block, x.without(r.Mandatory))
	x.share("errors", b.Errors, report.Block, func(s *hypotheses.Side) counted {
		return x.count(s, func(q *summary.Request) bool {
			return q.Outcome == population.Failed || q.Outcome == population.TimedOut
		}, nil, "requests that failed or timed out")
	})
	x.quantile("p50", b.P50, &e.P50)
	x.quantile("p99", b.P99, &e.P99)
	x.queueAge(b.QueueAge)
	x.occupancy(b.PoolOccupancy)
	x.lateWork(b.LateWork)
	x.goodput(b.Goodput)
	x.mixMoved(b.MixMoved)
	x.recovery(b.Recovery)
	x.share("omission", b.Omission, report.Decide, x.without(r.Optional))
}

// A bounding is the bounds of one row at work.
type bounding struct {
	*analyzer
	e *report.Endpoint
	v *view
	r *config.Rules
}

// A counted is requests of a kind out of all; why is set where nothing can be
// counted.
type counted struct {
	k, n float64 // weighted
	of   int     // requests behind n
	what string
	why  string
}

func (c counted) share() float64 {
	if c.n == 0 {
		return math.NaN()
	}
	return c.k / c.n
}

// count counts requests that stand in the population's offer. of, if not nil,
// says which.
func (x *bounding) count(s *hypotheses.Side, is, of func(*summary.Request) bool, what string) counted {
	c := counted{what: what}
	for _, q := range s.All {
		if q.Standing != graph.Counted || of != nil && !of(q) {
			continue
		}
		c.n += weight(q.Weight)
		c.of++
		if is(q) {
			c.k += weight(q.Weight)
		}
	}
	return c
}

// without counts completed requests in which a branch of the list was not
// answered. Requests whose trace is torn tell nothing of that.
func (x *bounding) without(patterns []string) func(*hypotheses.Side) counted {
	return func(s *hypotheses.Side) counted {
		seen := make([]bool, len(patterns))
		fits := func(p string, slot graph.SlotID) bool {
			d := x.reading.Dict.SlotAt(slot)
			return config.Hop(p, x.peer(d), x.shownOperation(d))
		}
		for _, side := range x.v.Sides {
			if side == nil {
				continue
			}
			for _, q := range side.All {
				for i := 1; i < len(q.Calls); i++ {
					for k, p := range patterns {
						seen[k] = seen[k] || fits(p, q.Calls[i].Slot)
					}
				}
			}
		}
		var asked []string
		for k, p := range patterns {
			if seen[k] {
				asked = append(asked, p)
			}
		}
		if len(asked) == 0 {
			return counted{why: "no branch of that kind is declared and called"}
		}
		c := x.count(s, func(q *summary.Request) bool {
			for _, p := range asked {
				answered := false
				for i := 1; i < len(q.Calls) && !answered; i++ {
					answered = q.Calls[i].OuterEnd() == graph.Succeeded && fits(p, q.Calls[i].Slot)
				}
				if !answered {
					return true
				}
			}
			return false
		}, func(q *summary.Request) bool { return q.Outcome == population.Completed && !q.Torn }, fmt.Sprintf("completed requests without an answer of one of %s", strings.Join(asked, ", ")))
		if c.n == 0 {
			c.why = "no request was completed whose trace is whole"
		}
		return c
	}
}

// add judges a bound. atLeast turns it round.
func (x *bounding) add(b report.Bound, atLeast bool) {
	limit, current := b.Limit.Or(math.NaN()), b.Current.Or(math.NaN())
	switch {
	case math.IsNaN(current):
		b.Status = report.BudgetUnknown
	case !atLeast && current > limit || atLeast && current < limit:
		b.Status = report.Breached
		if b.CI.Closed() && b.CI.Lo.Or(math.Inf(-1)) <= limit && limit <= b.CI.Hi.Or(math.Inf(1)) {
			b.Detail += "; the interval holds the bound, so another sample might keep it"
		}
	default:
		b.Status = report.InsideBudget
		if b.CI.Closed() && limit > 0 && b.CI.Lo.Or(math.Inf(-1)) <= limit && limit < b.CI.Hi.Or(math.Inf(1)) {
			b.Detail += "; the interval holds the bound, so another sample might break it"
		}
	}
	x.e.Budget = append(x.e.Budget, b)
}

// share judges a share of requests, with Wilson's interval at their number.
func (x *bounding) share(name string, limit *config.Share, c report.Consequence, count func(*hypotheses.Side) counted) {
	if limit == nil {
		return
	}
	n := count(x.v.side())
	b := report.Bound{Bound: name, Limit: report.Some(float64(*limit)), Current: report.Some(n.share()), CI: report.Open, Unit: "share", Consequence: c, Detail: n.what}
	if n.why != "" {
		b.Current, b.Detail = report.Null, n.why
	} else if n.of > 0 {
		i := stats.Wilson(n.share()*float64(n.of), float64(n.of), x.confidence())
		b.CI = report.Between(i.Lo, i.Hi)
		b.Detail = prose.Sprintf("%.0f of %.0f %s", n.k, n.n, n.what)
	}
	if base := x.v.Sides[summary.Baseline]; base != nil {
		b.Baseline = report.Null
		if m := count(base); m.why == "" {
			b.Baseline = report.Some(m.share())
		}
	}
	x.add(b, false)
}

func (x *bounding) quantile(name string, limit *config.Duration, q *report.Quantile) {
	if limit == nil {
		return
	}
	b := report.Bound{Bound: name, Limit: report.Some(limit.Milliseconds()), Current: q.CurrentMs, CI: q.CurrentCIMs, Unit: "ms", Consequence: report.Hold, Detail: "latency of the requests in the percentiles"}
	if !q.CurrentCIMs.Closed() {
		b.Detail += "; its interval is open: there are too few"
	}
	if x.v.Sides[summary.Baseline] != nil {
		b.Baseline = q.BaselineMs
	}
	x.add(b, false)
}

func (x *bounding) queueAge(limit *config.Duration) {
	if limit == nil {
		return
	}
	b := report.Bound{Bound: "queue_age", Limit: report.Some(limit.Milliseconds()), Current: report.Null, CI: report.Open, Unit: "ms", Consequence: report.Hold, Detail: "nothing tells of time before the entry span: record X-Request-Start, or the executor's queue"}
	if x.v.Sides[summary.Baseline] != nil {
		b.Baseline = report.Null
	}
	if w := x.e.Before; w != nil {
		b.Current, b.Detail = w.Current.P99Ms, "p99 of the wait before the entry's work begins, by "+w.Evidence+"; no interval is computed"
		if w.Baseline != nil {
			b.Baseline = w.Baseline.P99Ms
		}
	}
	x.add(b, false)
}

func (x *bounding) occupancy(limit *config.Share) {
	if limit == nil {
		return
	}
	fullest := func(s *summary.Set) (p99 float64, pool string) {
		p99 = math.NaN()
		for i := range s.Pools {
			p := &s.Pools[i]
			if p.Occupancy.Seconds > 0 && (math.IsNaN(p99) || p.Occupancy.P99 > p99) {
				p99, pool = p.Occupancy.P99, p.Service+" "+p.Name+" of "+p.Instance
			}
		}
		return p99, pool
	}
	p99, pool := fullest(x.v.side().Set)
	b := report.Bound{Bound: "pool_occupancy", Limit: report.Some(float64(*limit)), Current: report.Some(p99), CI: report.Open, Unit: "share", Consequence: report.Hold,
		Detail: "no metric tells how full a pool is: record its used and max"}
	if pool != "" {
		b.Detail = "the fullest pool is " + pool + ": p99 of its one-second views, which is all there is and has no interval"
	}
	if base := x.v.Sides[summary.Baseline]; base != nil {
		was, _ := fullest(base.Set)
		b.Baseline = report.Some(was)
	}
	x.add(b, false)
}

func (x *bounding) lateWork(limit *config.Share) {
	if limit == nil {
		return
	}
	of := func(t *report.LateTotals) float64 {
		if t.Attempts == 0 {
			return math.NaN()
		}
		return float64(t.LateAttempts / t.Attempts)
	}
	t := &x.e.LateWork.LateTotals
	b := report.Bound{Bound: "late_work", Limit: report.Some(float64(*limit)), Current: report.Some(of(t)), CI: report.Open, Unit: "share", Consequence: report.Hold,
		Detail: "no request makes a call"}
	if t.Attempts > 0 {
		i := stats.Wilson(float64(t.LateAttempts), float64(t.Attempts), x.confidence())
		b.CI, b.Detail = report.Between(i.Lo, i.Hi), prose.Sprintf("%.0f of %.0f attempts went on after their caller had left", float64(t.LateAttempts), float64(t.Attempts))
	}
	if w := x.e.LateWork.Baseline; w != nil {
		b.Baseline = report.Some(of(w))
	}
	x.add(b, false)
}

func (x *bounding) goodput(limit *config.Share) {
	if limit == nil {
		return
	}
	b := report.Bound{Bound: "goodput", Limit: report.Some(float64(*limit)), Current: x.e.Goodput.Current, CI: report.Open, Unit: "share", Consequence: report.Hold, Detail: "no objective is stated, in tailscope.yaml or by --objective"}
	if g, ok := x.e.Goodput.Current.Get(); ok {
		n := float64(len(x.v.side().All))
		i := stats.Wilson(g*n, n, x.confidence())
		b.CI, b.Detail = report.Between(i.Lo, i.Hi), fmt.Sprintf("offered requests that were completed within %s", x.objective(x.v, x.e.Class))
	}
	if x.v.Sides[summary.Baseline] != nil {
		b.Baseline = x.e.Goodput.Baseline
	}
	x.add(b, true)
}

// mixMoved is the largest relative change of a class' share, or of the calls per
// request of a dependency.
func (x *bounding) mixMoved(limit *config.Share) {
	if limit == nil {
		return
	}
	b := report.Bound{Bound: "mix_moved", Limit: report.Some(float64(*limit)), Current: report.Null, CI: report.Open, Unit: "share", Consequence: report.Hold, Detail: "there is nothing to compare with: give --baseline"}
	base := x.v.Sides[summary.Baseline]
	if base != nil && len(base.All) > 0 && len(x.v.side().All) > 0 {
		was, is := x.mix(base), x.mix(x.v.side())
		moved, what := math.NaN(), ""
		for _, k := range sortedKeys(is) {
			if was[k].k == 0 {
				continue
			}
			p, q := was[k].share(), is[k].share()
			// A share that a few requests make says little; noise is no move.
			se := math.Sqrt(p/float64(was[k].of) + q/float64(is[k].of))
			if d := math.Abs(q/p - 1); d > 3*se/p && (math.IsNaN(moved) || d > moved) {
				moved, what = d, prose.Sprintf("%s went from %.3g to %.3g a request", k, p, q)
			}
		}
		if what == "" {
			moved, what = 0, "no class and no dependency moved by more than chance"
		}
		b.Current, b.Baseline, b.Detail = report.Some(moved), report.Some(0), what+"; the largest move of many, it has no interval"
	}
	x.add(b, false)
}

// mix is requests by class and calls by dependency, per request.
func (x *bounding) mix(s *hypotheses.Side) map[string]counted {
	out := map[string]counted{}
	var n float64
	of := 0
	for _, q := range s.All {
		if q.Standing != graph.Counted {
			continue
		}
		w := weight(q.Weight)
		n, of = n+w, of+1
		add := func(k string) {
			c := out[k]
			c.k += w
			out[k] = c
		}
		if class := x.str(q.Class); class != "" {
			add("class " + class)
		}
		for i := 1; i < len(q.Calls); i++ {
			if c := &q.Calls[i]; c.Client.Seen() {
				if peer := x.peer(x.reading.Dict.SlotAt(c.Slot)); peer != "" {
					add("calls of " + peer)
				}
			}
		}
	}
	for k, c := range out {
		c.n, c.of = n, of
		out[k] = c
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

const (
	// observation is the length of the intervals in which a recovery is looked
	// for, and perInterval the requests that one needs to be judged.
	observation = 10 * time.Second
	perInterval = 20
)

// recovery is how long the endpoint was outside its bounds before two intervals in
// a row were inside again.
func (x *bounding) recovery(limit *config.Duration) {
	if limit == nil {
		return
	}
	b := report.Bound{Bound: "recovery", Limit: report.Some(limit.Milliseconds() / 1e3), Current: report.Null, CI: report.Open, Unit: "s", Consequence: report.Hold}
	if x.v.Sides[summary.Baseline] != nil {
		b.Baseline = report.Null
	}
	took, detail := x.recovered()
	b.Current, b.Detail = report.Some(took), detail
	x.add(b, false)
}

func (x *bounding) recovered() (seconds float64, detail string) {
	by := map[int64][]*summary.Request{}
	var order []int64
	for _, q := range x.v.side().All {
		if q.Standing != graph.Counted {
			continue
		}
		k := int64(q.Start()) / int64(observation)
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], q)
	}
	slices.SortFunc(order, cmp.Compare)
	var judged []int64
	outside := map[int64]bool{}
	for _, k := range order {
		if len(by[k]) < perInterval {
			continue
		}
		judged = append(judged, k)
		outside[k] = x.outside(by[k])
	}
	if len(judged) < 3 {
		return math.NaN(), fmt.Sprintf("fewer than 3 intervals of %s hold %d requests", observation, perInterval)
	}
	longest, open := 0.0, false
	for i := 0; i < len(judged); i++ {
		if !outside[judged[i]] {
			continue
		}
		j := i
		for j < len(judged) && (outside[judged[j]] || j+1 < len(judged) && outside[judged[j+1]]) {
			j++
		}
		end := judged[len(judged)-1] + 1
		if j < len(judged) {
			end = judged[j]
		} else {
			open = true
		}
		longest = max(longest, float64(end-judged[i])*observation.Seconds())
		i = j
	}
	switch {
	case longest == 0:
		return 0, "no interval was outside the bounds of latency, errors, goodput and queue age"
	case open:
		return longest, fmt.Sprintf("at least: it was not inside again when the data end; intervals of %s, inside for two in a row", observation)
	}
	return longest, fmt.Sprintf("the longest time until two intervals of %s in a row were inside again; it has no interval", observation)
}

// outside reports whether the requests of an interval break a bound.
func (x *bounding) outside(list []*summary.Request) bool {
	b := x.r.Budget
	objective := x.objective(x.v, x.e.Class)
	var ns, before []int64
	var failed, good float64
	for _, q := range list {
		if hypotheses.Counts(q.Record, x.o.Population) {
			ns = append(ns, q.Duration())
		}
		if q.Before != graph.NoBefore {
			before = append(before, q.Before)
		}
		if q.Outcome == population.Failed || q.Outcome == population.TimedOut {
			failed++
		}
		if q.Outcome == population.Completed && q.Duration() <= int64(objective) {
			good++
		}
	}
	n := float64(len(list))
	return b.P99 != nil && len(ns) > 0 && stats.Quantile(ns, nil, 0.99) > int64(*b.P99) ||
		b.QueueAge != nil && len(before) > 0 && stats.Quantile(before, nil, 0.99) > int64(*b.QueueAge) ||
		b.Errors != nil && failed/n > float64(*b.Errors) ||
		b.Goodput != nil && objective > 0 && good/n < float64(*b.Goodput)
}
