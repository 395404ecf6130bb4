package hypotheses

import (
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/radix"
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
// it waited for, and less the waits that a queue owns.
func (a *Asking) ownCalls(side int) []ownCall {
	if a.owned[side] != nil {
		return a.owned[side]
	}
	s := a.Sides[side]
	owners := s.Set.Calibration.Owners
	out := []ownCall{}
	type stretch struct {
		starts, ends []trace.Time
		of           []int32 // of each that began: its place in where; -1 of none
	}
	busy := map[graph.ProcID]*stretch{}
	type at struct {
		out      int
		ns       int64
		siblings int
		others   int // at work when it began, siblings among them
	}
	var where []at
	var own []int64
	var index []int32 // in out, of each call of the request; -1 of what is part of another's work
	var pieces []piece
	for j, q := range s.Counted {
		plan := a.planOf(side, j)
		own, pieces = append(own[:0], make([]int64, len(q.Calls))...), pieces[:0]
		add := func(call int32, st *graph.Step, ns int64) {
			call = a.workCall(q, call)
			own[call] += ns
			if w := &q.Calls[call].Work; w.Seen() && st.NS > 0 {
				pieces = append(pieces, piece{call, w.Proc, st.At - trace.Time(st.NS), st.At})
			}
		}
		for k := range plan.Steps {
			st := &plan.Steps[k]
			c := &q.Calls[st.Call()]
			switch {
			case st.Leave && st.Client() == !c.Work.Seen():
				add(st.Call(), st, a.working(side, j, k, st.NS))
			case !st.Leave && st.Call() != 0 && st.Client() == c.Client.Seen():
				p := &q.Calls[c.Parent]
				if p.Paired() && c.Flags&graph.OnClient != 0 || c.Flags&(graph.Retry|graph.Hedge) != 0 || owners.Before(c) != nil {
					continue
				}
				add(c.Parent, st, a.working(side, j, k, st.NS))
			}
		}
		index = index[:0]
		for i := range q.Calls {
			index = append(index, -1)
			if c := &q.Calls[i]; c.Work.Seen() && a.workCall(q, int32(i)) == int32(i) {
				index[i] = int32(len(out))
				out = append(out, ownCall{slot: a.Relative(q, c.Slot), proc: c.Work.Proc, start: c.Work.Start, ns: own[i]})
			}
		}
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
			of := int32(-1)
			if k := index[x.call]; k >= 0 {
				of = int32(len(where))
				where = append(where, at{out: int(k), ns: int64(x.end - x.start), siblings: siblings})
			}
			b := busy[x.proc]
			if b == nil {
				b = &stretch{}
				busy[x.proc] = b
			}
			b.starts, b.ends, b.of = append(b.starts, x.start), append(b.ends, x.end), append(b.of, of)
		}
	}
	for _, b := range busy {
		radix.Ints(b.ends)
		order, ended := radix.Order(len(b.starts), func(i int) int64 { return int64(b.starts[i]) }), 0
		for began := 0; began < len(order); { // those that begin together are at work together
			first := began
			for began < len(order) && order[began].Key == order[first].Key {
				began++
			}
			for ended < len(b.ends) && int64(b.ends[ended]) <= order[first].Key {
				ended++
			}
			for _, x := range order[first:began] {
				if n := b.of[x.Place]; n >= 0 {
					where[n].others = began - ended
				}
			}
		}
	}
	sums := make([]float64, len(out))
	for _, x := range where {
		sums[x.out] += float64(x.ns) * float64(max(0, x.others-x.siblings))
	}
	for i := range out {
		if out[i].ns > 0 {
			out[i].peers = sums[i] / float64(out[i].ns)
		}
	}
	a.owned[side] = out
	return out
}
