package hypotheses

import (
	"math"

	"github.com/tailscope/tailscope/stats"
)

const measurementKind = "measurement"

var measurement = Cause{
	Doc: Doc{
		Kind:     measurementKind,
		Title:    "not the system changed, but who was measured or how",
		Claim:    "The change comes from what was measured: other requests, another sampling, another load source, another clock, other spans.",
		Supports: "A guard fails, and without what it found the change is gone or cannot be told.",
		Refutes:  "The verdict is the same without what the guard found.",
		Mimics:   "A mix-shift is a true change of who asks; a rollout renames and restarts without slowing anything; a slow dependency makes clients give up.",
		Emit:     "request-duration histograms, which nobody samples; the sampling probability in tracestate; user_agent.synthetic.type on probes.",
	},
	find: func(a *Asking) []Finding { return a.measurements() },
}

// measurements are the failed guards that explain the change, or of which no
// verdict is left; without a verdict all that failed.
func (c *Comparison) measurements() []Finding {
	outcome := c.Verdict.Outcome
	if outcome == NotComparable {
		outcome = c.Judged
	}
	change := c.Pair.Delta(c.Options.Quantile, 0.95).Change
	var out []Finding
	for i := range c.Guards {
		g := &c.Guards[i]
		if g.Status != GuardFail || !g.Incomparable && direction(outcome) != 0 {
			continue
		}
		f := Finding{Kind: measurementKind, Attribute: g.Kind, Claim: g.Detail, Explains: g.Explains, Lo: math.NaN(), Hi: math.NaN(), Check: g.check}
		if math.IsNaN(f.Explains) {
			// Nothing tells how much it is. All of the change may be.
			f.Explains = math.Abs(change)
			f.Warnings = append(f.Warnings, "what it explains cannot be told apart from the rest of the change: up to all of it")
		}
		f.Explains = math.Abs(f.Explains)
		f.Target = Effect{f.Explains, f.Lo, f.Hi}
		f.Evidence = append(f.Evidence, says("spans", c.Pair.Base.N()+c.Pair.Cur.N(), "%s", g.Detail))
		f.Strength = Moderate
		if g.Incomparable && g.check.Ran {
			f.Strength = Strong
		}
		if c.Verdict.Outcome == stats.CannotTell {
			f.Strength = Weak
		}
		out = append(out, f)
	}
	return out
}
