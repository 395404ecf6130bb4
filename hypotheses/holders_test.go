package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Requests of two kinds share the two workers of app. When the other kind calls a store that got slow, those that do not
// call it wait: its cause is no work of theirs.
func TestOthersHoldThePlaces(t *testing.T) {
	type load struct {
		list, store float64 // how long the work of each takes, in ms
		often       float64 // the share of requests that call the store
	}
	side := func(seed uint64, l load) string {
		rng := rand.New(rand.NewPCG(seed, 9))
		var b strings.Builder
		free := [2]float64{}
		at := float64(seed) * 3_600_000
		for range 1500 {
			at += 25 * rng.ExpFloat64()
			worker := 0
			if free[1] < free[0] {
				worker = 1
			}
			begun := max(at+1.2, free[worker]+0.05)
			if rng.Float64() < l.often {
				ms := l.store * (0.5 + rng.Float64())
				end := begun + 4 + ms
				fmt.Fprintf(&b, "api GET /file %.3f..%.3fms server host=h1\n  api GET /file %.3f..%.3fms client host=h1\n    app GET /file %.3f..%.3fms server host=h2\n      app get %.3f..%.3fms client peer.service=store host=h2\n\n",
					at, end+1.2, at+1, end+0.2, begun, end, begun+2, begun+2+ms)
				free[worker] = end
				continue
			}
			end := begun + l.list*(0.8+0.4*rng.Float64())
			fmt.Fprintf(&b, "api GET /a %.3f..%.3fms server host=h1\n  api GET /list %.3f..%.3fms client host=h1\n    app GET /list %.3f..%.3fms server host=h2\n\n", at, end+1.2, at+1, end+0.2, begun, end)
			free[worker] = end
		}
		return b.String()
	}
	was := load{list: 8, store: 15, often: 0.12}
	for _, x := range []struct {
		name string
		is   load
		want bool
	}{
		{"the store is slow", load{8, 150, 0.12}, true},
		{"the list itself is slow", load{26, 15, 0.12}, false},
		{"the store is called by more requests", load{8, 15, 0.8}, false},
	} {
		c, r := compared(t, side(1, was), side(2, x.is))
		if op := c.Reading.Dict.String(c.Endpoint.Name.Operation); op != "GET /a" {
			t.Fatalf("endpoint %s", op)
		}
		if len(r.Findings) == 0 {
			t.Errorf("%s: nothing found", x.name)
			continue
		}
		f := r.Findings[0]
		if got := f.Kind == "service-time" && f.Service == "app" && f.Peer == "store" && f.Operation == "get"; got != x.want {
			t.Errorf("%s: first is %s %s %s → %s %s: %s", x.name, f.Strength, f.Kind, f.Service, f.Peer, f.Operation, f.Claim)
		}
		for _, f := range r.Findings {
			if f.places != nil && !x.want {
				t.Errorf("%s: and %s", x.name, f.Claim)
			}
		}
	}
}
