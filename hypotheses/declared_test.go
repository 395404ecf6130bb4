package hypotheses

import (
	"fmt"
	"testing"
)

// drawWaits draws requests whose calls wait and then work, each for as long as it is told, as draw writes it.
func drawWaits(wait, work func(i int) int, draw func(at, wait, work int) string) string {
	return repeat(120, func(i, at int) string { return draw(at+i%7, wait(i), work(i)) })
}

func briefly(i int) int { return 1 + i%3 }

// oftenLong is long for one in five.
func oftenLong(i int) int {
	if i%5 == 0 {
		return 80 + i%11
	}
	return briefly(i)
}

func usual(i int) int { return 20 + i%4 }

// TestWaitsThatSpansSpeakOf: what a span itself calls a wait is one, also where the callee has no span; and it is the
// consequence of work that holds its place longer.
func TestWaitsThatSpansSpeakOf(t *testing.T) {
	const db = "client db.system.name=postgresql server.address=orders-db"
	events := func(at, wait, work int) string {
		return fmt.Sprintf("api GET_/x %d..%dms server\n  api SELECT %d..%dms "+db+" event=GetConn@%d event=GotConn@%d\n", at, at+wait+work+10, at+5, at+wait+work+5, at+5, at+5+wait)
	}
	attribute := func(at, wait, work int) string {
		return fmt.Sprintf("api GET_/x %d..%dms server\n  api SELECT %d..%dms "+db+" db.pool.wait_time_ms=%d\n", at, at+wait+work+10, at+5, at+wait+work+5, wait)
	}
	span := func(at, wait, work int) string {
		return fmt.Sprintf("api GET_/x %d..%dms server\n  api pool.acquire %d..%dms internal\n  api SELECT %d..%dms "+db+"\n", at, at+wait+work+10, at+5, at+5+wait, at+5+wait, at+wait+work+5)
	}
	alone := func(at, wait, work int) string {
		return fmt.Sprintf("api GET_/x %d..%dms server\n  api HikariPool.getConnection %d..%dms internal\n", at, at+wait+work+10, at+5, at+5+wait)
	}
	executor := func(at, wait, work int) string {
		return fmt.Sprintf("api GET_/x %d..%dms server event=enqueued@%d event=dequeued@%d\n", at, at+wait+work+10, at+1, at+1+wait)
	}
	slower := func(i int) int { return 3 * usual(i) }
	for _, c := range []struct {
		name       string
		draw       func(at, wait, work int) string
		wait, work func(int) int // now
		kind, peer string
		ms         float64 // explained at least
	}{
		{"events in the client span", events, oftenLong, usual, "client-wait", "orders-db", 70},
		{"attribute of the client span", attribute, oftenLong, usual, "client-wait", "orders-db", 70},
		{"span before the call", span, oftenLong, usual, "client-wait", "orders-db", 70},
		{"span without a call", alone, oftenLong, usual, "client-wait", "", 70},
		{"events in the server span", executor, oftenLong, usual, "server-queue", "", 70},
		{"the call itself is slower, by events", events, briefly, slower, "service-time", "orders-db", 35},
		{"the call itself is slower, by span", span, briefly, slower, "service-time", "orders-db", 35},
		{"the slower call fills the pool", events, oftenLong, slower, "service-time", "orders-db", 110},
		{"the slower call fills the pool, by span", span, oftenLong, slower, "service-time", "orders-db", 110},
		{"the work is slower, with a queue", executor, briefly, slower, "service-time", "", 35},
	} {
		_, r := compared(t, drawWaits(briefly, usual, c.draw), drawWaits(c.wait, c.work, c.draw))
		if f := first(t, r); f.Kind != c.kind || f.Service != "api" || f.Peer != c.peer || f.Explains < c.ms*1e6 {
			for i, f := range r.Findings {
				t.Log(i, f.Kind, f.Service, f.Peer, f.Operation, f.Explains/1e6, f.Strength, f.Check.Outcome)
			}
			t.Errorf("%s: %s of %s→%s explains %.0f ns, want %s of api→%s", c.name, f.Kind, f.Service, f.Peer, f.Explains, c.kind, c.peer)
		}
		for _, f := range r.Findings {
			if c.kind != "service-time" && f.Kind == "service-time" || c.kind == "service-time" && f.Kind == "client-wait" && f.Explains > 10e6 {
				t.Errorf("%s: the same time is %s too, %.0f ns of it", c.name, f.Kind, f.Explains)
			}
		}
	}
}
