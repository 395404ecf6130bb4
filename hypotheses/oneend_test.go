package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A haul is how long messages and a store take besides: of a message, of a call's connection, and of the store's work.
type haul struct {
	message, connect func(from, to string, rng *rand.Rand) int64
	store            func(rng *rand.Rand) int64
	stops            func(at int64) int64 // when front and stock, which stand still together, go on
	several          bool                 // front and stock are two processes each, and named so
}

// stocktaking draws 500 requests of front, one in 0.4 s, to stock, which asks prices, offers and a store that has no spans.
func stocktaking(seed uint64, h haul) string {
	rng := rand.New(rand.NewPCG(seed, 77))
	var b strings.Builder
	at := int64(seed) * 3600e9
	message := func(from, to string) int64 {
		ns := 150_000 + rng.Int64N(100_000)
		if h.message != nil {
			ns += h.message(from, to, rng)
		}
		return ns
	}
	goesOn := func(at int64) int64 {
		if h.stops != nil {
			return h.stops(at)
		}
		return at
	}
	asks := func(from, to string) int64 {
		ns := message(from, to)
		if h.connect != nil {
			ns += h.connect(from, to, rng)
		}
		return ns
	}
	for range 500 {
		at += int64(rng.ExpFloat64() * 4e8)
		front, stock := "front", "stock"
		if h.several {
			front, stock = fmt.Sprint(front, rng.IntN(2)), fmt.Sprint(stock, rng.IntN(2))
		}
		asked := goesOn(at + msNS)
		begun := goesOn(asked + asks(front, stock))
		now := begun + msNS
		var in strings.Builder
		for _, to := range []string{"prices", "offers"} {
			from := now + asks(stock, to)
			until := from + 2*msNS + rng.Int64N(2*msNS)
			got := goesOn(until + message(to, stock))
			fmt.Fprintf(&in, "      stock GET_/%s %d..%dns client host=%s\n        %s GET_/%s %d..%dns server host=%s\n", to, now, got, stock, to, to, from, until, to)
			now = got + msNS/2
		}
		got := now + asks(stock, "store") + msNS + rng.Int64N(msNS) + message("store", stock)
		if h.store != nil {
			got += h.store(rng)
		}
		fmt.Fprintf(&in, "      stock find %d..%dns client host=%s db.system=mongodb server.address=store\n", now, got, stock)
		ended := got + msNS
		read := ended + message(stock, front)
		fmt.Fprintf(&b, "front GET_/ %d..%dns server host=%s\n  front GET_/stock %d..%dns client host=%s\n    stock GET_/stock %d..%dns server host=%s\n%s\n", at, read+msNS, front, asked, read, front, begun, ended, stock, in.String())
	}
	return b.String()
}

// What slows, or holds up at times, the packets of one host does so to all its calls and answers, those of a store without
// spans among them: one cause, of which each edge alone would explain little. A store that is slow by itself is not in it.
func TestNetworkOfOneHost(t *testing.T) {
	between := func(service, from, to string) bool { return from == service || to == service }
	lost := func(service string, share float64) func(string, string, *rand.Rand) int64 {
		return func(from, to string, rng *rand.Rand) int64 {
			ns := int64(0)
			for wait := int64(200 * msNS); between(service, from, to) && rng.Float64() < share; wait *= 2 {
				ns += wait
			}
			return ns
		}
	}
	far := func(service, peer string) func(string, string, *rand.Rand) int64 {
		return func(from, to string, rng *rand.Rand) int64 {
			if between(service, from, to) && (peer == "" || between(peer, from, to)) {
				return 18*msNS + rng.Int64N(4*msNS)
			}
			return 0
		}
	}
	slow := func(share float64, ms int64) func(*rand.Rand) int64 {
		return func(rng *rand.Rand) int64 {
			if rng.Float64() < share {
				return ms*msNS*9/10 + rng.Int64N(ms*msNS/5)
			}
			return 0
		}
	}
	connecting := func(from, _ string, rng *rand.Rand) int64 {
		if from == "stock" && rng.Float64() < 0.06 {
			return 1000 * msNS
		}
		return 0
	}
	for _, c := range []struct {
		name          string
		haul          haul
		kind          string
		service, peer string
		whole         bool // it explains nearly all of the rise
		store         bool // the store's calls are in it
	}{
		{"packets of stock get lost", haul{message: lost("stock", 0.06)}, "network", "front", "stock", true, true},
		{"connections of stock are slow to come", haul{connect: connecting}, "network", "stock", "prices", true, true},
		{"stock is far from all", haul{message: far("stock", "")}, "network", "front", "stock", true, true},
		{"the store is slow at times", haul{store: slow(0.1, 200)}, "service-time", "stock", "store", true, false},
		{"the store is slow", haul{store: slow(1, 40)}, "service-time", "stock", "store", true, false},
		{"stock is far from front, and the store slow", haul{message: far("front", "stock"), store: slow(1, 400)}, "service-time", "stock", "store", false, false},
		{"packets of front get lost, and the store is slow at other times", haul{message: lost("front", 0.04), store: slow(0.3, 1500)}, "service-time", "stock", "store", false, false},
		{"packets of stock get lost, and the store is slow at other times", haul{message: lost("stock", 0.04), store: slow(0.4, 1500)}, "service-time", "stock", "store", false, false},
		{"packets of front get lost, and the store is slow a little", haul{message: lost("front", 0.06), store: slow(0.1, 20)}, "network", "front", "stock", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := against(t, [2]string{stocktaking(1, haul{}), stocktaking(2, c.haul)}, [2][]word{})
			f := first(t, r)
			if f.Kind != c.kind || f.Service != c.service || f.Peer != c.peer {
				t.Errorf("first is %s of %s to %s, %s", f.Kind, f.Service, f.Peer, f.Claim)
			}
			if left := r.Left.NS; c.whole && (f.Strength == Weak || f.Explains < 4*(f.Explains+left)/5) {
				t.Errorf("%s, explains %.3g ms, and %.3g ms are left", f.Strength, f.Explains/1e6, left/1e6)
			}
			store := false
			for _, f := range r.Findings {
				if f.Kind == "network" {
					for _, e := range f.Evidence {
						store = store || strings.Contains(e.Statement, "to store")
					}
				}
			}
			if store != c.store {
				t.Errorf("the store's calls are part of the network: %v", store)
			}
		})
	}
}

// A network that is longer, or loses packets, for one process of several leaves the least time of all calls as it was.
func TestNetworkOfOneProcess(t *testing.T) {
	far := func(processes ...string) func(string, string, *rand.Rand) int64 {
		return func(from, to string, rng *rand.Rand) int64 {
			if slices.Contains(processes, from) || slices.Contains(processes, to) {
				return 18*msNS + rng.Int64N(4*msNS)
			}
			return 0
		}
	}
	lost := func(from, to string, rng *rand.Rand) int64 {
		if (from == "stock1" || to == "stock1") && rng.Float64() < 0.12 {
			return 200 * msNS
		}
		return 0
	}
	for _, c := range []struct {
		name          string
		way           func(string, string, *rand.Rand) int64
		service, peer string
		instance      string
		claim         string
	}{
		{"a caller", far("front1"), "front", "stock", "front1", "one process of front"},
		{"a callee, which calls others", far("stock1"), "front", "stock", "stock1", "one process of stock"},
		{"both callers", far("front0", "front1"), "front", "stock", "", "takes longer for every call"},
		{"packets of a callee get lost", lost, "front", "stock", "", "single calls to or from stock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := against(t, [2]string{stocktaking(1, haul{several: true}), stocktaking(2, haul{several: true, message: c.way})}, [2][]word{})
			f := first(t, r)
			if f.Kind != "network" || f.Service != c.service || f.Peer != c.peer || f.Instance != c.instance || !strings.Contains(f.Claim, c.claim) {
				t.Errorf("first is %s of %s to %s on %q: %s", f.Kind, f.Service, f.Peer, f.Instance, f.Claim)
			}
			if f.Strength == Weak {
				t.Errorf("it is weak: %v", f.Warnings)
			}
		})
	}
}

// What stands still with all its processes at once, as a host that is taken away for a while, holds calls up on both ways.
func TestHostThatStopsIsNoNetwork(t *testing.T) {
	for _, every := range []int64{1700, 5300} {
		stops := func(at int64) int64 {
			if from := at / (every * msNS) * every * msNS; at < from+250*msNS {
				return from + 250*msNS
			}
			return at
		}
		_, r := against(t, [2]string{stocktaking(1, haul{}), stocktaking(2, haul{stops: stops})}, [2][]word{})
		if len(r.Findings) > 0 && r.Findings[0].Kind == "network" && r.Findings[0].Strength == Strong {
			t.Errorf("every %d ms: first is %s %s: %s", every, r.Findings[0].Strength, r.Findings[0].Kind, r.Findings[0].Claim)
		}
	}
}
