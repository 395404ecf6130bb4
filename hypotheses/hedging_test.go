package hypotheses

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// asks draws 1,500 requests of shop, each with a call to the only worker of bank, whose span begins when a call comes, not when
// the worker takes it. A call takes work once it is taken, and is made a second time after so long while it is not answered,
// never if that is zero; the first answer counts.
func asks(seed uint64, work, again int64) string {
	rng := rand.New(rand.NewPCG(seed, 23))
	type call struct{ n, at, end, work int64 }
	var calls []call
	at := int64(0)
	for n := range int64(1500) {
		at += int64(rng.ExpFloat64() * 1e9 / 10)
		calls = append(calls, call{n: n, at: at, work: work/2 + rng.Int64N(work)})
		if again > 0 {
			calls = append(calls, call{n: n, at: at + again, work: work/2 + rng.Int64N(work)})
		}
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Compare(a.at, b.at) })
	made, answered := make([][]call, 1500), make([]int64, 1500)
	free := int64(0)
	for _, c := range calls {
		if end := answered[c.n]; end > 0 && end <= c.at {
			continue // no second is needed
		}
		c.end = max(c.at, free) + c.work
		free = c.end
		made[c.n] = append(made[c.n], c)
		if answered[c.n] == 0 || c.end < answered[c.n] {
			answered[c.n] = c.end
		}
	}
	var b strings.Builder
	for n, list := range made {
		fmt.Fprintf(&b, "shop GET_/ %d..%dns server host=s\n", list[0].at-2*msNS, answered[n]+2*msNS)
		for _, x := range list {
			fmt.Fprintf(&b, "  shop GET_/rate %d..%dns client host=s\n    bank GET_/rate %d..%dns server host=b\n", x.at, x.end+400_000, x.at+200_000, x.end+200_000)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Second attempts that make calls wait for a worker lengthen the callee's spans, and none of its work: they are the cause. Where
// the work itself takes longer, second attempts that begin when a call is late are its consequence.
func TestHedgesThatMakeCallsWaitWithinSpans(t *testing.T) {
	for seed := range uint64(2) {
		base := asks(10*seed+1, 30*msNS, 0)
		_, r := comparedOf(t, graph.OneRequest, base, asks(10*seed+2, 30*msNS, 2*msNS))
		f := first(t, r)
		if f.Kind != "hedging" || f.Peer != "bank" || f.Check.Against || f.Strength == Weak {
			t.Errorf("seed %d, hedged: %q, check against %v, %v: %s", seed, kinds(r), f.Check.Against, f.Strength, f.Check.Outcome)
		}
		_, r = comparedOf(t, graph.OneRequest, asks(10*seed+3, 30*msNS, 90*msNS), asks(10*seed+4, 45*msNS, 90*msNS))
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Kind == "hedging" && (i == 0 || !f.Check.Against) {
				t.Errorf("seed %d, slower: %q, check against %v: %s", seed, kinds(r), f.Check.Against, f.Check.Outcome)
			}
		}
	}
}
