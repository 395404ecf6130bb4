package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/scenario"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// An answer is what the analysis says of the main endpoint of a scenario.
type answer struct {
	truth    *scenario.Truth
	endpoint *report.Endpoint
}

// analyze simulates a scenario and analyses its files.
func analyze(name string, seed uint64, requests int, metrics bool) (*answer, error) {
	a, _, err := analyzed(name, seed, requests, metrics)
	return a, err
}

// analyzed gives the runs of both sides as well.
func analyzed(name string, seed uint64, requests int, metrics bool) (*answer, [2]*sim.Run, error) {
	var runs [2]*sim.Run
	r, err := scenario.Generate(name, seed, requests)
	if err != nil {
		return nil, runs, err
	}
	runs = [2]*sim.Run{r.Baseline.Run, r.Current.Run}
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return nil, runs, err
	}
	defer os.RemoveAll(dir)
	if err := r.Write(dir, otlp.Format{Encoding: otlp.Proto}, false); err != nil {
		return nil, runs, err
	}
	if !metrics {
		found, err := filepath.Glob(filepath.Join(dir, "*", "metrics*"))
		if err != nil {
			return nil, runs, err
		}
		for _, f := range found {
			os.Remove(f)
		}
	}
	o := analysis.New()
	o.Baseline = [][]string{{filepath.Join(dir, "baseline")}}
	o.Current = [][]string{{filepath.Join(dir, "current")}}
	rep, err := analysis.Run(context.Background(), &o)
	if err != nil {
		return nil, runs, err
	}
	a := &answer{truth: r.Truth}
	main := r.Truth.Current.Endpoints[0]
	for i := range rep.Endpoints {
		if e := &rep.Endpoints[i]; e.Whole() && e.Operation == main.Operation && e.Service == main.Service {
			a.endpoint = e
		}
	}
	if a.endpoint == nil {
		return nil, runs, fmt.Errorf("%s: no endpoint %s %s", name, main.Service, main.Operation)
	}
	return a, runs, nil
}

// matches reports whether a hypothesis names the planted cause: the kind, and
// the component in the fields that the truth fills.
func matches(h *report.Hypothesis, c *scenario.CauseTruth) bool {
	same := func(got, want string) bool { return want == "" || got == want }
	return string(h.Kind) == c.Kind && same(h.Service, c.Service) && same(h.Operation, c.Operation) && same(h.Peer, c.Peer) &&
		same(h.Attribute, c.Attribute) && same(h.Value, c.Value) && same(h.Instance, c.Instance)
}

// place is the rank of the planted cause, 0 if it is not among the hypotheses.
func (a *answer) place() int {
	for i := range a.endpoint.Hypotheses {
		for k := range a.truth.Causes {
			if matches(&a.endpoint.Hypotheses[i], &a.truth.Causes[k]) {
				return i + 1
			}
		}
	}
	return 0
}

func (a *answer) String() string {
	var b strings.Builder
	e := a.endpoint
	fmt.Fprintf(&b, "%-34s %s→%s p99 %s→%s", a.truth.Scenario, a.truth.Verdict, e.Verdict, e.P99.BaselineMs, e.P99.CurrentMs)
	for _, c := range a.truth.Causes {
		fmt.Fprintf(&b, " | planted %s %s %s %s %s%s%s Δ%.1f", c.Kind, c.Service, c.Operation, c.Peer, c.Attribute, c.Value, c.Instance, c.DeltaP99)
	}
	for i := range e.Hypotheses {
		h := &e.Hypotheses[i]
		if i == 3 {
			break
		}
		fmt.Fprintf(&b, "\n    %d %s(%s) %s %s %s %s%s%s %s [%s,%s]", i+1, h.Kind, h.Strength, h.Service, h.Operation, h.Peer, h.Attribute, h.Value, h.Instance, h.ExplainsMs, h.CIMs.Lo, h.CIMs.Hi)
	}
	return b.String()
}
