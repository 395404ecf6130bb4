package main

import (
	"fmt"
	"os"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

func init() {
	add(suite{
		name: "runtimes",
		about: `
What keeps a process from going on: event loops that are held or busy, quotas, neighbours, garbage collection, a frozen machine.
2,000 requests a side of the system feed, without metrics. First: the planted cause (kind and component) leads.`,
		version: analysis.Version,
		runs:    6,
		slow:    true,
		run:     runtimeCells,
	})
}

// runtimeIncidents are told by when processes do something at all.
var runtimeIncidents = []string{"feed/loop-blocked", "feed/loop-busy", "feed/loop-load", "feed/loop-own", "feed/throttled", "feed/starved", "feed/garbage", "feed/frozen", "feed/null", "feed/null-lulls"}

func runtimeCells(seed uint64, runs int) []cell {
	var s score
	conditions := []condition{
		{name: "all spans", first: 0.95},
		{name: "40 %", head: 0.4, first: 0.9},
	}
	first := func(c condition) string { return "planted cause first: " + c.name }
	quiet := func(c condition) string { return "nulls: no false alarm: " + c.name }
	most := 0
	for _, c := range conditions {
		s.cell(first(c), atLeast(c.first))
		s.cell(quiet(c), atLeast(0.96))
		most = max(most, wanted(runs, first(c), quiet(c)))
	}
	for i := range most {
		for _, name := range runtimeIncidents {
			sc, err := scenario.Find(name)
			if err != nil {
				panic(err)
			}
			for _, c := range conditions { // of one simulation
				if wanted(runs, first(c), quiet(c)) == 0 || !chosen(sc, c) {
					continue
				}
				a, err := simulation{scenario: sc, seed: seed + uint64(i), requests: 2000, head: c.head, blind: true}.analyze()
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					continue
				}
				hit := a.place() == 1
				if sc.Verdict == scenario.NoChange {
					hit = a.endpoint.Verdict != report.Regression
					s.count(quiet(c), target{}, hit)
				} else {
					s.count(first(c), target{}, hit)
				}
				if !hit {
					fmt.Fprintln(os.Stderr, a)
				}
			}
		}
	}
	for _, c := range s.cells {
		if !c.target.met(c.share()) {
			c.missed = unkept
		}
	}
	return s.all()
}

// unkept is what stops the cells of sampled traces.
const unkept = "what kept an event loop shows only in traces that were kept: where the work that kept it is a page's own, of 40 % of the\ntraces too few waits lie beside it, and a weak pause of the process leads; a quota's stops look like a pause where hardly a span beside them is kept."
