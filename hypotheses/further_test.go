package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A callee with four workers: what each request calls more often, all at once, queues there, and is no load; where requests
// come more often it is, and where both are so both have a part.
func TestWhoseMoreCallsQueue(t *testing.T) {
	side := func(seed uint64, every float64, calls int) string {
		rng := rand.New(rand.NewPCG(seed, 12))
		var b strings.Builder
		at, free := float64(seed)*3_600_000, [4]float64{}
		for range 1500 {
			at += every * rng.ExpFloat64()
			end := at
			var text strings.Builder
			for range calls {
				came := at + 1 + 0.2*rng.Float64()
				w := slices.Index(free[:], slices.Min(free[:]))
				begun := max(came+0.3, free[w]+0.1)
				free[w] = begun + 6 + 8*rng.Float64()
				end = max(end, free[w]+0.4)
				fmt.Fprintf(&text, "  web GET /part %.3f..%.3fms client host=h1\n    app GET /part %.3f..%.3fms server host=h2\n", came, free[w]+0.3, begun, free[w])
			}
			fmt.Fprintf(&b, "web GET /a %.3f..%.3fms server host=h1\n%s\n", at, end+1, text.String())
		}
		return b.String()
	}
	was := side(1, 24, 2)
	for _, x := range []struct {
		name  string
		every float64
		calls int
		first string
		load  bool
	}{
		{"six calls where it was two", 24, 6, "fan-out", false},
		{"three times the requests", 8, 2, "load", true},
		{"both", 17, 4, "fan-out", true},
	} {
		_, r := compared(t, was, side(2, x.every, x.calls))
		f := first(t, r)
		if f.Kind != x.first || f.Strength == Weak {
			t.Errorf("%s: first is %s %s of %s", x.name, f.Strength, f.Kind, f.Service)
		}
		at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Kind == "load" })
		if at >= 0 != x.load {
			t.Errorf("%s: load is number %d", x.name, at+1)
		}
	}
}

// Eight calls where it was one share the processors of their callee, so that each takes longer: the further calls come
// first. Calls that take longer and are as many as they were do so themselves.
func TestFurtherCallsLengthenEach(t *testing.T) {
	side := func(seed uint64, calls int, ms float64) string {
		rng := rand.New(rand.NewPCG(seed, 13))
		var b strings.Builder
		at := float64(seed) * 3_600_000
		for range 900 {
			at += 40 + 60*rng.Float64()
			last := 0.0
			var text strings.Builder
			for range calls {
				x := ms * (0.6 + 0.4*rng.ExpFloat64()) * (1 + float64(calls)/24)
				last = max(last, x)
				fmt.Fprintf(&text, "  web GET /part %.3f..%.3fms client host=h1\n    app GET /part %.3f..%.3fms server host=h2\n", at+1, at+1.6+x, at+1.3, at+1.3+x)
			}
			fmt.Fprintf(&b, "web GET /a %.3f..%.3fms server host=h1\n%s\n", at, at+3+last, text.String())
		}
		return b.String()
	}
	was := side(1, 1, 10)
	_, r := compared(t, was, side(2, 8, 10))
	if f := first(t, r); f.Kind != "fan-out" {
		t.Errorf("eight calls where it was one: first is %s of %s", f.Kind, f.Service)
	}
	_, r = compared(t, was, side(3, 1, 20))
	if f := first(t, r); f.Kind != "service-time" || f.Service != "app" {
		t.Errorf("each call takes longer: first is %s of %s", f.Kind, f.Service)
	}
}
