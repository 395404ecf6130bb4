package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Few requests are at work at once in an event loop with little to do, so that most of its stops are seen by one alone. If
// it is always the same, and hardly ever at work else, it keeps the loop; a stop that comes by itself strikes anybody.
func TestWhoKeepsAQuietLoop(t *testing.T) {
	// Every 2 s cat does nothing else for stop ms: its export works, or, where it collects, nobody does.
	side := func(seed uint64, stop float64, collects bool) string {
		rng := rand.New(rand.NewPCG(seed, 5))
		start := float64(seed) * 3_600_000
		push := func(x float64) float64 {
			if in := x - start - 2000*float64(int((x-start)/2000)); in >= 700 && in < 700+stop {
				return x - in + 700.2 + stop + in/2000
			}
			return x
		}
		var b strings.Builder
		at := start
		for range 1800 {
			at += 110 * rng.ExpFloat64()
			begun := push(at + 1.2)
			asked := push(begun + 1)
			told := push(asked + 2 + 4*rng.Float64())
			end := push(told + 1)
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server host=h1\n  api GET /p %.3f..%.3fms client host=h1\n    cat GET /p %.3f..%.3fms server host=h2\n      cat find %.3f..%.3fms client peer.service=db host=h2\n\n",
				at, end+1.2, at+1, end+0.2, begun, end, asked, told)
		}
		for from := start + 700; from < at; from += 2000 {
			b2, ms := from-0.05, stop
			if collects {
				b2, ms = from-900, 10
			}
			fmt.Fprintf(&b, "api GET /z %.3f..%.3fms server host=h1\n  api GET /export %.3f..%.3fms client host=h1\n    cat GET /export %.3f..%.3fms server host=h2\n\n", b2-1.2, b2+ms+1.4, b2-0.2, b2+ms+0.4, b2, b2+ms+0.1)
		}
		return b.String()
	}
	for _, x := range []struct {
		name, cur string
		export    bool
	}{
		{"an export takes 150 ms", side(2, 150, false), true},
		{"collections of garbage take 150 ms", side(2, 150, true), false},
	} {
		_, r := compared(t, side(1, 10, false), x.cur)
		if len(r.Findings) == 0 {
			t.Errorf("%s: nothing found", x.name)
			continue
		}
		if f := r.Findings[0]; f.Kind != "pause" || f.Service != "cat" || strings.Contains(f.Claim, "while GET /export went on alone") != x.export {
			t.Errorf("%s: %s of %s: %s", x.name, f.Kind, f.Service, f.Claim)
		}
	}
}
