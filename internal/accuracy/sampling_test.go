package main

import (
	"testing"

	"github.com/tailscope/tailscope/stats"
)

// Samples by a rule that only a histogram tells of, and kept records of weighted ones, have intervals that hold the
// truth and tests that hold their level. 40 runs at 95 % miss more than 6 times once in a hundred.
func TestSampledLoadsAreCovered(t *testing.T) {
	if testing.Short() {
		t.Skip("simulations")
	}
	const runs = 40
	by := timesAll(slower)
	for _, n := range bySampling(load{n: 1000, sigma: 0.7}) {
		truth := n.load.truth(0.99, by) - n.load.truth(0.99, unchanged)
		g := generator(1, n.name)
		missed, rejected := 0, 0
		for range runs {
			if pair(g, n.load.before(), n.load, by).Delta(0.99, 0.95).Interval.Excludes(truth) {
				missed++
			}
			if pair(g, n.load.before(), n.load, unchanged).Test().P <= stats.Defaults().Alpha {
				rejected++
			}
		}
		if missed > 6 || rejected > 6 {
			t.Errorf("%s: of %d runs %d missed the truth and %d unchanged ones were rejected", n.name, runs, missed, rejected)
		}
	}
}
