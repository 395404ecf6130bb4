package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// commands draws 600 requests of cart, two a second, each of which asks store for three things in turn, two of one kind, which
// take a millisecond times so much; with spans of the store's own or without.
func commands(seed uint64, get, set float64, spans bool) string {
	rng := rand.New(rand.NewPCG(seed, 31))
	var b strings.Builder
	at := int64(0)
	for range 600 {
		at += int64(rng.ExpFloat64() * 5e8)
		var calls strings.Builder
		t := at + msNS
		for _, c := range []struct {
			name  string
			times float64
		}{{"HGET", get}, {"HSET", set}, {"HGET", get}} {
			end := t + 200_000 + int64(rng.ExpFloat64()*c.times*1e6)
			fmt.Fprintf(&calls, "  cart %s %d..%dns client host=c peer.service=store\n", c.name, t, end)
			if spans {
				fmt.Fprintf(&calls, "    store %s %d..%dns server host=s\n", c.name, t+50_000, end-50_000)
			}
			t = end + 300_000
		}
		fmt.Fprintf(&b, "cart GET_/ %d..%dns server host=c\n%s\n", at, t+msNS, calls.String())
	}
	return b.String()
}

// What slows a callee slows all that it is asked for: one cause explains all of it. An operation that is slower alone is one by
// itself, and so are two that are slower for reasons of their own.
func TestSlowCalleeIsOneCause(t *testing.T) {
	for _, spans := range []bool{false, true} {
		base := commands(1, 1, 1, spans)
		for _, c := range []struct {
			name     string
			get, set float64
			all      bool
		}{
			{"all slower", 20, 20, true},
			{"one slower", 1, 40, false},
			{"one much slower, one a little", 1.6, 60, false},
		} {
			_, r := comparedOf(t, graph.OneRequest, base, commands(2, c.get, c.set, spans))
			f := first(t, r)
			change := r.Findings[0].Explains + r.Unexplained.NS
			if f.Kind != "service-time" || (f.Peer != "store" && f.Service != "store") || f.Explains < 0.8*change {
				t.Errorf("%s, spans %v: %q explains %.1f of %.1f ms", c.name, spans, kinds(r), f.Explains/1e6, change/1e6)
			}
			if several := strings.Contains(f.Claim, "other operation"); several != c.all || !c.all && f.Operation != "HSET" {
				t.Errorf("%s, spans %v: %s", c.name, spans, f.Claim)
			}
			n := 0
			for i := range r.Findings {
				if f := &r.Findings[i]; f.Kind == "service-time" && (f.Peer == "store" || f.Service == "store") {
					n++
				}
			}
			if c.all && n != 1 {
				t.Errorf("%s, spans %v: %d findings: %q", c.name, spans, n, kinds(r))
			}
		}
	}
}
