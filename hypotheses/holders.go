package hypotheses

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// ownStood is the part of the rise of the time for which places are held that the endpoint's own calls may have of
	// theirs, for it to be others' that keep them waiting, and mostHeld the part of the rise that one operation must have.
	ownStood, mostHeld = 0.25, 0.5
	// goesDown is the part of an operation's rise that a call of it must have to be named in its stead.
	goesDown = 0.7
)

// A holder is an operation, called by other requests than the endpoint's, that holds the places of a queue for longer.
type holder struct {
	slot  graph.SlotID // what takes longer: the operation, or what it calls
	op    trace.StringID
	share float64    // of the rise of the time for which places are held
	mean  [2]float64 // how long it holds one, in ns
	n     int
}

// callsOf is what all kept calls of a slot take together, of all endpoints.
type callsOf struct{ n, ns float64 }

// all is the calls of both sets by slot, whatever endpoint they belong to, per second.
func (a *Asking) all() [2]map[graph.SlotID]callsOf {
	if a.totals[0] != nil {
		return a.totals
	}
	for i, s := range a.Sides {
		m := map[graph.SlotID]callsOf{}
		a.totals[i] = m
		seconds := max(1, float64(s.Set.Counts.To-s.Set.Counts.From)/1e9)
		for _, r := range s.Set.Records {
			w := float64(r.Weight) / graph.OneRequest / seconds
			for k := range r.Calls {
				c := &r.Calls[k]
				half := &c.Work
				if !half.Seen() {
					half = &c.Client
				}
				if !half.Seen() || c.Flags&graph.Async != 0 {
					continue
				}
				t := m[c.Slot]
				m[c.Slot] = callsOf{t.n + w, t.ns + w*float64(half.Duration())}
			}
		}
	}
	return a.totals
}

// heldByOthers is the operation of other endpoints that keeps the calls of a queue waiting; nil where the endpoint's own
// calls hold their places longer as well, or no one operation stands out.
func (a *Asking) heldByOthers(b *queue) *holder {
	if b.asked {
		return b.others
	}
	b.asked = true
	if b.hold <= minFilled || b.v.Owner != queuewait.ServerQueue && b.v.Owner != queuewait.ClientWait || b.v.Key.Site == queuewait.Inside {
		return nil
	}
	a.holdsOf(b)
	if b.held[1] >= (1+holdRose)*b.held[0] {
		return nil
	}
	own := map[trace.StringID]bool{}
	for _, s := range b.slots {
		own[a.slot(s).Shown().Operation] = true
	}
	slots := map[trace.StringID][]graph.SlotID{}
	totals := a.all()
	for _, side := range totals {
		for slot := range side {
			s := a.slot(slot)
			if s.Caller.Service == 0 && s.Parent != graph.NoSlot || s.Callee.Service != b.v.Key.Target && s.Peer != b.v.Key.Target {
				continue
			}
			if b.v.Owner == queuewait.ClientWait && s.Caller.Service != b.v.Key.Caller {
				continue
			}
			if op := s.Shown().Operation; !slices.Contains(slots[op], slot) {
				slots[op] = append(slots[op], slot)
			}
		}
	}
	sum := func(side int, list []graph.SlotID) (t callsOf) {
		for _, s := range list {
			t.n, t.ns = t.n+totals[side][s].n, t.ns+totals[side][s].ns
		}
		return t
	}
	var rise, all [2]float64
	var best *holder
	most := 0.0
	for _, op := range slices.Sorted(maps.Keys(slots)) {
		was, is := sum(0, slots[op]), sum(1, slots[op])
		all[0], all[1] = all[0]+was.n, all[1]+is.n
		rise[0], rise[1] = rise[0]+was.ns, rise[1]+is.ns
		if own[op] || was.n == 0 || is.n == 0 || is.ns/is.n < (1+holdRose)*was.ns/was.n {
			continue
		}
		// As often as before: that it comes more often is load.
		if more := min(was.n, is.n) * (is.ns/is.n - was.ns/was.n); more > most {
			most = more
			best = &holder{op: op, mean: [2]float64{was.ns / was.n, is.ns / is.n}}
		}
	}
	longer := rise[1] - rise[0]
	if best == nil || longer <= 0 || all[0] == 0 || all[1] == 0 || most < mostHeld*longer ||
		b.held[1]-b.held[0] > ownStood*(rise[1]/all[1]-rise[0]/all[0]) {
		return nil
	}
	best.share = min(1, most/longer)
	best.slot = a.deepest(slots[best.op], best.mean[1]-best.mean[0])
	for _, s := range slots[best.op] {
		best.n += len(a.slots[summary.Current][s])
	}
	b.others = best
	return best
}

// deepest is what has most of the rise of some calls: one of them, or what it calls.
func (a *Asking) deepest(list []graph.SlotID, longer float64) graph.SlotID {
	totals := a.all()
	slices.Sort(list)
	slot := slices.MaxFunc(list, func(x, y graph.SlotID) int {
		return cmp.Or(cmp.Compare(totals[1][x].ns, totals[1][y].ns), cmp.Compare(y, x))
	})
	for {
		var down graph.SlotID
		most := 0.0
		for s, is := range totals[1] {
			was, known := totals[0][s]
			if a.slot(s).Parent != slot || !known || totals[0][slot].n == 0 {
				continue
			}
			if more := is.ns/totals[1][slot].n - was.ns/totals[0][slot].n; more > most || more == most && s < down {
				most, down = more, s
			}
		}
		if most < goesDown*longer {
			return slot
		}
		slot, longer = down, most
	}
}

// holders finds the operations of other endpoints that hold places for which this one waits.
func (a *Asking) holders() []Finding {
	var out []Finding
	for _, b := range a.queues() {
		o := a.heldByOthers(b)
		if o == nil {
			continue
		}
		d := a.Reading.Dict
		caller, peer, op := a.names(o.slot)
		f := Finding{Kind: "service-time", Service: caller, Peer: peer, Operation: op, node: graph.NoSlot, part: graph.NoSlot, places: b}
		if s := a.slot(o.slot); s.Callee.Service != 0 {
			f.Service, f.Peer = d.String(s.Shown().Service), ""
		}
		who, holds := d.String(b.v.Key.Target), d.String(o.op)
		if b.v.Owner == queuewait.ClientWait {
			who = d.String(b.v.Key.Caller)
		}
		f.Claim = prose.Sprintf("%s holds the places of %s for %s where it held them for %s, and calls of %s wait for one", holds, who, prose.Ns(o.mean[1]), prose.Ns(o.mean[0]), a.operation(b))
		if op != holds {
			f.Claim += "; what takes longer in it is " + op
		}
		f.Evidence = append(f.Evidence,
			numbers("spans", 0, "ms", o.mean[0]/1e6, o.mean[1]/1e6, "mean time that "+holds+", of other requests, holds a place"),
			numbers("spans", b.calls, "ms", b.held[0]/1e6, b.held[1]/1e6, "mean time that calls of "+a.operation(b)+" hold theirs"),
			numbers("spans", b.v.Sides[1].N, "ms", b.v.Sides[0].Wait/1e6, b.v.Sides[1].Wait/1e6, "mean wait for a place"),
		)
		f.Check = Check{
			Question: "who holds the places while calls wait?",
			Rival:    "the endpoint's own calls, or a limit that shrank",
			IfThis:   holds + ": it holds them longer, and the endpoint's own calls as long as before",
			IfRival:  "its own calls, longer than before; or as many as before are too many",
			Ran:      true,
			Outcome:  prose.Sprintf("%.0f %% of the rise of the time for which places are held are those of %s", 100*o.share, holds),
		}
		part := b.hold * o.share
		f.fills = map[*queue]float64{b: part}
		f.Factor = a.waitBack(b, part)
		f.lengths = func(side, j int) (int64, bool) { return lengthIn(b.waits[side], j) }
		out = append(out, f)
	}
	return out
}
