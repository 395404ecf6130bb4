package action

import (
	"fmt"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
)

// enough is how many second attempts say whether attempts are slow together.
const enough = 20

// hedge weighs second attempts.
func hedge(w *weighing, c costs) {
	f := w.lead()
	if f == nil || f.callee() == "" || f.callee() == w.Service {
		return
	}
	target := f.edge()
	service := f.callee()
	if reason, ok := w.contract("no-retry", service, f.Operation); ok {
		w.add(c, target, f, ViolatesContract, "%s", reason)
		return
	}
	for _, a := range w.Attempts {
		if a.Peer != service || a.SecondsKnown < enough {
			continue
		}
		if a.Again > 0.5 {
			w.add(c, target, f, Unsupported, "the second attempt is slow in %s of the cases in which the first is: slowness is the request's or the callee's", prose.Percent(a.Again))
			return
		}
	}
	x := w.service(service)
	room, why := w.headroom(service)
	switch {
	case f.Kind == "client-wait" || f.Kind == "server-queue" || f.Kind == "load" || f.Kind == "retries" || f.Kind == "hedging" || f.Kind == "late-work":
		w.add(c, target, f, Unsupported, "calls wait for a place: second attempts would spend what is short")
	case room == none:
		w.add(c, target, f, Unsupported, "%s: second attempts would spend what is short", why)
	case latework.SideEffecting(f.Operation) && !w.idempotent(service, f.Operation):
		w.add(c, target, f, NotEnoughEvidence, "by its name %s changes something, and whether it may be done twice is not known: declare the hop idempotent or no-retry in tailscope.yaml", f.Operation)
	case f.Kind == "instance" && x.Instances > 1:
		w.add(c, target, f, Supported, "one instance of %d is slow and another attempt escapes it; taking it out costs less", x.Instances)
	default:
		w.add(c, target, f, NotEnoughEvidence, "nothing shows that a second attempt would be fast where the first is slow: P(second slow | first slow) decides; hedge 1 %% of the calls and compare")
	}
}

// hedgeLess weighs fewer of them.
func hedgeLess(w *weighing, c costs) {
	for _, f := range w.causes("hedging") {
		for _, a := range w.Attempts {
			if a.Caller != f.Service || a.Peer != f.Peer || a.Hedged == 0 {
				continue
			}
			switch {
			case a.SecondsKnown >= enough && a.Again < 0.25:
				w.add(c, f.edge(), f, NotEnoughEvidence, "%s of the calls are hedged, but the second attempt is slow in only %s of the cases in which the first is", prose.Percent(a.Hedged/a.Logical), prose.Percent(a.Again))
			default:
				w.add(c, f.edge(), f, Supported, "%s of the calls are hedged, and the further calls fill %s", prose.Percent(a.Hedged/a.Logical), f.Peer)
			}
		}
	}
}

// fewRetries is the retries per call below which there is nothing to save.
const fewRetries = 0.01

// retryLess weighs a budget for retries.
func retryLess(w *weighing, c costs) {
	for _, f := range w.causes("retries") {
		w.add(c, f.edge(), f, Supported, "retries multiply the calls of %s; limits per request do not bound that under correlated failure, a budget over all requests does", f.Operation)
	}
	f := w.lead()
	if f == nil || f.Kind == "retries" {
		return
	}
	var most *Attempts
	for i := range w.Attempts {
		if a := &w.Attempts[i]; a.Logical > 0 && (most == nil || a.Retried/a.Logical > most.Retried/most.Logical) {
			most = a
		}
	}
	if most == nil || most.Retried/most.Logical < fewRetries {
		why := "no call is retried"
		if most != nil && most.Retried > 0 {
			why = fmt.Sprintf("at most %s of the calls of any kind are retries", prose.Percent(most.Retried/most.Logical))
		}
		w.add(c, w.Service, f, Unsupported, "%s", why)
	}
}

// deadline weighs a deadline that goes along.
func deadline(w *weighing, c costs) {
	limit := usualLate
	budget := ""
	if b := w.Rules.Budget; b != nil && b.LateWork != nil {
		limit = float64(*b.LateWork)
		budget = fmt.Sprintf(", inside the budget of %s", prose.Percent(limit))
	}
	late := 0.0
	if w.Late.Attempts > 0 {
		late = w.Late.Late / w.Late.Attempts
	}
	f := w.cause("late-work", "timeout-plateau")
	if f == nil {
		f = w.lead()
	}
	switch {
	case late > limit && w.Late.MeanStop >= longStop:
		w.add(c, w.Service, f, MovesTheQueue, "%s of the attempts go on after their caller has left, for %s on average: callees do not look. A deadline helps the callers and leaves the work", prose.Percent(late), prose.Ns(w.Late.MeanStop))
	case late > limit:
		w.add(c, w.Service, f, Supported, "%s of the attempts go on after their caller has left", prose.Percent(late))
	case len(w.Late.LongTimeouts) > 0:
		w.add(c, w.Service, f, Supported, "%s", w.Late.LongTimeouts[0])
	case f != nil:
		w.add(c, w.Service, f, Unsupported, "%s of the attempts go on after their caller has left%s", prose.Percent(late), budget)
	}
}

// longStop is for how long, in ns, a callee may go on after a departure before
// it is said not to look.
const longStop = 50e6

// cancellation weighs callees that stop when their caller leaves.
func cancellation(w *weighing, c costs) {
	for _, f := range w.causes("late-work") {
		if reason, ok := w.contract("may-finish-after", f.Peer, f.Operation); ok {
			w.add(c, f.Peer, f, ViolatesContract, "%s", reason)
			continue
		}
		w.add(c, f.Peer, f, Supported, "it goes on for callers that have left, and others wait for what it holds")
	}
}
