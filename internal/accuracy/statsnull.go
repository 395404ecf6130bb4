package main

import (
	"slices"

	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "stats-null",
		about: `
Runs of 50 endpoints in which nothing changed: the share of runs with any endpoint called a regression, after the
false discovery rate. 1,000 requests a side; lognormal, σ 0.7, a fifth of the variance a level that all requests of a
second share and that wanders with autocorrelation φ per second, or bursts of 5 s in which everything takes three
times as long; independent: no level at all, τ = 1 s. T is the window of a side, τ = (1+φ)/(1−φ) s. Endpoints are
independent of each other, the hardest case. No target is set between 4 and 16 τ; 8 τ is held to that of 4 τ. Tail
sampled: what takes over 300 ms is kept and the rest 1 in 20, by a rule that nobody states, and a histogram of all gives the
weights.`,
		version: stats.Version,
		runs:    400,
		run:     statsNull,
	})
}

const nullEndpoints = 50

func statsNull(seed uint64, runs int) []cell {
	base := load{n: 1000, sigma: 0.7}
	var cells []cell
	for _, c := range slices.Concat(loads(base), special(base), bySampling(base)) {
		t := atMost(0.05)
		if c.taus > 0 && c.taus < 16 {
			t = atMost(0.2)
		}
		cells = append(cells, familywise(seed, runs, cell{name: c.name, target: t}, c.load))
	}
	return cells
}

// familywise counts the runs in which any endpoint is called a regression.
func familywise(seed uint64, runs int, c cell, l load) cell {
	g := generator(seed, c.name)
	c.runs = wanted(runs, c.name)
	for range c.runs {
		ps := make([]float64, nullEndpoints)
		pairs := make([]*stats.Pair, nullEndpoints)
		tests := make([]stats.Test, nullEndpoints)
		for i := range ps {
			pairs[i] = pair(g, l.before(), l, unchanged)
			tests[i] = pairs[i].Test()
			ps[i] = tests[i].P
		}
		for i, p := range stats.BenjaminiHochberg(ps) {
			// The verdict costs an interval; it can only be a regression where the endpoint is rejected.
			if p <= stats.Defaults().Alpha && pairs[i].Verdict(tests[i], true).Outcome == stats.Regression {
				c.hits++
				break
			}
		}
	}
	return c
}
