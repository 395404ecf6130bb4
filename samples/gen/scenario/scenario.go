// Package scenario holds simulated systems and what can go wrong in them. A [Scenario] is a system and
// the causes that make its current run differ from its baseline run; [Generate] simulates both and tells
// the truth about them.
package scenario

import (
	"fmt"
	"sort"
	"time"

	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// A Component is where a cause is, in the fields by which a report names it. Empty fields do not apply.
type Component struct {
	Service   string `json:"service,omitempty"`
	Operation string `json:"operation,omitempty"`
	Peer      string `json:"peer,omitempty"`
	Attribute string `json:"attribute,omitempty"`
	Value     string `json:"value,omitempty"`
	Instance  string `json:"instance,omitempty"`
}

// A Cause is one planted difference of the current run.
type Cause struct {
	Kind      string
	Component Component
	// Apply changes the system, Export what becomes of its telemetry; either may be nil.
	Apply  func(*sim.System)
	Export func(*export.Options)
	// instance is the one of Component.Service whose service.instance.id is put into the component of an instance or a pause;
	// negative where all are meant.
	instance int
}

// Verdict is what a right analysis says of the entry endpoint.
type Verdict string

const (
	Regression  Verdict = "regression"
	NoChange    Verdict = "no-regression"
	Improvement Verdict = "improvement"
	// Artefact: what was measured differs, not the system.
	Artefact Verdict = "artefact"
)

// A Scenario is a baseline run and a current run of one system.
type Scenario struct {
	Name    string // system/what
	About   string
	Verdict Verdict
	Causes  []Cause
	// Worse makes the causes part of the baseline, not of the current run: the change is an improvement.
	Worse bool
	// Metered says that only metrics tell the cause from others.
	Metered bool
	// Both changes the system, or its telemetry, on both sides.
	Both       func(*sim.System)
	BothExport func(*export.Options)

	build       func() *sim.System
	currentOnly change // a difference of the current run that is no cause of anything
}

// A Result is the telemetry of both runs and the truth about them.
type Result struct {
	Scenario          *Scenario
	Baseline, Current *export.Set
	Truth             *Truth
}

// List is all scenarios by name.
func List() []*Scenario {
	var all []*Scenario
	for _, s := range [][]*Scenario{mercuryScenarios(), feedScenarios(), checkoutScenarios(), searchScenarios(), meshScenarios()} {
		all = append(all, s...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Find returns the scenario with the given name.
func Find(name string) (*Scenario, error) {
	for _, s := range List() {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("scenario: no %q; --list names them", name)
}

// epoch is when the baseline runs begin; the current ones begin a week later.
var epoch = time.Date(2026, 3, 3, 18, 0, 0, 0, time.UTC)

// Drift is the standard deviation of the logarithm of the factor by which a service's work differs
// between two runs of the same system.
const drift = 0.01

// Generate simulates a scenario with so many requests a side. The same arguments give the same result.
func Generate(name string, seed uint64, requests int) (*Result, error) {
	s, err := Find(name)
	if err != nil {
		return nil, err
	}
	return s.Generate(seed, requests), nil
}

// side is one run: the system with the causes whose index apply admits.
func (s *Scenario) side(seed uint64, current, telemetry bool, requests int, apply func(i int) bool) *export.Set {
	sys := s.build()
	o := export.Options{Start: epoch}
	name := "baseline"
	if current {
		name = "current"
		o.Start = epoch.AddDate(0, 0, 7)
	}
	if s.Both != nil {
		s.Both(sys)
	}
	if s.BothExport != nil {
		s.BothExport(&o)
	}
	if current && s.currentOnly != nil {
		s.currentOnly(sys)
	}
	for i, c := range s.Causes {
		if !apply(i) {
			continue
		}
		if c.Apply != nil {
			c.Apply(sys)
		}
		if c.Export != nil {
			c.Export(&o)
		}
	}
	run := sim.Simulate(sys, sim.Options{Seed: uint64(sim.Key(seed).Name(name)), Requests: requests, Drift: drift,
		Spans: telemetry, Metrics: telemetry, Brief: !telemetry})
	return &export.Set{Run: run, Options: o}
}

// Generate simulates the scenario.
func (s *Scenario) Generate(seed uint64, requests int) *Result {
	all := func(int) bool { return true }
	none := func(int) bool { return false }
	b, c := none, all
	if s.Worse {
		b, c = all, none
	}
	r := &Result{Scenario: s,
		Baseline: s.side(seed, false, true, requests, b),
		Current:  s.side(seed, true, true, requests, c)}
	r.Truth = newTruth(r, seed)
	for i := range s.Causes {
		// The side that has the causes, once more without this one.
		without := s.side(seed, !s.Worse, false, requests, func(k int) bool { return k != i })
		r.Truth.counterfactual(r, i, without)
	}
	return r
}

// Effects is what each cause adds to the p99, in ms, in so many runs.
func (s *Scenario) Effects(runs, requests int) [][]float64 {
	out := make([][]float64, runs)
	for i := range out {
		seed := uint64(1000 + i)
		all := s.side(seed, !s.Worse, false, requests, func(int) bool { return true })
		for k := range s.Causes {
			without := s.side(seed, !s.Worse, false, requests, func(c int) bool { return c != k })
			out[i] = append(out[i], millis(p99(all.Run))-millis(p99(without.Run)))
		}
	}
	return out
}
