package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A queueKey is a call that waits, or the explicit wait of a resource.
type queueKey struct {
	slot     graph.SlotID
	site     queuewait.Site
	explicit trace.StringID // the evidence of an explicit wait
	front    bool           // it lies before the callee's span
	resource trace.StringID
}

type queueStat struct {
	wait, gap, service []int64
	w                  []float64

	// What of the gaps is no wait, at least and at most, summed with the calls'
	// weights.
	least, most float64
}

func (s *queueStat) add(wait, gap, service int64, floor queuewait.Floor, w float64) {
	s.wait, s.gap, s.service, s.w = append(s.wait, wait), append(s.gap, gap), append(s.service, service), append(s.w, w)
	s.least += float64(floor.Lo) * w
	s.most += float64(floor.Hi) * w
}

// queues fills the waits before calls were served.
func (a *analyzer) queues(e *report.Endpoint, v *view) {
	sides := [2]map[queueKey]*queueStat{}
	keys := map[queueKey]bool{}
	for i, s := range v.Sides {
		if s == nil {
			continue
		}
		sides[i] = a.queueStats(v, s)
		for k := range sides[i] {
			keys[k] = true
		}
	}
	order := make([]queueKey, 0, len(keys))
	for k := range keys {
		order = append(order, k)
	}
	slices.SortFunc(order, func(x, y queueKey) int {
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.site, y.site), cmp.Compare(x.explicit, y.explicit), cmp.Compare(before(x.front), before(y.front)), cmp.Compare(x.resource, y.resource))
	})
	for _, k := range order {
		s := a.reading.Dict.SlotAt(k.slot)
		q := report.Queue{Service: a.caller(s), Peer: a.peer(s), Operation: a.shownOperation(s), Evidence: "client duration less server duration, beyond the floor", Owner: string(report.Untraced), InferredLimit: report.Null}
		a.owner(&q, v, k)
		if k.explicit != 0 {
			q.Evidence, q.Resource, q.Owner = a.str(k.explicit), a.str(k.resource), string(report.ClientWait)
			if k.front {
				q.Owner = string(report.ServerQueue)
			}
		}
		occupancy := func(side int, s *report.QueueSide) {
			if o := a.verdictOn(v, k); o != nil && o.Sides[side] != nil {
				occupied(s, o, side)
			}
		}
		q.Current = queueSide(sides[summary.Current][k])
		occupancy(summary.Current, &q.Current)
		if a.reading.Comparison() {
			b := queueSide(sides[summary.Baseline][k])
			occupancy(summary.Baseline, &b)
			q.Baseline = &b
		}
		e.Queues = append(e.Queues, q)
	}
	slices.SortStableFunc(e.Queues, func(x, y report.Queue) int { return cmp.Compare(y.Current.MeanMs.Or(0), x.Current.MeanMs.Or(0)) })
}

// before is 0 of a wait in front of a span, which is shown first, and 1 else.
func before(front bool) int {
	if front {
		return 0
	}
	return 1
}

// caller is the service that makes a call.
func (a *analyzer) caller(s *graph.Slot) string {
	if s.Caller.Service != 0 {
		return a.str(s.Caller.Service)
	}
	return a.str(s.Callee.Service)
}

func (a *analyzer) queueStats(v *view, s *hypotheses.Side) map[queueKey]*queueStat {
	m := map[queueKey]*queueStat{}
	get := func(k queueKey) *queueStat {
		if m[k] == nil {
			m[k] = &queueStat{}
		}
		return m[k]
	}
	l := summary.NewLedger(s.Set.Calibration)
	for _, q := range s.Counted {
		l.Charge(q.Record)
		w := weight(q.Weight)
		for i := range q.Calls {
			c := &q.Calls[i]
			if wait, gap, floor, ok := l.Gap(q.Record, int32(i)); ok {
				get(queueKey{slot: v.Relative(q, c.Slot), site: queuewait.Between}).add(wait, gap, c.Work.Duration(), floor, w)
			}
			if o := l.Calibration.Owners.Of(c, queuewait.Accepted); o.Claimed() {
				wait, least, most := o.Accepted(l.Calibration.Side, c)
				get(queueKey{slot: v.Relative(q, c.Slot), site: queuewait.Accepted}).
					add(wait, wait, c.Work.Duration()-wait, queuewait.Floor{Lo: wait - most, Hi: wait - least}, w)
			}
			if o := l.Calibration.Owners.Of(c, queuewait.Inside); o.Claimed() && !c.ClientEnd.Left() {
				wait, least, most := o.Inside(l.Calibration.Side, c)
				get(queueKey{slot: v.Relative(q, c.Slot), site: queuewait.Inside}).
					add(wait, wait, c.Client.Duration()-wait, queuewait.Floor{Lo: wait - most, Hi: wait - least}, w)
			}
		}
		a.leads(v, q, &l.Walker, func(k queueKey, wait, gap, service int64, floor queuewait.Floor) {
			get(k).add(wait, gap, service, floor, w)
		})
		for _, x := range q.Waits {
			c := &q.Calls[x.Call]
			front := !x.Client && c.Paired() && x.End <= c.Work.Start
			get(queueKey{v.Relative(q, c.Slot), queuewait.Between, x.Evidence, front, x.Resource}).
				add(x.Duration(), x.Duration(), c.Outer().Duration()-x.Duration(), queuewait.Floor{}, w)
		}
	}
	return m
}

// leads calls f for each call of a request whose wait shows before its first
// span and is a queue's.
func (a *analyzer) leads(v *view, q *summary.Request, w *graph.Walker, f func(k queueKey, wait, gap, service int64, floor queuewait.Floor)) {
	owners := q.Set.Calibration.Owners
	var plan *graph.Plan
	for i := 1; i < len(q.Calls); i++ {
		c := &q.Calls[i]
		queue := owners.Before(c)
		if queue == nil {
			continue
		}
		if plan == nil {
			plan = w.Plan(q.Record, nil)
		}
		for k := range plan.Steps {
			s := &plan.Steps[k]
			if s.Leave || int(s.Call()) != i || s.Client() != c.Client.Seen() {
				continue
			}
			accepted, _, _ := owners.AcceptedIn(q.Set.Calibration.Side, q.Record, s)
			lead := max(0, s.NS-accepted)
			wait, floor := owners.Lead(q.Set.Calibration.Side, q.Record, int32(i), lead)
			f(queueKey{slot: v.Relative(q, c.Slot), site: queue.Key.Site}, wait, lead, c.Outer().Duration(), floor)
		}
	}
}

// verdictOn is the verdict on whose queue a row is; nil of an explicit wait.
func (a *analyzer) verdictOn(v *view, k queueKey) *queuewait.Verdict {
	if k.explicit != 0 {
		return nil
	}
	for _, side := range v.Sides {
		if side == nil {
			continue
		}
		for _, q := range side.Counted {
			for i := range q.Calls {
				if v.Relative(q, q.Calls[i].Slot) == k.slot && (k.site == queuewait.Accepted || k.site == queuewait.Ahead || q.Calls[i].Client.Seen()) && (k.site != queuewait.Between || q.Calls[i].Paired()) {
					return q.Set.Calibration.Owners.Of(&q.Calls[i], k.site)
				}
			}
		}
	}
	return nil
}

// owner says whose queue it is, and what was asked.
func (a *analyzer) owner(q *report.Queue, v *view, k queueKey) {
	switch k.site {
	case queuewait.Lead:
		q.Evidence = "time in the caller before the client span, beyond the usual"
	case queuewait.Ahead:
		s := a.reading.Dict.SlotAt(k.slot)
		q.Service, q.Peer = a.str(a.reading.Dict.SlotAt(s.Parent).Callee.Service), a.str(s.Callee.Service)
		q.Evidence = "time in the caller before the server span, beyond the usual: there is no client span"
	case queuewait.Accepted:
		q.Evidence = "time within the server span, by workers that take requests in turn"
	case queuewait.Inside:
		q.Evidence = "time within the client span, by the pool's metrics"
	}
	o := a.verdictOn(v, k)
	if o == nil {
		return
	}
	q.Owner, q.Resource = string(o.Owner), o.Resource
	for _, t := range o.Tests {
		q.Tests = append(q.Tests, report.OwnerTest{Test: t.Name, Says: string(t.Says), Decided: t.Decided, Statement: t.Statement})
	}
	limit := func(side int) report.Num {
		if s := o.Sides[side]; s != nil && s.Shown {
			return report.Int(int64(s.Limit))
		}
		return report.Null
	}
	q.InferredLimit = limit(summary.Current)
	if a.reading.Comparison() {
		q.InferredLimitBaseline = limit(summary.Baseline)
	}
	for side, name := range [2]string{"baseline", "current"} {
		if s := o.Sides[side]; s != nil && o.Claimed() && s.LittleDisagrees() {
			q.Warnings = append(q.Warnings, prose.Sprintf("%s: by their rate and their wait %.3g calls wait on average, and by the pool's metrics %.3g: they do not watch the same", name, s.Little, s.Pending))
		}
	}
	if !o.Model.OK && o.Claimed() && o.Model.Why != "" && a.reading.Comparison() {
		q.Warnings = append(q.Warnings, "the change of this wait is not split over its drivers: "+o.Model.Why)
	}
}

// occupied fills how full the resource was: by its metrics, else by the calls
// in flight against the limit that they show.
func occupied(s *report.QueueSide, o *queuewait.Verdict, side int) {
	x := o.Sides[side]
	over := func(list []float64) {
		for _, v := range list {
			s.Occupancy1s = append(s.Occupancy1s, report.Some(v))
		}
	}
	if p := x.Pool; p != nil && p.Occupancy.Seconds > 0 && (o.Owner == queuewait.ClientWait || o.Owner == queuewait.Own) {
		s.Occupancy, s.OccupancyP50, s.OccupancyMax = report.Some(p.Occupancy.P99), report.Some(p.Occupancy.P50), report.Some(p.Occupancy.Max)
		over(p.OccupancyOver)
	} else if f := x.Full; f != nil {
		s.Occupancy, s.OccupancyP50, s.OccupancyMax = report.Some(f.P99), report.Some(f.P50), report.Some(f.Max)
		over(f.Over)
	}
	if x.Peak > 0 {
		s.PerS, s.Peak1sPerS, s.Bursts = report.Some(x.PerSecond), report.Some(x.Peak), report.Some(x.Bursts)
	}
	if o.Claimed() {
		s.Waiting, s.Pending = report.Some(x.Little), report.Some(x.Pending)
	}
}

// unseen is by how much the mean wait of all calls may differ from that of those that were kept, each by itself with the
// probability of which its weight is the inverse: twice the standard error, and nothing where all were kept. Waits that
// come in bursts do not matter for it, since it is these calls that are asked about.
func (s *queueStat) unseen(mean, weight float64) float64 {
	var sum float64
	for i, x := range s.wait {
		sum += s.w[i] * max(0, s.w[i]-1) * (float64(x) - mean) * (float64(x) - mean)
	}
	return 2 * math.Sqrt(sum) / weight
}

func queueSide(s *queueStat) report.QueueSide {
	null := report.Null
	r := report.QueueSide{MeanMs: null, P50Ms: null, P99Ms: null, LoMs: null, HiMs: null, GapMs: null, PerS: null, Peak1sPerS: null, Bursts: null, Waiting: null, Pending: null, ServiceP99Ms: null, Occupancy: null, OccupancyP50: null, OccupancyMax: null}
	if s == nil {
		return r
	}
	var w, wait, gap float64
	for i := range s.w {
		w += s.w[i]
		wait += float64(s.wait[i]) * s.w[i]
		gap += float64(s.gap[i]) * s.w[i]
	}
	r.N = int64(len(s.wait))
	r.MeanMs, r.GapMs = msOf(wait/w), msOf(gap/w)
	off := s.unseen(wait/w, w)
	r.LoMs, r.HiMs = msOf(max(0, min(wait, max(0, gap-s.most))/w-off)), msOf(max(wait, gap-s.least)/w+off)
	r.P50Ms = msOf(float64(stats.Quantile(s.wait, s.w, 0.5)))
	r.P99Ms = msOf(float64(stats.Quantile(s.wait, s.w, 0.99)))
	r.ServiceP99Ms = msOf(float64(stats.Quantile(s.service, s.w, 0.99)))
	return r
}
