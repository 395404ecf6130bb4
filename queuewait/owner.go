package queuewait

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/parallel"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// An Owner says whose queue a wait was in.
type Owner string

const (
	NoOwner     Owner = "untraced" // no test spoke
	ClientWait  Owner = "client-wait"
	ServerQueue Owner = "server-queue"
	Network     Owner = "network"
	Pause       Owner = "pause"
	Own         Owner = "service-time" // what no test claims of the caller's own time, at a Lead, or of an unknown callee's, Inside
)

// A Test is one question of whose queue it was, with its answer.
type Test struct {
	Name      string // explicit, stops, sides, hand-over, metrics, in-flight, passed, always; turns of what is Accepted
	Says      Owner  // "" for silent
	Decided   bool   // the first that spoke
	Statement string
}

// A Side is what one set says of an edge.
type Side struct {
	N         int
	Wait      float64 // mean likely wait, ns
	Gap       float64 // mean of the whole gap, ns
	Hold      float64 // mean time in service, ns
	PerSecond float64 // calls per second
	Limit     int     // calls in service at once; 0: unknown
	FromPool  bool    // the limit is a metric's
	Shown     bool    // calls that waited show the limit; else it is the other side's, or at least the most in service
	Pool      *metric.PoolView
	Plateau   Plateau

	// Peak is the most calls that began in one second, and Bursts the variance of
	// their number over its mean: 1 where calls come independently of each other.
	// Zero of less than minSeconds.
	Peak, Bursts float64

	// Full is how full the limit was at the fullest process, by what was in
	// flight; nil without a limit or where not all calls are known.
	Full *Full

	// Pending is what the pool's metrics say of how many calls waited on average,
	// NaN if nothing, and Little what the calls say: their rate times their wait.
	Pending, Little float64
}

// A Full is how full a limit was, in one-second views.
type Full struct {
	P50, P99, Max float64
	Over          []float64 // over time, at most metric.OverTime means
}

// A Verdict is whose queue the waits of an edge are in, and why they changed.
type Verdict struct {
	Key   EdgeKey
	Owner Owner
	Tests []Test

	// Resource is the pool's or executor's name, if a metric gives it.
	Resource string

	Sides [2]*Side // baseline, nil of a single data set, and current
	Model Model

	// Stopped is the service whose processes stood still, of waits that stops explain.
	Stopped trace.StringID

	// Passing is of a network that holds up single calls, where others go by.
	Passing *Passing

	// Trips is how long calls take on average beside their server spans, there and back, in ns, of edges that both sides have.
	Trips [2]float64

	// OnlyTo and FromAll are of a network on which single answers come late: how many answers of other callees came to the
	// caller in time, or how many calls of other callers got theirs late as well.
	OnlyTo, FromAll int

	// Far is of a network that is longer for some processes of one end alone: those. FarEnd is 0 for callers, 1 for callees.
	Far    []graph.ProcID
	FarEnd int

	// WakeUp is how long after a release the next call starts, in ns.
	WakeUp int64

	inside [2]*inside // how long calls waited within their client spans, of each side
	turns  [2]*turns  // and before them

	accepted [2]*accepted            // how long requests waited within their server spans, of each side
	mine     func(graph.SlotID) bool // whose requests; nil: all of the key
}

// Claimed reports whether the excess of the edge's gaps is a wait in a queue.
func (v *Verdict) Claimed() bool {
	return v != nil && (v.Owner == ClientWait || v.Owner == ServerQueue || v.Owner == Pause)
}

// Queued reports whether the time is a wait in a queue, whoever's it is: between spans, what nobody owns may be no wait.
func (v *Verdict) Queued() bool {
	return v.Claimed() || v != nil && v.Key.Site == Ahead && v.Owner == NoOwner
}

// Owners is the verdicts of all edges. It is read-only.
type Owners struct {
	dict   *graph.Dict
	clocks [2]*graph.Clocks // of each set
	apart  [2]map[pair]int64
	edges  map[EdgeKey]*Verdict
	bySlot [sites][]*Verdict // the same by site and slot
	Leads  *Floors
	Stops  [2]map[graph.ProcID][]Stop // of each set's processes
}

// Of is the verdict on the edge of a call, nil if it has none.
func (o *Owners) Of(c *graph.Call, site Site) *Verdict {
	switch site {
	case Accepted:
		if !c.Work.Seen() {
			return nil
		}
	case Ahead:
		if c.Client.Seen() || !c.Work.Seen() || c.Flags&graph.OnClient != 0 {
			return nil
		}
	default:
		if !c.Client.Seen() {
			return nil
		}
	}
	return o.OfSlot(c.Slot, site)
}

// Before is the verdict on the queue that a call waits in before its first span, nil if it waits in none.
func (o *Owners) Before(c *graph.Call) *Verdict {
	site := Lead
	if !c.Client.Seen() {
		site = Ahead
	}
	if v := o.Of(c, site); v.Queued() {
		return v
	}
	return nil
}

// OfSlot is the verdict on the edge of the calls of a slot, nil if it has none.
func (o *Owners) OfSlot(slot graph.SlotID, site Site) *Verdict {
	if o == nil {
		return nil
	}
	if list := o.bySlot[site]; int(slot) < len(list) {
		return list[slot]
	}
	return o.of(slot, site) // a slot that no kept record has
}

func (o *Owners) of(slot graph.SlotID, site Site) *Verdict {
	v := o.edges[key(o.dict, slot, site)]
	if v != nil && v.mine != nil && !v.mine(slot) {
		return nil
	}
	return v
}

// All is all verdicts, by caller, target and site.
func (o *Owners) All() []*Verdict {
	if o == nil {
		return nil
	}
	var all []*Verdict
	for _, v := range o.edges {
		if v != nil {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *Verdict) int {
		return cmp.Or(cmp.Compare(a.Key.Caller, b.Key.Caller), cmp.Compare(a.Key.Target, b.Key.Target), cmp.Compare(a.Key.Site, b.Key.Site))
	})
	return all
}

// NewOwners asks of every edge whose queue its waits are in. sets holds the
// baseline, nil of a single data set, and the current set.
func NewOwners(sets [2]*Data, floors *Floors) *Owners {
	o := &Owners{edges: map[EdgeKey]*Verdict{}}
	for i, d := range sets {
		if d != nil {
			o.dict, o.clocks[i] = d.Dict, d.Verdicts.Clocks
		}
	}
	o.acceptedWaits(sets)
	var leads [2][]lead
	var usual [2]*windowed
	parallel.Do(len(sets), func(i int) {
		if sets[i] != nil {
			leads[i] = sets[i].leads(o, i)
			usual[i] = usualLeads(leads[i])
		}
	})
	o.Leads = newFloors(slices.DeleteFunc(usual[:], func(w *windowed) bool { return w == nil })...)
	var calls [2]map[EdgeKey][]Call
	var said [2]map[EdgeKey]*said
	parallel.Do(len(sets), func(i int) {
		if sets[i] != nil {
			calls[i] = sets[i].edges(floors, o.Leads, leads[i])
			said[i] = sets[i].said()
			e := activityOf(sets[i].Records)
			o.Stops[i] = e.stops()
			for p, list := range e.silent(calls[i]) {
				o.Stops[i][p] = with(o.Stops[i][p], list)
			}
		}
	})
	var keys []EdgeKey
	for i := range calls {
		for k := range calls[i] {
			if _, ok := o.edges[k]; !ok {
				o.edges[k] = nil
				keys = append(keys, k)
			}
		}
	}
	// What a pool's metrics say of waits within client spans is what is left of them by those before.
	inside := func(k EdgeKey) bool { return k.Site == Inside }
	for _, some := range [][]EdgeKey{slices.DeleteFunc(slices.Clone(keys), inside), slices.DeleteFunc(keys, func(k EdgeKey) bool { return !inside(k) })} {
		verdicts := make([]*Verdict, len(some))
		parallel.Do(len(some), func(i int) {
			a := asker{o: o, sets: sets, calls: calls, said: said, key: some[i]}
			verdicts[i] = a.verdict()
		})
		for i, k := range some {
			o.edges[k] = verdicts[i]
		}
	}
	for site := range Accepted {
		list := make([]*Verdict, o.dict.Slots())
		for slot := range list {
			list[slot] = o.of(graph.SlotID(slot), site)
		}
		o.bySlot[site] = list
	}
	return o
}
