package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// replies draws 900 requests of api, two a second, which ask quick for half a millisecond, and then slow for 30 to 50. So
// often a second api stands still for 60 ms and sends and reads nothing; a part of the answers of slow is held up on its way
// for as long.
func replies(seed uint64, stops, lost float64) string {
	rng := rand.New(rand.NewPCG(seed, 37))
	type stop struct{ from, to int64 }
	var list []stop
	if stops > 0 {
		for at := int64(0); at < 600e9; {
			at += int64(rng.ExpFloat64() * 1e9 / stops)
			list = append(list, stop{at, at + 60*msNS})
			at += 60 * msNS
		}
	}
	goesOn := func(at int64) int64 {
		i, _ := slices.BinarySearchFunc(list, at, func(s stop, at int64) int { return int(s.from - at) })
		if i > 0 && at < list[i-1].to {
			return list[i-1].to
		}
		return at
	}
	var b strings.Builder
	at := int64(0)
	for range 900 {
		at += int64(rng.ExpFloat64() * 5e8)
		way := func() int64 { return 200_000 + rng.Int64N(50_000) }
		asked := goesOn(goesOn(at) + msNS)
		qb := asked + way()
		qe := qb + 500_000
		qr := goesOn(qe + way())
		again := goesOn(qr + 500_000)
		sb := again + way()
		se := sb + 30*msNS + rng.Int64N(20*msNS)
		reply := se + way()
		if rng.Float64() < lost {
			reply += 60 * msNS
		}
		sr := goesOn(reply)
		fmt.Fprintf(&b, "api GET_/ %d..%dns server host=a\n  api GET_/quick %d..%dns client host=a\n    quick GET_/quick %d..%dns server host=q\n  api GET_/slow %d..%dns client host=a\n    slow GET_/slow %d..%dns server host=s\n\n",
			at, goesOn(sr+msNS), asked, qr, qb, qe, again, sr, sb, se)
	}
	return b.String()
}

// A caller asks while it goes on, so that hardly a stop of it falls into a call that is answered at once: that those come in
// time says nothing of the answers that take long. Where it is those alone that are held up, others that last as long are not.
func TestLateRepliesOfLongCalls(t *testing.T) {
	for seed := range uint64(3) {
		base := someOf(replies(10*seed+1, 0, 0), 0.4, seed)
		_, r := comparedOf(t, graph.OneRequest*5/2, base, someOf(replies(10*seed+2, 1.5, 0), 0.4, seed+3))
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Kind == "network" && f.Strength != Weak {
				t.Errorf("seed %d, stops: %q", seed, kinds(r))
			}
		}
		_, r = comparedOf(t, graph.OneRequest*5/2, base, someOf(replies(10*seed+3, 0, 0.12), 0.4, seed+5))
		if f := first(t, r); f.Kind != "network" || f.Peer != "slow" {
			t.Errorf("seed %d, held up: %q", seed, kinds(r))
		}
	}
}
