package hypotheses

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
)

// A place is a call or a step of one of a side's counted requests.
type place struct{ req, at int32 }

// bySlot is places by slot, each list by request: what asks about one slot after the other need not walk all requests for each.
type bySlot [][]place

func (p *bySlot) add(slot graph.SlotID, x place) {
	if int(slot) >= len(*p) {
		*p = append(*p, make(bySlot, int(slot)+1-len(*p))...)
	}
	(*p)[slot] = append((*p)[slot], x)
}

func (p bySlot) of(slot graph.SlotID) []place {
	if slot < 0 || int(slot) >= len(p) {
		return nil
	}
	return p[slot]
}

// callsOf is the calls of a relative slot.
func (a *Asking) callsOf(side int, slot graph.SlotID) []place {
	if a.calls[side] == nil {
		a.calls[side] = bySlot{}
		for j, q := range a.Sides[side].Counted {
			for i := range q.Calls {
				a.calls[side].add(a.Relative(q, q.Calls[i].Slot), place{int32(j), int32(i)})
			}
		}
	}
	return a.calls[side].of(slot)
}

// stepsOf is the steps that are own time of a relative slot's work.
func (a *Asking) stepsOf(side int, slot graph.SlotID) []place {
	if a.steps[side] == nil {
		a.steps[side] = bySlot{}
		for j, q := range a.Sides[side].Counted {
			p := a.planOf(side, j)
			for k := range p.Steps {
				if work, ok := a.worksFor(q, &p.Steps[k]); ok {
					a.steps[side].add(work, place{int32(j), int32(k)})
				}
			}
		}
	}
	return a.steps[side].of(slot)
}

// stepsOfAll is the steps that are own time of any of several slots, by request.
func (a *Asking) stepsOfAll(side int, work []graph.SlotID) []place {
	if len(work) == 1 {
		return a.stepsOf(side, work[0])
	}
	var all []place
	for _, slot := range work {
		all = append(all, a.stepsOf(side, slot)...)
	}
	slices.SortFunc(all, func(x, y place) int { return cmp.Or(cmp.Compare(x.req, y.req), cmp.Compare(x.at, y.at)) })
	return all
}

// inRequest is where those of a list are that are of one request.
func inRequest(list []place, j int) (from, to int) {
	for n := len(list); n > 0; {
		if half := n >> 1; int(list[from+half].req) < j {
			from, n = from+half+1, n-half-1
		} else {
			n = half
		}
	}
	for to = from; to < len(list) && int(list[to].req) == j; {
		to++
	}
	return from, to
}

// A lasted is how long something of a request took.
type lasted struct {
	req int32
	ns  int64
}

// lengthIn is the length in one request of a list by request.
func lengthIn(list []lasted, j int) (ns int64, ok bool) {
	i, ok := slices.BinarySearchFunc(list, int32(j), func(x lasted, j int32) int { return cmp.Compare(x.req, j) })
	if !ok {
		return 0, false
	}
	return list[i].ns, true
}

// part is those lengths with the weights of their requests.
func (a *Asking) partOf(side int, list []lasted) *part {
	p := &part{ns: make([]int64, 0, len(list)), w: make([]float64, 0, len(list))}
	for _, x := range list {
		p.ns, p.w = append(p.ns, x.ns), append(p.w, float64(a.Sides[side].Counted[x.req].Weight)/graph.OneRequest)
	}
	return p
}

// plainly is the latencies of the current requests replayed with nothing put back.
func (a *Asking) plainly() []int64 {
	if a.plain == nil {
		a.plain = make([]int64, len(a.plans))
		var e graph.Evaluator
		var values []int64
		for j, p := range a.plans {
			values = p.Values(values)
			a.plain[j] = e.Latency(p, values, nil)
		}
	}
	return a.plain
}

// replayed is the latency of a current request with the values of its steps changed.
func (a *Asking) replayed(e *graph.Evaluator, j int, values []int64) int64 {
	p := a.plans[j]
	for k := range p.Steps {
		if values[k] != p.Steps[k].NS {
			return e.Latency(p, values, nil)
		}
	}
	return a.plainly()[j]
}
