package ingest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// describe writes all that a set holds, one sorted line for each span and each
// series, without anything that depends on the order of the input.
func describe(s *Set) string { return describeStores(s.Spans, s.Metrics) }

func describeStores(s *trace.Store, m *metric.Store) string {
	var lines []string
	for i := range s.Len() {
		lines = append(lines, describeSpan(s, trace.SpanRef(i)))
	}
	for _, series := range m.Stored() {
		lines = append(lines, describeSeries(s, &series))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func describeAttrs(t *trace.Tables, attrs []trace.Attr) string {
	var list []string
	for _, a := range attrs {
		list = append(list, fmt.Sprintf("%q=%d:%q", t.String(a.Key), a.Value.Type(), t.Text(a.Value)))
	}
	slices.Sort(list)
	return "{" + strings.Join(list, " ") + "}"
}

func describeTime(t trace.Time) string {
	if t == trace.NoTime {
		return "-"
	}
	return fmt.Sprint(int64(t))
}

func describeSpan(s *trace.Store, r trace.SpanRef) string {
	var b strings.Builder
	iv := s.Interval(r)
	fmt.Fprintf(&b, "span %s %s parent %q %q %s..%s %s %s %q flags %d state %q", s.TraceIDText(s.TraceID(r)), s.SpanIDText(s.ID(r)), s.SpanIDText(s.ParentID(r)),
		s.String(s.Name(r)), describeTime(iv.Start), describeTime(iv.End), s.Kind(r), s.Status(r), s.String(s.StatusMessage(r)), s.SpanFlags(r), s.String(s.TraceState(r)))
	c := s.Scope(s.ScopeOf(r))
	fmt.Fprintf(&b, " scope %q %q %q", s.String(c.Name), s.String(c.Version), s.Text(c.Attrs))
	fmt.Fprintf(&b, " resource %s attrs %s", describeAttrs(s.Tables, s.Resource(s.ResourceOf(r)).Attrs), describeAttrs(s.Tables, s.Attrs(r)))
	for _, e := range s.Events(r) {
		fmt.Fprintf(&b, " event %s %q %s", describeTime(e.Time), s.String(e.Name), describeAttrs(s.Tables, e.Attrs))
	}
	for _, l := range s.Links(r) {
		fmt.Fprintf(&b, " link %s %s", s.TraceIDText(l.TraceID), s.SpanIDText(l.ID))
	}
	return b.String()
}

func describeSeries(s *trace.Store, m *metric.Stored) string {
	var b strings.Builder
	fmt.Fprintf(&b, "series %q %q %s %s %t resource %s attrs %s", s.String(m.Name), s.String(m.Unit), m.Type, m.Temporality, m.Monotonic,
		describeAttrs(s.Tables, s.Resource(m.Resource).Attrs), describeAttrs(s.Tables, m.Attrs))
	var points []string
	for _, p := range m.Points {
		text := fmt.Sprintf("%d..%d none %t int %t ", p.Start, p.Time, p.NoValue, p.IsInt)
		if p.Dist != nil {
			text += fmt.Sprintf("%+v", *p.Dist)
		} else {
			text += fmt.Sprint(p.Int(), p.Value())
		}
		points = append(points, text)
	}
	for _, e := range m.Exemplars {
		points = append(points, fmt.Sprintf("exemplar %d %v %s %s", e.Time, e.Value, e.TraceID, e.SpanID))
	}
	slices.Sort(points)
	return b.String() + "\n\t" + strings.Join(points, "\n\t")
}

func refOf(i int) trace.SpanRef { return trace.SpanRef(i) }
