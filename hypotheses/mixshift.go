package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

var mixShift = Cause{
	Doc: Doc{
		Kind:     "mix-shift",
		Title:    "other requests, not slower ones",
		Claim:    "The share of a kind of request that was always slow rose; within each kind nothing changed.",
		Supports: "An attribute's shares differ between the sets, its slow value became more frequent, and current requests with the baseline's shares have the baseline's tail.",
		Refutes:  "Within a kind requests are slower; or the attribute is a consequence of slowness, such as a status or a retry count.",
		Mimics:   "load and queues slow all kinds; a hot key slows one partition and with it its own kind; consequences correlate with slowness without causing it.",
		Emit:     "the attribute that tells kinds apart (tenant tier, size class, endpoint variant) on entry spans.",
	},
	find: func(a *Asking) []Finding {
		change := a.Pair.Delta(a.Options.Quantile, 0.95).Change
		if f, ok := a.mix(change, a.Options.Quantile); ok {
			return []Finding{f}
		}
		return nil
	},
}

// mix is the change of mix that explains most, with the waits that it brings; not ok if none is worth telling. What is
// asked after it is asked of requests with the baseline's mix.
func (a *Asking) mix(change, target float64) (best Finding, ok bool) {
	plain := a.weights
	var arrivals map[*queue][2]float64
	for _, at := range a.attributes {
		f, fits := a.mixFinding(at)
		if !fits {
			continue
		}
		was := a.byMix(f.Weights)
		now := map[*queue][2]float64{}
		a.reweigh(f.Weights)
		var factors []Factor
		for _, b := range a.queues() {
			now[b] = [2]float64{b.arrivals, b.mix}
			if b.mix > minFilled {
				if f.fills == nil {
					f.fills = map[*queue]float64{}
				}
				f.fills[b] = b.mix
				factors = append(factors, a.waitBack(b, b.mix))
				f.Evidence = append(f.Evidence, says("spans", b.calls, "these requests make more calls of %s: they bring %.0f %% of the rise of the wait before it", a.operation(b), 100*b.mix))
			}
		}
		f.Factor = func(j int, p *graph.Plan, values []int64) {
			for _, g := range factors {
				g(j, p, values)
			}
		}
		replayed := a.latency
		if len(factors) > 0 {
			replayed = a.replay(f.Factor)
			f.Explains, f.Lo, f.Hi = a.effect(replayed, plain, f.Weights)
		}
		f.Target = a.atTarget(f, target, replayed, plain, f.Weights, 1)
		a.reweigh(plain)
		for b, x := range was {
			b.arrivals, b.mix = x[0], x[1]
		}
		if tail := tailAt(a.Options.Quantile, a.latency, f.Weights); tail < noTail && !a.mixBelow(f, replayed, tail) {
			if f.Explains > minExplains && f.untold != "" {
				a.untold = append(a.untold, f.untold)
			}
			continue
		}
		if a.worth(f.Explains, change) && (!ok || f.moreOfMix(&best)) {
			best, ok, arrivals = *f, true, now
		}
	}
	if !ok {
		return best, false
	}
	lo, hi := best.Lo, best.Hi
	a.separate(&best)
	if best.fills != nil { // the interval is that of the replay, waits and all
		best.Lo, best.Hi = lo, hi
	}
	a.weights, a.changed = best.Weights, nil
	for b, x := range arrivals {
		b.arrivals, b.mix = x[0], x[1]
	}
	return best, true
}

// doubtMix says of work that is longer that a change of mix may be all there is to it, where one is certain that would move
// the quantile and too few requests tell what is left without it.
func (a *Asking) doubtMix(found []Finding) {
	if len(a.untold) == 0 {
		return
	}
	for i := range found {
		if f := &found[i]; f.own {
			f.Doubtful = true
			f.Warnings = append(f.Warnings, a.untold[0]+": whether they do not just bring longer work with them cannot be told from so few")
		}
	}
}

// moreOfMix reports whether a change of mix explains more than another. Two attributes that split each other's values explain
// the same: then that one does which explains more without the other.
func (f *Finding) moreOfMix(g *Finding) bool {
	if math.Abs(f.Explains-g.Explains) <= sameTime*max(f.Explains, g.Explains) {
		return f.alone > g.alone
	}
	return f.Explains > g.Explains
}

const (
	// maxOneSided is the share of the requests whose value the other side does not know up to which shares can be compared.
	maxOneSided = 0.5
	// mixP is the false discovery rate at which an attribute's shares differ.
	mixP = 0.05
	// noTail is how many independent requests must lie in the reweighted tail for
	// any answer.
	noTail = 5
	// mostSpared is how much of a tail of fewer the weights must spare.
	mostSpared = 0.5
)

// mixFinding is the effect of an attribute's shares: the current requests with
// the baseline's.
func (a *Asking) mixFinding(at *Attribute) (*Finding, bool) {
	d := a.Reading.Dict
	key := d.String(at.Key)
	if at.P > mixP || Consequence(key) || Deployed(key) || len(at.Values) < 2 || at.OneSided > maxOneSided {
		return nil, false
	}
	ratio := make([]float64, len(at.Values))
	for i, v := range at.Values {
		ratio[i] = 1
		if v.BaseN > 0 && v.CurN > 0 {
			ratio[i] = v.Base / v.Cur
		}
	}
	w := make([]float64, len(a.plans))
	for j := range w {
		w[j] = a.weights[j]
		if v := at.of[summary.Current][j]; v >= 0 {
			w[j] *= ratio[v]
		}
	}
	f := &Finding{Kind: "mix-shift", Attribute: key, Weights: w}
	// The value whose requests became more and are slow.
	values := slices.Clone(at.Values)
	slices.SortFunc(values, func(x, y ValueShare) int {
		gain := func(v ValueShare) float64 {
			if math.IsNaN(v.Effect) || v.Cur <= v.Base {
				return math.Inf(-1)
			}
			return (v.Cur - v.Base) * v.Effect
		}
		return cmp.Or(cmp.Compare(gain(y), gain(x)), strings.Compare(d.String(x.Value), d.String(y.Value)))
	})
	v := values[0]
	f.Value = d.String(v.Value)
	f.alone, _, _ = a.effect(a.latency, a.weights, w)
	f.within = a.within(at, v)
	if in := f.within; in != nil {
		for j := range w {
			if k := at.of[summary.Current][j]; k >= 0 && at.Values[k].Value == v.Value {
				w[j] = a.weights[j] * in.ratio(j)
			}
		}
	}
	f.Explains, f.Lo, f.Hi = a.effect(a.latency, a.weights, w)
	f.Service, f.Operation = "", ""
	f.Claim = prose.Sprintf("requests with %s=%s, which are slow in both sets, became %.3g %% of all where they were %.3g %%", key, f.Value, 100*v.Cur, 100*v.Base)

	if v.Effect > 0 && v.Cur-v.Base > 1-a.Options.Quantile {
		f.untold = prose.Sprintf("requests with %s=%s, which are slow, became %.3g %% of all where they were %.3g %%", key, f.Value, 100*v.Cur, 100*v.Base)
	}
	if v.BaseN < 10 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("the value is that of %d of the baseline's requests: its share then is uncertain", v.BaseN))
	}
	f.Evidence = append(f.Evidence,
		numbers("spans", v.BaseN+v.CurN, "share", v.Base, v.Cur, fmt.Sprintf("requests with %s=%s", key, f.Value)),
		says("spans", len(a.plans), "odds ratio %.3g [%.3g, %.3g], %s over all keys", v.Odds, v.OddsLo, v.OddsHi, prose.PValue(at.P)),
	)
	if in := f.within; in != nil {
		x := in.at.Values[in.most]
		f.Evidence = append(f.Evidence, numbers("spans", in.n, "share", in.share[0][in.most], in.share[1][in.most], fmt.Sprintf("of these, requests with %s=%s", d.String(in.at.Key), d.String(x.Value))))
	}
	check := ""
	for _, x := range at.Values[:min(len(at.Values), 4)] {
		name, in := d.String(x.Value), f.within
		if x.Value != v.Value {
			in = nil
		}
		if in != nil {
			name += fmt.Sprintf(" with %s=%s", d.String(in.at.Key), d.String(in.at.Values[in.most].Value))
		}
		was, is := a.latencies(summary.Baseline, at, x, in), a.latencies(summary.Current, at, x, in)
		if len(was.ns) == 0 || len(is.ns) == 0 {
			continue
		}
		q := a.Options.Quantile
		f.Evidence = append(f.Evidence, numbers("spans", len(is.ns), "ms", was.at(q)/1e6, is.at(q)/1e6, fmt.Sprintf("p%g of %s=%s", 100*q, key, name)))
		check += fmt.Sprintf("%s%s %s → %s", map[bool]string{true: ", "}[check != ""], name, prose.Ns(was.at(q)), prose.Ns(is.at(q)))
	}
	f.Check = Check{
		Question: fmt.Sprintf("within each %s, is p%g as it was?", key, 100*a.Options.Quantile),
		Rival:    "service-time: requests of the same kind are slower",
		IfThis:   "yes: only the shares differ",
		IfRival:  "no: it rose at fixed shares",
		Ran:      true,
		Outcome:  check,
	}
	if at.OneSided > 0 {
		f.Against = append(f.Against, says("spans", 0, "%.3g %% of the current requests have a value that the baseline lacks: they are not reweighted", 100*at.OneSided))
	}
	return f, true
}

// tailAt is how many independent requests lie beyond a quantile of latencies under weights.
func tailAt(q float64, latency []int64, w []float64) float64 {
	cf := stats.Quantile(latency, w, q)
	var sum, squares float64
	for j, ns := range latency {
		if ns >= cf {
			sum += w[j]
			squares += w[j] * w[j]
		}
	}
	return sum * sum / squares
}

// mixBelow reports whether a change of mix of which too few requests in the tail tell is told by more of them below it: of
// a few hundred requests no weights leave noTail beyond p99. The weights must spare most of the tail that there is, and at
// the next quantile at which enough are left the mix, with the waits that it brings, must have most of the change as well.
// Such a finding is weak.
func (a *Asking) mixBelow(f *Finding, replayed []int64, tail float64) bool {
	q := a.Options.Quantile
	if tail < mostSpared*tailAt(q, a.latency, a.weights) {
		return false
	}
	for q > 0.5 && tailAt(q, a.latency, f.Weights) < noTail {
		q = 1 - 2*(1-q)
	}
	if q <= 0.5 {
		return false
	}
	explains, lo, _ := a.effectAt(q, replayed, a.weights, f.Weights)
	change := a.Pair.Delta(q, 0.95).Change
	if lo <= 0 || explains < minExplains || explains < minCause*change {
		return false
	}
	f.Doubtful = true
	f.Evidence = append(f.Evidence, numbers("spans", len(a.plans), "ms", math.NaN(), explains/1e6, prose.Sprintf("of p%.3g, beyond which enough requests lie, and which rose by %s, goes with the shares", 100*q, prose.Ns(change))))
	f.Warnings = append(f.Warnings, prose.Sprintf("beyond p%g the reweighted tail rests on %.2g requests", 100*a.Options.Quantile, tail))
	return true
}

// A within is the mix of another attribute among the requests with one value of an attribute, where it changed, too: a
// tenant that comes more often may come for other things.
type within struct {
	value int        // the index of that value
	at    *Attribute // the other attribute
	share [2][]float64
	most  int     // of its values, the one whose share rose most
	n     int     // requests
	whole float64 // by what the share of them all changed: baseline over current
}

// within finds the attribute whose shares differ most clearly among the requests with a value of another; nil if none do
// beyond chance.
func (a *Asking) within(of *Attribute, v ValueShare) *within {
	value := slices.IndexFunc(of.Values, func(x ValueShare) bool { return x.Value == v.Value })
	var best *within
	least := mixP
	for _, at := range a.attributes {
		if key := a.Reading.Dict.String(at.Key); at == of || Consequence(key) || Deployed(key) || len(at.Values) < 2 || len(at.Values) > maxWithin {
			continue
		}
		x := &within{value: value, at: at, whole: 1}
		var n [2]int
		var count [2][]int
		for i, s := range a.Sides {
			x.share[i], count[i] = make([]float64, len(at.Values)), make([]int, len(at.Values))
			var sum float64
			for j := range s.Counted {
				if k := at.of[i][j]; of.of[i][j] == value && k >= 0 {
					w := float64(s.Counted[j].Weight) / graph.OneRequest
					n[i]++
					count[i][k]++
					x.share[i][k] += w
					sum += w
				}
			}
			for k := range x.share[i] {
				x.share[i][k] /= max(sum, 1)
			}
		}
		if v.Cur > 0 {
			x.whole = v.Base / v.Cur
		}
		x.n = n[0] + n[1]
		rose := 0.0
		p := 1.0
		for k := range at.Values {
			p = min(p, stats.FisherTwoSided(count[0][k], n[0], count[1][k], n[1])*float64(len(at.Values)*len(a.attributes)))
			if r := x.share[1][k] - x.share[0][k]; r > rose {
				rose, x.most = r, k
			}
		}
		if p < least {
			best, least = x, p
		}
	}
	return best
}

// maxWithin is how many values an attribute may have to split the requests of one value of another.
const maxWithin = 16

// ratio is the weight that a current request with the value has with the baseline's shares of both.
func (x *within) ratio(j int) float64 {
	k := x.at.of[summary.Current][j]
	if k < 0 || x.share[0][k] == 0 || x.share[1][k] == 0 {
		return x.whole
	}
	return x.whole * x.share[0][k] / x.share[1][k]
}

// A MixSplit is the change of the target quantile in two parts: other shares of the
// values of a key, and other latencies at fixed shares.
type MixSplit struct {
	Key trace.StringID
	stats.Mix
}

// splitBy splits the change of a quantile by an attribute. Requests without it are a kind, too. Those with one value may be
// split further, by another attribute.
func (a *Asking) splitBy(at *Attribute, within *within, quantile float64) *MixSplit {
	class := func(side int) func(int) int {
		return func(j int) int {
			if k := at.of[side][j]; within == nil || k != within.value {
				return k + 1
			}
			return len(at.Values) + 1 + within.at.of[side][j] + 1
		}
	}
	return &MixSplit{at.Key, a.Pair.Mix(quantile, 0.95, class(summary.Baseline), class(summary.Current))}
}

// separate says how far the mix that a finding blames can be told from slower
// requests: both orders of putting back, on how much each rests, and its interval.
func (a *Asking) separate(f *Finding) {
	for _, at := range a.attributes {
		if a.Reading.Dict.String(at.Key) != f.Attribute {
			continue
		}
		m := a.splitBy(at, f.within, a.Options.Quantile)
		a.mixSplit, a.mixWithin = m, f.within
		for _, o := range []struct {
			stats.Split
			order stats.Order
			name  string
		}{{m.CurrentOrder, stats.CurrentOrder, "the current requests with the baseline's shares"}, {m.BaselineOrder, stats.BaselineOrder, "the baseline's requests with the current shares"}} {
			lead := ""
			if m.Lead == o.order {
				lead = ", the order that leads,"
			}
			e := says("spans", int(math.Round(o.TailN)), "%s%s have p%g at %s: %s from other shares, %s from other latencies at the same shares (%.0f independent requests beyond it)",
				o.name, lead, 100*a.Options.Quantile, prose.Ns(o.Counterfactual), prose.Ns(o.Mix), prose.Ns(o.Behaviour), o.TailN)
			if m.Lead == o.order && o.Mix < minExplains {
				f.Against = append(f.Against, e)
				f.Doubtful = true
				f.Warnings = append(f.Warnings, "the order of putting back that rests on more requests finds no change from the mix")
				continue
			}
			f.Evidence = append(f.Evidence, e)
		}
		tail := max(m.CurrentOrder.TailN, m.BaselineOrder.TailN)
		switch m.Strength {
		case stats.Inseparable:
			f.Doubtful = true
			f.Warnings = append(f.Warnings, fmt.Sprintf("cannot separate mix from slower requests: the reweighted tail rests on %.0f requests", tail))
		case stats.Weak:
			f.Warnings = append(f.Warnings, fmt.Sprintf("the reweighted tail rests on %.0f requests: weak", tail))
		}
		if iv := m.CurrentOrder.MixInterval; iv.Closed() {
			f.Lo, f.Hi = min(f.Lo, iv.Lo), max(f.Hi, iv.Hi)
		}
		return
	}
}

// latencies is those of a side's requests with a value, and of these with the one that became more frequent in it, if in is not nil.
func (a *Asking) latencies(side int, at *Attribute, v ValueShare, in *within) *part {
	p := &part{}
	for j, q := range a.Sides[side].Counted {
		if k := at.of[side][j]; k >= 0 && at.Values[k].Value == v.Value && (in == nil || in.at.of[side][j] == in.most) {
			p.ns = append(p.ns, q.Duration())
			p.w = append(p.w, float64(q.Weight)/(1<<20))
		}
	}
	return p
}
