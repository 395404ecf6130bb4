package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// late fills the work after callers left, and after responses.
func (a *analyzer) late(e *report.Endpoint, v *view) {
	totals, edges, after := a.lateOf(v, v.side())
	e.LateWork.LateTotals, e.LateWork.Edges, e.After = totals, edges, after
	if b := v.Sides[summary.Baseline]; b != nil {
		t, _, _ := a.lateOf(v, b)
		e.LateWork.Baseline = &t
	}
}

func (a *analyzer) lateOf(v *view, s *hypotheses.Side) (totals report.LateTotals, edges report.List[report.LateEdge], after report.After) {
	l := summary.NewLedger(s.Set.Calibration)
	byEdge := map[graph.SlotID]*report.LateEdge{}
	seconds := window(s.Set)
	var total float64
	for _, q := range s.All {
		if q.Standing != graph.Counted {
			continue
		}
		w := weight(q.Weight)
		l.Charge(q.Record)
		late := map[int32][]trace.Interval{} // by the call that was left
		var all, beyond []trace.Interval
		for _, b := range l.Walker.Late {
			if q.Calls[b.By].Flags&graph.Loser != 0 {
				continue // hedging's
			}
			iv := trace.Interval{Start: trace.Time(b.Start), End: trace.Time(b.End)}
			late[b.By] = append(late[b.By], iv)
			all = append(all, iv)
		}
		for _, b := range l.Walker.After {
			beyond = append(beyond, trace.Interval{Start: trace.Time(b.Start), End: trace.Time(b.End)})
		}
		if n := union(beyond); n > 0 {
			after.Requests += report.Float(w)
			after.TotalMs += report.Float(w * float64(n) / 1e6)
		}
		ns := union(all)
		total += w * float64(ns)
		totals.TotalMs += report.Float(w * float64(ns) / 1e6)
		for i := range q.Calls {
			c := &q.Calls[i]
			if i > 0 && !c.Client.Seen() && c.OuterEnd() == graph.Succeeded {
				continue // not a call to someone
			}
			totals.Attempts += report.Float(w)
			slot := v.Relative(q, c.Slot)
			edge := byEdge[slot]
			if edge == nil {
				sl := a.reading.Dict.SlotAt(slot)
				edge = &report.LateEdge{Service: a.caller(sl), Peer: a.peer(sl), Operation: a.shownOperation(sl), MeanInFlight: report.Null, WaitingMs: report.Null, WorkingMs: report.Null}
				byEdge[slot] = edge
			}
			edge.Attempts += report.Float(w)
			a.belief(edge, c, w)
			if n := union(late[int32(i)]); n > 0 {
				totals.LateAttempts += report.Float(w)
				edge.LateAttempts += report.Float(w)
				edge.TotalMs += report.Float(w * float64(n) / 1e6)
				if c.Paired() && l.Walker.Began(int32(i), false) >= l.Walker.Ended(int32(i), true) {
					edge.StartedAfter += report.Float(w)
				}
			}
		}
	}
	totals.MeanInFlight = report.Null
	if seconds > 0 {
		totals.MeanInFlight = report.Some(total / 1e9 / seconds)
	}
	for _, edge := range byEdge {
		if edge.LateAttempts == 0 && edge.ClientFailedServerSucceeded == 0 && edge.ClientFailedUnknown == 0 {
			continue
		}
		if seconds > 0 {
			edge.MeanInFlight = report.Some(float64(edge.TotalMs) / 1e3 / seconds)
		}
		edges = append(edges, *edge)
	}
	slices.SortFunc(edges, func(x, y report.LateEdge) int {
		return cmp.Or(cmp.Compare(y.TotalMs, x.TotalMs), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Peer, y.Peer), cmp.Compare(x.Operation, y.Operation), cmp.Compare(y.Attempts, x.Attempts))
	})
	return totals, edges, after
}

// belief counts what a client believed against what its server did.
func (a *analyzer) belief(edge *report.LateEdge, c *graph.Call, w float64) {
	if !c.Client.Seen() {
		return
	}
	n := report.Float(w)
	failed := c.ClientEnd != graph.Succeeded
	switch {
	case !c.Work.Seen() && failed:
		edge.ClientFailedUnknown += n
	case !c.Work.Seen():
		edge.ClientSucceededUnknown += n
	case c.WorkEnd == graph.Succeeded && failed:
		edge.ClientFailedServerSucceeded += n
	case c.WorkEnd == graph.Succeeded:
		edge.ClientSucceededServerSucceeded += n
	case failed:
		edge.ClientFailedServerFailed += n
	default:
		edge.ClientSucceededServerFailed += n
	}
}

// union is the length of the union of intervals, which it sorts.
func union(v []trace.Interval) int64 {
	slices.SortFunc(v, func(a, b trace.Interval) int { return cmp.Compare(a.Start, b.Start) })
	var total int64
	var end trace.Time
	for i, x := range v {
		if i == 0 || x.Start > end {
			total += x.Duration()
			end = x.End
		} else if x.End > end {
			total += int64(x.End - end)
			end = x.End
		}
	}
	return total
}

// attempts fills the calls that were tried more than once, or failed.
func (a *analyzer) attempts(e *report.Endpoint, v *view) {
	type key struct {
		parent graph.SlotID
		caller trace.Endpoint
	}
	count := func(s *hypotheses.Side) (map[key]*report.AttemptTotals, map[key]graph.SlotID) {
		m, slots := map[key]*report.AttemptTotals{}, map[key]graph.SlotID{}
		l := summary.NewLedger(s.Set.Calibration)
		for _, q := range s.All {
			if q.Standing != graph.Counted {
				continue
			}
			w := report.Float(weight(q.Weight))
			keyOf := func(i int32) (key, graph.SlotID) {
				slot := v.Relative(q, q.Calls[i].Slot)
				sl := a.reading.Dict.SlotAt(slot)
				return key{parent: sl.Parent, caller: sl.Caller}, slot
			}
			for i := 1; i < len(q.Calls); i++ {
				c := &q.Calls[i]
				if !c.Client.Seen() {
					continue
				}
				k, slot := keyOf(int32(i))
				t := m[k]
				if t == nil {
					t = &report.AttemptTotals{}
					m[k] = t
				}
				// Named by the callee where any attempt reached it.
				if old, ok := slots[k]; !ok || a.reading.Dict.SlotAt(old).Callee.Service == 0 || slot < old && a.reading.Dict.SlotAt(slot).Callee.Service != 0 {
					slots[k] = slot
				}
				t.Attempts += w
				switch {
				case c.Flags&graph.Retry != 0:
					t.Retries += w
				case c.Flags&graph.Hedge != 0:
					t.Hedges += w
				default:
					t.Logical += w
				}
				if c.ClientEnd != graph.Succeeded && c.Flags&graph.Loser == 0 {
					t.Failed += w
					t.FailedMs += w * report.Float(float64(c.Client.Duration())/1e6)
				}
				if c.Flags&graph.Retry != 0 && c.Paired() && c.WorkEnd == graph.Succeeded {
					t.Duplicates += w * duplicated(q.Record, int32(i))
				}
			}
			for _, p := range l.Charge(q.Record) {
				if p.Kind == summary.Backoff && p.Next >= 0 {
					if k, _ := keyOf(p.Next); m[k] != nil {
						m[k].BackoffMs += w * report.Float(float64(p.End-p.Start)/1e6)
					}
				}
			}
		}
		return m, slots
	}
	cur, slots := count(v.side())
	var base map[key]*report.AttemptTotals
	if b := v.Sides[summary.Baseline]; b != nil {
		base, _ = count(b)
	}
	// By content: rows that the order below does not tell apart keep this one.
	d := a.reading.Dict
	keys := slices.SortedFunc(maps.Keys(cur), func(x, y key) int {
		return cmp.Or(strings.Compare(d.Path(x.parent), d.Path(y.parent)), strings.Compare(d.String(x.caller.Service), d.String(y.caller.Service)), strings.Compare(d.String(x.caller.Operation), d.String(y.caller.Operation)))
	})
	for _, k := range keys {
		t, b := cur[k], base[k]
		if t.Attempts == t.Logical && t.Failed == 0 && (b == nil || b.Attempts == b.Logical && b.Failed == 0) {
			continue
		}
		s := a.reading.Dict.SlotAt(slots[k])
		row := report.Attempts{Service: a.caller(s), Peer: a.peer(s), Operation: a.shownOperation(s), AttemptTotals: *t}
		if base != nil {
			if b == nil {
				b = &report.AttemptTotals{}
			}
			row.Baseline = b
		}
		e.Attempts = append(e.Attempts, row)
	}
	slices.SortStableFunc(e.Attempts, func(x, y report.Attempts) int {
		return cmp.Or(cmp.Compare(y.Attempts-y.Logical, x.Attempts-x.Logical), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Peer, y.Peer), cmp.Compare(x.Operation, y.Operation), cmp.Compare(y.Attempts, x.Attempts))
	})
}

// duplicated is 1 if the work of retry i had been done by the attempt before
// it, which its client believed to have failed.
func duplicated(r *graph.Record, i int32) report.Float {
	c := &r.Calls[i]
	for k := c.Parent + 1; k < i; k += r.Calls[k].Len {
		b := &r.Calls[k]
		if b.Slot == c.Slot && b.Attempt+1 == c.Attempt && b.ClientEnd != graph.Succeeded && b.Work.Seen() && b.WorkEnd == graph.Succeeded {
			return 1
		}
	}
	return 0
}
