package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/internal/prose"
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
		if a.o.sharesTime() {
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
			Detail: prose.Sprintf("the smaller side has %.0f requests; p%g needs %d to close its interval", n, 100*q, need)})
	}
}

// maxDrift is how many of the endpoints that came or went are named.
const maxDrift = 5

// drift tells of endpoints, versions and classes that one side lacks: nothing can be
// said of their change, and those who used them are elsewhere now.
func (a *analyzer) drift(rep *report.Report, views []*view) {
	add := func(what report.DriftKind, side int, name, endpoint string, requests float64) {
		rep.Drift = append(rep.Drift, report.Drift{What: what, Name: name, Endpoint: endpoint, Set: setName(side), Requests: report.Float(requests)})
	}
	for _, v := range views {
		if v.Endpoint.Inner {
			continue
		}
		name := a.str(v.Endpoint.Name.Service) + " " + a.str(v.Endpoint.Name.Operation)
		var all [2]float64
		var class [2]map[string]float64
		for i, s := range v.Sides {
			class[i] = map[string]float64{}
			for _, q := range s.All {
				all[i] += weight(q.Weight)
				if q.Class != 0 {
					class[i][a.str(q.Class)] += weight(q.Weight)
				}
			}
		}
		for i := range all {
			switch {
			case all[1-i] == 0 && len(v.Sides[1-i].All) == 0:
				add(report.EndpointDrift, i, name, "", all[i])
				continue
			case all[i] == 0:
				continue
			}
			for c, n := range class[i] {
				if _, ok := class[1-i][c]; !ok && c != "" {
					add(report.ClassDrift, i, c, name, n)
				}
			}
		}
	}
	type version struct{ service, version trace.StringID }
	var versions [2]map[version]float64
	for i, set := range a.reading.Sets {
		versions[i] = map[version]float64{}
		var seen []version // of one request
		for _, r := range set.Records {
			seen = seen[:0]
			for k := range r.Calls {
				for _, p := range [...]graph.ProcID{r.Calls[k].Client.Proc, r.Calls[k].Work.Proc} {
					if p == graph.NoProc {
						continue
					}
					proc := a.reading.Dict.ProcAt(p)
					if v := (version{proc.Service, proc.Version}); v.version != 0 && !slices.Contains(seen, v) {
						seen = append(seen, v)
						versions[i][v] += weight(r.Weight)
					}
				}
			}
		}
	}
	for i := range versions {
		for v, n := range versions[i] {
			if _, ok := versions[1-i][v]; !ok {
				add(report.VersionDrift, i, a.str(v.service)+" "+a.str(v.version), "", n)
			}
		}
	}
	slices.SortFunc(rep.Drift, func(x, y report.Drift) int {
		return cmp.Or(cmp.Compare(slices.Index(report.DriftKinds, x.What), slices.Index(report.DriftKinds, y.What)), strings.Compare(y.Set, x.Set),
			strings.Compare(x.Name, y.Name), strings.Compare(x.Endpoint, y.Endpoint))
	})
	for _, kind := range report.DriftKinds {
		for _, side := range []int{1, 0} {
			var names []string
			for _, d := range rep.Drift {
				if d.What == kind && d.Set == setName(side) {
					names = append(names, strings.TrimSpace(d.Name+" "+of(d.Endpoint)))
				}
			}
			if len(names) == 0 {
				continue
			}
			more := ""
			if n := len(names) - maxDrift; n > 0 {
				names, more = names[:maxDrift], fmt.Sprintf(" and %d more", n)
			}
			rep.Warnings = append(rep.Warnings, driftText[kind][side]+": "+strings.Join(names, ", ")+more)
		}
	}
	for _, r := range a.reading.Renames {
		d := a.reading.Dict
		from, to := d.SlotAt(r.From), d.SlotAt(r.To)
		if from.Parent < 0 {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("The endpoint %s %s is now called %s; both are taken as one, since they make the same calls",
				a.shownService(to), a.shownOperation(from), a.shownOperation(to)))
		}
	}
}

// driftText says of which side something is missing, by the side that has it.
var driftText = map[report.DriftKind][2]string{
	report.EndpointDrift: {"Endpoints that only the baseline has", "Endpoints that the baseline lacks, so that nothing is said of their change"},
	report.VersionDrift:  {"Versions that only the baseline has", "Versions that the baseline lacks"},
	report.ClassDrift:    {"Classes that only the baseline has", "Classes that the baseline lacks"},
}

func of(endpoint string) string {
	if endpoint == "" {
		return ""
	}
	return "of " + endpoint
}
