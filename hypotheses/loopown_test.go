package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// pages draws 2,000 requests of front, 60 a second, to two instances of api, each an event loop: a page takes a turn of 2 ms, asks
// users, and takes another. Every twentieth page has more to do then: it keeps the loop for 60 ms, or waits for as long as
// that for a timer and lets others go on. Or an instance stops for 60 ms every 700, whatever it is at; second turns take so long.
func pages(seed uint64, more, keeps, stops bool, second int64) string {
	rng := rand.New(rand.NewPCG(seed, 13))
	const every = 700 * msNS
	// goesOn is when a turn that is ready at a time begins, and ends is when one that takes so long ends.
	goesOn := func(at int64) int64 {
		if stops && at%every < 60*msNS {
			return at - at%every + 60*msNS
		}
		return at
	}
	ends := func(from, ns int64) int64 {
		if stops && from/every != (from+ns)/every {
			ns += 60 * msNS
		}
		return from + ns
	}
	type turn struct {
		ready int64
		page  int
		last  bool
	}
	const n = 2000
	var asked, begun, calls, answered, read, done [n]int64
	var host [n]int
	loops := [2][]turn{}
	at := int64(0)
	for i := range n {
		at += int64(rng.ExpFloat64() * 1e9 / 60)
		asked[i], host[i] = at, rng.IntN(2)
		loops[host[i]] = append(loops[host[i]], turn{at + 200_000, i, false})
	}
	for _, list := range loops {
		free := int64(0)
		for len(list) > 0 {
			next := 0
			for k := range list {
				if list[k].ready < list[next].ready {
					next = k
				}
				if list[k].ready > free && list[next].ready <= free {
					break
				}
			}
			t := list[next]
			list = slices.Delete(list, next, next+1)
			from := goesOn(max(t.ready, free))
			if !t.last {
				begun[t.page], calls[t.page] = from, ends(from, 2*msNS)
				free = calls[t.page]
				answered[t.page] = free + 60*msNS + rng.Int64N(60*msNS)
				list = append(list, turn{answered[t.page] + 200_000, t.page, true})
				continue
			}
			read[t.page], free = from, ends(from, second) // the call ends when its answer is read
			done[t.page] = free
			if more && t.page%20 == 0 {
				done[t.page] += 60 * msNS
				if keeps {
					free = done[t.page]
				}
			}
		}
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "front GET_/ %d..%dns server host=f\n  front GET_/feed %d..%dns client host=f\n    api GET_/feed %d..%dns server host=a%d\n      api GET_/users %d..%dns client host=a%d\n        users GET_/users %d..%dns server host=u\n\n",
			asked[i]-msNS, done[i]+2*msNS, asked[i], done[i]+200_000, begun[i], done[i], host[i], calls[i], read[i], host[i], calls[i]+200_000, answered[i])
	}
	return b.String()
}

// The own work of a page that keeps an event loop is its service time, with the waits of the pages that it kept from going on;
// where it lets others go on there are none.
func TestWorkThatKeepsItsEventLoop(t *testing.T) {
	base := pages(1, false, false, false, 3*msNS)
	for _, keeps := range []bool{true, false} {
		_, r := against(t, [2]string{base, pages(2, true, keeps, false, 3*msNS)}, [2][]word{})
		f := first(t, r)
		if f.Kind != "service-time" || f.Service != "api" || f.Operation != "GET_/feed" || keeps && f.Strength == Weak {
			t.Errorf("keeps the loop: %v; first is %s %s %s, %v", keeps, f.Kind, f.Service, f.Operation, f.Strength)
		}
		if told(&f, "it keeps the only thread") != keeps {
			t.Errorf("keeps the loop: %v; %+v", keeps, f.Evidence)
		}
	}
}

// someOf keeps a share of drawn requests.
func someOf(text string, share float64, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 17))
	var b strings.Builder
	for one := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if rng.Float64() < share {
			b.WriteString(one + "\n\n")
		}
	}
	return b.String()
}

// Of two requests in five it is known as well whether work keeps the loop: it is in flight in as many of the stops that others
// show. What stops the loop itself finds it at work as often as it is at work.
func TestWorkThatKeepsItsEventLoopSampled(t *testing.T) {
	for seed := range uint64(3) {
		for _, stops := range []bool{false, true} {
			second := int64(3 * msNS)
			if stops {
				second = 14 * msNS // every other time it is at work
			}
			base := someOf(pages(10*seed+1, false, false, false, second), 0.4, seed)
			_, r := comparedOf(t, graph.OneRequest*5/2, base, someOf(pages(10*seed+2, !stops, !stops, stops, second), 0.4, seed+7))
			f, want := first(t, r), "service-time"
			if stops {
				want = "pause"
			}
			if f.Kind != want || f.Service != "api" {
				t.Errorf("seed %d, the loop stops itself: %v; first is %s %s, %v", seed, stops, f.Kind, f.Service, f.Strength)
			}
			if told(&f, "it keeps the only thread") == stops {
				t.Errorf("seed %d, the loop stops itself: %v; %+v", seed, stops, f.Evidence)
			}
		}
	}
}
