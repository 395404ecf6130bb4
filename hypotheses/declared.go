package hypotheses

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A declared wait is one that spans speak of themselves and that does not lie between the two halves of a call, where
// it would be a queue's: in a client span whose callee has no span, in a span that is a wait by its name, inside work.
type declared struct {
	kind     string
	slot     graph.SlotID // relative: of the span that says it
	client   bool
	evidence string
	resource string

	then map[graph.SlotID]int // what is called when a wait is over, and how often
	next graph.SlotID         // the most frequent of it, the first of several; NoSlot if that is not known
	hold [2]part              // how long that takes, without the wait
	sum  [2]map[int]int64
	back stats.RankMap
	n    [2]int // spans that speak of a wait
}

// A saying is one wait, in the step of its request's plan that it is a part of.
type saying struct {
	req  int32
	step int32
	ns   int64
	of   *declared
}

// waitsIn finds the waits that spans speak of on both sides, and takes them out of the parts: they are nobody's work. So
// it does with those within client spans of which a pool's metrics speak, and with those within server spans for a worker.
func (a *Asking) waitsIn() {
	type key struct {
		slot   graph.SlotID
		client bool
		kind   string
	}
	by := map[key]*declared{}
	lengths := [2]map[key]*part{{}, {}}
	for i, s := range a.Sides {
		a.inWait[i] = map[[2]int32]int64{}
		if s == nil {
			continue
		}
		l := summary.NewLedger(s.Set.Calibration)
		for j, q := range s.Counted {
			for k := range a.planOf(i, j).Steps {
				st := &a.planOf(i, j).Steps[k]
				ns, _, _ := l.Calibration.Owners.AcceptedIn(i, q.Record, st)
				if st.Leave && st.Client() {
					ns = min(l.Inside(q.Record, st.Call()), max(0, st.NS))
				}
				if ns > 0 {
					a.inWait[i][[2]int32{int32(j), int32(k)}] = ns
				}
			}
			for _, w := range q.Waits {
				c := &q.Calls[w.Call]
				if c.Paired() && (w.Client || w.End <= c.Work.Start) {
					continue // between its halves
				}
				evidence := a.Reading.Dict.String(w.Evidence)
				kind := a.waitKind(evidence, w.Client && c.Flags&graph.WaitSpan == 0)
				if kind == "" {
					continue
				}
				step := stepOf(a.planOf(i, j), q, &w)
				if step < 0 {
					continue
				}
				k := key{a.Relative(q, c.Slot), w.Client, kind}
				d := by[k]
				if d == nil {
					d = &declared{kind: kind, slot: k.slot, client: w.Client, next: graph.NoSlot, sum: [2]map[int]int64{{}, {}}, then: map[graph.SlotID]int{}}
					by[k] = d
					a.declared = append(a.declared, d)
				}
				d.evidence = max(d.evidence, evidence) // of several the last by name, whatever the order
				d.resource = max(d.resource, a.Reading.Dict.String(w.Resource))
				st := &a.planOf(i, j).Steps[step]
				ns := min(w.Duration(), max(st.NS, 0)-a.inWait[i][[2]int32{int32(j), int32(step)}])
				if ns <= 0 {
					continue
				}
				a.inWait[i][[2]int32{int32(j), int32(step)}] += ns
				a.sayings[i] = append(a.sayings[i], saying{int32(j), int32(step), ns, d})
				d.sum[i][j] += ns
				d.n[i]++
				weight := float64(q.Weight) / graph.OneRequest
				if lengths[i][k] == nil {
					lengths[i][k] = &part{}
				}
				lengths[i][k].ns, lengths[i][k].w = append(lengths[i][k].ns, ns), append(lengths[i][k].w, weight)
				if then := a.after(q, w.Call, &w); then >= 0 {
					x := &q.Calls[then]
					d.then[a.Relative(q, x.Slot)]++
					hold := x.Outer().Duration()
					if then == w.Call {
						hold -= ns
					}
					d.hold[i].ns, d.hold[i].w = append(d.hold[i].ns, hold), append(d.hold[i].w, weight)
				}
			}
		}
	}
	// Spans that could have spoken of a wait and did not had none.
	for i, s := range a.Sides {
		if s == nil {
			continue
		}
		spans := map[graph.SlotID]int{}
		for _, q := range s.Counted {
			for k := range q.Calls {
				spans[a.Relative(q, q.Calls[k].Slot)]++
			}
		}
		for k, d := range by {
			p := lengths[i][k]
			if p == nil {
				p = &part{}
				lengths[i][k] = p
			}
			for range spans[k.slot] - d.n[i] {
				p.ns, p.w = append(p.ns, 0), append(p.w, 1)
			}
		}
	}
	for k, d := range by {
		for slot, n := range d.then {
			if most := d.then[d.next]; n > most || n == most && slot < d.next {
				d.next = slot
			}
		}
		d.back = rankMap(lengths[summary.Current][k], lengths[summary.Baseline][k])
	}
	slices.SortFunc(a.declared, func(x, y *declared) int {
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.kind, y.kind))
	})
}

// waitKind is the kind of cause that a wait is evidence of; "" of one that is no queue.
func (a *Asking) waitKind(evidence string, client bool) string {
	e := strings.ToLower(evidence)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e, w) })
	}
	switch {
	case has("cold", "faas", "stamp"):
		return ""
	case has("lock"):
		return "contention"
	case client:
		return "client-wait"
	case has("executor", "thread", "admission", "http_server", "http.server", "queue", "queued"):
		return "server-queue"
	}
	return "client-wait"
}

// stepOf is the step of a plan in which most of a wait lies; −1 if it is not waited for.
func stepOf(p *graph.Plan, q *summary.Request, w *graph.Wait) int {
	best, most := -1, int64(0)
	for k := range p.Steps {
		st := &p.Steps[k]
		switch call := st.Call(); {
		case st.Leave:
			if call != w.Call || st.Client() != w.Client {
				continue
			}
		case call == 0 || q.Calls[call].Parent != w.Call || st.Client() != q.Calls[call].Client.Seen():
			continue
		}
		v := trace.Interval{Start: st.At - trace.Time(max(st.NS, 0)), End: st.At}
		if in := w.Interval.Clip(v); w.Overlaps(v) && in.Duration() > most {
			best, most = k, in.Duration()
		}
	}
	return best
}

// after is the call that a wait is for: that of the client span that speaks of it, else the one that the same caller
// makes next; −1 if none is known.
func (a *Asking) after(q *summary.Request, call int32, w *graph.Wait) int32 {
	c := &q.Calls[call]
	if w.Client && c.Flags&graph.WaitSpan == 0 {
		return call
	}
	parent := c.Parent
	if c.Flags&graph.WaitSpan == 0 {
		parent = call
	}
	best := int32(-1)
	for i := range q.Calls {
		o := &q.Calls[i]
		if o.Parent != parent || int32(i) == call || !o.Client.Seen() || o.Flags&graph.WaitSpan != 0 || o.Client.Start < w.End-smallOverhang {
			continue
		}
		if best < 0 || o.Client.Start < q.Calls[best].Client.Start {
			best = int32(i)
		}
	}
	return best
}

// working is the length of a step less the waits that spans speak of in it.
func (a *Asking) working(side, j, k int, ns int64) int64 {
	if len(a.inWait[side]) == 0 {
		return ns
	}
	return ns - a.inWait[side][[2]int32{int32(j), int32(k)}]
}

// sayingBack puts a declared wait back to what it was.
func (a *Asking) sayingBack(d *declared) Factor {
	by := map[int][]saying{}
	for _, s := range a.sayings[summary.Current] {
		if s.of == d {
			by[int(s.req)] = append(by[int(s.req)], s)
		}
	}
	return func(j int, p *graph.Plan, values []int64) {
		for _, s := range by[j] {
			if int(s.step) < len(values) && values[s.step] != graph.Gone {
				values[s.step] -= s.ns - d.back.At(s.ns, a.tie(j, int(s.step)))
			}
		}
	}
}

// byHolds reports whether a declared wait rose because what it waits for takes longer, and comes no more often.
func (d *declared) byHolds(a *Asking) bool {
	was, is := d.hold[0].mean(), d.hold[1].mean()
	return len(d.hold[0].ns) >= minSaid && len(d.hold[1].ns) >= minSaid && is >= (1+holdRose)*was && is-was >= minExplains/10 && d.perSecond(a, 1) <= (1+arrivalsStood)*d.perSecond(a, 0)
}

// minSaid is how many calls behind a declared wait tell how long they hold what was waited for.
const minSaid = 20

// perSecond is how often a side calls what is waited for.
func (d *declared) perSecond(a *Asking, side int) float64 {
	s := a.Sides[side]
	if sec := float64(s.Set.Counts.To-s.Set.Counts.From) / 1e9; sec > 0 {
		var n float64
		for _, w := range d.hold[side].w {
			n += w
		}
		return n / sec
	}
	return 0
}

// names are the component of a declared wait.
func (d *declared) names(a *Asking) (caller, peer, operation string) {
	if d.next != graph.NoSlot {
		return a.names(d.next)
	}
	s := a.slot(d.slot)
	return a.Reading.Dict.String(s.Shown().Service), d.resource, ""
}

// saidWaits finds the waits of a kind that spans speak of themselves.
func (a *Asking) saidWaits(kind string) []Finding {
	var out []Finding
	for _, d := range a.declared {
		if d.kind != kind || d.byHolds(a) && a.blames(d) {
			continue
		}
		caller, peer, op := d.names(a)
		f := Finding{Kind: kind, Service: caller, Peer: peer, Operation: op}
		if kind != "client-wait" {
			s := a.slot(d.slot)
			f.Service, f.Peer, f.Operation = a.Reading.Dict.String(s.Shown().Service), "", ""
			if up := a.workOf(d.slot); up != d.slot {
				s = a.slot(up)
			}
			if s.Callee.Service != 0 {
				f.Operation = a.Reading.Dict.String(s.Shown().Operation)
			}
		}
		was, is := a.saidOf(d, 0), a.saidOf(d, 1)
		what := op
		if what == "" {
			what = a.Reading.Dict.String(a.slot(d.slot).Shown().Operation)
		}
		f.Claim = fmt.Sprintf("%s waits by its own account before %s, up to %s in 99 of 100 requests where it was %s", f.Service, what, prose.Ns(is.at(0.99)), prose.Ns(was.at(0.99)))
		f.Evidence = append(f.Evidence,
			numbers("spans", len(is.ns), "ms", was.mean()/1e6, is.mean()/1e6, "mean wait per request, as spans say it ("+d.evidence+")"),
			numbers("spans", len(is.ns), "ms", was.at(0.99)/1e6, is.at(0.99)/1e6, "p99 of it"))
		held := [2]float64{d.hold[0].mean(), d.hold[1].mean()}
		f.Check = Check{
			Question: fmt.Sprintf("is %s as fast as before once the wait is over?", what),
			Rival:    "service-time: what is waited for takes longer, and so holds its place longer",
			IfThis:   "yes: only the wait grew",
			IfRival:  "no: it takes longer as well",
			Query:    fmt.Sprintf(`max by (service_instance_id) (db_client_connection_pending_requests{service_name=%q})`, caller),
		}
		if len(d.hold[0].ns) > 0 && len(d.hold[1].ns) > 0 {
			f.Evidence = append(f.Evidence, numbers("spans", len(d.hold[1].ns), "ms", held[0]/1e6, held[1]/1e6, "mean time of "+what+" once the wait is over"))
			f.Check.Ran, f.Check.Query = true, ""
			f.Check.Outcome = fmt.Sprintf("without the wait it takes %s where it was %s", prose.Ns(held[1]), prose.Ns(held[0]))
			f.Check.Against = held[1] >= (1+holdRose)*held[0] && held[1]-held[0] >= minExplains/10
		}
		if r0, r1 := d.perSecond(a, 0), d.perSecond(a, 1); r1 > (1+arrivalsStood)*r0 && r0 > 0 {
			f.Against = append(f.Against, numbers("spans", len(d.hold[1].ns), "1/s", r0, r1, "calls of "+what+": more arrivals may fill the same queue"))
		}
		f.Factor = a.sayingBack(d)
		f.lengths = func(side, j int) (int64, bool) {
			if d.n[side] == 0 {
				return 0, false
			}
			return d.sum[side][j], true
		}
		out = append(out, f)
	}
	return out
}

// saidOf is a declared wait per request, on one side.
func (a *Asking) saidOf(d *declared, side int) *part {
	p := &part{}
	for j, q := range a.Sides[side].Counted {
		p.ns, p.w = append(p.ns, d.sum[side][j]), append(p.w, float64(q.Weight)/graph.OneRequest)
	}
	return p
}

// blames reports whether the work that a declared wait is for has a finding of its own, to which the wait is charged.
func (a *Asking) blames(d *declared) bool {
	return d.next != graph.NoSlot && slices.Contains(a.nodes(), d.next)
}

// followSaid adds to the replay of longer work the waits for it that spans speak of.
func (a *Asking) followSaid(f *Finding) {
	for _, d := range a.declared {
		if !d.byHolds(a) || !a.blames(d) {
			continue
		}
		caller, peer, op := a.names(d.next)
		if !f.slows(caller, peer, op) || f.Kind == d.kind {
			continue
		}
		here, wait := f.Factor, a.sayingBack(d)
		f.Factor = func(j int, p *graph.Plan, values []int64) {
			here(j, p, values)
			wait(j, p, values)
		}
		f.Evidence = append(f.Evidence,
			numbers("spans", len(d.hold[1].ns), "ms", d.hold[0].mean()/1e6, d.hold[1].mean()/1e6, "mean time of "+op+" once the wait for it is over"),
			says("spans", d.n[1], "the wait before it is a consequence, as spans say it (%s): each call holds its place longer, and no more come", d.evidence))
	}
}
