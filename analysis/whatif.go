package analysis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
)

// ErrNoEndpoint says that the data hold no endpoint that was asked for, or none
// with requests that count.
var ErrNoEndpoint = errors.New("no endpoint fits --endpoint and --service, or none has requests that count")

// WhatIf reads one data set and replays its requests with something changed.
// changes says in words what; defaults of the rules are filled in per endpoint.
func WhatIf(ctx context.Context, o *Options, w hypotheses.WhatIf, changes []string) (*report.WhatIf, error) {
	l, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	a := &analyzer{o: o, opt: o.stats(), reading: summary.Read(nil, l.Sides[summary.Current], o.reading())}
	out := &report.WhatIf{Version: o.Version, Changes: changes}
	var views []*view
	for _, e := range a.reading.Endpoints {
		if !a.wanted(e) {
			continue
		}
		v, err := a.view(e)
		if err != nil {
			return nil, err
		}
		if len(v.side().Counted) > 0 {
			views = append(views, v)
		}
	}
	slices.SortStableFunc(views, func(x, y *view) int { return y.importance().compare(x.importance()) })
	var unfit *hypotheses.UnfitError
	for _, v := range views {
		r, err := v.Replay(a.ofRules(v, w))
		var u *hypotheses.UnfitError
		switch {
		case errors.As(err, &u):
			if unfit == nil {
				unfit = u
			}
			continue
		case err != nil:
			return nil, err
		}
		out.Endpoints = append(out.Endpoints, a.replayed(v, r))
	}
	if len(out.Endpoints) == 0 {
		if unfit == nil {
			return nil, ErrNoEndpoint
		}
		return nil, unfit
	}
	return out, nil
}

// ofRules fills in what the rules of the endpoint say and the user did not.
func (a *analyzer) ofRules(v *view, w hypotheses.WhatIf) hypotheses.WhatIf {
	w.Rules = a.rules(v, "")
	w.Objective = int64(a.objective(v, ""))
	if w.Deadline > 0 && w.Objective == 0 {
		w.Objective = w.Deadline
	}
	if d := w.Rules.Deadline; d != nil && w.Deadline > 0 {
		fill := func(to *int64, from config.Duration) {
			if *to == 0 {
				*to = int64(time.Duration(from))
			}
		}
		fill(&w.Reserve, d.Reserve)
		fill(&w.OptionalMin, d.OptionalMin)
	}
	return w
}

func (a *analyzer) replayed(v *view, r *hypotheses.Replayed) report.WhatIfEndpoint {
	e := report.WhatIfEndpoint{
		Service: a.str(v.Endpoint.Name.Service), Operation: a.str(v.Endpoint.Name.Operation), Requests: int64(r.Requests),
		Stopped: report.Some(r.Stopped), Failed: report.Some(r.Failed), Omitted: report.Some(r.Omitted),
		Goodput: report.RecordedPair{Recorded: report.Some(r.Goodput[0]), Replayed: report.Some(r.Goodput[1])},
		WorkMs:  report.RecordedPair{Recorded: msOf(r.Work[0]), Replayed: msOf(r.Work[1])},
		LateMs:  msOf(r.LateAvoided), Extra: report.Some(r.ExtraCalls), Assumed: r.Assumptions, Unknown: r.Unknown,
	}
	for _, q := range r.Quantiles {
		e.Quantiles = append(e.Quantiles, report.WhatIfQuantile{Quantile: report.Float(q.Quantile), RecordedMs: msOf(q.Recorded), ReplayedMs: msOf(q.Replayed), DeltaMs: msOf(q.Change), CIMs: report.Between(q.Lo/1e6, q.Hi/1e6)})
	}
	for _, x := range r.Omissions {
		e.Omissions = append(e.Omissions, report.Omission{Service: x.Service, Operation: x.Operation, Share: report.Float(x.Share)})
	}
	return e
}
