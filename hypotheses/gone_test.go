package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/stats"
)

// A call that is gone is the cause of an improvement, and a call that only lost its spans, or has another name, is not.
func TestACallThatIsGone(t *testing.T) {
	// api works 8 to 12 ms around a call of ask, to name, if there is one, and hidden ms that no span shows.
	calling := func(seed uint64, name string, hidden float64, faster float64) string {
		return arriving(seed, 600, func(rng *rand.Rand, _ int, at float64) string {
			own := (8 + 4*rng.Float64()) * faster
			ms := latency(rng, 20)
			if name == "" {
				return span(at, own+hidden*ms, "host=h1")
			}
			return span(at, own+ms, "host=h1") + fmt.Sprintf("\n  api %s %.3f..%.3fms client host=h1\n    ads %s %.3f..%.3fms server host=h2", name, at+4, at+4+ms, name, at+4.1, at+3.9+ms)
		})
	}
	for _, x := range []struct {
		name, cur string
		verdict   stats.Outcome
		want      bool
		strength  Strength
	}{
		{"the call is gone", calling(2, "", 0, 1), stats.Improvement, true, Strong},
		{"its spans are, and something else got a little faster", calling(2, "", 1, 0.3), stats.Improvement, false, Weak},
		{"it is called another name and is faster", calling(2, "demand", 0, 0.3), stats.Improvement, false, Weak},
	} {
		c, r := compared(t, calling(1, "ask", 0, 1), x.cur)
		if c.Verdict.Outcome != x.verdict {
			t.Errorf("%s: verdict %s", x.name, c.Verdict.Outcome)
		}
		found := false
		for i := range r.Findings {
			f := &r.Findings[i]
			if f.Kind != "new-hop" {
				continue
			}
			if f.Check.Against {
				continue
			}
			found = i == 0 && f.Strength == x.strength && f.Service == "api" && f.Peer == "ads" && f.Explains > 10e6
		}
		if found != x.want {
			t.Errorf("%s: %d findings, first %+v", x.name, len(r.Findings), r.Findings[:min(1, len(r.Findings))])
		}
	}
}
