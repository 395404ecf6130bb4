package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

var instance = Cause{
	Doc: Doc{
		Kind:     "instance",
		Title:    "one instance, not the service",
		Claim:    "One instance does its work slower than its peers, more than it always did; or it gets more of the calls than it did, and they queue there.",
		Supports: "Its own time over its peers' rose while the peers' stood; or its share of the calls rose and the wait before its spans with it.",
		Refutes:  "The peers became slower as well, or it was always so.",
		Mimics:   "service-time slows all instances; an instance near saturation looks slow by its queue alone; load and server-queue show on all.",
		Emit:     "service.instance.id or the pod's name on every resource.",
	},
	find: func(a *Asking) []Finding { return append(a.slowInstances(), a.placed()...) },
}

const (
	// instanceRatio is by how much an instance's time over its peers' must exceed
	// what it was, and peersStood how much the peers may have risen, of its rise.
	instanceRatio = 1.3
	peersStood    = 0.3
	minInstance   = 20
)

// An instanceKey is an instance of a service, by names: its codes differ between
// sets where a version or host changed.
type instanceKey struct{ service, instance trace.StringID }

func (a *Asking) instanceOf(p graph.ProcID) instanceKey {
	pr := a.Reading.Dict.ProcAt(p)
	return instanceKey{pr.Service, pr.Instance}
}

// slowInstances finds the instances whose own work became slower than their
// peers'.
func (a *Asking) slowInstances() []Finding {
	type cell struct{ sum, n float64 }
	type table map[instanceKey]map[graph.SlotID]*cell
	read := func(side int) table {
		t := table{}
		byProc := map[graph.ProcID]map[graph.SlotID]*cell{}
		for _, c := range a.ownCalls(side) {
			slots, ok := byProc[c.proc]
			if !ok {
				if k := a.instanceOf(c.proc); k.instance != 0 {
					if t[k] == nil {
						t[k] = map[graph.SlotID]*cell{}
					}
					slots = t[k]
				}
				byProc[c.proc] = slots
			}
			if slots == nil {
				continue
			}
			x := slots[c.slot]
			if x == nil {
				x = &cell{}
				slots[c.slot] = x
			}
			x.sum += float64(c.ns)
			x.n++
		}
		return t
	}
	tables := [2]table{read(summary.Baseline), read(summary.Current)}
	// of is an instance's mean own time per call and its peers', each operation
	// weighed by the instance's calls.
	of := func(side int, k instanceKey) (own, peers, n float64) {
		for slot, c := range tables[side][k] {
			var sum, m float64
			for o, slots := range tables[side] {
				if o.service == k.service && o.instance != k.instance && slots[slot] != nil {
					sum += slots[slot].sum
					m += slots[slot].n
				}
			}
			if m < minInstance {
				continue
			}
			own += c.sum
			peers += sum / m * c.n
			n += c.n
		}
		return own / n, peers / n, n
	}
	keys := make([]instanceKey, 0, len(tables[1]))
	for k := range tables[summary.Current] {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y instanceKey) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.instance, y.instance))
	})
	var out []Finding
	for _, k := range keys {
		own1, peers1, n1 := of(summary.Current, k)
		own0, peers0, n0 := of(summary.Baseline, k)
		if n1 < minInstance || n0 < minInstance || peers0 <= 0 || peers1 <= 0 || own0 <= 0 {
			continue
		}
		if own1/peers1 < instanceRatio*own0/peers0 || own1 <= own0 || peers1-peers0 > peersStood*(own1-own0) {
			continue
		}
		out = append(out, a.instanceFinding(k, own0, own1, peers0, peers1, int(n1)))
	}
	return out
}

func (a *Asking) instanceFinding(k instanceKey, own0, own1, peers0, peers1 float64, n int) Finding {
	d := a.Reading.Dict
	service, name := d.String(k.service), d.String(k.instance)
	f := Finding{Kind: "instance", Service: service, Instance: name}
	f.Claim = fmt.Sprintf("instance %s of %s does its own work slower than its peers do", name, service)
	f.Evidence = append(f.Evidence,
		numbers("spans", n, "ms", own0/1e6, own1/1e6, "mean own time of a call on the instance"),
		numbers("spans", n, "ms", peers0/1e6, peers1/1e6, "the same calls on its peers"),
	)
	f.Check = Check{
		Question: "is the instance slower than its peers at the same calls, more than it was, while the peers stand?",
		Rival:    "service-time: all instances are slower",
		IfThis:   "its ratio to the peers rose and theirs stood",
		IfRival:  "all rose together",
		Ran:      true,
		Outcome:  fmt.Sprintf("%.2f times its peers where it was %.2f; the peers went from %s to %s", own1/peers1, own0/peers0, prose.Ns(peers0), prose.Ns(peers1)),
	}
	on := func(q *summary.Request, call int32) bool {
		w := &q.Calls[call].Work
		return w.Seen() && a.instanceOf(w.Proc) == k
	}
	// Its parts go back to its own baseline's, by rank.
	was, is := a.partsOn(summary.Baseline, on), a.partsOn(summary.Current, on)
	maps := map[PartKey]stats.RankMap{}
	for key, p := range is {
		maps[key] = rankMap(p, was[key])
	}
	own := func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for i := range p.Steps {
			s := &p.Steps[i]
			if call, ok := a.ownerOf(q, s); ok && on(q, call) {
				if m, ok := maps[a.key(q, s)]; ok {
					values[i] += m.At(max(s.NS, 0), a.tie(j, i)) - max(s.NS, 0)
				}
			}
		}
	}
	f.Factor, f.on = own, on
	// What goes on for callers that have left may hold the places of one instance and not of another.
	f.Below = func(o *Finding) bool { return o.Kind == "late-work" && o.Peer == service }
	return f
}

// oneOfMany puts a service's work, and the queue before it, below the instance that they are slow on: where all other
// instances put back take away less than half of what that one does, they are as they were but there.
func (a *Asking) oneOfMany(found []Finding, sign float64) {
	was := a.quantile(a.latency, a.weights)
	for i := range found {
		f := &found[i]
		if f.Peer != "" || !(f.own && f.Below == nil) && f.Kind != "server-queue" {
			continue
		}
		for k := range found {
			g := &found[k]
			if g.Kind != "instance" || g.Service != f.Service || g.on == nil || g.Explains < minCause*f.Explains {
				continue
			}
			rest := sign * (was - a.quantile(a.replay(a.but(f.Factor, g.on)), a.weights))
			if rest >= minCause*g.Explains {
				continue
			}
			f.Against = append(f.Against, says("spans", 0, "all instances but %s put back take away %s, that one %s", g.Instance, prose.Ns(rest), prose.Ns(g.Explains)))
			f.nearest(g, min(f.Explains, g.Explains), true)
			service, name := g.Service, g.Instance
			there := func(o *Finding) bool { return o.Kind == "instance" && o.Service == service && o.Instance == name }
			if f.Below != nil {
				there = either(f.Below, there)
			}
			f.Below = there
			break
		}
	}
}

// but puts back what a factor does, except the work on the calls that on holds of and the waits before their spans.
func (a *Asking) but(f Factor, on func(*summary.Request, int32) bool) Factor {
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		before := slices.Clone(values)
		f(j, p, values)
		for i := range p.Steps {
			if values[i] == before[i] {
				continue
			}
			s := &p.Steps[i]
			call, ok := a.ownerOf(q, s)
			if !s.Leave && !s.Client() {
				call, ok = s.Call(), true // the wait before its span
			}
			if ok && on(q, call) {
				values[i] = before[i]
			}
		}
	}
}

// ownerOf is the call whose own time a step is; not ok of what is between calls,
// an attempt's, or a queue's.
func (a *Asking) ownerOf(q *summary.Request, s *graph.Step) (int32, bool) {
	c := &q.Calls[s.Call()]
	if s.Leave {
		return s.Call(), s.Client() == !c.Work.Seen()
	}
	if s.Call() == 0 || s.Client() != c.Client.Seen() {
		return 0, false
	}
	p := &q.Calls[c.Parent]
	if p.Paired() && c.Flags&graph.OnClient != 0 || c.Flags&(graph.Retry|graph.Hedge) != 0 || q.Set.Calibration.Owners.Before(c) != nil {
		return 0, false
	}
	return c.Parent, true
}

// partsOn is the own parts of the calls that on holds of, on one side.
func (a *Asking) partsOn(side int, on func(*summary.Request, int32) bool) map[PartKey]*part {
	out := map[PartKey]*part{}
	s := a.Sides[side]
	for j, q := range s.Counted {
		plan := a.planOf(side, j)
		for i := range plan.Steps {
			st := &plan.Steps[i]
			if call, ok := a.ownerOf(q, st); ok && on(q, call) {
				k := a.key(q, st)
				if out[k] == nil {
					out[k] = &part{}
				}
				out[k].ns = append(out[k].ns, max(st.NS, 0))
				out[k].w = append(out[k].w, float64(q.Weight)/graph.OneRequest)
			}
		}
	}
	return out
}

const (
	placedShare = 1.3  // by how much an instance's share of the calls must have risen
	placedWait  = 3    // and how much longer than at its peers calls wait there,
	placedPart  = 0.25 // or the part of the wait's change that goes where calls go to the instances in the shares they had
)

// placed finds instances that get more of the calls than they did, and where
// those queue.
func (a *Asking) placed() []Finding {
	var out []Finding
	for _, b := range a.queues() {
		if b.v.Owner != queuewait.ServerQueue && b.v.Owner != queuewait.NoOwner {
			continue
		}
		calls, waits := [2]map[instanceKey]float64{{}, {}}, map[instanceKey]float64{}
		var total [2]float64
		for side, s := range a.Sides {
			l := summary.NewLedger(s.Set.Calibration)
			through := a.through(side, b, queuewait.Between)
			for _, q := range s.Counted {
				for i := range q.Calls {
					c := &q.Calls[i]
					if !through[c.Slot] || !c.Paired() {
						continue
					}
					k := a.instanceOf(c.Work.Proc)
					calls[side][k]++
					total[side]++
					if side == summary.Current {
						if w, _, _, ok := l.Gap(q.Record, int32(i)); ok {
							waits[k] += float64(w)
						}
					}
				}
			}
		}
		if len(calls[summary.Current]) < 2 || total[0] < minInstance || total[1] < minInstance {
			continue
		}
		for _, k := range sortedInstances(calls[summary.Current]) {
			share1, share0 := calls[1][k]/total[1], calls[0][k]/total[0]
			here := waits[k] / calls[1][k]
			var elsewhere, n float64
			for o, w := range waits {
				if o != k {
					elsewhere += w
					n += calls[1][o]
				}
			}
			alone := here >= placedWait*elsewhere/max(n, 1) || b.v.Model.PlacementShare() >= placedPart
			if k.instance == 0 || share0 == 0 || share1 < placedShare*share0 || !alone || here < minExplains {
				continue
			}
			out = append(out, a.placedFinding(b, k, share0, share1, here, elsewhere/max(n, 1)))
		}
	}
	return out
}

func sortedInstances(m map[instanceKey]float64) []instanceKey {
	keys := make([]instanceKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y instanceKey) int {
		return cmp.Or(cmp.Compare(x.service, y.service), cmp.Compare(x.instance, y.instance))
	})
	return keys
}

func (a *Asking) placedFinding(b *queue, k instanceKey, share0, share1, here, elsewhere float64) Finding {
	d := a.Reading.Dict
	service, name := d.String(k.service), d.String(k.instance)
	f := Finding{Kind: "instance", Service: service, Instance: name}
	f.Claim = fmt.Sprintf("instance %s of %s gets %.0f %% of the calls of %s where it got %.0f %%, and they queue there", name, service, 100*share1, a.operation(b), 100*share0)
	f.Evidence = append(f.Evidence,
		numbers("spans", b.calls, "share", share0, share1, "of the calls go to the instance"),
		numbers("spans", b.calls, "ms", math.NaN(), here/1e6, "mean wait before its spans"),
		numbers("spans", b.calls, "ms", math.NaN(), elsewhere/1e6, "mean wait before its peers'"),
	)
	f.Check = Check{
		Question: "do the calls wait only where too many of them go?",
		Rival:    "server-queue: the service as a whole has too few places",
		IfThis:   "the peers have room: calls there do not wait",
		IfRival:  "calls wait at all instances",
		Ran:      true,
		Outcome:  fmt.Sprintf("%s at the instance, %s at its peers", prose.Ns(here), prose.Ns(elsewhere)),
	}
	back := a.gapsBack(b, 1)
	f.on = func(q *summary.Request, call int32) bool {
		w := &q.Calls[call].Work
		return w.Seen() && a.instanceOf(w.Proc) == k
	}
	on := f.on
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		before := slices.Clone(values)
		back(j, p, values)
		for i := range p.Steps {
			if values[i] != before[i] && !on(q, p.Steps[i].Call()) {
				values[i] = before[i]
			}
		}
	}
	return f
}
