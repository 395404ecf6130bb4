package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// charges draws 900 requests of shop, twelve a second, to a process of pay that charges a card for 40 to 60 ms and then writes for
// 5: "free" beside each other, in a "lock", after 300 ms of "long" work of its own, or one request "single" at a time with
// 25 ms of such work.
func charges(seed uint64, how string) string {
	rng := rand.New(rand.NewPCG(seed, 19))
	var b strings.Builder
	at, free := int64(0), int64(0)
	for range 900 {
		at += int64(rng.ExpFloat64() * 1e9 / 12)
		asked := at
		begun := asked + 300_000
		own := 3*msNS + rng.Int64N(msNS)
		switch how {
		case "long":
			own += 200*msNS + rng.Int64N(200*msNS)
		case "single":
			begun = max(begun, free)
			own += 15*msNS + rng.Int64N(10*msNS)
		}
		from := begun + own
		if how == "lock" {
			from = max(from, free)
		}
		to := from + 40*msNS + rng.Int64N(20*msNS)
		wrote := to + 5*msNS
		end := wrote + 2*msNS
		switch how {
		case "lock":
			free = wrote
		case "single":
			free = end
		}
		fmt.Fprintf(&b, "shop GET_/ %d..%dns server host=s\n  shop POST_/pay %d..%dns client host=s\n    pay POST_/pay %d..%dns server host=p\n      pay POST_/charge %d..%dns client host=p peer.service=bank\n      pay INSERT %d..%dns client host=p peer.service=db\n\n",
			asked-msNS, end+2*msNS, asked, end+300_000, begun, end, from, to, to+100_000, wrote)
	}
	return b.String()
}

// Of sampled requests a lock shows all the same: no two of the calls that are known are made at once, and one of them is under
// way where others wait. Own work is no lock where calls meet, and nor is a process that has one request at a time.
func TestOneAtATimeSampled(t *testing.T) {
	for seed := range uint64(2) {
		base := someOf(charges(10*seed+1, "free"), 0.4, seed)
		for _, how := range []string{"lock", "long", "single"} {
			_, r := comparedOf(t, graph.OneRequest*5/2, base, someOf(charges(10*seed+2, how), 0.4, seed+3))
			f := first(t, r)
			if is := f.Kind == "contention"; is != (how == "lock") || is && (f.Service != "pay" || f.Operation != "POST_/pay") || how == "long" && (f.Kind != "service-time" || f.Service != "pay") {
				t.Errorf("seed %d, %s: %q", seed, how, kinds(r))
			}
		}
	}
}
