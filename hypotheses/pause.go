package hypotheses

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

var pause = Cause{
	Doc: Doc{
		Kind:     "pause",
		Title:    "an instance that stood still",
		Claim:    "An instance did nothing for a while (garbage collection, a stopped event loop, a throttled CPU), and what was in flight waited.",
		Supports: "Stretches in which nothing began or ended at the instance though its rate says that much should have, after which several requests went on at once, with work of its own in flight that took far longer than it does; or its spans begin late and it reads answers late, without more to do.",
		Refutes:  "Other calls of the instance made progress meanwhile, or all that was in flight waited for somebody else.",
		Mimics:   "client-wait and server-queue end with a release, that hands on to one other; network moves both ways and the least time too; a lull of traffic has nothing of its own in flight; stops that begin and end with one operation of the endpoint itself are its service-time.",
		Emit:     "GC pause (jvm.gc.duration), event-loop delay (nodejs.eventloop.delay.max) and CPU throttling (container_cpu_cfs_throttled_seconds_total) of each instance.",
	},
	find: func(a *Asking) []Finding {
		return slices.Concat(a.pauses(), a.waiting(queuewait.Pause), a.turns("pause"))
	},
}

const (
	// minSilence is the shortest stretch of a request that is looked at for being longer than usual.
	minSilence = 20_000_000
	// burst is how soon after a stop what had waited for it ends.
	burst = 3_000_000
	// minPiled is how much that is late must end with a stop where nothing was in flight through all of it: two do not
	// end together by chance.
	minPiled = 2
	// pausesRose is by how much the time stood still must have grown, and
	// minPauses how many stops make a finding.
	pausesRose = 2
	minPauses  = 3
	// leastVariance is that of a count of which hardly any is expected: one that is seen is not without error.
	leastVariance = 0.5
)

// A delayed is a stretch of a request that took longer than it did in all but 1 % of the baseline, and that a process
// which stands still would lengthen.
type delayed struct {
	trace.Interval
	req  int
	wait bool         // before its work began
	work graph.SlotID // whose own work it is a part of, NoSlot of a wait
}

// delays are the delayed stretches of one side by process.
func (a *Asking) delays(side int) map[graph.ProcID][]delayed {
	out := map[graph.ProcID][]delayed{}
	long := map[PartKey]float64{} // the usual longest of each part
	usual := func(k PartKey) float64 {
		x, ok := long[k]
		if !ok {
			x = math.Inf(1) // what was not there before was never late
			if p := a.parts[summary.Baseline][k]; p != nil {
				x = p.at(0.99)
			}
			long[k] = x
		}
		return x
	}
	s := a.Sides[side]
	l := summary.NewLedger(s.Set.Calibration)
	w := &l.Walker
	for j, q := range s.Counted {
		plan := a.planOf(side, j)
		walked := false
		for k := range plan.Steps {
			st := &plan.Steps[k]
			if st.NS < minSilence || float64(st.NS) <= usual(a.key(q, st)) {
				continue
			}
			if !walked {
				w.Walk(q.Record)
				walked = true
			}
			if _, _, v := a.waitOf(l, q, st); v.Claimed() && v.Owner != queuewait.Pause {
				continue // it waited for a place
			}
			if p, ok := a.stillAt(q, st); ok {
				d := delayed{trace.Interval{Start: st.At - trace.Time(st.NS), End: st.At}, j, !st.Leave && !st.Client(), graph.NoSlot}
				if slot, ok := a.worksFor(q, st); ok {
					d.work = a.workOf(slot)
				}
				out[p] = append(out[p], d)
			}
		}
		// Of a call that was left, what its callee did is no part of the request's plan. When it began tells.
		for k := range q.Calls {
			c := &q.Calls[k]
			if !c.Paired() || !c.OuterEnd().Left() || c.Flags&graph.Loser != 0 {
				continue
			}
			if !walked {
				w.Walk(q.Record)
				walked = true
			}
			ns := int64(c.Work.Start-c.Client.Start) + w.Shift(int32(k), false) - w.Shift(int32(k), true)
			if ns >= minSilence && float64(ns) > usual(PartKey{Slot: a.Relative(q, c.Slot)}) {
				out[c.Work.Proc] = append(out[c.Work.Proc], delayed{trace.Interval{Start: c.Work.Start - trace.Time(ns), End: c.Work.Start}, j, true, graph.NoSlot})
			}
		}
	}
	return out
}

// stops are those of each process of one side that had work of this endpoint in flight which took longer than usual.
func (a *Asking) stops(side int) map[graph.ProcID][]queuewait.Stop {
	late := a.delays(side)
	out := map[graph.ProcID][]queuewait.Stop{}
	for p, list := range a.cur().Set.Calibration.Owners.Stops[side] {
		for _, v := range list {
			if through, with := meeting(late[p], v.Interval); through || len(with) >= minPiled {
				out[p] = append(out[p], v)
			}
		}
	}
	for p, list := range a.endings(side, late) {
		for _, v := range list {
			if !slices.ContainsFunc(out[p], func(s queuewait.Stop) bool { return s.Overlaps(v) }) {
				out[p] = append(out[p], queuewait.Stop{Interval: v, Held: graph.NoSlot})
			}
		}
		slices.SortFunc(out[p], func(x, y queuewait.Stop) int { return cmp.Compare(x.Start, y.Start) })
	}
	return out
}

// meeting is whether some of what is late was in flight throughout a stretch, and the requests, one for each, of what came
// meanwhile, piled up and ended with it.
func meeting(late []delayed, v trace.Interval) (through bool, with []int) {
	for _, b := range late {
		if b.Start <= v.Start+edge(v.Duration()) && b.End >= v.End-edge(v.Duration()) {
			through = true
		}
		if b.Start < v.End-minSilence && b.End >= v.End && b.End <= v.End+burst {
			with = append(with, b.req)
		}
	}
	return through, with
}

// endings are the stops that show without a rate: few of the calls of a process may be known, so that it promises nothing.
// Then what was late at one time tells. It ends together if the process stood still, after a stretch without any event, and
// one after the other if it waited in a queue or was slow.
func (a *Asking) endings(side int, late map[graph.ProcID][]delayed) map[graph.ProcID][]trace.Interval {
	events := map[graph.ProcID][]trace.Time{}
	for _, rec := range a.Sides[side].Set.Records {
		for i := range rec.Calls {
			for _, h := range [2]*graph.Half{&rec.Calls[i].Client, &rec.Calls[i].Work} {
				if h.Seen() && len(late[h.Proc]) > 0 {
					events[h.Proc] = append(events[h.Proc], h.Start, h.End)
				}
			}
		}
	}
	out := map[graph.ProcID][]trace.Interval{}
	for p, list := range events {
		radix.Ints(list)
		var perhaps []trace.Interval
		together, stops := 0, 0
		for i := 1; i < len(list); i++ {
			v := trace.Interval{Start: list[i-1], End: list[i]}
			if v.Duration() < minSilence {
				continue
			}
			through, with := meeting(late[p], v)
			if !through && len(with) == 0 {
				continue
			}
			perhaps = append(perhaps, v)
			slices.Sort(with)
			if n := len(slices.Compact(with)); n >= minPiled {
				together += n
				stops++
			}
		}
		enough := stops >= minPauses || stops > 0 && a.silent(side, p, late, perhaps)
		if enough && float64(together) >= endTogether*float64(together+apart(late[p])) {
			out[p] = perhaps
		}
	}
	return out
}

// surelySilent is the probability by chance from which on waits that end in silence, at one process of several, are not a queue's.
const surelySilent = 0.01

// silent reports whether what began late at a process waited for no place: in a queue somebody leaves before the next one
// begins, and of that departure, as of all that happens, the sampled share is known. It has to be this process among those of
// its service that things are late at, for a lost packet is silent as well and comes to all of them.
func (a *Asking) silent(side int, p graph.ProcID, late map[graph.ProcID][]delayed, perhaps []trace.Interval) bool {
	waits, silent, elsewhere := 0, 0, 0
	for q, list := range late {
		if a.instanceOf(q).service != a.instanceOf(p).service {
			continue
		}
		for _, d := range list {
			switch {
			case !d.wait:
			case q != p:
				elsewhere++
			default:
				waits++
				if slices.ContainsFunc(perhaps, func(v trace.Interval) bool { return d.End >= v.End && d.End <= v.End+burst }) {
					silent++
				}
			}
		}
	}
	var here, all, known, stand float64 // calls of the service, and requests
	for _, rec := range a.Sides[side].Set.Records {
		w := float64(rec.Weight) / graph.OneRequest
		known, stand = known+1, stand+w
		for i := range rec.Calls {
			if h := &rec.Calls[i].Work; h.Seen() && a.instanceOf(h.Proc).service == a.instanceOf(p).service {
				all += w
				if h.Proc == p {
					here += w
				}
			}
		}
	}
	return waits > 0 && stats.BinomialAtLeast(silent, waits, max(0, 1-known/stand)) < surelySilent &&
		stats.BinomialAtLeast(waits, waits+elsewhere, here/all) < surelySilent
}

// endTogether is the share of what was late at the same time as something else that must end with it for stops to be
// believed by this alone.
const endTogether = 0.5

// apart is how many of those that are late at the same time as one of another request end at another time.
func apart(late []delayed) int {
	list := slices.Clone(late)
	slices.SortFunc(list, func(x, y delayed) int { return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Start, y.Start)) })
	n := 0
	for i, d := range list {
		alone, with := false, false
		for k := i - 1; k >= 0 && list[k].End > d.Start+minSilence; k-- {
			if list[k].req != d.req {
				with = with || d.End-list[k].End <= burst
				alone = true
			}
		}
		if alone && !with {
			n++
		}
	}
	return n
}

// edge is a tenth of a stretch: how far the work in flight may fail to reach its ends.
func edge(ns int64) trace.Time { return trace.Time(ns / 10) }

// stillAt is the process whose standing still would lengthen a step: that of its
// own time, or the callee's before its span begins.
func (a *Asking) stillAt(q *summary.Request, s *graph.Step) (graph.ProcID, bool) {
	c := &q.Calls[s.Call()]
	switch {
	case s.Client() && c.Client.Seen():
		if s.Leave && !c.Work.Seen() {
			return 0, false // an uninstrumented peer's
		}
		return c.Client.Proc, true
	case !s.Client() && c.Work.Seen():
		return c.Work.Proc, true
	}
	return 0, false
}

// A standstill is the stops of an instance, or of all instances of a service.
type standstill struct {
	service, instance trace.StringID // no instance: all, of several
	stops             [2]map[graph.ProcID][]queuewait.Stop

	// holder is the work that went on through nearly all stops alone, so that all else waited for it; NoSlot if there is none.
	// node is the endpoint's own slot for it, NoSlot where it is work of another endpoint.
	holder, node graph.SlotID
	held         int
	shown        int // where not all requests are known, the stops that others show, of which it was in flight in held
}

func (s *standstill) sum(side int) (n int, ns float64) {
	for _, list := range s.stops[side] {
		for _, v := range list {
			n++
			ns += float64(v.Duration())
		}
	}
	return n, ns
}

// standstills are the instances that stood still more than they did; of a service whose instances all did it is the service.
func (a *Asking) standstills() []*standstill {
	if a.still != nil {
		return a.still
	}
	by := map[instanceKey]*standstill{}
	for side := range a.Sides {
		for p, list := range a.stops(side) {
			k := a.instanceOf(p)
			if by[k] == nil {
				by[k] = &standstill{service: k.service, instance: k.instance}
			}
			if by[k].stops[side] == nil {
				by[k].stops[side] = map[graph.ProcID][]queuewait.Stop{}
			}
			by[k].stops[side][p] = list
		}
	}
	working := map[trace.StringID]map[trace.StringID]bool{} // instances of each service
	for _, q := range a.cur().Counted {
		for i := range q.Calls {
			if w := &q.Calls[i].Work; w.Seen() {
				k := a.instanceOf(w.Proc)
				if working[k.service] == nil {
					working[k.service] = map[trace.StringID]bool{}
				}
				working[k.service][k.instance] = true
			}
		}
	}
	a.still = []*standstill{}
	many := map[trace.StringID][]*standstill{}
	for _, k := range slices.SortedFunc(maps.Keys(by), func(x, y instanceKey) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.instance, y.instance))
	}) {
		s := by[k]
		_, was := s.sum(summary.Baseline)
		n, is := s.sum(summary.Current)
		all := n // of the process, whichever endpoint they kept waiting
		for p := range s.stops[summary.Current] {
			all = max(all, len(a.cur().Set.Calibration.Owners.Stops[summary.Current][p]))
		}
		if n > 0 && all >= minPauses && is >= pausesRose*was {
			many[k.service] = append(many[k.service], s)
			a.still = append(a.still, s)
		}
	}
	for service, list := range many {
		if len(list) < 2 || len(list) < len(working[service]) {
			continue
		}
		all := &standstill{service: service}
		for side := range all.stops {
			all.stops[side] = map[graph.ProcID][]queuewait.Stop{}
			for _, s := range list {
				maps.Copy(all.stops[side], s.stops[side])
			}
		}
		a.still = slices.DeleteFunc(a.still, func(s *standstill) bool { return s.service == service })
		a.still = append(a.still, all)
	}
	slices.SortStableFunc(a.still, func(x, y *standstill) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.instance, y.instance))
	})
	for _, s := range a.still {
		a.hold(s)
		if s.holder == graph.NoSlot && a.known(summary.Current) < allKnown {
			a.holdKnown(s)
		}
	}
	return a.still
}

const (
	// minHeld is the share of stops that one work must have gone on through alone to have caused them, and sureHeld by how
	// many standard errors it must exceed chance, which is one of those at work.
	minHeld  = 0.7
	sureHeld = 3
	// mainlyHeld is that share where it is estimated from the requests that are known: the greater part of the stops.
	mainlyHeld = 0.5
)

// hold finds what went on while a process stood still.
func (a *Asking) hold(s *standstill) {
	s.holder, s.node = graph.NoSlot, graph.NoSlot
	by, slots := map[opName]int{}, map[opName]graph.SlotID{}
	n, alone, among := 0, 0, 0.0
	for _, list := range s.stops[summary.Current] {
		for _, v := range list {
			if v.Through == 0 {
				continue // nothing is known to have gone on through it
			}
			n++
			if v.Through == 1 {
				alone++
			} else {
				among += 1 / float64(v.Through)
			}
			if v.Held == graph.NoSlot {
				continue
			}
			shown := a.slot(v.Held).Shown()
			k := opName{shown.Service, shown.Operation}
			by[k]++
			if at, ok := slots[k]; !ok || v.Held < at {
				slots[k] = v.Held
			}
		}
	}
	if n < minPauses {
		return
	}
	var usual map[opName]float64
	if alone > 0 {
		usual = a.atWork(s)
	}
	for _, k := range slices.SortedFunc(maps.Keys(by), func(x, y opName) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.operation, y.operation))
	}) {
		share := float64(by[k]) / float64(n)
		chance := (among + float64(alone)*usual[k]) / float64(n) // one of those at work; alone, whoever is at work most
		if share < minHeld || share-chance < sureHeld*math.Sqrt(chance*(1-chance)/float64(n)) || chance > minHeld {
			continue
		}
		s.holder, s.held = slots[k], by[k]
		for rel, abs := range a.slots[summary.Current] {
			for _, x := range abs {
				if sh := a.slot(x).Shown(); (opName{sh.Service, sh.Operation}) == k && (s.node == graph.NoSlot || rel < s.node) {
					s.node = rel
				}
			}
		}
	}
}

// holdKnown finds what went on while a process stood still where not all requests are known. Stops that others show, by
// waiting for them, have the work that caused them in flight as often as requests are kept, and any other work as often as
// it is at work: a collection of garbage strikes work in proportion to the time that it takes.
func (a *Asking) holdKnown(s *standstill) {
	late := a.delays(summary.Current)
	through := map[graph.SlotID]int{}
	n := 0
	for p, list := range s.stops[summary.Current] {
		for _, v := range list {
			at := map[graph.SlotID]bool{}
			others := false
			for _, d := range late[p] {
				switch {
				case d.work == graph.NoSlot:
					others = others || d.Start < v.End-minSilence/4 && d.End >= v.End && d.End <= v.End+burst
				case d.Start <= v.Start+edge(v.Duration()) && d.End >= v.End-edge(v.Duration()):
					at[d.work] = true
				}
			}
			if !others {
				continue // it is known of by that work itself
			}
			n++
			for slot := range at {
				through[slot]++
			}
		}
	}
	known := a.known(summary.Current)
	for _, slot := range slices.Sorted(maps.Keys(through)) {
		held := through[slot]
		chance := float64(n) * a.busyWith(s, slot)
		if held < minPauses || float64(held) < mainlyHeld*known*float64(n) || float64(held)-chance < sureHeld*math.Sqrt(max(chance, leastVariance)) {
			continue
		}
		if s.node == graph.NoSlot || held > s.held {
			s.holder, s.node, s.held = slot, slot, held
		}
	}
	s.shown = n
}

// busyWith is the share of their time in which the processes of a standstill are at known work of a node, of its usual length.
func (a *Asking) busyWith(s *standstill, slot graph.SlotID) float64 {
	n, first, last := 0.0, int64(math.MaxInt64), int64(math.MinInt64)
	for _, c := range a.ownCalls(summary.Current) {
		if _, ok := s.stops[summary.Current][c.proc]; !ok {
			continue
		}
		first, last = min(first, int64(c.start)), max(last, int64(c.start))
		if c.slot == slot {
			n++
		}
	}
	usual := 0.0
	if was := a.workIn(summary.Baseline, a.work(slot)); len(was) > 0 {
		usual = a.partOf(summary.Baseline, was).mean()
	}
	if last <= first {
		return 1
	}
	return min(1, n*usual/float64(last-first)/float64(len(s.stops[summary.Current])))
}

// An opName is an operation of a service, whatever slots it has.
type opName struct{ service, operation trace.StringID }

// atWork is how the time in which the processes of a standstill are at work, but for their stops, is shared by operations:
// whom a stop strikes that comes at random.
func (a *Asking) atWork(s *standstill) map[opName]float64 {
	out, sum := map[opName]float64{}, 0.0
	for _, r := range a.cur().Set.Records {
		for i := range r.Calls {
			c := &r.Calls[i]
			stops, ok := s.stops[summary.Current][c.Work.Proc]
			if !ok || !c.Work.Seen() || !c.Client.Seen() && c.Parent >= 0 {
				continue
			}
			v := trace.Interval{Start: c.Work.Start, End: c.Work.End}
			ns := v.Duration()
			at, _ := slices.BinarySearchFunc(stops, v.Start, func(x queuewait.Stop, t trace.Time) int { return cmp.Compare(x.End, t) })
			for ; at < len(stops) && stops[at].Start < v.End; at++ {
				if stops[at].Overlaps(v) {
					ns -= stops[at].Clip(v).Duration()
				}
			}
			shown := a.slot(c.Slot).Shown()
			w := float64(ns) * float64(r.Weight) / graph.OneRequest
			out[opName{shown.Service, shown.Operation}] += w
			sum += w
		}
	}
	for k := range out {
		out[k] /= max(sum, 1)
	}
	return out
}

// pauses finds the instances that stood still more than they did, but for work of this endpoint: then the work is the cause.
func (a *Asking) pauses() []Finding {
	var out []Finding
	for _, s := range a.standstills() {
		if s.node != graph.NoSlot {
			continue
		}
		d := a.Reading.Dict
		n0, was := s.sum(summary.Baseline)
		n1, is := s.sum(summary.Current)
		f := Finding{Kind: "pause", Service: d.String(s.service), Instance: d.String(s.instance)}
		who := "the instances of " + f.Service
		if s.instance != 0 || len(s.stops[summary.Current]) == 1 {
			who = fmt.Sprintf("instance %s of %s", f.Instance, f.Service)
		}
		f.Claim = fmt.Sprintf("%s stood still %d times, for %s on average", who, n1, prose.Ns(is/float64(n1)))
		f.Evidence = append(f.Evidence,
			numbers("spans", n1, "", float64(n0), float64(n1), "stretches without any event, with work of its own in flight"),
			numbers("spans", n1, "ms", was/1e6, is/1e6, "time stood still in all"),
		)
		f.Check = Check{
			Question: "did anything of the instance make progress while it seemed to stand still?",
			Rival:    "instance: it is slower, but never stops",
			IfThis:   "no: nothing began or ended for longer than its rate allows",
			IfRival:  "yes: others went on beside what was slow",
			Ran:      true,
			Outcome:  fmt.Sprintf("%d stretches without a single event, of %s together", n1, prose.Ns(is)),
			Query:    "",
		}
		a.whyStill(s, &f)
		f.Factor = a.withLeft(&f, s.stops[summary.Current], a.goOn(s))
		out = append(out, f)
	}
	return out
}

// goOn takes the stops of a standstill out of what waited for them.
func (a *Asking) goOn(s *standstill) Factor {
	var work []graph.SlotID
	if s.node != graph.NoSlot {
		work = a.work(s.node)
	}
	stops := s.stops[summary.Current]
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for i := range p.Steps {
			st := &p.Steps[i]
			if st.NS < minSilence/4 {
				continue
			}
			proc, ok := a.stillAt(q, st)
			c := &q.Calls[st.Call()]
			least := min(st.NS, 0)
			read := !ok && st.Leave && c.Client.Seen() && !c.Work.Seen()
			if read { // the reply of a peer that says nothing: read when the process went on, and not sooner than it usually comes
				proc = c.Client.Proc
				least = int64(a.parts[summary.Baseline][a.key(q, st)].at(0.5))
			} else if !ok {
				continue
			}
			if work != nil && a.ownPart(q, st, work) {
				continue // what goes on while all else waits
			}
			v := trace.Interval{Start: st.At - trace.Time(st.NS), End: st.At}
			for _, s := range stops[proc] {
				if o := s.Clip(v); v.Overlaps(s.Interval) && (!read || v.End <= s.End+burst) {
					values[i] -= o.Duration()
				}
			}
			values[i] = min(st.NS, max(values[i], least))
		}
	}
}

// withLeft adds to a replay of stops the calls that were left because their callee stood still: those are answered as
// fast as before.
func (a *Asking) withLeft(f *Finding, stops map[graph.ProcID][]queuewait.Stop, still Factor) Factor {
	back := []Factor{still}
	for _, t := range a.targets() {
		is := &t.sides[summary.Current]
		left := map[int]map[int32]bool{}
		n, weight := 0, 0.0
		for i := range is.calls {
			x := &is.calls[i]
			c := &a.request(x.req).Calls[x.call]
			if x.ended != graph.TimedOut || !c.Work.Seen() || !meets(stops[c.Work.Proc], c.Work.Start-trace.Time(x.ns), c.Work.End) {
				continue
			}
			if left[x.req] == nil {
				left[x.req] = map[int32]bool{}
			}
			left[x.req][x.call] = true
			n, weight = n+1, weight+x.w
		}
		if n == 0 {
			continue
		}
		_, _, op := a.names(t.slot)
		f.Evidence = append(f.Evidence, says("spans", n, "%s timed out around the stops", plural(n, "call of "+op, "calls of "+op)))
		if f.limits == nil {
			f.limits = map[*target]float64{}
		}
		f.limits[t] = share(weight, is.timedOut)
		back = append(back, a.answeredAsBefore(t, func(j int, attempts []int32) bool {
			return slices.ContainsFunc(attempts, func(c int32) bool { return left[j][c] })
		}))
	}
	if len(back) == 1 {
		return still
	}
	return func(j int, p *graph.Plan, values []int64) {
		for _, g := range back {
			g(j, p, values)
		}
	}
}

// meets reports whether a stop lies in a stretch of time, at least its shortest.
func meets(stops []queuewait.Stop, from, to trace.Time) bool {
	return slices.ContainsFunc(stops, func(s queuewait.Stop) bool {
		return s.Clip(trace.Interval{Start: from, End: to}).Duration() >= minSilence
	})
}
