package hypotheses

import (
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// weighted is the runs of the side whose requests have their weights from metrics.
func (s *Side) weighted() (of []*summary.Metering) {
	for _, m := range s.Metered {
		if m.Weights != nil {
			of = append(of, m)
		}
	}
	return of
}

// stated is the latencies of the side with the weights that spans state, as if there
// were no metrics.
func (s *Side) stated() *part {
	p := &part{}
	for _, q := range s.Counted {
		w := q.Weight
		for _, m := range s.Metered {
			if x, ok := m.Stated[q.Record]; ok {
				w = x
			}
		}
		p.ns, p.w = append(p.ns, q.Duration()), append(p.w, float64(w)/graph.OneRequest)
	}
	return p
}

// stratifiedGuard tells of sides that metrics gave their weights. The traces were no
// fair sample, and are used as one: what the verdict says has to be in the metrics,
// too, unless both sides were sampled alike.
func (c *Comparison) stratifiedGuard(t *Telemetry) (Guard, bool) {
	var of [2][]*summary.Metering
	var biased [2]*summary.Metering
	for i, s := range c.Sides {
		of[i] = s.weighted()
		for _, m := range of[i] {
			if m.Biased && (biased[i] == nil || m.Share/max(m.InTruth, 1e-4) > biased[i].Share/max(biased[i].InTruth, 1e-4)) {
				biased[i] = m
			}
		}
	}
	if of[0] == nil && of[1] == nil {
		return Guard{}, false
	}
	q := c.Options.Quantile
	text := ""
	for _, i := range []int{summary.Current, summary.Baseline} {
		s := c.Sides[i]
		if of[i] == nil {
			continue
		}
		var counted, traced, unseen float64
		strata := 0
		for _, m := range of[i] {
			counted, traced = counted+m.Counted, traced+m.Traced.Float()
			unseen = max(unseen, m.Unseen)
			strata += len(m.Of)
		}
		if text != "" {
			text += "; "
		}
		text += prose.Sprintf("%s counted %.0f requests and the %s traces stand for %.0f", of[i][0].Name, counted, sideName(i), traced)
		switch m := biased[i]; {
		case m == nil:
			text += ", whose lengths agree"
		case math.IsNaN(m.Above):
			text += fmt.Sprintf(", of which %s ended badly against %s of those counted", prose.Percent(m.Share), prose.Percent(m.InTruth))
		default:
			text += fmt.Sprintf(", of which %s last over %s against %s of those counted", prose.Percent(m.Share), prose.Ns(m.Above), prose.Percent(m.InTruth))
		}
		text += fmt.Sprintf(": they are weighted by it in %d strata (p%g %s without, %s with the weights), with an effective n of %.0f",
			strata, 100*q, prose.Ns(s.stated().at(q)), prose.Ns(s.Sample.Quantile(q)), s.Sample.EffectiveN(q))
		if unseen > 0.01 {
			text += fmt.Sprintf("; of %s of the requests, by their length, no trace was kept, and others stand for them", prose.Percent(unseen))
		}
	}
	g := guard(GuardSampling, GuardWarn, "%s", text)
	if biased[0] == nil && biased[1] == nil || alike(biased) {
		return g, true
	}
	plain := c.Sides[1].stated().at(q) - c.Sides[0].stated().at(q)
	g.Explains = plain - (c.Pair.Cur.Quantile(q) - c.Pair.Base.Quantile(q))
	shown, where := c.metered(t)
	g.check = Check{Question: "is the change in the request-duration metrics, which nobody samples?", Rival: "a change of latency, which the metrics would show too", IfThis: "no", IfRival: "yes", Ran: true, Outcome: where}
	switch d := direction(c.Verdict.Outcome); {
	case d != 0 && shown == d:
		g.Detail += "; " + where
	case d != 0:
		g.Status, g.Incomparable = GuardFail, true
		g.Detail += "; " + where + ", so that what is left may be how the traces were chosen within a bucket"
	case c.Verdict.Outcome == stats.CannotTell && math.Abs(g.Explains) >= c.Options.MinNS:
		g.Status = GuardFail
	}
	return g, true
}

// alike reports whether both sides were sampled by the same rule: where one keeps
// too many, the other does, as much.
func alike(biased [2]*summary.Metering) bool {
	a, b := biased[0], biased[1]
	if a == nil || b == nil {
		return false
	}
	over := func(m *summary.Metering) float64 { return math.Log(max(m.Share, 1e-4) / max(m.InTruth, 1e-4)) }
	return math.Abs(over(a)-over(b)) < math.Log(biased2)
}

// biased2 is the factor between the biases of two sides that are alike.
const biased2 = 1.4

// metered reports in which direction the share of slow requests moved by metrics,
// and where; a side without metrics is read from its requests.
func (c *Comparison) metered(t *Telemetry) (direction int, where string) {
	type share struct{ lo, hi, n float64 }
	at := func(i int, x float64) share {
		if d := t.durations(i); d != nil {
			lo, hi := d.Total.Above(x / 1e6)
			n := float64(d.Total.Count)
			return share{float64(lo) / n, float64(hi) / n, n}
		}
		s := c.Sides[i].Sample
		v := 1 - s.Rank(x)
		return share{v, v, s.EffectiveN(c.Options.Quantile)}
	}
	var bounds []float64
	for i := range c.Sides {
		if d := t.durations(i); d != nil {
			for _, b := range d.Total.Buckets {
				if b.N > 0 && !math.IsInf(b.Hi, 0) {
					bounds = append(bounds, b.Hi*1e6)
				}
			}
		}
	}
	slices.Sort(bounds)
	best := 0.0
	for _, x := range slices.Compact(bounds) {
		b, k := at(summary.Baseline, x), at(summary.Current, x)
		for d, gap := range map[int]float64{1: k.lo - b.hi, -1: b.lo - k.hi} {
			p := (k.lo*k.n + b.hi*b.n) / (k.n + b.n)
			if d < 0 {
				p = (k.hi*k.n + b.lo*b.n) / (k.n + b.n)
			}
			if z := gap / math.Sqrt(max(p*(1-p), 1e-9)*(1/k.n+1/b.n)); z > 2 && z > best {
				best, direction = z, d
				where = fmt.Sprintf("by the metrics %s of the baseline's requests and %s of the current ones last over %s", prose.Percent((b.lo+b.hi)/2), prose.Percent((k.lo+k.hi)/2), prose.Ns(x))
			}
		}
	}
	if direction == 0 {
		return 0, "at no bound of the metrics the share of longer requests differs beyond chance"
	}
	return direction, where
}

func (t *Telemetry) durations(side int) *metric.Durations {
	if t == nil || t.Durations[side] == nil || t.Durations[side].Total.Count == 0 {
		return nil
	}
	return t.Durations[side]
}
