package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Servers alone have spans: what grows before a callee's may be the caller's work, or a wait, or the way there, and is no
// strong cause. What grows after it is the caller's, but may be a call of what has no spans at all; where the client has spans, that
// is told.
func TestNoClientSpansNoStrongWork(t *testing.T) {
	side := func(seed uint64, before, after float64, client bool) string {
		rng := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		at := float64(seed) * 3_600_000
		for range 900 {
			at += 40 * rng.ExpFloat64()
			lead, work, rest := before*(0.7+0.6*rng.Float64()), 6+4*rng.Float64(), after*(0.7+0.6*rng.Float64())
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server host=h1\n", at, at+lead+work+rest)
			in := "  "
			if client {
				fmt.Fprintf(&b, "  api GET /list %.3f..%.3fms client host=h1\n", at+lead-0.4, at+lead+work+0.4)
				in = "    "
			}
			fmt.Fprintf(&b, "%sapp GET /list %.3f..%.3fms server host=h2\n\n", in, at+lead, at+lead+work)
		}
		return b.String()
	}
	for _, x := range []struct {
		name          string
		before, after float64
		client        bool
		strength      Strength
	}{
		{"before the callee", 60, 5, false, Weak},
		{"after it", 5, 60, false, Moderate},
		{"before a client span", 60, 5, true, Strong},
	} {
		_, r := compared(t, side(1, 5, 5, x.client), side(2, x.before, x.after, x.client))
		f := first(t, r)
		if f.Kind != "service-time" || f.Service != "api" || f.Strength != x.strength {
			t.Errorf("%s: first is %s %s of %s: %q", x.name, f.Strength, f.Kind, f.Service, f.Warnings)
		}
		if said := strings.Contains(strings.Join(f.Warnings, " "), "api records no client span for GET /list of app"); said != (x.strength == Weak) {
			t.Errorf("%s: %q", x.name, f.Warnings)
		}
	}
}

// Calls wait for a connection of which there is one, so that those among others wait: without client spans that looks
// like work that its neighbours slow, and is named by what is not seen.
func TestUnseenWaitsAreNoContention(t *testing.T) {
	side := func(seed uint64, hold float64) string {
		rng := rand.New(rand.NewPCG(seed, 8))
		var b strings.Builder
		at, free := float64(seed)*3_600_000, 0.0
		for range 1500 {
			at += 40 * rng.ExpFloat64()
			begun := max(at+3+2*rng.Float64(), free)
			free = begun + hold*(0.8+0.4*rng.Float64())
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server host=h1\n  app GET /list %.3f..%.3fms server host=h2\n\n", at, free+12, begun+0.4, free-0.4-0.7*hold)
		}
		return b.String()
	}
	_, r := compared(t, side(1, 8), side(2, 30))
	f := first(t, r)
	if f.Kind == "contention" || f.Strength != Weak || !strings.Contains(strings.Join(f.Warnings, " "), "no client span") {
		t.Errorf("first is %s %s of %s: %q", f.Strength, f.Kind, f.Service, f.Warnings)
	}
}

// A callee that is waited for until a time-out, after which it goes on, is not waited for as far as servers' spans
// tell: that its caller works meanwhile is not said.
func TestCallsThatOutlastTheirCallerNow(t *testing.T) {
	side := func(seed uint64, median float64) string {
		rng := rand.New(rand.NewPCG(seed, 4))
		var b strings.Builder
		at := float64(seed) * 3_600_000
		for range 900 {
			at += 40 * rng.ExpFloat64()
			work := median * (0.5 + rng.Float64())
			waited := min(work, 100) // its client's time-out
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server host=h1\n  app GET /list %.3f..%.3fms server host=h2\n\n", at, at+10+waited, at+5, at+5+work)
		}
		return b.String()
	}
	_, r := compared(t, side(1, 20), side(2, 300))
	for _, f := range r.Findings {
		if f.Service == "api" && f.Strength != Weak {
			t.Errorf("%s %s of %s", f.Strength, f.Kind, f.Service)
		}
	}
}

// An order that some requests refute is not always calls side by side: clocks let calls that follow each other overlap, and
// a call that begins by itself may come to begin after another's end.
func TestWhatFollowsWasNotBesideIt(t *testing.T) {
	side := func(seed uint64, begins func(i int, ended float64) float64) string {
		rng := rand.New(rand.NewPCG(seed, 5))
		var b strings.Builder
		at := float64(seed) * 3_600_000
		for i := range 900 {
			at += 60 * rng.ExpFloat64()
			ended := 1 + 4 + 16*rng.Float64()
			from := begins(i, ended) + 0.2*rng.Float64()
			to := from + 8 + 4*rng.Float64()
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server host=h1\n  x X %.3f..%.3fms server host=h2\n  y Y %.3f..%.3fms server host=h3\n\n", at, at+max(ended, to)+3, at+1, at+ended, at+from, at+to)
		}
		return b.String()
	}
	for _, x := range []struct {
		name    string
		was, is func(i int, ended float64) float64
		want    bool
	}{
		{"in turn now", func(int, float64) float64 { return 1 }, func(_ int, ended float64) float64 { return ended + 0.5 }, true},
		{"in turn as before, by clocks that differ", func(i int, ended float64) float64 {
			if i%8 == 0 {
				return ended - 2 // y's second host is behind
			}
			return ended + 0.5
		}, func(_ int, ended float64) float64 { return ended + 12 }, false},
		{"later, whenever the other ends", func(int, float64) float64 { return 6 }, func(int, float64) float64 { return 24 }, false},
	} {
		_, r := compared(t, side(1, x.was), side(2, x.is))
		found := false
		for _, f := range r.Findings {
			found = found || f.Kind == "serialization"
		}
		if found != x.want {
			t.Errorf("%s: serialization %v; first is %s of %s", x.name, found, r.Findings[0].Kind, r.Findings[0].Service)
		}
	}
}
