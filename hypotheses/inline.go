package hypotheses

import (
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// inLine finds waits for a connection within the client spans of a callee without spans and of a pool without metrics. Calls
// that find no other of their process under way are as fast as before, and the others are longer by what a pool of some
// size makes them wait. Which connection a call got nobody says, so it is a cause beside the callee's work, not in its stead.
func (a *Asking) inLine() []Finding {
	var out []Finding
	for _, slot := range a.nodes() {
		if s := a.slot(slot); s.Callee.Service != 0 || a.workOf(slot) != slot {
			continue
		}
		f := a.serviceFinding(slot, a.work(slot))
		if !f.Check.Against || f.Peer == "" {
			continue
		}
		was := a.line(summary.Baseline, slot, 0)
		is := a.line(summary.Current, slot, int64(was.all.at(0.01)))
		k := is.pool(&was)
		if k == 0 {
			continue
		}
		c := f.Check
		wait, _ := is.wait(k)
		f.Kind = "client-wait"
		f.Claim = fmt.Sprintf("calls of %s wait within the client span of %s, as if a process had %s", f.Operation, f.Service, plural(k, "connection", "connections"))
		f.Evidence, f.Against, f.Warnings = append(f.Against, says("spans", len(is.all.ns), "%s to a process, given in turn, make calls wait %s on average: they rose by %s", plural(k, "connection", "connections"), prose.Ns(wait), prose.Ns(is.all.mean()-was.all.mean()))), nil, nil
		f.Check = Check{
			Question: c.Question, IfThis: c.IfRival, IfRival: c.IfThis, Ran: true, Outcome: c.Outcome,
			Rival: fmt.Sprintf("service-time: %s takes longer when it has more to do at once", f.Peer),
		}
		f.Open = true
		out = append(out, f)
	}
	return out
}

// firstInLine asks without metrics whether client spans hold waits for a connection: a call that finds no other of its process
// under way waits for none.
func (a *Asking) firstInLine(slot graph.SlotID, f *Finding) {
	was, is := a.line(summary.Baseline, slot, 0), a.line(summary.Current, slot, 0)
	known := min(a.known(summary.Baseline), a.known(summary.Current))
	rose := is.all.mean() - was.all.mean()
	if known < allKnown || len(was.first.ns) < minCrowd || len(is.first.ns) < minCrowd || rose == 0 {
		f.Doubtful = true
		f.Warnings = append(f.Warnings, prose.Sprintf("whether calls wait for a connection within the client spans cannot be told: %d calls are known to have found no other of their process under way, and %.2g %% of the requests are known", len(is.first.ns), 100*known))
		return
	}
	missing := 1 - (is.first.mean()-was.first.mean())/rose
	said := prose.Sprintf("calls that find no other of their process under way take %s where they took %s, of all calls %s where it was %s", prose.Ns(is.first.mean()), prose.Ns(was.first.mean()), prose.Ns(is.all.mean()), prose.Ns(was.all.mean()))
	switch {
	case missing >= crowdShare && is.first.mean() < (1+holdRose)*was.first.mean():
		f.Check.Ran, f.Check.Query, f.Check.Outcome, f.Check.Against = true, "", said, true
		f.Against = append(f.Against, says("spans", len(is.first.ns), "%s", said))
	default: // they take longer, too, and who waits behind them
		f.Evidence = append(f.Evidence, says("spans", len(is.first.ns), "%s", said))
	}
}

// A line is the calls of one service to a peer that has no spans: all, and those that found no other of their process there.
type line struct {
	all, first *part

	waits, early [maxPlaces]float64 // of places from 1 on: the time that calls would wait, and how many of them would be left with less than least
}

// wait is the mean time that calls of the line would wait for k places; not ok where more than a few got theirs otherwise.
func (l *line) wait(k int) (ns float64, ok bool) {
	var w float64
	for _, x := range l.all.w {
		w += x
	}
	return l.waits[k-1] / w, l.early[k-1] <= outOfOrder*float64(len(l.all.ns))
}

// pool is the number of connections that makes calls wait for as long as they rose by; 0 if none does.
func (l *line) pool(was *line) int {
	rose, chance := l.all.mean()-was.all.mean(), 2*math.Hypot(l.all.error(), was.all.error())
	for k := 1; k <= maxPlaces; k++ {
		before, _ := was.wait(k) // as many there were perhaps not
		if ns, ok := l.wait(k); ok && before <= ns && ns >= crowdShare*rose && math.Abs(ns-rose) <= fits*rose+chance {
			return k
		}
	}
	return 0
}

// error is the standard error of a part's mean.
func (p *part) error() float64 {
	mean := p.mean()
	var squares, w, ww float64
	for i, x := range p.ns {
		d := float64(x) - mean
		squares, w, ww = squares+p.w[i]*d*d, w+p.w[i], ww+p.w[i]*p.w[i]
	}
	if w == 0 {
		return 0
	}
	return math.Sqrt(squares / w * ww / (w * w))
}

const (
	// maxPlaces is the largest pool that is looked for, and fits how much of the rise waits for its places may lack or exceed.
	maxPlaces = 16
	fits      = 0.25
	// outOfOrder is the share of the calls that may seem to get a place so late that less is left than the shortest 1 % took.
	outOfOrder = 0.02
)

// line is those of one side.
func (a *Asking) line(side int, slot graph.SlotID, least int64) line {
	s := a.slot(slot)
	type stretch struct{ starts, ends []trace.Time }
	busy := map[graph.ProcID]*stretch{}
	each := func(f func(c *graph.Call, weight int64)) {
		for _, r := range a.Sides[side].Set.Records {
			for i := range r.Calls {
				c := &r.Calls[i]
				o := a.slot(c.Slot)
				if c.Client.Seen() && !c.Work.Seen() && o.Caller.Service == s.Caller.Service && o.Peer == s.Peer {
					f(c, r.Weight)
				}
			}
		}
	}
	each(func(c *graph.Call, _ int64) {
		b := busy[c.Client.Proc]
		if b == nil {
			b = &stretch{}
			busy[c.Client.Proc] = b
		}
		b.starts, b.ends = append(b.starts, c.Client.Start), append(b.ends, c.Client.End)
	})
	for _, b := range busy {
		slices.Sort(b.starts)
		slices.Sort(b.ends)
	}
	l := line{all: &part{}, first: &part{}}
	mine := a.slots[side][slot]
	each(func(c *graph.Call, weight int64) {
		if !slices.Contains(mine, c.Slot) {
			return
		}
		b := busy[c.Client.Proc]
		began, _ := slices.BinarySearch(b.starts, c.Client.Start+1)
		ended, _ := slices.BinarySearch(b.ends, c.Client.Start+1)
		ns, w := c.Client.Duration(), float64(weight)/graph.OneRequest
		l.all.ns, l.all.w = append(l.all.ns, ns), append(l.all.w, w)
		for k := range l.waits {
			var wait int64
			if at := began - 1 - (k + 1); at >= 0 {
				wait = max(0, int64(b.ends[at]-c.Client.Start))
			}
			l.waits[k] += float64(min(wait, ns)) * w
			if wait > 0 && wait > ns-least {
				l.early[k]++
			}
		}
		if began-ended <= 1 { // itself
			l.first.ns, l.first.w = append(l.first.ns, ns), append(l.first.w, w)
		}
	})
	return l
}
