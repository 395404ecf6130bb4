package action

import (
	"fmt"
	"math"

	"github.com/tailscope/tailscope/internal/prose"
)

// pool is how a queue is named as a target.
func (q *Queue) pool() string {
	t := q.Caller + " → " + q.Peer
	if q.Resource != "" {
		t += " (pool " + q.Resource + ")"
	}
	return t
}

// growPool weighs more places in the caller's pool.
func growPool(w *weighing, c costs) {
	for _, f := range w.causes("client-wait", "load") {
		q := w.queue(f.Finding)
		if q == nil || q.Owner != "client-wait" {
			continue
		}
		if s := w.slowCallee(q); s != nil && s.rank < f.rank {
			w.add(c, q.pool(), f, MovesTheQueue, "the pool is full because %s holds its connections longer (cause %d): more of them would send it more at once", q.Peer, s.rank)
			continue
		}
		switch room, why := w.headroom(q.Peer); room {
		case none:
			w.add(c, q.pool(), f, MovesTheQueue, "%s: a larger pool moves the queue there", why)
		case some:
			w.add(c, q.pool(), f, Supported, "calls wait %s for a place and %s once they have one; %s", prose.Ns(q.Wait[1]), prose.Ns(q.Hold[1]), why)
		default:
			w.add(c, q.pool(), f, NotEnoughEvidence, "calls wait %s for a place, but %s", prose.Ns(q.Wait[1]), why)
		}
	}
	// The temptation: a pool that is full because its callee is slow.
	for _, f := range w.causes("service-time", "contention", "instance") {
		for i := range w.Queues {
			q := &w.Queues[i]
			if q.Owner == "client-wait" && (q.Peer == f.Service || q.Caller == f.Service && q.Peer == f.Peer) && q.Wait[1] >= smallWait {
				w.add(c, q.pool(), f, MovesTheQueue, "calls wait %s because they hold their place for %s, where it was %s: more places would send the slow callee more at once", prose.Ns(q.Wait[1]), prose.Ns(q.Hold[1]), prose.Ns(q.Hold[0]))
			}
		}
	}
}

// raiseLimit weighs more work at once in a service: the owner of a server queue,
// and the entry, which is what comes to mind first.
func raiseLimit(w *weighing, c costs) {
	for _, f := range w.causes("server-queue", "load") {
		q := w.queue(f.Finding)
		if q == nil || q.Owner != "server-queue" {
			continue
		}
		x := w.service(q.Peer)
		blocked := (*Queue)(nil)
		for i := range w.Queues {
			if d := &w.Queues[i]; d.Caller == q.Peer && d.Owner == "client-wait" && d.Wait[1] >= smallWait {
				blocked = d
			}
		}
		switch {
		case blocked != nil:
			w.add(c, q.Peer, f, MovesTheQueue, "%s waits %s for a place in its own pool for %s: more requests at once would wait there", q.Peer, prose.Ns(blocked.Wait[1]), blocked.Peer)
		case x.CPU >= busy:
			w.add(c, q.Peer, f, MovesTheQueue, "its CPUs are %s in use: more requests at once would wait for them", prose.Percent(x.CPU))
		case q.Limit[0] > q.Limit[1] && q.Limit[1] > 0 && q.Hold[1] <= 1.15*q.Hold[0]:
			w.add(c, q.Peer, f, Supported, "%d at once in an instance where it was %d, and each takes %s where it took %s", q.Limit[1], q.Limit[0], prose.Ns(q.Hold[1]), prose.Ns(q.Hold[0]))
		case x.CPU <= roomy:
			w.add(c, q.Peer, f, Supported, "requests wait %s for a place while its CPUs are %s in use", prose.Ns(q.Wait[1]), prose.Percent(x.CPU))
		default:
			w.add(c, q.Peer, f, NotEnoughEvidence, "requests wait %s for a place, but nothing tells whether its CPUs and what it calls have room: emit its CPU share and its pools", prose.Ns(q.Wait[1]))
		}
	}
	f := w.lead()
	if f == nil || f.Service == w.Service && f.Kind == "server-queue" {
		return
	}
	target := w.Service
	x := w.service(w.Service)
	below := ""
	if p := f.callee(); p != "" && p != w.Service {
		below = fmt.Sprintf(": it would send more demand to %s", p)
	}
	age := math.Inf(1)
	if b := w.Rules.Budget; b != nil && b.QueueAge != nil {
		age = b.QueueAge.Milliseconds() * 1e6
	}
	switch {
	case w.Before <= min(age, 0.1*w.P99[1]):
		why := fmt.Sprintf("requests wait %s before they begin (p99)", prose.Ns(w.Before))
		if !math.IsInf(age, 1) {
			why += fmt.Sprintf(", inside the budget of %s", prose.Ns(age))
		}
		if x.Executor < w.full() {
			why += fmt.Sprintf(", and its executor is %s occupied", prose.Percent(x.Executor))
		}
		w.add(c, target, f, Unsupported, "%s%s", why, below)
	case x.Executor < w.full():
		w.add(c, target, f, Unsupported, "its executor is %s occupied%s", prose.Percent(x.Executor), below)
	case !math.IsNaN(w.Before) || x.Executor >= w.full():
		if below != "" {
			w.add(c, target, f, MovesTheQueue, "requests wait for %s because of cause %d%s", w.Service, f.rank, below)
		}
	default:
		w.add(c, target, f, NotEnoughEvidence, "nothing tells whether requests wait before the spans of %s: emit X-Request-Start at the balancer, or its executor's active, queued and max%s", w.Service, below)
	}
}

// partition weighs shares of a limit for classes, so that none takes all of it.
func partition(w *weighing, c costs) {
	mix := w.cause("mix-shift")
	for _, f := range w.causes("client-wait", "server-queue", "load") {
		q := w.queue(f.Finding)
		if q == nil {
			continue
		}
		target := q.pool()
		if q.Owner == "server-queue" {
			target = q.Peer
		}
		switch {
		case mix != nil && q.ByMix >= 0.2:
			w.add(c, target, mix, Supported, "requests with %s=%s bring %s of the rise of the wait, and all others wait with them", mix.Attribute, mix.Value, prose.Percent(q.ByMix))
		case mix != nil:
			w.add(c, target, mix, NotEnoughEvidence, "requests with %s=%s became more; whether they fill this limit is not shown: emit pending and active by %s", mix.Attribute, mix.Value, mix.Attribute)
		}
	}
}

// addHosts weighs more hosts of the entry's service and of those that queue: what
// comes to mind first, and what helps only where the host is the limit.
func addHosts(w *weighing, c costs) {
	for _, f := range w.causes("load", "server-queue") {
		q := w.queue(f.Finding)
		if q == nil {
			continue
		}
		owner := q.Peer
		if q.Owner == "client-wait" {
			owner = q.Caller
		}
		switch {
		case q.Limit[1] == 0:
			w.add(c, owner, f, NotEnoughEvidence, "more arrivals queue, but no limit for each instance shows that more instances would raise")
		case q.Owner == "client-wait":
			room, why := w.headroom(q.Peer)
			if room == none {
				w.add(c, owner, f, MovesTheQueue, "each host brings a pool of %d, but %s", q.Limit[1], why)
			} else if f.Kind == "load" {
				w.add(c, owner, f, Supported, "each instance has %d places for %s, and arrivals outgrew them: a host brings as many more", q.Limit[1], q.Peer)
			}
		default:
			w.add(c, owner, f, Supported, "each instance serves %d at once, and requests wait %s for a place: a host brings as many more", q.Limit[1], prose.Ns(q.Wait[1]))
		}
	}
	f := w.lead()
	if f == nil {
		return
	}
	x := w.service(w.Service)
	switch {
	case x.CPU >= busy:
		w.add(c, w.Service, f, Supported, "the CPUs of %s are %s in use", w.Service, prose.Percent(x.CPU))
	case x.CPU <= roomy:
		w.add(c, w.Service, f, NotEnoughEvidence, "its CPUs are %s in use, and cause %d is none that more hosts would cure without a limit per process or uneven placement to lift", prose.Percent(x.CPU), f.rank)
	default:
		w.add(c, w.Service, f, NotEnoughEvidence, "nothing shows that a host is the limit: emit its CPU share, and its pools and executors per process")
	}
}

// addCapacity weighs more of the callee.
func addCapacity(w *weighing, c costs) {
	for _, f := range w.causes("client-wait", "service-time", "contention") {
		service, operation := f.callee(), f.Operation
		if service == w.Service {
			continue
		}
		room, why := w.headroom(service)
		switch {
		case room == none && f.Kind != "service-time":
			w.add(c, service, f, Supported, "%s", why)
		case room == none:
			w.add(c, service, f, NotEnoughEvidence, "%s, but %s takes longer by itself: more of it serves more at once and none faster", why, operation)
		case f.Kind == "client-wait" && room == some:
			w.add(c, service, f, Unsupported, "its own time is not what grew, and it has room: %s", why)
		case f.Kind == "client-wait":
			w.add(c, service, f, NotEnoughEvidence, "its own time is not what grew; it is valid if its boundary is shown to be the limit: %s", why)
		case f.Kind == "contention":
			w.add(c, service, f, NotEnoughEvidence, "fewer requests at once in each instance would contend less, if what they contend for is the instance's own")
		default:
			w.add(c, service, f, Unsupported, "%s takes longer at every load: more hosts take as long", operation)
		}
	}
}

// rebalance weighs another choice of instances.
func rebalance(w *weighing, c costs) {
	for _, f := range w.causes("instance") {
		w.add(c, f.Service, f, Supported, "%s differs from its peers by itself: take it out, or give it less, and see its peers stay as they are", f.Instance)
	}
	if f := w.lead(); f != nil && f.Kind != "instance" {
		if x := w.service(f.Service); x.Instances > 1 {
			w.add(c, f.Service, f, Unsupported, "no instance of %s stands out from its %d", f.Service, x.Instances)
		}
	}
}
