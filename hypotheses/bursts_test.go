package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// threads draws 1,200 requests of shop to a process of list that has so many threads, each held for 30 ms on average: 60 a second,
// or as many in bursts of a quarter of the time.
func threads(seed uint64, n int, bursts bool) string {
	rng := rand.New(rand.NewPCG(seed, 23))
	free := make([]int64, n)
	var b strings.Builder
	at := int64(0)
	for range 1200 {
		rate := 60.0
		if bursts {
			rate = 25
			if at%(1600*msNS) < 400*msNS {
				rate = 165
			}
		}
		at += int64(rng.ExpFloat64() * 1e9 / rate)
		k := 0
		for i := range free {
			if free[i] < free[k] {
				k = i
			}
		}
		from := max(at+300_000, free[k]+100_000)
		to := from + 20*msNS + rng.Int64N(20*msNS)
		free[k] = to
		fmt.Fprintf(&b, "shop GET_/ %d..%dns server host=s\n  shop GET_/list %d..%dns client host=s\n    list GET_/list %d..%dns server host=l\n\n", at-msNS, to+2*msNS, at, to+300_000, from, to)
	}
	return b.String()
}

// What arrives in bursts at as many threads waits as what arrives evenly at fewer: of sampled requests the bursts show, and that
// the baseline's arrivals would not wait so. Bursts that were there before are no reason, and nor are those that many threads
// would have served.
func TestBurstsOfSampledRequests(t *testing.T) {
	for seed := range uint64(3) {
		for _, x := range []struct {
			kind     string
			was, is  int // threads
			burst    [2]bool
			kept     float64
			strength []Strength
		}{
			{"load", 3, 3, [2]bool{false, true}, 0.4, []Strength{Weak, Moderate}},
			{"load", 3, 3, [2]bool{false, true}, 0.3, []Strength{Weak, Moderate}},
			{"server-queue", 8, 2, [2]bool{false, false}, 0.4, []Strength{Weak, Moderate, Strong}},
			{"server-queue", 8, 3, [2]bool{true, true}, 0.4, []Strength{Weak, Moderate, Strong}},
		} {
			base := someOf(threads(10*seed+1, x.was, x.burst[0]), x.kept, seed)
			_, r := comparedOf(t, int64(graph.OneRequest/x.kept), base, someOf(threads(10*seed+2, x.is, x.burst[1]), x.kept, seed+5))
			if f := first(t, r); f.Kind != x.kind || f.Service != "list" || !slices.Contains(x.strength, f.Strength) {
				t.Errorf("seed %d, %d threads where there were %d, bursts %v: %q", seed, x.is, x.was, x.burst, kinds(r))
			}
		}
	}
}
