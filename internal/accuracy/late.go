package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

func init() {
	add(suite{
		name: "late",
		about: `
Late work, attempts, hedges and shared calls of a simulated service, edge → back → store, against what the simulator did:
the share of runs in which a figure lies within 5 % of the truth, or within one of what is counted, or a quarter of a
millisecond a call, which is what is known of the clocks. 1,600 requests a run, no sampling, clocks up to 2 ms off.
Callees stop when their caller leaves, or between two steps, or go on.
Hedges: the truth is how long both attempts took; where losers are cancelled, how long they would have taken, from a run
with the same random numbers in which they are not, and within 5 points, since what was stopped can only be estimated.`,
		version: analysis.Version,
		runs:    10,
		run:     lateWork,
	})
}

// A lateCase is a system, and what is asked of the report.
type lateCase struct {
	name  string
	build func(*lateSystem)
	kept  bool // compare with the run in which losers are not cancelled
	ask   []string
}

// A lateSystem is the parts that cases vary.
type lateSystem struct {
	*sim.System
	toBack, toStore *sim.Call
	back, store     *sim.Operation
}

func newLateSystem() *lateSystem {
	const ms = time.Millisecond
	lan := sim.Leg{Base: 250 * time.Microsecond, Jitter: sim.Exp(100 * time.Microsecond)}
	s := &lateSystem{System: &sim.System{Name: "late"}}
	service := func(name string, instances int) *sim.Service {
		return s.Add(&sim.Service{Name: name, Version: "1.0.0", Language: "go", Instances: instances, Cores: 16, ClockSkew: 2 * ms})
	}
	edge, back, store := service("edge", 1), service("back", 4), service("store", 2)
	work := func(median time.Duration) *sim.Work {
		return &sim.Work{Time: sim.LogNormal{Median: median, Sigma: 0.5}}
	}
	s.store = store.Add(&sim.Operation{Name: "store.v1.Store/Get", Protocol: sim.GRPC, Plan: []sim.Step{work(8 * ms)}})
	s.toStore = &sim.Call{To: s.store, Leg: lan}
	s.back = back.Add(&sim.Operation{Name: "GET /v1/things/{id}", Plan: []sim.Step{work(10 * ms), s.toStore, work(6 * ms)}})
	s.toBack = &sim.Call{To: s.back, Leg: lan, Optional: true}
	home := edge.Add(&sim.Operation{Name: "GET /home", Plan: []sim.Step{work(2 * ms), s.toBack, work(2 * ms)}})
	s.Workload = sim.Workload{Rate: 40, Identities: 2000, Tenants: 50, Entry: lan, Classes: []sim.Class{{Name: "all", Share: 1, Op: home, Size: 1}}}
	return s
}

// hedged makes back one step, of which a share of the calls is slow: by itself,
// or because the request is.
func (s *lateSystem) hedged(local, keep bool) {
	const ms = time.Millisecond
	fast := sim.LogNormal{Median: 10 * ms, Sigma: 0.2}
	w := &sim.Work{Time: fast}
	if local {
		w.Time = sim.Mix{P: 0.15, Rare: sim.Uniform{Lo: 60 * ms, Hi: 140 * ms}, Common: fast}
	} else {
		w.Size = 1
		s.Workload.SlowRequests, s.Workload.SlowFactor = 0.15, 8
	}
	s.back.Plan, s.back.Cancel = []sim.Step{w}, sim.Prompt
	s.toBack.Hedge = &sim.Hedge{Delay: 25 * ms, Keep: keep}
}

var lateCases = []lateCase{
	{name: "callees stop", ask: []string{"late share", "late time"}, build: func(s *lateSystem) {
		s.toBack.Timeout, s.back.Cancel, s.store.Cancel = 35*time.Millisecond, sim.Prompt, sim.Prompt
	}},
	{name: "callees stop between steps", ask: []string{"late share", "late time", "mean in flight"}, build: func(s *lateSystem) {
		s.toBack.Timeout, s.back.Cancel = 28*time.Millisecond, sim.BetweenSteps
	}},
	{name: "callees go on", ask: []string{"late share", "late time", "mean in flight", "done though believed failed"}, build: func(s *lateSystem) {
		s.toBack.Timeout = 28 * time.Millisecond
	}},
	{name: "two layers try again", ask: []string{"attempts per call, first layer", "attempts per call, both layers"}, build: func(s *lateSystem) {
		s.store.FailP, s.back.FailP = 0.15, 0.2
		s.toStore.Retry, s.toBack.Retry = &sim.Retry{Max: 2, Backoff: 5 * time.Millisecond}, &sim.Retry{Max: 2, Backoff: 20 * time.Millisecond}
	}},
	{name: "hedges, slow by themselves, both go on", ask: []string{"second slow where the first is", "hedge rate"}, build: func(s *lateSystem) { s.hedged(true, true) }},
	{name: "hedges, slow by request, both go on", ask: []string{"second slow where the first is", "hedge rate"}, build: func(s *lateSystem) { s.hedged(false, true) }},
	{name: "hedges, slow by themselves, losers stop", kept: true, ask: []string{"second slow where the first is", "hedge rate"}, build: func(s *lateSystem) { s.hedged(true, false) }},
	{name: "hedges, slow by request, losers stop", kept: true, ask: []string{"second slow where the first is", "hedge rate"}, build: func(s *lateSystem) { s.hedged(false, false) }},
	{name: "calls are shared", ask: []string{"followers"}, build: func(s *lateSystem) {
		s.toBack.Coalesce = true
		s.Workload.Identities = 8
	}},
	{name: "calls could be shared", ask: []string{"eligible calls"}, build: func(s *lateSystem) { s.Workload.Identities = 8 }},
}

func lateWork(seed uint64, runs int) []cell {
	var out []cell
	for _, c := range lateCases {
		cells := make([]cell, len(c.ask))
		for i, what := range c.ask {
			cells[i] = cell{name: c.name + ": " + what, target: atLeast(0.9)}
		}
		for i := range runs {
			got, err := c.measure(seed + uint64(i))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			for k, what := range c.ask {
				x, said := got[what]
				cells[k].runs++
				if said && math.Abs(x.got-x.want) <= x.within {
					cells[k].hits++
				} else {
					fmt.Fprintf(os.Stderr, "%s, seed %d, %s: %.5g, the simulator did %.5g\n", c.name, seed+uint64(i), what, x.got, x.want)
				}
			}
		}
		out = append(out, cells...)
	}
	return out
}

// A figure is what the report says and what is true.
type figure struct{ got, want, within float64 }

// clockSlack is how well calls between two hosts can tell their clocks apart, in
// ms: about half of what a way takes there and back. A callee that stops at once
// does so within it.
const clockSlack = 0.25

// counted is a figure that may be off by 5 %, or by unit.
func counted(got, want, unit float64) figure { return figure{got, want, max(0.05*want, unit)} }

func (c *lateCase) simulate(seed uint64, keep bool) *sim.Run {
	s := newLateSystem()
	c.build(s)
	if keep {
		s.toBack.Hedge.Keep = true
	}
	return sim.Simulate(s.System, sim.Options{Seed: seed, Requests: 1600, Spans: true})
}

func (c *lateCase) measure(seed uint64) (map[string]figure, error) {
	run := c.simulate(seed, false)
	e, err := reportOf(run)
	if err != nil {
		return nil, err
	}
	var to [2]struct { // back, store
		attempts, logical, late, doneFailed float64
		lateTime                            time.Duration
	}
	const toBack, toStore = 0, 1
	for i := range run.Attempts {
		a := &run.Attempts[i]
		k := -1
		switch op := run.Edges[a.Edge].Op; {
		case op == nil:
		case op.Service.Name == "back":
			k = toBack
		case op.Service.Name == "store":
			k = toStore
		}
		if k < 0 {
			continue
		}
		to[k].attempts++
		if a.N == 0 {
			to[k].logical++
		}
		if a.Lost {
			continue
		}
		if a.Late() > 0 {
			to[k].late++
		}
		if a.Outcome != sim.OK && a.Served == sim.OK {
			to[k].doneFailed++
		}
		if k == toBack {
			to[k].lateTime += a.Late()
		}
	}
	out := map[string]figure{}
	want, l := &to[toBack], &e.LateWork
	for i := range l.Edges {
		if x := &l.Edges[i]; x.Peer == "back" {
			out["late share"] = counted(float64(x.LateAttempts/x.Attempts), want.late/want.attempts, 1/want.attempts)
			out["late time"] = counted(float64(x.TotalMs), want.lateTime.Seconds()*1e3, clockSlack*want.late)
			seconds := (run.Requests[len(run.Requests)-1].End - run.Requests[0].Arrive).Seconds()
			out["mean in flight"] = counted(x.MeanInFlight.Or(math.NaN()), want.lateTime.Seconds()/seconds, 0.005)
			out["done though believed failed"] = counted(float64(x.ClientFailedServerSucceeded), want.doneFailed, 1)
		}
	}
	for i := range e.Attempts {
		switch x := &e.Attempts[i]; x.Peer {
		case "back":
			out["attempts per call, first layer"] = counted(x.Amplification.Or(0), want.attempts/want.logical, 0)
		case "store":
			first := want.attempts / want.logical
			out["attempts per call, both layers"] = counted(x.OverLayers.Or(0), first*to[toStore].attempts/to[toStore].logical, 0)
		}
	}
	if len(c.ask) > 1 && c.ask[1] == "hedge rate" {
		truth, within := run, 0.0
		if c.kept {
			truth, within = c.simulate(seed, true), 0.05
		}
		again, rate := hedgeTruth(truth)
		for i := range e.Hedging {
			h := &e.Hedging[i]
			out["second slow where the first is"] = counted(float64(h.PSlowAgain), again, within)
			out["hedge rate"] = counted(float64(h.Rate), rate, 1.0/1600)
		}
	}
	for i := range e.Coalescing {
		x := &e.Coalescing[i]
		out["followers"] = counted(float64(x.Followers), float64(run.Coalesced), 1)
		if x.Peer == "back" {
			out["eligible calls"] = counted(float64(x.Eligible), eligible(run), 1)
		}
	}
	return out, nil
}

// hedgeTruth is P(second slow | first slow), slow being longer than the delay,
// and the share of calls with a second attempt.
func hedgeTruth(run *sim.Run) (again, rate float64) {
	const delay = 25 * time.Millisecond
	var calls, hedged, both float64
	for i := range run.Attempts {
		a := &run.Attempts[i]
		if op := run.Edges[a.Edge].Op; op == nil || op.Service.Name != "back" {
			continue
		}
		switch {
		case a.N == 0:
			calls++
		case a.Hedge:
			hedged++
			if a.End-a.Begin > delay {
				both++
			}
		}
	}
	return both / hedged, hedged / calls
}

// eligible is the calls of back that another for the same identity by the same
// process overlaps, in flights that end with their first call.
func eligible(run *sim.Run) float64 {
	type flight struct {
		end time.Duration
		n   float64
	}
	type key struct {
		caller   *sim.Instance
		identity int
	}
	open := map[key]*flight{}
	var total float64
	done := func(f *flight) {
		if f.n > 1 {
			total += f.n
		}
	}
	list := make([]*sim.Attempt, 0, len(run.Attempts))
	for i := range run.Attempts {
		if a := &run.Attempts[i]; run.Edges[a.Edge].Op != nil && run.Edges[a.Edge].Op.Service.Name == "back" {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *sim.Attempt) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, a := range list {
		k := key{a.Caller, run.Requests[a.Request].Identity}
		f := open[k]
		if f != nil && a.Begin < f.end {
			f.n++
			continue
		}
		if f != nil {
			done(f)
		}
		open[k] = &flight{a.End, 1}
	}
	for _, f := range open {
		done(f)
	}
	return total
}

// reportOf analyses a run by itself, and gives its entry.
func reportOf(run *sim.Run) (*report.Endpoint, error) {
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	set := &export.Set{Run: run, Options: export.Options{Start: time.Date(2026, 3, 3, 18, 0, 0, 0, time.UTC)}}
	if err := set.WriteFiles(dir, otlp.Format{Encoding: otlp.Proto}); err != nil {
		return nil, err
	}
	o := analysis.New()
	o.Current = [][]string{{dir}}
	rep, err := analysis.Run(context.Background(), &o)
	if err != nil {
		return nil, err
	}
	for i := range rep.Endpoints {
		if e := &rep.Endpoints[i]; e.Whole() && e.Service == "edge" {
			return e, nil
		}
	}
	return nil, fmt.Errorf("no endpoint of edge")
}
