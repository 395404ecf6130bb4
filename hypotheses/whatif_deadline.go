package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

// A deadline decides, in the shadow of what was recorded, which calls would have
// been started and which requests stopped. It decides by what is known at the
// time: how much is left, and how long such a call takes as a rule.
type deadline struct {
	*replaying
	usual   map[graph.SlotID]int64 // the median duration of a slot's calls
	omitted map[graph.SlotID]float64
	late    float64
	work    [2]float64
}

func (r *replaying) deadline() *deadline {
	d := &deadline{replaying: r, omitted: map[graph.SlotID]float64{}}
	if r.Deadline == 0 {
		return d
	}
	r.out.Stopped = 0
	if math.IsNaN(r.out.Omitted) {
		r.out.Omitted = 0
	}
	d.usual = map[graph.SlotID]int64{}
	all := map[graph.SlotID]*part{}
	optional := false
	for j := range r.plans {
		q := r.request(j)
		for i := 1; i < len(q.Calls); i++ {
			slot := r.Relative(q, q.Calls[i].Slot)
			if all[slot] == nil {
				all[slot] = &part{}
				optional = optional || r.isOptional(slot)
			}
			all[slot].ns, all[slot].w = append(all[slot].ns, q.Calls[i].Outer().Duration()), append(all[slot].w, r.weights[j])
		}
	}
	for slot, p := range all {
		d.usual[slot] = int64(p.at(0.5))
	}
	r.out.Assumptions = append(r.out.Assumptions,
		"a mandatory call is started if what remains, less the reserve, holds its usual time (its median); else the request is stopped there",
		"an optional branch is left when only the reserve remains",
		"all work of a request ends at its deadline")
	if !optional {
		r.out.Assumptions = append(r.out.Assumptions, "no branch is declared optional, so none is left out: declare some in tailscope.yaml or with --optional")
	}
	return d
}

// run replays one request; ok is false if it is not answered.
func (d *deadline) run(e *graph.Evaluator, j int, p *graph.Plan, values []int64) (ns int64, ok bool) {
	if d.Deadline == 0 {
		return e.Run(p, values, graph.Course{}), true
	}
	q := d.request(j)
	w := d.weights[j]
	// As recorded: what was worked, and what of it after the deadline.
	e.Run(p, d.plans[j].Values(nil), graph.Course{})
	for i := range q.Calls {
		if !q.Calls[i].Work.Seen() {
			continue
		}
		if s, t, ran := e.Ran(2*int32(i) + 1); ran && t > s {
			d.work[0] += w * float64(t-s)
			d.late += w * float64(max(0, t-max(s, d.Deadline)))
		}
	}
	stopped := int64(math.MaxInt64)
	left := map[graph.SlotID]bool{}
	optional := func(half int32) (graph.SlotID, bool) {
		c := &q.Calls[half/2]
		slot := d.Relative(q, c.Slot)
		return slot, half/2 > 0 && half == outer(c, half/2) && d.isOptional(slot)
	}
	out := map[int32]bool{} // calls that are left out: their callers' own time stays
	ns = e.Run(p, values, graph.Course{
		Begin: func(half int32, at int64) bool {
			if half/2 == 0 {
				return true
			}
			slot, free := optional(half)
			if free {
				if d.Deadline-at < d.OptionalMin {
					left[slot], out[half/2] = true, true
				}
				return true
			}
			for c := half / 2; c > 0 && len(out) > 0; c = q.Calls[c].Parent {
				if out[c] {
					return false
				}
			}
			c := &q.Calls[half/2]
			if half == outer(c, half/2) && d.isCall(c) && !d.below(q, half/2) && at+d.usual[slot] > d.Deadline-d.Reserve {
				stopped = min(stopped, max(at, 0))
			}
			return true
		},
		End: func(half int32, start, end int64) int64 {
			slot, free := optional(half)
			switch {
			case free && out[half/2]:
				return start
			case free && end > d.Deadline-d.Reserve:
				left[slot] = true
				return max(start, d.Deadline-d.Reserve)
			}
			return end
		},
	})
	if ns > d.Deadline {
		stopped = min(stopped, d.Deadline)
	}
	until := min(stopped, d.Deadline)
	for i := range q.Calls {
		if !q.Calls[i].Work.Seen() {
			continue
		}
		if s, t, ran := e.Ran(2*int32(i) + 1); ran && min(t, until) > s {
			d.work[1] += w * float64(min(t, until)-s)
		}
	}
	if stopped != math.MaxInt64 {
		d.out.Stopped += w
		return stopped, false
	}
	if len(left) > 0 {
		d.out.Omitted += w
	}
	for slot := range left {
		d.omitted[slot] += w
	}
	return ns, true
}

// below reports whether a call lies below an optional branch: what happens there
// stops nothing above.
func (d *deadline) below(q *summary.Request, call int32) bool {
	for c := q.Calls[call].Parent; c > 0; c = q.Calls[c].Parent {
		if d.isOptional(d.Relative(q, q.Calls[c].Slot)) {
			return true
		}
	}
	return false
}

// finish reads the sums, for a total weight of the requests.
func (d *deadline) finish(total float64) {
	d.out.Work = [2]float64{math.NaN(), math.NaN()}
	d.out.LateAvoided = math.NaN()
	if d.Deadline == 0 || total == 0 {
		return
	}
	d.out.Work = [2]float64{d.work[0] / total, d.work[1] / total}
	d.out.LateAvoided = d.late / total
	for slot, w := range d.omitted {
		_, peer, op := d.names(slot)
		d.out.Omissions = append(d.out.Omissions, Omission{peer, op, w / total})
	}
	slices.SortFunc(d.out.Omissions, func(x, y Omission) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Operation, y.Operation))
	})
	if d.out.Stopped > 0 {
		d.out.Assumptions = append(d.out.Assumptions, prose.Sprintf("%.3g %% of the requests are answered with a failure, and their latency is in no percentile: slow successes that became failures are no improvement", 100*d.out.Stopped))
	}
}
