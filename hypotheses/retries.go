package hypotheses

import (
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/summary"
)

var retries = Cause{
	Doc: Doc{
		Kind:     "retries",
		Title:    "calls fail and are tried again",
		Claim:    "A call's attempts fail more often than before; the failed attempts and the backoff after them are the time that was added.",
		Supports: "Attempts per logical call rose; a retry starts after an attempt that failed; without the failed attempts and the backoff the requests take as long as before.",
		Refutes:  "Attempts per logical call stand, or the further calls follow successes (call-count), or begin while the first runs (hedging).",
		Mimics:   "call-count repeats what succeeded; hedging overlaps; timeout-plateau is one attempt waited out; an attempt that fails slowly may fail because the callee is overloaded.",
		Emit:     "one client span per attempt, with http.request.resend_count or the like.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, t := range a.targets() {
			was, is := &t.sides[0], &t.sides[1]
			r0, r1 := was.retriedFailures(), is.retriedFailures()
			if more(r0, was.logical, r1, is.logical) || more(r1, is.logical, r0, was.logical) {
				out = append(out, a.retryFinding(t))
			}
		}
		return out
	},
}

// retriedFailures is the retries of attempts that failed by themselves. What
// timed out in front of its callee is the queue's, and so is its retry.
func (t *tries) retriedFailures() float64 {
	n := 0.0
	for i := range t.calls {
		if x := &t.calls[i]; x.retry && !t.prevStarved(x) {
			n += x.w
		}
	}
	return n
}

// prevStarved reports whether the attempt before waited for a place in vain.
func (t *tries) prevStarved(x *try) bool {
	for k := range t.of(x.req) {
		if t.calls[k].call == x.prev {
			return t.calls[k].starved
		}
	}
	return false
}

func (a *Asking) retryFinding(t *target) Finding {
	f := a.named("retries", t)
	was, is := &t.sides[0], &t.sides[1]
	n := len(is.calls)
	f.Claim = prose.Sprintf("calls of %s fail and are tried again: %.3g attempts a call where it was %.3g", f.Operation, share(is.attempts, is.logical), share(was.attempts, was.logical))
	f.Evidence = append(f.Evidence,
		numbers("spans", n, "calls", share(was.attempts, was.logical), share(is.attempts, is.logical), "attempts per logical call"),
		numbers("spans", n, "share", share(was.failed, was.attempts), share(is.failed, is.attempts), "attempts that fail"),
		numbers("spans", n, "ms", a.repeated(summary.Baseline, t)/1e6, a.repeated(summary.Current, t)/1e6, "mean time of failed attempts and backoff in a call that is tried again"),
	)
	fails := share(is.failed, is.attempts)
	f.Check = Check{
		Question: "does each further attempt begin after one that failed?",
		Rival:    "call-count: the call is made more often, failed or not",
		IfThis:   prose.Sprintf("yes; with %.3g %% failing and up to two retries a call has %.3g attempts", 100*fails, latework.MeanAttempts(fails, 3)),
		IfRival:  "further calls follow calls that succeeded",
		Ran:      true,
		Outcome:  prose.Sprintf("%.0f of %.0f attempts follow a failed one; %.0f calls of %s were meant", is.retried, is.attempts, is.logical, f.Operation),
	}
	if fails == 0 && is.retried > was.retried {
		f.Check.Against = true
	}
	rate0, rate1 := share(was.retriedFailures(), was.logical), share(is.retriedFailures(), is.logical)
	undo, missing := surplus(rate0, rate1), rate0-rate1
	cost := a.repeatedParts(summary.Baseline, t)
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		var s stretches
		for k := range is.of(j) {
			x := &is.calls[k]
			if x.prev < 0 {
				if missing > 0 && len(cost.ns) > 0 && a.draw(j, x.call, 5) < missing { // an improvement undone
					if lead, ok := stretchesOf(p).lead.of(outer(&q.Calls[x.call], x.call)); ok {
						values[lead] += int64(cost.at(a.draw(j, x.call, 6)))
					}
				}
				continue
			}
			if !x.retry || is.prevStarved(x) || a.draw(j, is.first(x), 4) >= undo {
				continue
			}
			if s.lead == nil {
				s = stretchesOf(p)
			}
			undoAttempt(q, p, s, values, x.prev, x.call)
		}
	}
	f.of = t
	f.Below = either(afterLate(&f), func(o *Finding) bool {
		return o.limits[t] > maxHold || o.Kind == "timeout-plateau" && o.of == t && is.triedAfterTimeouts() > minInner
	})
	return f
}

// surplus is the share of what happens at rate is that must go for rate was.
func surplus(was, is float64) float64 {
	if is <= was || is == 0 {
		return 0
	}
	return 1 - was/is
}

// first is the first attempt of the logical call of an attempt.
func (t *tries) first(x *try) int32 {
	at := x.call
	for prev := x.prev; prev >= 0; {
		at = prev
		next := int32(-1)
		for k := range t.of(x.req) {
			if t.calls[k].call == prev {
				next = t.calls[k].prev
			}
		}
		prev = next
	}
	return at
}

// undoAttempt takes the time of a failed attempt and the backoff after it out of
// a plan: the next attempt begins when the failed one did.
func undoAttempt(q *summary.Request, p *graph.Plan, s stretches, values []int64, failed, next int32) {
	fc, nc := &q.Calls[failed], &q.Calls[next]
	lead, ok := s.lead.of(outer(nc, next))
	if !ok {
		return
	}
	half := outer(fc, failed)
	if !p.Awaits(lead, half) {
		values[lead] -= int64(nc.Outer().Start - fc.Outer().Start)
		return
	}
	for k := range p.Steps {
		st := &p.Steps[k]
		if at := st.Call(); at >= failed && at < failed+fc.Len && (st.Leave || st.Half != half) {
			values[k] = 0
		}
	}
	values[lead] = 0
}

// repeatedParts is how long the first attempt's start lies before the last's,
// of the calls that were tried again.
func (a *Asking) repeatedParts(side int, t *target) *part {
	p := &part{}
	tr := &t.sides[side]
	for i := range tr.calls {
		x := &tr.calls[i]
		q := a.Sides[side].Counted[x.req]
		if x.prev < 0 || !x.retry {
			continue
		}
		p.ns = append(p.ns, max(0, int64(q.Calls[x.call].Outer().Start-q.Calls[x.prev].Outer().Start)))
		p.w = append(p.w, x.w)
	}
	return p
}

func (a *Asking) repeated(side int, t *target) float64 { return a.repeatedParts(side, t).mean() }
