package queuewait

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// A Site is where a wait shows.
type Site uint8

const (
	// Between is the time between a client span and its server span.
	Between Site = iota
	// Lead is the time in the caller before a client span begins, since the step
	// before it ended.
	Lead
)

// An EdgeKey is the calls of one service to another, as far as they could wait
// for one resource: a pool of the caller, or the executor of the callee. Target
// is the callee's service, or the peer that the caller names.
type EdgeKey struct {
	Caller, Target trace.StringID
	Site           Site
}

// A Data is one set, for asking whose queue its waits are in.
type Data struct {
	Dict     *graph.Dict
	Records  []*graph.Record
	Verdicts *graph.Verdicts
	Pools    []metric.PoolView
	// Sampled is whether not all requests were kept.
	Sampled bool
}

// A Call is one call of an edge, in ns since the epoch.
type Call struct {
	Slot           graph.SlotID
	Caller, Callee graph.ProcID // Callee is NoProc without a server half

	// Asked is when the caller asked for the call: the start of the client span,
	// or the end of the step before it at a Lead. Given is when the wait ended as
	// the caller's clock has it, and GivenThere by the callee's; Done is when the
	// client span ended.
	Asked, Given, GivenThere, Done trace.Time

	Wait   int64          // likely: beyond the floor
	Served trace.Interval // the server half, by the callee's clock
	Slack  int64          // of the callee's clock against the caller's
	OneWay int64          // half the floor
}

// edges collects the calls of each edge.
func (d *Data) edges(floors *Floors, leads *Floors) map[EdgeKey][]Call {
	m := map[EdgeKey][]Call{}
	w := graph.Walker{Dict: d.Dict, Verdicts: d.Verdicts}
	for _, r := range d.Records {
		var plan *graph.Plan
		if leads != nil {
			plan = w.Plan(r, nil)
		}
		for i := range r.Calls {
			c := &r.Calls[i]
			if !c.Client.Seen() || c.Flags&(graph.Async|graph.Loser) != 0 {
				continue
			}
			if gap, ok := Gap(c); ok {
				m[key(d.Dict, c, Between)] = append(m[key(d.Dict, c, Between)], d.between(floors, c, gap))
			}
		}
		if plan == nil {
			continue
		}
		for i := range plan.Steps {
			s := &plan.Steps[i]
			c := &r.Calls[s.Call()]
			if s.Leave || !s.Client() || s.Call() == 0 || c.Flags&(graph.Async|graph.Loser|graph.Retry|graph.Hedge) != 0 {
				continue
			}
			k := key(d.Dict, c, Lead)
			floor, _ := leads.Of(c.Slot)
			m[k] = append(m[k], Call{
				Slot: c.Slot, Caller: c.Client.Proc, Callee: graph.NoProc,
				Asked: c.Client.Start - trace.Time(max(s.NS, 0)), Given: c.Client.Start, Done: c.Client.End, Wait: max(0, s.NS-floor.NS),
			})
		}
	}
	for _, calls := range m {
		slices.SortFunc(calls, func(a, b Call) int {
			return cmp.Or(cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Done, b.Done), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Caller, b.Caller))
		})
	}
	return m
}

func key(d *graph.Dict, c *graph.Call, site Site) EdgeKey {
	s := d.SlotAt(c.Slot)
	target := s.Callee.Service
	if target == 0 {
		target = s.Peer
	}
	return EdgeKey{s.Caller.Service, target, site}
}

func (d *Data) between(floors *Floors, c *graph.Call, gap int64) Call {
	floor, _ := floors.Of(c.Slot)
	a, b := d.Dict.ProcAt(c.Client.Proc).Host, d.Dict.ProcAt(c.Work.Proc).Host
	clocks := d.Verdicts.Clocks.At(c.Client.Start)
	shift, _ := clocks.Shift(a, b)
	return Call{
		Slot: c.Slot, Caller: c.Client.Proc, Callee: c.Work.Proc,
		Asked: c.Client.Start, Given: c.Work.Start + trace.Time(shift-floor.NS/2), GivenThere: c.Work.Start, Done: c.Client.End,
		Wait: max(0, gap-floor.NS), Served: c.Work.Interval, Slack: clocks.Slack(a, b), OneWay: floor.NS / 2,
	}
}

// LeadFloors is the usual lead of each slot: the time a caller takes by itself
// before the call. It is the floor of gaps that no server half bounds.
func LeadFloors(sets ...*Data) *Floors {
	merged := map[graph.SlotID]*Gaps{}
	for _, d := range sets {
		w := graph.Walker{Dict: d.Dict, Verdicts: d.Verdicts}
		for _, r := range d.Records {
			plan := w.Plan(r, nil)
			for i := range plan.Steps {
				s := &plan.Steps[i]
				if s.Leave || !s.Client() || s.Call() == 0 {
					continue
				}
				slot := r.Calls[s.Call()].Slot
				g := merged[slot]
				if g == nil {
					g = &Gaps{Min: max(s.NS, 0)}
					merged[slot] = g
				}
				g.Min = min(g.Min, max(s.NS, 0))
				g.Sketch.Add(max(s.NS, 0))
			}
		}
	}
	fl := &Floors{map[graph.SlotID]Floor{}}
	for slot, g := range merged {
		fl.floors[slot] = g.floor()
	}
	return fl
}

// floor is the least gap, or the quantile that counts as free of waiting.
func (g *Gaps) floor() Floor {
	f := Floor{g.Min, g.Sketch.N()}
	if f.N >= minFloor {
		f.NS = max(f.NS, int64(g.Sketch.Quantile(floorQuantile)))
	}
	return f
}
