package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

// Six queries at once of a pool of three, where it was of twelve, each with a span of its wait beside it: with the waits gone the request is as fast as
// it was, though no query follows the span of its own wait alone. Queries that are longer, of the pool as it was, are no wait.
func TestWaitsBesideTheirSpans(t *testing.T) {
	side := func(seed uint64, size int, hold float64) string {
		rng := rand.New(rand.NewPCG(seed, 15))
		var b strings.Builder
		at, free := float64(seed)*3_600_000, make([]float64, size)
		for range 800 {
			at += 60 * rng.ExpFloat64()
			end := at
			var text strings.Builder
			fmt.Fprintf(&text, "  api GET /rank %.3f..%.3fms client peer.service=rank\n", at+1, at+2)
			for range 6 {
				k := slices.Index(free, slices.Min(free))
				begun := max(at+2, free[k])
				free[k] = begun + hold*(0.7+0.6*rng.Float64())
				end = max(end, free[k])
				fmt.Fprintf(&text, "  api pool.acquire %.3f..%.3fms internal\n  api pg.query %.3f..%.3fms client peer.service=pg\n", at+2, begun, begun, free[k])
				free[k] += 0.02
			}
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server\n%s\n", at, end+2, text.String())
		}
		return b.String()
	}
	was := side(1, 12, 12)
	_, r := compared(t, was, side(2, 3, 12))
	whole := r.Findings[0].Explains + r.Left.NS
	if f := r.Findings[0]; f.Kind != "client-wait" || f.Peer != "pg" || f.Strength != Strong || !near(f.Explains, whole, 0.15) {
		t.Errorf("%s %s → %s explains %.1f of %.1f ms", f.Strength, f.Kind, f.Peer, f.Explains/1e6, whole/1e6)
	}
	_, r = compared(t, was, side(3, 12, 24))
	if f := r.Findings[0]; f.Kind != "service-time" || f.Peer != "pg" {
		t.Errorf("longer queries: first is %s %s → %s", f.Strength, f.Kind, f.Peer)
	}
}
