package latework

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// Flights counts calls by whether they ask for what another call of the same
// process is asking for at the time: those could share one call. All counts are
// weighted.
type Flights struct {
	Calls    float64 // calls whose identity is known
	Eligible float64 // those that overlap another with their identity, the leading ones included
	Leaders  float64 // groups: the calls that would be left

	// Shared calls that the data already show: a follower names by a link the call
	// that it waited for.
	Followers float64
	Followed  float64 // calls that had some

	Slot graph.SlotID // one of the calls'
}

// Share is the share of the calls that could share one.
func (f *Flights) Share() float64 { return ratio(f.Eligible, f.Calls) }

// MeanGroup is how many calls would share one.
func (f *Flights) MeanGroup() float64 { return ratio(f.Eligible, f.Leaders) }

// Avoided is the calls that need not be made.
func (f *Flights) Avoided() float64 { return f.Eligible - f.Leaders }

// An asked is one call of a flight.
type asked struct {
	trace.Interval
	w float64
}

// add counts the calls of one process for one thing. A call joins a flight that
// is under way when it begins; the flight ends with the call that leads it.
func (f *Flights) add(calls []asked) {
	slices.SortFunc(calls, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.w, b.w))
	})
	for from := 0; from < len(calls); {
		to, w := from+1, calls[from].w
		for to < len(calls) && calls[to].Start < calls[from].End {
			w += calls[to].w
			to++
		}
		f.Calls += w
		if to-from > 1 {
			f.Eligible += w
			f.Leaders += w / float64(to-from)
		}
		from = to
	}
}

// A FlightCounter finds calls that could share one, and those that do.
type FlightCounter struct {
	asked  map[askedKey][]asked
	joins  []join
	led    map[trace.TraceID][]*graph.Record
	slotOf map[flightEdge]graph.SlotID
}

// A flightEdge is the calls of an operation by a service.
type flightEdge struct {
	caller trace.StringID
	callee trace.Endpoint
}

type askedKey struct {
	flightEdge
	proc     graph.ProcID
	identity uint32
}

type join struct {
	r *graph.Record
	graph.Join
	w float64
}

// Add counts a record. slot is what a call's slot is called by.
func (n *FlightCounter) Add(d *graph.Dict, r *graph.Record, weight float64, slot func(graph.SlotID) graph.SlotID) {
	if n.asked == nil {
		n.asked, n.led, n.slotOf = map[askedKey][]asked{}, map[trace.TraceID][]*graph.Record{}, map[flightEdge]graph.SlotID{}
	}
	n.led[r.TraceID] = append(n.led[r.TraceID], r)
	for _, j := range r.Joins {
		n.joins = append(n.joins, join{r, j, weight})
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Identity == 0 || !c.Client.Seen() || c.Flags&(graph.Retry|graph.Hedge|graph.WaitSpan) != 0 {
			continue
		}
		s := slot(c.Slot)
		e := edgeOf(d, s)
		if SideEffecting(d.String(e.callee.Operation)) || SideEffecting(d.String(d.SlotAt(s).Caller.Operation)) {
			continue
		}
		if at, ok := n.slotOf[e]; !ok || s < at {
			n.slotOf[e] = s
		}
		k := askedKey{e, c.Client.Proc, c.Identity}
		n.asked[k] = append(n.asked[k], asked{c.Client.Interval, weight})
	}
}

func edgeOf(d *graph.Dict, slot graph.SlotID) flightEdge {
	s := d.SlotAt(slot)
	return flightEdge{s.Caller.Service, s.Shown()}
}

// Edges is what was found, by the calls of one operation by one service, in
// order of slot.
func (n *FlightCounter) Edges(d *graph.Dict, slot func(graph.SlotID) graph.SlotID) []*Flights {
	by := map[flightEdge]*Flights{}
	of := func(e flightEdge, s graph.SlotID) *Flights {
		if by[e] == nil {
			by[e] = &Flights{Slot: s}
		}
		return by[e]
	}
	keys := make([]askedKey, 0, len(n.asked))
	for k := range n.asked {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b askedKey) int { // sums of weights in one order
		return cmp.Or(cmp.Compare(n.slotOf[a.flightEdge], n.slotOf[b.flightEdge]), cmp.Compare(a.proc, b.proc), cmp.Compare(a.identity, b.identity))
	})
	for _, k := range keys {
		of(k.flightEdge, n.slotOf[k.flightEdge]).add(n.asked[k])
	}
	type place struct {
		r    *graph.Record
		call int32
	}
	followed := map[place]bool{}
	for _, j := range n.joins {
		for _, r := range n.led[j.Link.TraceID] {
			call, ok := leader(d, r, j.r, j.Call)
			if !ok {
				continue
			}
			s := slot(r.Calls[call].Slot)
			f := of(edgeOf(d, s), s)
			f.Followers += j.w
			if p := (place{r, call}); !followed[p] {
				followed[p] = true
				f.Followed += j.w
			}
			break
		}
	}
	out := make([]*Flights, 0, len(by))
	for _, f := range by {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *Flights) int { return cmp.Compare(a.Slot, b.Slot) })
	return out
}

// leader is the call of record r that call i of another record waited for: of
// the calls of its service that ran then, the one whose end lies nearest to its
// own. A link names it by the span's id, which records keep only of calls that
// somebody left.
func leader(d *graph.Dict, r, follower *graph.Record, i int32) (int32, bool) {
	v := follower.Calls[i].Outer()
	best, off := int32(-1), trace.Time(0)
	for k := 1; k < len(r.Calls); k++ {
		c := &r.Calls[k]
		if r == follower && int32(k) == i || !c.Client.Seen() || d.ProcAt(c.Client.Proc).Service != d.ProcAt(v.Proc).Service || !graph.Followed(v, &c.Client) {
			continue
		}
		if o := max(c.Client.End-v.End, v.End-c.Client.End); best < 0 || o < off {
			best, off = int32(k), o
		}
	}
	return best, best >= 0
}
