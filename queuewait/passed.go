package queuewait

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/trace"
)

const (
	// minPassed is how many waits must have had somebody behind them, and mostPassed the share of those that was passed, for
	// no queue to hold them: nobody passes in a queue, and of hidden ones side by side most waits are not passed.
	minPassed, mostPassed = 10, 0.9
	// oneWay is the part of a wait that must lie on one of the ways to say which.
	oneWay = 0.7
	// holdStood is by how much the callee may have become slower: threads that lack a CPU pass each other as well, and
	// what they do takes longer.
	holdStood = 1.15
)

// A Passing is the calls that were held up one by one: others of the same two processes that came later went by.
type Passing struct {
	There, Back int   // waits that had somebody behind them, on the way there and on the way back
	Passed      int   // of them
	Median      int64 // of their lengths, in ns
}

// passed asks whether calls that came later went by those that waited. In a queue they would have waited, too: what holds
// up single calls is lost and sent again, sets a connection up, or asks for a name.
func (a *asker) passed(side int) {
	if a.key.Site != Between || a.v.Sides[0] == nil || a.v.Sides[1] == nil {
		return
	}
	was, is := meanServed(a.calls[0][a.key]), meanServed(a.calls[1][a.key])
	if a.v.Sides[0].N < minWaits || is > holdStood*was {
		return
	}
	p := passing(a.calls[side][a.key])
	if n := p.There + p.Back; n >= minPassed {
		says := Owner("")
		if float64(p.Passed) >= mostPassed*float64(n) {
			says, a.v.Passing = Network, &p
		}
		a.say("passed", says, "of %d calls that waited %s in the median and had another behind them, %d were passed by it without a wait; %d waited on the way there and %d on the way back", n, prose.Ns(float64(p.Median)), p.Passed, p.There, p.Back)
	}
}

// meanServed is the mean time in the server span, in ns.
func meanServed(calls []Call) float64 {
	sum := 0.0
	for i := range calls {
		sum += float64(calls[i].Served.Duration())
	}
	return sum / float64(max(1, len(calls)))
}

// passing is asked of the calls of one edge, in order of when they were asked for.
func passing(calls []Call) Passing {
	type pair struct{ caller, callee graph.ProcID }
	of := map[pair][]*Call{}
	for i := range calls {
		k := pair{calls[i].Caller, calls[i].Callee}
		of[k] = append(of[k], &calls[i])
	}
	var p Passing
	var waits []int64
	for _, list := range of {
		there := list // by when they were asked for
		back := slices.Clone(list)
		slices.SortStableFunc(back, func(x, y *Call) int { return cmp.Compare(x.Served.End, y.Served.End) })
		for _, x := range list {
			if x.Wait < minWait || x.Slack > x.Wait/2 {
				continue
			}
			behind, by := false, false
			n := &p.There
			switch on := float64(x.Given-x.Asked) / float64(x.Wait); {
			case on >= oneWay:
				behind, by = behindOf(there, x, func(c *Call) (from, to trace.Time) { return c.Asked, c.GivenThere })
			case on <= 1-oneWay:
				n = &p.Back
				behind, by = behindOf(back, x, func(c *Call) (from, to trace.Time) { return c.Served.End, c.Done })
			}
			if !behind {
				continue
			}
			*n++
			waits = append(waits, x.Wait)
			if by {
				p.Passed++
			}
		}
	}
	if len(waits) > 0 {
		slices.Sort(waits)
		p.Median = waits[len(waits)/2]
	}
	return p
}

// behindOf is whether a call set out on a way after x did, while x waited, and whether one of those came through before x
// and had not to wait. list is in order of when they set out.
func behindOf(list []*Call, x *Call, way func(*Call) (from, to trace.Time)) (behind, by bool) {
	from, to := way(x)
	at, _ := slices.BinarySearchFunc(list, from+1, func(c *Call, t trace.Time) int {
		set, _ := way(c)
		return cmp.Compare(set, t)
	})
	for _, c := range list[at:] {
		set, through := way(c)
		if set > from+trace.Time(x.Wait/2) {
			break
		}
		behind = true
		if through < to && c.Wait < minWait {
			return true, true
		}
	}
	return behind, false
}
