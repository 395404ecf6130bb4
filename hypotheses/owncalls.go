package hypotheses

import (
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/trace"
)

// An ownCall is the own time of one call's work, and how crowded it was.
type ownCall struct {
	slot  graph.SlotID // relative
	proc  graph.ProcID
	ns    int64
	start trace.Time
	peers int // work of other requests in the same process when it began
}

// maxSiblingCalls is how many calls of a request are looked at for siblings.
const maxSiblingCalls = 200

// ownCalls is the own time of every call's work on one side: its half less what
// it waited for, and less the waits that a queue owns.
func (a *Asking) ownCalls(side int) []ownCall {
	if a.owned[side] != nil {
		return a.owned[side]
	}
	s := a.Sides[side]
	owners := s.Set.Calibration.Owners
	out := []ownCall{}
	type stretch struct{ starts, ends []trace.Time }
	busy := map[graph.ProcID]*stretch{}
	var own []int64
	for j, q := range s.Counted {
		plan := a.planOf(side, j)
		own = append(own[:0], make([]int64, len(q.Calls))...)
		for k := range plan.Steps {
			st := &plan.Steps[k]
			c := &q.Calls[st.Call()]
			switch {
			case st.Leave && st.Client() == !c.Work.Seen():
				own[st.Call()] += st.NS
			case !st.Leave && st.Call() != 0 && st.Client() == c.Client.Seen():
				p := &q.Calls[c.Parent]
				if p.Paired() && c.Flags&graph.OnClient != 0 || c.Flags&(graph.Retry|graph.Hedge) != 0 || c.Client.Seen() && owners.Of(c, queuewait.Lead).Claimed() {
					continue
				}
				own[c.Parent] += st.NS
			}
		}
		for i := range q.Calls {
			c := &q.Calls[i]
			if !c.Work.Seen() {
				continue
			}
			// Its own request's calls are no peers: a kind of request that makes many
			// and is slow would look like a crowd.
			siblings := 0
			for k := range q.Calls {
				if o := &q.Calls[k].Work; o.Proc == c.Work.Proc && o.Start <= c.Work.Start && c.Work.Start < o.End {
					siblings++
				}
				if k > maxSiblingCalls {
					break
				}
			}
			out = append(out, ownCall{a.Relative(q, c.Slot), c.Work.Proc, own[i], c.Work.Start, -siblings})
			b := busy[c.Work.Proc]
			if b == nil {
				b = &stretch{}
				busy[c.Work.Proc] = b
			}
			b.starts, b.ends = append(b.starts, c.Work.Start), append(b.ends, c.Work.End)
		}
	}
	for _, b := range busy {
		slices.Sort(b.starts)
		slices.Sort(b.ends)
	}
	for i := range out {
		b := busy[out[i].proc]
		began, _ := slices.BinarySearch(b.starts, out[i].start+1)
		ended, _ := slices.BinarySearch(b.ends, out[i].start+1)
		out[i].peers = max(0, out[i].peers+began-ended)
	}
	a.owned[side] = out
	return out
}
