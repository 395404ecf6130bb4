package action

import (
	"fmt"

	"github.com/tailscope/tailscope/internal/prose"
)

// room is whether a service could serve more at once.
type room uint8

const (
	unknown room = iota
	some
	none
)

// headroom is whether a service has room for more work at once, and why.
func (w *weighing) headroom(service string) (room, string) {
	x := w.service(service)
	for _, q := range w.Queues {
		switch {
		case q.Peer == service && q.Owner == "server-queue" && q.Wait[1] >= smallWait:
			return none, fmt.Sprintf("calls wait %s for a place in %s already", prose.Ns(q.Wait[1]), service)
		case q.Caller == service && q.Owner == "client-wait" && q.Wait[1] >= smallWait:
			return none, fmt.Sprintf("%s itself waits %s for a place in its pool for %s", service, prose.Ns(q.Wait[1]), q.Peer)
		}
	}
	switch {
	case x.CPU >= busy:
		return none, fmt.Sprintf("the CPUs of %s are %s in use", service, prose.Percent(x.CPU))
	case x.Executor >= w.full():
		return none, fmt.Sprintf("the executor of %s is %s occupied", service, prose.Percent(x.Executor))
	}
	for _, q := range w.Queues {
		if q.Peer == service && q.Limit[0] > q.Limit[1] && q.Limit[1] > 0 && q.Hold[0] > 0 && q.Hold[1] <= 1.15*q.Hold[0] {
			return some, fmt.Sprintf("each instance of %s had up to %d calls in %s at once before, which took %s there, and %s now", q.Caller, q.Limit[0], service, prose.Ns(q.Hold[0]), prose.Ns(q.Hold[1]))
		}
	}
	switch {
	case x.Executor <= roomy:
		return some, fmt.Sprintf("the executor of %s is %s occupied", service, prose.Percent(x.Executor))
	case x.CPU <= roomy:
		return some, fmt.Sprintf("the CPUs of %s are %s in use", service, prose.Percent(x.CPU))
	}
	return unknown, fmt.Sprintf("nothing tells how much %s can serve at once: emit its executor's active, queued and max, and its CPU share", service)
}

// held is the share of a queue's wait that its callee's slowness explains, by
// the finding of that callee: the wait is its consequence.
func (w *weighing) slowCallee(q *Queue) *ranked {
	for _, f := range w.causes("service-time", "contention", "instance", "pause") {
		if f.Service == q.Peer || f.Service == q.Caller && f.Peer == q.Peer {
			return f
		}
	}
	return nil
}
