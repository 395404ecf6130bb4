package queuewait

import (
	"cmp"
	"math"
	"slices"

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
