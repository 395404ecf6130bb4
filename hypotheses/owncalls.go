package hypotheses

import (
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// An ownCall is the own time of one call's work, and how crowded it was.
type ownCall struct {
	slot  graph.SlotID // relative
	proc  graph.ProcID
	start trace.Time // by the clock of proc
	ns    int64
	peers float64 // other requests at work in the same process, on average when it began to work: those that wait are none
}

// maxSiblings is how many stretches of a request are looked at for siblings.
const maxSiblings = 200

// workCall is the call whose work a call is a part of: of an internal span that around it.
func (a *Asking) workCall(q *summary.Request, call int32) int32 {
	for a.workOf(q.Calls[call].Slot) != q.Calls[call].Slot {
		call = q.Calls[call].Parent
	}
	return call
}

// A piece is one stretch of own time of a call.
type piece struct {
	call       int32
	proc       graph.ProcID
	start, end trace.Time
}

// ownCalls is the own time of every call's work on one side: its half less what
// it waited for, and less the waits that a queue owns. Peers are the requests of all endpoints.
func (a *Asking) ownCalls(side int) []ownCall {
	if a.owned[side] != nil {
		return a.owned[side]
	}
	s := a.Sides[side]
	crowds := s.Set.Work().Crowds
	out := []ownCall{}
	var own []int64
	var crowded []float64 // of each call: its own time, times the peers it had
	var pieces []piece
	for j, q := range s.Counted {
		plan := a.planOf(side, j)
		own, crowded, pieces = append(own[:0], make([]int64, len(q.Calls))...), append(crowded[:0], make([]float64, len(q.Calls))...), pieces[:0]
		s.Set.Calibration.OwnWork(q.Record, plan, func(call int32, k int) {
			st := &plan.Steps[k]
			call = a.workCall(q, call)
			own[call] += a.working(side, j, k, st.NS)
			if w := &q.Calls[call].Work; w.Seen() && st.NS > 0 {
				pieces = append(pieces, piece{call, w.Proc, st.At - trace.Time(st.NS), st.At})
			}
		})
		for i, x := range pieces {
			// Its own request's work is no peer: a kind of request that makes many calls
			// and is slow would look like a crowd.
			siblings := 0
			for _, o := range pieces[:min(len(pieces), maxSiblings)] {
				if o.proc == x.proc && o.start <= x.start && x.start < o.end {
					siblings++
				}
			}
			if i >= maxSiblings {
				siblings++ // itself
			}
			crowded[x.call] += float64(x.end-x.start) * float64(max(0, crowds[x.proc].At(x.start)-siblings))
		}
		for i := range q.Calls {
			c := &q.Calls[i]
			if !c.Work.Seen() || a.workCall(q, int32(i)) != int32(i) {
				continue
			}
			o := ownCall{slot: a.Relative(q, c.Slot), proc: c.Work.Proc, start: c.Work.Start, ns: own[i]}
			if o.ns > 0 {
				o.peers = crowded[i] / float64(o.ns)
			}
			out = append(out, o)
		}
	}
	a.owned[side] = out
	return out
}
