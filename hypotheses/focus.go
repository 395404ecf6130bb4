package hypotheses

import "math"

// An Effect is how much of a quantile a replay takes away, with its interval, in ns.
type Effect struct{ NS, Lo, Hi float64 }

// Focus is the quantile that causes are asked about: the target, or, where a change is shown that the target quantile
// itself does not show, the nearest one to it that does. A fast half that became slower may leave p99 to other requests,
// and of a rise of nothing nothing can be explained.
func (c *Comparison) Focus() float64 {
	target := c.Options.Quantile
	sign := float64(direction(c.Verdict.Outcome))
	if sign == 0 || c.Pair == nil || c.Test.Basis < 0 {
		return target
	}
	d := c.Pair.Delta(target, 1-c.Options.Alpha)
	if sign*d.Change > 0 && (sign > 0 && d.Interval.Lo > 0 || sign < 0 && d.Interval.Hi < 0) {
		return target
	}
	focus := 1 - c.Test.Members[c.Test.Basis].Share
	for _, m := range c.Test.Members {
		q := 1 - m.Share
		if sign*m.Moved > 0 && c.Pair.Counts(m) && math.Abs(q-target) < math.Abs(focus-target) {
			focus = q
		}
	}
	return focus
}

// shownAt is the comparison with its causes asked at the focus.
func (c *Comparison) shownAt(q float64) *Comparison {
	if q == c.Options.Quantile {
		return c
	}
	at := *c
	at.Options.Quantile = q
	return &at
}
