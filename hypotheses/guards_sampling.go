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
	"github.com/tailscope/tailscope/trace"
)

const (
	// maxRate is the factor between the sampling rates of the sides from which on
	// it is told.
	maxRate = 1.25
	// minCoverage and maxCoverage bound the requests that the traces stand for over
	// those that the metrics counted in as long a time.
	minCoverage, maxCoverage = 0.8, 1.25
	// biased is the factor between the share of slow requests in the traces and in
	// the metrics from which on the traces are a biased sample.
	biased = 1.4
	// minMetered is the least number of requests that metrics must have counted.
	minMetered = 50
)

// A coverage holds a side's traces against its request-duration metrics.
type coverage struct {
	traced  float64 // requests that the traces stand for
	counted float64 // by the metrics
	ratio   float64

	// Where the two disagree most: requests above so many ns.
	above          float64
	inTraces       float64 // shares
	inMetricsLo    float64
	inMetricsHi    float64
	biased         bool
	p99Lo, p99Hi   float64 // ms, by the metrics
	found, looked  int     // exemplars whose traces were kept, of all
	tracedQuantile float64
}

// cover compares a side's requests with what metrics counted of them.
func (c *Comparison) cover(s *Side, d *metric.Durations, kept map[trace.TraceID]bool) *coverage {
	if d == nil || d.Total.Count < minMetered {
		return nil
	}
	var p part
	var squares float64
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, q := range s.All {
		if q.Standing == graph.Stream {
			continue
		}
		first, last = min(first, int64(q.Start())), max(last, int64(q.Start()))
		w := float64(q.Weight) / graph.OneRequest
		p.ns, p.w = append(p.ns, q.Duration()), append(p.w, w)
		squares += w * w
	}
	v := &coverage{counted: float64(d.Total.Count)}
	for _, w := range p.w {
		v.traced += w
	}
	if v.traced == 0 {
		return nil
	}
	// Metrics that are exported every so often count beyond both ends of a short window.
	v.ratio = v.traced / v.counted
	if lasts := float64(last-first) / 1e9; lasts > 0 && d.Seconds > lasts {
		v.ratio *= d.Seconds / lasts
	}
	v.p99Lo, v.p99Hi = d.Total.Quantile(c.Options.Quantile)
	v.tracedQuantile = p.at(c.Options.Quantile)
	for _, e := range d.Exemplars {
		if e.TraceID != (trace.TraceID{}) {
			v.looked++
			if kept[e.TraceID] {
				v.found++
			}
		}
	}
	n := v.traced * v.traced / squares
	var bounds []float64
	for _, b := range d.Total.Buckets {
		if b.N > 0 && !math.IsInf(b.Hi, 0) {
			bounds = append(bounds, b.Hi)
		}
	}
	slices.Sort(bounds)
	worst := 1.0
	for _, x := range slices.Compact(bounds) {
		lo, hi := d.Total.Above(x)
		l, h := float64(lo)/v.counted, float64(hi)/v.counted
		if h < 0.002 || l > 0.9 {
			continue // too few to say, or nearly all
		}
		var above float64
		for i, ns := range p.ns {
			if float64(ns) > x*1e6 {
				above += p.w[i]
			}
		}
		share := above / v.traced
		// By how much the share in the traces misses the metrics', and whether chance
		// and the edges of the windows could do it.
		ratio := 1.0
		iv := stats.Wilson(share*n, n, 0.9999)
		switch {
		case iv.Lo > h && h > 0:
			ratio = share / h
		case iv.Hi < l:
			ratio = l / max(share, 0.5/n)
		}
		if ratio > worst {
			worst = ratio
			v.above, v.inTraces, v.inMetricsLo, v.inMetricsHi = x*1e6, share, l, h
		}
	}
	v.biased = worst > biased
	return v
}

// samplingGuard: do the traces stand for the requests, and in the same way on
// both sides?
func (c *Comparison) samplingGuard(t *Telemetry) Guard {
	var rate [2]float64 // sampled share, by the traces' own word
	var cov [2]*coverage
	for i, s := range c.Sides {
		var n, w float64
		for _, q := range s.All {
			n += s.Set.Stands(q.Record) // what tailscope kept of them is no sampling of the traces
			w += float64(q.Weight) / graph.OneRequest
		}
		rate[i] = n / w
		if t != nil {
			cov[i] = c.cover(s, t.Durations[i], t.Kept[i])
		}
	}
	if g, ok := c.stratifiedGuard(t); ok {
		return g
	}
	if g, ok := c.meteredGuard(rate, cov); ok {
		return g
	}
	if g, ok := c.tailGuard(cov); ok {
		return g
	}
	for i, s := range c.Sides {
		if n := s.Set.Counts.Defects[trace.UnknownWeight].N; n > 0 {
			return guard(GuardSampling, GuardWarn, "%d spans of the %s side were sampled with a probability that they do not tell; they count as one request each", n, sideName(i))
		}
	}
	if r := rate[1] / rate[0]; r > maxRate || r < 1/maxRate {
		return guard(GuardSampling, GuardWarn, "the traces say that %s of the baseline's requests were sampled and %s of the current ones; both are weighted, with an effective n of %.0f and %.0f", prose.Percent(rate[0]), prose.Percent(rate[1]),
			c.Pair.Base.EffectiveN(c.Options.Quantile), c.Pair.Cur.EffectiveN(c.Options.Quantile))
	}
	g := guard(GuardSampling, GuardOK, "nothing says that a side is sampled")
	if rate[0] < 1 || rate[1] < 1 {
		g.Detail = fmt.Sprintf("%s and %s of the requests were sampled, and are weighted", prose.Percent(rate[0]), prose.Percent(rate[1]))
	}
	if cov[0] != nil && cov[1] != nil {
		g.Detail += prose.Sprintf("; the metrics counted %.0f and %.0f requests where the traces stand for %.0f and %.0f, with p%g in %s and %s",
			cov[0].counted, cov[1].counted, cov[0].traced, cov[1].traced, 100*c.Options.Quantile, cov[0].bounds(), cov[1].bounds())
		if n := cov[0].looked + cov[1].looked; n > 0 {
			g.Detail += fmt.Sprintf("; the traces of %d of %d exemplars are here", cov[0].found+cov[1].found, n)
		}
	}
	return g
}

func (v *coverage) bounds() string {
	if math.IsInf(v.p99Hi, 1) {
		return fmt.Sprintf("over %s", prose.Ns(v.p99Lo*1e6))
	}
	return fmt.Sprintf("%s … %s", prose.Ns(v.p99Lo*1e6), prose.Ns(v.p99Hi*1e6))
}

// meteredGuard holds the traces against the request-duration metrics, which
// nobody sampled.
func (c *Comparison) meteredGuard(rate [2]float64, cov [2]*coverage) (Guard, bool) {
	// The more biased side; a bias that both share is no change, but no p99 either.
	bias := func(v *coverage) float64 {
		if v == nil || !v.biased {
			return 1
		}
		lo, hi := max(v.inMetricsLo, 1e-4), max(v.inMetricsHi, 1e-4)
		return max(v.inTraces/hi, lo/max(v.inTraces, 1e-4))
	}
	for _, i := range []int{summary.Current, summary.Baseline} {
		v := cov[i]
		if v == nil || !v.biased || bias(v) < bias(cov[1-i]) {
			continue
		}
		g := guard(GuardSampling, GuardWarn, "%s of the %s traces last over %s, and by the metrics %s … %s of the requests do (p%g %s against %s): the traces are not a fair sample",
			prose.Percent(v.inTraces), sideName(i), prose.Ns(v.above), prose.Percent(v.inMetricsLo), prose.Percent(v.inMetricsHi), 100*c.Options.Quantile, prose.Ns(v.tracedQuantile), v.bounds())
		g.check = Check{Question: "do the request-duration metrics have the distribution of the traces?", Rival: "a change of latency, which the metrics would show too", IfThis: "no", IfRival: "yes", Ran: true, Outcome: g.Detail}
		if o := cov[1-i]; (o == nil || !o.biased || bias(v) > biased*bias(o)) && (v.ratio < minCoverage || v.inTraces > v.inMetricsHi) {
			g.Status, g.Incomparable = GuardFail, true
		}
		return g, true
	}
	for i, v := range cov {
		if v == nil || v.ratio >= minCoverage && v.ratio <= maxCoverage {
			continue
		}
		o := cov[1-i]
		if o != nil && v.ratio/o.ratio < maxRate && o.ratio/v.ratio < maxRate {
			continue // both alike
		}
		return guard(GuardSampling, GuardWarn, "the metrics counted %.0f requests of the %s side and its traces stand for %.0f: %s of them, by no word of the traces; their latencies agree", v.counted, sideName(i), v.traced, prose.Percent(v.ratio)), true
	}
	return Guard{}, false
}

const (
	// stepBins is into how many bins of equal pooled counts latencies are cut.
	stepBins = 20
	// maxFast is how many of the fast requests per second may be left, and maxSlow
	// how many of the slow ones there may be, of the other side's.
	maxFast, minSlow, maxSlow = 0.7, 0.65, 1.5
	// minStep is the least factor between the two.
	minStep = 1.6
	// stepFit is the most chi-squared per bin that a step may leave.
	stepFit = 2
	// maxTotal is how many of all requests per second there may be, of the other
	// side's: what became slower is not gone.
	maxTotal = 0.85
	// minStepped is the least number of requests on each side of the step in the
	// side that has all, and minBulk the least share of them below it: tail sampling
	// drops of the bulk.
	minStepped, minBulk = 20, 0.3
	// stepSure is how many standard errors the step must be high. Some twenty steps
	// are tried, on tens of endpoints.
	stepSure = 6
)

// tailGuard recognises tail sampling by its trace in the latencies: of the fast
// requests the same share is missing at all latencies, while the slow ones come
// as often per second as on the other side. A slowdown empties the fast end first
// and makes slow requests more frequent; less load makes both rarer.
func (c *Comparison) tailGuard(cov [2]*coverage) (Guard, bool) {
	var ns [2][]int64
	var seconds [2]float64
	for i, s := range c.Sides {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for _, q := range s.Counted {
			if q.Weight != graph.OneRequest {
				return Guard{}, false // they say themselves how they were chosen
			}
			ns[i] = append(ns[i], q.Duration())
			first, last = min(first, int64(q.Start())), max(last, int64(q.Start()))
		}
		if len(s.Counted) < 2*minStepped || last-first < 1e9 {
			return Guard{}, false
		}
		seconds[i] = float64(last-first) / 1e9
		slices.Sort(ns[i])
	}
	for _, side := range []int{summary.Current, summary.Baseline} {
		all := 1 - side
		cut, fast, slow, ok := step(ns[all], ns[side], seconds[all], seconds[side])
		if !ok {
			continue
		}
		g := guard(GuardSampling, GuardFail, "of the %s requests below %s there are %s as many per second as on the other side, at all latencies alike, and of those above %s as many: the traces are tail-sampled and carry no weights",
			sideName(side), prose.Ns(cut), prose.Percent(fast), prose.Percent(slow))
		g.Incomparable = true
		// Give the fast ones that are left the weight that they stand for.
		w := make([]float64, len(ns[side]))
		for i, x := range ns[side] {
			w[i] = 1
			if float64(x) <= cut && fast > 0 {
				w[i] = slow / fast
			}
		}
		q := c.Options.Quantile
		g.Explains = float64(stats.Quantile(ns[side], nil, q)) - float64(stats.Quantile(ns[side], w, q))
		if side == summary.Baseline {
			g.Explains = -g.Explains
		}
		g.check = Check{Question: "did the rate of slow requests rise?", Rival: "a slowdown of all", IfThis: "no: fast ones are missing", IfRival: "yes, by as much as the rate of fast ones fell", Ran: true,
			Outcome: fmt.Sprintf("slow ones %s, fast ones %s of the other side's rate", prose.Percent(slow), prose.Percent(fast))}
		return g, true
	}
	return Guard{}, false
}

// step looks for a latency below which the same share of requests is missing
// everywhere, and above which none is. all and some are sorted.
func step(all, some []int64, allSeconds, someSeconds float64) (cut, fast, slow float64, ok bool) {
	pooled := slices.Concat(all, some)
	slices.Sort(pooled)
	type bin struct{ a, b float64 }
	var bins []bin
	var ends []int64
	for k, i, j := 1, 0, 0; k <= stepBins; k++ {
		end := pooled[len(pooled)*k/stepBins-1]
		if len(ends) > 0 && end == ends[len(ends)-1] {
			continue
		}
		var x bin
		for ; i < len(all) && all[i] <= end; i++ {
			x.a++
		}
		for ; j < len(some) && some[j] <= end; j++ {
			x.b++
		}
		bins, ends = append(bins, x), append(ends, end)
	}
	exposure := someSeconds / allSeconds
	if float64(len(some))/float64(len(all)) > maxTotal*exposure {
		return 0, 0, 0, false
	}
	// Chi-squared of one rate for a run of bins: b of a+b, given a and b.
	fit := func(bins []bin) (chi, ratio, a, b float64) {
		for _, x := range bins {
			a, b = a+x.a, b+x.b
		}
		if a+b == 0 {
			return 0, 0, 0, 0
		}
		p := b / (a + b)
		for _, x := range bins {
			if n := x.a + x.b; p > 0 && p < 1 && n > 0 {
				chi += (x.b - n*p) * (x.b - n*p) / (n * p * (1 - p))
			}
		}
		if a > 0 {
			ratio = b / a / exposure
		} else {
			ratio = math.Inf(1)
		}
		return chi, ratio, a, b
	}
	best := math.Inf(1)
	for k := 1; k < len(bins); k++ {
		// The bin that holds the cut belongs to neither side.
		lo, hi := bins[:k], bins[min(k+1, len(bins)-1):]
		chiLo, rLo, aLo, bLo := fit(lo)
		chiHi, rHi, aHi, bHi := fit(hi)
		if aLo < minStepped || aHi < minStepped/2 || bHi < minStepped/2 || rLo > maxFast || rHi < minSlow || rHi > maxSlow || rHi < minStep*rLo ||
			aLo < minBulk*float64(len(all)) || math.Log(rHi*aLo*exposure/max(bLo, 0.5)) < stepSure*math.Sqrt(1/aLo+1/max(bLo, 0.5)+1/aHi+1/bHi) {
			continue
		}
		chi := (chiLo + chiHi) / float64(max(1, len(lo)+len(hi)-2))
		if chi < best && chi < stepFit {
			best, cut, fast, slow, ok = chi, float64(ends[k-1]), rLo, rHi, true
		}
	}
	return cut, fast, slow, ok
}
