package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// A Ranking is the causes of a change, the likeliest first.
type Ranking struct {
	Findings []Finding

	// Unexplained is what is left of the target quantile's change with all
	// findings put back together; NaN where nothing was asked. Its interval is that of a change from the baseline to what
	// the replay gives: what is uncertain of the replay itself is in the findings'.
	Unexplained Effect

	// Focus is the quantile that the findings are ranked at, see [Comparison.Focus], and Left what is left of its change:
	// the target and Unexplained where the target shows the change.
	Focus float64
	Left  Effect

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
	// strongShare is the share of the change from which on a cause whose check held is strong: most of it. From
	// moderateShare on one is moderate.
	strongShare   = 0.5
	moderateShare = 0.25
)

// Rank asks all kinds of causes about a comparison. It is for every verdict but
// no-regression.
func Rank(c *Comparison) *Ranking {
	nothing := Effect{math.NaN(), math.NaN(), math.NaN()}
	r := &Ranking{Unexplained: nothing, Left: nothing, Focus: c.Options.Quantile}
	if c.Pair == nil {
		return r
	}
	target := c.Options.Quantile
	r.Focus = c.Focus()
	r.Attributes = c.Attributes()
	c = c.shownAt(r.Focus)
	a := NewAsking(c)
	r.asking = a
	a.attributes, r.Inexact = r.Attributes, a.clipped
	change := c.Pair.Delta(c.Options.Quantile, 0.95).Change
	sign := 1.0 // an improvement is replayed too: what became faster, back to how slow it was
	if c.Verdict.Outcome == stats.Improvement || c.Verdict.Outcome != stats.Regression && change < 0 {
		sign = -1
	}

	// An accepted change of mix comes first: everything else is valued under it.
	var mix []Finding
	if sign > 0 {
		if f, ok := a.mix(change, target); ok {
			mix = append(mix, f)
		}
	}
	explain := func(f *Finding, replayed []int64) {
		f.Explains, f.Lo, f.Hi = a.effect(replayed, a.weights, a.weights)
		if sign < 0 {
			f.Explains, f.Lo, f.Hi = -f.Explains, -f.Hi, -f.Lo
		}
		if a.worth(f.Explains, change) {
			f.Target = a.atTarget(f, target, replayed, a.weights, a.weights, sign)
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
			replayed := a.put(&f)
			effects.do(func() { explain(&f, replayed) })
		}
	}
	effects.wait()
	if sign > 0 {
		asked = a.ofOnePlace(asked, func(f *Finding) { explain(f, a.put(f)) })
	}
	var found []Finding
	var small []*Finding
	lengths := 0
	for _, f := range asked {
		if f.lengths != nil {
			lengths++
		}
		if a.worth(f.Explains, change) {
			found = append(found, *f)
			continue
		}
		small = append(small, f)
	}
	if sign > 0 {
		found = append(found, a.together(found, small, change, target)...)
	}
	a.doubtChance(found, lengths)
	a.doubtMix(found)
	a.oneOfMany(found, sign)
	a.belowMore(found)
	found = append(mix, whole(found)...)
	order(found)
	a.rivals(found, sign)
	for i := range found {
		f := &found[i]
		f.Strength = strength(c, f, change)
		whole := Effect{f.Explains, f.Lo, f.Hi}
		a.widen(&whole, r.Focus, change)
		f.Lo, f.Hi = whole.Lo, whole.Hi
		if r.Focus == target {
			f.Target = whole
		} else {
			a.widen(&f.Target, target, c.Pair.Delta(target, 0.95).Change)
		}
	}
	// What was measured differently is asked about before anything else, but for what moves no request's time.
	var aside []Finding
	for _, f := range c.measurements() {
		if f.Explains > 0 || c.Verdict.Outcome == NotComparable {
			r.Findings = append(r.Findings, f)
		} else {
			aside = append(aside, f)
		}
	}
	r.Findings = slices.Concat(r.Findings, found, aside)
	r.Left = a.left(found, sign, r.Focus)
	r.Unexplained = r.Left
	if r.Focus != target {
		r.Unexplained = a.left(found, sign, target)
	}
	if r.Mix = a.mixSplit; r.Mix == nil {
		var worst *Attribute
		for _, at := range a.attributes {
			if key := c.Reading.Dict.String(at.Key); at.P <= mixP && !Consequence(key) && !Deployed(key) && len(at.Values) > 1 && (worst == nil || at.Distance() > worst.Distance()) {
				worst = at
			}
		}
		if worst != nil {
			r.Mix = a.splitBy(worst, nil, target)
		}
	} else if r.Focus != target {
		for _, at := range a.attributes {
			if at.Key == r.Mix.Key {
				r.Mix = a.splitBy(at, a.mixWithin, target)
			}
		}
	}
	return r
}

// atTarget is what a finding's replay does to the target quantile.
func (a *Asking) atTarget(f *Finding, target float64, replayed []int64, w, replayedW []float64, sign float64) Effect {
	if target == a.Options.Quantile {
		return Effect{f.Explains, f.Lo, f.Hi}
	}
	ns, lo, hi := a.effectAt(target, replayed, w, replayedW)
	if sign < 0 {
		ns, lo, hi = -ns, -hi, -lo
	}
	return Effect{ns, lo, hi}
}

// widen adds to the interval of a finding's effect on quantile q what the baseline leaves open: a replay puts requests
// back to where the baseline's quantile was seen, and that is a draw as well. A finding has the part of it that it has of
// the change.
func (a *Asking) widen(f *Effect, q, change float64) {
	at := a.base().Sample.Quantile(q)
	iv := a.base().Sample.Interval(q, 0.95)
	part := min(1, math.Abs(f.NS)/math.Abs(change))
	off := part * min(at-iv.Lo, iv.Hi-at) // the nearer end: the other is as far as the slowest requests happen to lie
	if math.IsInf(off, 0) || math.IsNaN(off) {
		return
	}
	f.Hi = f.NS + math.Hypot(f.Hi-f.NS, off)
	f.Lo = f.NS - math.Hypot(f.NS-f.Lo, off)
}

// doubtChance marks the findings whose own lengths cannot be told from draws of the same lengths: of a heavy tail the
// longest few differ between any two sets, and put back by rank they seem to explain what something else did. All that were
// asked about, of lengths that many, are one family, also those that explain nothing: that something of so much does is what chance brings.
// Where it is requests of one kind that are longer, and they are few, they are asked by themselves.
func (a *Asking) doubtChance(found []Finding, many int) {
	var p []float64
	var tested []*Finding
	for i := range found {
		if f := &found[i]; f.lengths != nil {
			x, ok := a.chance(f.lengths)
			if !ok {
				x = 0 // one set has none: nothing to compare with
			}
			p, tested = append(p, x), append(tested, f)
		}
	}
	for len(p) < many {
		p = append(p, 1)
	}
	asked := false
	for i, q := range stats.BenjaminiHochberg(p)[:len(tested)] {
		if q > a.Options.Alpha {
			p[i], asked = min(p[i], a.chanceOfKinds(tested[i].lengths)), true
		}
	}
	if !asked {
		return
	}
	for i, q := range stats.BenjaminiHochberg(p)[:len(tested)] {
		f := tested[i]
		if f.byChance = q > a.Options.Alpha; f.byChance {
			f.Doubtful = true
			f.Warnings = append(f.Warnings, fmt.Sprintf("what it says became longer differs between the sets no more than draws of the same would (p %.2g)", q))
		}
	}
}

// chance is the p-value of the difference between the sets in a length that requests have; not ok where one set has none.
func (a *Asking) chance(of func(side, j int) (ns int64, ok bool)) (p float64, ok bool) {
	var samples [2]*stats.Sample
	for i, s := range a.Sides {
		var err error
		samples[i], err = a.sample(s, func(j int) (int64, float64, bool) {
			ns, ok := of(i, j)
			w := float64(s.Counted[j].Weight) / graph.OneRequest
			if i == summary.Current {
				w = a.weights[j]
			}
			return max(ns, 0), w, ok
		})
		if err != nil || samples[i].N() == 0 {
			return 0, false
		}
	}
	return stats.NewPair(samples[0], samples[1], a.Options).Test().P, true
}

// chanceOfKinds is the least p-value of a length among the requests of one kind, by any attribute with few values that is no
// consequence, for the number of such kinds.
func (a *Asking) chanceOfKinds(of func(side, j int) (ns int64, ok bool)) float64 {
	least, kinds := 1.0, 0
	for _, at := range a.attributes {
		if key := a.Reading.Dict.String(at.Key); Consequence(key) || Deployed(key) || len(at.Values) < 2 || len(at.Values) > maxWithin {
			continue
		}
		for k := range at.Values {
			p, ok := a.chance(func(side, j int) (int64, bool) {
				ns, ok := of(side, j)
				return ns, ok && at.of[side][j] == k
			})
			if ok {
				kinds++
				least = min(least, p)
			}
		}
	}
	return min(1, least*float64(max(kinds, 1)))
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

// left is how far quantile q of the current set stays from the baseline's when all findings are put back in one replay,
// in the direction of sign.
func (a *Asking) left(found []Finding, sign, q float64) Effect {
	plans := a.plans
	var factors []Factor
	for _, f := range once(found, nil) {
		if f.Plans != nil {
			plans = make([]*graph.Plan, len(a.plans))
			for j := range plans {
				plans[j] = f.Plans(j)
			}
		}
		factors = append(factors, f.Factor)
	}
	var e graph.Evaluator
	var values []int64
	replayed, err := a.sample(a.Sides[summary.Current], func(j int) (int64, float64, bool) {
		values = plans[j].Values(values)
		for _, f := range factors {
			f(j, plans[j], values)
		}
		return max(e.Latency(plans[j], values, nil), 0), a.weights[j], true
	})
	if err != nil || replayed.N() == 0 {
		return Effect{math.NaN(), math.NaN(), math.NaN()}
	}
	d := stats.NewPair(a.base().Sample, replayed, a.Options).Delta(q, 0.95)
	if sign < 0 {
		return Effect{-d.Change, -d.Interval.Hi, -d.Interval.Lo}
	}
	return Effect{d.Change, d.Interval.Lo, d.Interval.Hi}
}

// order ranks findings by what they explain. Those that explain the same
// milliseconds, within sameTime, are ordered by precedence; a consequence goes
// below its cause. What may be chance comes after all that is not.
func order(found []Finding) {
	chance := func(f *Finding) int {
		if f.byChance {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(found, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(chance(&x), chance(&y)), cmp.Compare(y.Explains, x.Explains), cmp.Compare(precedence(x.Kind), precedence(y.Kind)), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Operation, y.Operation), cmp.Compare(x.Peer, y.Peer))
	})
	// Groups of the same milliseconds, each headed by its largest.
	for from := 0; from < len(found); {
		to := from + 1
		for to < len(found) && found[to].byChance == found[from].byChance && found[to].Explains >= (1-sameTime)*found[from].Explains {
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
			if found[j].byChance == found[i].byChance && found[j].Explains >= minCause*found[i].Explains && found[i].Below(&found[j]) {
				last = j
			}
		}
		if last >= 0 {
			f := found[i]
			f.Below, f.after = nil, true
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
	decided := f.Check.Ran && !f.Check.Against && !f.Open && len(f.Warnings) == 0
	switch {
	case f.Lo <= 0 || f.Doubtful || f.Check.Ran && f.Check.Against || share > maxOver:
		return Weak
	case share >= strongShare && decided:
		return Strong
	case share >= moderateShare:
		return Moderate
	}
	return Weak
}
