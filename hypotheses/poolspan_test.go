package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The instrumentation of a pool writes a span for each connection that it gives; the wait in it is named by what most of
// them are followed by, and not by another call that once comes next.
func TestAWaitIsNamedByWhatFollowsIt(t *testing.T) {
	side := func(seed uint64, wait float64) string {
		return arriving(seed, 500, func(rng *rand.Rand, i int, at float64) string {
			text, b := "", at+1
			if i == 7 { // asks for a connection and does not use it before it calls somebody
				text = fmt.Sprintf("\n  api pg-pool.connect %.3f..%.3fms internal\n  api auth %.3f..%.3fms client peer.service=auth", b, b+0.1, b+0.2, b+1)
				b += 2
			}
			for range 3 {
				w := 0.05 + wait*rng.ExpFloat64()
				text += fmt.Sprintf("\n  api pg-pool.connect %.3f..%.3fms internal\n  api pg.query %.3f..%.3fms client peer.service=pg", b, b+w, b+w+0.01, b+w+2)
				b += w + 2.5
			}
			return span(at, b-at+1) + text
		})
	}
	_, r := compared(t, side(1, 0.02), side(2, 6))
	if len(r.Findings) == 0 {
		t.Fatal("nothing found")
	}
	if f := r.Findings[0]; f.Kind != "client-wait" || f.Service != "api" || f.Peer != "pg" || f.Operation != "pg.query" || f.Strength != Strong {
		t.Errorf("%s %s %s → %s %s", f.Strength, f.Kind, f.Service, f.Peer, f.Operation)
	}
}
