package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/trace"
)

// guard asks of every compared endpoint whether its sides may be compared. It
// comes after the verdicts, which some guards ask about.
func (a *analyzer) guard(views []*view) {
	type key struct{ service, operation string }
	var durations [2]map[key]*metric.Durations
	var kept [2]map[trace.TraceID]bool
	names := a.o.reading().Names
	for i, set := range a.reading.Sets {
		durations[i] = map[key]*metric.Durations{}
		kept[i] = map[trace.TraceID]bool{}
		for _, r := range set.Records {
			kept[i][r.TraceID] = true
		}
		if a.o.Split != "" && a.o.Split != splitTime {
			continue // the metrics are of both sides
		}
		list := set.Metrics.Durations(metric.Window{From: set.Counts.From, To: set.Counts.To}, names)
		for k := range list {
			durations[i][key{list[k].Service, list[k].Operation}] = &list[k]
		}
	}
	for _, v := range views {
		t := &hypotheses.Telemetry{Kept: kept}
		for i := range durations {
			t.Durations[i] = durations[i][key{a.str(v.Endpoint.Name.Service), a.str(v.Endpoint.Name.Operation)}]
		}
		v.Guard(t)
	}
}

// guards fills the guards of a compared endpoint.
func (a *analyzer) guards(e *report.Endpoint, v *view) {
	if v.Pair == nil {
		return
	}
	for i := range v.Guards {
		g := &v.Guards[i]
		e.Guards = append(e.Guards, report.Guard{Kind: report.GuardKind(g.Kind), Status: report.GuardStatus(g.Status), Detail: g.Detail})
	}
}

// testGuards fills what the test itself says of its requests, for rows of a part
// of an endpoint, whose other guards are the whole's.
func testGuards(e *report.Endpoint, v *view) {
	if v.Pair == nil {
		return
	}
	for _, w := range v.Test.Warnings {
		e.Guards = append(e.Guards, report.Guard{Kind: report.GuardKind(w.Guard), Status: report.GuardStatus(w.Status), Detail: w.Detail})
	}
	q := v.Options.Quantile
	n := v.Pair.EffectiveN(q)
	if need := stats.NeededAbove(q); n < float64(need) {
		e.Guards = append(e.Guards, report.Guard{Kind: report.TooFewGuard, Status: report.GuardWarn,
			Detail: fmt.Sprintf("the smaller side has %.0f requests; p%g needs %d to close its interval", n, 100*q, need)})
	}
}

// maxDrift is how many of the endpoints that came or went are named.
const maxDrift = 5

// drift warns of endpoints and versions that one side lacks.
func (a *analyzer) drift(rep *report.Report, views []*view) {
	var came, went []string
	for _, v := range views {
		if v.Endpoint.Inner {
			continue
		}
		name := a.str(v.Endpoint.Name.Service) + " " + a.str(v.Endpoint.Name.Operation)
		switch {
		case len(v.Sides[0].All) == 0:
			came = append(came, name)
		case len(v.Sides[1].All) == 0:
			went = append(went, name)
		}
	}
	tell := func(names []string, what string) {
		if len(names) == 0 {
			return
		}
		slices.Sort(names)
		more := ""
		if n := len(names) - maxDrift; n > 0 {
			names, more = names[:maxDrift], fmt.Sprintf(" and %d more", n)
		}
		rep.Warnings = append(rep.Warnings, what+": "+strings.Join(names, ", ")+more)
	}
	tell(came, "Endpoints that the baseline lacks, so that nothing is said of their change")
	tell(went, "Endpoints that only the baseline has")
	var versions [2]map[string]bool
	for i, set := range a.reading.Sets {
		versions[i] = map[string]bool{}
		seen := map[graph.ProcID]bool{}
		for _, r := range set.Records {
			for k := range r.Calls {
				for _, p := range []graph.ProcID{r.Calls[k].Client.Proc, r.Calls[k].Work.Proc} {
					if p == graph.NoProc || seen[p] {
						continue
					}
					seen[p] = true
					proc := a.reading.Dict.ProcAt(p)
					if proc.Version != 0 {
						versions[i][a.str(proc.Service)+" "+a.str(proc.Version)] = true
					}
				}
			}
		}
	}
	missing := func(of, in map[string]bool) (out []string) {
		for v := range of {
			if !in[v] {
				out = append(out, v)
			}
		}
		return out
	}
	tell(missing(versions[1], versions[0]), "Versions that the baseline lacks")
	tell(missing(versions[0], versions[1]), "Versions that only the baseline has")
	for _, r := range a.reading.Renames {
		d := a.reading.Dict
		from, to := d.SlotAt(r.From), d.SlotAt(r.To)
		if from.Parent < 0 {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("The endpoint %s %s is now called %s; both are taken as one, since they make the same calls",
				a.shownService(to), a.shownOperation(from), a.shownOperation(to)))
		}
	}
}
