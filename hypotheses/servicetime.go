package hypotheses

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

var serviceTime = Cause{
	Doc: Doc{
		Kind:     "service-time",
		Title:    "an operation's own work takes longer",
		Claim:    "The time that an operation spends itself, with nothing below it running, grew.",
		Supports: "Its span's own stretches are longer at every load, also when it is alone; putting them back takes the rise away; queues in front of it grew because it holds their places longer, also those in which other requests wait that never call it.",
		Refutes:  "Its own stretches have the baseline's distribution, or grew only while many others ran beside it (contention), or on one instance (instance).",
		Mimics:   "client-wait and server-queue show outside the span; contention rises with the peers inside; a call without a server half hides network and the client's pool: said, not guessed.",
		Emit:     "a profile of the operation, or spans for its parts.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, slot := range a.nodes() {
			f := a.serviceFinding(slot, a.work(slot))
			if root := a.workOf(slot); root != slot {
				f.part = root
			}
			out = append(out, f)
		}
		return append(out, a.holders()...)
	},
}

// nodes is the slots of the endpoint that do work of their own on both sides.
func (a *Asking) nodes() []graph.SlotID {
	var out []graph.SlotID
	for slot := range a.slots[summary.Current] {
		if len(a.slots[summary.Baseline][slot]) > 0 {
			out = append(out, slot)
		}
	}
	slices.Sort(out)
	return out
}

// worksFor is the slot whose own time a step of a request is: the rest of its half, or the lead to one of its calls. A
// call without a server half is its peer's work.
func (a *Asking) worksFor(q *summary.Request, s *graph.Step) (slot graph.SlotID, ok bool) {
	c := &q.Calls[s.Call()]
	if s.Leave {
		return a.Relative(q, c.Slot), s.Client() == !c.Work.Seen()
	}
	if s.Call() == 0 || s.Client() != c.Client.Seen() {
		return 0, false // the entry's own start, or the way to a server half
	}
	p := &q.Calls[c.Parent]
	return a.Relative(q, p.Slot), !p.Paired() || c.Flags&graph.OnClient == 0
}

// ownPart reports whether a step of a request is own time of the work of slots.
func (a *Asking) ownPart(q *summary.Request, s *graph.Step, work []graph.SlotID) bool {
	slot, ok := a.worksFor(q, s)
	return ok && slices.Contains(work, slot)
}

// workOf is the node whose work a node's is: of an internal span the span of its service around it.
func (a *Asking) workOf(slot graph.SlotID) graph.SlotID {
	for {
		s := a.slot(slot)
		if s.Kind != trace.KindInternal && s.Kind != trace.KindUnspecified || s.Caller.Service != 0 || s.Parent == graph.NoSlot || a.slot(s.Parent).Callee.Service != s.Callee.Service {
			return slot
		}
		slot = s.Parent
	}
}

// work is a node with the internal spans that are parts of its work.
func (a *Asking) work(slot graph.SlotID) []graph.SlotID {
	out := []graph.SlotID{slot}
	for _, side := range a.slots {
		for s := range side {
			if s != slot && !slices.Contains(out, s) && a.workOf(s) == slot {
				out = append(out, s)
			}
		}
	}
	return out
}

// whole leaves of the findings about a service's work and about the internal spans in it one or the other: a span that
// has nearly all of it says more, several of which each has a part say less.
func whole(found []Finding) []Finding {
	drop := make([]bool, len(found))
	for i := range found {
		g := &found[i]
		if g.Kind != "service-time" || g.part != graph.NoSlot || g.places != nil {
			continue
		}
		one := -1
		for k := range found {
			if f := &found[k]; f.Kind == g.Kind && f.part == g.node && (one < 0 || f.Explains > found[one].Explains) {
				one = k
			}
		}
		if one < 0 {
			continue
		}
		exact := found[one].Explains >= (1-samePart)*g.Explains
		drop[i] = exact
		for k := range found {
			if f := &found[k]; f.Kind == g.Kind && f.part == g.node {
				drop[k] = drop[k] || !exact
			}
		}
	}
	out := found[:0]
	for i := range found {
		if !drop[i] {
			out = append(out, found[i])
		}
	}
	return out
}

// samePart is how much of a work's longer time may lie outside the one internal span that is named for it.
const samePart = 0.1

func (a *Asking) serviceFinding(slot graph.SlotID, work []graph.SlotID) Finding {
	caller, peer, op := a.names(slot)
	s := a.slot(slot)
	f := Finding{Kind: "service-time", own: true, node: slot, part: graph.NoSlot, Service: a.Reading.Dict.String(s.Shown().Service), Operation: op}
	uninstrumented := s.Callee.Service == 0
	if uninstrumented {
		f.Service, f.Peer = caller, peer
	}
	owners := a.cur().Set.Calibration.Owners
	steps := a.stepsOfAll(summary.Current, work)
	own := func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		from, to := inRequest(steps, j)
		for _, x := range steps[from:to] {
			k := int(x.at)
			st := &p.Steps[k]
			c := &q.Calls[st.Call()]
			if !st.Leave {
				if c.Flags&(graph.Retry|graph.Hedge) != 0 {
					continue // backoff and hedge delay are the attempts'
				}
				if owners.Before(c) != nil {
					continue // a queue's
				}
			}
			ns := a.working(summary.Current, j, k, st.NS)
			values[k] += a.back(a.key(q, st), ns, a.tie(j, k)) - ns
		}
	}
	f.Factor = own
	lengths := [2][]lasted{a.workIn(summary.Baseline, work), a.workIn(summary.Current, work)}
	each, several := [2][]lasted{a.each(summary.Baseline, slot, lengths[0]), a.each(summary.Current, slot, lengths[1])}, "request"
	if !slices.Equal(each[0], lengths[0]) || !slices.Equal(each[1], lengths[1]) {
		several = "call"
	}
	f.lengths = func(side, j int) (int64, bool) { return lengthIn(each[side], j) }
	if share := a.tornLeaf(slot); share > maxTorn {
		f.Doubtful = true
		f.Warnings = append(f.Warnings, fmt.Sprintf("in %.0f %% of the requests a span's parent was never received, and here no call is seen: the time may be that of calls whose client spans are missing", 100*share))
	}
	was, is := a.partOf(summary.Baseline, each[0]), a.partOf(summary.Current, each[1])
	f.Claim = fmt.Sprintf("%s of %s itself takes longer", op, f.Service)
	if uninstrumented {
		f.Claim = fmt.Sprintf("%s takes longer behind the client span of %s", op, caller)
		f.Warnings = append(f.Warnings, "the callee has no span of its own: its work, the network and any wait inside the client library are one number")
	}
	f.Evidence = append(f.Evidence,
		numbers("spans", len(is.ns), "ms", was.mean()/1e6, is.mean()/1e6, "mean own time of "+op+" per "+several),
		numbers("spans", len(is.ns), "ms", was.at(0.99)/1e6, is.at(0.99)/1e6, "p99 of it"),
	)
	a.holds(slot, &f)
	f.Check = Check{
		Question: fmt.Sprintf("is the own time of %s as much longer when few requests are in it?", op),
		Rival:    "contention: it is longer the more others run beside it",
		IfThis:   "yes, at every load",
		IfRival:  "no: most of the rise is missing among few",
		Query:    fmt.Sprintf("take a profile of %s %s at the baseline's and at the current version, and compare the stretch", f.Service, op),
	}
	if f.Service != "" && is.mean() > 0 {
		low0, low1 := was.at(0.1), is.at(0.1)
		f.Check.Ran = true
		f.Check.Query = ""
		f.Check.Outcome = fmt.Sprintf("the fastest tenth took up to %s where it was %s", prose.Ns(low1), prose.Ns(low0))
	}
	if uninstrumented {
		a.withinClient(slot, &f)
	}
	if !uninstrumented {
		a.alone(a.workOf(slot), &f)
		a.doubtUnseen(&f, work, lengths)
		a.doubtUnrecorded(&f, s.Callee.Service)
		a.doubtLoad(slot, &f)
	}
	return f
}

// doubtLoad says of longer work in sampled data that calls may wait for a worker within it, where more of them come: who was
// at work when they came is not known.
func (a *Asking) doubtLoad(slot graph.SlotID, f *Finding) {
	if !a.cur().Set.Sampled() && !a.base().Set.Sampled() {
		return
	}
	var sides [2]queuewait.Side
	for i := range sides {
		var weight float64
		var first, last trace.Time
		calls := a.callsOf(i, slot)
		for n, x := range calls {
			q := a.Sides[i].Counted[x.req]
			at := q.Calls[x.at].Work.Start
			if n == 0 {
				first, last = at, at
			}
			first, last = min(first, at), max(last, at)
			weight += float64(q.Weight) / graph.OneRequest
		}
		if last <= first {
			return
		}
		sides[i] = queuewait.Side{N: len(calls), PerSecond: weight / (float64(last-first) / 1e9)}
	}
	was, is := &sides[0], &sides[1]
	if is.PerSecond < (1+arrivalsRose)*was.PerSecond || !is.RateDiffers(was) {
		return
	}
	f.Doubtful = true
	f.Evidence = append(f.Evidence, numbers("spans", is.N, "1/s", was.PerSecond, is.PerSecond, "calls of "+f.Operation))
	f.Warnings = append(f.Warnings, fmt.Sprintf("more calls of %s come, and not all of them are kept: whether they wait for a worker of %s within their spans (load) cannot be told", f.Operation, f.Service))
}

// alone asks of work that takes longer whether it does so by itself, or because others beside it lengthen it more than they
// did: that is refuted, may be, or cannot be told.
func (a *Asking) alone(slot graph.SlotID, f *Finding) {
	b := a.crowding(slot)
	f.Check.Ran, f.Check.Query = true, ""
	was, is, crowds := a.split(slot)
	if crowds {
		f.Check.Outcome = prose.Sprintf("with at most %.2g others at work %s where it was %s, with %.2g or more %s where it was %s", is.few, prose.Ns(is.alone.mean()), prose.Ns(was.alone.mean()), is.many, prose.Ns(is.among.mean()), prose.Ns(was.before().mean()))
	}
	if b.most < steeper { // as many times longer among others as alone
		f.Check.Outcome += "; " + b.outcome
		if a.cur().Set.Sampled() {
			f.Check.Outcome += "; of the others only those of kept requests are known"
			f.Open = true
		}
		return
	}
	if was, is, ok := a.slopes(slot); ok && is.above(was) >= doubtZ {
		f.Check.Against = true
		f.Against = append(f.Against, says("spans", is.n, "%s", steeperThan(was, is)))
		return
	}
	if crowds {
		if part := is.byPeers(&was); part >= bothShare {
			f.Check.Against = true
			f.Against = append(f.Against, says("spans", len(is.among.ns), "%.0f %% of the rise among many others is missing among few: %s", 100*part, f.Check.Outcome))
			return
		}
	}
	f.Check.Outcome += "; " + b.outcome
	if b.most < 2*steeper {
		f.Open = true
		return
	}
	f.Doubtful = true
	f.Warnings = append(f.Warnings, "whether others beside it in the process lengthen it (contention) cannot be told: "+b.outcome)
}

// withinClient asks of a callee without a span whether its client spans hold waits for a connection of the caller: what
// the pool's metrics say, or which ones would.
func (a *Asking) withinClient(slot graph.SlotID, f *Finding) {
	fastest := f.Check.Outcome
	f.Check = Check{
		Question: fmt.Sprintf("while client spans of %s are long, does a connection to %s stand idle?", f.Operation, f.Peer),
		Rival:    "client-wait: calls wait for a connection within the client library of " + f.Service,
		IfThis:   "yes: what is in use stays below the maximum, and hardly a call waits for one",
		IfRival:  "no: the pool is full, and calls wait for one as long as the spans grew",
		Query:    fmt.Sprintf("emit db.client.connection.wait_time, .pending_requests, .count and .max of %s (of HTTP http.client.request.time_in_queue and .open_connections, or the pool's own names)", f.Service),
	}
	if fastest != "" {
		f.Evidence = append(f.Evidence, says("spans", 0, "%s", fastest))
	}
	var v *queuewait.Verdict
	for _, q := range a.cur().Counted {
		for i := range q.Calls {
			if q.Calls[i].Client.Seen() && a.Relative(q, q.Calls[i].Slot) == slot {
				v = a.owner(q, int32(i), queuewait.Inside)
			}
		}
		if v != nil {
			break
		}
	}
	if v != nil {
		for _, t := range v.Tests {
			if t.Name != "metrics" {
				continue
			}
			f.Evidence = append(f.Evidence, says("metrics", v.Sides[summary.Current].N, "%s", t.Statement))
			if t.Says == queuewait.Own || t.Says == queuewait.ClientWait {
				f.Check.Ran, f.Check.Query, f.Check.Outcome = true, "", t.Statement
			}
		}
	}
	if !f.Check.Ran {
		a.firstInLine(slot, f)
	}
}

// maxTorn is the share of torn traces from which the own time of work without
// calls is not taken at its word.
const maxTorn = 0.1

// tornLeaf is the share of the current requests whose trace is torn and in which
// the work of slot makes no call that was seen.
func (a *Asking) tornLeaf(slot graph.SlotID) float64 {
	torn, n := 0, 0
	for last, list := int32(-1), a.callsOf(summary.Current, slot); len(list) > 0; list = list[1:] {
		x := list[0]
		q := a.request(int(x.req))
		if c := &q.Calls[x.at]; c.Work.Seen() && x.req != last { // the first that works
			last = x.req
			n++
			if q.Torn && c.Len == 1 {
				torn++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return float64(torn) / float64(n)
}

// own is the own time of a node per request, on one side.
func (a *Asking) own(side int, work []graph.SlotID) *part {
	return a.partOf(side, a.workIn(side, work))
}

// each is the own time of a node per call in each request, of what it is there in all: that of more calls is more, and none
// of them longer.
func (a *Asking) each(side int, slot graph.SlotID, all []lasted) []lasted {
	calls := a.callsOf(side, slot)
	out := slices.Clone(all)
	for i, x := range out {
		from, to := inRequest(calls, int(x.req))
		out[i].ns = x.ns / int64(max(1, to-from))
	}
	return out
}

// workIn is the own time of a node in each request in which it works for it, on one side.
func (a *Asking) workIn(side int, work []graph.SlotID) []lasted {
	var out []lasted
	steps := a.stepsOfAll(side, work)
	for i := 0; i < len(steps); {
		x, plan := lasted{req: steps[i].req}, a.planOf(side, int(steps[i].req))
		for ; i < len(steps) && steps[i].req == x.req; i++ {
			k := int(steps[i].at)
			x.ns += a.working(side, int(x.req), k, plan.Steps[k].NS)
		}
		x.ns = max(x.ns, 0)
		out = append(out, x)
	}
	return out
}
