package hypotheses

import (
	"cmp"
	"fmt"
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
	case s.Client() == c.Client.Seen():
		if v := owners.Before(c); v != nil {
			ns, _ := owners.Lead(l.Calibration.Side, q.Record, call, max(0, s.NS))
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
	return b.v.Owner == queuewait.NoOwner && (b.v.Key.Site == queuewait.Between || b.v.Key.Site == queuewait.Ahead)
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
		if b.v.Key.Site == queuewait.Lead {
			a.waitSpansBack(b, q, j, p, values, share)
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

// waitSpansBack puts back the spans that a request has of its waits before calls of a queue, beside the calls: where several
// wait at once, no call follows the span of its own wait alone, and either would hold up the request without the other.
func (a *Asking) waitSpansBack(b *queue, q *summary.Request, j int, p *graph.Plan, values []int64, share float64) {
	for k := range p.Steps {
		st := &p.Steps[k]
		w := &q.Calls[st.Call()]
		if !st.Leave || w.Flags&graph.WaitSpan == 0 || st.NS <= 0 {
			continue
		}
		for i := range q.Calls {
			c := &q.Calls[i]
			if c.Parent != w.Parent || !c.Client.Seen() || c.Client.Start < w.Outer().End-smallOverhang || c.Client.Start > w.Outer().End+smallOverhang {
				continue
			}
			if m, ok := b.maps[a.Relative(q, c.Slot)]; ok && a.owner(q, int32(i), queuewait.Lead) == b.v {
				values[k] -= int64(share * float64(st.NS-m.At(st.NS, a.tie(j, k))))
				break
			}
		}
	}
}

func (a *Asking) operation(b *queue) string {
	_, _, op := a.names(b.slot())
	return op
}

// ends is who calls whom in a queue, and the operation that waits most.
func (a *Asking) ends(b *queue) (caller, peer, operation string) {
	caller, peer, operation = a.names(b.slot())
	if b.v.Key.Site == queuewait.Ahead {
		caller, peer = a.Reading.Dict.String(b.v.Key.Caller), a.Reading.Dict.String(b.v.Key.Target)
	}
	return caller, peer, operation
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

// askForSpans asks whether the wait before a server span lies within the client span that nobody recorded, of a wait that
// is a queue's.
func (a *Asking) askForSpans(b *queue, f *Finding) {
	caller, peer, op := a.ends(b)
	f.Warnings[len(f.Warnings)-1] = fmt.Sprintf("nothing tells whose queue it is: %s records no client span for %s, and its calls between one process and another let go at both ends", caller, op)
	f.Check.Question = fmt.Sprintf("do calls of %s wait before %s sends them, or after?", op, caller)
	f.Check.IfThis, f.Check.IfRival = "before: its pool is full meanwhile", fmt.Sprintf("after: within the client span, while all workers of %s are busy", peer)
	if f.Kind == "server-queue" {
		f.Check.IfThis, f.Check.IfRival = f.Check.IfRival, f.Check.IfThis
	}
	f.Check.Query = fmt.Sprintf("record client spans in %s for its calls to %s that begin when they are sent, and the use and limit of its connection pool", caller, peer)
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
		if rest < minRest {
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
			if b.v.Key.Site == queuewait.Ahead {
				a.askForSpans(b, &f)
			}
		}
		f.Below = func(o *Finding) bool { return o.fills[b] > maxHold }
		out = append(out, f)
	}
	return out
}

// maxHold is the share of a wait's change that longer holds may explain before
// the wait goes below what lengthened them.
const maxHold = 0.4

// minDriver is the share of a wait's change from which on arrivals are a cause of it, and minRest that from which on what
// no driver explains is: less is within what the queue that is run again is off by.
const (
	minDriver = 0.05
	minRest   = 0.02
)

func (a *Asking) waitFinding(b *queue, kind string) Finding {
	caller, peer, op := a.ends(b)
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

// where says where calls wait.
func (b *queue) where() string {
	switch b.v.Key.Site {
	case queuewait.Accepted:
		return "for a worker within their spans"
	case queuewait.Inside:
		return "within their client spans"
	}
	return "in front of them"
}
