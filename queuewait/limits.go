package queuewait

import (
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

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
	if a.sets[side].Sampled {
		a.say("in-flight", "", "cannot tell: not all requests were kept")
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
	case client.Known() && client.K >= client.Peak-1 && (!server.Known() || server.K < server.Peak-1 || client.Share > server.Share+0.2):
		says = ClientWait
	case server.Known() && server.K >= server.Peak-1 && (!client.Known() || client.K < client.Peak-1 || server.Share > client.Share+0.2):
		says = ServerQueue
	}
	a.say("in-flight", says, "while calls waited, %d of one caller instance were in service (%.0f %% within one of it, %d at most) and %d at one server instance (%.0f %%, %d at most)",
		client.K, 100*client.Share, client.Peak, server.K, 100*server.Share, server.Peak)
}

// serverPlateau is the plateau of the callee's instances, over all callers.
func (a *asker) serverPlateau(side int) Plateau {
	var all []Call
	for _, k := range a.toTarget(side) {
		all = append(all, a.calls[side][k]...)
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
	if !a.v.Claimed() {
		return
	}
	peaks := [2]int{}
	for i, s := range a.v.Sides {
		if s == nil {
			continue
		}
		p := s.Plateau
		pool := s.Pool
		if a.v.Owner == ServerQueue {
			p, pool = a.serverPlateau(i), a.pool(i, ExecutorKind)
			s.Plateau = p
		}
		peaks[i] = p.Peak
		switch {
		case pool != nil && pool.Limit.Seconds > 0 && pool.Limit.P50 >= 1:
			s.Limit, s.FromPool = int(pool.Limit.P50), true
			if a.v.Resource == "" {
				a.v.Resource = pool.Name
			}
		case a.sets[i].Sampled:
		case p.Known() && p.Level():
			s.Limit, s.Shown = p.K, true
		}
	}
	for i, s := range a.v.Sides {
		if s == nil || s.Limit > 0 || a.v.Sides[1-i] == nil || a.sets[i].Sampled {
			continue
		}
		if other := a.v.Sides[1-i].Limit; other > 0 {
			s.Limit = max(other, peaks[i])
		}
	}
}
