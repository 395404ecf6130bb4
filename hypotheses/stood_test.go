package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Requests come as they did, and those of one kind, which make eight calls at once, hold the four connections three times as
// long: that the two draws crowd differently there is no load. Of more requests it is.
func TestDrawsOfTheSameArrivalsAreNoLoad(t *testing.T) {
	side := func(seed uint64, every, longer float64) string {
		rng := rand.New(rand.NewPCG(seed, 16))
		var b strings.Builder
		at, free := float64(seed)*3_600_000, [4]float64{}
		for range 1200 {
			at += every * rng.ExpFloat64()
			n, tier, hold := 1, "small", 12.0
			if rng.Float64() < 0.1 {
				n, tier, hold = 8, "large", 12*longer
			}
			end := at
			var text strings.Builder
			for range n {
				k := slices.Index(free[:], slices.Min(free[:]))
				begun := max(at+2, free[k])
				free[k] = begun + hold*(0.6+0.8*rng.Float64())
				end = max(end, free[k])
				fmt.Fprintf(&text, "  api GET /part %.3f..%.3fms client host=h1\n    app GET /part %.3f..%.3fms server host=h2\n", at+2, free[k], begun+0.4, free[k]-0.4)
				free[k] += 0.05
			}
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server host=h1 tier=%s\n%s\n", at, end+2, tier, text.String())
		}
		return b.String()
	}
	was := side(1, 20, 1)
	for _, seed := range []uint64{2, 3} {
		_, r := compared(t, was, side(seed, 20, 3))
		f := first(t, r)
		if f.Kind != "service-time" || f.Service != "app" || f.Explains < 0.8*(f.Explains+r.Left.NS) {
			t.Errorf("seed %d: first is %s %s of %s, %.1f ms, and %.1f are left", seed, f.Strength, f.Kind, f.Service, f.Explains/1e6, r.Left.NS/1e6)
		}
		for _, f := range r.Findings {
			if f.Kind == "load" && f.Explains > 0.2*r.Findings[0].Explains {
				t.Errorf("seed %d: %s load, %.1f ms", seed, f.Strength, f.Explains/1e6)
			}
		}
	}
	_, r := compared(t, was, side(4, 9, 1))
	if f := first(t, r); f.Kind != "load" {
		t.Errorf("more requests: first is %s %s of %s", f.Strength, f.Kind, f.Service)
	}
}
