package main

import (
	"fmt"
	"math"

	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "stats-runs",
		about: `
Several runs a side, 700 requests each, lognormal, σ 0.7, without times. Every run has a level of its own, lognormal
with σ 0.2: as if each were made on another day. Unchanged sides are not to be called a regression, and where the
current side is 20 % slower the 95 % interval of the change of p99, as a share of the baseline's, is to hold 20 %. One
run a side cannot know of such levels: its figures show why the report says so.`,
		version: stats.Version,
		runs:    1000,
		run:     statsRuns,
	})
}

func statsRuns(seed uint64, runs int) []cell {
	var cells []cell
	for _, k := range []int{1, 3, 5} {
		null := cell{name: fmt.Sprintf("called a regression, %d and %d runs, unchanged", k, k)}
		covered := cell{name: fmt.Sprintf("interval, %d and %d runs, 20 %% slower", k, k)}
		n := wanted(runs, null.name, covered.name)
		null.runs, covered.runs = n, n
		if k >= 3 {
			null.target, covered.target = atMost(0.05), between(0.93, 0.97)
		}
		g := generator(seed, null.name)
		draw := func(scale float64) *stats.Sample {
			var all stats.Requests
			for run := range k {
				r := load{n: 700, sigma: 0.7}.requests(g, timesAll(scale*math.Exp(0.2*g.NormFloat64())))
				all.Latency = append(all.Latency, r.Latency...)
				for range r.Latency {
					all.Run = append(all.Run, run)
				}
			}
			s, err := stats.NewSample(all)
			if err != nil {
				panic(err)
			}
			return s
		}
		for range n {
			p := stats.NewPair(draw(1), draw(1), stats.Defaults())
			test := p.Test()
			if p.Verdict(test, test.P <= stats.Defaults().Alpha).Outcome == stats.Regression {
				null.hits++
			}
			d := stats.NewPair(draw(1), draw(slower), stats.Defaults()).Delta(0.99, 0.95)
			if !d.Interval.Excludes((slower - 1) * d.Base) {
				covered.hits++
			}
		}
		cells = append(cells, null, covered)
	}
	return cells
}
