package hypotheses

import (
	"fmt"
	"testing"
)

func TestAFewMoreOfTheRequestsThatCallOftenAreNotMoreCalls(t *testing.T) {
	// One request in fifty calls ten times. It happens to be 4 of 200 in one set and 7 in the other; each call is slower.
	shop := func(often, ms int) string {
		return repeat(200, func(i, at int) string {
			n := 1
			if i < often {
				n = 10
			}
			text := fmt.Sprintf("shop POST_/order %d..%dms server\n", at, at+10+n*ms)
			for k := range n {
				text += fmt.Sprintf("  shop UPDATE %d..%dms client db.system=pg\n", at+5+k*ms, at+5+(k+1)*ms)
			}
			return text
		})
	}
	_, r := compared(t, shop(4, 5), shop(7, 40))
	if f := first(t, r); f.Kind != "service-time" || f.Operation != "UPDATE" {
		t.Errorf("first: %s %s", f.Kind, f.Operation)
	}
	for _, f := range r.Findings {
		if f.Kind == "call-count" {
			t.Error("call-count, of a mean that chance moves as much")
		}
	}

	// The look-alike: every request calls more often.
	_, r = compared(t, shop(0, 5), shop(200, 5))
	if f := first(t, r); f.Kind != "call-count" {
		t.Errorf("ten calls each where it was one: first is %s", f.Kind)
	}
}

func TestInternalSpansArePartsOfTheWorkAroundThem(t *testing.T) {
	api := func(parse, render int) string {
		return repeat(40, func(_, at int) string {
			return fmt.Sprintf("api GET_/x %d..%dms server\n  api parse %d..%dms\n  api render %d..%dms\n",
				at, at+20+parse+render, at+10, at+10+parse, at+10+parse, at+10+parse+render)
		})
	}
	_, r := compared(t, api(10, 10), api(60, 50))
	if f := first(t, r); f.Kind != "service-time" || f.Operation != "GET_/x" || !near(f.Explains, 90e6, 0.02) {
		t.Errorf("both parts are slower: first is %s %s, %.0f ns", f.Kind, f.Operation, f.Explains)
	}
	if len(r.Findings) != 1 {
		t.Errorf("%d causes, want the work once", len(r.Findings))
	}
	_, r = compared(t, api(10, 10), api(100, 10))
	if f := first(t, r); f.Kind != "service-time" || f.Operation != "parse" {
		t.Errorf("one part is slower: first is %s %s", f.Kind, f.Operation)
	}
}

func TestCallsThatTimeOutBecauseAllAreSlower(t *testing.T) {
	// A tenth of the calls hangs until 100 ms; or all take five times as long, some of them until 100 ms.
	calls := func(took func(i int) int) string {
		return repeat(200, func(i, at int) string {
			ms, end := took(i), ""
			if ms >= 100 {
				ms, end = 100, " error error.type=timeout"
			}
			return fmt.Sprintf("api GET_/x %d..%dms server\n  api FETCH %d..%dms client%s\n", at, at+20+ms, at+10, at+10+ms, end)
		})
	}
	usual := func(i int) int { return 10 + i%15 }
	_, r := compared(t, calls(usual), calls(func(i int) int {
		if i%10 == 0 {
			return 100
		}
		return usual(i)
	}))
	if f := first(t, r); f.Kind != "timeout-plateau" {
		t.Errorf("a tenth hangs: first is %s", f.Kind)
	}
	_, r = compared(t, calls(usual), calls(func(i int) int { return 5 * usual(i) }))
	if f := first(t, r); f.Kind == "timeout-plateau" {
		t.Errorf("all are slower: first is %s", f.Kind)
	}
}
