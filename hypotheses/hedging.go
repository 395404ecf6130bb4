package hypotheses

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

var hedging = Cause{
	Doc: Doc{
		Kind:     "hedging",
		Title:    "second attempts add load and win nothing",
		Claim:    "Calls are sent a second time while the first runs; the further calls fill the callee, and all calls wait for each other.",
		Supports: "Hedged calls per logical call rose; so did the calls that the callee has in it at once and the wait in front of it; the second attempt is slow where the first is.",
		Refutes:  "The callee's own time grew first and the hedges followed, or hedges win often and nothing waits.",
		Mimics:   "retries follow a failure; load has more logical calls; server-queue has fewer places.",
		Emit:     "one client span per attempt, and the cancelled attempt's server span.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, t := range a.targets() {
			was, is := &t.sides[0], &t.sides[1]
			if more(was.hedged, was.logical, is.hedged, is.logical) {
				out = append(out, a.hedgeFinding(t))
			}
		}
		return out
	},
}

func (a *Asking) hedgeFinding(t *target) Finding {
	f := a.named("hedging", t)
	was, is := &t.sides[0], &t.sides[1]
	n := len(is.calls)
	f.Claim = prose.Sprintf("%.3g %% of the calls of %s are made a second time while the first runs, where it was %.3g %%", 100*share(is.hedged, is.logical), f.Operation, 100*share(was.hedged, was.logical))
	answers := [2]*part{a.answers(0, t), a.answers(1, t)}
	gaps := [2]*part{a.gapsOf(0, t), a.gapsOf(1, t)}
	works := [2]*part{a.worksOf(0, t), a.worksOf(1, t)}
	f.Evidence = append(f.Evidence,
		numbers("spans", n, "share", share(was.hedged, was.logical), share(is.hedged, is.logical), "calls that are hedged"),
		numbers("spans", n, "calls", share(was.attempts, was.logical), share(is.attempts, is.logical), "attempts per logical call"),
		numbers("spans", len(answers[1].ns), "ms", answers[0].at(0.99)/1e6, answers[1].at(0.99)/1e6, "p99 until the first answer"),
		numbers("spans", len(gaps[1].ns), "ms", gaps[0].at(0.99)/1e6, gaps[1].at(0.99)/1e6, "p99 of the time before the callee's span"),
		numbers("spans", len(works[1].ns), "ms", works[0].at(0.5)/1e6, works[1].at(0.5)/1e6, "median of the callee's span"),
	)
	f.Check = Check{
		Question: "is the callee as fast as before once a call is in it?",
		Rival:    "service-time: the callee is slower, and hedges are a consequence",
		IfThis:   "yes: calls wait in front of it",
		IfRival:  "no: its span grew, with and without hedges",
		Ran:      true,
		Outcome:  fmt.Sprintf("its median is %s where it was %s; the time before it at p99 %s where it was %s", prose.Ns(works[1].at(0.5)), prose.Ns(works[0].at(0.5)), prose.Ns(gaps[1].at(0.99)), prose.Ns(gaps[0].at(0.99))),
	}
	h := a.hedged(t)
	f.Evidence = append(f.Evidence, says("spans", int(h.Second), "P(second slow | first slow) is %.2g, P(slow) is %.2g: %s", h.Again(), h.Slow(), h.Verdict()))
	slower := works[1].at(0.5) > workSlower*works[0].at(0.5)
	if was, is, ok := a.onceServed(t); ok {
		slower = is > workSlower*was
		f.Check.Outcome += fmt.Sprintf("; of that it takes %s once a worker takes the call where it took %s", prose.Ns(is), prose.Ns(was))
	}
	f.Check.Against = slower
	if slower {
		f.Against = append(f.Against, says("spans", len(works[1].ns), "%s", f.Check.Outcome))
	}
	f.Factor = a.answeredAsBefore(t, nil)
	delays := [2]*part{a.hedgeDelays(0, t), a.hedgeDelays(1, t)}
	f.Evidence = append(f.Evidence, numbers("spans", len(delays[1].ns), "ms", delays[0].at(0.5)/1e6, delays[1].at(0.5)/1e6, "median time after which the second attempt begins"))
	if len(delays[0].ns) >= minHedges && delays[1].at(0.5) >= sameDelay*delays[0].at(0.5) {
		// Nobody hedges sooner than before: more calls last that long.
		f.Against = append(f.Against, says("spans", len(delays[1].ns), "the second attempt begins no sooner than it did: more calls last that long, whatever makes them"))
		caller, peer, op := f.Service, f.Peer, f.Operation
		f.Below = func(o *Finding) bool { return o.slows(caller, peer, op) }
	}
	return f
}

const (
	// sameDelay is how much sooner than before a second attempt may begin and the rule be the same, and minHedges how
	// many hedges tell the rule.
	sameDelay = 0.8
	minHedges = 5
	// workSlower is by how much the median of the callee's spans must have grown to say that they are slower, hedged or not:
	// the losers, which were the slow ones, are cancelled, so that less is left to be seen.
	workSlower = 1.3
)

// onceServed is how long the calls of a target take on average, on both sides, once a worker of the callee takes them, where
// they wait for one within its spans; not ok where they do not.
func (a *Asking) onceServed(t *target) (was, is float64, ok bool) {
	for _, b := range a.queues() {
		if b.v.Key.Site == queuewait.Accepted && b.v.Claimed() && slices.ContainsFunc(b.slots, func(s graph.SlotID) bool { return slices.Contains(t.slots, s) }) {
			if s := b.v.Sides; s[0] != nil && s[1] != nil {
				return s[0].Hold, s[1].Hold, true
			}
		}
	}
	return 0, 0, false
}

// hedgeDelays is how long after the first attempt the second began.
func (a *Asking) hedgeDelays(side int, t *target) *part {
	p := &part{}
	for i := range t.sides[side].calls {
		x := &t.sides[side].calls[i]
		q := a.Sides[side].Counted[x.req]
		if c := &q.Calls[x.call]; c.Flags&graph.Hedge != 0 && x.prev >= 0 {
			p.ns, p.w = append(p.ns, max(0, int64(c.Outer().Start-q.Calls[x.prev].Outer().Start))), append(p.w, x.w)
		}
	}
	return p
}

// slows reports whether a finding says that calls take longer at a callee or on the way to it.
func (f *Finding) slows(caller, peer, op string) bool {
	switch f.Kind {
	case "service-time", "contention", "instance", "pause", "server-queue", "load", "client-wait", "network":
		return f.Service == peer && (f.Operation == "" || f.Operation == op) || f.Service == caller && f.Peer == peer
	}
	return false
}

// hedged is what hedging does to the current calls of a target.
func (a *Asking) hedged(t *target) latework.Hedged {
	var n latework.HedgeCounter
	tr := &t.sides[summary.Current]
	w := graph.Walker{Dict: a.Reading.Dict, Verdicts: a.cur().Set.Calibration.Verdicts}
	for j, q := range a.cur().Counted {
		walked := false
		for _, l := range tr.logicals(q, j) {
			attempts := make([]*graph.Call, len(l))
			for i, c := range l {
				attempts[i] = &q.Calls[c]
			}
			n.Add(attempts, latework.Answered(attempts), func(i int) int64 {
				if !attempts[i].Paired() {
					return 0
				}
				if !walked {
					w.Walk(q.Record)
					walked = true
				}
				return w.Shift(l[i], false) - w.Shift(l[i], true)
			}, float64(q.Weight)/graph.OneRequest)
		}
	}
	return n.Read()
}

// answeredAsBefore puts a target's logical calls, those that of holds of or all, back to how long they took until their
// first answer: one attempt each, in its rank's time.
func (a *Asking) answeredAsBefore(t *target, of func(j int, attempts []int32) bool) Factor {
	is := &t.sides[summary.Current]
	back := rankMap(a.answers(summary.Current, t), a.answers(summary.Baseline, t))
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		var s stretches
		for _, l := range is.logicals(q, j) {
			if of != nil && !of(j, l) {
				continue
			}
			if s.lead == nil {
				s = stretchesOf(p)
			}
			first, answer := l[0], answerOf(q, l)
			ns := max(0, int64(q.Calls[answer].Outer().End-q.Calls[first].Outer().Start))
			to := back.At(ns, a.draw(j, first, 10))
			for _, c := range l {
				if c == answer {
					continue
				}
				if lead, ok := s.lead.of(outer(&q.Calls[c], c)); ok {
					values[lead] = graph.Gone
				}
			}
			if !lasting(p, s, values, q, answer, to) {
				continue
			}
			lead, _ := s.lead.of(outer(&q.Calls[answer], answer))
			values[lead] -= int64(q.Calls[answer].Outer().Start - q.Calls[first].Outer().Start)
		}
	}
}

// logicals is the attempts of a request's logical calls, in order of start.
func (t *tries) logicals(q *summary.Request, j int) [][]int32 {
	var out [][]int32
	at := map[int32]int{}
	for k := range t.of(j) {
		x := &t.calls[k]
		if x.prev < 0 {
			at[x.call] = len(out)
			out = append(out, []int32{x.call})
		}
	}
	for k := range t.of(j) {
		x := &t.calls[k]
		if x.prev < 0 {
			continue
		}
		if i, ok := at[t.first(x)]; ok {
			out[i] = append(out[i], x.call)
		}
	}
	return out
}

// answerOf is the attempt that answered first; the last one if none did.
func answerOf(q *summary.Request, attempts []int32) int32 {
	best := int32(-1)
	for _, i := range attempts {
		c := &q.Calls[i]
		if c.OuterEnd() == graph.Succeeded && (best < 0 || c.Outer().End < q.Calls[best].Outer().End) {
			best = i
		}
	}
	if best >= 0 {
		return best
	}
	return attempts[len(attempts)-1]
}

// answers is how long logical calls took until their first answer.
func (a *Asking) answers(side int, t *target) *part {
	p := &part{}
	tr := &t.sides[side]
	for j, q := range a.Sides[side].Counted {
		for _, l := range tr.logicals(q, j) {
			p.ns = append(p.ns, max(0, int64(q.Calls[answerOf(q, l)].Outer().End-q.Calls[l[0]].Outer().Start)))
			p.w = append(p.w, float64(q.Weight)/graph.OneRequest)
		}
	}
	return p
}

// gapsOf is the time between client and server half of a target's calls.
func (a *Asking) gapsOf(side int, t *target) *part {
	p := &part{}
	for i := range t.sides[side].calls {
		x := &t.sides[side].calls[i]
		if gap, ok := queuewait.Gap(&a.Sides[side].Counted[x.req].Calls[x.call]); ok {
			p.ns, p.w = append(p.ns, gap), append(p.w, x.w)
		}
	}
	return p
}

// worksOf is the length of the server halves of a target's calls.
func (a *Asking) worksOf(side int, t *target) *part {
	p := &part{}
	for i := range t.sides[side].calls {
		x := &t.sides[side].calls[i]
		if c := &a.Sides[side].Counted[x.req].Calls[x.call]; c.Work.Seen() {
			p.ns, p.w = append(p.ns, c.Work.Duration()), append(p.w, x.w)
		}
	}
	return p
}
