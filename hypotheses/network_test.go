package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// errands draws 400 requests of front, one a second, to stock, which asks prices and then offers. way is how long a message takes
// besides 0.2 ms, and at which instant front goes on that has an answer.
func errands(seed uint64, way func(from, to string, rng *rand.Rand) int64, goesOn func(service string, at int64) int64) string {
	rng := rand.New(rand.NewPCG(seed, 21))
	var b strings.Builder
	at := int64(seed) * 3600e9 // an hour apart, for what clocks tell of one side says nothing of the other
	for range 400 {
		at += int64(rng.ExpFloat64() * 1e9)
		trip := func(from, to string, asked, work int64) (begun, ended, read int64) {
			begun = asked + 200_000 + rng.Int64N(100_000) + way(from, to, rng)
			ended = begun + work
			read = goesOn(from, ended+200_000+rng.Int64N(100_000)+way(to, from, rng))
			return begun, ended, read
		}
		work := func() int64 { return 3*msNS + rng.Int64N(3*msNS) }
		asked := at + msNS
		begun := asked + 200_000 + rng.Int64N(100_000) + way("front", "stock", rng)
		first := begun + msNS
		pb, pe, pr := trip("stock", "prices", first, work())
		second := pr + msNS
		ob, oe, or := trip("stock", "offers", second, work())
		ended := or + msNS
		read := goesOn("front", ended+200_000+rng.Int64N(100_000)+way("stock", "front", rng))
		fmt.Fprintf(&b, "front GET_/ %d..%dns server host=f\n  front GET_/stock %d..%dns client host=f\n    stock GET_/stock %d..%dns server host=s\n", at, read+msNS, asked, read, begun, ended)
		fmt.Fprintf(&b, "      stock GET_/prices %d..%dns client host=s\n        prices GET_/prices %d..%dns server host=p\n", first, pr, pb, pe)
		fmt.Fprintf(&b, "      stock GET_/offers %d..%dns client host=s\n        offers GET_/offers %d..%dns server host=o\n\n", second, or, ob, oe)
	}
	return b.String()
}

func inNoTime(string, string, *rand.Rand) int64 { return 0 }
func atOnce(_ string, at int64) int64           { return at }

// TestNetworkOfOneWay draws ways that one side of which became longer, where clocks cannot tell by how much, and callers that
// read their answers late.
func TestNetworkOfOneWay(t *testing.T) {
	after := func(from, to string, ms int64) func(string, string, *rand.Rand) int64 {
		return func(f, t string, rng *rand.Rand) int64 {
			if (from == "" || f == from) && (to == "" || t == to) {
				return ms*msNS*9/10 + rng.Int64N(ms*msNS/5)
			}
			return 0
		}
	}
	lost := func(from string) func(string, string, *rand.Rand) int64 {
		return func(f, _ string, rng *rand.Rand) int64 {
			if f == from && rng.Float64() < 0.15 {
				return 200 * msNS
			}
			return 0
		}
	}
	// stopping is a service that stands still for 250 ms of every 1.3 s.
	stopping := func(service string) func(string, int64) int64 {
		return func(s string, at int64) int64 {
			const every, long = 1300 * msNS, 250 * msNS
			if from := at / every * every; s == service && at < from+long {
				return from + long
			}
			return at
		}
	}
	// busy is a service that has something else to do before it reads an answer, for up to 16 ms.
	busy := func(service string) func(string, int64) int64 {
		return func(s string, at int64) int64 {
			if s == service {
				return at + at/1000*7919%(16*msNS)
			}
			return at
		}
	}
	for _, c := range []struct {
		name          string
		way           func(string, string, *rand.Rand) int64
		goesOn        func(string, int64) int64
		kind          string
		service, peer string
		evidence      string
	}{
		{"what one callee sends is late", after("prices", "", 40), atOnce, "network", "stock", "prices", "every call takes longer"},
		{"what is sent to one callee is late", after("stock", "offers", 40), atOnce, "network", "stock", "offers", "every call takes longer"},
		{"what one service sends is late, calls and answers", after("stock", "", 30), atOnce, "network", "front", "stock", "stock to prices"},
		{"answers of one callee get lost", lost("offers"), atOnce, "network", "stock", "offers", "answers of other callees came"},
		{"the caller is busy, and reads the answers of all late", inNoTime, busy("stock"), "pause", "stock", "", "read its replies late"},
		{"the caller stops, and reads the answers of all late", inNoTime, stopping("stock"), "pause", "stock", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := against(t, [2]string{errands(1, inNoTime, atOnce), errands(2, c.way, c.goesOn)}, [2][]word{})
			if len(r.Findings) == 0 {
				t.Fatal("no finding")
			}
			f := r.Findings[0]
			if f.Kind != c.kind || f.Service != c.service || f.Peer != c.peer {
				t.Errorf("first is %s of %s to %s, %s", f.Kind, f.Service, f.Peer, f.Claim)
			}
			for _, e := range f.Evidence {
				if strings.Contains(e.Statement, "there and back") && e.Cur < 20*e.Base {
					t.Errorf("%s: %.3g → %.3g ms", e.Statement, e.Base, e.Cur)
				}
				if strings.Contains(e.Statement, "are a consequence") {
					t.Errorf("nothing waits here, and yet: %s", e.Statement)
				}
			}
			said := false
			for _, e := range f.Evidence {
				said = said || strings.Contains(e.Statement, c.evidence)
			}
			if !said {
				t.Errorf("evidence says nothing of %q: %+v", c.evidence, f.Evidence)
			}
		})
	}
}

var stamps = regexp.MustCompile(`(\d+)\.\.(\d+)ns`)

// TestWholeMilliseconds cuts the times of all spans to whole milliseconds and calls them internal, as some exporters do: servers
// then begin before they are asked, which is no moved clock, and the border between services tells the halves of calls.
func TestWholeMilliseconds(t *testing.T) {
	cut := func(text string) string {
		text = strings.NewReplacer(" client ", " internal ", " server ", " internal ").Replace(text)
		return stamps.ReplaceAllStringFunc(text, func(s string) string {
			m := stamps.FindStringSubmatch(s)
			from, _ := strconv.ParseInt(m[1], 10, 64)
			to, _ := strconv.ParseInt(m[2], 10, 64)
			from, to = from/msNS*msNS, from/msNS*msNS+(to-from)/msNS*msNS
			return fmt.Sprintf("%d..%dns", from, to)
		})
	}
	late := func(from, _ string, rng *rand.Rand) int64 {
		if from == "prices" {
			return 36*msNS + rng.Int64N(8*msNS)
		}
		return 0
	}
	c, r := against(t, [2]string{cut(errands(1, inNoTime, atOnce)), cut(errands(2, late, atOnce))}, [2][]word{})
	if g := c.clockGuard(); g.Status != GuardOK {
		t.Errorf("guard clock: %+v", g)
	}
	if len(r.Findings) == 0 {
		t.Fatal("no finding")
	}
	if f := r.Findings[0]; f.Kind != "network" || f.Service != "stock" || f.Peer != "prices" {
		t.Errorf("first is %s of %s to %s, %s", f.Kind, f.Service, f.Peer, f.Claim)
	}
}

// Of a tenth of the requests nobody tells who lets go: what is sent late to one callee may be a queue that is never empty, and
// what it sends late may not.
func TestSampledNetworkOfOneWay(t *testing.T) {
	late := func(from, to string) func(string, string, *rand.Rand) int64 {
		return func(f, t string, rng *rand.Rand) int64 {
			if (from == "" || f == from) && (to == "" || t == to) {
				return 36*msNS + rng.Int64N(8*msNS)
			}
			return 0
		}
	}
	for _, c := range []struct {
		name     string
		way      func(string, string, *rand.Rand) int64
		kept     int64
		strength Strength
	}{
		{"what is sent to a callee, all kept", late("stock", "offers"), 1, Strong},
		{"what is sent to a callee, a tenth kept", late("stock", "offers"), 10, Weak},
	} {
		_, r := sampledAgainst(t, c.kept, [2]string{errands(1, inNoTime, atOnce), errands(2, c.way, atOnce)}, [2][]word{})
		if f := first(t, r); f.Strength != c.strength || c.strength != Weak && f.Kind != "network" {
			t.Errorf("%s: first is %s %s of %s", c.name, f.Strength, f.Kind, f.Service)
		}
	}
}
