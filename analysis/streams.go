package analysis

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// streams lists what has a lifetime and no latency, by its kind.
func (a *analyzer) streams(e *report.Endpoint, v *view) {
	var kinds [2]map[string]*lifetimes
	for i, s := range v.Sides {
		if s != nil {
			kinds[i] = a.lifetimes(s)
		}
	}
	all := map[string]bool{}
	for _, side := range kinds {
		for kind := range side {
			all[kind] = true
		}
	}
	for kind := range all {
		row := report.StreamRow{Kind: kind}
		row.Current = kinds[summary.Current][kind].row()
		if v.Sides[summary.Baseline] != nil {
			r := kinds[summary.Baseline][kind].row()
			row.Baseline = &r
		}
		e.Streams = append(e.Streams, row)
	}
	slices.SortFunc(e.Streams, func(x, y report.StreamRow) int {
		return cmp.Or(cmp.Compare(y.Current.Count, x.Current.Count), cmp.Compare(x.Kind, y.Kind))
	})
}

// lifetimes is those of the streams of one kind.
type lifetimes struct {
	ns     []int64
	weight []float64
	sum    float64
}

func (a *analyzer) lifetimes(s *hypotheses.Side) map[string]*lifetimes {
	kinds := map[string]*lifetimes{}
	for _, q := range s.All {
		if q.Standing != graph.Stream {
			continue
		}
		kind := cmp.Or(a.str(q.Reason), report.Stream)
		l := kinds[kind]
		if l == nil {
			l = &lifetimes{}
			kinds[kind] = l
		}
		w := weight(q.Weight)
		l.ns, l.weight = append(l.ns, q.Duration()), append(l.weight, w)
		l.sum += w
	}
	return kinds
}

// row is null where there are none.
func (l *lifetimes) row() report.Lifetimes {
	if l == nil {
		return report.Lifetimes{P50Ms: report.Null, MaxMs: report.Null}
	}
	return report.Lifetimes{Count: report.Float(l.sum), P50Ms: msOf(float64(stats.Quantile(l.ns, l.weight, 0.5))), MaxMs: msOf(float64(slices.Max(l.ns)))}
}
