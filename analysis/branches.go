package analysis

import (
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
)

const (
	// maxWalked is how many requests, evenly spread, say what branches cost.
	maxWalked = 500
	// maxDragged is how many calls a request may have for each to be left out in
	// turn, which costs their number squared.
	maxDragged = 100
)

// A branch is what a node and all below it cost in the requests that were
// walked.
type branch struct {
	requests int // that have it
	blocking int // of them: those in which the path leads through it
	dragged  int
	drag     int64 // by how much requests would be shorter without it

	// Of single calls:
	calls  int
	self   int64
	waited int64 // the longest that a parent waited for one
	slack  int64
	slacks int     // calls whose slack was asked for
	crowd  float64 // calls of the parent that ran while it did, summed over its time
	ran    float64 // its time
}

// branches finds what each node of the current side costs.
func (a *analyzer) branches(v *view, s *hypotheses.Side) map[graph.SlotID]*branch {
	out := map[graph.SlotID]*branch{}
	w := &graph.Walker{Dict: a.reading.Dict, Verdicts: s.Set.Calibration.Verdicts}
	var e graph.Evaluator
	stride := (len(s.Counted) + maxWalked - 1) / maxWalked
	for i := 0; i < len(s.Counted); i += max(stride, 1) {
		q := s.Counted[i]
		w.Walk(q.Record)
		onPath := make([]bool, len(q.Calls))
		for _, p := range w.Path {
			for c := p.Call; c >= 0 && !onPath[c]; c = q.Calls[c].Parent {
				onPath[c] = true
			}
		}
		has, blocks := map[graph.SlotID][]int32{}, map[graph.SlotID]bool{}
		for c := range q.Calls {
			slot := v.Relative(q, q.Calls[c].Slot)
			has[slot] = append(has[slot], int32(c))
			blocks[slot] = blocks[slot] || onPath[c]
		}
		plan := w.Plan(q.Record, nil)
		values := plan.Values(nil)
		slack := e.Slack(plan)
		for slot, calls := range has {
			b := out[slot]
			if b == nil {
				b = &branch{}
				out[slot] = b
			}
			for _, c := range calls {
				b.calls++
				b.self += w.Self(c)
				b.waited = max(b.waited, w.Waited(c))
				if x := w.Slack(slack, c); x >= 0 {
					b.slack += x
					b.slacks++
				}
			}
		}
		crowds(q, func(c int32, crowd, ran float64) {
			b := out[v.Relative(q, q.Calls[c].Slot)]
			b.crowd += crowd
			b.ran += ran
		})
		for slot, calls := range has {
			b := out[slot]
			if b == nil {
				b = &branch{}
				out[slot] = b
			}
			b.requests++
			if blocks[slot] {
				b.blocking++
			}
			if len(q.Calls) > maxDragged || q.Calls[calls[0]].Parent < 0 {
				continue
			}
			b.dragged++
			if blocks[slot] { // what is not on the path drags nothing
				without := e.Latency(plan, values, func(half int32) bool {
					return q.Calls[half/2].Slot == q.Calls[calls[0]].Slot
				})
				b.drag += max(0, q.Duration()-without)
			}
		}
	}
	return out
}

// fill shows a branch on its node.
func (b *branch) fill(n *report.Node) {
	n.BlockingShare, n.DragMs, n.SlackMs, n.SelfMs, n.Concurrency, n.WaitedUpToMs = report.Null, report.Null, report.Null, report.Null, report.Null, report.Null
	if b == nil {
		return
	}
	n.BlockingShare = report.Some(float64(b.blocking) / float64(b.requests))
	n.SelfMs = msOf(float64(b.self) / float64(b.calls))
	if n.Parent >= 0 {
		if b.slacks > 0 {
			n.SlackMs = msOf(float64(b.slack) / float64(b.slacks))
		}
		if b.ran > 0 {
			n.Concurrency = report.Some(b.crowd / b.ran)
		}
		if n.WaitedFor {
			n.WaitedUpToMs = report.Ms(b.waited)
		}
	}
	if b.dragged > 0 {
		n.DragMs = msOf(float64(b.drag) / float64(b.dragged))
	}
}

// crowds tells of each call how many calls of its parent, itself included, ran
// while it did: the sum over its time, and its time. Where more than maxDragged
// calls have one parent, it tells of none.
func crowds(q *summary.Request, tell func(call int32, crowd, ran float64)) {
	var kids []int32
	for p := range q.Calls {
		kids = kids[:0]
		for i := int32(p) + 1; i < int32(p)+q.Calls[p].Len; i += q.Calls[i].Len {
			kids = append(kids, i)
		}
		if len(kids) > maxDragged {
			continue
		}
		for _, i := range kids {
			o := q.Calls[i].Outer().Interval
			crowd := 0.0
			for _, k := range kids {
				x := q.Calls[k].Outer().Interval.Clip(o)
				crowd += max(0, float64(x.Duration()))
			}
			tell(i, crowd, float64(o.Duration()))
		}
	}
}
