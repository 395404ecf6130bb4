package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// A store answers the calls of two processes. Its work takes 5 to 25 ms times factor, and begins when one of so many connections
// of the caller's process is free; places 0 is enough. If it is shared, each other call at the store when one begins makes that
// longer by the part.
type store struct {
	places int
	factor float64
	shared float64
}

func (s store) draw(seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 5))
	var b strings.Builder
	var free [2][]int64
	var busy []int64
	at := int64(0)
	for range 600 {
		at += int64(rng.ExpFloat64() * 1e9 / 50)
		process := rng.IntN(2)
		begun := at
		if s.places > 0 {
			if len(free[process]) == s.places {
				begun = max(at, free[process][0])
				free[process] = free[process][1:]
			}
		}
		busy = slices.DeleteFunc(busy, func(end int64) bool { return end <= at })
		end := begun + int64((5+20*rng.Float64())*1e6*s.factor*(1+s.shared*float64(len(busy))))
		busy = append(busy, end)
		free[process] = append(free[process], end)
		slices.Sort(free[process])
		fmt.Fprintf(&b, "shop GET_/x %d..%dns server resource.service.instance.id=s%d\n  shop SELECT %d..%dns client db.system=pg peer.service=db resource.service.instance.id=s%d\n\n", at-1e6, end+1e6, process, at, end, process)
	}
	return b.String()
}

// A wait for a connection within client spans is told without metrics: the first in line is as fast as before, and the others
// wait as long as a pool of some size makes them. A store that is slower, or slower the more it has to do, is none.
func TestAPoolIsToldByWhoIsFirstInLine(t *testing.T) {
	before := store{factor: 1}
	for _, x := range []struct {
		name     string
		is       store
		weight   int64
		kind     string
		claim    string
		strength Strength
	}{
		{"one connection", store{1, 1, 0}, 1, "client-wait", "had 1 connection", Moderate},
		{"a slower store", store{0, 2, 0}, 1, "service-time", "", Moderate},
		{"a store that is shared", store{0, 1, 0.8}, 1, "service-time", "", Moderate},
		{"one connection, a tenth known", store{1, 1, 0}, 10, "service-time", "", Weak},
	} {
		for seed := range uint64(6) {
			_, r := comparedOf(t, x.weight*graph.OneRequest, before.draw(2*seed), x.is.draw(2*seed+1))
			f := first(t, r)
			if f.Kind != x.kind || f.Peer != "db" || !strings.Contains(f.Claim, x.claim) || f.Strength > x.strength {
				t.Errorf("%s, seed %d: %q: %s", x.name, seed, kinds(r), f.Claim)
			}
			for _, o := range r.Findings[1:] {
				if o.Kind == "client-wait" || x.kind == "client-wait" && o.Kind == "service-time" && o.Strength != Weak {
					t.Errorf("%s, seed %d: %s is %v", x.name, seed, o.Kind, o.Strength)
				}
			}
		}
	}
}
