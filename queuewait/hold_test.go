package queuewait

import (
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// A call that got its place at 10 and ended at 90 held it for 80, by clocks that are known to 2; by clocks that are known to 50
// it did for the 60 of its server span and 3 each way. Without a server span its own clock is all there is.
func TestHoldByClocksThatAreKnown(t *testing.T) {
	c := Call{Asked: 0, Given: 10, Done: 90, Served: trace.Interval{Start: 1015, End: 1075}, Callee: 1, OneWay: 3, Slack: 2}
	for _, x := range []struct {
		slack  int64
		callee graph.ProcID
		want   int64
	}{{2, 1, 80}, {50, 1, 66}, {50, graph.NoProc, 80}} {
		c.Slack, c.Callee = x.slack, x.callee
		if got := c.hold(); got != x.want {
			t.Errorf("clocks known to %d, callee %d: held for %d, want %d", x.slack, x.callee, got, x.want)
		}
	}
}
