package hypotheses

import (
	"fmt"
	"testing"
)

// lookups draws requests of which those that miss look up, the lookup an internal span: of each ten as many as miss. What
// is not seen is work of the span around it.
func lookups(miss, seen int, lookup string) string {
	return repeat(100, func(i, at int) string {
		ms := 20 + i%7
		text := ""
		if i*7%10 < miss {
			if i*7%10 < seen {
				text = fmt.Sprintf("\n    posts %s %d..%dms internal", lookup, at+12, at+12+60)
			}
			ms += 60
		}
		return fmt.Sprintf("web GET_/feed %d..%dms server\n  posts GET_/posts %d..%dms server%s", at, at+ms+6, at+3, at+3+ms, text)
	})
}

// Part of a service's own work, with a span, that more requests do is a cause, and not where only its spans are new, or
// where the spans are waits.
func TestOwnWorkDoneMoreOften(t *testing.T) {
	_, r := compared(t, lookups(3, 9, "find"), lookups(8, 9, "find"))
	f := first(t, r)
	if f.Kind != "call-count" || f.Service != "posts" || f.Peer != "posts" || f.Operation != "find" || f.Strength != Strong {
		t.Errorf("first is %s of %s, %s %s, %v", f.Kind, f.Service, f.Peer, f.Operation, f.Strength)
	}
	for _, row := range []struct{ what, base, cur string }{
		{"spans of what was always done", lookups(8, 3, "find"), lookups(8, 8, "find")},
		{"spans of what was always done, and more of it", lookups(7, 1, "find"), lookups(8, 8, "find")},
		{"waits", lookups(3, 9, "pool.acquire"), lookups(8, 9, "pool.acquire")},
	} {
		_, r := compared(t, row.base, row.cur)
		for _, f := range r.Findings {
			if f.Kind == "call-count" || f.Kind == "fan-out" {
				t.Errorf("%s: %s", row.what, f.Claim)
			}
		}
	}
}
