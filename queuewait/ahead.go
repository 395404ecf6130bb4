package queuewait

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

// Where a caller records no client span, the time before its callee's server span is its own work, a wait for a connection,
// the way there and a queue in front of the callee in one. A queue shows all the same: who waits goes on when another lets
// go, while as many as there are places are in service. Whose it is shows where calls of one caller go to several
// processes, or those of several callers to one: a connection of the caller becomes free wherever its last call was served,
// a worker of the callee whoever called. Between two processes each end of a call lets go at both, and how long the way
// between them takes is not known, so that nothing tells; that there is a queue is said then, and not whose.

// SentUnseen reports whether the calls of a slot reach another service, and no client span says when they were sent.
func SentUnseen(d *graph.Dict, slot graph.SlotID) bool {
	s := d.SlotAt(slot)
	if s.Parent == graph.NoSlot || s.Caller.Service != 0 || s.Callee.Service == 0 || s.Kind == trace.KindConsumer {
		return false
	}
	by := d.SlotAt(s.Parent).Callee.Service
	return by != 0 && by != s.Callee.Service
}

// sentUnseen reports whether call i of a record is such a call, made by the work of its parent.
func sentUnseen(d *graph.Dict, r *graph.Record, i int32) bool {
	c := &r.Calls[i]
	return i > 0 && !c.Client.Seen() && c.Work.Seen() && c.Flags&graph.OnClient == 0 && r.Calls[c.Parent].Work.Seen() && SentUnseen(d, c.Slot)
}

// ahead is a call that no client span shows, with its likely wait.
func (d *Data) ahead(x *lead, wait int64) Call {
	c := x.call
	shift, slack := shifted(d.Dict, d.Verdicts.Clocks, x.caller, c)
	given := c.Work.Start + shift
	return Call{
		Slot: c.Slot, Caller: x.caller, Callee: c.Work.Proc,
		Asked: given - trace.Time(max(x.ns, 0)), Given: given, GivenThere: c.Work.Start, Done: c.Work.End + shift,
		Wait: wait, Served: c.Work.Interval, Slack: slack, request: x.request,
	}
}

// A pair is the calls of one slot between two processes.
type pair struct {
	slot           graph.SlotID
	caller, callee graph.ProcID
}

// apart is by how much the leads of calls without client spans are longer between two processes than between those between
// which they are the shortest, in ns: so far the clocks of both differ from what is known of them, or their ways do, in
// what every call takes.
func apart(l []lead) map[pair]int64 {
	by := map[pair][]int64{}
	for i := range l {
		if x := &l[i]; !x.call.Client.Seen() {
			k := pair{x.call.Slot, x.caller, x.call.Work.Proc}
			by[k] = append(by[k], x.ns)
		}
	}
	least := map[graph.SlotID]int64{}
	out := map[pair]int64{}
	for k, list := range by {
		if len(list) < minFloor {
			continue
		}
		radix.Ints(list)
		out[k] = list[int(floorQuantile*float64(len(list)))]
		if low, ok := least[k.slot]; !ok || out[k] < low {
			least[k.slot] = out[k]
		}
	}
	for k := range out {
		out[k] -= least[k.slot]
	}
	return out
}

// leadAhead is Lead of a call without a client span.
func (o *Owners) leadAhead(side int, v *Verdict, r *graph.Record, c *graph.Call, ns int64, floor Floor) (int64, Floor) {
	caller := callerOf(r, c)
	apart := min(o.apart[side][pair{c.Slot, caller, c.Work.Proc}], ns)
	wait := floor.Wait(ns - apart)
	t := v.turns[side]
	if t == nil {
		floor.Hi = max(floor.Hi, ns-apart) // all of it may be the caller's work
	} else {
		proc, at := c.Work.Proc, c.Work.Start
		if t.owner == ClientWait {
			shift, _ := shifted(o.dict, o.clocks[side], caller, c)
			proc, at = caller, at+shift
		}
		wait, floor = t.wait(c.Slot, proc, at, ns-apart, floor)
	}
	floor.Typical, floor.Reach, floor.Hi = floor.Typical+apart, floor.Reach+apart, floor.Hi+apart
	return wait, floor
}

// shifted is what to add to the times of a call's server half to have them by the clock of its caller, and how far that may be off.
func shifted(d *graph.Dict, clocks *graph.Clocks, caller graph.ProcID, c *graph.Call) (shift trace.Time, slack int64) {
	a, b := d.ProcAt(caller).Host, d.ProcAt(c.Work.Proc).Host
	w := clocks.At(c.Work.Start)
	by, _ := w.Shift(a, b)
	return trace.Time(by), w.Slack(a, b)
}

// A letGo is the end of a call of a request: at its caller, and by which callee, or the other way round.
type letGo struct {
	at      trace.Time
	by      graph.ProcID
	request int32
}

type lettings map[graph.ProcID][]letGo

func (l lettings) sort() {
	for _, list := range l {
		slices.SortFunc(list, func(x, y letGo) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.by, y.by)) })
	}
}

// before is the latest at p at or before t, not by but, and of another request: the calls that one makes at the same time
// end and begin as they do, each time.
func (l lettings) before(p, but graph.ProcID, request int32, t trace.Time) (trace.Time, bool) {
	list := l[p]
	i, _ := slices.BinarySearchFunc(list, t+1, func(x letGo, t trace.Time) int { return cmp.Compare(x.at, t) })
	for i--; i >= 0; i-- {
		if list[i].by != but && list[i].request != request {
			return list[i].at, true
		}
	}
	return 0, false
}

// toCallee is the calls of all callers to the target that say when it served them.
func (a *asker) toCallee(side int) [][]Call {
	var all [][]Call
	for _, site := range []Site{Between, Ahead} {
		var keys []EdgeKey
		for k := range a.calls[side] {
			if k.Target == a.key.Target && k.Site == site {
				keys = append(keys, k)
			}
		}
		slices.SortFunc(keys, func(x, y EdgeKey) int { return cmp.Compare(x.Caller, y.Caller) })
		for _, k := range keys {
			all = append(all, a.calls[side][k])
		}
	}
	return all
}

// others is the probability that of two calls the processes differ: that a release somewhere is another's.
func others(calls []Call, of func(*Call) graph.ProcID) float64 {
	n := map[graph.ProcID]int{}
	for i := range calls {
		n[of(&calls[i])]++
	}
	same, all := 0, len(calls)
	for _, k := range n {
		same += k * k
	}
	return 1 - float64(same)/float64(all*all)
}

// minOthers is how probable it must be that a release is another process' for the releases of others to tell.
const minOthers = 0.25

// letGoAhead asks who let go when waits before server spans without client spans ended.
func (a *asker) letGoAhead(side int) {
	calls := a.calls[side][a.key]
	if f := a.filled(side); f != nil {
		calls = slices.Clone(calls)
		for i := range calls {
			calls[i].Wait = f.waits[i]
		}
	}
	here, there := lettings{}, lettings{}
	for i := range calls {
		c := &calls[i]
		here[c.Caller] = append(here[c.Caller], letGo{c.Done, c.Callee, c.request})
	}
	for _, list := range a.toCallee(side) {
		for i := range list {
			c := &list[i]
			there[c.Callee] = append(there[c.Callee], letGo{c.Served.End, c.Caller, c.request})
		}
	}
	here.sort()
	there.sort()
	kept := a.sets[side].kept()
	ask := func(by lettings, at func(*Call) (proc, other graph.ProcID, t trace.Time), all bool) HandOver {
		return handOver(calls, func(c *Call, t trace.Time) (trace.Time, bool) {
			proc, other, _ := at(c)
			if all {
				other = graph.NoProc
			}
			return by.before(proc, other, c.request, t)
		}, func(c *Call) trace.Time { _, _, t := at(c); return t }, func(*Call) trace.Time { return 0 })
	}
	atCaller := func(c *Call) (graph.ProcID, graph.ProcID, trace.Time) { return c.Caller, c.Callee, c.Given }
	atCallee := func(c *Call) (graph.ProcID, graph.ProcID, trace.Time) { return c.Callee, c.Caller, c.GivenThere }
	own, server := ask(here, atCaller, true), ask(there, atCallee, true)
	if own.Waits < minWaits {
		a.say("hand-over", "", "%d calls waited longer than %s: %d are needed", own.Waits, prose.Ns(float64(minWait)), minWaits)
		return
	}
	statement := prose.Sprintf("of %d waits %.0f %% ended within %s after another call of the same caller instance ended (chance %.0f %%), %.0f %% within %s after a span of the server instance ended (chance %.0f %%)",
		own.Waits, 100*own.Share, prose.Ns(float64(own.Window)), 100*own.Chance, 100*server.Share, prose.Ns(float64(server.Window)), 100*server.Chance)
	client, callee := own.ofAll(kept), server.ofAll(kept)
	// The releases that only one of both explains, as a part of all of them if it is the one.
	elsewhere, byOthers := -1.0, -1.0
	if p := others(calls, func(c *Call) graph.ProcID { return c.Callee }); p >= minOthers {
		h := ask(here, atCaller, false)
		elsewhere = min(1, h.ofAll(kept)/p)
		statement += prose.Sprintf("; %.0f %% within %s after one of the same caller that another process served (chance %.0f %%)", 100*h.Share, prose.Ns(float64(h.Window)), 100*h.Chance)
	}
	if p := others(calls, func(c *Call) graph.ProcID { return c.Caller }); p >= minOthers {
		h := ask(there, atCallee, false)
		byOthers = min(1, h.ofAll(kept)/p)
		statement += prose.Sprintf("; %.0f %% within %s after one that another process had sent there (chance %.0f %%)", 100*h.Share, prose.Ns(float64(h.Window)), 100*h.Chance)
	}
	says := Owner("")
	switch {
	case max(client, callee) < minHandOver:
	case elsewhere >= 0 && byOthers >= 0:
		says = whose(elsewhere, byOthers)
	case elsewhere >= 0:
		says = whose(elsewhere, callee-elsewhere)
	case byOthers >= 0:
		says = whose(client-byOthers, byOthers)
	default:
		says = NoOwner
	}
	switch says {
	case ClientWait:
		a.v.WakeUp = max(0, int64(own.Delay))
	case ServerQueue, NoOwner:
		a.v.WakeUp = max(0, int64(server.Delay))
	}
	if says == NoOwner {
		statement += ": it is a queue, and nothing tells whose"
	}
	a.say("hand-over", says, "%s", statement)
}

// filled is what tells most of the time waited: a limit at the callee, whose clock is one, or at the caller.
func (a *asker) filled(side int) *filled {
	if a.partial(side) {
		return nil
	}
	server, client := a.filledAhead(side, ServerQueue), a.filledAhead(side, ClientWait)
	if server == nil || client != nil && client.sum() > server.sum() {
		return client
	}
	return server
}

// whose is whose queue it is by the shares of the waits that only the end of a call of the caller, and of the callee, ended.
func whose(client, server float64) Owner {
	switch {
	case client >= minHandOver && client >= overRival*server:
		return ClientWait
	case server >= minHandOver && server >= overRival*client:
		return ServerQueue
	}
	return NoOwner
}

// A filled is the calls of one side that found all of k places taken, at each process of the owner, and what they took
// before their spans beside those that found one free.
type filled struct {
	k          int
	waits      []int64 // of each call, as the others tell; 0 of those that found a place free
	full, free float64 // mean leads, ns
	n          int     // that found none free
	off, sure  float64 // by how much the leads of the same slots are longer, and two standard errors of it
}

const (
	// overLimit is by how many more calls than a limit may seem to be in service, for a moment: clocks differ.
	overLimit = 2
	// minBeyond is how many calls must begin while k others are in service, if they begin when they like, for their not doing
	// it to show a limit: none of five is chance once in 150. maxBeyond is the part of them that may, and muchMore how many
	// times more a smaller limit must explain.
	minBeyond, maxBeyond, muchMore = 5, 0.1, 1.25
	// onOneClock and acrossClocks are by how much, in ns, the end of a call may seem to come after the beginning of another that
	// waited for it.
	onOneClock, acrossClocks = 200_000, 2_000_000
)

// filledAhead tells which calls found all places taken, if there is a limit at the processes of an owner that calls keep to:
// hardly any begins while so many others are in service, though as many are, and those that begin when one has just ended
// took longer than those that found a place free. Nil where no limit shows.
func (a *asker) filledAhead(side int, owner Owner) *filled {
	calls := a.calls[side][a.key]
	lines := a.placesAhead(side, owner)
	most := 0
	for _, l := range lines {
		h := holders{ends: l.ends}
		for _, v := range l.calls {
			h.starts = append(h.starts, v.Start)
		}
		most = max(most, h.peak())
	}
	off := trace.Time(onOneClock)
	if owner == ClientWait && others(calls, func(c *Call) graph.ProcID { return c.Callee }) > 0 {
		off = acrossClocks
	}
	var best *filled
	for k := most; k >= max(1, most-overLimit); k-- {
		if !keptTo(calls, lines, k, owner, off) {
			continue
		}
		f := a.fill(calls, lines, k, owner)
		if f.n >= minWaits && f.off >= minWait && f.off > f.sure && (best == nil || f.sum() > muchMore*best.sum()) {
			best = f
		}
	}
	return best
}

// keptTo reports whether calls do not begin while k others are in service and go on for longer than off, where calls that were
// moved in time do.
func keptTo(calls []Call, lines map[graph.ProcID]*line, k int, owner Owner, off trace.Time) bool {
	var seen, moved float64
	for i := range calls {
		c := &calls[i]
		proc, at := c.placeOf(owner)
		l := lines[proc]
		if l.going(at, off) >= k {
			seen++
		}
		for _, shift := range chanceShifts {
			n := l.going(at+shift, off)
			if at <= at+shift && at+shift+off < at+c.Done-c.Given {
				n-- // itself
			}
			if n >= k {
				moved += 1 / float64(len(chanceShifts))
			}
		}
	}
	return moved >= minBeyond && seen <= maxBeyond*moved
}

// going is how many calls that began before t are in service for longer than off after it.
func (l *line) going(t, off trace.Time) int {
	began, _ := slices.BinarySearchFunc(l.calls, t, func(v trace.Interval, t trace.Time) int { return cmp.Compare(v.Start, t) })
	ended, _ := slices.BinarySearch(l.ends, t+off+1)
	return began - ended
}

// sum is how much longer those took in all that found no place free.
func (f *filled) sum() float64 { return f.off * float64(f.n) }

// fill parts calls by whether k places were taken.
func (a *asker) fill(calls []Call, lines map[graph.ProcID]*line, k int, owner Owner) *filled {
	f := &filled{k: k, waits: make([]int64, len(calls))}
	isFull := make([]bool, len(calls))
	leads := map[graph.SlotID]*[2][]float64{}
	for i := range calls {
		c := &calls[i]
		proc, at := c.placeOf(owner)
		kind := 0
		if !lines[proc].found(k, at, handOverWindows[len(handOverWindows)-1]) {
			isFull[i], kind = true, 1
			f.n++
		}
		if leads[c.Slot] == nil {
			leads[c.Slot] = &[2][]float64{}
		}
		leads[c.Slot][kind] = append(leads[c.Slot][kind], float64(c.Given-c.Asked))
	}
	var weight, variance float64
	own := map[graph.SlotID]float64{}
	for _, slot := range slices.Sorted(maps.Keys(leads)) {
		x := leads[slot]
		slices.Sort(x[0])
		slices.Sort(x[1])
		m0, s0 := moments(x[0])
		m1, s1 := moments(x[1])
		n0, n1 := float64(len(x[0])), float64(len(x[1]))
		f.free, f.full = f.free+m0*n0, f.full+m1*n1
		if n0 < minFree {
			continue
		}
		own[slot] = m0
		if n1 > 0 {
			w := n0 * n1 / (n0 + n1)
			f.off, weight = f.off+w*(m1-m0), weight+w
			variance += w * w * (s0/n0 + s1/n1)
		}
	}
	f.free, f.full = f.free/max(1, float64(len(calls)-f.n)), f.full/max(1, float64(f.n))
	if weight > 0 {
		f.off, f.sure = f.off/weight, 2*math.Sqrt(variance)/weight
	}
	for i := range calls {
		if c := &calls[i]; isFull[i] {
			f.waits[i] = c.Wait
			if m, ok := own[c.Slot]; ok {
				f.waits[i] = max(0, int64(float64(c.Given-c.Asked)-m))
			}
		}
	}
	return f
}

// placeOf is the process at which a call gets a place of an owner, and when, by its clock.
func (c *Call) placeOf(owner Owner) (graph.ProcID, trace.Time) {
	if owner == ClientWait {
		return c.Caller, c.Given
	}
	return c.Callee, c.GivenThere
}

// placesAhead is the stretches in service at each process that has the places.
func (a *asker) placesAhead(side int, owner Owner) map[graph.ProcID]*line {
	lines := map[graph.ProcID]*line{}
	add := func(p graph.ProcID, v trace.Interval) {
		l := lines[p]
		if l == nil {
			l = &line{}
			lines[p] = l
		}
		l.calls, l.ends = append(l.calls, v), append(l.ends, v.End)
	}
	if owner == ClientWait {
		for i := range a.calls[side][a.key] {
			c := &a.calls[side][a.key][i]
			add(c.Caller, trace.Interval{Start: c.Given, End: c.Done})
		}
	} else {
		for _, list := range a.toCallee(side) {
			for i := range list {
				add(list[i].Callee, list[i].Served)
			}
		}
	}
	for _, l := range lines {
		slices.SortFunc(l.calls, inOrder)
		slices.Sort(l.ends)
	}
	return lines
}

// inFlightAhead asks whether calls wait while a limit of calls is in service, and not else.
func (a *asker) inFlightAhead(client, server *filled) {
	says := Owner("")
	switch {
	case client == nil && server == nil:
	case server == nil || client != nil && client.sum() >= overRival*server.sum():
		says = ClientWait
	case client == nil || server.sum() >= overRival*client.sum():
		says = ServerQueue
	default:
		says = NoOwner
	}
	statement := ""
	add := func(f *filled, who string) {
		if f == nil {
			return
		}
		if statement != "" {
			statement += "; "
		}
		statement += prose.Sprintf("%s never had more than %d in service: %d calls that found so many there took %s before their spans, those that did not %s", who, f.k, f.n, prose.Ns(f.full), prose.Ns(f.free))
	}
	add(client, "one instance of the caller")
	add(server, "one of the callee")
	if statement == "" {
		statement = "no number of calls in service shows at which others wait, and below which none does"
	}
	a.say("in-flight", says, "%s", statement)
}
