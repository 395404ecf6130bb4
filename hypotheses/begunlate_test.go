package hypotheses

import (
	"fmt"
	"testing"
)

// A callee is overloaded: a few calls are served after a wait that grows, all others are given up after 200 ms. Where it begins
// with those later all the same, they waited there; where it never sees them, nothing says that they did.
func TestCallsThatAreBegunAfterTheirCallerLeft(t *testing.T) {
	draw := func(over, seen bool) string {
		return repeat(200, func(i, at int) string {
			ms := 12 + i%7
			if !over || i%40 < 2 {
				wait := 0
				if over {
					wait = 20 + i%90
				}
				return fmt.Sprintf("front GET_/x %d..%dms server host=f\n  front GET_/y %d..%dms client host=f\n    back GET_/y %d..%dms server host=b\n", at, at+ms+wait+5, at+1, at+ms+wait+4, at+wait+2, at+wait+ms+3)
			}
			text := fmt.Sprintf("front GET_/x %d..%dms server host=f error http.response.status_code=504\n  front GET_/y %d..%dms client host=f error error.type=timeout\n", at, at+203, at+1, at+201)
			if seen {
				text += fmt.Sprintf("    back GET_/y %d..%dms server host=b\n", at+400+10*(i%40), at+400+10*(i%40)+ms)
			}
			return text
		})
	}
	base := draw(false, true)
	_, r := compared(t, base, draw(true, true))
	if f := first(t, r); f.Kind != "server-queue" || f.Service != "back" || f.Strength == Weak || !told(&f, "after the caller had left") {
		t.Errorf("begun late: %q %+v", kinds(r), f.Evidence)
	}
	_, r = compared(t, base, draw(true, false))
	for _, f := range r.Findings {
		if told(&f, "after the caller had left") || f.Kind == "server-queue" && f.Strength != Weak {
			t.Errorf("never begun: %q %+v", kinds(r), f.Evidence)
		}
	}
}
