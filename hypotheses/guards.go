package hypotheses

import (
	"math"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// NotComparable is the verdict of an endpoint whose sides must not be compared:
// what differs is who was measured, or how.
const NotComparable stats.Outcome = "not-comparable"

// A GuardStatus is what a guard found.
type GuardStatus string

const (
	GuardOK   GuardStatus = "ok"
	GuardWarn GuardStatus = "warn" // it differs; the comparison stands
	GuardFail GuardStatus = "fail" // it differs, and the comparison stands on it
)

// The kinds of guards, in the order in which they are asked.
const (
	GuardPopulation      = "population"
	GuardMix             = "mix"
	GuardPlacement       = "placement"
	GuardSampling        = "sampling"
	GuardOmission        = "coordinated-omission"
	GuardWarmUp          = "warm-up"
	GuardWindow          = "window"
	GuardClock           = "clock"
	GuardInstrumentation = "instrumentation"
	GuardTooFew          = "too-few"
	GuardRuns            = "runs"
)

// A Guard is one answer to "may the two sides be compared?".
type Guard struct {
	Kind   string
	Status GuardStatus
	Detail string // a sentence with its numbers

	// Incomparable reports whether the verdict must not be given.
	Incomparable bool

	// Explains is how much of the target quantile's change goes away when what
	// the guard found is taken out, in ns; NaN where it cannot be taken out.
	Explains float64

	check Check // on what the artefact and a real change predict different things
}

func guard(kind string, status GuardStatus, format string, args ...any) Guard {
	return Guard{Kind: kind, Status: status, Detail: prose.Sprintf(format, args...), Explains: math.NaN()}
}

// Telemetry is what guards need beside the requests.
type Telemetry struct {
	// Durations is, for each side, what the request-duration metrics of this
	// endpoint counted; nil without any.
	Durations [2]*metric.Durations

	// Kept is, for each side, the trace ids of all its requests, to find the
	// traces of exemplars again.
	Kept [2]map[trace.TraceID]bool
}

const (
	// sure is the p-value below which a difference of shares is not chance. Some
	// ten guards of some tens of endpoints are asked, so it is far below 0.05.
	sure = 1e-3
	// likely is the p-value for the two rules whose size alone decides: chance
	// has only to be unlikely.
	likely = 0.05
)

// Guard asks all guards about a comparison that has its verdict. The verdict
// becomes NotComparable where one of them says so.
func (c *Comparison) Guard(t *Telemetry) {
	if c.Pair == nil {
		return
	}
	c.Guards = []Guard{
		c.populationGuard(),
		c.mixGuard(),
		c.placementGuard(),
		c.samplingGuard(t),
		c.omissionGuard(),
		c.warmUpGuard(),
		c.windowGuard(),
		c.clockGuard(),
		c.instrumentationGuard(),
		c.tooFewGuard(),
		c.runsGuard(),
	}
	for i := range c.Guards {
		if c.Guards[i].Incomparable {
			c.Judged = c.Verdict.Outcome
			c.Verdict.Outcome = NotComparable
			return
		}
	}
}

// direction is +1 of a regression, −1 of an improvement, else 0.
func direction(o stats.Outcome) int {
	switch o {
	case stats.Regression:
		return 1
	case stats.Improvement:
		return -1
	}
	return 0
}

// A corrected comparison is the same one without what a guard takes out.
type corrected struct {
	direction int
	explains  float64 // of the target quantile's change, ns
	undone    bool    // the change is gone, or has turned
	shown     bool    // a change is there that was not
	most      bool    // there was no verdict of a change, and what there is goes away
}

// without compares the sides again without some requests.
func (c *Comparison) without(drop func(side int, q *summary.Request) bool) (r corrected, ok bool) {
	var samples [2]*stats.Sample
	for i, s := range c.Sides {
		sample, err := sampleOf(s.Counted, c.Options.Seed, func(q *summary.Request) bool { return !drop(i, q) })
		if err != nil || sample.N() == 0 {
			return r, false
		}
		samples[i] = sample
	}
	p := stats.NewPair(samples[0], samples[1], c.Options)
	t := p.Test()
	r.direction = direction(p.Verdict(t, t.P <= c.Options.Alpha).Outcome)
	change := func(p *stats.Pair, q float64) float64 { return p.Cur.Quantile(q) - p.Base.Quantile(q) }
	target := c.Options.Quantile
	r.explains = change(c.Pair, target) - change(p, target)
	// Fewer requests reject less: that a change no longer rejects says little. It
	// is gone if most of it is, where the verdict saw it.
	at := target
	if c.Test.Basis >= 0 {
		at = c.Test.Members[c.Test.Basis].Quantile
	}
	was := direction(c.Verdict.Outcome)
	before, after := change(c.Pair, at), change(p, at)
	r.undone = was != 0 && r.direction != was && math.Abs(after) < math.Abs(before)/2 || was != 0 && r.direction == -was
	// Where nothing was seen, the rest is one of many that could be looked at.
	r.shown = was == 0 && r.direction != 0 && t.P <= sure
	all := change(c.Pair, target)
	r.most = was == 0 && c.Verdict.Outcome != stats.NoRegression && math.Abs(r.explains) >= minExplains && r.explains*all > 0 && math.Abs(r.explains) >= math.Abs(all)/2
	return r, true
}

// sampleOf is the latencies of those requests that are kept.
func sampleOf(of []*summary.Request, seed uint64, keep func(*summary.Request) bool) (*stats.Sample, error) {
	cols := stats.Requests{Seed: seed}
	weighted := false
	for _, q := range of {
		if !keep(q) {
			continue
		}
		cols.Latency = append(cols.Latency, q.Duration())
		cols.Weight = append(cols.Weight, float64(q.Weight)/graph.OneRequest)
		cols.Second = append(cols.Second, floorSecond(int64(q.Start())))
		cols.Run = append(cols.Run, int(q.Run))
		cols.Key = append(cols.Key, Key(q.Record))
		weighted = weighted || q.Weight != graph.OneRequest
	}
	if !weighted {
		cols.Weight = nil
	}
	return stats.NewSample(dense(cols))
}

// dense numbers the runs that are left without holes.
func dense(r stats.Requests) stats.Requests {
	number := map[int]int{}
	most := -1
	for _, k := range r.Run {
		most = max(most, k)
	}
	seen := make([]bool, most+1)
	for _, k := range r.Run {
		seen[k] = true
	}
	for k, there := range seen {
		if there {
			number[k] = len(number)
		}
	}
	for i, k := range r.Run {
		r.Run[i] = number[k]
	}
	return r
}

// tooFewGuard: is there enough to close the interval of the target quantile?
func (c *Comparison) tooFewGuard() Guard {
	n := c.Pair.EffectiveN(c.Options.Quantile)
	need := stats.NeededAbove(c.Options.Quantile)
	q := 100 * c.Options.Quantile
	if n < float64(need) {
		return guard(GuardTooFew, GuardWarn, "the smaller side has %.0f requests; p%g needs %d to close its interval", n, q, need)
	}
	return guard(GuardTooFew, GuardOK, "the smaller side has %.0f requests, and p%g needs %d", n, q, need)
}

// runsGuard passes on what the test says of runs.
func (c *Comparison) runsGuard() Guard {
	for _, w := range c.Test.Warnings {
		if w.Guard == GuardRuns {
			return guard(GuardRuns, GuardStatus(w.Status), "%s", w.Detail)
		}
	}
	return guard(GuardRuns, GuardOK, "%d and %d runs: the variation between runs decides", c.Pair.Base.Runs(), c.Pair.Cur.Runs())
}

func sideName(side int) string {
	if side == summary.Baseline {
		return "baseline"
	}
	return "current"
}
