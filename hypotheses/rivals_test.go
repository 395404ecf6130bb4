package hypotheses

import (
	"fmt"
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
