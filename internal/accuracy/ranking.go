package main

import (
	"fmt"
	"strings"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

// An answer is what the analysis says of the main endpoint of a scenario.
type answer struct {
	simulation
	truth    *scenario.Truth
	endpoint *report.Endpoint
}

// analyze simulates a scenario and analyses its files.
func analyze(name string, seed uint64, requests int, metrics bool) (*answer, error) {
	s, err := scenario.Find(name)
	if err != nil {
		return nil, err
	}
	return simulation{scenario: s, seed: seed, requests: requests, blind: !metrics}.analyze()
}

// matches reports whether a hypothesis names the planted cause: the kind, and
// the component in the fields that the truth fills.
func matches(h *report.Hypothesis, c *scenario.CauseTruth) bool {
	same := func(got, want string) bool { return want == "" || got == want }
	return string(h.Kind) == c.Kind && same(h.Service, c.Service) && same(h.Operation, c.Operation) && same(h.Peer, c.Peer) &&
		same(h.Attribute, c.Attribute) && same(h.Value, c.Value) && same(h.Instance, c.Instance)
}

// place is the rank of the planted cause, the first of several; 0 if it is not
// among the hypotheses.
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

// inThree reports whether all planted causes are among the first three.
func (a *answer) inThree() bool {
	for k := range a.truth.Causes {
		if h, i := a.hypothesis(k); h == nil || i >= 3 {
			return false
		}
	}
	return true
}

// hypothesis is the one that names the k-th planted cause, nil if there is none, and its index.
func (a *answer) hypothesis(k int) (*report.Hypothesis, int) {
	for i := range a.endpoint.Hypotheses {
		if h := &a.endpoint.Hypotheses[i]; matches(h, &a.truth.Causes[k]) {
			return h, i
		}
	}
	return nil, 0
}

// called names a hypothesis by kind and component.
func called(h *report.Hypothesis) string {
	at := h.Service
	if h.Peer != "" {
		at += "→" + h.Peer
	}
	for _, x := range []string{h.Operation, h.Instance} {
		if x != "" {
			at += " " + x
		}
	}
	if h.Attribute != "" {
		at += " " + h.Attribute
	}
	if h.Value != "" {
		at += "=" + h.Value
	}
	return string(h.Kind) + " " + strings.TrimSpace(at)
}

// plantedAs names a cause like called does.
func plantedAs(c *scenario.CauseTruth) string {
	return called(&report.Hypothesis{Kind: report.Cause(c.Kind), Service: c.Service, Operation: c.Operation, Peer: c.Peer,
		Attribute: c.Attribute, Value: c.Value, Instance: c.Instance})
}

func (a *answer) String() string {
	var b strings.Builder
	e := a.endpoint
	fmt.Fprintf(&b, "%v: %s→%s p99 %s→%s", a.simulation, a.truth.Verdict, e.Verdict, e.P99.BaselineMs, e.P99.CurrentMs)
	for k := range a.truth.Causes {
		fmt.Fprintf(&b, " | planted %s Δ%.1f", plantedAs(&a.truth.Causes[k]), a.truth.Causes[k].DeltaP99)
	}
	for i := range e.Hypotheses {
		h := &e.Hypotheses[i]
		if i == 4 {
			break
		}
		fmt.Fprintf(&b, "\n    %d %s (%s) %s [%s,%s]", i+1, called(h), h.Strength, h.ExplainsMs, h.CIMs.Lo, h.CIMs.Hi)
	}
	return b.String()
}
