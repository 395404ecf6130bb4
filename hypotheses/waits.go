package hypotheses

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// A queue is the waits of one edge of the endpoint, as they go back.
type queue struct {
	v     *queuewait.Verdict
	slots []graph.SlotID // relative; the most waiting first
	in    [2][]holding   // its calls
	gaps  []place        // the steps in which current calls wait, and how long
	ns    []int64
	waits [2][]lasted // of each request that waits in it, in all
	calls int

	// hold and arrivals are the shares of the wait's change that are not the
	// queue's own: longer holds, which are the callee's, and more arrivals.
	hold, arrivals float64
	bursts         [2]float64  // the dispersion of sampled arrivals on both sides, of those that come in bursts
	mix            float64     // the share of more arrivals that other requests bring, not more of them
	held           *[2]float64 // mean hold on both sides, in ns, once asked for
	others         *holder     // asked for once
	asked          bool
	maps           map[graph.SlotID]stats.RankMap
}

// queues is the edges whose waits somebody owns and which the endpoint's calls
// go through.
func (a *Asking) queues() []*queue {
	if a.found != nil {
		return a.found
	}
	by := map[queuewait.EdgeKey]*queue{}
	in := [2]map[queuewait.EdgeKey][]holding{{}, {}}
	waited := [2]map[queuewait.EdgeKey][]lasted{{}, {}}
	total := map[graph.SlotID]float64{}
	waits := [2]map[graph.SlotID]*part{{}, {}}
	counted := map[int32]bool{} // calls of a request whose wait stands before several that they make at once
	for i, s := range a.Sides {
		l := summary.NewLedger(s.Set.Calibration)
		for j, q := range s.Counted {
			p := a.planOf(i, j)
			weight := float64(q.Weight) / graph.OneRequest
			clear(counted)
			for k := range p.Steps {
				x, call, v := a.waitOf(l, q, &p.Steps[k])
				if v == nil {
					continue
				}
				slot := a.Relative(q, q.Calls[call].Slot)
				again := counted[call]
				counted[call] = v.Key.Site == queuewait.Accepted
				if !again {
					if waits[i][slot] == nil {
						waits[i][slot] = &part{}
					}
					waits[i][slot].ns = append(waits[i][slot].ns, x)
					waits[i][slot].w = append(waits[i][slot].w, weight)
					in[i][v.Key] = append(in[i][v.Key], a.holding(l, q, j, v, call))
					if list := waited[i][v.Key]; len(list) > 0 && int(list[len(list)-1].req) == j {
						list[len(list)-1].ns += x
					} else {
						waited[i][v.Key] = append(list, lasted{int32(j), x})
					}
				}
				if i == summary.Current {
					b := by[v.Key]
					if b == nil {
						b = &queue{v: v, maps: map[graph.SlotID]stats.RankMap{}}
						by[v.Key] = b
					}
					if !slices.Contains(b.slots, slot) {
						b.slots = append(b.slots, slot)
					}
					if x != 0 {
						b.gaps, b.ns = append(b.gaps, place{int32(j), int32(k)}), append(b.ns, x)
					}
					if !again {
						total[slot] += float64(x) * weight
						b.calls++
					}
				}
			}
		}
	}
	a.found = []*queue{}
	for _, b := range by {
		for _, slot := range b.slots {
			b.maps[slot] = rankMap(waits[summary.Current][slot], waits[summary.Baseline][slot])
		}
		slices.SortFunc(b.slots, func(x, y graph.SlotID) int { return cmp.Or(cmp.Compare(total[y], total[x]), cmp.Compare(x, y)) })
		b.shares()
		switch {
		case !b.v.Model.OK && a.mostlyLeft(b, len(in[1][b.v.Key])):
			if b.arrivals > 0 { // those that were served came when there was room: of such a rate there are no parts
				b.arrivals, b.hold = 0, 0
			}
		case b.hold == 0 && b.arrivals == 0:
			b.arrivals = a.inBursts(b)
		}
		b.in = [2][]holding{in[0][b.v.Key], in[1][b.v.Key]}
		b.waits = [2][]lasted{waited[0][b.v.Key], waited[1][b.v.Key]}
		a.found = append(a.found, b)
	}
	slices.SortFunc(a.found, func(x, y *queue) int {
		return cmp.Or(cmp.Compare(x.v.Key.Caller, y.v.Key.Caller), cmp.Compare(x.v.Key.Target, y.v.Key.Target), cmp.Compare(x.v.Key.Site, y.v.Key.Site))
	})
	return a.found
}

const (
	// holdRose and arrivalsStood: where no model runs, holds that rose by this
	// and arrivals that rose by less put the callee first; arrivals that rose at a
	// limit and with holds that stood are the load. Where arrivals rose by
	// arrivalsRose, more than the rates of a few hundred sampled calls differ by
	// chance, the rise is split between both as the load they offer grew by each:
	// it is their product, so by logarithms.
	holdRose      = 0.15
	arrivalsStood = 0.10
	arrivalsRose  = 0.20
	// burstsStood: calls that come in bursts have a variance of their number a second that rose by this over its mean.
	burstsStood = 0.5
)

// shares says whose the wait's change is.
func (b *queue) shares() {
	if b.v.Owner == queuewait.Pause {
		return // no place is held longer by a process that stands still
	}
	if b.v.Model.OK {
		b.hold, b.arrivals = b.v.Model.HoldShare(), b.v.Model.ArrivalShare()
		return
	}
	was, is := b.v.Sides[0], b.v.Sides[1]
	if was == nil || was.N < 20 || is.N < 20 || was.Hold <= 0 {
		return
	}
	if is.Wait <= was.Wait {
		return
	}
	rose := is.Hold >= (1+holdRose)*was.Hold
	more := is.PerSecond > (1+arrivalsStood)*was.PerSecond
	bursts := is.Peak > (1+arrivalsStood)*was.Peak && is.Bursts > (1+burstsStood)*was.Bursts && burstsDiffer(was, is)
	switch {
	case rose && !more && !bursts:
		b.hold = 1
	case !rose && (more || bursts) && sameLimit(was, is):
		b.arrivals = 1 // the holds and the places are what they were
	case known(was) && known(is) && was.Limit > is.Limit:
		// There are fewer places, too, and nothing tells the parts.
	case is.PerSecond >= (1+arrivalsRose)*was.PerSecond && was.PerSecond > 0 && ratesDiffer(was, is):
		more, longer := math.Log(is.PerSecond/was.PerSecond), math.Log(max(1, is.Hold/was.Hold))
		b.arrivals, b.hold = more/(more+longer), longer/(more+longer)
	}
}

// mostlyLeft reports whether of the current calls between client and server span most were given up before they were served,
// so that those that were, so many, tell nothing of how often calls come.
func (a *Asking) mostlyLeft(b *queue, served int) bool {
	if b.v.Key.Site != queuewait.Between {
		return false
	}
	through, n := a.through(summary.Current, b, queuewait.Between), 0
	for _, q := range a.cur().Counted {
		for i := range q.Calls {
			if c := &q.Calls[i]; c.Client.Seen() && through[c.Slot] {
				n++
			}
		}
	}
	return 2*served < n
}

// ratesDiffer reports whether rates differ by more than those of so many calls that come independently do, by two
// standard errors of the logarithm of their ratio: of the calls of an overload few may have been served.
func ratesDiffer(was, is *queuewait.Side) bool {
	return math.Abs(math.Log(is.PerSecond/was.PerSecond)) > 2*math.Sqrt(1/float64(was.N)+1/float64(is.N))
}

// burstsDiffer reports whether the variances of the calls a second differ by more than those of calls that come alike do in
// so many seconds, by two standard errors of the logarithm of their ratio.
func burstsDiffer(was, is *queuewait.Side) bool {
	free := func(s *queuewait.Side) float64 { return max(float64(s.N)/s.PerSecond-1, 1) } // seconds but one
	return math.Log(is.Bursts/was.Bursts) > 2*math.Sqrt(2/free(was)+2/free(is))
}

// rose is by how much the mean wait of the queue rose, in ns; it stands where one side has no waits to compare.
func (b *queue) rose() float64 {
	was, is := b.v.Sides[0], b.v.Sides[1]
	if is == nil {
		return 0
	}
	if was == nil {
		return is.Wait
	}
	return is.Wait - was.Wait
}

// sameLimit reports whether as many calls could be in service on both sides, by metrics or by calls that waited on both.
func sameLimit(was, is *queuewait.Side) bool {
	return known(was) && known(is) && was.Limit == is.Limit
}

// known reports whether a side tells of the limit itself.
func known(s *queuewait.Side) bool {
	return s.Limit > 0 && (s.FromPool || s.Shown)
}

// byMix moves that part of the arrivals' share which comes with the mix of
// requests: more calls a request, not more requests. reweighted are the weights
// that give the current requests the baseline's mix. It returns what the shares were before.
func (a *Asking) byMix(reweighted []float64) map[*queue][2]float64 {
	before := map[*queue][2]float64{}
	plain := make([]float64, len(a.plans))
	for j := range plain {
		plain[j] = float64(a.request(j).Weight) / graph.OneRequest
	}
	perRequest := func(b *queue, side int, w []float64) float64 {
		var calls, requests float64
		through := a.through(side, b, b.v.Key.Site)
		for j, q := range a.Sides[side].Counted {
			x := float64(q.Weight) / graph.OneRequest
			if w != nil {
				x = w[j]
			}
			requests += x
			for i := range q.Calls {
				if c := &q.Calls[i]; through[c.Slot] && c.Client.Seen() {
					calls += x
				}
			}
		}
		return calls / requests
	}
	rate := func(side int) float64 {
		s := a.Sides[side]
		var first, last int64
		for j, q := range s.Counted {
			t := int64(q.Start())
			if j == 0 || t < first {
				first = t
			}
			if j == 0 || t > last {
				last = t
			}
		}
		if last == first {
			return 0
		}
		return s.Sample.Weight() / float64(last-first)
	}
	r0, r1 := rate(summary.Baseline), rate(summary.Current)
	for _, b := range a.queues() {
		before[b] = [2]float64{b.arrivals, b.mix}
		if b.arrivals <= 0 {
			continue
		}
		was, is, without := r0*perRequest(b, summary.Baseline, nil), r1*perRequest(b, summary.Current, plain), r1*perRequest(b, summary.Current, reweighted)
		if is <= was {
			continue
		}
		b.mix = b.arrivals * min(1, max(0, (is-without)/(is-was)))
		b.arrivals -= b.mix
	}
	return before
}

// waitOf is the likely wait in a step, the call that waits, and who owns it; nil where nobody does.
func (a *Asking) waitOf(l *summary.Ledger, q *summary.Request, s *graph.Step) (int64, int32, *queuewait.Verdict) {
	owners, call := l.Calibration.Owners, s.Call()
	accepted, of, within := owners.AcceptedIn(l.Calibration.Side, q.Record, s)
	if accepted > 0 {
		return accepted, of, within
	}
	c := &q.Calls[call]
	switch {
	case call == 0:
	case s.Leave:
		if v := owners.Of(c, queuewait.Inside); s.Client() && v.Claimed() {
			return min(l.Inside(q.Record, call), max(0, s.NS)), call, v
		}
	case s.Client():
		if v := owners.Of(c, queuewait.Lead); v.Claimed() {
			ns, _ := owners.Lead(l.Calibration.Side, c, max(0, s.NS))
			return ns, call, v
		}
	case c.Paired():
		if v := owners.Of(c, queuewait.Between); v.Claimed() || v != nil && v.Owner == queuewait.NoOwner {
			wait, _, _, _ := l.Gap(q.Record, call)
			return min(wait, s.NS), call, v
		}
	}
	return 0, of, within
}

// waitBack puts a share of the waits of a queue back to what they were, and so the calls that timed out before they
// got their place: those take as long until their answer as the baseline's of the same rank.
func (a *Asking) waitBack(b *queue, share float64) Factor {
	gaps := a.gapsBack(b, share)
	var starved []Factor
	for _, t := range a.targets() {
		if at := a.queueOf(t); at != b && !(at == nil && b.unowned() && slices.ContainsFunc(t.slots, func(s graph.SlotID) bool { return slices.Contains(b.slots, s) })) ||
			t.sides[0].starved+t.sides[1].starved == 0 {
			continue
		}
		is := &t.sides[summary.Current]
		waited := map[int]map[int32]bool{}
		for i := range is.calls {
			if x := &is.calls[i]; x.starved {
				if waited[x.req] == nil {
					waited[x.req] = map[int32]bool{}
				}
				waited[x.req][x.call] = true
			}
		}
		starved = append(starved, a.answeredAsBefore(t, func(j int, attempts []int32) bool {
			return slices.ContainsFunc(attempts, func(c int32) bool { return waited[j][c] }) && a.draw(j, attempts[0], 11) < share
		}))
	}
	if len(starved) == 0 {
		return gaps
	}
	return func(j int, p *graph.Plan, values []int64) {
		gaps(j, p, values)
		for _, f := range starved {
			f(j, p, values)
		}
	}
}

// unowned reports whether nothing tells whose queue the calls wait in, between their client and their server spans.
func (b *queue) unowned() bool {
	return b.v.Owner == queuewait.NoOwner && b.v.Key.Site == queuewait.Between
}

// begunLate is how many current calls of a queue their callee began after their caller had left: those waited at the callee,
// for what waits in the caller for a place is never sent once it has been given up.
func (a *Asking) begunLate(b *queue) int {
	n := 0
	w := summary.NewLedger(a.cur().Set.Calibration).Walker
	through := a.through(summary.Current, b, queuewait.Between)
	for _, q := range a.cur().Counted {
		walked := false
		for k := range q.Calls {
			c := &q.Calls[k]
			if !through[c.Slot] || !c.Paired() || !c.OuterEnd().Left() {
				continue
			}
			if !walked {
				w.Walk(q.Record)
				walked = true
			}
			if int64(c.Work.Start-c.Client.End)+w.Shift(int32(k), false)-w.Shift(int32(k), true) > minSilence {
				n++
			}
		}
	}
	return n
}

// minBegunLate is how many such calls tell that a wait of which nothing else does is the callee's.
const minBegunLate = 3

// through tells of each slot whether its calls wait in a queue, if they do at a site.
func (a *Asking) through(side int, b *queue, site queuewait.Site) []bool {
	out := make([]bool, a.Reading.Dict.Slots())
	for slot := range out {
		out[slot] = a.Sides[side].Set.Calibration.Owners.OfSlot(graph.SlotID(slot), site) == b.v
	}
	return out
}

// gapsBack puts a share of the gaps in which calls of a queue wait back to what they were.
func (a *Asking) gapsBack(b *queue, share float64) Factor {
	l := summary.NewLedger(a.cur().Set.Calibration)
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		back := func(k int, x int64) {
			call := p.Steps[k].Call()
			if b.v.Key.Site == queuewait.Accepted && !p.Steps[k].Leave {
				call = q.Calls[call].Parent
			}
			if m, ok := b.maps[a.Relative(q, q.Calls[call].Slot)]; ok {
				values[k] -= int64(share * float64(x-m.At(x, a.tie(j, k))))
			}
		}
		if p == a.plans[j] {
			from, to := inRequest(b.gaps, j)
			for i := from; i < to; i++ {
				back(int(b.gaps[i].at), b.ns[i])
			}
			return
		}
		for k := range p.Steps { // in other orders its stretches are others
			if x, _, v := a.waitOf(l, q, &p.Steps[k]); v == b.v && x != 0 {
				back(k, x)
			}
		}
	}
}

func (a *Asking) operation(b *queue) string {
	_, _, op := a.names(b.slot())
	return op
}

// slot is the slot that waits most.
func (b *queue) slot() graph.SlotID { return b.slots[0] }

var clientWait = Cause{
	Doc: Doc{
		Kind:     "client-wait",
		Title:    "waiting for a place in the caller's own pool",
		Claim:    "Calls wait inside the caller for a connection or slot of its own; the callee is as fast as before.",
		Supports: "The time between the client span and the server span, or before the client span, grew while the callee's own time did not; waits end the moment another call of the same caller instance ends; a constant number of calls is in flight while others wait; the pool's own metrics show it full.",
		Refutes:  "The pool has idle connections while calls wait, its wait-time metric is small, or waits end when calls of other callers end.",
		Mimics:   "server-queue looks the same in the gap and differs in who lets go; service-time of the callee fills the caller's pool and shows as longer holds; network moves the way back too.",
		Emit:     "db.client.connection.pending_requests, .wait_time, .count and .max (or the pool's own names) of each instance.",
	},
	find: func(a *Asking) []Finding {
		return slices.Concat(a.waiting(queuewait.ClientWait), a.saidWaits("client-wait"), a.inLine())
	},
}

var serverQueue = Cause{
	Doc: Doc{
		Kind:     "server-queue",
		Title:    "waiting for a place at the callee",
		Claim:    "Requests wait at the callee before its span begins: for a thread, a worker or admission.",
		Supports: "The gap before the server span grew; waits end the moment another request at the same server instance ends, whoever sent it; a constant number is in service while others wait; the executor's metrics show it full.",
		Refutes:  "The executor has idle threads while requests wait, or waits end only with calls of the same caller.",
		Mimics:   "client-wait differs in who lets go; load is the same queue with more arrivals; service-time of the callee holds its threads longer.",
		Emit:     "the executor's active, queued and max per instance, or a span from acceptance to start.",
	},
	find: func(a *Asking) []Finding {
		return append(a.waiting(queuewait.ServerQueue), a.saidWaits("server-queue")...)
	},
}

// waiting finds the queues of an owner whose waits changed.
func (a *Asking) waiting(owner queuewait.Owner) []Finding {
	var out []Finding
	for _, b := range a.queues() {
		unowned := b.unowned() && owner != queuewait.Pause
		if b.v.Owner != owner && !unowned || a.isLock(b) {
			continue
		}
		late := 0
		if unowned {
			if late = a.begunLate(b); late >= minBegunLate && owner == queuewait.ClientWait {
				continue
			}
		}
		if a.inTurns(b.v) != nil || b.v.Owner == queuewait.Pause && b.v.Stopped != 0 {
			continue // the turns, or the stops themselves, are asked about
		}
		rest := 1 - b.hold - b.arrivals - b.mix - b.v.Model.PlacementShare()
		if rest < 0.02 {
			continue
		}
		f := a.waitFinding(b, string(owner))
		f.Factor = a.waitBack(b, rest)
		f.wait = b
		f.lengths = func(side, j int) (int64, bool) { return lengthIn(b.waits[side], j) }
		switch {
		case late >= minBegunLate:
			f.Open = true
			f.Evidence = append(f.Evidence, says("spans", late, "%s by the callee after the caller had left: they waited there, for what waits in the caller is not sent once it is given up", plural(late, "call was begun", "calls were begun")))
		case unowned:
			f.Doubtful = true
			f.Warnings = append(f.Warnings, "nothing tells whose queue it is: it may be the caller's, the callee's, or the way between them")
			f.Check.Ran = false
		}
		f.Below = func(o *Finding) bool { return o.fills[b] > maxHold }
		out = append(out, f)
	}
	return out
}

// maxHold is the share of a wait's change that longer holds may explain before
// the wait goes below what lengthened them.
const maxHold = 0.4

func (a *Asking) waitFinding(b *queue, kind string) Finding {
	caller, peer, op := a.names(b.slot())
	was, is := b.v.Sides[0], b.v.Sides[1]
	f := Finding{Kind: kind, Service: caller, Peer: peer, Operation: op}
	resource := ""
	if b.v.Resource != "" {
		resource = " " + b.v.Resource
	}
	limit := func(s *queuewait.Side) string {
		if s.Limit == 0 {
			return "unknown"
		}
		return fmt.Sprint(s.Limit)
	}
	where := fmt.Sprintf("a connection of the pool%s in %s", resource, caller)
	rival := "server-queue: a queue at " + peer
	if b.v.Key.Site == queuewait.Accepted {
		peer = a.Reading.Dict.String(b.v.Key.Target) // of an entry nobody calls
	}
	if kind == "server-queue" {
		f.Service, f.Peer = peer, ""
		where = fmt.Sprintf("a place in the executor%s of %s", resource, peer)
		rival = "client-wait: a pool of " + caller
	}
	if kind == "pause" {
		f.Service, f.Peer, f.Operation = caller, "", ""
		where = caller + " to go on"
		rival = "network: the way between the hosts"
	}
	f.Claim = fmt.Sprintf("calls of %s wait for %s, %s on average where it was %s", op, where, prose.Ns(is.Wait), prose.Ns(was.Wait))
	wait := numbers("spans", is.N, "ms", was.Wait/1e6, is.Wait/1e6, "mean wait before "+op+" beyond the usual")
	if b.v.Key.Site == queuewait.Accepted {
		wait.Statement = "mean wait for a worker within the spans of " + op
	}
	if b.v.Key.Site == queuewait.Inside {
		wait.Source, wait.Statement = "metrics", "mean wait for a connection within the client spans of "+op
	}
	f.Evidence = append(f.Evidence, wait,
		numbers("spans", is.N, "ms", was.Hold/1e6, is.Hold/1e6, "mean time of "+op+" once it is served"),
	)
	for _, t := range b.v.Tests {
		if t.Statement == "" {
			continue
		}
		src := "spans"
		if t.Name == "metrics" {
			src = "metrics"
		}
		e := says(src, is.N, "%s: %s", t.Name, t.Statement)
		if t.Says == b.v.Owner {
			f.Evidence = append(f.Evidence, e)
		} else if t.Says != "" {
			f.Against = append(f.Against, e)
		}
	}
	if was.Limit > 0 || is.Limit > 0 {
		f.Evidence = append(f.Evidence, numbers("spans", is.N, "calls", num(was.Limit), num(is.Limit), "looks like a limit of "+limit(is)+" in service at once"))
	}
	if b.v.MeanOnly() {
		f.Doubtful = true
		f.Warnings = append(f.Warnings, "which calls waited is not known: what the pool's metrics say of all of them is taken off the longest")
	}
	if m := b.v.Model; m.OK {
		where := ""
		if m.Placement > 0 {
			where = fmt.Sprintf(" and %s from the instances that they go to", prose.Ns(m.Placement))
		}
		f.Evidence = append(f.Evidence, says("spans", is.N, "the queue run again gives the waits observed (%s for %s); of the change of %s, %s come from the limit, %s from longer holds, %s from arrivals%s",
			prose.Ns(m.Reproduced[1]), prose.Ns(m.Observed[1]), prose.Ns(m.Change), prose.Ns(m.Size), prose.Ns(m.Holds), prose.Ns(m.Arrivals), where))
	} else if m.Why != "" {
		f.Against = append(f.Against, says("spans", 0, "the wait's change could not be split by a model of the queue: %s", m.Why))
	}
	f.Check = Check{
		Question: fmt.Sprintf("while calls wait, is %s full, and is %s itself as fast as before?", where, peer),
		Rival:    rival,
		IfThis:   fmt.Sprintf("used = max and pending > 0 while %s stands; a larger pool makes the gap go", op),
		IfRival:  "idle places in the pool while calls wait; the wait ends with calls of other callers",
		Query:    fmt.Sprintf(`max by (service_instance_id) (db_client_connection_pending_requests{service_name=%q})`, caller),
	}
	if kind == "server-queue" {
		f.Check.IfThis = "active = max and queued > 0 at the callee; waits end with requests of any caller"
		f.Check.IfRival = "idle threads at the callee while calls wait; waits end with the caller's own calls"
		f.Check.Query = fmt.Sprintf(`max by (service_instance_id) (executor_queued_tasks{service_name=%q})`, peer)
	}
	if b.v.Key.Site == queuewait.Accepted {
		f.Check.Question = fmt.Sprintf("with waits for workers that take requests in turn taken off, does %s take as long as when a worker is free?", op)
		f.Check.Rival = "contention: a lock, or a CPU that is shared, lengthens the work itself"
		f.Check.IfThis, f.Check.IfRival = "yes, for one number of workers", "no, for none"
		if is.Limit == 1 && !is.FromPool {
			f.Open = true
			f.Warnings = append(f.Warnings, "one at a time in each process: a lock around all of the work looks the same")
		}
	}
	for _, t := range b.v.Tests {
		if t.Decided && t.Says == b.v.Owner {
			f.Check.Ran, f.Check.Outcome, f.Check.Query = true, b.answer(op, t.Name), ""
		}
	}
	return f
}

// answer answers a wait's check by what the tests say, whose statements stand as
// evidence.
func (b *queue) answer(op, decided string) string {
	also, against := []string{}, []string{}
	for _, t := range b.v.Tests {
		switch {
		case t.Says == "" || t.Name == decided:
		case t.Says == b.v.Owner:
			also = append(also, t.Name)
		default:
			against = append(against, t.Name+" for "+string(t.Says))
		}
	}
	text := fmt.Sprintf("%s takes %s once it is served where it was %s; %s decides for %s", op, prose.Ns(b.v.Sides[1].Hold), prose.Ns(b.v.Sides[0].Hold), decided, b.v.Owner)
	if len(also) > 0 {
		text += "; " + strings.Join(also, " and ") + " say so too"
	}
	if len(against) > 0 {
		text += "; against it: " + strings.Join(against, ", ")
	}
	return text
}

func num(n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(n)
}

var load = Cause{
	Doc: Doc{
		Kind:     "load",
		Title:    "more, or burstier, arrivals at a queue",
		Claim:    "The same queue with the same limit and the same holds has more to do: more calls, or calls in bursts.",
		Supports: "The queue run again with the baseline's arrivals waits as the baseline did; arrivals per second, or their peaks, rose.",
		Refutes:  "Arrivals and their peaks are as before, or holds or the limit changed instead.",
		Mimics:   "client-wait and server-queue change the limit; service-time changes the holds; retries, call-count and mix-shift are where the arrivals come from.",
		Emit:     "unsampled request counters per instance and second.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, b := range a.queues() {
			unowned := b.v.Owner == queuewait.NoOwner && b.v.Key.Site == queuewait.Between
			if !b.v.Claimed() && !unowned || b.arrivals < 0.05 || a.inTurns(b.v) != nil {
				continue
			}
			f := a.waitFinding(b, "load")
			caller, peer, op := a.names(b.slot())
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
					says("spans", is.N, "at a queue that makes the current calls wait as they did, the baseline's would wait %.0f %% of the rise less", 100*b.arrivals))
			}
			if unowned {
				f.Doubtful = true
				f.Warnings = append(f.Warnings, "nothing tells whose queue it is: the calls may wait in "+caller+" as well as in front of "+peer)
			}
			f.Factor = a.waitBack(b, b.arrivals)
			f.lengths = func(side, j int) (int64, bool) { return lengthIn(b.waits[side], j) }
			out = append(out, f)
		}
		return append(out, a.turns("load")...)
	},
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

var network = Cause{
	Doc: Doc{
		Kind:     "network",
		Title:    "the way between caller and callee",
		Claim:    "The time between client and server span grew for every call, on the way there and on the way back; or single calls are held up on the way.",
		Supports: "The least gap of the edge rose, not only its mean, on both ways or on one; all edges of one service show it where its host sends late. Or answers of one callee come late and those of others do not. Or calls that come later go by those that wait: lost packets, new connections and name resolution hold up one call each.",
		Refutes:  "The fastest calls are as fast as before and nobody passes those that wait, or all wait together.",
		Mimics:   "queues leave the fastest calls alone; pause moves the way back alone.",
		Emit:     "TCP retransmits and round-trip times between the two hosts.",
	},
	find: func(a *Asking) []Finding {
		var ways []way
		done := map[queuewait.EdgeKey]bool{}
		for j, p := range a.plans {
			q := a.request(j)
			for k := range p.Steps {
				s := &p.Steps[k]
				if s.Leave || s.Client() || !q.Calls[s.Call()].Paired() {
					continue
				}
				v := a.owner(q, s.Call(), queuewait.Between)
				if v == nil || v.Owner != queuewait.Network || done[v.Key] {
					continue
				}
				done[v.Key] = true
				w := way{v: v, slot: a.Relative(q, q.Calls[s.Call()].Slot)}
				w.caller, w.peer, w.op = a.names(w.slot)
				ways = append(ways, w)
			}
		}
		joint, rest := oneEnd(ways)
		var out []Finding
		if len(joint.ways) > 0 {
			out = append(out, a.jointFinding(joint))
		}
		for _, w := range rest {
			out = append(out, a.networkFinding(w))
		}
		return out
	},
}

// A way is an edge whose calls take longer on their way.
type way struct {
	v                *queuewait.Verdict
	slot             graph.SlotID
	caller, peer, op string
}

// cost is what the way takes longer now, of all its calls.
func (w *way) cost() float64 {
	return (w.v.Trips[1] - w.v.Trips[0]) * float64(w.v.Sides[1].N)
}

// always is whether every call takes longer on it, not single ones.
func (w *way) always() bool { return w.v.Passing == nil && w.v.OnlyTo == 0 && w.v.FromAll == 0 }

// An end is a service with all ways that lead to it or from it.
type end struct {
	service string
	ways    []way // the costliest to it first
}

// oneEnd finds the service that the most ways share, of two at least, on which every call takes longer: what slows the
// packets of one host slows those of all its calls and answers. The other ways are the rest.
func oneEnd(ways []way) (end, []way) {
	shared := map[string]int{}
	for _, w := range ways {
		if w.always() {
			shared[w.caller]++
			if w.peer != w.caller {
				shared[w.peer]++
			}
		}
	}
	var e end
	most := 1
	for _, service := range slices.Sorted(maps.Keys(shared)) {
		if shared[service] > most {
			most, e.service = shared[service], service
		}
	}
	var rest []way
	for _, w := range ways {
		if w.always() && most > 1 && (w.caller == e.service || w.peer == e.service) {
			e.ways = append(e.ways, w)
		} else {
			rest = append(rest, w)
		}
	}
	slices.SortStableFunc(e.ways, func(x, y way) int {
		to := func(w *way) int {
			if w.peer == e.service {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(to(&x), to(&y)), cmp.Compare(y.cost(), x.cost()))
	})
	return e, rest
}

// jointFinding is the network of one service: it names the costliest way to it, and puts all back.
func (a *Asking) jointFinding(e end) Finding {
	f := a.networkFinding(e.ways[0])
	f.Claim = prose.Sprintf("whatever goes to or from %s takes longer on its way: %d edges of it do, every call", e.service, len(e.ways))
	f.Evidence = nil
	of := map[*queuewait.Verdict]bool{}
	for _, w := range e.ways {
		of[w.v] = true
		f.Evidence = append(f.Evidence, numbers("spans", w.v.Sides[1].N, "ms", w.v.Trips[0]/1e6, w.v.Trips[1]/1e6, "mean time between client and server span, there and back, "+w.caller+" to "+w.peer))
	}
	f.Check.Question = "did the fastest calls of every edge of " + e.service + " become slower too?"
	f.Check.IfThis = "yes: the least gap of each moved"
	f.Factor = a.wayBack(func(v *queuewait.Verdict) bool { return of[v] })
	return f
}

// wayBack puts the way there and the way back of some edges back to what they were.
func (a *Asking) wayBack(of func(*queuewait.Verdict) bool) Factor {
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for k := range p.Steps {
			s := &p.Steps[k]
			if q.Calls[s.Call()].Paired() && s.Client() == s.Leave && of(a.owner(q, s.Call(), queuewait.Between)) {
				values[k] = a.back(a.key(q, s), s.NS, a.tie(j, k))
			}
		}
	}
}

func (a *Asking) networkFinding(w way) Finding {
	v, caller, peer, op := w.v, w.caller, w.peer, w.op
	is := v.Sides[1]
	f := Finding{Kind: "network", Service: caller, Peer: peer, Operation: op,
		Claim: fmt.Sprintf("the way between %s and %s takes longer for every call", caller, peer)}
	f.Evidence = append(f.Evidence, numbers("spans", is.N, "ms", v.Trips[0]/1e6, v.Trips[1]/1e6, "mean time between client and server span, there and back"))
	for _, t := range v.Tests {
		if t.Decided {
			f.Evidence = append(f.Evidence, says("spans", is.N, "%s", t.Statement))
			f.Check.Outcome = fmt.Sprintf("both ways together take %s on average where they took %s, and at the least more as well", prose.Ns(v.Trips[1]), prose.Ns(v.Trips[0]))
		}
	}
	f.Check.Question, f.Check.Rival = "did the fastest calls become slower too?", "a queue in the caller or the callee"
	f.Check.IfThis, f.Check.IfRival, f.Check.Ran = "yes: the least gap moved", "no: the fastest calls find no queue", true
	if x := v.Passing; x != nil {
		f.heldUp(v, caller, peer)
	} else if v.OnlyTo > 0 {
		f.Claim = fmt.Sprintf("answers of %s reach %s late, those of its other callees do not", peer, caller)
		f.Check.Question, f.Check.Rival = fmt.Sprintf("do the answers of other callees come to %s late as well?", caller), "pause: the caller reads its answers late"
		f.Check.IfThis, f.Check.IfRival = "no: what is lost or held up is on the way from "+peer, "yes: who stops reads no answer"
		f.Check.Outcome = prose.Sprintf("%d of them came as before", v.OnlyTo)
	} else if v.FromAll > 0 {
		f.Claim = fmt.Sprintf("answers of %s reach its callers late, %s too", peer, caller)
		f.Check.Question, f.Check.Rival = fmt.Sprintf("do the answers of %s come late to others as well?", peer), "pause: the caller reads its answers late"
		f.Check.IfThis, f.Check.IfRival = "yes: what is lost or held up is on the way from "+peer, "no: only who stops reads them late"
		f.Check.Outcome = prose.Sprintf("%d of them did", v.FromAll)
	}
	f.Factor = a.wayBack(func(o *queuewait.Verdict) bool { return o == v })
	return f
}

// heldUp says of a network that it is single calls that it holds up.
func (f *Finding) heldUp(v *queuewait.Verdict, caller, peer string) {
	x, was, is := v.Passing, v.Sides[0], v.Sides[1]
	f.Evidence = []Evidence{numbers("spans", is.N, "ms", was.Wait/1e6, is.Wait/1e6, "mean time between client and server span beyond the usual")}
	f.Claim = fmt.Sprintf("single calls from %s to %s are held up on the way, by %s in the median, while others go by", caller, peer, prose.Ns(float64(x.Median)))
	for _, t := range v.Tests {
		if t.Name == "passed" {
			f.Evidence = append(f.Evidence, says("spans", is.N, "%s", t.Statement))
		}
	}
	where := "on the way there alone: a connection or its TLS is set up, a name is asked for, or a proxy holds it; count new connections and time name resolution in " + caller
	switch {
	case x.There*4 < x.Back:
		where = "on the way back alone: answers that are lost and sent again, large ones, or a proxy that holds them; count the TCP retransmits of " + peer + " and compare the sizes of answers"
	case x.Back*4 >= x.There:
		where = "on the way back as often: what is lost is sent again; count the TCP retransmits between the two hosts"
	}
	f.Evidence = append(f.Evidence, says("spans", x.There+x.Back, "%s", where))
	if x.MayHaveStopped() {
		f.Doubtful = true
		f.Warnings = append(f.Warnings, "no other call was in service while they waited, and few came: a callee that stands still for so short looks the same")
	}
	f.Check.Question = "do calls that come later go by those that wait?"
	f.Check.IfThis, f.Check.IfRival = "yes: they wait no more often than all do", "no: in a queue those that come later wait as well"
	f.Check.Outcome = prose.Sprintf("%d of %d that came to the callee meanwhile waited", x.Waited[1], x.Behind[1])
}
