package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
)

// A Ranking is the causes of a change, the likeliest first.
type Ranking struct {
	Findings []Finding

	// Unexplained is what is left of the target quantile's change with all
	// findings put back together; NaN where nothing was asked.
	Unexplained float64

	// Inexact is the share of requests in which something had to be cut to fit,
	// so that a replay stands on times that were not recorded.
	Inexact float64

	Attributes []*Attribute

	// Mix is the change split by the attribute of a change of mix, else by the one
	// whose shares differ most; nil if none differ.
	Mix *MixSplit

	asking *Asking
}

const (
	// minShare is the least share of the change that a finding must explain, and
	// minExplains the least time, in ns.
	minShare    = 0.05
	minExplains = 1_000_000
	// minCause is how much of what a consequence explains its cause must explain.
	minCause = 0.5
	// maxOver is how much more than the change a cause may explain: of more, something has been taken for another.
	maxOver = 1.5
	// sameTime is how near two findings must be to name the same milliseconds.
	sameTime = 0.15
)

// Rank asks all kinds of causes about a comparison. It is for every verdict but
// no-regression.
func Rank(c *Comparison) *Ranking {
	r := &Ranking{Unexplained: math.NaN()}
	if c.Pair == nil {
		return r
	}
	a := NewAsking(c)
	r.asking = a
	a.attributes = c.Attributes()
	r.Attributes, r.Inexact = a.attributes, a.clipped
	change := c.Pair.Delta(c.Options.Quantile, 0.95).Change
	sign := 1.0 // an improvement is replayed too: what became faster, back to how slow it was
	if c.Verdict.Outcome == stats.Improvement || c.Verdict.Outcome != stats.Regression && change < 0 {
		sign = -1
	}

	// An accepted change of mix comes first: everything else is valued under it.
	var mix []Finding
	if sign > 0 {
		for _, f := range mixShift.find(a) {
			if a.worth(f.Explains, change) {
				a.byMix(f.Weights)
				plain := a.weights
				a.weights = f.Weights
				var factors []Factor
				for _, b := range a.queues() {
					if b.mix > 0.02 {
						factors = append(factors, a.waitBack(b, b.mix))
						f.Evidence = append(f.Evidence, says("spans", b.calls, "these requests make more calls of %s: they bring %.0f %% of the rise of the wait before it", a.operation(b), 100*b.mix))
					}
				}
				f.Factor = func(j int, p *graph.Plan, values []int64) {
					for _, g := range factors {
						g(j, p, values)
					}
				}
				if len(factors) > 0 {
					f.Explains, f.Lo, f.Hi = a.effect(a.replay(f.Factor), plain, f.Weights)
				}
				mix = append(mix, f)
			}
		}
	}
	var asked []*Finding
	effects := a.effects()
	for _, cause := range Catalogue {
		if cause.Kind == mixShift.Kind || cause.Kind == measurement.Kind {
			continue
		}
		for _, f := range cause.find(a) {
			a.follow(&f)
			asked = append(asked, &f)
			effects.of(&f, a.put(&f))
		}
	}
	effects.wait()
	var found []Finding
	for _, f := range asked {
		if sign < 0 {
			f.Explains, f.Lo, f.Hi = -f.Explains, -f.Hi, -f.Lo
		}
		if a.worth(f.Explains, change) {
			found = append(found, *f)
		}
	}
	found = append(mix, whole(found)...)
	order(found)
	for i := range found {
		found[i].Strength = strength(c, &found[i], change)
		a.widen(&found[i], change)
	}
	// What was measured differently is asked about before anything else.
	r.Findings = append(c.measurements(), found...)
	r.Unexplained = sign*change - a.together(found, sign)
	if r.Mix = a.mixSplit; r.Mix == nil {
		var worst *Attribute
		for _, at := range a.attributes {
			if key := c.Reading.Dict.String(at.Key); at.P <= mixP && !Consequence(key) && !Deployed(key) && len(at.Values) > 1 && (worst == nil || at.Distance() > worst.Distance()) {
				worst = at
			}
		}
		if worst != nil {
			r.Mix = a.splitBy(worst)
		}
	}
	return r
}

// widen adds to the interval of a finding what the baseline leaves open: a replay puts requests back to where the
// baseline's quantile was seen, and that is a draw as well. A finding has the part of it that it has of the change.
func (a *Asking) widen(f *Finding, change float64) {
	at := a.base().Sample.Quantile(a.Options.Quantile)
	iv := a.base().Sample.Interval(a.Options.Quantile, 0.95)
	part := min(1, math.Abs(f.Explains)/math.Abs(change))
	off := part * min(at-iv.Lo, iv.Hi-at) // the nearer end: the other is as far as the slowest requests happen to lie
	if math.IsInf(off, 0) || math.IsNaN(off) {
		return
	}
	f.Hi = f.Explains + math.Hypot(f.Hi-f.Explains, off)
	f.Lo = f.Explains - math.Hypot(f.Explains-f.Lo, off)
}

// worth reports whether an effect is large enough to be told.
func (a *Asking) worth(explains, change float64) bool {
	return explains >= minExplains && explains >= minShare*math.Abs(change)
}

// put is the replay of a finding.
func (a *Asking) put(f *Finding) []int64 {
	if f.Plans == nil {
		return a.replay(f.Factor)
	}
	own := a.plans
	plans := make([]*graph.Plan, len(own))
	for j := range plans {
		plans[j] = f.Plans(j)
	}
	out := make([]int64, len(plans))
	var e graph.Evaluator
	var values []int64
	for j, p := range plans {
		values = p.Values(values)
		f.Factor(j, p, values)
		out[j] = e.Latency(p, values, nil)
	}
	return out
}

// together is what all findings put back in one replay take away.
func (a *Asking) together(found []Finding, sign float64) float64 {
	plans := a.plans
	var factors []Factor
	weights := a.weights
	for i := range found {
		f := &found[i]
		if f.Plans != nil {
			plans = make([]*graph.Plan, len(a.plans))
			for j := range plans {
				plans[j] = f.Plans(j)
			}
		}
		factors = append(factors, f.Factor)
	}
	out := make([]int64, len(plans))
	var e graph.Evaluator
	var values []int64
	for j, p := range plans {
		values = p.Values(values)
		for _, f := range factors {
			f(j, p, values)
		}
		out[j] = e.Latency(p, values, nil)
	}
	plain := make([]float64, len(weights))
	for j := range plain {
		plain[j] = float64(a.request(j).Weight) / graph.OneRequest
	}
	return sign * (a.quantile(a.latency, plain) - a.quantile(out, weights))
}

// order ranks findings by what they explain. Those that explain the same
// milliseconds, within sameTime, are ordered by precedence; a consequence goes
// below its cause.
func order(found []Finding) {
	slices.SortStableFunc(found, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(y.Explains, x.Explains), cmp.Compare(precedence(x.Kind), precedence(y.Kind)), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Operation, y.Operation), cmp.Compare(x.Peer, y.Peer))
	})
	// Groups of the same milliseconds, each headed by its largest.
	for from := 0; from < len(found); {
		to := from + 1
		for to < len(found) && found[to].Explains >= (1-sameTime)*found[from].Explains {
			to++
		}
		slices.SortStableFunc(found[from:to], func(x, y Finding) int { return cmp.Compare(precedence(x.Kind), precedence(y.Kind)) })
		from = to
	}
	for i := 0; i < len(found); i++ {
		if found[i].Below == nil {
			continue
		}
		last := -1
		for j := i + 1; j < len(found); j++ {
			if found[j].Explains >= minCause*found[i].Explains && found[i].Below(&found[j]) {
				last = j
			}
		}
		if last >= 0 {
			f := found[i]
			f.Below = nil
			copy(found[i:last], found[i+1:last+1])
			found[last] = f
			i--
		}
	}
}

// strength says how far a finding carries: its share of the change, whether its
// interval clears zero, whether a check ran and held.
func strength(c *Comparison, f *Finding, change float64) Strength {
	if c.Verdict.Outcome == stats.CannotTell || c.Verdict.Outcome == NotComparable {
		return Weak
	}
	share := f.Explains / math.Abs(change)
	decided := f.Check.Ran && !f.Check.Against && len(f.Warnings) == 0
	switch {
	case f.Lo <= 0 || f.Doubtful || f.Check.Ran && f.Check.Against || share > maxOver:
		return Weak
	case share >= 0.5 && decided:
		return Strong
	case share >= 0.25:
		return Moderate
	}
	return Weak
}
