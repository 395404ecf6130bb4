package hypotheses

import (
	"strings"
	"testing"

	"github.com/tailscope/tailscope/queuewait"
)

func TestWhyAQueueHasMoreToDo(t *testing.T) {
	side := func(perSecond, peak, bursts float64, procs int) *queuewait.Side {
		return &queuewait.Side{PerSecond: perSecond, Peak: peak, Bursts: bursts, Plateau: queuewait.Plateau{Procs: procs}}
	}
	for _, x := range []struct {
		was, is *queuewait.Side
		says    string
	}{
		{side(108, 170, 1, 3), side(107, 172, 1, 1), "1 instance of accounts serves what 3 did: each gets 107 calls of GET /a a second where it got 36,"},
		{side(60, 90, 1, 4), side(60, 90, 1, 2), "2 instances of accounts serve what 4 did: each gets 30 calls"},
		{side(60, 90, 1, 4), side(120, 170, 1, 2), "GET /a gets 120 calls a second where it was 60,"},
		{side(60, 90, 1, 3), side(61, 240, 6, 6), "GET /a gets up to 240 calls in a second where it was 90,"},
		{side(60, 90, 1, 3), side(61, 90, 1, 3), "or gets them in bursts"},
	} {
		if got := moreToDo("GET /a", "accounts", x.was, x.is); !strings.Contains(got, x.says) {
			t.Errorf("%s; want %s", got, x.says)
		}
	}
}
