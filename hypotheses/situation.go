package hypotheses

import (
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/queuewait"
)

// ByMix is the share of the rise of a queue's wait that other requests bring, not
// more of them.
func (r *Ranking) ByMix(v *queuewait.Verdict) float64 {
	if r.asking == nil {
		return 0
	}
	for _, b := range r.asking.queues() {
		if b.v == v {
			return b.mix
		}
	}
	return 0
}

// Hedged is how the current hedged calls of an edge went; ok is false where none
// was hedged.
func (r *Ranking) Hedged(caller, peer, operation string) (h latework.HedgeTable, ok bool) {
	if r.asking == nil {
		return h, false
	}
	for _, t := range r.asking.targets() {
		if c, p, op := r.asking.names(t.slot); t.sides[1].hedged > 0 && c == caller && p == peer && op == operation {
			return r.asking.hedged(t).HedgeTable, true
		}
	}
	return h, false
}
