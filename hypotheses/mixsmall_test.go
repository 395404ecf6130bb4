package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A kind of request that makes six calls where others make one became a fourth of a few hundred, and its calls fill the
// callee's workers for all: no weights leave enough requests beyond p99, and still it is the mix, weakly, and no wider fan-out.
// Where as few of that kind come as did and every request calls more, it is the calls.
func TestMixOfFewRequests(t *testing.T) {
	side := func(seed uint64, large float64, calls int) string {
		rng := rand.New(rand.NewPCG(seed, 14))
		var b strings.Builder
		at, free := float64(seed)*3_600_000, [2]float64{}
		for range 420 {
			at += 30 * rng.ExpFloat64()
			end, tier, n := at, "small", calls
			if rng.Float64() < large {
				tier, n = "large", 6
			}
			var text strings.Builder
			for range n {
				came := at + 1 + 0.2*rng.Float64()
				w := slices.Index(free[:], slices.Min(free[:]))
				begun := max(came+0.3, free[w]+0.1)
				free[w] = begun + 10 + 14*rng.Float64()
				end = max(end, free[w]+0.4)
				fmt.Fprintf(&text, "  web GET /part %.3f..%.3fms client host=h1\n    app GET /part %.3f..%.3fms server host=h2\n", came, free[w]+0.3, begun, free[w])
			}
			fmt.Fprintf(&b, "web GET /a %.3f..%.3fms server host=h1 tier=%s\n%s\n", at, end+1, tier, text.String())
		}
		return b.String()
	}
	was := side(1, 0.04, 1)
	_, r := compared(t, was, side(2, 0.25, 1))
	f := first(t, r)
	if f.Kind != "mix-shift" || f.Attribute != "tier" || f.Value != "large" || f.Strength != Weak {
		t.Errorf("more of the large: first is %s %s of %s%s", f.Strength, f.Kind, f.Service, f.Value)
	}
	_, r = compared(t, was, side(3, 0.04, 2))
	if f := first(t, r); f.Kind == "mix-shift" {
		t.Errorf("two calls each: first is %s %s of %s%s", f.Strength, f.Kind, f.Service, f.Value)
	}
}
