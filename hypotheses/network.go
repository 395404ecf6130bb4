package hypotheses

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
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
		var out []Finding
		rest := ways
		for _, manner := range []manner{everyCall, singleCalls, fewProcesses} {
			var joint end
			if joint, rest = a.oneEnd(rest, manner); len(joint.ways) > 0 {
				out = append(out, a.jointFinding(joint))
			}
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

// A manner is how a network holds calls up.
type manner uint8

const (
	everyCall    manner = iota // each is longer on its way
	singleCalls                // those that are held up are passed by others
	fewProcesses               // each of some processes is longer
	oneAnswer                  // answers of one callee alone, or those to all its callers, come late
)

func (w *way) manner() manner {
	switch {
	case len(w.v.Far) > 0:
		return fewProcesses
	case w.v.Passing != nil:
		return singleCalls
	case w.v.OnlyTo != 0 || w.v.FromAll != 0:
		return oneAnswer
	}
	return everyCall
}

// An end is a service with all ways that lead to it or from it.
type end struct {
	service string
	manner  manner
	ways    []way          // the costliest to it first
	unseen  []graph.SlotID // its calls of what has no spans, held up in the same manner
}

// oneEnd finds the service that the most ways of one manner share, of two at least: what slows or loses the packets of one
// host does so to those of all its calls and answers, also where the other side has no spans. The other ways are the rest.
func (a *Asking) oneEnd(ways []way, m manner) (end, []way) {
	shared := map[string]int{}
	alike := map[string][]graph.SlotID{}
	var like *way // the costliest of the manner
	for i := range ways {
		w := &ways[i]
		if w.manner() != m {
			continue
		}
		if like == nil || w.cost() > like.cost() {
			like = w
		}
		shared[w.caller]++
		if w.peer != w.caller {
			shared[w.peer]++
		}
	}
	for service := range shared {
		peers := map[string]bool{}
		for _, slot := range a.nodes() {
			if s := a.slot(slot); s.Callee.Service != 0 || a.Reading.Dict.String(s.Caller.Service) != service || !a.heldAlike(slot, like, m) {
				continue
			}
			alike[service] = append(alike[service], slot)
			if _, peer, _ := a.names(slot); !peers[peer] {
				peers[peer] = true
				shared[service]++
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
	if most == 1 {
		return end{}, ways
	}
	e.manner, e.unseen = m, alike[e.service]
	var rest []way
	for _, w := range ways {
		if w.manner() == m && (w.caller == e.service || w.peer == e.service) {
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

// sameHold is within which factor calls without a server half take longer, and as often, as those on a way that is known to
// hold calls up, for both to have one reason: a lost packet is sent again after a time of the sender's, and a host that is
// far is as far for all.
const sameHold = 2

// heldAlike reports whether calls of what has no spans became longer as those on a way did: the fastest tenth by as much as
// all calls there, or as many of them by as much as single calls there.
func (a *Asking) heldAlike(slot graph.SlotID, w *way, m manner) bool {
	key := PartKey{slot, true, true}
	was, is := a.parts[summary.Baseline][key], a.parts[summary.Current][key]
	if was == nil || is == nil || len(was.ns) < minAlike || len(is.ns) < minAlike {
		return false
	}
	within := func(x, y float64) bool { return x > 0 && y > 0 && x <= sameHold*y && y <= sameHold*x }
	if m == everyCall {
		return within(is.at(0.1)-was.at(0.1), w.v.Trips[1]-w.v.Trips[0])
	}
	x := w.v.Passing
	if x == nil {
		return false
	}
	usual := was.at(0.5)
	held := func(p *part) (ns []int64) {
		for _, t := range p.ns {
			if float64(t)-usual > float64(x.Median)/sameHold {
				ns = append(ns, t)
			}
		}
		return ns
	}
	late := held(is)
	more := float64(len(late)) - float64(len(held(was)))*float64(len(is.ns))/float64(len(was.ns))
	if len(late) < minLate || more < float64(len(late))/2 {
		return false
	}
	slices.Sort(late)
	often := x.Of * float64(len(is.ns))
	return within(float64(late[len(late)/2])-usual, float64(x.Median)) && (within(more, often) || math.Abs(more-often) <= 2*math.Sqrt(often))
}

// minAlike is of how many calls the fastest tenth is known, and minLate how many that are held up make a manner.
const (
	minAlike = 20
	minLate  = 5
)

// jointFinding is the network of one service: it names the costliest way to it, and puts all back.
func (a *Asking) jointFinding(e end) Finding {
	f := a.networkFinding(e.ways[0])
	edges := len(e.ways)
	peers := map[string]bool{}
	for _, slot := range e.unseen {
		_, peer, _ := a.names(slot)
		if !peers[peer] {
			peers[peer] = true
			edges++
		}
	}
	switch e.manner {
	case everyCall:
		f.Claim = prose.Sprintf("whatever goes to or from %s takes longer on its way: %d edges of it do, every call", e.service, edges)
		f.Check.Question = "did the fastest calls of every edge of " + e.service + " become slower too?"
		f.Check.IfThis = "yes: the least gap of each moved"
		f.Evidence = nil
	case singleCalls:
		f.Claim = prose.Sprintf("single calls to or from %s are held up on their way, on %d edges of it", e.service, edges)
		f.Evidence = f.Evidence[1:] // its first is of one edge
	case fewProcesses:
		f.Evidence = f.Evidence[1:]
		f.Claim += prose.Sprintf("; so it does on %d edges of %s", edges, e.service)
	}
	of := map[*queuewait.Verdict]bool{}
	for _, w := range e.ways {
		of[w.v] = true
		was, is, what := w.v.Trips[0], w.v.Trips[1], "mean time between client and server span, there and back, "
		if e.manner == singleCalls {
			was, is, what = w.v.Sides[0].Wait, w.v.Sides[1].Wait, "mean time between client and server span beyond the usual, "
		}
		f.Evidence = append(f.Evidence, numbers("spans", w.v.Sides[1].N, "ms", was/1e6, is/1e6, what+w.caller+" to "+w.peer))
	}
	for _, slot := range e.unseen {
		caller, peer, op := a.names(slot)
		key := PartKey{slot, true, true}
		was, is := a.parts[summary.Baseline][key], a.parts[summary.Current][key]
		f.Evidence = append(f.Evidence, numbers("spans", len(is.ns), "ms", was.mean()/1e6, is.mean()/1e6, "mean time of "+op+", which has no server span and takes longer in the same manner, "+caller+" to "+peer))
	}
	seen := a.wayBack(func(v *queuewait.Verdict) bool { return of[v] })
	steps := a.stepsOfAll(summary.Current, e.unseen)
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		seen(j, p, values)
		q := a.request(j)
		from, to := inRequest(steps, j)
		for _, x := range steps[from:to] {
			if st := &p.Steps[x.at]; st.Leave && st.Client() {
				ns := a.working(summary.Current, j, int(x.at), st.NS)
				values[x.at] += a.back(a.key(q, st), ns, a.tie(j, int(x.at))) - ns
			}
		}
	}
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
	if len(v.Far) > 0 {
		a.farProcesses(&f, v, caller, peer)
	} else if x := v.Passing; x != nil {
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

// farProcesses says of a network that it is longer for some processes alone, and names the only one.
func (a *Asking) farProcesses(f *Finding, v *queuewait.Verdict, caller, peer string) {
	service := [2]string{caller, peer}[v.FarEnd]
	which := prose.Sprintf("%d processes", len(v.Far))
	if len(v.Far) == 1 {
		f.Instance = a.Reading.Dict.String(a.Reading.Dict.ProcAt(v.Far[0]).Instance)
		which = "one process"
	}
	f.Claim = fmt.Sprintf("the way between %s and %s takes longer for every call of %s of %s", caller, peer, which, service)
	f.Check.Question = fmt.Sprintf("did the fastest calls of other processes of %s become slower too?", service)
	f.Check.Rival, f.Check.IfThis, f.Check.IfRival = "a network that is longer for all", "no: their least gap stands", "yes: it moved as well"
	f.Check.Outcome = "it stands"
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
