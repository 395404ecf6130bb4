package queuewait

import (
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// limited is calls of one process that a queue of k places held; blur is by how much what is known of them is off.
func limited(k int, blur int64) []Call {
	rng := rand.New(rand.NewPCG(8, 9))
	free := make(freeTimes, k)
	var calls []Call
	at := int64(0)
	for range 3000 {
		at += int64(rng.ExpFloat64() * 10 * msNS)
		hold := int64(rng.ExpFloat64()*7*msNS)*int64(k) + msNS
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		given := max(at, free[first])
		free[first] = given + hold
		off := int64(0)
		if blur > 0 {
			off = rng.Int64N(blur)
		}
		calls = append(calls, Call{Asked: trace.Time(at), Given: trace.Time(given - off), Done: trace.Time(given + hold), Wait: given - at})
	}
	return calls
}

func levelOf(calls []Call) Plateau {
	return plateau(calls, func(c *Call) (graph.ProcID, trace.Interval) {
		return c.Caller, trace.Interval{Start: c.Given, End: c.Done}
	}, func(c *Call) trace.Interval { return trace.Interval{Start: c.Given - trace.Time(c.Wait), End: c.Given} })
}

// What is known of stretches in service is off by a little: a few reach beyond the limit together, now and then.
func TestALimitShowsThroughABlur(t *testing.T) {
	for _, k := range []int{1, 2, 4, 9} {
		for _, blur := range []int64{0, 300_000} {
			p := levelOf(limited(k, blur))
			if !p.Known() || !p.Level() || p.K < k || p.K > k+1 {
				t.Errorf("limit %d, blur %d: %+v", k, blur, p)
			}
		}
	}
}

// The look-alike: waits that no limit makes, of calls that come by chance.
func TestChanceIsNoLimit(t *testing.T) {
	calls := limited(9, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range calls {
		c := &calls[i]
		hold := c.Done - c.Given
		c.Wait = int64(rng.ExpFloat64() * 5 * msNS)
		c.Given = c.Asked + trace.Time(c.Wait)
		c.Done = c.Given + hold
	}
	if p := levelOf(calls); p.Level() {
		t.Errorf("%+v", p)
	}
}
