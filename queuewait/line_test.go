package queuewait

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A caller that takes 1 to 15 ms by itself before each call, and then waits for one of two connections; client spans begin
// when there is one. Which calls waited is known by the places that were held, and so is how long on average: what the
// caller takes by itself varies far too much to be taken off as the least that it takes.
func TestWaitsAreToldFromWorkOfTheCallerByTheirTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	s := trace.NewStore(trace.NewTables())
	free := [2]int64{}
	at, waited := int64(0), 0.0
	const n = 1500
	var calls [n]struct{ at, asked int64 }
	for i := range calls {
		at += int64(rng.ExpFloat64() * 22 * msNS)
		calls[i].at, calls[i].asked = at, at+msNS+rng.Int64N(14*msNS)
	}
	slices.SortFunc(calls[:], func(a, b struct{ at, asked int64 }) int { return cmp.Compare(a.asked, b.asked) })
	for i := range calls {
		at, asked := calls[i].at, calls[i].asked
		p := 0
		if free[1] < free[0] {
			p = 1
		}
		given := max(asked, free[p])
		done := given + 20*msNS + rng.Int64N(20*msNS)
		free[p] = done
		waited += float64(given-asked) / n
		text := fmt.Sprintf("teller GET %d..%dns server\n  teller SELECT %d..%dns client db.system=pg server.address=vault\n", at, done+2*msNS, given, done)
		if err := tracetest.Add(s, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	d := data(s)
	o := NewOwners([2]*Data{nil, d}, floorsOf(d))
	var v *Verdict
	for _, x := range o.All() {
		if x.Key.Site == Lead {
			v = x
		}
	}
	if v == nil || v.Owner != ClientWait || v.Sides[1].Limit != 2 {
		t.Fatalf("%+v", v)
	}
	if got := v.Sides[1].Wait; math.Abs(got-waited) > 0.03*waited {
		t.Errorf("calls wait %.2f ms on average, want %.2f", got/1e6, waited/1e6)
	}
	var likely, least, most float64
	for _, r := range d.Records {
		c := &r.Calls[1]
		ns := int64(c.Client.Start - r.Start())
		wait, floor := o.Lead(1, r, 1, ns)
		likely, least, most = likely+float64(wait)/n, least+float64(ns-floor.Hi)/n, most+float64(ns-floor.Lo)/n
	}
	if math.Abs(likely-v.Sides[1].Wait) > 1 || least > waited || waited > most || most-least > 0.2*waited {
		t.Errorf("%.2f ms, from %.2f to %.2f, where calls waited %.2f", likely/1e6, least/1e6, most/1e6, waited/1e6)
	}
}
