package hypotheses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// TestLongestFewExplainNothing: of a heavy tail the longest few differ between any two draws, and are put back far. What
// may be that comes after what differs, however much it seems to explain. Of many things that were asked about one differs as much.
func TestLongestFewExplainNothing(t *testing.T) {
	// Calls of A take 300 ms in 2 of 200 requests, or in some more.
	draw := func(heavy, b int) string {
		return repeat(200, func(i, at int) string {
			a := 10 + i%5
			if i%(200/heavy) == 7 {
				a = 300 + i%3
			}
			return fmt.Sprintf("api GET_/x %d..%dms server\n  api A %d..%dms client\n  api B %d..%dms client\n", at, at+a+b+i%4+3, at+1, at+1+a, at+1+a, at+1+a+b+i%4)
		})
	}
	for _, x := range []struct {
		heavy, others int
		chance        bool
	}{{4, 0, true}, {25, 0, false}, {12, 0, false}, {12, 20, true}, {25, 20, false}} {
		heavy, chance := x.heavy, x.chance
		c, _ := compared(t, draw(2, 20), draw(heavy, 60))
		a := NewAsking(c)
		found := serviceTime.find(a)
		for i := range found {
			found[i].Explains = 10e6
			if found[i].Operation == "A" {
				found[i].Explains = 290e6
			}
		}
		a.doubtChance(found, len(found)+x.others)
		order(found)
		for i, f := range found {
			if f.Operation == "A" && (f.byChance != chance || f.Doubtful != chance || (len(f.Warnings) > 1) != chance || (i == 0) == chance) {
				t.Errorf("A is slow in %d of 200 where it was in 2, and %d others are not: by chance %v, at %d of %d", heavy, x.others, f.byChance, i, len(found))
			}
			if f.Operation == "B" && f.byChance {
				t.Error("B is slower in all requests: that is no chance")
			}
		}
	}
}

// TestLongestOfOneKind: that seven of 210 requests are slower than all were is little among twenty things that were asked
// about, and much if all seven are of a kind that was not slow.
func TestLongestOfOneKind(t *testing.T) {
	draw := func(slow func(i int) bool) string {
		return repeat(210, func(i, at int) string {
			a, tier := 10+i%5, "standard"
			if i%30 == 7 {
				tier = "large"
			}
			if slow(i) {
				a = 120 + i%3
			}
			return fmt.Sprintf("api GET_/x %d..%dms server tier=%s\n  api A %d..%dms client\n", at, at+a+3, tier, at+1, at+1+a)
		})
	}
	was := draw(func(int) bool { return false })
	for _, x := range []struct {
		name   string
		slow   func(i int) bool
		chance bool
	}{
		{"of one kind", func(i int) bool { return i%30 == 7 }, false},
		{"of all kinds", func(i int) bool { return i%30 == 8 }, true},
	} {
		c, _ := compared(t, was, draw(x.slow))
		a := NewAsking(c)
		a.attributes = c.Attributes()
		found := serviceTime.find(a)
		a.doubtChance(found, len(found)+20)
		for _, f := range found {
			if f.Operation == "A" && f.byChance != x.chance {
				t.Errorf("%s: by chance %v", x.name, f.byChance)
			}
		}
	}
}

// TestStopsOfWhichFewCallsAreKnown: what was late at one time goes on together after a stop, and one after the other in a
// queue.
func TestStopsOfWhichFewCallsAreKnown(t *testing.T) {
	request := func(b *strings.Builder, at, begun int) {
		fmt.Fprintf(b, "front GET_/x %d..%dms server\n  front GET_/y %d..%dms client\n    back GET_/y %d..%dms server resource.service.instance.id=b1\n\n", at, begun+12, at+1, begun+11, begun, begun+10)
	}
	draw := func(begun func(k, at int) int) string {
		var b strings.Builder
		for i := range 40 {
			for k := range 3 {
				at := 2000*i + 50*k
				if i%8 == 3 {
					request(&b, at, begun(k, 2000*i))
				} else {
					request(&b, at, at+2)
				}
			}
		}
		return b.String()
	}
	quick := draw(func(k, at int) int { return at + 50*k + 2 })
	stops := func(begun func(k, at int) int) (n int, r *Ranking) {
		c, r := compared(t, quick, draw(begun))
		a := NewAsking(c)
		for _, list := range a.endings(1, a.delays(1)) {
			n += len(list)
		}
		return n, r
	}
	n, r := stops(func(k, at int) int { return at + 300 + k%2 })
	if n != 5 {
		t.Errorf("%d stops, want 5", n)
	}
	if f := first(t, r); f.Kind != "pause" || f.Service != "back" || f.Instance != "b1" {
		t.Errorf("calls that came at three times and began at one: first is %s of %s", f.Kind, f.Service)
	}
	n, r = stops(func(k, at int) int { return at + 300 + 80*k })
	for _, f := range r.Findings {
		if n > 0 || f.Kind == "pause" {
			t.Errorf("calls that began one after the other: %d stops, %s", n, f.Kind)
		}
	}
}

// TestSilentStarts: of calls of which 40 % are known those that began late mostly did so alone. Nothing ended before them, as
// it would in a queue, and all were late at one instance, as no lost packets are.
func TestSilentStarts(t *testing.T) {
	request := func(b *strings.Builder, at, begun, instance int) {
		fmt.Fprintf(b, "front GET_/x %d..%dms server\n  front GET_/y %d..%dms client\n    back GET_/y %d..%dms server resource.service.instance.id=b%d\n\n", at, begun+12, at+1, begun+11, begun, begun+10, instance)
	}
	// Of 240 calls, to two instances in turn, some are late: once two at the same time. released says that a call ends when
	// one that was late begins.
	draw := func(late func(i int) bool, released bool) string {
		var b strings.Builder
		for i := range 240 {
			at, instance := 500*i, i%2+1
			if !late(i) {
				request(&b, at, at+2, instance)
				continue
			}
			request(&b, at, at+300, instance)
			if i == 48 {
				request(&b, at+40, at+301, instance)
			}
			if released {
				request(&b, at+285, at+289, instance)
			}
		}
		return b.String()
	}
	never := func(int) bool { return false }
	one := func(i int) bool { return i > 0 && i%24 == 0 }
	for _, x := range []struct {
		name     string
		late     func(i int) bool
		released bool
		stops    bool
	}{
		{"late at one instance, in silence", one, false, true},
		{"late at one instance, when another call ends", one, true, false},
		{"late at both instances, in silence", func(i int) bool { return one(i) || i%24 == 13 }, false, false},
		{"late a few times, in silence", func(i int) bool { return i%80 == 48 }, false, false},
	} {
		c, _ := comparedOf(t, 5*graph.OneRequest/2, draw(never, false), draw(x.late, x.released))
		a := NewAsking(c)
		n := 0
		for p := range a.endings(1, a.delays(1)) {
			if a.Reading.Dict.String(a.instanceOf(p).service) == "back" {
				n++
			}
		}
		if (n > 0) != x.stops {
			t.Errorf("%s: %d processes stopped", x.name, n)
		}
	}
}
