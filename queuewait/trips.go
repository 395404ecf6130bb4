package queuewait

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// trips are how long the callee had nothing in a place, of waits that ended after it had answered the same caller, and
// how long the way to it and back takes calls that did not wait. A place at the callee is taken by who waits there, at
// once. A connection of the caller is free when the answer has come back, and the next call has the way to go: the callee
// stays idle for a round trip, and no longer.
//
// A worker that takes just a round trip to wake up looks the same; one that takes longer leaves it open.
type trips struct {
	idle, way []trace.Time
	fine      bool // some time is no whole millisecond
}

const (
	// atOnce and around are the parts of a round trip up to which a place at the callee was taken at once and from which
	// it was free for a whole one; whole is the most that one is. The fastest tenth of both is compared.
	atOnce, around, whole = 0.4, 0.75, 1.6
	// minTrip is the shortest round trip that wake-ups of a process do not hide.
	minTrip = trace.Time(100_000)
)

// add adds the calls that did not wait.
func (t *trips) add(calls []Call) {
	for i := range calls {
		x := &calls[i]
		t.fine = t.fine || x.Served.Start%1_000_000 != 0 || x.Served.End%1_000_000 != 0
		if x.Wait == 0 {
			t.way = append(t.way, x.Done-x.Asked-trace.Time(x.Served.Duration()))
		}
	}
}

func (t *trips) says() (Owner, string) {
	if len(t.idle) < minWaits || len(t.way) < minWaits || !t.fine {
		return "", ""
	}
	fastest := func(list []trace.Time) trace.Time {
		slices.Sort(list)
		return list[len(list)/10]
	}
	idle, way := fastest(t.idle), fastest(t.way)
	if way < minTrip {
		return "", ""
	}
	part := float64(idle) / float64(way)
	text := fmt.Sprintf("; in the fastest tenth the callee was busy again %.2g of a round trip after it had answered", part)
	switch {
	case part <= atOnce:
		return ServerQueue, text
	case part >= around && part <= whole:
		return ClientWait, text
	}
	return "", text
}
