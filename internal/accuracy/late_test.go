package main

import (
	"math"
	"testing"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

// within reports whether a number is what the simulator did, give or take 5 %,
// or half a unit of what is counted.
func within(t *testing.T, what string, got, want, unit float64) {
	t.Helper()
	if math.Abs(got-want) > max(0.05*want, unit/2) {
		t.Errorf("%s: %.6g, the simulator did %.6g", what, got, want)
	}
}

// One side honours cancellation, the other ignores it: both are read as they
// were.
func TestLateWorkAsSimulated(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates")
	}
	for _, name := range []string{"mercury/late-work", "mesh/late-work"} {
		a, err := analyze(name, 1, 1500, false)
		if err != nil {
			t.Fatal(err)
		}
		l := &a.endpoint.LateWork
		for side, x := range map[string]struct {
			got   *report.LateTotals
			truth *scenario.SideTruth
		}{"cancellation honoured": {l.Baseline, &a.truth.Baseline}, "ignored": {&l.LateTotals, &a.truth.Current}} {
			want := &x.truth.Late
			attempts := 0
			for _, e := range x.truth.Edges {
				attempts += e.Attempts
			}
			within(t, name+", "+side+": late attempts", float64(x.got.LateAttempts), float64(want.Attempts), 2)
			within(t, name+", "+side+": late share", float64(x.got.LateAttempts/x.got.Attempts), float64(want.Attempts)/float64(attempts), 0.002)
			within(t, name+", "+side+": late time", float64(x.got.TotalMs), want.Total, 20)
			// The formula, on what was read: rate × share × mean duration.
			if n, ok := x.got.MeanInFlight.Get(); ok && x.got.LateAttempts > 0 {
				window := float64(x.got.TotalMs) / 1e3 / n
				within(t, name+", "+side+": window", window, x.truth.Seconds, 20) // spans outlast the arrivals
			}
		}
	}
}

// Attempts per call as the simulator made them.
func TestAmplificationAsSimulated(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates")
	}
	a, err := analyze("checkout/retries", 1, 1500, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range a.endpoint.Attempts {
		for _, e := range a.truth.Current.Edges {
			if e.Caller != row.Service || e.Operation != row.Operation {
				continue
			}
			within(t, row.Operation+": retries", float64(row.Retries), float64(e.Retries), 2)
			within(t, row.Operation+": attempts per call", float64(row.Attempts/row.Logical), float64(e.Attempts)/float64(e.Attempts-e.Retries-e.Hedges), 0)
		}
	}
	if len(a.endpoint.Attempts) == 0 {
		t.Error("no attempts")
	}
}
