package scenario

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tailscope/tailscope/samples/gen/sim"
)

// minEffect is the least share of the p99 that the cause of a random scenario adds to it.
const minEffect = 0.07

// Random is a scenario with one cause whose kind, place and size are drawn, in one of the known systems or in one
// that is drawn, too. The cause adds at least 7 % to the p99, over some runs. It is the first such scenario from a try
// on; the try that it was is returned.
func Random(seed, try uint64) (*Scenario, uint64) {
	for ; ; try++ {
		g := rand.New(rand.NewPCG(seed, try))
		var build func() *sim.System
		name := ""
		if k := g.IntN(10); k < 7 {
			build = []func() *sim.System{mercury, mercury, checkout, checkout, mesh, mesh, search}[k] // search is the most to simulate
			name = build().Name
		} else {
			at := g.Uint64()
			build = func() *sim.System { return drawn(at) }
			name = "drawn"
		}
		p := placing{Rand: g, sys: build(), both: func(*sim.System) {}}
		p.walk()
		s := p.draw()
		if s == nil {
			continue
		}
		s.Name = fmt.Sprintf("%s/random-%d", name, seed)
		s.build = build
		if s.shows() {
			return s, try
		}
	}
}

// shows reports whether the cause adds enough to the p99, and lets the system live.
func (s *Scenario) shows() bool {
	const runs, requests = 3, 1200
	var rise float64
	for seed := range uint64(runs) {
		without := s.side(1000+seed, true, false, requests, func(int) bool { return false })
		with := s.side(1000+seed, true, false, requests, func(int) bool { return true })
		a, b := p99(without.Run), p99(with.Run)
		if a <= 0 || b > 8*a || failed(without.Run) > 0.05 || failed(with.Run) > failed(without.Run)+0.02 {
			return false
		}
		rise += (float64(b) - float64(a)) / float64(a) / runs
	}
	return rise >= minEffect
}

// failed is the share of the requests that were not answered.
func failed(r *sim.Run) float64 {
	n := 0
	for i := range r.Requests {
		if r.Requests[i].Outcome != sim.OK {
			n++
		}
	}
	return float64(n) / float64(len(r.Requests))
}

// A place is a call of a plan, and where it stands.
type place struct {
	caller, op string
	call       *sim.Call
	inParallel bool
	sometimes  bool // not in every request
	repeat     *sim.Repeat
}

func (p *place) component() Component {
	return Component{Service: p.caller, Peer: p.call.To.Service.Name, Operation: p.call.To.Name}
}

// work is the callee's work as a component.
func (p *place) work() Component {
	if p.call.To.Service.Peer != nil {
		return p.component()
	}
	return Component{Service: p.call.To.Service.Name, Operation: p.call.To.Name}
}

// A placing draws a cause for a system.
type placing struct {
	*rand.Rand
	sys    *sim.System
	both   change
	places []*place // of the first entry, in the order of the plan
	entry  *sim.Operation
}

// walk collects the calls that the entry's requests wait for.
func (p *placing) walk() {
	p.entry = p.sys.Workload.Classes[0].Op
	var in func(op *sim.Operation)
	var step func(op *sim.Operation, s sim.Step, at place)
	step = func(op *sim.Operation, s sim.Step, at place) {
		switch s := s.(type) {
		case sim.Seq:
			for _, x := range s {
				step(op, x, at)
			}
		case *sim.Parallel:
			branch := at
			branch.inParallel = true
			for i, x := range s.Branches {
				if i == 0 || len(s.Branches) < shards { // one of many alike
					step(op, x, branch)
				}
			}
		case *sim.Repeat:
			at.repeat = s
			step(op, s.Step, at)
		case *sim.When:
			at.sometimes = true
			step(op, s.Then, at)
			step(op, s.Else, at)
		case *sim.Lock:
			step(op, s.Step, at)
		case *sim.Call:
			to := s.To.Service
			if to.Spans.NoServer || to.Spans.NoClient {
				return // what it hides has other names
			}
			if !slices.ContainsFunc(p.places, func(x *place) bool { return x.op == op.Name && x.call.To == s.To }) {
				at.caller, at.op, at.call = op.Service.Name, op.Name, s
				p.places = append(p.places, &at)
			}
			in(s.To)
		}
	}
	in = func(op *sim.Operation) {
		for _, s := range op.Plan {
			step(op, s, place{})
		}
	}
	in(p.entry)
}

func pickOf[T any](g *rand.Rand, xs []T) (x T, ok bool) {
	if len(xs) == 0 {
		return x, false
	}
	return xs[g.IntN(len(xs))], true
}

// where is one of the places that fit.
func (p *placing) where(fits func(*place) bool) (*place, bool) {
	var xs []*place
	for _, x := range p.places {
		if fits(x) {
			xs = append(xs, x)
		}
	}
	return pickOf(p.Rand, xs)
}

// between draws from lo to hi, evenly in the logarithm.
func (p *placing) between(lo, hi float64) float64 {
	return lo * math.Pow(hi/lo, p.Float64())
}

func (p *placing) duration(lo, hi time.Duration) time.Duration {
	return time.Duration(p.between(float64(lo), float64(hi)))
}

// inFlight is how many calls of a place run at once in one instance of a service, on average.
func (p *placing) inFlight(x *place, of *sim.Service) float64 {
	run := sim.Simulate(p.sys, sim.Options{Seed: 1, Requests: 400, Brief: true})
	var sum time.Duration
	for i := range run.Attempts {
		a := &run.Attempts[i]
		if e := run.Edges[a.Edge]; e.Op == x.call.To && (e.Caller == nil || e.Caller.Name == x.caller) {
			sum += a.End - a.Begin
		}
	}
	return float64(sum) / float64(run.Arrivals) / float64(of.Instances)
}

// kindsDrawn are those that a random place can have without a plan that is made for them.
var kindsDrawn = []string{"service-time", "service-time", "client-wait", "server-queue", "load", "contention", "instance", "network",
	"mix-shift", "fan-out", "call-count", "serialization", "new-hop", "retries", "timeout-plateau", "pause"}

// draw is a scenario with one cause, nil if the kind that was drawn has no place in the system.
func (p *placing) draw() *Scenario {
	kind := kindsDrawn[p.IntN(len(kindsDrawn))]
	instrumented := func(x *place) bool { return x.call.To.Service.Peer == nil }
	needed := func(x *place) bool { return !x.call.Optional }
	several := func(x *place) bool { return instrumented(x) && x.call.To.Service.Instances > 1 && x.call.Shard == 0 }
	var at Component
	var apply change
	on := -1
	var about string
	switch kind {
	case "service-time":
		x, ok := p.where(needed)
		if !ok {
			return nil
		}
		f := p.between(1.3, 6)
		at, apply, about = x.work(), slower(x.call.To.Service.Name, x.call.To.Name, f), fmt.Sprintf("%.2g times as long", f)
	case "client-wait":
		x, ok := p.where(func(x *place) bool { return p.sys.Service(x.caller).Peer == nil && x.call.Shard == 0 })
		if !ok {
			return nil
		}
		target := x.call.To.Service.Name
		n := max(1, int(math.Ceil(p.inFlight(x, p.sys.Service(x.caller))*p.between(1.3, 3))))
		p.both = func(s *sim.System) {
			c := s.Service(x.caller)
			if c.Pool(target) == nil {
				kind := sim.HTTPPool
				if s.Service(target).Peer != nil {
					kind = sim.DBPool
				}
				c.Pools = append(c.Pools, &sim.Pool{Target: target, Kind: kind})
			}
			c.Pool(target).Size = 64
		}
		at, apply, about = x.component(), pool(x.caller, target, n), fmt.Sprintf("%d connections", n)
	case "server-queue":
		x, ok := p.where(instrumented)
		if !ok {
			return nil
		}
		n := max(1, int(math.Ceil(p.inFlight(x, x.call.To.Service)*p.between(1.2, 2.5))))
		p.both = queued(x.call.To.Service.Name)
		at, apply, about = x.work(), slots(x.call.To.Service.Name, n), fmt.Sprintf("%d threads", n)
	case "load":
		x, ok := p.where(instrumented)
		if !ok {
			return nil
		}
		f := p.between(1.4, 2.5)
		n := max(1, int(math.Ceil(p.inFlight(x, x.call.To.Service)*f*p.between(1.1, 1.6))))
		p.both = all(queued(x.call.To.Service.Name), slots(x.call.To.Service.Name, n))
		at, apply, about = x.work(), rate(f), fmt.Sprintf("%.2g times the requests, %d threads", f, n)
	case "contention":
		x, ok := p.where(func(x *place) bool {
			w := firstWork(x.call.To.Plan)
			return instrumented(x) && w != nil && w.CPU > 0
		})
		if !ok {
			return nil
		}
		n := p.between(0.4, 0.9) // of less, work is slow also alone
		at, apply, about = x.work(), cores(x.call.To.Service.Name, n), fmt.Sprintf("%.2g cores", n)
	case "instance":
		x, ok := p.where(several)
		if !ok {
			return nil
		}
		f := p.between(2, 8)
		on = p.IntN(x.call.To.Service.Instances)
		at, apply, about = Component{Service: x.call.To.Service.Name}, slow(x.call.To.Service.Name, on, f), fmt.Sprintf("%.2g times as slow", f)
	case "network":
		x, ok := p.where(instrumented)
		if !ok {
			return nil
		}
		d := p.duration(4*ms, 40*ms)
		at, apply, about = x.component(), farther(x.caller, x.call.To.Service.Name, x.call.To.Name, d, d/6), fmt.Sprintf("%v farther", d.Round(ms))
	case "mix-shift":
		cs := p.sys.Workload.Classes
		var large []int
		for i, c := range cs {
			if c.Op == p.entry && c.Share < 10 && c.Tenant == 0 {
				large = append(large, i)
			}
		}
		k, ok := pickOf(p.Rand, large)
		if !ok {
			return nil
		}
		to := p.between(4, 30) * max(cs[k].Share, 1)
		at, apply, about = Component{Attribute: "app.tier", Value: cs[k].Name}, share(k, to), fmt.Sprintf("a share of %.2g where it was %.2g", to, cs[k].Share)
	case "fan-out":
		x, ok := p.where(func(x *place) bool { return x.repeat != nil && x.repeat.Parallel })
		if !ok {
			return nil
		}
		n := max(x.repeat.N, 1) * (2 + p.IntN(7))
		at, about = x.component(), fmt.Sprintf("%d at once", n)
		p.both = func(s *sim.System) {
			if q := s.Service(x.caller).Pool(x.call.To.Service.Name); q != nil {
				q.Size = 500
			}
		}
		apply = func(s *sim.System) {
			sim.Walk(s.Service(x.caller).Op(x.op).Plan, func(st sim.Step) {
				if r, ok := st.(*sim.Repeat); ok && r.Parallel && to(x.call.To.Service.Name)(r) {
					r.N, r.ByClass = n, nil
				}
			})
		}
	case "call-count":
		x, ok := p.where(func(x *place) bool { return x.repeat == nil && x.call.Shard == 0 && needed(x) && !x.sometimes })
		if !ok {
			return nil
		}
		n := 2 + p.IntN(10)
		at, about = x.component(), fmt.Sprintf("%d times", n)
		apply = func(s *sim.System) { again(s.Service(x.caller).Op(x.op), x.call.To.Service.Name, x.call.To.Name, n) }
	case "serialization":
		var ops []*place
		for _, x := range p.places {
			if x.inParallel && x.call.Shard == 0 && !slices.ContainsFunc(ops, func(o *place) bool { return o.op == x.op && o.caller == x.caller }) {
				ops = append(ops, x)
			}
		}
		x, ok := pickOf(p.Rand, ops)
		if !ok {
			return nil
		}
		at, about = Component{Service: x.caller, Operation: x.op}, "in turn"
		apply = replaced(x.caller, x.op, isParallel, serial)
	case "new-hop":
		x, ok := p.where(func(x *place) bool { return !x.sometimes && x.call.Shard == 0 && x.repeat == nil })
		if !ok {
			return nil
		}
		d := p.duration(8*ms, 80*ms)
		at, about = Component{Service: x.caller, Peer: "vetting", Operation: "vet.v1.Vetting/Check"}, fmt.Sprintf("of %v", d.Round(ms))
		before := func(st sim.Step) bool { c, ok := st.(*sim.Call); return ok && c.To.Name == x.call.To.Name }
		apply = hop(x.caller, x.op, before, "vetting", "go", "vet.v1.Vetting/Check", sim.GRPC, d)
	case "retries":
		x, ok := p.where(func(x *place) bool {
			return x.call.Shard == 0 && needed(x) && x.call.Retry == nil && x.call.Hedge == nil
		})
		if !ok {
			return nil
		}
		f, b := p.between(0.02, 0.1), p.duration(20*ms, 150*ms)
		p.both = each(x.caller, x.call.To.Service.Name, x.call.To.Name, func(c *sim.Call) { c.Retry = &sim.Retry{Max: 4, Backoff: b} })
		at, apply, about = x.component(), fails(x.call.To.Service.Name, x.call.To.Name, f), fmt.Sprintf("%.2g fail, backoff %v", f, b.Round(ms))
	case "timeout-plateau":
		x, ok := p.where(func(x *place) bool { return x.call.Optional && x.call.Shard == 0 })
		if !ok {
			return nil
		}
		f, after := p.between(0.012, 0.08), p.duration(120*ms, 500*ms)
		p.both = each(x.caller, x.call.To.Service.Name, x.call.To.Name, func(c *sim.Call) { c.Timeout = after })
		at, apply, about = x.component(), stalls(x.call.To.Service.Name, x.call.To.Name, f, 3*after, 6*after), fmt.Sprintf("%.2g hang for %v", f, after.Round(ms))
	case "pause":
		x, ok := p.where(several)
		if !ok {
			return nil
		}
		every, length := p.duration(2*time.Second, 5*time.Second), p.duration(120*ms, 500*ms)
		on = p.IntN(x.call.To.Service.Instances)
		at, apply, about = Component{Service: x.call.To.Service.Name}, pauses(x.call.To.Service.Name, on, every, length), fmt.Sprintf("%v every %v", length.Round(ms), every.Round(ms))
	}
	s := regression("", kind, at, fmt.Sprintf("%s at %v: %s", kind, at, about), apply).with(p.both)
	if on >= 0 {
		s.on(on)
	}
	return s
}

// queued lets a service's spans begin after its queue: what waits inside a span only metrics can tell.
func queued(service string) change {
	return func(s *sim.System) { s.Service(service).Spans.ServerAfterQueue = true }
}

// again makes an operation's call n times, one after the other.
func again(op *sim.Operation, service, name string, n int) {
	var in func(s sim.Step) sim.Step
	in = func(s sim.Step) sim.Step {
		switch s := s.(type) {
		case *sim.Call:
			if s.To.Service.Name == service && s.To.Name == name {
				return &sim.Repeat{N: n, Step: s}
			}
		case sim.Seq:
			for i := range s {
				s[i] = in(s[i])
			}
		case *sim.Parallel:
			for i := range s.Branches {
				s.Branches[i] = in(s.Branches[i])
			}
		case *sim.Lock:
			s.Step = in(s.Step)
		}
		return s
	}
	for i := range op.Plan {
		op.Plan[i] = in(op.Plan[i])
	}
}

// drawn is a system whose services, calls, times and instrumentation are drawn.
func drawn(seed uint64) *sim.System {
	g := rand.New(rand.NewPCG(seed, 77))
	sys := &sim.System{Name: "drawn"}
	names := []string{"accounts", "billing", "catalog", "delivery", "events", "flags", "geo", "history", "images", "jobs"}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	stores := []string{"postgresql", "mysql", "mongodb", "redis"}
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, g.Float64()) }
	of := func(d time.Duration, f float64) time.Duration { return time.Duration(float64(d) * f) }
	woken := of(200*time.Microsecond, between(1, 25)) // up to 5 ms
	if g.IntN(2) == 0 {
		woken = 600 * time.Microsecond
	}
	balance := []sim.Balance{sim.Random, sim.RoundRobin, sim.LeastLoaded, sim.TwoChoices}[g.IntN(4)]
	afterQueue, afterPool := g.IntN(4) > 0, g.IntN(3) == 0
	skew := of(ms, between(0.5, 20))
	service := func(name string) *sim.Service {
		s := &sim.Service{Name: name, Version: "1.0.0", Language: []string{"go", "java", "nodejs", "python", "dotnet"}[g.IntN(5)],
			Instances: 2 + g.IntN(3), Cores: float64(2 + g.IntN(4)), Unequal: 0.04, Wake: sim.Uniform{Lo: woken / 10, Hi: woken}, ClockSkew: skew, Balance: balance}
		if g.IntN(3) > 0 {
			s.Executor = sim.Executor{Name: "worker", Slots: 16 + g.IntN(32), Vendor: "micrometer"}
			s.Spans.ServerAfterQueue = afterQueue
		}
		s.Spans.ClientAfterPool = afterPool
		return sys.Add(s)
	}
	work := func(lo, hi float64) *sim.Work {
		return &sim.Work{Time: lognormal(of(ms, between(lo, hi)), 0.25+0.35*g.Float64()), CPU: 0.2 + 0.6*g.Float64(), Size: float64(g.IntN(2)) / 2}
	}
	used := 0
	var grow func(depth int) *sim.Operation
	plan := func(s *sim.Service, depth, calls int) []sim.Step {
		steps := []sim.Step{work(0.5, 5)}
		var branches []sim.Step
		for range calls {
			if used == len(names) {
				break
			}
			c := &sim.Call{To: grow(depth - 1), Leg: lan(), Timeout: time.Duration(1+g.IntN(3)) * time.Second, Optional: g.IntN(4) == 0}
			if g.IntN(3) == 0 {
				kind := sim.HTTPPool
				if c.To.Service.Peer != nil {
					kind = sim.DBPool
				}
				s.Pools = append(s.Pools, &sim.Pool{Target: c.To.Service.Name, Size: 16 + g.IntN(16), Kind: kind})
			}
			var step sim.Step = c
			switch {
			case c.To.Service.Peer != nil && g.IntN(4) == 0:
				step = &sim.Repeat{N: 2 + g.IntN(4), Parallel: g.IntN(2) == 0, Step: c}
			case g.IntN(6) == 0:
				step = &sim.When{P: 0.2 + 0.6*g.Float64(), Then: c}
			}
			branches = append(branches, step)
		}
		switch {
		case len(branches) > 1 && g.IntN(2) == 0:
			steps = append(steps, &sim.Parallel{Branches: branches})
		case len(branches) > 2 && g.IntN(2) == 0:
			steps = append(steps, branches[0], work(0.5, 3), &sim.Parallel{Branches: branches[1:]})
		default:
			for _, b := range branches {
				steps = append(steps, b, work(0.3, 3))
			}
		}
		return append(steps, work(0.5, 5))
	}
	grow = func(depth int) *sim.Operation {
		name := names[used]
		used++
		if depth == 0 || g.IntN(4) == 0 {
			if g.IntN(2) == 0 {
				system := stores[g.IntN(len(stores))]
				s := sys.Add(&sim.Service{Name: name + "-db", Instances: 1, Peer: &sim.Peer{System: system, Namespace: name, Port: 5000 + used}, Executor: sim.Executor{Name: name + "-db", Slots: 48}})
				return s.Add(&sim.Operation{Name: "SELECT " + name, Protocol: sim.DB, Plan: []sim.Step{&sim.Work{Time: lognormal(of(ms, between(1, 15)), 0.3+0.3*g.Float64())}}})
			}
			s := service(name)
			return s.Add(&sim.Operation{Name: "GET /" + name + "/{id}", Cancel: sim.CancelRule(g.IntN(3)), Plan: []sim.Step{work(3, 30)}})
		}
		s := service(name)
		o := &sim.Operation{Name: "GET /" + name + "/{id}", Cancel: sim.CancelRule(g.IntN(3))}
		if g.IntN(2) == 0 {
			o.Name, o.Protocol = fmt.Sprintf("%s.v1.%s/Get", name, name), sim.GRPC
		}
		o.Plan = plan(s, depth, 1+g.IntN(3))
		return s.Add(o)
	}
	front := service("front")
	entry := &sim.Operation{Name: "GET /start", Cancel: sim.Prompt}
	entry.Plan = plan(front, 2, 2+g.IntN(3))
	front.Add(entry)
	sys.Workload = sim.Workload{Rate: between(20, 80), Wave: 0.15 * g.Float64(), Tenants: 50, Identities: 2000, Entry: lan(), Classes: []sim.Class{
		{Name: "basic", Share: 70, Op: entry, Size: 1, Sigma: 0.2}, {Name: "plus", Share: 28, Op: entry, Size: 1.2, Sigma: 0.2},
		{Name: "bulk", Share: 2, Op: entry, Size: 4 + 8*g.Float64(), Sigma: 0.3}}}
	return sys
}
