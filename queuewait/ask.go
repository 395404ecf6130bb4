package queuewait

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

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
	a.always()
	a.farProcess()
	a.inFlight(worst)
	a.passed(worst)
	return a.decide()
}

// decide lets the first test that speaks say whose queue it is, and asks about the queue.
func (a *asker) decide() *Verdict {
	speaks := func(t Test) bool { return t.Says != "" && t.Says != NoOwner }
	at := slices.IndexFunc(a.v.Tests, speaks)
	if at < 0 { // what says that there is a queue, and not whose
		at = slices.IndexFunc(a.v.Tests, func(t Test) bool { return t.Says == NoOwner })
	}
	if at >= 0 {
		a.v.Tests[at].Decided = true
		a.v.Owner = a.v.Tests[at].Says
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
		s.Hold += float64(c.hold())
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

// A trip is the time of an edge's calls that their client spans saw and their server spans did not, of one side.
type trip struct {
	low                 float64 // floorQuantile of both ways together
	there, back         float64 // medians
	meanThere, meanBack float64
	seBack              float64 // standard error of meanBack
	served              float64 // mean time in the callee
	slack               int64   // the worst of the clocks
}

func tripOf(calls []Call) trip {
	var r trip
	gaps := make([]int64, len(calls))
	var ts, bs []int64
	for j := range calls {
		x := &calls[j]
		t := int64(x.Given-x.Asked) + x.OneWay
		all := int64(x.Done-x.Asked) - x.Served.Duration()
		gaps[j] = all
		ts, bs = append(ts, t), append(bs, all-t)
		r.meanThere, r.meanBack = r.meanThere+float64(t)/float64(len(calls)), r.meanBack+float64(all-t)/float64(len(calls))
		r.slack = max(r.slack, x.Slack)
	}
	for j, b := range bs {
		r.served += float64(calls[j].Served.Duration()) / float64(len(calls))
		r.seBack += (float64(b) - r.meanBack) * (float64(b) - r.meanBack) / float64(len(calls))
	}
	r.seBack = math.Sqrt(r.seBack / float64(len(calls)))
	radix.Ints(gaps)
	radix.Ints(ts)
	radix.Ints(bs)
	r.low, r.there, r.back = float64(gaps[len(gaps)/20]), float64(ts[len(ts)/2]), float64(bs[len(bs)/2])
	return r
}

const (
	// leastMoved and leastGrew are by how much the least gap must have risen, in ns and as a share of what it was, to have
	// moved; wayShare is what each way must have of the rise of both, and leastShare what the least gap must have of it.
	leastMoved, leastGrew = 300_000, 0.25
	wayShare, leastShare  = 0.2, 0.4
	// alwaysShare is what the least gap must have of the rise where the ways cannot be told apart, or only one moved.
	alwaysShare = 0.6
)

// rise is by how much the least time and the medians of both ways rose.
func rise(was, is trip) (low, there, back float64, moved bool) {
	low, there, back = is.low-was.low, is.there-was.there, is.back-was.back
	return low, there, back, low >= leastMoved && low >= leastGrew*was.low
}

// sides asks whether the way there and the way back both moved.
func (a *asker) sides() {
	if !a.comparable() {
		return
	}
	was, is := tripOf(a.calls[0][a.key]), tripOf(a.calls[1][a.key])
	a.v.Trips = [2]float64{was.meanThere + was.meanBack, is.meanThere + is.meanBack}
	low, there, back, moved := rise(was, is)
	late, early := is.meanBack-was.meanBack, is.meanThere-was.meanThere // means: not every answer has to wait
	switch {
	case moved && there > wayShare*(there+back) && back > wayShare*(there+back) && low > leastShare*(there+back):
		a.say("sides", Network, "the least time between client and server span rose by %s, on both ways", prose.Ns(low))
	case late > minLate && late > 3*math.Abs(early) && late > 2*float64(is.slack) && !(moved && low > leastShare*late):
		own, inTime, most := a.lateness(func(k EdgeKey) bool { return k.Caller == a.key.Caller }, is.served)
		all, too, _ := a.lateness(func(k EdgeKey) bool { return k.Target == a.key.Target && k.Caller != a.key.Caller }, 0)
		switch {
		case own >= minWaits && inTime < othersLate*late && most >= othersLate*late:
			a.say("sides", "", "only the way back became longer, by %s on average: %d answers of other callees came to %s %s later, and may be as late when calls last as long (%s)", prose.Ns(late), own, a.name(a.key.Caller), signed(inTime), signed(most))
			return
		case own >= minWaits && inTime < othersLate*late:
			a.v.OnlyTo = own
			a.say("sides", Network, "only the way back became longer, by %s on average, and only of these calls: %d answers of other callees came to %s as before (%s)", prose.Ns(late), own, a.name(a.key.Caller), signed(inTime))
			return
		case own < minWaits && all >= minWaits && too >= callersLate*late:
			a.v.FromAll = all
			a.say("sides", Network, "only the way back became longer, by %s on average, and of %d calls of others to %s as well (%s)", prose.Ns(late), all, a.name(a.key.Target), signed(too))
			return
		}
		a.say("sides", Pause, "only the way back became longer, by %s on average: the caller read its replies late", prose.Ns(late))
	default:
		a.say("sides", "", "there %s → %s, back %s → %s, least %s → %s", prose.Ns(was.there), prose.Ns(is.there), prose.Ns(was.back), prose.Ns(is.back), prose.Ns(was.low), prose.Ns(is.low))
	}
}

// othersLate is the share of an edge's lateness that the caller's other edges must show at least if it is the caller that
// reads its answers late: it does not know whose they are. callersLate is the share that others who call the same service must
// show if it is the callee's answers that are late.
const othersLate, callersLate = 0.25, 0.5

// lateness is how many calls other edges have, and by how much more the mean way back of those took; most is what that
// may be, but for chance, of calls that last so long in the callee. A caller calls while it goes on: that it stands still when
// an answer comes is the likelier the longer that takes.
func (a *asker) lateness(of func(EdgeKey) bool, lasting float64) (n int, late, most float64) {
	sum, would, square := int64(0), int64(0), int64(0) // of whole ns: the edges come in no order
	for k, is := range a.calls[1] {
		was := a.calls[0][k]
		if k == a.key || k.Site != Between || !of(k) || len(was) < minWaits || len(is) < minWaits {
			continue
		}
		n += len(is)
		before, now := tripOf(was), tripOf(is)
		late := now.meanBack - before.meanBack
		sum += int64(float64(len(is)) * late)
		se := math.Hypot(before.seBack, now.seBack)
		times := 1.0
		if late > 2*se && now.served > 0 { // it is there: of longer calls it would be more
			times = max(1, lasting/now.served)
		}
		many := float64(len(is)) * times
		would += int64(many * late)
		square += int64(many * many * se * se / 1e6) // of µs: the squares of ns are too large for a sum
	}
	n1 := float64(max(1, n))
	return n, float64(sum) / n1, (float64(would) + 2e3*math.Sqrt(float64(square))) / n1
}

func signed(ns float64) string {
	if ns < 0 {
		return "−" + prose.Ns(-ns)
	}
	return "+" + prose.Ns(ns)
}

// comparable reports whether both sets have calls enough of the edge.
func (a *asker) comparable() bool {
	b, c := a.v.Sides[0], a.v.Sides[1]
	return a.key.Site == Between && b != nil && b.N >= minWaits && c.N >= minWaits
}

// always asks whether every call takes longer on its way, the fastest too, whichever way it is: what is sent late by one
// host is late on one way alone, and then no call bounds the clocks well enough to say on which. Queues leave those alone
// that find nobody in front, and stops those that come between two. A queue that is never empty looks the same, and tells of
// itself by who lets go: that is asked before, and of sampled calls does not show.
func (a *asker) always() {
	if !a.comparable() {
		return
	}
	was, is := tripOf(a.calls[0][a.key]), tripOf(a.calls[1][a.key])
	low, there, back, moved := rise(was, is)
	if !moved || low < alwaysShare*(there+back) {
		return
	}
	says, way := Network, "on one way or both, which the clocks do not tell apart"
	if a.sets[1].Sampled {
		says = "" // hardly anybody is known who could let go
	}
	switch slack := 2 * float64(is.slack); {
	case back > slack && back > 3*math.Abs(there):
		says, way = Network, "on the way back" // where nothing queues
	case there > slack && there > 3*math.Abs(back):
		way = "on the way there"
	}
	a.say("always", says, "the least time between client and server span rose by %s and the median by %s, %s: every call takes longer", prose.Ns(low), prose.Ns(there+back), way)
}

// farShare is the part of the longer way that few processes at one end must have for it to be theirs.
const farShare = 0.9

// farProcess asks whether it is the ways of some processes that became longer for every call, and those of the others did
// not: then the least time of all calls stands still, and that of those processes moves.
func (a *asker) farProcess() {
	if !a.comparable() {
		return
	}
	for end := range 2 {
		at := func(c *Call) graph.ProcID {
			if end == 0 {
				return c.Caller
			}
			return c.Callee
		}
		by := [2]map[graph.ProcID][]Call{{}, {}}
		for i := range by {
			for _, c := range a.calls[i][a.key] {
				by[i][at(&c)] = append(by[i][at(&c)], c)
			}
		}
		all := tripOf(a.calls[0][a.key])
		var far []graph.ProcID
		var of, rest int64 // whole ns: processes come in no order
		least := 0.0
		for p, calls := range by[1] {
			was := all
			if len(by[0][p]) >= minWaits {
				was = tripOf(by[0][p])
			}
			is := tripOf(calls)
			low, there, back, moved := rise(was, is)
			longer := int64(float64(len(calls)) * (is.meanThere + is.meanBack - was.meanThere - was.meanBack))
			both := there > wayShare*(there+back) && back > wayShare*(there+back) && low > leastShare*(there+back)
			if len(calls) >= minWaits && moved && (both || low >= alwaysShare*(there+back) && !a.sets[1].Sampled) {
				far, of, least = append(far, p), of+longer, max(least, low)
			} else {
				rest += max(0, longer)
			}
		}
		if len(far) == 0 || len(far) == len(by[1]) || float64(of) < farShare*float64(of+rest) {
			continue
		}
		slices.Sort(far)
		a.v.Far, a.v.FarEnd = far, end
		a.say("one-process", Network, "the least time between client and server span rose by %s in the calls of %d of %d processes of %s, and in none of the others", prose.Ns(least), len(far), len(by[1]), a.name([2]trace.StringID{a.key.Caller, a.key.Target}[end]))
		return
	}
}

// minLate is by how much answers must be read later on average, in ns, to say so.
const minLate = 500_000

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
