package latework

import (
	"github.com/tailscope/tailscope/graph"
)

// Attempts counts the tries of one kind of logical call. Counts and times, in
// ns, are weighted.
type Attempts struct {
	Logical, Attempts, Retries, Hedges float64

	Duplicates float64 // retries that did what the attempt before had done
	Failed     float64 // attempts that failed, but for the losers of hedges
	FailedNS   float64
	BackoffNS  float64

	slot graph.SlotID
}

// Amplification is attempts per logical call.
func (a *Attempts) Amplification() float64 {
	if a.Logical == 0 {
		return 0
	}
	return a.Attempts / a.Logical
}

// Slot names the target: one that reached the callee, if any attempt did.
func (a *Attempts) Slot() graph.SlotID { return a.slot }

// An AttemptCounter counts the attempts of requests.
type AttemptCounter struct {
	Targets map[Target]*Attempts
	chain   []int32
}

// Add counts a record that w has walked. slot is what a call's slot is called
// by.
func (n *AttemptCounter) Add(w *graph.Walker, r *graph.Record, weight float64, slot func(graph.SlotID) graph.SlotID) {
	if n.Targets == nil {
		n.Targets = map[Target]*Attempts{}
	}
	n.chain = Chains(w.Dict, r, n.chain)
	of := func(i int32) *Attempts {
		s := slot(r.Calls[i].Slot)
		k := TargetOf(w.Dict, s)
		t := n.Targets[k]
		if t == nil {
			t = &Attempts{slot: s}
			n.Targets[k] = t
		}
		if named, was := w.Dict.SlotAt(s).Callee.Service != 0, w.Dict.SlotAt(t.slot).Callee.Service != 0; named && !was || named == was && s < t.slot {
			t.slot = s
		}
		return t
	}
	for i := 1; i < len(r.Calls); i++ {
		c := &r.Calls[i]
		if !c.Client.Seen() {
			continue
		}
		t := of(int32(i))
		t.Attempts += weight
		switch {
		case c.Flags&graph.Retry != 0:
			t.Retries += weight
		case c.Flags&graph.Hedge != 0:
			t.Hedges += weight
		default:
			t.Logical += weight
		}
		if c.ClientEnd != graph.Succeeded && c.Flags&graph.Loser == 0 {
			t.Failed += weight
			t.FailedNS += weight * float64(c.Client.Duration())
		}
		if p := n.chain[i]; c.Flags&graph.Retry != 0 && p >= 0 && Duplicate(&r.Calls[p], c) {
			t.Duplicates += weight
		}
	}
	for _, s := range w.Path {
		if s.Kind == graph.Backoff && s.Next >= 0 {
			of(s.Next).BackoffNS += weight * float64(s.End-s.Start)
		}
	}
}

// Duplicate reports whether a retry did what the attempt before it had done,
// though its client believed that it had failed.
func Duplicate(before, retry *graph.Call) bool {
	done := func(c *graph.Call) bool { return c.Work.Seen() && c.WorkEnd == graph.Succeeded }
	return before.OuterEnd() != graph.Succeeded && done(before) && done(retry)
}

// Fits reports whether a retry is worth its while: what is left covers the
// backoff, a useful attempt and the reserve that its caller needs to answer. All
// in ns.
func Fits(left, backoff, attempt, reserve int64) bool { return left >= backoff+attempt+reserve }
