package analysis

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A queueKey is a call that waits, or the explicit wait of a resource.
type queueKey struct {
	slot     graph.SlotID
	explicit trace.StringID // the evidence of an explicit wait
	resource trace.StringID
}

type queueStat struct {
	wait, gap, service []int64
	w                  []float64
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
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.explicit, y.explicit), cmp.Compare(x.resource, y.resource))
	})
	for _, k := range order {
		s := a.reading.Dict.SlotAt(k.slot)
		q := report.Queue{Service: a.caller(s), Peer: a.peer(s), Operation: a.shownOperation(s), Evidence: "client duration less server duration, beyond the floor", Owner: string(report.Untraced), InferredLimit: report.Null}
		if k.explicit != 0 {
			q.Evidence, q.Resource, q.Owner = a.str(k.explicit), a.str(k.resource), string(report.ClientWait)
		}
		q.Current = queueSide(sides[summary.Current][k])
		if a.reading.Comparison() {
			b := queueSide(sides[summary.Baseline][k])
			q.Baseline = &b
		}
		e.Queues = append(e.Queues, q)
	}
	slices.SortStableFunc(e.Queues, func(x, y report.Queue) int { return cmp.Compare(y.Current.MeanMs.Or(0), x.Current.MeanMs.Or(0)) })
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
			wait, gap, ok := l.Gap(q.Record, int32(i))
			if !ok {
				continue
			}
			st := get(queueKey{slot: v.Relative(q, c.Slot)})
			st.wait, st.gap, st.service, st.w = append(st.wait, wait), append(st.gap, gap), append(st.service, c.Work.Duration()), append(st.w, w)
		}
		for _, x := range q.Waits {
			c := &q.Calls[x.Call]
			st := get(queueKey{v.Relative(q, c.Slot), x.Evidence, x.Resource})
			service := c.Outer().Duration() - x.Duration()
			st.wait, st.gap, st.service, st.w = append(st.wait, x.Duration()), append(st.gap, x.Duration()), append(st.service, service), append(st.w, w)
		}
	}
	return m
}

func queueSide(s *queueStat) report.QueueSide {
	null := report.Null
	r := report.QueueSide{MeanMs: null, P50Ms: null, P99Ms: null, LoMs: null, HiMs: null, ServiceP99Ms: null, Occupancy: null, OccupancyP50: null, OccupancyMax: null}
	if s == nil {
		return r
	}
	mean := func(ns []int64) report.Num {
		var sum, w float64
		for i, x := range ns {
			sum += float64(x) * s.w[i]
			w += s.w[i]
		}
		return msOf(sum / w)
	}
	r.N = int64(len(s.wait))
	r.MeanMs, r.LoMs, r.HiMs = mean(s.wait), mean(s.wait), mean(s.gap)
	r.P50Ms = msOf(float64(stats.Quantile(s.wait, s.w, 0.5)))
	r.P99Ms = msOf(float64(stats.Quantile(s.wait, s.w, 0.99)))
	r.ServiceP99Ms = msOf(float64(stats.Quantile(s.service, s.w, 0.99)))
	return r
}
