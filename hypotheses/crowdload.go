package hypotheses

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A demand is what a service has to do, on both sides, for the requests of all endpoints.
type demand struct {
	was, is   float64 // own work that comes, for one process, as long as the baseline's took: in units of one that is always at work
	calls     [2]float64
	n         [2]int
	more      trace.Endpoint // the operation that brings most of the rise
	moreCalls [2]float64     // of it, a second
}

// demandOn is the demand on the service of a slot; not ok where there is nothing to compare.
func (a *Asking) demandOn(slot graph.SlotID) (d demand, ok bool) {
	service := a.slot(slot).Callee.Service
	var seconds, procs [2]float64
	for i, s := range a.Sides {
		if c := &s.Set.Counts; s.Set.Runs == 1 {
			seconds[i] = float64(c.To-c.From) / 1e9
		}
		for p := range s.Set.Work().Crowds {
			if a.Reading.Dict.ProcAt(p).Service == service {
				procs[i]++
			}
		}
	}
	if service == 0 || seconds[0] <= 0 || seconds[1] <= 0 || procs[0] == 0 || procs[1] == 0 {
		return d, false
	}
	was, is := a.base().Set.Work().Done, a.cur().Set.Work().Done
	var all summary.Done // of the baseline
	var operations []trace.Endpoint
	for _, side := range []map[trace.Endpoint]*summary.Done{was, is} {
		for e := range side {
			if e.Service == service {
				operations = append(operations, e)
			}
		}
	}
	slices.SortFunc(operations, func(a, b trace.Endpoint) int { return cmp.Compare(a.Operation, b.Operation) })
	operations = slices.Compact(operations)
	for _, e := range operations {
		if x := was[e]; x != nil {
			all.Calls, all.NS = all.Calls+x.Calls, all.NS+x.NS
		}
	}
	if all.NS == 0 {
		return d, false
	}
	most := 0.0
	for _, e := range operations {
		work := all.NS / all.Calls // of what is new: as of the others
		var rates [2]float64
		for i, side := range []map[trace.Endpoint]*summary.Done{was, is} {
			if x := side[e]; x != nil {
				rates[i] = x.Calls / seconds[i]
				d.n[i] += x.N
				if i == summary.Baseline {
					work = x.NS / x.Calls
				}
			}
			d.calls[i] += rates[i]
		}
		d.was, d.is = d.was+rates[0]*work/1e9/procs[0], d.is+rates[1]*work/1e9/procs[1]
		if rose := (rates[1] - rates[0]) * work; rose > most {
			most, d.more, d.moreCalls = rose, e, rates
		}
	}
	return d, true
}

// slowdown is by how many times longer work may take for what more comes, at the most: as if the process had one CPU, and all
// of it were shared. With more CPUs as many at work are less of what it can do.
func (d *demand) slowdown() float64 {
	before := d.was / (1 + d.was) // of as many at work on average, the part of the time in which any is
	now := before * d.is / d.was
	if now >= 1 {
		return math.Inf(1)
	}
	return max(1, (1-before)/(1-now))
}

// rose reports whether more comes than came, beyond chance.
func (d *demand) rose() bool {
	return d.is >= (1+arrivalsRose)*d.was && math.Abs(math.Log(d.is/d.was)) > 2*math.Sqrt(1/float64(d.n[0])+1/float64(d.n[1]))
}

// byLoad is how much of what crowded work takes longer more work that comes may bring, of its logarithm, at the most.
func (d *demand) byLoad(times float64) float64 {
	if !d.rose() || times <= 1 {
		return 0
	}
	return min(1, math.Log(d.slowdown())/math.Log(times))
}

// crowdedByLoad are the nodes whose work takes longer the more others run beside it, where more of them come than came.
func (a *Asking) crowdedByLoad() []Finding {
	var out []Finding
	for _, slot := range slices.Sorted(maps.Keys(a.crowds())) {
		c := a.crowds()[slot]
		if c.load < bothShare {
			continue
		}
		f, d := c.finding, c.demand
		f.Kind, f.Against, f.Doubtful, f.Open, f.Warnings, f.Below = "load", nil, false, false, nil, nil // those are contention's
		_, _, op := a.names(slot)
		f.Claim = prose.Sprintf("%s gets %.3g calls a second where it was %.3g, and they share what it works with", f.Service, d.calls[1], d.calls[0])
		f.Evidence = append([]Evidence{ // what is shared is contention's
			numbers("spans", d.n[1], "1/s", d.calls[0], d.calls[1], "calls that "+f.Service+" works for, of all endpoints"),
			numbers("spans", d.n[1], "1/s", d.moreCalls[0], d.moreCalls[1], "most of the rise: calls of "+a.Reading.Dict.String(d.more.Operation)),
			numbers("spans", d.n[1], "share", d.was, d.is, "of one CPU of each process that they need, if each takes as long as before"),
		}, slices.DeleteFunc(slices.Clone(f.Evidence), func(e Evidence) bool { return e.Source != "spans" })...)
		f.Check = Check{
			Question: prose.Sprintf("can what more comes make %s as slow as it is?", op),
			Rival:    "contention: it can do less than it could",
			IfThis:   "yes: the process gets more done than before, and what waits for its turn crowds",
			IfRival:  "no: as much came before, and did not crowd",
			Ran:      true,
			Outcome:  prose.Sprintf("%s; it takes %.3g times as long as before", d.atMost(), c.times),
		}
		switch {
		case c.load < crowdShare:
			f.Check.Against, f.Doubtful = true, true
			f.Below = func(o *Finding) bool { return o.Kind == "contention" && o.node == slot }
			f.Warnings = append(f.Warnings, "more comes than came, and less than it takes to crowd it so")
		case c.weaker():
			f.Open = true
			f.Warnings = append(f.Warnings, "as many beside it lengthen it more than before, too: whether the process can do less than it could cannot be told")
		}
		out = append(out, f)
	}
	return out
}

// weaker reports whether the process may do less than it could, beside having more to do: as many beside it lengthen work more
// than they did, and it does not get more done than one CPU does. What does shows that it has more than one; few at work
// when a call begins are then many by its end, which lengthens it at the same number of them.
func (c *crowding) weaker() bool { return c.steeper && c.demand.is < 1 }

// atMost says what slowdown does.
func (d *demand) atMost() string {
	if x := d.slowdown(); !math.IsInf(x, 1) {
		return prose.Sprintf("if all share one CPU it may take up to %.3g times as long", x)
	}
	return "more comes than one CPU can do: there is no bound"
}
