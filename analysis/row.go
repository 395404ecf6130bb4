package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// headline fills of the row of a whole endpoint what does not take long: how many
// requests, how long they took, and what is said of that.
func (a *analyzer) headline(v *view) report.Endpoint {
	e := report.Endpoint{Service: a.str(v.Endpoint.Name.Service), Operation: a.str(v.Endpoint.Name.Operation), Inner: v.Endpoint.Inner}
	a.population(&e, v)
	a.streams(&e, v)
	a.quantiles(&e, v)
	a.verdict(&e, v)
	return e
}

// row fills the rest of the row.
func (a *analyzer) row(e report.Endpoint, v *view) report.Endpoint {
	a.guards(&e, v)
	nodes := a.structure(&e, v)
	rules := a.rules(v, "")
	a.meaning(&e, &rules)
	a.allocate(&e, v, nodes)
	a.before(&e, v)
	a.queues(&e, v)
	counted := a.counted(v)
	a.late(&e, v, counted)
	a.attempts(&e, v, counted)
	a.calls(&e, v, counted)
	a.fanOut(&e, v, nodes)
	a.budget(&e, v, &rules)
	a.causes(&e, v, nodes)
	a.exemplars(&e, v)
	return e
}

// population says who was counted on each side.
func (a *analyzer) population(e *report.Endpoint, v *view) {
	count := func(s *hypotheses.Side) (report.Requests, report.Arrivals) {
		var r report.Requests
		excluded := report.Excluded{}
		seconds := map[int64]float64{}
		for _, q := range s.All {
			w := report.Float(weight(q.Weight))
			switch q.Standing {
			case graph.Stream:
				excluded[report.Stream] += w
				continue
			case graph.Scheduled:
				excluded[report.Cron] += w
				continue
			case graph.Excluded:
				excluded[a.str(q.Reason)] += w
				continue
			}
			if q.Orphan {
				r.Incomplete += w
			}
			r.Offered += w
			seconds[int64(q.Start())/1e9] += float64(w)
			switch q.Outcome {
			case population.Completed:
				r.Completed += w
			case population.Failed:
				r.Failed += w
			case population.TimedOut:
				r.TimedOut += w
			case population.Cancelled:
				r.Cancelled += w
			case population.Rejected:
				r.Rejected += w
			}
		}
		r.Sampled = int64(len(s.Counted))
		r.Estimated = report.Float(s.Sample.Weight())
		r.Excluded = excluded
		r.EffectiveN = report.Some(s.Sample.EffectiveN(a.o.Quantile))
		arr := report.Arrivals{MeanPerS: report.Null, Peak1sPerS: report.Null, SecondsSeen: report.Null}
		if w := window(s.Set); w >= 1 && r.Offered > 0 {
			peak := 0.0
			for _, n := range seconds {
				peak = max(peak, n)
			}
			arr = report.Arrivals{MeanPerS: report.Some(float64(r.Offered) / w), Peak1sPerS: report.Some(peak), SecondsSeen: report.Some(w)}
		}
		return r, arr
	}
	objective := a.objective(v, e.Class)
	e.Requests.Current, e.Arrivals.Current = count(v.side())
	e.Goodput.Current = a.goodput(v.side(), objective)
	if b := v.Sides[summary.Baseline]; b != nil {
		r, arr := count(b)
		e.Requests.Baseline, e.Arrivals.Baseline = &r, &arr
		e.Goodput.Baseline = a.goodput(b, objective)
	}
}

// objective is the latency that a good answer keeps: the user's word for this
// run, else the rules'; zero without either.
func (a *analyzer) objective(v *view, class string) time.Duration {
	if a.o.Objective != 0 {
		return a.o.Objective
	}
	r := a.rules(v, class)
	return time.Duration(r.Objective.Within())
}

// goodput is the share of offered requests that were completed within the
// objective; null without one.
func (a *analyzer) goodput(s *hypotheses.Side, objective time.Duration) report.Num {
	if objective == 0 {
		return report.Null
	}
	var good, offered float64
	for _, q := range s.All {
		if q.Standing != graph.Counted {
			continue
		}
		offered += weight(q.Weight)
		if q.Outcome == population.Completed && q.Duration() <= int64(objective) {
			good += weight(q.Weight)
		}
	}
	return report.Some(population.Goodput(good, offered))
}

// confidence is the level of two-sided intervals.
func (a *analyzer) confidence() float64 { return 1 - a.o.Alpha }

// quantiles fills the percentiles of both sides and their change.
func (a *analyzer) quantiles(e *report.Endpoint, v *view) {
	rows := []struct {
		q  float64
		to *report.Quantile
	}{{0.5, &e.P50}, {0.75, &e.P75}, {0.9, &e.P90}, {0.95, &e.P95}, {0.99, &e.P99}, {0.999, &e.P999}, {1, &e.Max}}
	target := report.Float(a.o.Quantile)
	if e.Of(target) == nil {
		e.Target = &report.Quantile{}
		rows = append(rows, struct {
			q  float64
			to *report.Quantile
		}{a.o.Quantile, e.Target})
	}
	for _, r := range rows {
		*r.to = a.quantile(v, r.q)
	}
	if v.Pair != nil {
		if q, ok := v.Pair.HighestClosed(); ok {
			d := a.quantile(v, q)
			e.HighestClosed = &report.HighestClosed{Quantile: report.Float(q), BaselineMs: d.BaselineMs, CurrentMs: d.CurrentMs, DeltaMs: d.DeltaMs, CIMs: d.CIMs}
		}
	} else if !a.reading.Comparison() {
		for _, q := range []float64{0.99, 0.95, 0.9, 0.75, 0.5} {
			if s := v.side().Sample; q <= a.o.Quantile && s.EffectiveN(q) >= float64(stats.NeededAbove(q)) {
				d := a.quantile(v, q)
				e.HighestClosed = &report.HighestClosed{Quantile: report.Float(q), CurrentMs: d.CurrentMs}
				break
			}
		}
	}
}

func (a *analyzer) quantile(v *view, q float64) report.Quantile {
	var r report.Quantile
	value := func(s *hypotheses.Side) report.Num {
		if s.Sample.N() == 0 {
			return report.Null
		}
		if q == 1 {
			return msOf(s.Sample.Max())
		}
		return msOf(s.Sample.Quantile(q))
	}
	interval := func(s *hypotheses.Side) report.Interval {
		if s.Sample.N() == 0 || q == 1 {
			return report.Open
		}
		return msInterval(s.Sample.Interval(q, a.confidence()))
	}
	r.CurrentMs, r.CurrentCIMs = value(v.side()), interval(v.side())
	base := v.Sides[summary.Baseline]
	if base != nil {
		r.BaselineMs, r.BaselineCIMs = value(base), interval(base)
		r.DeltaMs, r.CIMs = report.Null, report.Open
		if v.Pair != nil {
			if q == 1 {
				r.DeltaMs = msOf(v.side().Sample.Max() - base.Sample.Max())
			} else {
				d := v.Pair.Delta(q, a.confidence())
				r.DeltaMs, r.CIMs = msOf(d.Change), msInterval(d.Interval)
				r.BaselineCIMs, r.CurrentCIMs = msInterval(d.BaseInterval), msInterval(d.CurInterval)
				for _, w := range d.Warnings {
					r.Warnings = append(r.Warnings, w.Detail)
				}
			}
		}
	}
	if q < 1 && (!r.CurrentCIMs.Closed() || base != nil && !r.BaselineCIMs.Closed()) {
		r.Needs = int64(stats.NeededAbove(max(q, 1-q)))
	}
	return r
}

func msOf(ns float64) report.Num { return report.Some(ns / 1e6) }

func msInterval(v stats.Interval) report.Interval { return report.Between(v.Lo/1e6, v.Hi/1e6) }

// verdict says whether the tail changed, and on what that rests.
func (a *analyzer) verdict(e *report.Endpoint, v *view) {
	if !a.reading.Comparison() {
		e.Verdict = report.Single
		return
	}
	if v.Pair == nil {
		e.Verdict = report.CannotTell
		e.Guards = append(e.Guards, report.Guard{Kind: report.TooFewGuard, Status: report.GuardFail, Detail: "one side has no requests in the percentiles"})
		return
	}
	e.Verdict = report.Verdict(v.Verdict.Outcome)
	b := &report.Basis{Test: report.ExceedanceTest, Quantile: report.Float(a.o.Quantile), ThresholdMs: report.Null, BaselineShare: report.Null, CurrentShare: report.Null, PValue: report.Some(v.P),
		ExcludedMs: msOf(v.Verdict.Excluded), ExcludedQuantile: report.Null, Method: string(v.Test.Method)}
	if v.Test.Method == stats.Runs {
		b.Test = report.IntervalTest
	}
	if v.Verdict.ExcludedAt > 0 {
		b.ExcludedQuantile = report.Some(v.Verdict.ExcludedAt)
	}
	if v.Test.Basis >= 0 {
		m := v.Test.Members[v.Test.Basis]
		b.Quantile, b.ThresholdMs = report.Float(1-m.Share), msOf(m.Threshold)
		b.Baseline = [2]report.Float{report.Float(m.Base.Above), report.Float(m.Base.Of)}
		b.Current = [2]report.Float{report.Float(m.Cur.Above), report.Float(m.Cur.Of)}
		b.BaselineShare, b.CurrentShare = report.Some(m.BaseShare), report.Some(m.CurShare)
	}
	e.Basis = b
}

// allocate charges the target quantile, and the median, to nodes and kinds.
func (a *analyzer) allocate(e *report.Endpoint, v *view, nodes map[graph.SlotID]report.NodeID) {
	e.Allocation, e.AllocationScale = a.allocation(v, nodes, a.o.Quantile)
	e.Typical, _ = a.allocation(v, nodes, 0.5)
}

// allocation charges a quantile to nodes and kinds, the largest change first, and says by what the averages were scaled.
func (a *analyzer) allocation(v *view, nodes map[graph.SlotID]report.NodeID, q float64) (report.List[report.Allocation], report.Pair) {
	scale := report.Pair{Current: report.Null}
	if a.reading.Comparison() {
		scale.Baseline = report.Null
	}
	if v.side().Sample.N() == 0 {
		return nil, scale
	}
	n := len(v.Components)
	var out report.List[report.Allocation]
	var both stats.Allocation
	if v.Pair != nil {
		both = v.Pair.Allocate(q, a.confidence(), n, v.Sides[summary.Baseline].Of, v.side().Of)
		scale.Baseline = report.Some(both.Base.Scale)
	} else {
		both.Cur = v.side().Sample.Allocate(q, a.confidence(), n, v.side().Of)
	}
	scale.Current = report.Some(both.Cur.Scale)
	for i, c := range v.Components {
		slot := a.reading.Dict.SlotAt(c.Slot)
		r := report.Allocation{Quantile: report.Float(q), Node: report.NoNode, Service: a.shownService(slot), Operation: a.shownOperation(slot), Peer: a.peer(slot), Kind: report.Kind(c.Kind.String()), CurrentMs: msOf(both.Cur.NS[i]), PathSwitch: report.Null}
		if id, ok := nodes[c.Slot]; ok {
			r.Node = id
		}
		switch {
		case v.Pair != nil:
			r.BaselineMs, r.DeltaMs, r.CIMs = msOf(both.Base.NS[i]), msOf(both.NS[i]), msInterval(both.Interval[i])
			r.Largest = both.Lead.Clear() && both.Lead.First == i
			if both.Base.NS[i] == 0 && both.Cur.NS[i] == 0 {
				continue
			}
			r.PathSwitch = report.Some(math.Abs(both.Cur.Present[i] - both.Base.Present[i]))
		case a.reading.Comparison():
			r.BaselineMs, r.DeltaMs, r.CIMs = report.Null, report.Null, report.Open
		default:
			r.Largest = both.Cur.Lead.Clear() && both.Cur.Lead.First == i
			if both.Cur.NS[i] == 0 {
				continue
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y report.Allocation) int {
		if v.Pair != nil {
			return cmp.Or(cmp.Compare(math.Abs(y.DeltaMs.Or(0)), math.Abs(x.DeltaMs.Or(0))), cmp.Compare(y.CurrentMs.Or(0), x.CurrentMs.Or(0)))
		}
		return cmp.Compare(y.CurrentMs.Or(0), x.CurrentMs.Or(0))
	})
	return out, scale
}

func (a *analyzer) shownService(s *graph.Slot) string   { return a.str(s.Shown().Service) }
func (a *analyzer) shownOperation(s *graph.Slot) string { return a.str(s.Shown().Operation) }

// peer is the callee of a call: by its own word, else by the caller's.
func (a *analyzer) peer(s *graph.Slot) string {
	if s.Caller.Service != 0 && s.Callee.Service != 0 {
		return a.str(s.Callee.Service)
	}
	return a.str(s.Peer)
}

// before says how long requests waited before their entry span.
func (a *analyzer) before(e *report.Endpoint, v *view) {
	evidence := ""
	times := func(s *hypotheses.Side) (report.BeforeTimes, int) {
		var ns []int64
		var w []float64
		for _, q := range s.Counted {
			if q.Before != graph.NoBefore {
				ns, w = append(ns, q.Before), append(w, weight(q.Weight))
				if text := a.str(q.BeforeEvidence); evidence == "" || text < evidence {
					evidence = text
				}
			}
			for _, d := range q.Dwells {
				ns, w = append(ns, d), append(w, weight(q.Weight))
				if evidence == "" {
					evidence = "messaging dwell"
				}
			}
		}
		if len(ns) == 0 {
			return report.BeforeTimes{P50Ms: report.Null, P99Ms: report.Null}, 0
		}
		return report.BeforeTimes{P50Ms: msOf(float64(stats.Quantile(ns, w, 0.5))), P99Ms: msOf(float64(stats.Quantile(ns, w, 0.99)))}, len(ns)
	}
	cur, n := times(v.side())
	var base *report.BeforeTimes
	if b := v.Sides[summary.Baseline]; b != nil {
		t, m := times(b)
		base, n = &t, n+m
	}
	if n > 0 {
		e.Before = &report.Before{Evidence: evidence, Baseline: base, Current: cur}
	}
}

// exemplars are requests worth opening: the slowest, one at the target
// quantile, one typical.
func (a *analyzer) exemplars(e *report.Endpoint, v *view) {
	for i := len(v.Sides) - 1; i >= 0; i-- {
		s := v.Sides[i]
		if s == nil || len(s.Counted) == 0 {
			continue
		}
		told := map[trace.TraceID]bool{}
		tell := func(q *summary.Request, why string) {
			told[q.TraceID] = true
			e.Exemplars = append(e.Exemplars, report.Exemplar{TraceID: q.TraceID.String(), Set: setName(i), DurationMs: report.Ms(q.Duration()),
				Percentile: report.Some(s.Sample.Rank(float64(q.Duration()))), Why: why})
		}
		for _, x := range []struct {
			q   float64
			why string
		}{{1, "the slowest"}, {a.o.Quantile, fmt.Sprintf("at p%g", 100*a.o.Quantile)}, {0.5, "typical"}} {
			want := int64(s.Sample.Max())
			if x.q < 1 {
				want = int64(s.Sample.Quantile(x.q))
			}
			at := slices.IndexFunc(s.Counted, func(q *summary.Request) bool { return q.Duration() == want })
			if at < 0 {
				continue
			}
			tell(s.Counted[at], x.why)
			if s.Sample.N() == 1 {
				break
			}
		}
		if at := medoid(s, a.o.Quantile); at >= 0 {
			tell(s.Counted[at], fmt.Sprintf("stands for those around p%g", 100*a.o.Quantile))
		}
		// The longest that a metric names and whose trace is here.
		for _, m := range s.Metered {
			at := slices.IndexFunc(s.Counted, func(q *summary.Request) bool { return q.TraceID == m.Exemplar })
			if m.Exemplar != (trace.TraceID{}) && at >= 0 && !told[m.Exemplar] {
				tell(s.Counted[at], "an exemplar of "+m.Name)
				break
			}
		}
	}
}
