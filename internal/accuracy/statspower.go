package main

import (
	"fmt"

	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "stats-power",
		about: `
The share of true regressions that are called one: p99 rises by 15 %, 10,000 requests a side, one endpoint. Either all
requests become 15 % slower, or only what exceeds the baseline's p95 is stretched. With times, the load has no level
where it says independent, and one as in stats-null where it says φ.`,
		version: stats.Version,
		runs:    500,
		run:     statsPower,
	})
}

func statsPower(seed uint64, runs int) []cell {
	var cells []cell
	measure := func(name string, l load, by stretching, t target) {
		c := cell{name: name, runs: wanted(runs, name), target: t}
		g := generator(seed, name)
		for range c.runs {
			p := pair(g, l, l, by)
			test := p.Test()
			if test.P <= stats.Defaults().Alpha && p.Verdict(test, true).Outcome == stats.Regression {
				c.hits++
			}
		}
		cells = append(cells, c)
	}
	for _, sigma := range []float64{0.3, 0.5, 0.7, 1} {
		l := load{n: 10000, sigma: sigma}
		measure(fmt.Sprintf("all, σ %g, no times", sigma), l, timesAll(1.15), atLeast(0.99))
		l.seconds, l.flat = 200, true
		measure(fmt.Sprintf("all, σ %g, independent over 200 s", sigma), l, timesAll(1.15), atLeast(0.99))
	}
	without := map[float64]target{0.5: atLeast(0.9), 0.7: atLeast(0.8)}
	with := map[float64]target{0.5: atLeast(0.6), 0.7: atLeast(0.6)}
	for _, sigma := range []float64{0.5, 0.7, 1} {
		l := load{n: 10000, sigma: sigma}
		by := l.beyondP95(1.15)
		measure(fmt.Sprintf("beyond p95, σ %g, no times", sigma), l, by, without[sigma])
		l.seconds, l.flat = 200, true
		measure(fmt.Sprintf("beyond p95, σ %g, independent over 200 s", sigma), l, by, with[sigma])
		l.flat, l.phi = false, 0.5
		measure(fmt.Sprintf("beyond p95, σ %g, φ 0.5 over 200 s", sigma), l, by, target{})
	}
	return cells
}
