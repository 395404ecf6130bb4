package hypotheses

import (
	"fmt"
	"strings"
	"testing"
)

// TestLongestFewExplainNothing: of a heavy tail the longest few differ between any two draws, and are put back far. What
// may be that comes after what differs, however much it seems to explain.
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
	for heavy, chance := range map[int]bool{4: true, 25: false} {
		c, _ := compared(t, draw(2, 20), draw(heavy, 60))
		a := NewAsking(c)
		found := serviceTime.find(a)
		for i := range found {
			found[i].Explains = 10e6
			if found[i].Operation == "A" {
				found[i].Explains = 290e6
			}
		}
		a.doubtChance(found)
		order(found)
		for i, f := range found {
			if f.Operation == "A" && (f.byChance != chance || f.Doubtful != chance || (len(f.Warnings) > 1) != chance || (i == 0) == chance) {
				t.Errorf("A is slow in %d of 200 where it was in 2: by chance %v, at %d of %d", heavy, f.byChance, i, len(found))
			}
			if f.Operation == "B" && f.byChance {
				t.Error("B is slower in all requests: that is no chance")
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
