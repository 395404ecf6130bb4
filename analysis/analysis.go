package analysis

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/parallel"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// Run reads the inputs and returns the report.
func Run(ctx context.Context, o *Options) (*report.Report, error) {
	l, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	return AnalyzeContext(ctx, l, o)
}

// Analyze returns the report on what was loaded, which is used up.
func Analyze(l *Loaded, o *Options) (*report.Report, error) {
	return AnalyzeContext(context.Background(), l, o)
}

// AnalyzeContext is Analyze until ctx ends.
func AnalyzeContext(ctx context.Context, l *Loaded, o *Options) (*report.Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := &analyzer{ctx: ctx, o: o, opt: o.stats(), reading: summary.Read(l.Sides[summary.Baseline], l.Sides[summary.Current], o.reading())}
	rep := &report.Report{
		Run: report.Run{
			Version: o.Version, Kept: report.KeptAll, Quantile: report.Float(o.Quantile), Alpha: report.Float(o.Alpha), Population: o.Population.String(),
			MinEffectMs: report.Float(float64(o.MinEffect) / float64(time.Millisecond)), MinEffectShare: report.Float(o.MinEffectShare), Seed: o.Seed,
		},
	}
	a.ingest(rep, l)
	if l.Cut != "" {
		rep.Warnings = append(rep.Warnings, l.Cut)
		rep.LeftOut = append(rep.LeftOut, l.LeftOut...)
	}
	a.kept(rep)
	a.metrics(rep)
	if err := a.endpoints(rep); err != nil {
		return nil, err
	}
	return rep, nil
}

type analyzer struct {
	ctx     context.Context // ends an analysis between two endpoints; nil: it has none
	o       *Options
	opt     stats.Options
	reading *summary.Reading
}

func (a *analyzer) str(id trace.StringID) string { return a.reading.Dict.String(id) }

// kept says which requests the records are of, where not all could be kept.
func (a *analyzer) kept(rep *report.Report) {
	for side, set := range a.reading.Sets {
		if set == nil || set.Kept == 0 {
			continue
		}
		rep.Run.Kept = report.KeptSample
		kept := int64(len(set.Records))
		rep.LeftOut = append(rep.LeftOut, report.LeftOut{
			What: "requests of the " + setName(side) + " set", Count: set.Requests - kept,
			Why: prose.Sprintf("%d are kept, for --memory, and stand for all: of each kind up to %d of those within %.3g %% of one latency, so that the tail is whole",
				kept, set.Kept, 100*(set.KeptWidth-1)),
		})
	}
}

// ingest says what was read and what was wrong with it.
func (a *analyzer) ingest(rep *report.Report, l *Loaded) {
	in := &rep.Ingest
	in.Files = l.Files
	in.NotUsed.LogRecords = l.LogRecords
	in.Rejected = l.Rejected
	defects := trace.Tally{}
	defects.Merge(l.Defects)
	for side, set := range a.reading.Sets {
		if set == nil {
			continue
		}
		c := &set.Counts
		in.Spans += c.Spans
		in.Traces += c.Traces
		in.Duplicates += c.Duplicates
		in.Rejected += c.Rejected
		in.Orphans += c.Orphans
		in.IncompleteTraces += c.IncompleteTraces
		_, points := set.Metrics.Points()
		if l.Cut == "" || side == summary.Current { // both parts have all metrics
			in.MetricPoints += points
		}
		resolved := int64(0)
		for _, r := range set.Records {
			resolved += int64(len(r.Dwells))
		}
		in.Links.Resolved += resolved
		in.Links.Unresolved += c.Links - resolved
		defects.Merge(c.Defects)
		rep.Run.Sets = append(rep.Run.Sets, report.Set{Set: setName(side), From: instant(c.From), To: instant(c.To), Runs: set.Runs, Spans: c.Spans, Part: l.Cut != ""})
	}
	a.clocks(rep, defects)
	for _, k := range defects.Kinds() {
		info, ok := trace.Defects[k]
		if !ok {
			info = metric.Defects[k]
		}
		in.Defects = append(in.Defects, report.Defect{
			Kind: string(k), Severity: report.Severity(info.Severity.String()), Count: defects[k].N, Example: defects[k].Example, Message: info.Sentence,
		})
	}
}

// clocks lists the offsets of hosts that called each other.
func (a *analyzer) clocks(rep *report.Report, defects trace.Tally) {
	// One row a pair: the bounds of the window with the most calls. Which clocks
	// are moved, and by how much, is told over all windows.
	best := map[graph.HostPair]graph.Offset{}
	var pairs []graph.HostPair
	var most int64
	moved := map[trace.StringID]bool{}
	for _, c := range a.reading.Sets[summary.Current].Calibration.Verdicts.Clocks.Windows {
		for _, p := range c.Pairs {
			o := c.Offset[p]
			if old, ok := best[p]; !ok {
				pairs = append(pairs, p)
				best[p] = o
			} else if o.N > old.N {
				best[p] = o
			}
			if o.Contradictions > 0 {
				defects.AddN(trace.ClockContradiction, o.Contradictions, "hosts "+a.str(p.A)+" and "+a.str(p.B))
			}
			if shift, known := c.Shift(p.A, p.B); known && shift != 0 {
				moved[p.A], moved[p.B] = true, true
				most = max(most, shift, -shift)
			}
		}
	}
	slices.SortFunc(pairs, func(x, y graph.HostPair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	for _, p := range pairs {
		o := best[p]
		row := report.Clock{HostA: a.str(p.A), HostB: a.str(p.B), Contradictions: o.Contradictions}
		if o.Below() {
			row.OffsetLoNS = report.Int(o.Lo)
		}
		if o.Above() {
			row.OffsetHiNS = report.Int(o.Hi)
		}
		rep.Ingest.Clocks = append(rep.Ingest.Clocks, row)
	}
	if len(moved) > 0 {
		rep.Warnings = append(rep.Warnings, prose.Sprintf("The clocks of %d hosts differ, by up to %.3g ms: times of different hosts are compared with the offsets taken off that all calls between them allow; recorded times are kept, and inspect lists the offsets",
			len(moved), float64(most)/1e6))
	}
}

func instant(t trace.Time) string {
	if t == trace.NoTime {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// metrics lists the series of both sides.
func (a *analyzer) metrics(rep *report.Report) {
	for side, set := range a.reading.Sets {
		if set == nil {
			continue
		}
		for _, r := range set.Metrics.Rows() {
			m := report.Metric{
				Name: r.Name, Set: setName(side), Service: r.Service, Instance: r.Instance, Unit: r.Unit, Type: report.MetricType(r.Type.String()),
				Points: int64(r.Points), Gaps: int64(r.Gaps), Resets: int64(r.Resets), Duplicates: int64(r.Duplicates), Increase: report.Some(r.Increase),
				Count: report.Some(float64(r.Count)), Mean: report.Some(r.Mean), Min: report.Some(r.Min), Max: report.Some(r.Max),
				P50Lo: report.Some(r.P50Lo), P50Hi: report.Some(r.P50Hi), P99Lo: report.Some(r.P99Lo), P99Hi: report.Some(r.P99Hi),
			}
			for _, at := range r.Attrs {
				if m.Attributes == nil {
					m.Attributes = report.Attributes{}
				}
				m.Attributes[at.Key] = at.Value
			}
			rep.Metrics = append(rep.Metrics, m)
		}
	}
	slices.SortStableFunc(rep.Metrics, func(x, y report.Metric) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Set, y.Set), strings.Compare(x.Service, y.Service), strings.Compare(x.Instance, y.Instance))
	})
}

// endpoints fills the rows of all endpoints, in order of importance.
func (a *analyzer) endpoints(rep *report.Report) error {
	var wanted []*summary.Endpoint
	for _, e := range a.reading.Endpoints {
		if a.wanted(e) {
			wanted = append(wanted, e)
		}
	}
	views := make([]*view, len(wanted))
	if err := a.each(len(wanted), func(i int) (err error) {
		views[i], err = a.view(wanted[i])
		return err
	}); err != nil {
		return err
	}
	if a.reading.Comparison() {
		judge(views, a.opt)
		a.guard(views)
		a.drift(rep, views)
	}
	slices.SortStableFunc(views, func(x, y *view) int { return y.importance().compare(x.importance()) })
	if n := a.o.Top; n > 0 && len(views) > n {
		rep.LeftOut = append(rep.LeftOut, report.LeftOut{What: "endpoints", Count: int64(len(views) - n), Why: "give a larger --top"})
		views = views[:n]
	}
	rows := make([]report.Endpoint, len(views))
	for i, v := range views {
		rows[i] = a.headline(v)
	}
	if a.o.First != nil {
		first := *rep
		first.Endpoints = slices.Clone(rows)
		a.o.First(&first)
	}
	whole := make([]report.Endpoint, len(views))
	parts := make([][]report.Endpoint, len(views))
	if err := a.each(2*len(views), func(i int) (err error) {
		if i%2 == 0 {
			whole[i/2] = a.row(rows[i/2], views[i/2])
		} else {
			parts[i/2], err = a.kindRows(views[i/2])
		}
		return err
	}); err != nil {
		return err
	}
	for i := range views {
		rep.Endpoints = append(append(rep.Endpoints, whole[i]), parts[i]...)
	}
	return nil
}

// each calls f for each number below n, and returns the first of the errors. The
// calls go on at once, but where inner endpoints are asked for: their slots are
// numbered in the order in which they are asked about.
func (a *analyzer) each(n int, f func(i int) error) error {
	errs := make([]error, n)
	one := func(i int) {
		if a.ctx != nil && a.ctx.Err() != nil {
			errs[i] = a.ctx.Err()
			return
		}
		errs[i] = f(i)
	}
	if a.o.Inner {
		for i := range errs {
			one(i)
		}
	} else {
		parallel.Do(n, one)
	}
	return cmp.Or(errs...)
}

// wanted reports whether the user asked for an endpoint.
func (a *analyzer) wanted(e *summary.Endpoint) bool {
	service, operation := a.str(e.Name.Service), a.str(e.Name.Operation)
	return (a.o.Endpoint == nil || a.o.Endpoint.MatchString(operation) || a.o.Endpoint.MatchString(service+" "+operation)) &&
		(a.o.Service == nil || a.o.Service.MatchString(service))
}

// importance orders endpoints: regressions by their cost first, entry endpoints
// before inner ones, then by the time that all requests took.
type importance struct {
	regression bool
	entry      bool
	cost       float64
}

func (x importance) compare(y importance) int {
	num := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(num(x.regression), num(y.regression)), cmp.Compare(num(x.entry), num(y.entry)), cmp.Compare(x.cost, y.cost))
}

// weight is a weight as a number of requests.
func weight(w int64) float64 { return float64(w) / graph.OneRequest }
