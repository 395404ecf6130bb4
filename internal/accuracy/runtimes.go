package main

import (
	"fmt"
	"os"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

func init() {
	try(suite{
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
	for _, c := range []condition{
		{name: "all spans", first: 0.95},
		{name: "40 %", head: 0.4, first: 0.9},
	} {
		first, quiet := "planted cause first: "+c.name, "nulls: no false alarm: "+c.name
		s.cell(first, atLeast(c.first))
		s.cell(quiet, atLeast(0.96))
		for i := range wanted(runs, first, quiet) {
			for _, name := range runtimeIncidents {
				sc, err := scenario.Find(name)
				if err != nil {
					panic(err)
				}
				if !chosen(sc, c) {
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
					s.count(quiet, target{}, hit)
				} else {
					s.count(first, target{}, hit)
				}
				if !hit {
					fmt.Fprintln(os.Stderr, a)
				}
			}
		}
	}
	return s.all()
}
