package main

import (
	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "stats-coverage",
		about: `
How often the 95 % interval of Δp99 holds the true change, which is that of infinitely long windows of the same loads:
loads as in stats-null, 2,000 requests a side, the current side 20 % slower.`,
		version: stats.Version,
		runs:    1000,
		run:     statsCoverage,
	})
}

func statsCoverage(seed uint64, runs int) []cell {
	base := load{n: 2000, sigma: 0.7}
	slower := timesAll(1.2)
	var cells []cell
	for _, named := range append(loads(base), special(base)...) {
		c := cell{name: named.name, runs: runs}
		switch {
		case named.taus == 0 || named.taus >= 16:
			c.target = between(0.93, 0.97)
		case named.taus >= 8:
			c.target = atLeast(0.91)
		}
		l := named.load
		truth := l.truth(0.99, slower) - l.truth(0.99, unchanged)
		g := generator(seed, c.name)
		for range runs {
			if !pair(g, l, l, slower).Delta(0.99, 0.95).Interval.Excludes(truth) {
				c.hits++
			}
		}
		cells = append(cells, c)
	}
	return cells
}
