package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTheNearestRivalIsNamed: an instance is slow, and so is the service's work. The check that tells the two apart stands with both,
// and speaks against the one that comes after.
func TestTheNearestRivalIsNamed(t *testing.T) {
	draw := func(slow, all int) string {
		return repeat(200, func(i, at int) string {
			ms := 10 + i%7 + all
			if i%4 == 1 {
				ms += slow
			}
			return fmt.Sprintf("front GET_/x %d..%dms server\n  front GET_/y %d..%dms client\n    back GET_/y %d..%dms server resource.service.instance.id=b%d\n", at, at+ms+6, at+1, at+ms+5, at+2, at+ms+4, i%4)
		})
	}
	_, r := compared(t, draw(0, 0), draw(60, 0))
	f := first(t, r)
	if f.Kind != "instance" || f.Instance != "b1" || f.Strength != Strong || f.Check.Rival != "service-time: GET_/y of back: all instances are slower" {
		t.Errorf("one instance is slow: first is %s %s, %v, against %q", f.Kind, f.Instance, f.Strength, f.Check.Rival)
	}
	for _, o := range r.Findings[1:] {
		if o.Kind == "service-time" && (o.Strength != Weak || !o.Check.Against || o.Check.Rival != "instance: b1 of back" || o.Check.IfRival != f.Check.IfThis) {
			t.Errorf("the service's work is %v, against %q: %q", o.Strength, o.Check.Rival, o.Check.Outcome)
		}
	}
	// The look-alikes: all instances are slow, so that there is no such rival; and something else is slow as well, that
	// explains other milliseconds.
	_, r = compared(t, draw(0, 0), draw(0, 60))
	if f := first(t, r); f.Kind != "service-time" || f.Strength != Strong || !strings.HasPrefix(f.Check.Rival, "contention: it is") {
		t.Errorf("all instances are slow: first is %s, %v, against %q", f.Kind, f.Strength, f.Check.Rival)
	}
	two := func(a, b int) string {
		return repeat(100, func(i, at int) string {
			a, b := a+i%5, b+i%3
			return fmt.Sprintf("api GET_/x %d..%dms server\n  api A %d..%dms client\n    a A %d..%dms server\n  api B %d..%dms client\n    b B %d..%dms server\n", at, at+a+b+10,
				at+1, at+a+3, at+2, at+a+2, at+a+4, at+a+b+6, at+a+5, at+a+b+5)
		})
	}
	_, r = compared(t, two(10, 10), two(60, 50))
	for _, f := range r.Findings {
		if f.Kind != "service-time" || len(f.Against) > 0 || f.Open {
			t.Errorf("%s of %s is open: against it %v", f.Kind, f.Service, f.Against)
		}
	}
	if len(r.Findings) != 2 {
		t.Errorf("%d causes of two", len(r.Findings))
	}
}

// TestWhatSpeaksAgainstStaysSaid: that others beside it lengthen work more than before speaks against longer work, whatever
// else explains the same time and is refuted.
func TestWhatSpeaksAgainstStaysSaid(t *testing.T) {
	for _, against := range []bool{true, false} {
		f := Finding{Kind: "service-time", Explains: 10, Check: Check{Rival: "contention: only among others", Ran: true, Against: against}}
		g := Finding{Kind: "retries", Explains: 8, Check: Check{Rival: "service-time: attempts are slower", Ran: true, Against: true}}
		if f.nearest(&g, 8, false); f.Check.Against != against || strings.HasPrefix(f.Check.Rival, "contention") != against {
			t.Errorf("its own check speaks against it: %v; now %v, against %q", against, f.Check.Against, f.Check.Rival)
		}
	}
}

// TestOneInstanceOfMany: each request asks forty instances at once and waits for the last, so that all of them together have
// more of a change than the slow one has, by chance; put back without it they have nothing.
func TestOneInstanceOfMany(t *testing.T) {
	draw := func(seed uint64, slow, all int) string {
		rng := rand.New(rand.NewPCG(seed, 5))
		return repeat(300, func(i, at int) string {
			var b strings.Builder
			last := 0
			for k := range 20 {
				ms := 5 + int(6*rng.ExpFloat64()) + all
				if k == 3 {
					ms += slow * (1 + i%3)
				}
				last = max(last, ms)
				fmt.Fprintf(&b, "  front GET_/y %d..%dms client\n    back GET_/y %d..%dms server resource.service.instance.id=b%d\n", at+1, at+ms+5, at+2, at+ms+4, k)
			}
			return fmt.Sprintf("front GET_/x %d..%dms server\n%s", at, at+last+6, &b)
		})
	}
	_, r := compared(t, draw(1, 0, 0), draw(2, 15, 0))
	if f := first(t, r); f.Kind != "instance" || f.Instance != "b3" {
		t.Errorf("one instance is slow: first is %s %s", f.Kind, f.Instance)
	}
	for _, o := range r.Findings[1:] {
		if o.Kind == "service-time" && o.Service == "back" && (o.Strength != Weak || !o.Check.Against) {
			t.Errorf("the service's work is %v, against %q: %q", o.Strength, o.Check.Rival, o.Check.Outcome)
		}
	}
	// The look-alike: all are slower, and one more than the others.
	_, r = compared(t, draw(1, 0, 0), draw(2, 4, 30))
	if f := first(t, r); f.Kind != "service-time" || f.Service != "back" {
		t.Errorf("all instances are slow: first is %s %s", f.Kind, f.Instance)
	}
	// Nor is it that instance alone where the others, one after the other, became slower by nearly as much together.
	series := func(slow, all int) string {
		return repeat(200, func(i, at int) string {
			var b strings.Builder
			from := at + 1
			for k := range 4 {
				ms := 8 + (i+k)%5 + all
				if k == 0 {
					ms += slow - all
				}
				fmt.Fprintf(&b, "  front GET_/y %d..%dms client\n    back GET_/y %d..%dms server resource.service.instance.id=b%d\n", from, from+ms+2, from+1, from+ms+1, k)
				from += ms + 3
			}
			return fmt.Sprintf("front GET_/x %d..%dms server\n%s", at, from, &b)
		})
	}
	_, r = compared(t, series(0, 0), series(60, 17))
	if f := first(t, r); f.Kind != "service-time" || f.Service != "back" {
		t.Errorf("all instances are slow, one after the other: %q", kinds(r))
	}
}
