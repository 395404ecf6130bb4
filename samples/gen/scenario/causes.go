package scenario

import (
	"time"

	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// change is a function that makes a system differ.
type change = func(*sim.System)

// regression is a scenario with one cause.
func regression(name, kind string, at Component, about string, apply change) *Scenario {
	return &Scenario{Name: name, Verdict: Regression, About: about, Causes: []Cause{{Kind: kind, Component: at, Apply: apply}}}
}

// artefact is a scenario in which the measurement differs, by the guard that should notice.
func artefact(name, guard, about string, apply change, ex func(*export.Options)) *Scenario {
	return &Scenario{Name: name, Verdict: Artefact, About: about,
		Causes: []Cause{{Kind: "measurement", Component: Component{Attribute: guard}, Apply: apply, Export: ex}}}
}

func null(name, about string) *Scenario {
	return &Scenario{Name: name, Verdict: NoChange, About: about}
}

// with makes the change on both sides.
func (s *Scenario) with(both change) *Scenario {
	s.Both = both
	return s
}

// drifting makes the clocks of all hosts fast or slow.
func drifting(s *sim.System) {
	for _, v := range s.Services {
		v.Drift = 100
	}
}

// exported makes both sides' telemetry so.
func (s *Scenario) exported(ex func(*export.Options)) *Scenario {
	s.BothExport = ex
	return s
}

// on says which instance of the cause's service is meant; -1 means all.
func (s *Scenario) on(instance int) *Scenario {
	s.Causes[0].instance = instance
	return s
}

// metered says that only metrics tell the cause from others.
func (s *Scenario) metered() *Scenario {
	s.Metered = true
	return s
}

// undone turns a regression around: the baseline has the cause, the current run does not.
func (s *Scenario) undone() *Scenario {
	s.Worse, s.Verdict = true, Improvement
	return s
}

// beside adds what differs in the current run and is no cause of anything.
func (s *Scenario) beside(decoy change) *Scenario {
	s.currentOnly = decoy
	return s
}

// built says which system the scenarios are of.
func built(build func() *sim.System, list ...*Scenario) []*Scenario {
	for _, s := range list {
		s.build = build
	}
	return list
}

// calls returns the calls of an operation in the plans of a service.
func calls(s *sim.System, caller, callee, op string) []*sim.Call {
	var cs []*sim.Call
	for _, o := range s.Service(caller).Ops {
		sim.Walk(o.Plan, func(st sim.Step) {
			if c, ok := st.(*sim.Call); ok && c.To.Service.Name == callee && c.To.Name == op {
				cs = append(cs, c)
			}
		})
	}
	if len(cs) == 0 {
		panic("scenario: no call of " + callee + " " + op + " in " + caller)
	}
	return cs
}

// slower multiplies the own time of an operation.
func slower(service, op string, f float64) change {
	return func(s *sim.System) {
		sim.Walk(s.Service(service).Op(op).Plan, func(st sim.Step) {
			if w, ok := st.(*sim.Work); ok {
				w.Time = sim.Scale{F: f, D: w.Time}
			}
		})
	}
}

// stalls lets the first work of an operation hang with probability p.
func stalls(service, op string, p float64, lo, hi time.Duration) change {
	return func(s *sim.System) {
		w := firstWork(s.Service(service).Op(op).Plan)
		w.Time = sim.Mix{P: p, Rare: sim.Uniform{Lo: lo, Hi: hi}, Common: w.Time}
		w.CPU = 0
	}
}

func firstWork(plan []sim.Step) *sim.Work {
	var first *sim.Work
	sim.Walk(plan, func(st sim.Step) {
		if w, ok := st.(*sim.Work); ok && first == nil {
			first = w
		}
	})
	return first
}

func slots(service string, n int) change {
	return func(s *sim.System) {
		x := &s.Service(service).Executor
		x.Slots = n
		if x.Name == "" {
			x.Name, x.Vendor = "worker", "micrometer"
		}
	}
}

func pool(service, target string, n int) change {
	return func(s *sim.System) { s.Service(service).Pool(target).Size = n }
}

func cores(service string, n float64) change {
	return func(s *sim.System) { s.Service(service).Cores = n }
}

func slow(service string, instance int, f float64) change {
	return func(s *sim.System) { s.Service(service).Slow = map[int]float64{instance: f} }
}

// farther adds to each leg of a call.
func farther(caller, callee, op string, d, jitter time.Duration) change {
	return func(s *sim.System) {
		for _, c := range calls(s, caller, callee, op) {
			c.Leg.Base += d
			c.Leg.Jitter = sim.Plus{c.Leg.Jitter, sim.Exp(jitter)}
		}
	}
}

func rate(f float64) change {
	return func(s *sim.System) { s.Workload.Rate *= f }
}

// share sets the share of the class with the given number.
func share(class int, x float64) change {
	return func(s *sim.System) { s.Workload.Classes[class].Share = x }
}

func pauses(service string, instance int, every, length time.Duration) change {
	return func(s *sim.System) {
		s.Service(service).Pauses = []sim.Pause{{Instance: instance, Every: sim.Exp(every), Length: sim.Uniform{Lo: length * 8 / 10, Hi: length * 12 / 10}}}
	}
}

func cancel(service, op string, rule sim.CancelRule) change {
	return func(s *sim.System) { s.Service(service).Op(op).Cancel = rule }
}

func fails(service, op string, p float64) change {
	return func(s *sim.System) { s.Service(service).Op(op).FailP = p }
}

// each changes every call of an operation.
func each(caller, callee, op string, f func(*sim.Call)) change {
	return func(s *sim.System) {
		for _, c := range calls(s, caller, callee, op) {
			f(c)
		}
	}
}

// replaced changes the step of a plan that is the given call, or the Repeat around it.
func replaced(caller, op string, match func(sim.Step) bool, f func(sim.Step) sim.Step) change {
	var in func(plan []sim.Step) bool
	in = func(plan []sim.Step) bool {
		for i, st := range plan {
			if match(st) {
				plan[i] = f(st)
				return true
			}
			switch st := st.(type) {
			case sim.Seq:
				if in(st) {
					return true
				}
			case *sim.Parallel:
				if in(st.Branches) {
					return true
				}
			case *sim.Lock:
				held := []sim.Step{st.Step}
				if in(held) {
					st.Step = held[0]
					return true
				}
			}
		}
		return false
	}
	return func(s *sim.System) {
		if !in(s.Service(caller).Op(op).Plan) {
			panic("scenario: no such step in " + op)
		}
	}
}

// to matches a call, or the Repeat of one.
func to(service string) func(sim.Step) bool {
	return func(st sim.Step) bool {
		if r, ok := st.(*sim.Repeat); ok {
			st = r.Step
		}
		c, ok := st.(*sim.Call)
		return ok && c.To.Service.Name == service
	}
}

func isParallel(st sim.Step) bool { _, ok := st.(*sim.Parallel); return ok }

// repeated makes a call n times, one after the other.
func repeated(n int) func(sim.Step) sim.Step {
	return func(st sim.Step) sim.Step {
		if r, ok := st.(*sim.Repeat); ok {
			r.N = n
			return r
		}
		return &sim.Repeat{N: n, Step: st}
	}
}

// serial makes the branches of a parallel step follow one another.
func serial(st sim.Step) sim.Step {
	if r, ok := st.(*sim.Repeat); ok {
		r.Parallel = false
		return r
	}
	return sim.Seq(st.(*sim.Parallel).Branches)
}

// hop puts a call of a new service before a step.
func hop(caller, op string, before func(sim.Step) bool, service, language, name string, p sim.Protocol, median time.Duration) change {
	return func(s *sim.System) {
		to := s.Add(&sim.Service{Name: service, Version: "1.0.0", Language: language, Instances: 2, Cores: 4, Wake: wake(), ClockSkew: ms}).
			Add(&sim.Operation{Name: name, Protocol: p, Plan: []sim.Step{&sim.Work{Time: lognormal(median, 0.4), CPU: 0.3}}})
		replaced(caller, op, before, func(st sim.Step) sim.Step {
			return sim.Seq{&sim.Call{To: to, Leg: lan(), Timeout: time.Second}, st}
		})(s)
	}
}

// all makes several changes.
func all(cs ...change) change {
	return func(s *sim.System) {
		for _, c := range cs {
			c(s)
		}
	}
}

// woken lets threads that were handed a slot wake up late, everywhere.
func woken(lo, hi time.Duration) change {
	return func(s *sim.System) {
		for _, v := range s.Services {
			v.Wake = sim.Uniform{Lo: lo, Hi: hi}
		}
	}
}

// serverOnly leaves the services without client spans.
func serverOnly(s *sim.System) {
	for _, v := range s.Services {
		v.Spans.NoClient = true
	}
}
