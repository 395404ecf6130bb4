package hypotheses

import (
	"fmt"
	"testing"
)

// lookups draws requests of which those that miss look up, the lookup a span of the service; of those that are not seen it
// is work of the span around it. The entry itself takes ms.
func lookups(ms int, lookup string, misses, seen func(i int) bool) string {
	return repeat(100, func(i, at int) string {
		posts, text := 20+i%7, ""
		if misses(i) {
			posts += 60
			if seen(i) {
				text = fmt.Sprintf("\n    posts %s %d..%dms internal", lookup, at+12, at+12+60)
			}
		}
		return fmt.Sprintf("web GET_/feed %d..%dms server\n  posts GET_/posts %d..%dms server%s", at, at+posts+ms, at+3, at+3+posts, text)
	})
}

// Part of a service's own work, with a span, that more requests do is a cause, and not where only its spans are new, or
// where the spans are waits.
func TestOwnWorkDoneMoreOften(t *testing.T) {
	all := func(int) bool { return true }
	one := func(i int) bool { return i == 50 }
	some := func(i int) bool { return i%10 < 8 }
	_, r := compared(t, lookups(6, "find", one, all), lookups(6, "find", some, all))
	f := first(t, r)
	if f.Kind != "call-count" || f.Service != "posts" || f.Peer != "posts" || f.Operation != "find" || f.Strength != Strong {
		t.Errorf("first is %s of %s, %s %s, %v", f.Kind, f.Service, f.Peer, f.Operation, f.Strength)
	}
	for _, row := range []struct{ what, base, cur string }{
		{"spans of what was always done", lookups(6, "find", some, one), lookups(66, "find", some, all)},
		{"waits", lookups(6, "pool.acquire", one, all), lookups(6, "pool.acquire", some, all)},
	} {
		_, r := compared(t, row.base, row.cur)
		for _, f := range r.Findings {
			if f.Kind == "call-count" || f.Kind == "fan-out" {
				t.Errorf("%s: %s", row.what, f.Claim)
			}
		}
	}
}
