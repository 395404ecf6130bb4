package analysis

import (
	"math"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
)

// causes fills the ranked hypotheses of a compared endpoint, the attributes
// whose shares differ, and what is left unexplained.
func (a *analyzer) causes(e *report.Endpoint, v *view, nodes map[graph.SlotID]report.NodeID) {
	e.ReplayInexact = report.Null
	if v.Pair == nil {
		return
	}
	if v.Verdict.Outcome == stats.NoRegression {
		return
	}
	r := hypotheses.Rank(v.Comparison)
	e.ReplayInexact = report.Some(r.Inexact)
	if a.o.Notes != nil {
		for _, x := range r.Recall(a.o.Notes.Notes) {
			e.Experiments = append(e.Experiments, report.Experiment{At: x.At, Change: x.Change, Observed: x.Observed, Outcome: x.Outcome, Tested: report.Cause(x.Tests.Kind), Effect: x.Effect})
		}
	}
	focus := r.Focus != a.o.Quantile
	for i := range r.Findings {
		f := &r.Findings[i]
		h := hypothesis(i+1, f, e)
		if focus {
			h.FocusMs, h.FocusCIMs = msOf(f.Explains), report.Between(f.Lo/1e6, f.Hi/1e6)
		}
		e.Hypotheses = append(e.Hypotheses, h)
	}
	if focus {
		e.Focus = &report.Focus{Quantile: report.Float(r.Focus), Latency: a.quantile(v, r.Focus), UnexplainedMs: msOf(r.Left.NS), UnexplainedCIMs: between(r.Left)}
		e.Focus.Allocation, e.Focus.AllocationScale = a.allocation(v, nodes, r.Focus)
	}
	if !math.IsNaN(r.Unexplained.NS) {
		e.Unexplained = &report.Unexplained{Ms: msOf(r.Unexplained.NS), CIMs: between(r.Unexplained)}
	}
	a.mix(e, r)
	e.MixSplit = a.mixSplit(r.Mix)
	a.actions(e, v, r)
}

func between(e hypotheses.Effect) report.Interval { return report.Between(e.Lo/1e6, e.Hi/1e6) }

func (a *analyzer) mixSplit(m *hypotheses.MixSplit) *report.MixSplit {
	if m == nil {
		return nil
	}
	out := &report.MixSplit{Attribute: a.str(m.Key), Lead: string(m.Lead), Strength: string(m.Strength), OnlyBaseline: report.Float(m.OnlyBase), OnlyCurrent: report.Float(m.OnlyCur)}
	for _, o := range []struct {
		side string
		stats.Split
	}{{report.Current, m.CurrentOrder}, {report.Baseline, m.BaselineOrder}} {
		out.Orders = append(out.Orders, report.MixOrder{
			Reweighted: o.side, CounterfactualMs: msOf(o.Counterfactual), MixMs: msOf(o.Mix), MixCIMs: msInterval(o.MixInterval),
			BehaviourMs: msOf(o.Behaviour), BehaviourCIMs: msInterval(o.BehaviourInterval), SupportMs: msOf(o.Support), TailN: report.Float(o.TailN),
		})
	}
	return out
}

func hypothesis(rank int, f *hypotheses.Finding, e *report.Endpoint) report.Hypothesis {
	h := report.Hypothesis{
		Rank: rank, Kind: report.Cause(f.Kind), Strength: report.Strength(f.Strength.String()),
		Service: f.Service, Operation: f.Operation, Peer: f.Peer, Attribute: f.Attribute, Value: f.Value, Instance: f.Instance,
		Claim: f.Claim, ExplainsMs: msOf(f.Target.NS), CIMs: report.Between(f.Target.Lo/1e6, f.Target.Hi/1e6), Evidence: evidence(f.Evidence), Against: evidence(f.Against), Warnings: f.Warnings,
		Check: report.Check{Question: f.Check.Question, Rival: f.Check.Rival, IfThis: f.Check.IfThis, IfRival: f.Check.IfRival, Status: report.ToRun, Query: f.Check.Query},
	}
	for _, q := range hypotheses.Queries(f, e.Service, e.Operation) {
		h.Check.Queries = append(h.Check.Queries, report.Query{Language: q.Language, Text: q.Text})
	}
	if f.Check.Ran {
		h.Check.Status, h.Check.Outcome = report.Ran, f.Check.Outcome
	}
	return h
}

func evidence(list []hypotheses.Evidence) (out report.List[report.Evidence]) {
	for _, e := range list {
		out = append(out, report.Evidence{Statement: e.Statement, Baseline: report.Some(e.Base), Current: report.Some(e.Cur), Unit: e.Unit, Source: report.Source(e.Source), N: e.N})
	}
	return out
}

// mixP is the false discovery rate at which an attribute is listed, maxMix how
// many of its values are, and maxMixRows how many rows in all.
const (
	mixP       = 0.05
	maxMix     = 3
	maxMixRows = 12
)

// mix lists the attributes whose shares differ between the sides. Those of
// resources that name a process or a version of a tool say nothing of requests.
func (a *analyzer) mix(e *report.Endpoint, r *hypotheses.Ranking) {
	for _, at := range r.Attributes {
		key := a.str(at.Key)
		if at.P > mixP || strings.HasPrefix(key, "telemetry.") || strings.HasPrefix(key, "process.") {
			continue
		}
		for i, v := range at.Values {
			if i == maxMix || v.P > mixP {
				break
			}
			row := report.Mix{Attribute: key, Value: a.str(v.Value), Baseline: report.Some(v.Base), Current: report.Some(v.Cur), OddsRatio: report.Some(v.Odds),
				OddsCI: report.Between(v.OddsLo, v.OddsHi), EffectP99Ms: msOf(v.Effect), Consequence: v.Consequence}
			e.Mix = append(e.Mix, row)
		}
	}
	if len(e.Mix) > maxMixRows {
		e.Mix = e.Mix[:maxMixRows]
	}
}
