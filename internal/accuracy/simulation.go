package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

// cache is a directory in which simulated data are kept, if it is not empty. It is for trying changes of the
// analysis: one must empty it when the simulator changes.
var cache string

// A simulation is a scenario with what its telemetry went through.
type simulation struct {
	scenario *scenario.Scenario
	seed     uint64
	requests int
	head     float64 // share of the traces that are kept; 0: all
	blind    bool    // no metrics
}

func (s simulation) String() string {
	metrics := ", metrics"
	if s.blind {
		metrics = ""
	}
	return fmt.Sprintf("%s, seed %d, %d requests%s", s.name(), s.seed, s.requests, metrics)
}

// name is the scenario's, and what share of it is kept.
func (s simulation) name() string {
	if s.head == 0 {
		return s.scenario.Name
	}
	return fmt.Sprintf("%s@%g%%", s.scenario.Name, 100*s.head)
}

// data simulates, and says where the data and the truth are; done removes them.
func (s simulation) data() (dir string, truth *scenario.Truth, done func(), err error) {
	if cache == "" {
		if dir, err = os.MkdirTemp("", "accuracy"); err != nil {
			return "", nil, nil, err
		}
		done = func() { os.RemoveAll(dir) }
	} else {
		done = func() {}
		dir = filepath.Join(cache, fmt.Sprintf("%s-%d-%d", strings.ReplaceAll(s.name(), "/", "_"), s.seed, s.requests))
		if b, err := os.ReadFile(filepath.Join(dir, "truth.json")); err == nil {
			truth = new(scenario.Truth)
			return dir, truth, done, json.Unmarshal(b, truth)
		}
	}
	r := s.run()
	if err := r.Write(dir, otlp.Format{Encoding: otlp.Proto}, false); err != nil {
		done()
		return "", nil, nil, err
	}
	return dir, r.Truth, done, nil
}

// drawn is scenario.Random, which takes many simulations to find an incident that shows.
func drawn(seed uint64) *scenario.Scenario {
	path := filepath.Join(cache, fmt.Sprintf("random-%d.tries", seed))
	try := uint64(0)
	if b, err := os.ReadFile(path); cache != "" && err == nil {
		try, _ = strconv.ParseUint(string(b), 10, 64) // or from the beginning
	}
	sc, try := scenario.Random(seed, try)
	if cache != "" {
		os.WriteFile(path, []byte(strconv.FormatUint(try, 10)), 0o666) // it can be found again
	}
	return sc
}

// last is the simulation that ran last: the next one is often the same, with other traces of it kept.
var last struct {
	sync.Mutex
	scenario *scenario.Scenario
	seed     uint64
	requests int
	result   *scenario.Result
}

func (s simulation) run() *scenario.Result {
	last.Lock()
	result := last.result
	if last.scenario != s.scenario || last.seed != s.seed || last.requests != s.requests {
		result = nil
	}
	last.Unlock()
	if result == nil {
		result = s.scenario.Generate(s.seed, s.requests)
		last.Lock()
		last.scenario, last.seed, last.requests, last.result = s.scenario, s.seed, s.requests, result
		last.Unlock()
	}
	r := *result
	base, cur := *r.Baseline, *r.Current
	if s.head > 0 {
		base.Options.Head, cur.Options.Head = s.head, s.head
	}
	r.Baseline, r.Current = &base, &cur
	return &r
}

// spread is the standard deviation of what each cause of the scenario adds to the p99, over some seeds, in ms.
func (s simulation) spread() []float64 {
	path := filepath.Join(cache, fmt.Sprintf("%s-%d.spread", strings.ReplaceAll(s.scenario.Name, "/", "_"), s.requests))
	if cache != "" {
		if b, err := os.ReadFile(path); err == nil {
			var sd []float64
			if json.Unmarshal(b, &sd) == nil {
				return sd
			}
		}
	}
	const seeds = 6
	effects := s.scenario.Effects(seeds, s.requests)
	sd := make([]float64, len(s.scenario.Causes))
	for k := range sd {
		var sum, squares float64
		for _, e := range effects {
			sum += e[k]
			squares += e[k] * e[k]
		}
		mean := sum / seeds
		sd[k] = math.Sqrt(max(0, squares-seeds*mean*mean) / (seeds - 1))
	}
	if b, err := json.Marshal(sd); cache != "" && err == nil {
		os.WriteFile(path, b, 0o666) // it can be computed again
	}
	return sd
}

// analyze simulates and analyses.
func (s simulation) analyze() (*answer, error) {
	dir, truth, done, err := s.data()
	if err != nil {
		return nil, err
	}
	defer done()
	side := func(name string) [][]string {
		sub := filepath.Join(dir, name)
		if !s.blind {
			return [][]string{{sub}}
		}
		traces, _ := filepath.Glob(filepath.Join(sub, "traces*")) // the pattern is right
		return [][]string{traces}
	}
	o := analysis.New()
	o.Baseline, o.Current = side("baseline"), side("current")
	rep, err := analysis.Run(context.Background(), &o)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	a := &answer{simulation: s, truth: truth}
	main := truth.Current.Endpoints[0]
	for i := range rep.Endpoints {
		if e := &rep.Endpoints[i]; e.Whole() && e.Operation == main.Operation && e.Service == main.Service {
			a.endpoint = e
		}
	}
	if a.endpoint == nil {
		return nil, fmt.Errorf("%v: no endpoint %s %s", s, main.Service, main.Operation)
	}
	return a, nil
}
