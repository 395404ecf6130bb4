package queuewait

import (
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

// clearlyMore is by how much more of the waits must find the same number in service at one end than at the other for the
// limit to be that end's: where both are level each follows the other.
const clearlyMore = 0.2

// inFlight asks whether calls waited while a constant number was in service: of
// the caller instance, or of the callee's over all callers.
func (a *asker) inFlight(side int) {
	calls := a.calls[side][a.key]
	held := func(c *Call) (graph.ProcID, trace.Interval) {
		return c.Caller, trace.Interval{Start: c.Given, End: c.Done}
	}
	client := plateau(calls, held, func(c *Call) trace.Interval { return trace.Interval{Start: c.Given - trace.Time(c.Wait), End: c.Given} })
	for i := range a.sets {
		if a.sets[i] != nil {
			a.v.Sides[i].Plateau = plateau(a.calls[i][a.key], held, func(c *Call) trace.Interval {
				return trace.Interval{Start: c.Given - trace.Time(c.Wait), End: c.Given}
			})
		}
	}
	if a.partial(side) {
		if x := a.exclusive(side); x.alone(a.sets[side].kept()) {
			a.say("in-flight", ClientWait, "of the calls that are known never two were in service of one process, where %.0f would have met another by chance, and one was at the middle of %.0f %% of %d waits: one at a time, or a limit of one", x.expected, 100*x.held, client.Waits)
			return
		}
		a.say("in-flight", "", "cannot tell: not all requests were kept")
		return
	}
	if a.key.Site == Ahead {
		a.inFlightAhead(a.filledAhead(side, ClientWait), a.filledAhead(side, ServerQueue))
		return
	}
	if a.key.Site == Lead {
		says := Owner("")
		if client.Known() && client.K == client.Peak {
			says = ClientWait
		}
		a.say("in-flight", says, "%d calls in service of one process at the middle of %d waits (%.0f %% within one of it), %d at most", client.K, client.Waits, 100*client.Share, client.Peak)
		return
	}
	server := a.serverPlateau(side)
	says := Owner("")
	switch {
	case client.Known() && client.K >= client.Peak-1 && (!server.Known() || server.K < server.Peak-1 || client.Share > server.Share+clearlyMore):
		says = ClientWait
	case server.Known() && server.K >= server.Peak-1 && (!client.Known() || client.K < client.Peak-1 || server.Share > client.Share+clearlyMore):
		says = ServerQueue
	}
	a.say("in-flight", says, "while calls waited, %d of one caller instance were in service (%.0f %% within one of it, %d at most) and %d at one server instance (%.0f %%, %d at most)",
		client.K, 100*client.Share, client.Peak, server.K, 100*server.Share, server.Peak)
}

// An exclusion is what the known calls of one edge say of whether the processes of the caller make one at a time.
type exclusion struct {
	met, expected float64 // calls that began while another was in service, and how many would if they came independently
	waits         int
	held          float64 // share of the waits in whose middle a known call was in service
}

const (
	// minExpected is how many calls must be expected to meet another for their meeting none to tell: of fewer it is chance
	// once in a hundred. A share of maxMet of them may meet, as in the time above a limit.
	minExpected = 5
	maxMet      = maxAbove
	// minHeld is how often a known call must be in service while others wait, of how often one would be known if it always
	// were: what keeps a place for longer than the call, such as a lock around it, is not in service all the time.
	minHeld = 0.5
)

// alone reports whether calls are made one at a time and others wait for them meanwhile. A process that serves one request at
// a time makes one call at a time as well, but then nothing waits in it for a call of another.
func (x exclusion) alone(kept float64) bool {
	return x.waits >= minWaits && x.expected >= minExpected && x.met <= maxMet*x.expected && x.held >= minHeld*kept
}

// exclusive counts which calls before which their caller waits meet another. Of sampled requests a limit of one is the one that
// shows: of whatever share is known, no two are in service at once.
func (a *asker) exclusive(side int) exclusion {
	var x exclusion
	if a.key.Site != Lead && a.key.Site != Ahead {
		return x
	}
	calls := a.calls[side][a.key]
	by := map[graph.ProcID]*holders{}
	busy := map[graph.ProcID]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Caller == graph.NoProc || c.Done <= c.Given {
			continue
		}
		if by[c.Caller] == nil {
			by[c.Caller] = &holders{}
		}
		by[c.Caller].starts, by[c.Caller].ends = append(by[c.Caller].starts, c.Given), append(by[c.Caller].ends, c.Done)
		busy[c.Caller] += float64(c.hold())
	}
	for p, h := range by {
		radix.Ints(h.starts)
		radix.Ints(h.ends)
		if last := h.ends[len(h.ends)-1]; last > h.starts[0] {
			x.expected += float64(len(h.starts)) * busy[p] / float64(last-h.starts[0])
		}
		for _, at := range h.starts {
			if h.at(at) > 1 { // itself
				x.met++
			}
		}
	}
	for i := range calls {
		c := &calls[i]
		if h := by[c.Caller]; h != nil && c.Wait >= plateauWait {
			x.waits++
			if h.at(c.Given-trace.Time(c.Wait/2)) > 0 {
				x.held++
			}
		}
	}
	x.held /= float64(max(x.waits, 1))
	return x
}

// serverPlateau is the plateau of the callee's instances, over all callers.
func (a *asker) serverPlateau(side int) Plateau {
	var all []Call
	if a.key.Site == Ahead {
		all = slices.Concat(a.toCallee(side)...)
	} else {
		for _, k := range a.toTarget(side) {
			all = append(all, a.calls[side][k]...)
		}
	}
	return plateau(all, func(c *Call) (graph.ProcID, trace.Interval) { return c.Callee, c.Served },
		func(c *Call) trace.Interval {
			return trace.Interval{Start: c.GivenThere - trace.Time(c.Wait), End: c.GivenThere}
		})
}

// limits finds how many calls could be in service at once on each side: a
// metric's limit, else the plateau. A set without a plateau has the limit of
// the other, unless more were in service there: then it was at least that.
func (a *asker) limits() {
	if !a.v.Queued() {
		return
	}
	peaks := [2]int{}
	for i, s := range a.v.Sides {
		if s == nil {
			continue
		}
		p := s.Plateau
		pool := s.Pool
		if a.v.Owner == ServerQueue || a.v.Owner == NoOwner {
			p, pool = a.serverPlateau(i), a.pool(i, ExecutorKind)
			s.Plateau = p
		}
		if a.key.Site == Ahead && !a.partial(i) && s.N > 0 {
			owner := a.v.Owner
			if f := a.filledAhead(i, owner); f != nil {
				p.K, p.Waits, p.Share, p.Above = f.k, f.n, 1, 0
			} else {
				p.Waits = 0
			}
			s.Plateau = p
		}
		peaks[i] = p.Peak
		switch {
		case pool != nil && pool.Limit.Seconds > 0 && pool.Limit.P50 >= 1:
			s.Limit, s.FromPool = int(pool.Limit.P50), true
			if a.v.Resource == "" {
				a.v.Resource = pool.Name
			}
		case a.partial(i):
			if a.v.Owner == ClientWait && a.exclusive(i).alone(a.sets[i].kept()) {
				s.Limit, s.Shown = 1, true
			}
		case p.Known() && p.Level():
			s.Limit, s.Shown = p.K, true
		}
	}
	for i, s := range a.v.Sides {
		if s == nil || s.Limit > 0 || a.v.Sides[1-i] == nil || a.partial(i) {
			continue
		}
		if other := a.v.Sides[1-i].Limit; other > 0 {
			s.Limit = max(other, peaks[i])
		}
	}
}
