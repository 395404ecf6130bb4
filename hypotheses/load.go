package hypotheses

import (
	"fmt"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
)

var load = Cause{
	Doc: Doc{
		Kind:     "load",
		Title:    "more, or burstier, arrivals at a queue",
		Claim:    "The same queue with the same limit and the same holds has more to do: more calls, or calls in bursts; or more work comes than its CPUs do at once.",
		Supports: "The queue run again with the baseline's arrivals waits as the baseline did; arrivals per second, or their peaks, rose. Of work that is crowded: what more comes can slow it so.",
		Refutes:  "Arrivals and their peaks are as before, or holds or the limit changed instead.",
		Mimics:   "client-wait and server-queue change the limit; service-time changes the holds; retries, call-count and mix-shift are where the arrivals come from; contention slows work that is no more than it was.",
		Emit:     "unsampled request counters per instance and second.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, b := range a.queues() {
			unowned := b.unowned()
			share := a.requested(b)
			if !b.v.Claimed() && !unowned || share < minDriver || a.inTurns(b.v) != nil {
				continue
			}
			f := a.waitFinding(b, "load")
			caller, peer, op := a.ends(b)
			f.Service, f.Peer, f.Operation = caller, "", op
			if b.v.Owner == queuewait.ServerQueue || unowned {
				f.Service = peer
			}
			if b.v.Key.Site == queuewait.Accepted {
				f.Service = a.Reading.Dict.String(b.v.Key.Target)
			}
			was, is := b.v.Sides[0], b.v.Sides[1]
			f.Claim = moreToDo(op, f.Service, was, is)
			f.Evidence = append([]Evidence{numbers("spans", is.N, "1/s", was.PerSecond, is.PerSecond, "calls of "+op)}, f.Evidence...)
			f.Check = Check{
				Question: "does the queue wait as before with the baseline's arrivals, its holds and its limit as they are now?",
				Rival:    string(b.v.Owner) + ": the limit shrank",
				IfThis:   "yes: the waits go with the arrivals",
				IfRival:  "no: they stay",
				Ran:      true,
				Outcome:  fmt.Sprintf("of a change of %s, %s go with the arrivals and %s with the limit", prose.Ns(b.v.Model.Change), prose.Ns(b.v.Model.Arrivals), prose.Ns(b.v.Model.Size)),
			}
			if !b.v.Model.OK {
				f.Check.Ran, f.Check.Outcome = false, ""
				f.Check.Query = fmt.Sprintf("count the calls of %s per second where nothing is sampled, at both times, and run the baseline's load against the present limit", op)
				if sameLimit(was, is) {
					f.Check.Ran, f.Check.Query = true, ""
					f.Check.Question = "are the limit of the queue and its holds what they were, and arrivals not?"
					f.Check.Outcome = prose.Sprintf("%d in service at once on both sides, for %s where it was %s; %.3g calls a second where it was %.3g, %.0f in the worst where it was %.0f", is.Limit, prose.Ns(is.Hold), prose.Ns(was.Hold), is.PerSecond, was.PerSecond, is.Peak, was.Peak)
				}
			}
			if b.bursts[1] > 0 {
				f.Claim = prose.Sprintf("%s gets its calls in bursts, and they queue", op)
				f.Evidence = append(f.Evidence,
					numbers("spans", is.N, "", b.bursts[0], b.bursts[1], "variance of the number of known calls of "+op+" in as long as they wait, over its mean"),
					says("spans", is.N, "at a queue that makes the current calls wait as they did, the baseline's would wait %.0f %% of the rise less", 100*share))
			}
			if unowned {
				f.Doubtful = true
				f.Warnings = append(f.Warnings, "nothing tells whose queue it is: the calls may wait in "+caller+" as well as in front of "+peer)
			}
			if share < b.arrivals {
				f.Evidence = append(f.Evidence, says("spans", is.N, "%.0f %% of them come because each request makes more calls, which is a cause of its own", 100*(1-share/b.arrivals)))
			}
			f.Factor = a.waitBack(b, share)
			f.lengths = func(side, j int) (int64, bool) { return lengthIn(b.waits[side], j) }
			out = append(out, f)
		}
		return append(append(out, a.turns("load")...), a.crowdedByLoad()...)
	},
}

// requested is the share of the rise of a queue's wait that comes with more arrivals, without those that come because each
// request makes more calls.
func (a *Asking) requested(b *queue) float64 {
	further := 0.0
	for _, c := range a.counts() {
		further += a.further(b, &c)
	}
	return b.arrivals * max(0, 1-further)
}

// moreToDo says why a queue has more to do: fewer processes share it, or there are more calls, or they come in bursts.
func moreToDo(op, service string, was, is *queuewait.Side) string {
	before, now := was.Plateau.Procs, is.Plateau.Procs
	switch {
	case is.PerSecond > (1+arrivalsStood)*was.PerSecond:
		return prose.Sprintf("%s gets %.3g calls a second where it was %.3g, and they queue", op, is.PerSecond, was.PerSecond)
	case now > 0 && before > now:
		serve := "serve"
		if now == 1 {
			serve = "serves"
		}
		return prose.Sprintf("%s of %s %s what %d did: each gets %.3g calls of %s a second where it got %.3g, and they queue",
			plural(now, "instance", "instances"), service, serve, before, is.PerSecond/float64(now), op, was.PerSecond/float64(before))
	case is.Peak > was.Peak && is.Bursts > was.Bursts:
		return prose.Sprintf("%s gets up to %.0f calls in a second where it was %.0f, and they queue", op, is.Peak, was.Peak)
	}
	return prose.Sprintf("%s gets %.3g calls a second where it was %.3g, or gets them in bursts, and they queue", op, is.PerSecond, was.PerSecond)
}
