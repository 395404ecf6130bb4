package main

import (
	"fmt"
	"math"
	"os"

	"github.com/tailscope/tailscope/analysis"
)

func init() {
	add(suite{
		name: "first-causes",
		about: `
Simulated incidents with one planted cause in two systems, and nulls in four: is the verdict right, and is the planted
cause (kind and component) ranked first? Regressions count for the verdict only where the true change of p99 is at least
five standard deviations of what it is over the null seeds of the system. 2,500 requests a side, unsampled, with metrics;
4,500 for the nulls.`,
		version: analysis.Version,
		runs:    20,
		run:     firstCauses,
		slow:    true,
	})
}

// planted are the scenarios of each kind, in two systems.
var planted = []struct{ cell, scenario string }{
	{"client-wait", "mercury/client-wait"}, {"client-wait", "checkout/client-wait"},
	{"service-time", "mercury/service-time"}, {"service-time", "checkout/service-time"},
	{"service-time that fills its caller's pool", "mercury/service-time-pool"},
	{"mix-shift", "mercury/mix-shift"}, {"mix-shift", "checkout/mix-shift"},
	{"improvement", "mercury/improvement"}, {"improvement", "checkout/improvement"},
}

func firstCauses(seed uint64, runs int) []cell {
	changes := map[string][]float64{} // of nulls by system
	falseAlarms := cell{name: "nulls called a regression", target: atMost(0.04)}
	quiet := cell{name: "nulls called no-regression", target: atLeast(0.9)}
	for _, system := range []string{"mercury", "checkout", "search", "mesh"} {
		n := runs
		if system == "mercury" || system == "checkout" {
			n = runs * 3 / 2 // 100 nulls at 20 runs
		}
		for i := range n {
			a, err := analyze(system+"/null", seed+uint64(i), 4500, true)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			changes[system] = append(changes[system], a.endpoint.P99.DeltaMs.Or(0))
			falseAlarms.runs++
			quiet.runs++
			switch a.endpoint.Verdict {
			case "regression":
				falseAlarms.hits++
			case "no-regression":
				quiet.hits++
			}
		}
	}
	verdicts := cell{name: "regressions of at least 5 sd called one", target: atLeast(1)}
	cells := map[string]*cell{}
	var order []string
	all := cell{name: "planted cause first, of all", target: atLeast(0.95)}
	for _, p := range planted {
		c := cells[p.cell]
		if c == nil {
			c = &cell{name: "planted cause first: " + p.cell, target: atLeast(0.95)}
			cells[p.cell] = c
			order = append(order, p.cell)
		}
		for i := range runs {
			a, err := analyze(p.scenario, seed+uint64(i), 2500, true)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			c.runs++
			all.runs++
			if a.place() == 1 {
				c.hits++
				all.hits++
			} else {
				fmt.Fprintln(os.Stderr, a)
			}
			if a.truth.Verdict == "regression" && a.truth.DeltaP99 >= 5*deviation(changes[a.truth.System]) {
				verdicts.runs++
				if a.endpoint.Verdict == "regression" {
					verdicts.hits++
				} else {
					fmt.Fprintln(os.Stderr, a)
				}
			}
		}
	}
	out := []cell{falseAlarms, quiet, verdicts, all}
	for _, name := range order {
		out = append(out, *cells[name])
	}
	return out
}

// deviation is the standard deviation of values about zero: a null's change is
// zero in truth.
func deviation(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v * v
	}
	return math.Sqrt(sum / float64(max(len(values), 1)))
}
