package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
)

// Of thirteen seconds a variance that doubled is chance (95 % of such ratios are below 3.2); of two minutes it is not.
func TestBurstsOfFewSecondsAreChance(t *testing.T) {
	for _, x := range []struct {
		seconds, was, is float64
		want             bool
	}{{13, 1.2, 2.4, false}, {13, 1.2, 6, true}, {121, 1.2, 2.4, true}, {121, 1.2, 1.5, false}} {
		side := func(bursts float64) *queuewait.Side {
			return &queuewait.Side{N: int(50 * x.seconds), PerSecond: 50, Bursts: bursts}
		}
		if got := side(x.is).BurstsDiffer(side(x.was)); got != x.want {
			t.Errorf("%g to %g in %g s: %v", x.was, x.is, x.seconds, got)
		}
	}
}

// Sampled calls whose spans got longer while more came may wait for a worker: that is no strong work. Where as many come as
// did, and where all are known, it may be.
func TestSampledWorkUnderMoreLoad(t *testing.T) {
	side := func(seed uint64, every, ms float64) string {
		rng := rand.New(rand.NewPCG(seed, 2))
		var b strings.Builder
		at := float64(seed) * 3_600_000
		for range 800 {
			at += every * rng.ExpFloat64()
			x := ms * (0.6 + 0.8*rng.Float64())
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server\n  api GET /b %.3f..%.3fms client\n    app GET /b %.3f..%.3fms server\n\n", at, at+x+4, at+1, at+x+3, at+1.5, at+x+2.5)
		}
		return b.String()
	}
	for _, x := range []struct {
		name  string
		every float64
		kept  int64
		weak  bool
	}{
		{"three times as many, two in five kept", 10, 5, true},
		{"as many, two in five kept", 30, 5, false},
	} {
		_, r := comparedOf(t, x.kept*graph.OneRequest/2, side(1, 30, 20), side(2, x.every, 50))
		f := first(t, r)
		if f.Kind != "service-time" || f.Service != "app" || (f.Strength == Weak) != x.weak {
			t.Errorf("%s: first is %s %s of %s", x.name, f.Strength, f.Kind, f.Service)
		}
		if said := strings.Contains(strings.Join(f.Warnings, " "), "wait for a worker"); said != x.weak {
			t.Errorf("%s: %q", x.name, f.Warnings)
		}
	}
}

// A change of mix of which too few requests tell makes longer work weak, and nothing else.
func TestTooFewToTellTheMix(t *testing.T) {
	found := []Finding{{Kind: "service-time", own: true}, {Kind: "client-wait"}}
	(&Asking{}).doubtMix(found)
	if found[0].Doubtful {
		t.Error("nothing was untold")
	}
	(&Asking{untold: []string{"requests with size=large became more"}}).doubtMix(found)
	if !found[0].Doubtful || len(found[0].Warnings) != 1 || found[1].Doubtful {
		t.Errorf("%+v", found)
	}
}
