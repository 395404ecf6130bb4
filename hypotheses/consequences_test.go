package hypotheses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/queuewait"
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

func TestATimeoutIsToldWhereItIsWaitedOut(t *testing.T) {
	// One charge in twenty hangs until 100 ms. Its callers answer 504, or try once more.
	draw := func(hang bool, again bool) string {
		return repeat(400, func(i, at int) string {
			ms := 10 + i%15
			if !hang || i%20 > 0 {
				end := at + 20 + ms
				return fmt.Sprintf("gate GET_/x %d..%dms server\n  gate POST_/buy %d..%dms client\n    shop POST_/buy %d..%dms server\n      shop POST_/charge %d..%dms client peer.service=bank\n",
					at, end, at+2, end-2, at+3, end-3, at+8, at+8+ms)
			}
			late := "client error error.type=timeout peer.service=bank"
			if again {
				end := at + 20 + 100 + 30 + ms
				return fmt.Sprintf("gate GET_/x %d..%dms server\n  gate POST_/buy %d..%dms client\n    shop POST_/buy %d..%dms server\n      shop POST_/charge %d..%dms %s\n      shop POST_/charge %d..%dms client peer.service=bank http.request.resend_count=1\n",
					at, end, at+2, end-2, at+3, end-3, at+8, at+108, late, at+138, at+138+ms)
			}
			end, code := at+20+100, "error http.response.status_code=504"
			return fmt.Sprintf("gate GET_/x %d..%dms server %s\n  gate POST_/buy %d..%dms client %s\n    shop POST_/buy %d..%dms server %s\n      shop POST_/charge %d..%dms %s\n",
				at, end, code, at+2, end-2, code, at+3, end-3, code, at+8, at+108, late)
		})
	}
	for _, again := range []bool{false, true} {
		_, r := compared(t, draw(false, again), draw(true, again))
		if f := first(t, r); f.Kind != "timeout-plateau" || f.Service != "shop" || f.Peer != "bank" {
			t.Errorf("tried again %v: first is %s of %s → %s", again, f.Kind, f.Service, f.Peer)
		}
	}

	// The look-alike: the attempts fail at once, and the time is that of what follows.
	fails := repeat(400, func(i, at int) string {
		ms := 10 + i%15
		if i%20 > 0 {
			return fmt.Sprintf("shop GET_/x %d..%dms server\n  shop POST_/charge %d..%dms client peer.service=bank\n", at, at+20+ms, at+10, at+10+ms)
		}
		return fmt.Sprintf("shop GET_/x %d..%dms server\n  shop POST_/charge %d..%dms client error error.type=503 peer.service=bank\n  shop POST_/charge %d..%dms client peer.service=bank http.request.resend_count=1\n",
			at, at+120+ms, at+10, at+15, at+110, at+110+ms)
	})
	well := repeat(400, func(i, at int) string {
		ms := 10 + i%15
		return fmt.Sprintf("shop GET_/x %d..%dms server\n  shop POST_/charge %d..%dms client peer.service=bank\n", at, at+20+ms, at+10, at+10+ms)
	})
	_, r := compared(t, well, fails)
	if f := first(t, r); f.Kind != "retries" {
		t.Errorf("attempts that fail at once: first is %s", f.Kind)
	}
}

func TestWhoseTheWaitIsWhereNoModelRuns(t *testing.T) {
	side := func(wait, hold, rate, peak, bursts float64, limit int) *queuewait.Side {
		return &queuewait.Side{N: 1000, Wait: wait, Hold: hold, PerSecond: rate, Peak: peak, Bursts: bursts, Limit: limit, Shown: true}
	}
	few := func(s *queuewait.Side, n int) *queuewait.Side {
		s.N, s.Shown = n, false
		return s
	}
	for _, x := range []struct {
		name           string
		was, is        *queuewait.Side
		hold, arrivals float64
	}{
		{"more calls at the same limit", side(1e6, 20e6, 20, 30, 1, 4), side(9e6, 21e6, 30, 45, 1, 4), 0, 1},
		{"as many calls in bursts", side(1e6, 20e6, 20, 30, 1, 4), side(9e6, 21e6, 20, 70, 9, 4), 0, 1},
		{"longer holds", side(1e6, 20e6, 20, 30, 1, 4), side(9e6, 40e6, 20, 30, 1, 4), 1, 0},
		{"both: half as many again, for twice as long", side(1e6, 20e6, 20, 30, 1, 4), side(9e6, 40e6, 30, 45, 1, 4), math.Ln2 / math.Log(3), math.Log(1.5) / math.Log(3)},
		{"a smaller limit", side(1e6, 20e6, 20, 30, 1, 4), side(9e6, 21e6, 30, 45, 1, 2), 0, 0},
		{"a third more calls, of the few that an overload lets through", few(side(1e6, 20e6, 30, 40, 1, 0), 400), few(side(69e6, 20e6, 42, 0, 0, 0), 24), 0, 0},
		{"a third more calls, of many", few(side(1e6, 20e6, 30, 40, 1, 0), 400), few(side(69e6, 20e6, 42, 60, 1, 0), 500), 0, 1},
		{"nothing but the wait", side(1e6, 20e6, 20, 30, 1, 4), side(9e6, 21e6, 20, 31, 1.1, 4), 0, 0},
	} {
		b := &queue{v: &queuewait.Verdict{Sides: [2]*queuewait.Side{x.was, x.is}}}
		if b.shares(); math.Abs(b.hold-x.hold) > 1e-9 || math.Abs(b.arrivals-x.arrivals) > 1e-9 {
			t.Errorf("%s: holds %g, arrivals %g", x.name, b.hold, b.arrivals)
		}
	}
}

func TestAProcessThatWaitsForAPlaceDoesNotStandStill(t *testing.T) {
	// Requests of 36 a second put something into a database that takes 24 ms.
	draw := func(places int) string {
		rng := rand.New(rand.NewPCG(7, 8))
		free := make([]float64, places)
		var b strings.Builder
		at := 0.0
		for range 900 {
			at += rng.ExpFloat64() * 28
			p := slices.Index(free, slices.Min(free))
			from := max(at+3, free[p]+0.05)
			free[p] = from + 22 + 4*rng.Float64()
			fmt.Fprintf(&b, "shop GET_/x %.3f..%.3fms server\n  shop INSERT %.3f..%.3fms client db.system=pg\n\n", at, free[p]+0.1, from, free[p])
		}
		return b.String()
	}
	_, r := compared(t, draw(10), draw(1))
	for _, f := range r.Findings {
		if f.Kind == "pause" {
			t.Errorf("%s", f.Claim)
		}
	}
	if len(r.Findings) == 0 {
		t.Error("no cause")
	}
}
