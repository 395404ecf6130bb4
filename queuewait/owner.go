package queuewait

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/parallel"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// An Owner says whose queue a wait was in.
type Owner string

const (
	NoOwner     Owner = "untraced" // no test spoke
	ClientWait  Owner = "client-wait"
	ServerQueue Owner = "server-queue"
	Network     Owner = "network"
	Pause       Owner = "pause"
	Own         Owner = "service-time" // what no test claims of the caller's own time, at a Lead, or of an unknown callee's, Inside
)

// A Test is one question of whose queue it was, with its answer.
type Test struct {
	Name      string // explicit, stops, sides, hand-over, metrics, in-flight, passed
	Says      Owner  // "" for silent
	Decided   bool   // the first that spoke
	Statement string
}

// A Side is what one set says of an edge.
type Side struct {
	N         int
	Wait      float64 // mean likely wait, ns
	Gap       float64 // mean of the whole gap, ns
	Hold      float64 // mean time in service, ns
	PerSecond float64 // calls per second
	Limit     int     // calls in service at once; 0: unknown
	FromPool  bool    // the limit is a metric's
	Shown     bool    // calls that waited show the limit; else it is the other side's, or at least the most in service
	Pool      *metric.PoolView
	Plateau   Plateau

	// Peak is the most calls that began in one second, and Bursts the variance of
	// their number over its mean: 1 where calls come independently of each other.
	// Zero of less than minSeconds.
	Peak, Bursts float64

	// Full is how full the limit was at the fullest process, by what was in
	// flight; nil without a limit or where not all calls are known.
	Full *Full

	// Pending is what the pool's metrics say of how many calls waited on average,
	// NaN if nothing, and Little what the calls say: their rate times their wait.
	Pending, Little float64
}

// A Full is how full a limit was, in one-second views.
type Full struct {
	P50, P99, Max float64
	Over          []float64 // over time, at most metric.OverTime means
}

// A Verdict is whose queue the waits of an edge are in, and why they changed.
type Verdict struct {
	Key   EdgeKey
	Owner Owner
	Tests []Test

	// Resource is the pool's or executor's name, if a metric gives it.
	Resource string

	Sides [2]*Side // baseline, nil of a single data set, and current
	Model Model

	// Stopped is the service whose processes stood still, of waits that stops explain.
	Stopped trace.StringID

	// Passing is of a network that holds up single calls, where others go by.
	Passing *Passing

	// WakeUp is how long after a release the next call starts, in ns.
	WakeUp int64

	inside [2]*inside // how long calls waited within their client spans, of each side
	turns  [2]*turns  // and before them
}

// Claimed reports whether the excess of the edge's gaps is a wait in a queue.
func (v *Verdict) Claimed() bool {
	return v != nil && (v.Owner == ClientWait || v.Owner == ServerQueue || v.Owner == Pause)
}

// Owners is the verdicts of all edges. It is read-only.
type Owners struct {
	dict   *graph.Dict
	edges  map[EdgeKey]*Verdict
	bySlot [sites][]*Verdict // the same by site and slot
	Leads  *Floors
	Stops  [2]map[graph.ProcID][]Stop // of each set's processes
}

// Of is the verdict on the edge of a call, nil if it has none.
func (o *Owners) Of(c *graph.Call, site Site) *Verdict {
	if !c.Client.Seen() {
		return nil
	}
	return o.OfSlot(c.Slot, site)
}

// OfSlot is the verdict on the edge of the calls of a slot, nil if it has none.
func (o *Owners) OfSlot(slot graph.SlotID, site Site) *Verdict {
	if o == nil {
		return nil
	}
	if list := o.bySlot[site]; int(slot) < len(list) {
		return list[slot]
	}
	return o.edges[key(o.dict, slot, site)] // a slot that no kept record has
}

// All is all verdicts, by caller, target and site.
func (o *Owners) All() []*Verdict {
	if o == nil {
		return nil
	}
	var all []*Verdict
	for _, v := range o.edges {
		if v != nil {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *Verdict) int {
		return cmp.Or(cmp.Compare(a.Key.Caller, b.Key.Caller), cmp.Compare(a.Key.Target, b.Key.Target), cmp.Compare(a.Key.Site, b.Key.Site))
	})
	return all
}

// NewOwners asks of every edge whose queue its waits are in. sets holds the
// baseline, nil of a single data set, and the current set.
func NewOwners(sets [2]*Data, floors *Floors) *Owners {
	o := &Owners{edges: map[EdgeKey]*Verdict{}}
	for _, d := range sets {
		if d != nil {
			o.dict = d.Dict
		}
	}
	var leads [2]leads
	var usual [2]*windowed
	parallel.Do(len(sets), func(i int) {
		if sets[i] != nil {
			leads[i] = sets[i].leads()
			usual[i] = leads[i].windowed()
		}
	})
	o.Leads = newFloors(slices.DeleteFunc(usual[:], func(w *windowed) bool { return w == nil })...)
	var calls [2]map[EdgeKey][]Call
	var said [2]map[EdgeKey]*said
	parallel.Do(len(sets), func(i int) {
		if sets[i] != nil {
			calls[i] = sets[i].edges(floors, o.Leads, leads[i])
			said[i] = sets[i].said()
			e := activityOf(sets[i].Records)
			o.Stops[i] = e.stops()
			for p, list := range e.silent(calls[i]) {
				o.Stops[i][p] = with(o.Stops[i][p], list)
			}
		}
	})
	var keys []EdgeKey
	for i := range calls {
		for k := range calls[i] {
			if _, ok := o.edges[k]; !ok {
				o.edges[k] = nil
				keys = append(keys, k)
			}
		}
	}
	verdicts := make([]*Verdict, len(keys))
	parallel.Do(len(keys), func(i int) {
		a := asker{o: o, sets: sets, calls: calls, said: said, key: keys[i]}
		verdicts[i] = a.verdict()
	})
	for i, k := range keys {
		o.edges[k] = verdicts[i]
	}
	for site := range o.bySlot {
		list := make([]*Verdict, o.dict.Slots())
		for slot := range list {
			list[slot] = o.edges[key(o.dict, graph.SlotID(slot), Site(site))]
		}
		o.bySlot[site] = list
	}
	return o
}

// asker asks about one edge.
type asker struct {
	o     *Owners
	sets  [2]*Data
	calls [2]map[EdgeKey][]Call
	said  [2]map[EdgeKey]*said
	key   EdgeKey
	v     *Verdict
}

func (a *asker) verdict() *Verdict {
	a.v = &Verdict{Key: a.key, Owner: NoOwner}
	if a.key.Site != Between {
		a.v.Owner = Own
	}
	most, worst := 0.0, 1
	for i, d := range a.sets {
		if d == nil {
			continue
		}
		s := a.side(i)
		a.v.Sides[i] = s
		if total := s.Wait * float64(s.N); total > most {
			most, worst = total, i
		}
	}
	if a.key.Site == Inside {
		if !a.within() {
			return nil
		}
		return a.decide()
	}
	if most == 0 {
		return a.v
	}
	a.explicit(worst)
	a.stopped(worst)
	a.sides()
	a.handOver(worst)
	a.metrics(worst)
	a.inFlight(worst)
	a.passed(worst)
	return a.decide()
}

// decide lets the first test that speaks say whose queue it is, and asks about the queue.
func (a *asker) decide() *Verdict {
	for i := range a.v.Tests {
		if t := &a.v.Tests[i]; t.Says != "" {
			t.Decided = true
			a.v.Owner = t.Says
			break
		}
	}
	a.limits()
	a.takeTurns()
	if share := a.share(); share < 1 {
		a.say("sample", "", "asked of the calls of %.3g %% of the seconds, chosen by a hash: there were too many to keep all", 100*share)
	}
	for i := range a.sets {
		if a.v.Sides[i] != nil {
			a.course(i)
		}
	}
	a.model()
	return a.v
}

// share is the share of the seconds whose calls are asked.
func (a *asker) share() float64 {
	share := 1.0
	for _, d := range a.sets {
		if d != nil {
			share = min(share, d.Queues.Share())
		}
	}
	return share
}

func (a *asker) name(id trace.StringID) string { return a.o.dict.String(id) }

func (a *asker) say(name string, says Owner, format string, args ...any) {
	a.v.Tests = append(a.v.Tests, Test{Name: name, Says: says, Statement: prose.Sprintf(format, args...)})
}

func (a *asker) side(i int) *Side {
	calls := a.calls[i][a.key]
	s := &Side{N: len(calls)}
	if len(calls) == 0 {
		return s
	}
	first, last := calls[0].Asked, calls[0].Asked
	for j := range calls {
		c := &calls[j]
		s.Wait += float64(c.Wait)
		s.Gap += float64(c.Given - c.Asked)
		s.Hold += float64(max(0, c.Done-c.Given))
		first, last = min(first, c.Asked), max(last, c.Asked)
	}
	n := float64(len(calls))
	s.Wait, s.Gap, s.Hold = s.Wait/n, s.Gap/n, s.Hold/n
	if last > first {
		s.PerSecond = n / a.sets[i].Queues.Share() / (float64(last-first) / 1e9)
	}
	s.Pool = a.pool(i, ConnectionKind)
	return s
}

// minSaid is the share of an edge's waits that spans must speak of to decide.
const minSaid = 0.5

// explicit asks whether the spans themselves say where their calls waited.
func (a *asker) explicit(side int) {
	x := a.said[side][a.key]
	s := a.v.Sides[side]
	if x == nil || s.Wait <= 0 {
		return
	}
	total := s.Wait * float64(s.N)
	client, server := x.client/total, x.server/total
	says := Owner("")
	switch {
	case client+server < minSaid:
	case server >= overRival*client:
		says = ServerQueue
	case client >= overRival*server:
		says = ClientWait
	}
	a.say("explicit", says, "%d calls say that they waited (%s): %s in all at the caller and %s before the callee's span, of %s beyond the floor", x.n, x.evidence, prose.Ns(x.client), prose.Ns(x.server), prose.Ns(total))
}

// sides asks whether the way there and the way back both moved.
func (a *asker) sides() {
	b, c := a.v.Sides[0], a.v.Sides[1]
	if a.key.Site != Between || b == nil || b.N < minWaits || c.N < minWaits {
		return
	}
	stat := func(i int) (low, there, back, meanThere, meanBack float64, slack int64) {
		calls := a.calls[i][a.key]
		gaps := make([]int64, len(calls))
		var ts, bs []int64
		for j := range calls {
			x := &calls[j]
			t := int64(x.Given-x.Asked) + x.OneWay
			all := int64(x.Done-x.Asked) - x.Served.Duration()
			gaps[j] = all
			ts, bs = append(ts, t), append(bs, all-t)
			meanThere, meanBack = meanThere+float64(t)/float64(len(calls)), meanBack+float64(all-t)/float64(len(calls))
			slack = max(slack, x.Slack)
		}
		radix.Ints(gaps)
		radix.Ints(ts)
		radix.Ints(bs)
		return float64(gaps[len(gaps)/20]), float64(ts[len(ts)/2]), float64(bs[len(bs)/2]), meanThere, meanBack, slack
	}
	low0, there0, back0, meanThere0, meanBack0, _ := stat(0)
	low1, there1, back1, meanThere1, meanBack1, slack := stat(1)
	moved := func(d, of float64) bool { return d >= 300_000 && d >= 0.25*of }
	dLow, dThere, dBack := low1-low0, there1-there0, back1-back0
	late, early := meanBack1-meanBack0, meanThere1-meanThere0 // means: not every answer has to wait
	switch {
	case moved(dLow, low0) && dThere > 0.2*(dThere+dBack) && dBack > 0.2*(dThere+dBack) && dLow > 0.4*(dThere+dBack):
		a.say("sides", Network, "the least time between client and server span rose by %s, on both ways", prose.Ns(dLow))
	case late > minLate && late > 3*math.Abs(early) && late > 2*float64(slack):
		a.say("sides", Pause, "only the way back became longer, by %s on average: the caller read its replies late", prose.Ns(late))
	default:
		a.say("sides", "", "there %s → %s, back %s → %s, least %s → %s", prose.Ns(there0), prose.Ns(there1), prose.Ns(back0), prose.Ns(back1), prose.Ns(low0), prose.Ns(low1))
	}
}

// minLate is by how much answers must be read later on average, in ns, to say so.
const minLate = 500_000

const (
	minHandOver  = 0.25 // share of waits, beyond chance, that a release must have ended
	overRival    = 2    // and how much more often than at the rival's
	sameCaller   = 0.9  // share of releases by the caller's own calls that tells a pool of the caller
	minPlateaued = 0.6
)

// handOver asks who let go when waits ended.
func (a *asker) handOver(side int) {
	calls := a.calls[side][a.key]
	client := a.sets[side].Queues.releases(func(s graph.SlotID) bool { return key(a.o.dict, s, a.key.Site) == a.key })
	c := handOver(calls, client, func(c *Call) (graph.ProcID, trace.Time) { return c.Caller, c.Given },
		func(c *Call) trace.Time {
			if a.key.Site == Lead {
				return 0
			}
			return trace.Time(c.Slack/2) + 100_000
		})
	if c.Waits < minWaits {
		a.say("hand-over", "", "%d calls waited longer than %s: %d are needed", c.Waits, prose.Ns(float64(minWait)), minWaits)
		return
	}
	if a.key.Site == Lead {
		says := Owner("")
		if c.ofAll(a.sets[side].kept()) >= minHandOver {
			says = ClientWait
		}
		a.v.WakeUp = max(0, int64(c.Delay))
		a.say("hand-over", says, "%.0f %% of %d waits ended within %s after another call of the same process ended; chance gives %.0f %%", 100*c.Share, c.Waits, prose.Ns(float64(c.Window)), 100*c.Chance)
		return
	}
	server := releases{}
	type end struct {
		at     trace.Time
		caller graph.ProcID
	}
	ends := map[graph.ProcID][]end{}
	for _, k := range a.toTarget(side) {
		for i := range a.calls[side][k] {
			x := &a.calls[side][k][i]
			server[x.Callee] = append(server[x.Callee], x.Served.End)
			ends[x.Callee] = append(ends[x.Callee], end{x.Served.End, x.Caller})
		}
	}
	server.sort()
	s := handOver(calls, server, func(c *Call) (graph.ProcID, trace.Time) { return c.Callee, c.GivenThere }, func(*Call) trace.Time { return 0 })

	// Whose calls were the releases at the server?
	for _, list := range ends {
		slices.SortFunc(list, func(x, y end) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.caller, y.caller)) })
	}
	perCaller := map[graph.ProcID]float64{}
	same, asked := 0.0, 0.0
	var trips trips
	trips.add(calls)
	for i := range calls {
		x := &calls[i]
		perCaller[x.Caller]++
		if x.Wait < minWait {
			continue
		}
		list := ends[x.Callee]
		at, _ := slices.BinarySearchFunc(list, x.GivenThere+1, func(e end, t trace.Time) int { return cmp.Compare(e.at, t) })
		if at == 0 || x.GivenThere-list[at-1].at > s.Window+trace.Time(2*x.OneWay) {
			continue
		}
		asked++
		if list[at-1].caller == x.Caller {
			same++
			trips.idle = append(trips.idle, x.GivenThere-list[at-1].at)
		}
	}
	expected := 0.0
	for _, n := range perCaller {
		expected += n / float64(len(calls)) * n / float64(len(calls))
	}
	if asked > 0 {
		same /= asked
	}
	statement := fmt.Sprintf("of %d waits %.0f %% ended within %s after a call of the same caller instance ended (chance %.0f %%), %.0f %% within %s after a span of the server instance ended (chance %.0f %%); %.0f %% of those were the caller's own (%.0f %% by its share of calls)",
		c.Waits, 100*c.Share, prose.Ns(float64(c.Window)), 100*c.Chance, 100*s.Share, prose.Ns(float64(s.Window)), 100*s.Chance, 100*same, 100*expected)
	kept := a.sets[side].kept()
	ce, se := c.ofAll(kept), s.ofAll(kept)
	says := Owner("")
	switch {
	case ce < minHandOver && se < minHandOver:
	case asked >= minWaits && expected < 0.7 && same >= sameCaller && ce >= minHandOver:
		says = ClientWait
	case asked >= minWaits && expected < 0.7 && same <= expected+0.5*(1-expected) && se >= minHandOver:
		says = ServerQueue
	case ce >= overRival*se:
		says = ClientWait
	case se >= overRival*ce:
		says = ServerQueue
	default:
		// Both at once: each call of the only caller lets go of a place at either end. Then how soon the callee is busy
		// again tells.
		var soon string
		says, soon = trips.says()
		statement += soon
	}
	switch says {
	case ClientWait:
		a.v.WakeUp = max(0, int64(c.Delay))
	case ServerQueue:
		a.v.WakeUp = max(0, int64(s.Delay))
	}
	a.say("hand-over", says, "%s", statement)
}

// toTarget is the edges between client and server spans to the same service.
func (a *asker) toTarget(side int) []EdgeKey {
	var keys []EdgeKey
	for k := range a.calls[side] {
		if k.Target == a.key.Target && k.Site == Between {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y EdgeKey) int { return cmp.Compare(x.Caller, y.Caller) })
	return keys
}

// The kinds of pools that are asked for.
const (
	ConnectionKind = metric.ConnectionPool
	ExecutorKind   = metric.Executor
)

// pool is the view of the caller's connection pool, or of the target's
// executor, that belongs to the edge: the one named like the target, else the
// only one, else the one whose waits are most like the edge's.
func (a *asker) pool(side int, kind metric.Kind) *metric.PoolView {
	service, other := a.name(a.key.Caller), a.name(a.key.Target)
	if kind == ExecutorKind {
		service, other = other, ""
	}
	byName := map[string]*metric.PoolView{}
	var names []string
	for i := range a.sets[side].Pools {
		p := &a.sets[side].Pools[i]
		if p.Service != service || p.Kind != kind {
			continue
		}
		if byName[p.Name] == nil {
			names = append(names, p.Name)
			byName[p.Name] = p
		} else {
			byName[p.Name] = fuller(byName[p.Name], p)
		}
	}
	slices.Sort(names)
	if other != "" {
		for _, n := range names {
			if n != "" && (strings.Contains(strings.ToLower(n), strings.ToLower(other)) || strings.Contains(strings.ToLower(other), strings.ToLower(n))) {
				return byName[n]
			}
		}
	}
	if len(names) == 1 {
		return byName[names[0]]
	}
	return nil
}

// fuller is the one of two instances' pools that was fuller.
func fuller(a, b *metric.PoolView) *metric.PoolView {
	x, y := a.Occupancy.P99, b.Occupancy.P99
	if math.IsNaN(x) || y > x {
		return b
	}
	return a
}

// poolWait is the mean wait of a pool over all instances, in ns, and how many.
func (a *asker) poolWait(side int, name string, kind metric.Kind, service string) (mean float64, n uint64) {
	var sum float64
	for i := range a.sets[side].Pools {
		p := &a.sets[side].Pools[i]
		if p.Service == service && p.Kind == kind && p.Name == name && p.Wait.Count > 0 && !math.IsNaN(p.Wait.MeanMS) {
			sum += p.Wait.MeanMS * 1e6 * float64(p.Wait.Count)
			n += p.Wait.Count
		}
	}
	if n == 0 {
		return 0, 0
	}
	return sum / float64(n), n
}

// metrics asks what pools and executors say of themselves.
func (a *asker) metrics(side int) {
	s := a.v.Sides[side]
	if p := s.Pool; p != nil {
		wait, n := a.poolWait(side, p.Name, ConnectionKind, a.name(a.key.Caller))
		name := p.Name
		if name == "" {
			name = "of " + p.Service
		}
		full := p.Exhausted()
		switch {
		case n > 0 && s.Wait > 1_000_000 && wait >= 0.5*s.Wait && wait <= 2*s.Wait+1_000_000:
			a.v.Resource = p.Name
			a.say("metrics", ClientWait, "pool %s: %d waits of %s on average, the gaps here %s; used %.0f of %.0f at most%s", name, n, prose.Ns(wait), prose.Ns(s.Wait), p.Used.Max, p.Limit.P50, upTo("pending", p.Pending.Max))
			return
		case n > 0 && wait < 0.25*s.Wait:
			a.say("metrics", "", "pool %s: %d waits of %s on average, the gaps here %s: the pool is not where they come from; used %.0f of %.0f at most", name, n, prose.Ns(wait), prose.Ns(s.Wait), p.Used.Max, p.Limit.P50)
			for _, side := range a.v.Sides { // its limit is another's
				if side != nil {
					side.Pool = nil
				}
			}
			return
		case n == 0 && full && s.Wait > 1_000_000:
			a.v.Resource = p.Name
			a.say("metrics", ClientWait, "pool %s was exhausted: used %.0f of %.0f at most%s", name, p.Used.Max, p.Limit.P50, upTo("pending", p.Pending.Max))
			return
		}
	}
	if a.key.Site != Between {
		return
	}
	if p := a.pool(side, ExecutorKind); p != nil && p.Exhausted() && s.Wait > 1_000_000 {
		wait, n := a.poolWait(side, p.Name, ExecutorKind, a.name(a.key.Target))
		if n == 0 || wait >= 0.5*s.Wait {
			a.v.Resource = p.Name
			a.say("metrics", ServerQueue, "executor %s of %s: active %.0f of %.0f at most%s", p.Name, p.Service, p.Used.Max, p.Limit.P50, upTo("queued", p.Pending.Max))
		}
	}
}

// upTo says the most of what may not have been measured.
func upTo(what string, most float64) string {
	if math.IsNaN(most) {
		return ""
	}
	return prose.Sprintf(", %s up to %.0f", what, most)
}

// inFlight asks whether calls waited while a constant number was in service: of
// the caller instance, or of the callee's over all callers.
func (a *asker) inFlight(side int) {
	calls := a.calls[side][a.key]
	held := func(c *Call) (graph.ProcID, trace.Interval) {
		return c.Caller, trace.Interval{Start: c.Given, End: c.Done}
	}
	client := plateau(calls, held, func(c *Call) trace.Interval { return trace.Interval{Start: c.Given - trace.Time(c.Wait), End: c.Given} })
	for i := range a.sets {
		if a.sets[i] != nil {
			a.v.Sides[i].Plateau = plateau(a.calls[i][a.key], held, func(c *Call) trace.Interval {
				return trace.Interval{Start: c.Given - trace.Time(c.Wait), End: c.Given}
			})
		}
	}
	if a.sets[side].Sampled {
		a.say("in-flight", "", "cannot tell: not all requests were kept")
		return
	}
	if a.key.Site == Lead {
		says := Owner("")
		if client.Known() && client.K == client.Peak {
			says = ClientWait
		}
		a.say("in-flight", says, "%d calls in service of one process at the middle of %d waits (%.0f %% within one of it), %d at most", client.K, client.Waits, 100*client.Share, client.Peak)
		return
	}
	server := a.serverPlateau(side)
	says := Owner("")
	switch {
	case client.Known() && client.K >= client.Peak-1 && (!server.Known() || server.K < server.Peak-1 || client.Share > server.Share+0.2):
		says = ClientWait
	case server.Known() && server.K >= server.Peak-1 && (!client.Known() || client.K < client.Peak-1 || server.Share > client.Share+0.2):
		says = ServerQueue
	}
	a.say("in-flight", says, "while calls waited, %d of one caller instance were in service (%.0f %% within one of it, %d at most) and %d at one server instance (%.0f %%, %d at most)",
		client.K, 100*client.Share, client.Peak, server.K, 100*server.Share, server.Peak)
}

// serverPlateau is the plateau of the callee's instances, over all callers.
func (a *asker) serverPlateau(side int) Plateau {
	var all []Call
	for _, k := range a.toTarget(side) {
		all = append(all, a.calls[side][k]...)
	}
	return plateau(all, func(c *Call) (graph.ProcID, trace.Interval) { return c.Callee, c.Served },
		func(c *Call) trace.Interval {
			return trace.Interval{Start: c.GivenThere - trace.Time(c.Wait), End: c.GivenThere}
		})
}

// limits finds how many calls could be in service at once on each side: a
// metric's limit, else the plateau. A set without a plateau has the limit of
// the other, unless more were in service there: then it was at least that.
func (a *asker) limits() {
	if !a.v.Claimed() {
		return
	}
	peaks := [2]int{}
	for i, s := range a.v.Sides {
		if s == nil {
			continue
		}
		p := s.Plateau
		pool := s.Pool
		if a.v.Owner == ServerQueue {
			p, pool = a.serverPlateau(i), a.pool(i, ExecutorKind)
			s.Plateau = p
		}
		peaks[i] = p.Peak
		switch {
		case pool != nil && pool.Limit.Seconds > 0 && pool.Limit.P50 >= 1:
			s.Limit, s.FromPool = int(pool.Limit.P50), true
			if a.v.Resource == "" {
				a.v.Resource = pool.Name
			}
		case a.sets[i].Sampled:
		case p.Known() && p.Level():
			s.Limit, s.Shown = p.K, true
		}
	}
	for i, s := range a.v.Sides {
		if s == nil || s.Limit > 0 || a.v.Sides[1-i] == nil || a.sets[i].Sampled {
			continue
		}
		if other := a.v.Sides[1-i].Limit; other > 0 {
			s.Limit = max(other, peaks[i])
		}
	}
}
