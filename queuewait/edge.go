package queuewait

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/radix"
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
	// Ahead is the time in the caller before a server span whose client span nobody recorded, since the step before it
	// ended: the caller's work, a wait for a connection, the way there and a queue in front of the callee in one.
	Ahead
	// Inside is within a client span whose callee has no span of its own.
	Inside
	// Accepted is within a server span, before a worker takes its request.
	Accepted

	sites = iota
)

// An EdgeKey is the calls of one service to another, as far as they could wait
// for one resource: a pool of the caller, or the executor of the callee. Target
// is the callee's service, or the peer that the caller names. Accepted, it does not
// matter who called: Caller is zero.
type EdgeKey struct {
	Caller, Target trace.StringID
	Site           Site
}

// A Data is one set, for asking whose queue its waits are in.
type Data struct {
	Dict     *graph.Dict
	Records  []*graph.Record
	Verdicts *graph.Verdicts
	Queues   *Fold
	Pools    []metric.PoolView
	// Sampled is whether not all requests were kept.
	Sampled bool
}

// A Call is one call of an edge, in ns since the epoch.
type Call struct {
	Slot           graph.SlotID
	Caller, Callee graph.ProcID // Callee is NoProc without a server half

	// Asked is when the caller asked for the call: the start of the client span,
	// or the end of the step before it at a Lead and Ahead. Given is when the wait ended as
	// the caller's clock has it, and GivenThere by the callee's; Done is when the
	// client span ended, or the server span where there is none.
	Asked, Given, GivenThere, Done trace.Time

	Wait   int64          // likely: beyond the floor
	Served trace.Interval // the server half, by the callee's clock
	Slack  int64          // of the callee's clock against the caller's
	OneWay int64          // half the floor

	request int32 // whose call it is, at an Ahead
}

// hold is how long the call held a place at its caller. Where clocks tell little of when it got there, it is the time in the
// callee and on the way.
func (c *Call) hold() int64 {
	if served := c.Served.Duration(); c.Callee != graph.NoProc && c.Slack > served/10 {
		return served + 2*c.OneWay
	}
	return max(0, int64(c.Done-c.Given))
}

// edges collects the calls of each edge, in order of when they were asked for.
func (d *Data) edges(floors, leads *Floors, own []lead) map[EdgeKey][]Call {
	m := map[EdgeKey]*[]Call{}
	var bySlot [sites][]*[]Call
	speaks := d.speaking()
	for site := range bySlot {
		bySlot[site] = make([]*[]Call, d.Dict.Slots())
	}
	of := func(slot graph.SlotID, site Site) *[]Call {
		if list := bySlot[site][slot]; list != nil {
			return list
		}
		k := key(d.Dict, slot, site)
		if m[k] == nil {
			m[k] = new([]Call)
		}
		bySlot[site][slot] = m[k]
		return m[k]
	}
	sizes := make([]int, d.Dict.Slots())
	for i := range d.Queues.events.list {
		sizes[d.Queues.events.list[i].Slot]++
	}
	add := func(slot graph.SlotID, site Site, c Call) {
		list := of(slot, site)
		if len(*list) == cap(*list) {
			*list = slices.Grow(*list, sizes[slot])
		}
		*list = append(*list, c)
	}
	for i := range d.Queues.events.list {
		x := &d.Queues.events.list[i]
		gap := x.Client.Duration() - x.Served.Duration()
		if s := d.Dict.SlotAt(x.Slot); x.Callee == graph.NoProc && !x.Left && s.Callee.Service == 0 && !speaks[x.Slot] {
			add(x.Slot, Inside, Call{Slot: x.Slot, Caller: x.Caller, Callee: graph.NoProc, Asked: x.Client.Start, Given: x.Client.Start, Done: x.Client.End})
		}
		if x.Left || x.Callee == graph.NoProc || gap < 0 {
			continue
		}
		add(x.Slot, Between, d.between(floors, x, gap))
	}
	for i := range own {
		x := &own[i]
		c, ns := x.call, max(x.ns, 0)
		if c.Flags&(graph.Async|graph.Loser|graph.Retry|graph.Hedge) != 0 {
			continue
		}
		if !d.Queues.events.kept(c.Outer().Start) {
			continue // its neighbours are not there either
		}
		floor, _ := leads.Of(c.Slot)
		if !c.Client.Seen() {
			add(c.Slot, Ahead, d.ahead(x, floor.Wait(ns)))
			continue
		}
		add(c.Slot, Lead, Call{
			Slot: c.Slot, Caller: c.Client.Proc, Callee: graph.NoProc,
			Asked: c.Client.Start - trace.Time(ns), Given: c.Client.Start, Done: c.Client.End, Wait: floor.Wait(ns),
		})
	}
	out := make(map[EdgeKey][]Call, len(m))
	for k, calls := range m {
		byAsked(*calls)
		out[k] = *calls
	}
	return out
}

// byAsked sorts calls, which are large, by way of their places.
func byAsked(calls []Call) {
	places := radix.Order(len(calls), func(i int) int64 { return int64(calls[i].Asked) })
	for i := 0; i < len(places); {
		tie := i + 1
		for tie < len(places) && places[tie].Key == places[i].Key {
			tie++
		}
		if tie > i+1 {
			slices.SortFunc(places[i:tie], func(x, y radix.Keyed) int { return calls[x.Place].compare(&calls[y.Place]) })
		}
		i = tie
	}
	// Each circle of calls that stand in each other's places moves on by one.
	for i := range places {
		if places[i].Place == int32(i) {
			continue
		}
		first, to := calls[i], int32(i)
		for {
			from := places[to].Place
			places[to].Place = to
			if from == int32(i) {
				calls[to] = first
				break
			}
			calls[to], to = calls[from], from
		}
	}
}

// compare orders calls by all they say, whatever the order of the input.
func (c *Call) compare(o *Call) int {
	return cmp.Or(cmp.Compare(c.Asked, o.Asked), cmp.Compare(c.Done, o.Done), cmp.Compare(c.Slot, o.Slot), cmp.Compare(c.Caller, o.Caller),
		cmp.Compare(c.Callee, o.Callee), cmp.Compare(c.Served.Start, o.Served.Start), cmp.Compare(c.Served.End, o.Served.End), cmp.Compare(c.Given, o.Given), cmp.Compare(c.Wait, o.Wait))
}

// A said is what the calls of an edge say themselves of their waits.
type said struct {
	n              int
	client, server float64 // ns at the caller, and in front of the callee's span
	evidence       string  // the most frequent; the first by name of several
}

// said collects the waits that spans speak of between client and server span.
func (d *Data) said() map[EdgeKey]*said {
	m := map[EdgeKey]*said{}
	by := map[EdgeKey]map[string]int{}
	for _, r := range d.Records {
		for i := range r.Waits {
			w := &r.Waits[i]
			c := &r.Calls[w.Call]
			if !c.Paired() || c.Flags&(graph.Async|graph.Loser) != 0 || c.ClientEnd.Left() || !d.Queues.events.kept(c.Client.Start) {
				continue
			}
			front := !w.Client && w.End <= c.Work.Start
			if !w.Client && !front {
				continue // inside the callee
			}
			k := key(d.Dict, c.Slot, Between)
			x := m[k]
			if x == nil {
				x = &said{}
				m[k], by[k] = x, map[string]int{}
			}
			x.n++
			by[k][d.Dict.String(w.Evidence)]++
			if front {
				x.server += float64(w.Duration())
			} else {
				x.client += float64(w.Duration())
			}
		}
	}
	for k, x := range m {
		most := 0
		for _, e := range slices.Sorted(maps.Keys(by[k])) {
			if by[k][e] > most {
				most, x.evidence = by[k][e], e
			}
		}
	}
	return m
}

// speaking is the slots of calls whose client spans speak of waits within themselves, so that nothing else is asked.
func (d *Data) speaking() map[graph.SlotID]bool {
	slots := map[graph.SlotID]bool{}
	for _, r := range d.Records {
		for i := range r.Waits {
			if w := &r.Waits[i]; w.Client && !r.Calls[w.Call].Work.Seen() {
				slots[r.Calls[w.Call].Slot] = true
			}
		}
	}
	return slots
}

func key(d *graph.Dict, slot graph.SlotID, site Site) EdgeKey {
	s := d.SlotAt(slot)
	target := s.Callee.Service
	switch site {
	case Accepted:
		return EdgeKey{0, target, site}
	case Ahead:
		if !SentUnseen(d, slot) {
			return EdgeKey{Site: Ahead} // nobody's
		}
		return EdgeKey{d.SlotAt(s.Parent).Callee.Service, target, site}
	}
	if target == 0 {
		target = s.Peer
	}
	return EdgeKey{s.Caller.Service, target, site}
}

func (d *Data) between(floors *Floors, x *Event, gap int64) Call {
	floor, _ := floors.Of(x.Slot)
	a, b := d.Dict.ProcAt(x.Caller).Host, d.Dict.ProcAt(x.Callee).Host
	clocks := d.Verdicts.Clocks.At(x.Client.Start)
	shift, _ := clocks.Shift(a, b)
	return Call{
		Slot: x.Slot, Caller: x.Caller, Callee: x.Callee,
		Asked: x.Client.Start, Given: x.Served.Start + trace.Time(shift-floor.Typical/2), GivenThere: x.Served.Start, Done: x.Client.End,
		Wait: floor.Wait(gap), Served: x.Served, Slack: clocks.Slack(a, b), OneWay: floor.Typical / 2,
	}
}

// A lead is the stretch before a call, client span or server span without one, since the step before it ended, in ns.
type lead struct {
	call    *graph.Call
	caller  graph.ProcID
	ns      int64
	request int32
}

// leads is those of a set's records.
func (d *Data) leads(o *Owners, side int) []lead {
	var l []lead
	w := graph.Walker{Dict: d.Dict, Verdicts: d.Verdicts}
	for n, r := range d.Records {
		plan := w.Plan(r, nil)
		for i := range plan.Steps {
			s := &plan.Steps[i]
			if s.Leave || s.Call() == 0 || !s.Client() && !sentUnseen(d.Dict, r, s.Call()) {
				continue
			}
			c := &r.Calls[s.Call()]
			accepted, _, _ := o.AcceptedIn(side, r, s)
			l = append(l, lead{c, callerOf(r, c), s.NS - accepted, int32(n)})
		}
	}
	o.apart[side] = apart(l)
	for i := range l {
		if x := &l[i]; !x.call.Client.Seen() {
			x.ns -= o.apart[side][pair{x.call.Slot, x.caller, x.call.Work.Proc}]
		}
	}
	return l
}

// callerOf is the process that made a call.
func callerOf(r *graph.Record, c *graph.Call) graph.ProcID {
	if c.Client.Seen() {
		return c.Client.Proc
	}
	return r.Calls[c.Parent].Work.Proc
}

// usualLeads is what tells of the usual lead of each slot: the time a caller takes
// by itself before the call. It is the floor of gaps that no server half bounds.
func usualLeads(l []lead) *windowed {
	w := newWindowed()
	for i := range l {
		// What is in flight of the caller fills its pools; who is called does not
		// matter.
		x := &l[i]
		w.add(x.call.Slot, x.caller, x.caller, x.call.Outer().Start, max(x.ns, 0), x.call.Outer().Duration())
	}
	return &w
}
