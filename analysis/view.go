package analysis

import (
	"time"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// A view is one endpoint as it becomes a row.
type view struct {
	*hypotheses.Comparison

	meanStop float64 // how long calls go on after a departure, in ns

	related map[graph.SlotID][]family // once asked for
}

func (a *analyzer) view(e *summary.Endpoint) (*view, error) {
	c, err := hypotheses.NewComparison(a.reading, e, a.opt, a.counts)
	if err != nil {
		return nil, err
	}
	v := &view{Comparison: c}
	if rules := a.rules(v, ""); len(rules.Optional)+len(rules.Mandatory) > 0 {
		c.Meant = func(service, operation string) (optional, declared bool) {
			m := rules.Branch(service, operation)
			return m == config.DeclaredOptional, m != config.Undeclared
		}
	}
	return v, nil
}

// counts reports whether a request is in the percentiles under the options.
func (a *analyzer) counts(q *summary.Request) bool {
	at := q.Start().UTC()
	if !a.o.Since.IsZero() && at.Before(a.o.Since) || !a.o.Until.IsZero() && !at.Before(a.o.Until) {
		return false
	}
	return hypotheses.Counts(q.Record, a.o.Population)
}

// judge gives all endpoints their verdicts, as one family.
func judge(views []*view, opt stats.Options) {
	p := make([]float64, len(views))
	for i, v := range views {
		p[i] = 1
		if v.Pair != nil {
			p[i] = v.Test.P
		}
	}
	for i, q := range stats.BenjaminiHochberg(p) {
		v := views[i]
		v.P = q
		if v.Pair != nil {
			v.Verdict = v.Pair.Verdict(v.Test, q <= opt.Alpha)
		}
	}
}

// side is the side that rows describe: the current one.
func (v *view) side() *hypotheses.Side { return v.Sides[summary.Current] }

func (v *view) importance() importance {
	cur := v.side()
	x := importance{entry: !v.Endpoint.Inner, regression: v.Verdict.Outcome == stats.Regression}
	if x.regression {
		x.cost = v.Verdict.Moved * cur.Sample.Weight()
		return x
	}
	for _, q := range cur.Counted {
		x.cost += float64(q.Duration()) * weight(q.Weight)
	}
	return x
}

// window is the length of a set in seconds.
func window(s *summary.Set) float64 {
	return time.Duration(s.Counts.To - s.Counts.From).Seconds()
}
