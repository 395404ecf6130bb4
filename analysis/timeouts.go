package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
)

// An EdgeError says that the data hold no such edge, and which they hold.
type EdgeError struct {
	Edge string
	Have []string // the most calls first
}

func (e *EdgeError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("%q: no service calls another in these data", e.Edge)
	}
	return fmt.Sprintf("%q: no such edge; there are %s", e.Edge, strings.Join(e.Have, ", "))
}

// Timeouts reads one data set and sweeps the timeout of the calls from one
// service to another, of one operation unless that is empty.
func Timeouts(ctx context.Context, o *Options, caller, peer, operation string) (*report.Timeouts, error) {
	l, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	a := &analyzer{o: o, opt: o.stats(), reading: summary.Read(nil, l.Sides[summary.Current], o.reading())}
	type calls struct {
		list     []latework.Finish
		left     []int64
		timedOut float64
		failed   float64 // for another reason: they say nothing of how long work takes
	}
	by := map[string]*calls{}
	edges := map[string]int{}
	w := graph.Walker{Dict: a.reading.Dict, Verdicts: a.reading.Sets[summary.Current].Calibration.Verdicts}
	for _, r := range a.reading.Sets[summary.Current].Records {
		if r.Standing != graph.Counted {
			continue
		}
		walked := false
		for i := 1; i < len(r.Calls); i++ {
			c := &r.Calls[i]
			if !c.Client.Seen() {
				continue
			}
			s := a.reading.Dict.SlotAt(c.Slot)
			from, to, op := a.caller(s), a.peer(s), a.shownOperation(s)
			edges[from+"→"+to]++
			if from != caller || to != peer || operation != "" && op != operation {
				continue
			}
			if !walked {
				w.Walk(r)
				walked = true
			}
			n := by[op]
			if n == nil {
				n = &calls{}
				by[op] = n
			}
			shift := w.Shift(int32(i), false) - w.Shift(int32(i), true)
			if !c.Work.Seen() {
				shift = 0
			}
			f, ok := latework.FinishOf(c, shift, weight(r.Weight))
			if !ok {
				if c.Flags&graph.Loser == 0 {
					n.failed += weight(r.Weight)
				}
				continue
			}
			n.list = append(n.list, f)
			if c.ClientEnd == graph.TimedOut && c.Flags&graph.Loser == 0 {
				n.left = append(n.left, c.Client.Duration())
				n.timedOut += weight(r.Weight)
			}
		}
	}
	if len(by) == 0 {
		e := &EdgeError{Edge: caller + "→" + peer}
		if operation != "" {
			e.Edge += " " + operation
		}
		for name := range edges {
			e.Have = append(e.Have, name)
		}
		slices.SortFunc(e.Have, func(x, y string) int { return cmp.Or(cmp.Compare(edges[y], edges[x]), cmp.Compare(x, y)) })
		e.Have = e.Have[:min(len(e.Have), 12)]
		return nil, e
	}
	out := &report.Timeouts{Version: o.Version, Service: caller, Peer: peer}
	for op, n := range by {
		s := latework.NewSweep(n.list)
		e := report.TimeoutEdge{Operation: op, Failed: report.Float(n.failed), Calls: report.Float(s.Calls), TimedOut: report.Float(n.timedOut), Stopped: report.Float(s.Censored), PresentMs: report.Null, KnownMs: msOf(float64(s.Known()))}
		if s.Known() == 0 {
			e.KnownMs = report.Null
		}
		present, ok := latework.Plateau(n.left)
		if ok {
			e.PresentMs = msOf(float64(present))
		} else {
			present = 0
		}
		for _, w := range sweepAt(s, present) {
			retry, stop, ask := s.At(latework.BlindRetry, w), s.At(latework.Stop, w), s.At(latework.Reconcile, w)
			row := report.TimeoutRow{TimeoutMs: report.Float(float64(w) / 1e6), Present: w == present, Ambiguous: report.Some(retry.Ambiguous), AmbiguousCI: report.Open,
				Duplicates: report.Some(retry.Duplicates), FalseFailures: report.Some(stop.FalseFailures), ExtraTrips: report.Some(ask.ExtraCalls)}
			if !math.IsNaN(retry.Ambiguous) {
				i := s.Interval(w)
				row.AmbiguousCI = report.Between(i.Lo, i.Hi)
			}
			e.Rows = append(e.Rows, row)
		}
		e.Warnings = timeoutDoubts(s, n.failed)
		out.Edges = append(out.Edges, e)
	}
	slices.SortFunc(out.Edges, func(x, y report.TimeoutEdge) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Operation, y.Operation))
	})
	return out, nil
}

// timeoutDoubts says what a sweep cannot tell, and what would.
func timeoutDoubts(s *latework.Sweep, failed float64) (out report.List[string]) {
	const cure = "a longer timeout for a few requests, or a callee that finishes what it began, would tell"
	ended := s.Calls - s.Censored
	switch {
	case s.Calls == 0:
		out = append(out, fmt.Sprintf("cannot tell: %s failed before any work was seen, and no other was made", plural(failed, "call", "calls")))
	case ended == 0:
		out = append(out, "cannot tell: no call was seen to its end; "+cure)
	case s.Censored > 0 && ended < minGathers:
		out = append(out, fmt.Sprintf("%s seen to the end: too few to rely on", plural(ended, "call was", "calls were")))
	}
	if s.Censored > 0 && ended > 0 {
		out = append(out, prose.Sprintf("beyond %.3g ms it cannot be told: of the calls that took longer none was seen to its end; %s", float64(s.Known())/1e6, cure))
	}
	return out
}

// sweepAt is the timeouts of a sweep, in ns, ascending: quantiles of the finish
// times to three digits, the present value, and half and twice of it.
func sweepAt(s *latework.Sweep, present int64) []int64 {
	var at []int64
	for _, q := range []float64{0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999} {
		if ns, ok := s.Quantile(q); ok {
			at = append(at, threeDigits(ns))
		}
	}
	if s.Known() > 0 {
		at = append(at, threeDigits(s.Known()))
	}
	if present > 0 {
		at = append(at, present, present/2, present*3/4, present*3/2, present*2)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// threeDigits rounds up to three digits, so that a time that was seen is within.
func threeDigits(ns int64) int64 {
	unit := int64(1)
	for ns/unit >= 1000 {
		unit *= 10
	}
	return (ns + unit - 1) / unit * unit
}
