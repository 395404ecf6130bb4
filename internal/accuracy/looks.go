package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/stats"
)

func init() {
	add(suite{
		name: "looks",
		about: `
What serve and the exporter tell of while a window is still open. A stream of requests of one endpoint, 8 a second, comes in
windows of a minute, each compared with up to four before it at seven moments and at its end. Told early: the share of
windows without a change in which one of the seven finds a regression; told at the end: the same of the report of the whole
window. The seven share 5 %, and half of what is rejected got faster. Windows follow each other, six measured in each
stream. No target is set for what wanders or swings more slowly than a window lasts: windows differ then, and saying so is
right.

Then everything, or the slowest twentieth, gets slower when a window begins: the share of streams in which that is told
within a quarter of the window, within half of it, and before it ends.`,
		version: stats.Version,
		runs:    100,
		run:     looks,
	})
}

const (
	lookWindow  = 60 * time.Second
	lookHistory = 4
	lookWindows = 6 // that are measured in a stream
	lookRate    = 8
)

// streams are processes in which nothing changes, over n requests and so many seconds.
var streams = []struct {
	name   string
	of     func(n int, seconds float64) process
	target target
}{
	{"lognormal, σ 0.7", func(n int, s float64) process { return arriving(n, s, lognormal(50, 0.7)) }, atMost(0.05)},
	{"Pareto 1.5", func(n int, s float64) process { return arriving(n, s, pareto(1.5)) }, atMost(0.05)},
	{"a cache that misses 1 %", func(n int, s float64) process { return arriving(n, s, caching(0.01, 5, 300)) }, atMost(0.05)},
	{"a queue with one server at 0.8", func(n int, s float64) process { return queue(n, s, 1, 0.8, 0, 1) }, atMost(0.05)},
	{"stretches of 5 s, a tenth of the time, that take three times as long", func(n int, s float64) process { return burst(n, int(s)) }, atMost(0.05)},
	{"pauses of 200 ms every 10 s or so", func(n int, s float64) process { return pauses(n, s, 10, 0.2) }, atMost(0.05)},
	{"a job every minute that slows 5 s", func(n int, s float64) process { return periodic(n, s, 60, 5, 1, 50, 150) }, atMost(0.05)},
	{"one burst of 5 s in each tenth minute", func(n int, s float64) process { return periodic(n, s, 600, 5, 1, 50, 250) }, atMost(0.05)},
	{"a level that drifts, correlated over 400 s, σ 0.1", func(n int, s float64) process { return drift(n, s, 400, 0.1) }, target{}},
	{"a day in an hour, load ± 35 % at a queue of four", func(n int, s float64) process { return queue(n, s, 4, 0.6, 0.35, 3600) }, target{}},
}

// slowdowns are what is told soon.
var slowdowns = []struct {
	name string
	by   func(ms float64) float64
}{
	{"all half as slow again", func(ms float64) float64 { return 1.5 * ms }},
	{"all twice as slow", func(ms float64) float64 { return 2 * ms }},
	{"the slowest twentieth three times as slow", func(ms float64) float64 {
		if p95 := 50 * math.Exp(0.7*1.645); ms > p95 {
			return 3 * ms
		}
		return ms
	}},
}

func looks(seed uint64, runs int) []cell {
	var cells []cell
	for _, s := range streams {
		early, end := cell{name: "told early: " + s.name, target: s.target}, cell{name: "told at the end: " + s.name, target: s.target}
		g := generator(seed, s.name)
		const windows = 2 + lookWindows // the first two are little to compare with
		seconds := windows * lookWindow.Seconds()
		for range wanted(runs, early.name, end.name) {
			soon, whole := lookAt(s.of(int(seconds*lookRate), seconds)(g), windows)
			for w := 2; w < windows; w++ {
				early.runs++
				end.runs++
				if soon[w] > 0 {
					early.hits++
				}
				if whole[w] {
					end.hits++
				}
			}
		}
		cells = append(cells, early, end)
	}
	for _, s := range slowdowns {
		shares := []float64{0.25, 0.5, 1}
		of := make([]cell, len(shares))
		for i, share := range shares {
			of[i].name = fmt.Sprintf("%s: told within %g of the window", s.name, share)
		}
		g := generator(seed, s.name)
		const windows = lookHistory + 1
		seconds := windows * lookWindow.Seconds()
		for range wanted(runs, of[0].name, of[1].name, of[2].name) {
			requests := arriving(int(seconds*lookRate), seconds, lognormal(50, 0.7))(g)
			for i := range requests {
				if requests[i].at >= lookHistory*lookWindow.Seconds() {
					requests[i].ms = s.by(requests[i].ms)
				}
			}
			soon, _ := lookAt(requests, windows)
			for i, share := range shares {
				of[i].runs++
				if at := soon[lookHistory]; at > 0 && at <= share {
					of[i].hits++
				}
			}
		}
		cells = append(cells, of...)
	}
	return cells
}

// lookAt is what share of each window had passed when a regression was told of, 0 if it was not, and whether the report of
// the whole tells of one. It asks stats as the engine does, which would take ten times as long; a test holds the two
// together. Guards can only take a verdict away.
func lookAt(requests []request, windows int) (soon []float64, whole []bool) {
	soon, whole = make([]float64, windows), make([]bool, windows)
	length := lookWindow.Seconds()
	ends := func(q request) float64 { return q.at + q.ms/1e3 }
	requests = slices.Clone(requests)
	slices.SortFunc(requests, func(a, b request) int { return cmp.Compare(ends(a), ends(b)) })
	between := func(from, to float64) []request {
		i, _ := slices.BinarySearchFunc(requests, from, func(q request, t float64) int { return cmp.Compare(ends(q), t) })
		j, _ := slices.BinarySearchFunc(requests, to, func(q request, t float64) int { return cmp.Compare(ends(q), t) })
		return requests[i:j]
	}
	for w := 1; w < windows; w++ {
		begins := float64(w) * length
		var calm, earlier []int // a window in which a regression was found is no baseline, unless there is no other
		for v := range w {
			if earlier = append(earlier, v); !whole[v] || w-v > lookHistory {
				calm = append(calm, v)
			}
		}
		if len(calm) == 0 {
			calm = earlier
		}
		var before []request
		for _, v := range calm[max(0, len(calm)-lookHistory):] {
			before = append(before, between(float64(v)*length, float64(v+1)*length)...)
		}
		base := window(before, true)
		told := func(until, alpha float64) bool {
			cur := between(begins, until)
			if len(cur) == 0 {
				return false
			}
			o := stats.Defaults()
			o.Alpha = alpha
			pair := stats.NewPair(base, window(cur, true), o)
			test := pair.Test()
			if until < begins+length && test.Method == stats.Independent {
				return false // too little yet
			}
			return test.P <= alpha && pair.Verdict(test, true).Outcome == stats.Regression
		}
		alpha := stats.Defaults().Alpha
		n := live.New().Looks
		for k := 1; k <= n && soon[w] == 0; k++ {
			if share := float64(k) / float64(n+1); told(begins+share*length, alpha/float64(n)) {
				soon[w] = share
			}
		}
		whole[w] = told(begins+length, alpha)
	}
	return soon, whole
}
