package main

import (
	"fmt"

	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "stats-verdict",
		about: `
The share of unchanged endpoints that are called no-regression, by their number of requests a side; the others are
nearly all cannot-tell. Loads as in stats-null.`,
		version: stats.Version,
		runs:    400,
		run:     statsVerdict,
	})
}

func statsVerdict(seed uint64, runs int) []cell {
	var cells []cell
	measure := func(name string, l load, t target) {
		c := cell{name: name, runs: wanted(runs, name), target: t}
		g := generator(seed, name)
		for range c.runs {
			p := pair(g, l, l, unchanged)
			test := p.Test()
			if p.Verdict(test, test.P <= stats.Defaults().Alpha).Outcome == stats.NoRegression {
				c.hits++
			}
		}
		cells = append(cells, c)
	}
	for _, n := range []int{400, 1000, 4000} {
		for _, sigma := range []float64{0.5, 0.7, 1} {
			t := target{}
			if n >= 4000 {
				t = atLeast(0.9)
			}
			l := load{n: n, sigma: sigma}
			measure(fmt.Sprintf("n %d, σ %g, no times", n, sigma), l, t)
			l.phi = 0.5
			measure(fmt.Sprintf("n %d, σ %g, φ 0.5, T = 32 τ", n, sigma), l.over(32), target{})
		}
	}
	return cells
}
