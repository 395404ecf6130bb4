package hypotheses

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tailscope/tailscope/stats"
)

// shop draws requests that wait for a price; one in thirty is an export, which is slow for a reason of its own.
func shop(price, export float64) func(rng *rand.Rand, t, at float64) string {
	ms := func(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
	return func(rng *rand.Rand, _, at float64) string {
		p := latency(rng, price)
		x := 0.0
		if rng.Float64() < 1.0/30 {
			x = export * math.Exp(rng.NormFloat64())
		}
		end := at + p + x + 10
		text := "api GET_/x " + ms(at) + ".." + ms(end) + "ms server\n  prices GET_/price " + ms(at+5) + ".." + ms(at+5+p) + "ms\n"
		if x > 0 {
			text += "  exports GET_/export " + ms(at+5+p) + ".." + ms(at+5+p+x) + "ms\n"
		}
		return text
	}
}

func TestCausesAreAskedAboutTheQuantileThatShowsTheChange(t *testing.T) {
	draw := func(seed uint64, price, export float64) string {
		return over(seed, 1500, 120, even, shop(price, export))
	}
	c, r := compared(t, draw(1, 40, 300), draw(2, 52, 300))
	if c.Verdict.Outcome != stats.Regression {
		t.Fatalf("verdict %s", c.Verdict.Outcome)
	}
	if r.Focus >= 0.99 || r.Focus < 0.9 {
		t.Errorf("focus %g: exports alone make p99, and near it nothing else shows", r.Focus)
	}
	f := first(t, r)
	if f.Kind != "service-time" || f.Service != "prices" || f.Strength != Moderate {
		t.Errorf("first: %s %s, %s", f.Kind, f.Service, f.Strength)
	}
	d := c.Pair.Delta(r.Focus, 0.95)
	if !near(f.Explains, d.Change, 0.3) || f.Target.NS == f.Explains {
		t.Errorf("explains %.0f ns of %.0f ns at the focus, %.0f ns at the target", f.Explains, d.Change, f.Target.NS)
	}
	if r.Left.NS > d.Change/2 || r.Left.Lo > 0 || r.Left.Hi < 0 || math.IsNaN(r.Unexplained.NS) {
		t.Errorf("left %.0f ns, unexplained %.0f ns", r.Left, r.Unexplained)
	}

	// The look-alike: the slowest requests became slower, which the target itself shows.
	c, r = compared(t, draw(1, 40, 300), draw(2, 40, 1500))
	f = first(t, r)
	if c.Verdict.Outcome != stats.Regression || r.Focus != 0.99 || f.Service != "exports" || f.Target != (Effect{f.Explains, f.Lo, f.Hi}) || r.Left != r.Unexplained {
		t.Errorf("verdict %s, focus %g, first %s %s", c.Verdict.Outcome, r.Focus, f.Kind, f.Service)
	}

	// What became faster is asked about in the same way.
	if c, r = compared(t, draw(1, 52, 300), draw(2, 40, 300)); c.Verdict.Outcome != stats.Improvement || r.Focus >= 0.99 || first(t, r).Explains <= 0 {
		t.Errorf("verdict %s, focus %g", c.Verdict.Outcome, r.Focus)
	}
	// Where nothing is shown, the target stands.
	if c, r = compared(t, draw(1, 40, 300), draw(3, 40, 300)); r.Focus != 0.99 {
		t.Errorf("verdict %s, focus %g", c.Verdict.Outcome, r.Focus)
	}
}
