package queuewait

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/trace"
)

const (
	// minBehind is how many calls must have come while another waited to ask whether they wait, too; byChance by how many
	// standard errors more of them may than of all calls. Where more than mostWait of all calls wait, nothing tells.
	minBehind, byChance, mostWait = 10, 2, 0.6
	// mostIdle is the share of the waits from which nobody's place was waited for.
	mostIdle = 0.9
	// mainlyIdle is that share where calls are held up on both ways as often: what is left may be those that are there by chance.
	mainlyIdle = 0.75
	// oneWay is the part of a wait that must lie on one of the ways to say which.
	oneWay = 0.7
	// workStood is by how much the callee may have become slower, on average or, where single calls are held up in it as
	// well, in the fastest quarter: threads that lack a CPU pass each other as well, and what they do takes longer.
	workStood = 1.15
	// linked is how many times as often as all calls those that wait may be held up in the callee as well: who lacks a CPU is so
	// most of the times.
	linked = 1.5
)

// A Passing is the calls that were held up one by one: others that came later went by.
type Passing struct {
	There, Back int        // waits on the way there and on the way back
	Median      int64      // of them, in ns
	Behind      [2]int     // calls that came to the same caller, and callee, while one waited
	Waited      [2]int     // of them
	Beside      [2]int     // calls of other edges that came to the same caller meanwhile, and those of them that waited
	Of          float64    // the share of all calls that wait
	Usual       [2]float64 // as many of those that came would wait if they did so as often as all calls of their process
	UsualBeside float64    // the same of Beside
	Ours        float64    // the share of calls that wait in those callers and callees where they do, the larger
	Idle        [2]float64 // the share of the waits in whose middle no call was in service at the caller, and at the callee
}

// passed asks whether calls that come later go by those that wait. In a queue they wait as well: what holds up single calls
// is lost and sent again, sets a connection up, or asks for a name.
func (a *asker) passed(side int) {
	if a.key.Site != Between || a.v.Sides[0] == nil || a.v.Sides[1] == nil {
		return
	}
	was, is := a.calls[0][a.key], a.calls[1][a.key]
	if len(was) < minWaits || work(is) > workStood*work(was) && !heldThereToo(was, is) {
		return
	}
	p := passing(a.calls[side][a.key], a.fromOthers(side), a.toOthers(side))
	if !a.sets[side].Sampled {
		p.Idle = [2]float64{a.v.Sides[side].Plateau.Idle, a.serverPlateau(side).Idle}
	}
	says := Owner("")
	if p.noQueue() {
		says, a.v.Passing = Network, p
	}
	if p.There+p.Back >= minWaits {
		a.say("passed", says, "%d calls waited on the way there and %d on the way back, %s in the median; of %d calls of the same process that came meanwhile %d waited as well, and of %d to the same process %d, where %.2g %% of all do; %.0f %% waited while none was in service at the caller, %.0f %% while none was at the callee",
			p.There, p.Back, prose.Ns(float64(p.Median)), p.Behind[0], p.Waited[0], p.Behind[1], p.Waited[1], 100*p.Of, 100*p.Idle[0], 100*p.Idle[1])
	}
}

// fromOthers is the calls of other callers to the target.
func (a *asker) fromOthers(side int) []Call {
	var out []Call
	for _, k := range a.toTarget(side) {
		if k != a.key {
			out = append(out, a.calls[side][k]...)
		}
	}
	return out
}

// toOthers is the calls of the same caller to other targets.
func (a *asker) toOthers(side int) []Call {
	var out []Call
	for k, calls := range a.calls[side] {
		if k != a.key && k.Site == Between && k.Caller == a.key.Caller {
			out = append(out, calls...)
		}
	}
	return out
}

// noQueue reports whether neither end has a queue: those that come while one waits wait no more often than all do, or, where
// few come, none was in service meanwhile whose place it could wait for.
func (p *Passing) noQueue() bool {
	if p.There+p.Back < minWaits || p.Ours > mostWait {
		return false
	}
	// Who reads answers late is busy, and nobody's place is waited for: he reads those of others late as well.
	mayIdle, idle := p.Back <= p.There/10 || p.Beside[0] >= minBehind && !moreThan(p.Beside[1], p.UsualBeside, p.Beside[0]), mostIdle
	if p.bothWays() { // no queue and no stop is on both
		mayIdle, idle = true, mainlyIdle
	}
	for end, n := range p.Behind {
		switch {
		case moreThan(p.Waited[end], p.Usual[end], n):
			return false
		case n < minBehind && !(p.Idle[end] >= idle && (mayIdle || end == 1)): // the callee had done its part of what comes back late
			return false
		}
	}
	return true
}

// heldThereToo reports whether the callee's work took longer in single calls only, those of the fastest quarter as long as
// before, and no more often in those that wait on the way: what it calls is held up as they are. Who lacks a CPU does all more
// slowly, and what waits for it as well.
func heldThereToo(was, is []Call) bool {
	if len(is) == 0 {
		return false
	}
	before, now := lengths(was), lengths(is)
	if float64(now[len(now)/4]) > workStood*float64(before[len(before)/4]) {
		return false
	}
	usual := before[len(before)*99/100]
	type count struct{ all, slow, waiting int }
	by := map[graph.ProcID]*count{} // of one process more may be held up than of others
	both := 0
	for i := range is {
		c := by[is[i].Callee]
		if c == nil {
			c = &count{}
			by[is[i].Callee] = c
		}
		slow, waits := int64(is[i].Served.Duration()) > usual, is[i].Wait >= minWait
		c.all++
		if slow {
			c.slow++
		}
		if waits {
			c.waiting++
		}
		if slow && waits {
			both++
		}
	}
	var chance, variance float64
	for _, p := range slices.Sorted(maps.Keys(by)) { // sums of floats, in one order
		c := by[p]
		share := float64(c.slow) / float64(c.all)
		chance += share * float64(c.waiting)
		variance += share * (1 - share) * float64(c.waiting)
	}
	return float64(both) <= linked*chance+byChance*math.Sqrt(variance)+1
}

// lengths is how long calls were in the server span, the shortest first.
func lengths(calls []Call) []int64 {
	out := make([]int64, len(calls))
	for i := range calls {
		out[i] = int64(calls[i].Served.Duration())
	}
	slices.Sort(out)
	return out
}

// bothWays reports whether as many calls wait on the way there as on the way back.
func (p *Passing) bothWays() bool {
	return p.There >= minWaits/2 && p.Back >= minWaits/2 && math.Abs(float64(p.There-p.Back)) <= byChance*math.Sqrt(float64(p.There+p.Back))
}

// moreThan reports whether more than usual of n, beyond chance, are so many.
func moreThan(so int, usual float64, n int) bool {
	return float64(so) > usual+byChance*math.Sqrt(usual*max(0, 1-usual/float64(max(1, n))))+1
}

// MayHaveStopped reports whether too few came to the callee meanwhile to know that it went on. Of what it had answered it holds
// nothing up.
func (p *Passing) MayHaveStopped() bool { return p.Behind[1] < minBehind && p.Back*4 < p.There }

// work is the mean time in the server span, in ns.
func work(calls []Call) float64 {
	sum := 0.0
	for i := range calls {
		sum += float64(calls[i].Served.Duration())
	}
	return sum / float64(max(1, len(calls)))
}

// A passage is a call at one end of one way: when it came there, by the clock of that end, and how long it waited.
type passage struct {
	at   trace.Time
	wait int64
}

// passing is asked of the calls of one edge; others call the same target, and beside are what its callers ask of other targets.
func passing(calls, others, beside []Call) *Passing {
	p := &Passing{}
	var waits []int64
	n := 0
	for i := range calls {
		c := &calls[i]
		if c.Wait < minWait {
			continue
		}
		n++
		switch way(c) {
		case there:
			p.There++
			waits = append(waits, c.Wait)
		case back:
			p.Back++
			waits = append(waits, c.Wait)
		}
	}
	if len(waits) == 0 {
		return p
	}
	p.Of = float64(n) / float64(len(calls))
	slices.Sort(waits)
	p.Median = waits[len(waits)/2]
	var often [2]map[graph.ProcID]float64
	for end := range often {
		list := calls
		if end == 1 {
			list = slices.Concat(calls, others)
		}
		often[end] = oftenAt(list, end)
		ours := 0.0
		for i := range calls {
			if calls[i].Wait >= minWait {
				ours += often[end][calls[i].procAt(end)]
			}
		}
		p.Ours = max(p.Ours, ours/float64(n))
	}
	for end := range p.Behind {
		list := calls
		if end == 1 {
			list = slices.Concat(calls, others)
		}
		p.Behind[end], p.Waited[end], p.Usual[end] = meanwhile(calls, list, end, often[end])
	}
	p.Beside[0], p.Beside[1], p.UsualBeside = meanwhile(calls, beside, 0, oftenAt(beside, 0))
	return p
}

// oftenAt is the share of the calls of each process at one end that wait.
func oftenAt(calls []Call, end int) map[graph.ProcID]float64 {
	waits, all := map[graph.ProcID]float64{}, map[graph.ProcID]float64{}
	for i := range calls {
		proc := calls[i].procAt(end)
		all[proc]++
		if calls[i].Wait >= minWait {
			waits[proc]++
		}
	}
	for proc := range all {
		all[proc] = waits[proc] / all[proc]
	}
	return all
}

// procAt is the process of a call at its caller (end 0) or its callee.
func (c *Call) procAt(end int) graph.ProcID {
	if end == 0 {
		return c.Caller
	}
	return c.Callee
}

// meanwhile is how many of a list came to the same process at one end, and the same way, within the first half of a wait of
// calls, how many of those waited, and how many would if they did so as often as their process' calls do.
func meanwhile(calls, list []Call, end int, often map[graph.ProcID]float64) (n, waited int, usual float64) {
	for _, w := range [2]direction{there, back} {
		by := map[graph.ProcID][]passage{}
		for i := range list {
			proc, at := list[i].at(end, w)
			by[proc] = append(by[proc], passage{at, list[i].Wait})
		}
		for _, all := range by {
			slices.SortFunc(all, func(x, y passage) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.wait, y.wait)) })
		}
		for i := range calls {
			c := &calls[i]
			if c.Wait < minWait || way(c) != w {
				continue
			}
			proc, at := c.at(end, w)
			all := by[proc]
			from, _ := slices.BinarySearchFunc(all, at+1, func(x passage, t trace.Time) int { return cmp.Compare(x.at, t) })
			for _, y := range all[from:] {
				if y.at > at+trace.Time(c.Wait/2) {
					break
				}
				n++
				usual += often[proc]
				if y.wait >= minWait {
					waited++
				}
			}
		}
	}
	return n, waited, usual
}

type direction int8

const (
	unclear direction = iota
	there
	back
)

// way is on which way a call waited.
func way(c *Call) direction {
	switch on := float64(c.Given-c.Asked) / float64(c.Wait); {
	case c.Slack > c.Wait/2:
	case on >= oneWay:
		return there
	case on <= 1-oneWay:
		return back
	}
	return unclear
}

// at is when a call set out on a way at its caller (end 0) or at its callee.
func (c *Call) at(end int, w direction) (graph.ProcID, trace.Time) {
	switch {
	case end == 0 && w == there:
		return c.Caller, c.Asked
	case end == 0:
		return c.Caller, c.Done - trace.Time(c.Wait)
	case w == there:
		return c.Callee, c.GivenThere - trace.Time(c.Wait)
	}
	return c.Callee, c.Served.End
}
