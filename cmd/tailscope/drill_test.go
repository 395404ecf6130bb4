package main

import (
	"strings"
	"testing"

	"github.com/tailscope/tailscope/report"
)

const drillDir = "../../samples/drill"

// TestDrill holds the report on the drill to the order of its causes, to their
// checks, and to the verdict on every action that comes to mind.
func TestDrill(t *testing.T) {
	out := command(t, "analyze", "--format", "json", "--baseline", "../../samples/mercury/baseline", "--current", drillDir+"/current",
		"--config", drillDir+"/tailscope.yaml", "--notes", drillDir+"/notes.yaml")
	e := &checkReport(t, out).Endpoints[0]
	if e.Verdict != report.Regression || len(e.Hypotheses) < 2 {
		t.Fatalf("%s with %d causes", e.Verdict, len(e.Hypotheses))
	}
	wait, mix := &e.Hypotheses[0], &e.Hypotheses[1]
	if wait.Kind != report.ClientWait || wait.Service != "ingress" || wait.Peer != "pricing" || mix.Kind != report.MixShift || mix.Attribute != "app.tier" || mix.Value != "enterprise" {
		t.Errorf("the causes are %s %s→%s and %s %s=%s", wait.Kind, wait.Service, wait.Peer, mix.Kind, mix.Attribute, mix.Value)
	}
	for _, c := range []struct {
		h     *report.Hypothesis
		truth float64 // what putting it back takes away, by the simulator
		rival string
	}{{wait, 93.087, "server-queue"}, {mix, 53.708, "service-time"}} {
		if lo, hi := c.h.CIMs.Lo.Or(0), c.h.CIMs.Hi.Or(0); c.truth < lo || c.truth > hi {
			t.Errorf("%s explains [%.0f, %.0f] ms, and %.0f in truth", c.h.Kind, lo, hi, c.truth)
		}
		if c.h.Check.Status != report.Ran || !strings.HasPrefix(c.h.Check.Rival, c.rival) || c.h.Check.Outcome == "" {
			t.Errorf("the check of %s: %+v", c.h.Kind, c.h.Check)
		}
	}
	for _, c := range []struct {
		action, target string
		want           report.ActionVerdict
		because        string
	}{
		{"hold the rollout", "ingress GET /v2/home", report.Supported, "the rise is shown"},
		{"grow the pool", "ingress → pricing (pool pricing)", report.Supported, "up to 6 calls in pricing at once before"},
		{"partition the limit by class", "ingress → pricing (pool pricing)", report.Supported, "app.tier=enterprise bring"},
		{"propagate the deadline", "ingress", report.Supported, "400 ms"},
		{"raise the limit", "ingress", report.Unsupported, "more demand to pricing"},
		{"add hosts", "ingress", report.Unsupported, "tried 2026-02-17"},
		{"add capacity", "pricing", report.Unsupported, "its own time is not what grew"},
		{"degrade the branch", "pricing POST /v1/quotes", report.ViolatesContract, "without prices is wrong"},
		{"cache", "ingress → pricing", report.ViolatesContract, "by the minute"},
		{"hedge", "ingress → pricing", report.Unsupported, "what is short"},
		{"roll back", "ingress", report.Unsupported, "on both sides"},
		{"retry less", "ingress", report.Unsupported, "no call is retried"},
	} {
		found := false
		for _, a := range e.Actions {
			if a.Action == c.action && a.Target == c.target {
				found = true
				if a.Verdict != c.want || !strings.Contains(a.Reason, c.because) {
					t.Errorf("%s of %s: %s because %s", a.Action, a.Target, a.Verdict, a.Reason)
				}
			}
		}
		if !found {
			t.Errorf("%s of %s was not weighed", c.action, c.target)
		}
	}
	if len(e.Experiments) != 1 || !strings.Contains(e.Experiments[0].Effect, "fits no cause here") {
		t.Errorf("what was tried before: %+v", e.Experiments)
	}
	moved := false
	for _, b := range e.Budget {
		moved = moved || b.Bound == "mix_moved" && b.Status == report.Breached && strings.Contains(b.Detail, "class enterprise")
	}
	if !moved {
		t.Errorf("the mix moved, and the budget says %+v", e.Budget)
	}
}
