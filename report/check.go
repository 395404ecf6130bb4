package report

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Check states the structural rules of a report and returns every one that it breaks, each with where. A report
// that passes marshals to the contract; whether its numbers are true is not asked.
func (r *Report) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	comparison := r.Comparison()
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		at := fmt.Sprintf("endpoints[%d]", i)
		sided(reflect.ValueOf(e).Elem(), at, comparison, bad)
		if e.Verdict != NotTested && !slices.Contains(Verdicts, e.Verdict) {
			bad("%s: unknown verdict %q", at, e.Verdict)
		}
		if (e.Verdict == Single) == comparison && e.Verdict != NotTested {
			bad("%s: verdict %q with comparison = %v", at, e.Verdict, comparison)
		}
		for j, n := range e.Structure.Nodes {
			if n.ID != NodeID(j) {
				bad("%s.structure.nodes[%d]: id %d", at, j, n.ID)
			}
			if n.Parent >= n.ID { // an endpoint whose entry spans are of several kinds has a root for each
				bad("%s.structure.nodes[%d]: parent %d does not stand before it", at, j, n.Parent)
			}
			if !slices.Contains(Modes, n.Mode) {
				bad("%s.structure.nodes[%d]: unknown mode %q", at, j, n.Mode)
			}
		}
		node := func(id NodeID, format string, args ...any) {
			if int(id) >= len(e.Structure.Nodes) {
				bad("%s.%s: there is no node %d", at, fmt.Sprintf(format, args...), id)
			}
		}
		for j, d := range e.Structure.Exclusions {
			node(d.A, "structure.exclusions[%d].a", j)
			node(d.B, "structure.exclusions[%d].b", j)
		}
		for j, d := range e.Structure.Edges {
			node(d.From, "structure.edges[%d].from", j)
			node(d.To, "structure.edges[%d].to", j)
		}
		for j, d := range e.Structure.Differences {
			node(d.Node, "structure.differences[%d]", j)
			if !slices.Contains(DifferenceKinds, d.Kind) {
				bad("%s.structure.differences[%d]: unknown kind %q", at, j, d.Kind)
			}
		}
		for j, a := range e.Allocation {
			node(a.Node, "allocation[%d]", j)
			if !slices.Contains(Kinds, a.Kind) {
				bad("%s.allocation[%d]: unknown kind %q", at, j, a.Kind)
			}
		}
		for j, g := range e.Guards {
			if !slices.Contains(GuardKinds, g.Kind) || !slices.Contains(GuardStatuses, g.Status) {
				bad("%s.guards[%d]: unknown kind or status %q, %q", at, j, g.Kind, g.Status)
			}
		}
		for j, h := range e.Hypotheses {
			if h.Rank != j+1 {
				bad("%s.hypotheses[%d]: rank %d", at, j, h.Rank)
			}
			if !slices.Contains(Causes, h.Kind) || !slices.Contains(Strengths, h.Strength) {
				bad("%s.hypotheses[%d]: unknown kind or strength %q, %q", at, j, h.Kind, h.Strength)
			}
			if !slices.Contains(CheckStatuses, h.Check.Status) {
				bad("%s.hypotheses[%d].check: unknown status %q", at, j, h.Check.Status)
			}
			for k, v := range append(slices.Clone(h.Evidence), h.Against...) {
				if !slices.Contains(Sources, v.Source) {
					bad("%s.hypotheses[%d]: evidence %d has unknown source %q", at, j, k, v.Source)
				}
			}
		}
		for j, x := range e.Budget {
			if !slices.Contains(BudgetStatuses, x.Status) || !slices.Contains(Consequences, x.Consequence) {
				bad("%s.budget[%d]: unknown status or consequence %q, %q", at, j, x.Status, x.Consequence)
			}
		}
		for j, a := range e.Actions {
			if a.ForRank < 0 || a.ForRank > len(e.Hypotheses) {
				bad("%s.actions[%d]: there is no rank %d", at, j, a.ForRank)
			}
			if !slices.Contains(ActionVerdicts, a.Verdict) {
				bad("%s.actions[%d]: unknown verdict %q", at, j, a.Verdict)
			}
		}
	}
	for i, d := range r.Ingest.Defects {
		if !slices.Contains(Severities, d.Severity) {
			bad("ingest.defects[%d]: unknown severity %q", i, d.Severity)
		}
	}
	for i, m := range r.Metrics {
		if !slices.Contains(MetricTypes, m.Type) {
			bad("metrics[%d]: unknown type %q", i, m.Type)
		}
	}
	return errors.Join(errs...)
}

// Check states the laws of a trace and returns every one that it breaks: the path tiles the request, and spans and
// stretches do not end before they start.
func (t *Trace) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	at := int64(0)
	for i, g := range t.Path {
		if g.StartNS != at || g.EndNS <= g.StartNS {
			bad("path[%d]: %d to %d ns after a path that ends at %d", i, g.StartNS, g.EndNS, at)
		}
		if !slices.Contains(Kinds, g.Kind) {
			bad("path[%d]: unknown kind %q", i, g.Kind)
		}
		at = g.EndNS
	}
	if len(t.Path) > 0 && at != t.DurationNS {
		bad("path: ends at %d ns, the request at %d", at, t.DurationNS)
	}
	for i, l := range t.Late {
		if l.EndNS < l.StartNS || l.StartNS < l.DepartedNS {
			bad("late[%d]: %d to %d ns, departed at %d", i, l.StartNS, l.EndNS, l.DepartedNS)
		}
	}
	for i, l := range t.After {
		if l.EndNS < l.StartNS {
			bad("after[%d]: %d to %d ns", i, l.StartNS, l.EndNS)
		}
	}
	for i, s := range t.Spans {
		if s.EndNS < s.StartNS {
			bad("spans[%d]: %d to %d ns", i, s.StartNS, s.EndNS)
		}
	}
	return errors.Join(errs...)
}

// sided checks that the keys which a single data set leaves out are set exactly in a comparison.
func sided(v reflect.Value, at string, comparison bool, bad func(string, ...any)) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			sided(v.Index(i), fmt.Sprintf("%s[%d]", at, i), comparison, bad)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			sided(v.Elem(), at, comparison, bad)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Num]() || v.Type() == reflect.TypeFor[Interval]() {
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if strings.HasPrefix(opts, "omit") {
				if set := !v.Field(i).IsZero(); set && !comparison {
					bad("%s.%s is set for a single data set", at, name)
				} else if !set && comparison && required(name) {
					bad("%s.%s is not set in a comparison", at, name)
				}
			}
			sided(v.Field(i), at+"."+name, comparison, bad)
		}
	}
}

// required reports whether a comparison must have the key; the others are extras that not every row can give.
func required(name string) bool {
	switch name {
	case "baseline_ms", "delta_ms", "baseline":
		return true
	}
	return false
}
