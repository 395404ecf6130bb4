package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "stats-coverage",
		about: `
How often the 95 % interval of Δp99 holds the true change, which is that of infinitely long windows of the same loads:
loads as in stats-null, 2,000 requests a side, the current side 20 % slower. Those with weights 1 and 20 independent of
latency have 1,100 effective requests; tail sampled as in stats-null.

Then the interval of p99 of one side; and the allocation of that change to two components, each with a share of the
latency drawn by request, where all of the change is in the second: how often the interval of its entry holds the
truth, and how often it, or wrongly the other one, is called the largest.`,
		version: stats.Version,
		runs:    1000,
		run:     statsCoverage,
	})
}

// slower is what happens to the current side.
const slower = 1.2

// What stops cells that miss their target.
const (
	atAtom = "p99 is the timeout itself on both sides, which every sample knows exactly: the interval is a point, and right."

	fewBlocks = `Covers more than it promises, by about its standard error here. In so short a window there are eight
blocks, and where requests are independent, or nearly, blocks that by chance differ more than requests do still widen
the interval. Widening all of it instead of the excess covers 98 to 99 %; widening less than this covers too little
where the load is correlated.`

	twoRanks = `Covers more than it promises, by about its standard error here. The difference of two sides, each with its
own uncertain spread, comes out a little wide, as in the problem of Behrens and Fisher; interpolated ranks, and all
pairs of them instead of draws, brought it no lower.`
)

func statsCoverage(seed uint64, runs int) []cell {
	base := load{n: 2000, sigma: 0.7}
	by := timesAll(slower)
	var cells []cell
	for _, named := range slices.Concat(loads(base), special(base), bySampling(base)) {
		c := cell{name: named.name, runs: wanted(runs, named.name)}
		switch {
		case named.taus == 0 || named.taus >= 16:
			c.target = between(0.93, 0.97)
		case named.taus >= 8:
			c.target = atLeast(0.91)
		}
		l := named.load
		switch {
		case l.timeout:
			c.missed = atAtom
		case l.seconds == 0 && l.kept == 0 && !l.millis && l.weights != independent && l.weights != tied:
			c.missed = twoRanks
		case l.seconds > 0 && l.seconds <= 32 && l.phi == 0 && !l.bursts:
			c.missed = fewBlocks
		}
		truth := l.truth(0.99, by) - l.truth(0.99, unchanged)
		g := generator(seed, c.name)
		for range c.runs {
			if !pair(g, l.before(), l, by).Delta(0.99, 0.95).Interval.Excludes(truth) {
				c.hits++
			}
		}
		cells = append(cells, c)
	}
	half, slow := base, base
	half.phi, slow.phi = 0.5, 0.9
	for _, named := range []named{
		{"no times", base, 0},
		{"φ 0.5, T = 32 τ", half.over(32), 32},
		{"φ 0.9, T = 16 τ", slow.over(16), 16},
	} {
		cells = append(cells, oneSided(seed, runs, named))
		cells = append(cells, allocated(seed, runs, named)...)
	}
	return cells
}

// oneSided measures the interval of p99 of one side.
func oneSided(seed uint64, runs int, named named) cell {
	c := cell{name: "p99 of one side, " + named.name}
	c.runs = wanted(runs, c.name)
	truth := named.load.truth(0.99, unchanged)
	g := generator(seed, c.name)
	for range c.runs {
		s, err := stats.NewSample(named.load.requests(g, unchanged))
		if err != nil {
			panic(err)
		}
		if !s.Interval(0.99, 0.95).Excludes(truth) {
			c.hits++
		}
	}
	return c
}

// allocated measures the entry that holds the whole change.
func allocated(seed uint64, runs int, named named) []cell {
	covered := cell{name: "entry, " + named.name}
	largest := cell{name: "largest named, " + named.name}
	wrong := cell{name: "wrong one named, " + named.name, target: atMost(0.05)}
	runs = wanted(runs, covered.name, largest.name, wrong.name)
	covered.runs, largest.runs, wrong.runs = runs, runs, runs
	l := named.load
	truth := (slower - 1) * l.truth(0.99, unchanged)
	g := generator(seed, covered.name)
	for range runs {
		base, cur := l.requests(g, unchanged), l.requests(g, timesAll(slower))
		b, err := stats.NewSample(base)
		if err != nil {
			panic(err)
		}
		c, err := stats.NewSample(cur)
		if err != nil {
			panic(err)
		}
		a := stats.NewPair(b, c, stats.Defaults()).Allocate(0.99, 0.95, 2,
			split(g, base.Latency, 1), split(g, cur.Latency, slower))
		if !a.Interval[1].Excludes(truth) {
			covered.hits++
		}
		if a.Lead.Clear() {
			if a.Lead.First == 1 {
				largest.hits++
			} else {
				wrong.hits++
			}
		}
	}
	return []cell{covered, largest, wrong}
}

// split gives component 0 a share of what each latency was before it became so many times as long, and component 1
// the rest.
func split(g *rand.Rand, latency []int64, times float64) stats.Entries {
	first := make([]int64, len(latency))
	for i, x := range latency {
		share := 1 / (1 + math.Exp(g.NormFloat64()))
		first[i] = int64(share * float64(x) / times)
	}
	row := make([]stats.Entry, 2)
	return func(j int) []stats.Entry {
		row[0], row[1] = stats.Entry{Component: 0, NS: first[j]}, stats.Entry{Component: 1, NS: latency[j] - first[j]}
		return row
	}
}
