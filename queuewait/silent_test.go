package queuewait

import (
	"math/rand/v2"
	"testing"
)

// A process that serves four calls a second is silent most of the time: no single stop of 200 ms can be told by its rate. That
// it does nothing in all of the time that calls wait for it can.
func TestStopsOfAQuietProcess(t *testing.T) {
	for _, x := range []struct {
		name string
		run  func() []servedCall
		want bool
	}{
		{"it stands still for 200 ms every 2 s", func() (calls []servedCall) {
			stand := func(at int64) int64 {
				if in := at % (2000 * msNS); in >= 900*msNS && in < 1100*msNS {
					return at - in + 1100*msNS + in%1000
				}
				return at
			}
			for i, at := range steady(11, 4, 200) {
				begun := stand(at + 200_000)
				ended := stand(begun + int64(4+i%5)*msNS)
				calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: ended + 200_000, done: ended + 300_000})
			}
			return calls
		}, true},
		{"it has one worker, which a report holds for 200 ms now and then", func() (calls []servedCall) {
			free := int64(0)
			for i, at := range steady(12, 4, 200) {
				op, hold := "quote", int64(4+i%5)*msNS
				if i%9 == 0 {
					op, hold = "report", 200*msNS
				}
				begun := max(at+200_000, free+50_000)
				free = begun + hold
				calls = append(calls, servedCall{op: op, at: at, begun: begun, ended: free, read: free + 200_000, done: free + 300_000})
			}
			return calls
		}, false},
		{"its calls come evenly, and one in eight asks for a name first, which takes 150 ms", func() (calls []servedCall) {
			rng := rand.New(rand.NewPCG(14, 1))
			for i := range int64(800) {
				at := i * 250 * msNS
				begun := at + 200_000
				if rng.IntN(8) == 0 {
					begun += 150 * msNS
				}
				ended := begun + (4+i%5)*msNS
				calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: ended + 200_000, done: ended + 300_000})
			}
			return calls
		}, false},
		{"one call in twelve asks for a name first, which takes 150 ms", func() (calls []servedCall) {
			rng := rand.New(rand.NewPCG(13, 1))
			for i, at := range steady(13, 4, 200) {
				begun := at + 200_000
				if rng.IntN(12) == 0 {
					begun += 150 * msNS
				}
				ended := begun + int64(4+i%5)*msNS
				calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: ended + 200_000, done: ended + 300_000})
			}
			return calls
		}, false},
	} {
		d := serving(t, x.run())
		o := NewOwners([2]*Data{nil, d}, floorsOf(d))
		n := 0
		for p, list := range o.Stops[1] {
			if d.Dict.String(d.Dict.ProcAt(p).Host) != "b" {
				t.Errorf("%s: stops of the caller: %v", x.name, list)
			}
			for i, s := range list {
				if s.Duration() >= 50*msNS {
					n++
				}
				if i > 0 && s.Start < list[i-1].End {
					t.Errorf("%s: stops overlap at %d", x.name, s.Start)
				}
			}
		}
		if got := n >= minSilent; got != x.want {
			t.Errorf("%s: %d stops", x.name, n)
		}
		for _, v := range o.All() {
			if v.Key.Site == Between && (v.Owner == Pause) != x.want {
				t.Errorf("%s: owner %s: %+v", x.name, v.Owner, v.Tests)
			}
		}
	}
}
