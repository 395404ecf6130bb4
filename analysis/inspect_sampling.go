package analysis

import (
	"fmt"
	"math"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
)

// sampling says how the requests were sampled.
func (in *inspector) sampling(s *seen) {
	out := &in.out.Sampling
	out.Stated, out.Unstated = s.samplings[population.Stated], s.samplings[population.Unstated]
	out.Unreadable, out.Unmeasured = s.samplings[population.Unreadable], s.samplings[population.Unmeasured]
	out.MinWeight, out.MaxWeight = report.Null, report.Null
	for _, r := range in.set.Records {
		w := weight(r.Weight)
		out.Estimated += report.Float(w)
		out.MinWeight = report.Some(math.Min(out.MinWeight.Or(w), w))
		out.MaxWeight = report.Some(math.Max(out.MaxWeight.Or(w), w))
	}
	if !s.fromStores { // a snapshot keeps weights and not what stated them
		for _, r := range in.set.Records {
			if r.Weight == graph.OneRequest {
				out.Unstated++
			} else {
				out.Stated++
			}
		}
	}
	in.tailBiased()
}

// minAgainst is how many requests an endpoint needs to be held against a metric.
const minAgainst = 30

// against compares an endpoint's requests with what a metric counted.
func (in *inspector) against(d *metric.Durations) {
	if d.Total.Count < minAgainst {
		return
	}
	for _, e := range in.reading.Endpoints {
		if in.str(e.Name.Service) != d.Service || in.str(e.Name.Operation) != d.Operation {
			continue
		}
		u := report.Unbiased{Service: d.Service, Operation: d.Operation, Metric: d.Name, Counted: report.Float(d.Total.Count), AboveMs: report.Null, MetricAt: report.Null, SpansAt: report.Null}
		_, bound := d.Total.Quantile(0.9)
		_, most := d.Total.Above(bound)
		above := 0.0
		for _, q := range e.Sides[summary.Current] {
			w := weight(q.Weight)
			u.Estimated += report.Float(w)
			if float64(q.Duration())/1e6 > bound {
				above += w
			}
		}
		if u.Estimated > 0 && !math.IsInf(bound, 0) {
			u.AboveMs, u.MetricAt, u.SpansAt = report.Some(bound), report.Some(float64(most)/float64(d.Total.Count)), report.Some(above/float64(u.Estimated))
		}
		in.out.Sampling.Against = append(in.out.Sampling.Against, u)
	}
}

// tailBiased looks for signs that slow requests were kept with a higher
// probability than fast ones.
func (in *inspector) tailBiased() {
	out := &in.out.Sampling
	if len(out.Policies) > 0 {
		out.TailBiased = fmt.Sprintf("spans name a tail-sampling policy (%s)", out.Policies[0].Name)
		return
	}
	for _, u := range out.Against {
		m, ok1 := u.MetricAt.Get()
		s, ok2 := u.SpansAt.Get()
		n := 0
		for _, e := range in.out.Endpoints {
			if e.Service == u.Service && e.Operation == u.Operation {
				n += int(e.Requests)
			}
		}
		// Twice the share, and three standard deviations of what chance gives.
		if ok1 && ok2 && n >= minAgainst && s > 2*m && s-m > 3*math.Sqrt(max(m, 1/float64(n))*(1-m)/float64(n)) {
			out.TailBiased = prose.Sprintf("%.3g %% of the requests of %s %s in the spans took longer than %.4g ms, and at most %.3g %% of those that %s counted", 100*s, u.Service, u.Operation, u.AboveMs.Or(0), 100*m, u.Metric)
			return
		}
	}
}
