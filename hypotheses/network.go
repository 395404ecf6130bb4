package hypotheses

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
)

var network = Cause{
	Doc: Doc{
		Kind:     "network",
		Title:    "the way between caller and callee",
		Claim:    "The time between client and server span grew for every call, on the way there and on the way back; or single calls are held up on the way.",
		Supports: "The least gap of the edge rose, not only its mean, on both ways or on one; all edges of one service show it where its host sends late. Or answers of one callee come late and those of others do not. Or calls that come later go by those that wait: lost packets, new connections and name resolution hold up one call each.",
		Refutes:  "The fastest calls are as fast as before and nobody passes those that wait, or all wait together.",
		Mimics:   "queues leave the fastest calls alone; pause moves the way back alone.",
		Emit:     "TCP retransmits and round-trip times between the two hosts.",
	},
	find: func(a *Asking) []Finding {
		var ways []way
		done := map[queuewait.EdgeKey]bool{}
		for j, p := range a.plans {
			q := a.request(j)
			for k := range p.Steps {
				s := &p.Steps[k]
				if s.Leave || s.Client() || !q.Calls[s.Call()].Paired() {
					continue
				}
				v := a.owner(q, s.Call(), queuewait.Between)
				if v == nil || v.Owner != queuewait.Network || done[v.Key] {
					continue
				}
				done[v.Key] = true
				w := way{v: v, slot: a.Relative(q, q.Calls[s.Call()].Slot)}
				w.caller, w.peer, w.op = a.names(w.slot)
				ways = append(ways, w)
			}
		}
		joint, rest := oneEnd(ways)
		var out []Finding
		if len(joint.ways) > 0 {
			out = append(out, a.jointFinding(joint))
		}
		for _, w := range rest {
			out = append(out, a.networkFinding(w))
		}
		return out
	},
}

// A way is an edge whose calls take longer on their way.
type way struct {
	v                *queuewait.Verdict
	slot             graph.SlotID
	caller, peer, op string
}

// cost is what the way takes longer now, of all its calls.
func (w *way) cost() float64 {
	return (w.v.Trips[1] - w.v.Trips[0]) * float64(w.v.Sides[1].N)
}

// always is whether every call takes longer on it, not single ones.
func (w *way) always() bool { return w.v.Passing == nil && w.v.OnlyTo == 0 && w.v.FromAll == 0 }

// An end is a service with all ways that lead to it or from it.
type end struct {
	service string
	ways    []way // the costliest to it first
}

// oneEnd finds the service that the most ways share, of two at least, on which every call takes longer: what slows the
// packets of one host slows those of all its calls and answers. The other ways are the rest.
func oneEnd(ways []way) (end, []way) {
	shared := map[string]int{}
	for _, w := range ways {
		if w.always() {
			shared[w.caller]++
			if w.peer != w.caller {
				shared[w.peer]++
			}
		}
	}
	var e end
	most := 1
	for _, service := range slices.Sorted(maps.Keys(shared)) {
		if shared[service] > most {
			most, e.service = shared[service], service
		}
	}
	var rest []way
	for _, w := range ways {
		if w.always() && most > 1 && (w.caller == e.service || w.peer == e.service) {
			e.ways = append(e.ways, w)
		} else {
			rest = append(rest, w)
		}
	}
	slices.SortStableFunc(e.ways, func(x, y way) int {
		to := func(w *way) int {
			if w.peer == e.service {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(to(&x), to(&y)), cmp.Compare(y.cost(), x.cost()))
	})
	return e, rest
}

// jointFinding is the network of one service: it names the costliest way to it, and puts all back.
func (a *Asking) jointFinding(e end) Finding {
	f := a.networkFinding(e.ways[0])
	f.Claim = prose.Sprintf("whatever goes to or from %s takes longer on its way: %d edges of it do, every call", e.service, len(e.ways))
	f.Evidence = nil
	of := map[*queuewait.Verdict]bool{}
	for _, w := range e.ways {
		of[w.v] = true
		f.Evidence = append(f.Evidence, numbers("spans", w.v.Sides[1].N, "ms", w.v.Trips[0]/1e6, w.v.Trips[1]/1e6, "mean time between client and server span, there and back, "+w.caller+" to "+w.peer))
	}
	f.Check.Question = "did the fastest calls of every edge of " + e.service + " become slower too?"
	f.Check.IfThis = "yes: the least gap of each moved"
	f.Factor = a.wayBack(func(v *queuewait.Verdict) bool { return of[v] })
	return f
}

// wayBack puts the way there and the way back of some edges back to what they were.
func (a *Asking) wayBack(of func(*queuewait.Verdict) bool) Factor {
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for k := range p.Steps {
			s := &p.Steps[k]
			if q.Calls[s.Call()].Paired() && s.Client() == s.Leave && of(a.owner(q, s.Call(), queuewait.Between)) {
				values[k] = a.back(a.key(q, s), s.NS, a.tie(j, k))
			}
		}
	}
}

func (a *Asking) networkFinding(w way) Finding {
	v, caller, peer, op := w.v, w.caller, w.peer, w.op
	is := v.Sides[1]
	f := Finding{Kind: "network", Service: caller, Peer: peer, Operation: op,
		Claim: fmt.Sprintf("the way between %s and %s takes longer for every call", caller, peer)}
	f.Evidence = append(f.Evidence, numbers("spans", is.N, "ms", v.Trips[0]/1e6, v.Trips[1]/1e6, "mean time between client and server span, there and back"))
	for _, t := range v.Tests {
		if t.Decided {
			f.Evidence = append(f.Evidence, says("spans", is.N, "%s", t.Statement))
			f.Check.Outcome = fmt.Sprintf("both ways together take %s on average where they took %s, and at the least more as well", prose.Ns(v.Trips[1]), prose.Ns(v.Trips[0]))
		}
	}
	f.Check.Question, f.Check.Rival = "did the fastest calls become slower too?", "a queue in the caller or the callee"
	f.Check.IfThis, f.Check.IfRival, f.Check.Ran = "yes: the least gap moved", "no: the fastest calls find no queue", true
	if x := v.Passing; x != nil {
		f.heldUp(v, caller, peer)
	} else if v.OnlyTo > 0 {
		f.Claim = fmt.Sprintf("answers of %s reach %s late, those of its other callees do not", peer, caller)
		f.Check.Question, f.Check.Rival = fmt.Sprintf("do the answers of other callees come to %s late as well?", caller), "pause: the caller reads its answers late"
		f.Check.IfThis, f.Check.IfRival = "no: what is lost or held up is on the way from "+peer, "yes: who stops reads no answer"
		f.Check.Outcome = prose.Sprintf("%d of them came as before", v.OnlyTo)
	} else if v.FromAll > 0 {
		f.Claim = fmt.Sprintf("answers of %s reach its callers late, %s too", peer, caller)
		f.Check.Question, f.Check.Rival = fmt.Sprintf("do the answers of %s come late to others as well?", peer), "pause: the caller reads its answers late"
		f.Check.IfThis, f.Check.IfRival = "yes: what is lost or held up is on the way from "+peer, "no: only who stops reads them late"
		f.Check.Outcome = prose.Sprintf("%d of them did", v.FromAll)
	}
	f.Factor = a.wayBack(func(o *queuewait.Verdict) bool { return o == v })
	return f
}

// heldUp says of a network that it is single calls that it holds up.
func (f *Finding) heldUp(v *queuewait.Verdict, caller, peer string) {
	x, was, is := v.Passing, v.Sides[0], v.Sides[1]
	f.Evidence = []Evidence{numbers("spans", is.N, "ms", was.Wait/1e6, is.Wait/1e6, "mean time between client and server span beyond the usual")}
	f.Claim = fmt.Sprintf("single calls from %s to %s are held up on the way, by %s in the median, while others go by", caller, peer, prose.Ns(float64(x.Median)))
	for _, t := range v.Tests {
		if t.Name == "passed" {
			f.Evidence = append(f.Evidence, says("spans", is.N, "%s", t.Statement))
		}
	}
	where := "on the way there alone: a connection or its TLS is set up, a name is asked for, or a proxy holds it; count new connections and time name resolution in " + caller
	switch {
	case x.There*4 < x.Back:
		where = "on the way back alone: answers that are lost and sent again, large ones, or a proxy that holds them; count the TCP retransmits of " + peer + " and compare the sizes of answers"
	case x.Back*4 >= x.There:
		where = "on the way back as often: what is lost is sent again; count the TCP retransmits between the two hosts"
	}
	f.Evidence = append(f.Evidence, says("spans", x.There+x.Back, "%s", where))
	if x.MayHaveStopped() {
		f.Doubtful = true
		f.Warnings = append(f.Warnings, "no other call was in service while they waited, and few came: a callee that stands still for so short looks the same")
	}
	f.Check.Question = "do calls that come later go by those that wait?"
	f.Check.IfThis, f.Check.IfRival = "yes: they wait no more often than all do", "no: in a queue those that come later wait as well"
	f.Check.Outcome = prose.Sprintf("%d of %d that came to the callee meanwhile waited", x.Waited[1], x.Behind[1])
}
