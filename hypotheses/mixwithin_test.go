package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A tenant that comes more often comes for larger things as well: the mix of two attributes is the cause, whole, where the
// shares of either alone leave a part of it to slower work. Where the same requests of the tenant are slower, they are.
func TestMixWithinAValue(t *testing.T) {
	side := func(seed uint64, tenant, large, slower float64) string {
		rng := rand.New(rand.NewPCG(seed, 6))
		var b strings.Builder
		at := float64(seed) * 3_600_000
		for range 2500 {
			at += 30 * rng.ExpFloat64()
			who, size, ms := fmt.Sprintf("t%d", 2+rng.IntN(4)), "small", 20.0
			share := 0.4
			if rng.Float64() < tenant {
				who, share = "t1", large
			}
			if rng.Float64() < share {
				size, ms = "large", 24
				if who == "t1" {
					ms = 100
				}
			}
			if who == "t1" {
				ms *= slower
			}
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server tenant=%s size=%s\n\n", at, at+ms*(0.6+0.8*rng.Float64()), who, size)
		}
		return b.String()
	}
	was := side(1, 0.06, 0.2, 1)
	_, r := compared(t, was, side(2, 0.16, 0.8, 1))
	f := first(t, r)
	if f.Kind != "mix-shift" || f.Attribute != "tenant" || f.Value != "t1" || f.within == nil {
		t.Fatalf("first is %s %s of %s%s=%s", f.Strength, f.Kind, f.Service, f.Attribute, f.Value)
	}
	if whole := f.Explains + r.Left.NS; f.Explains < 0.8*whole {
		t.Errorf("it explains %.1f of %.1f ms", f.Explains/1e6, whole/1e6)
	}
	if got := f.Evidence[2].Statement; got != "of these, requests with size=large" {
		t.Error(got)
	}
	_, r = compared(t, was, side(3, 0.06, 0.2, 1.9))
	if f := first(t, r); f.Kind != "service-time" {
		t.Errorf("the tenant's own are slower: first is %s %s=%s", f.Kind, f.Attribute, f.Value)
	}
	_, r = compared(t, was, side(4, 0.2, 0.2, 1))
	if f := first(t, r); f.Kind != "mix-shift" || f.within != nil {
		t.Errorf("more of the same: first is %s of %s, within %v", f.Kind, f.Value, f.within)
	}
}

// Calls are more and none is longer: that of a request's sum is no longer work. Each longer is.
func TestMoreCallsAreNoLongerWork(t *testing.T) {
	side := func(seed uint64, calls int, ms float64) string {
		rng := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		at := float64(seed) * 3_600_000
		for range 700 {
			at += 60 * rng.ExpFloat64()
			size := 1 + 0.3*rng.NormFloat64() // of all calls of a request together
			size = max(0.5, size*size)
			var list strings.Builder
			last := 0.0
			for range calls {
				x := ms * size * (0.5 + rng.ExpFloat64())
				last = max(last, x)
				fmt.Fprintf(&list, "  web GET /part %.3f..%.3fms client\n    shard GET /part %.3f..%.3fms server\n", at+1, at+1.4+x, at+1.2, at+1.2+x)
			}
			fmt.Fprintf(&b, "web GET /a %.3f..%.3fms server\n%s\n", at, at+3+last, list.String())
		}
		return b.String()
	}
	was := side(1, 5, 8)
	_, r := compared(t, was, side(2, 30, 8))
	f := first(t, r)
	if f.Kind != "fan-out" {
		t.Errorf("first is %s %s of %s", f.Strength, f.Kind, f.Service)
	}
	for _, g := range r.Findings {
		if g.Kind == "service-time" && g.Service == "shard" && g.Strength != Weak {
			t.Errorf("%s %s explains %.1f ms", g.Strength, g.Kind, g.Explains/1e6)
		}
	}
	_, r = compared(t, was, side(3, 5, 14))
	if f := first(t, r); f.Kind != "service-time" || f.Service != "shard" || !strings.Contains(f.Evidence[0].Statement, "per call") {
		t.Errorf("first is %s %s of %s: %s", f.Strength, f.Kind, f.Service, f.Evidence[0].Statement)
	}
}
