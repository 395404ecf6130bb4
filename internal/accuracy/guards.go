package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

func init() {
	add(suite{
		name: "guards",
		about: "Guards over the simulated systems with metrics, 800 requests a side, one seed a run. `recognised` is how often the guard of the\n" +
			"planted artefact warns or fails; `no verdict on it` how often the report does not call the artefact a regression or an\n" +
			"improvement of the system: the verdict is neither, or `measurement` ranks first. `quiet` is how often no guard fails where nothing\n" +
			"is wrong with the measurement: the same system twice, and systems that changed.",
		version: 1,
		runs:    2,
		run:     guardCells,
	})
}

const guardRequests = 800

// noArtefacts are the scenarios in which no guard may fail: the nulls, and one
// incident of every kind that a guard could mistake for an artefact.
var noArtefacts = []string{
	"mercury/null", "mercury/null-sampled", "mercury/null-lossy", "mercury/null-busier", "checkout/null", "checkout/null-links", "mesh/null", "search/null-sampled",
	"mercury/client-wait", "mercury/service-time", "mercury/placement", "mercury/mix-shift", "mercury/load", "mercury/improvement", "checkout/new-hop",
	"checkout/server-queue", "checkout/retries", "checkout/pause", "mesh/load-burst", "mesh/timeout-plateau", "mesh/late-work", "mesh/improvement",
}

func guardCells(seed uint64, runs int) []cell {
	var cells []cell
	for _, s := range scenario.List() {
		if s.Verdict != scenario.Artefact {
			continue
		}
		kind := report.GuardKind(s.Causes[0].Component.Attribute)
		recognised := cell{name: s.Name + ": recognised", target: atLeast(0.8)}
		spared := cell{name: s.Name + ": no verdict on it", target: atLeast(0.8)}
		n := wanted(runs, recognised.name, spared.name)
		recognised.runs, spared.runs = n, n
		for k := range n {
			e := guardRun(s.Name, seed+uint64(k))
			for _, g := range e.Guards {
				if g.Kind == kind && g.Status != report.GuardOK {
					recognised.hits++
				}
			}
			changed := e.Verdict == report.Regression || e.Verdict == report.Improvement
			if !changed || len(e.Hypotheses) > 0 && e.Hypotheses[0].Kind == report.Measurement {
				spared.hits++
			}
		}
		cells = append(cells, recognised, spared)
	}
	for _, name := range noArtefacts {
		quiet := cell{name: name + ": quiet", target: atLeast(0.8)}
		quiet.runs = wanted(runs, quiet.name)
		for k := range quiet.runs {
			var failed []string
			for _, g := range guardRun(name, seed+uint64(k)).Guards {
				if g.Status == report.GuardFail {
					failed = append(failed, g.Detail)
				}
			}
			if failed == nil {
				quiet.hits++
			} else {
				fmt.Fprintf(os.Stderr, "%s, seed %d: %s\n", name, seed+uint64(k), strings.Join(failed, "; "))
			}
		}
		cells = append(cells, quiet)
	}
	return cells
}

func guardRun(name string, seed uint64) *report.Endpoint {
	a, err := analyze(name, seed, guardRequests, true)
	if err != nil {
		panic(err) // a scenario that is listed can be simulated and read
	}
	return a.endpoint
}
