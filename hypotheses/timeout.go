package hypotheses

import (
	"fmt"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
)

var timeoutPlateau = Cause{
	Doc: Doc{
		Kind:     "timeout-plateau",
		Title:    "calls are waited for until their timeout",
		Claim:    "A callee hangs or does not answer, and its caller waits its whole timeout for it: the latency stands at the timeout.",
		Supports: "More calls end by timeout or are left; their durations lie in a narrow band; with those calls as long as calls that are answered the requests take as long as before.",
		Refutes:  "Timed-out calls are as frequent as before, or all calls became slower and the timed-out ones are only the longest of them.",
		Mimics:   "service-time moves the answered calls too; server-queue and client-wait spend the timeout before the callee's span begins; retries fail faster than a timeout.",
		Emit:     "error.type=timeout (or status) on the client span, and the server span of the work.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, t := range a.targets() {
			was, is := &t.sides[0], &t.sides[1]
			h0, h1 := was.timedOut-was.starved, is.timedOut-is.starved
			if more(h0, was.attempts, h1, is.attempts) || more(h1, is.attempts, h0, was.attempts) {
				out = append(out, a.timeoutFinding(t))
			}
		}
		return out
	},
}

// maxTimedOut is the share of a target's calls that may time out before the wait
// in front of it is asked first: a callee that is overloaded times out for most.
const maxTimedOut = 0.25

func (a *Asking) timeoutFinding(t *target) Finding {
	f := a.named("timeout-plateau", t)
	was, is := &t.sides[0], &t.sides[1]
	pWas, pIs := share(was.timedOut-was.starved, was.attempts), share(is.timedOut-is.starved, is.attempts)
	out := func(x *try) bool { return x.ended == graph.TimedOut && !x.starved }
	in := func(x *try) bool { return x.ended != graph.TimedOut }
	answered := [2]*part{t.lengths(0, in), t.lengths(1, in)}
	left := [2]*part{t.lengths(0, out), t.lengths(1, out)}
	seen := left[1]
	if len(seen.ns) == 0 {
		seen = left[0]
	}
	f.Claim = prose.Sprintf("%s waits for %s until %s are over, in %.3g %% of the calls where it was %.3g %%", f.Service, f.Operation, prose.Ns(seen.at(0.5)), 100*pIs, 100*pWas)
	f.Evidence = append(f.Evidence,
		numbers("spans", len(is.calls), "share", pWas, pIs, "calls that time out or are left"),
		says("spans", len(seen.ns), "half of those last between %s and %s", prose.Ns(seen.at(0.25)), prose.Ns(seen.at(0.75))),
		numbers("spans", len(answered[1].ns), "ms", answered[0].at(0.5)/1e6, answered[1].at(0.5)/1e6, "median of the calls that are answered"),
		numbers("spans", len(answered[1].ns), "ms", answered[0].at(0.95)/1e6, answered[1].at(0.95)/1e6, "p95 of the calls that are answered"),
	)
	if is.starved > 0 {
		f.Against = append(f.Against, says("spans", len(is.calls), "%.0f further calls timed out before their callee had begun: they waited for a place", is.starved))
	}
	f.Check = Check{
		Question: "are the calls that are answered as fast as before?",
		Rival:    "service-time: all calls are slower, and the longest meet the timeout",
		IfThis:   "yes: only those that hang moved, to the timeout",
		IfRival:  "no: the answered calls moved too",
		Ran:      true,
		Outcome:  fmt.Sprintf("their median is %s where it was %s, their p95 %s where it was %s", prose.Ns(answered[1].at(0.5)), prose.Ns(answered[0].at(0.5)), prose.Ns(answered[1].at(0.95)), prose.Ns(answered[0].at(0.95))),
	}
	if r := answered[1].at(0.5) / max(answered[0].at(0.5), 1); r > eachSlower {
		f.Check.Against = true
		f.Against = append(f.Against, says("spans", len(answered[1].ns), "the answered calls are slower too: %s", f.Check.Outcome))
	}
	undo := surplus(pWas, pIs)
	missing := 0.0
	if pWas > pIs {
		missing = (pWas - pIs) / (1 - pIs)
	}
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		var s stretches
		for k := range is.of(j) {
			x := &is.calls[k]
			from := answered[0]
			switch {
			case out(x) && a.draw(j, x.call, 7) < undo:
			case x.ended != graph.TimedOut && a.draw(j, x.call, 7) < missing:
				from = left[0]
			default:
				continue
			}
			if len(from.ns) == 0 {
				continue
			}
			if s.lead == nil {
				s = stretchesOf(p)
			}
			lasting(p, s, values, q, x.call, int64(from.at(a.draw(j, x.call, 8))))
		}
	}
	f.of = t
	f.Below = either(afterLate(&f), func(o *Finding) bool {
		return o.limits[t] > maxHold || o.Kind == f.Kind && o.of != t && a.timedOutBelow(t, o.of) > minInner
	})
	if pIs > maxTimedOut {
		if b := a.queueOf(t); b != nil {
			caller, peer, _ := a.names(b.slot())
			late := f.Below
			f.Below = func(o *Finding) bool {
				return late(o) || (o.Kind == "client-wait" || o.Kind == "load") && o.Service == caller || (o.Kind == "server-queue" || o.Kind == "load") && o.Service == peer
			}
		}
	}
	return f
}

// minInner is the share of the calls that time out, or are tried again, from which a call below them that times out is
// why: the timeout is waited out there.
const minInner = 0.5

// timedOutBelow is the share of a target's calls that time out in which a call of another target below them does.
func (a *Asking) timedOutBelow(t, inner *target) float64 {
	var all, with float64
	is := &t.sides[summary.Current]
	for i := range is.calls {
		x := &is.calls[i]
		if x.ended != graph.TimedOut || x.starved {
			continue
		}
		all += x.w
		end := x.call + a.request(x.req).Calls[x.call].Len
		for k := range inner.sides[summary.Current].of(x.req) {
			if y := &inner.sides[summary.Current].calls[k]; y.ended == graph.TimedOut && y.call > x.call && y.call < end {
				with += x.w
				break
			}
		}
	}
	return share(with, all)
}

// triedAfterTimeouts is the share of a target's retries that follow an attempt which timed out.
func (t *tries) triedAfterTimeouts() float64 {
	var all, after float64
	for i := range t.calls {
		x := &t.calls[i]
		if !x.retry {
			continue
		}
		all += x.w
		for k := range t.of(x.req) {
			if y := &t.calls[k]; y.call == x.prev && y.ended == graph.TimedOut {
				after += x.w
			}
		}
	}
	return share(after, all)
}

var optionalBranch = Cause{
	Doc: Doc{
		Kind:     "optional-branch",
		Title:    "an optional call is slow and still waited for",
		Claim:    "A call that the request can do without became slower, and the request waits for it.",
		Supports: "The configuration says so, or requests were completed although the call failed; the parent goes on only when it ends; as fast as before it would not lengthen the requests.",
		Refutes:  "It is declared mandatory, no request was ever completed without it, or nobody waits for it.",
		Mimics:   "service-time names the callee's work, which is the same time seen from below; timeout-plateau is the part of it that hangs.",
		Emit:     "the optional calls, by configuration; a mark on responses that omit a part.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, t := range a.targets() {
			optional, declared := false, false
			if _, peer, op := a.names(t.slot); a.Meant != nil {
				optional, declared = a.Meant(peer, op)
			}
			if n := a.survived(t); (optional || n > 0 && !declared) && t.sides[0].logical > 0 {
				out = append(out, a.optionalFinding(t, n, optional))
			}
		}
		return out
	},
}

// survived is the requests of both sides that were completed though no attempt
// of one of their calls of a target was answered.
func (a *Asking) survived(t *target) int {
	n := 0
	for i, s := range a.Sides {
		calls := t.sides[i].calls
		for k := 0; k < len(calls); {
			j, answered := calls[k].req, false
			for ; k < len(calls) && calls[k].req == j; k++ {
				answered = answered || calls[k].ended == graph.Succeeded
			}
			if !answered && s.Counted[j].Outcome == 0 {
				n++
			}
		}
	}
	return n
}

func (a *Asking) optionalFinding(t *target, without int, declared bool) Finding {
	f := a.named("optional-branch", t)
	all := func(*try) bool { return true }
	was, is := t.lengths(summary.Baseline, all), t.lengths(summary.Current, all)
	f.Claim = fmt.Sprintf("%s waits for %s, which it can do without, and it takes longer", f.Service, f.Operation)
	seen := fmt.Sprintf("%s completed without an answer of it", plural(without, "request was", "requests were"))
	if declared {
		f.Evidence = append(f.Evidence, says("config", 0, "it is declared optional"))
		seen = "it is declared optional; " + seen
	}
	if without > 0 {
		f.Evidence = append(f.Evidence, says("spans", without, "%s completed although it was not answered", plural(without, "request was", "requests were")))
	}
	f.Evidence = append(f.Evidence,
		numbers("spans", len(is.ns), "ms", was.at(0.5)/1e6, is.at(0.5)/1e6, "median of "+f.Operation),
		numbers("spans", len(is.ns), "ms", was.at(0.95)/1e6, is.at(0.95)/1e6, "p95 of it"),
	)
	f.Check = Check{
		Question: "do requests go on when the call has ended, and succeed without it?",
		Rival:    "service-time of " + f.Peer + ": the same time, of a call that is needed",
		IfThis:   "both: it is waited for in time and optional in meaning",
		IfRival:  "requests fail without it",
		Ran:      true,
		Outcome:  seen,
	}
	// What makes it slow says more than that one could do without it.
	caller, peer, op := f.Service, f.Peer, f.Operation
	f.Below = func(o *Finding) bool {
		return o.Kind != "service-time" && !o.Check.Against && (o.slows(caller, peer, op) || o.limits[t] > maxHold)
	}
	f.lengths = func(side, j int) (ns int64, ok bool) {
		for k := range t.sides[side].of(j) {
			ns, ok = max(ns, t.sides[side].calls[k].ns), true
		}
		return ns, ok
	}
	back := rankMap(is, was)
	tries := &t.sides[1]
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		var s stretches
		for k := range tries.of(j) {
			if s.lead == nil {
				s = stretchesOf(p)
			}
			x := &tries.calls[k]
			lasting(p, s, values, q, x.call, back.At(max(x.ns, 0), a.draw(j, x.call, 9)))
		}
	}
	return f
}

// plural is a number and what is counted.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
