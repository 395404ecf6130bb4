package tracetest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tailscope/tailscope/trace"
)

// OTLP is traces drawn as text, as the Collector's file exporter would write
// them: OTLP JSON, one line per span, in the order of the text. A span per line
// lets a test shuffle and split lines as it likes.
func OTLP(text string) ([]byte, error) {
	s := trace.NewStore(trace.NewTables())
	s.KeepAll = true
	if err := Add(s, text, 1); err != nil {
		return nil, err
	}
	return Lines(s)
}

// Lines is the spans of a store as OTLP writes them.
func Lines(s *trace.Store) ([]byte, error) {
	var out []byte
	for i := range s.Len() {
		r := trace.SpanRef(i)
		if s.SpanFlags(r) != 0 {
			return nil, fmt.Errorf("span %d: OTLP has no word for shared and follows", i+1)
		}
		line, err := json.Marshal(object{"resourceSpans": []any{object{
			"resource":   object{"attributes": attrs(s, s.Resource(s.ResourceOf(r)).Attrs)},
			"scopeSpans": []any{object{"spans": []any{otlpSpan(s, r)}}},
		}}})
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

type object = map[string]any

func otlpSpan(s *trace.Store, r trace.SpanRef) object {
	v := s.Interval(r)
	span := object{
		"traceId": s.TraceID(r).String(), "spanId": s.ID(r).String(), "name": s.String(s.Name(r)),
		"startTimeUnixNano": nanos(v.Start), "endTimeUnixNano": nanos(v.End),
		"kind": []int{0, 1, 2, 3, 4, 5}[s.Kind(r)], "attributes": attrs(s, s.Attrs(r)),
	}
	if p := s.ParentID(r); p != trace.NoSpanID {
		span["parentSpanId"] = p.String()
	}
	if st := s.Status(r); st != trace.StatusUnset || s.StatusMessage(r) != 0 {
		span["status"] = object{"code": int(st), "message": s.String(s.StatusMessage(r))}
	}
	if id := s.TraceState(r); id != 0 {
		span["traceState"] = s.String(id)
	}
	var events, links []any
	for _, e := range s.Events(r) {
		event := object{"timeUnixNano": nanos(e.Time), "name": s.String(e.Name)}
		if len(e.Attrs) > 0 {
			event["attributes"] = attrs(s, e.Attrs)
		}
		events = append(events, event)
	}
	for _, l := range s.Links(r) {
		links = append(links, object{"traceId": l.TraceID.String(), "spanId": l.ID.String()})
	}
	if events != nil {
		span["events"] = events
	}
	if links != nil {
		span["links"] = links
	}
	return span
}

func nanos(t trace.Time) string { return strconv.FormatInt(int64(t), 10) }

func attrs(s *trace.Store, list []trace.Attr) []any {
	out := []any{}
	for _, a := range list {
		key := "stringValue"
		if a.Value.Type() == trace.Int {
			key = "intValue"
		}
		out = append(out, object{"key": s.String(a.Key), "value": object{key: s.Text(a.Value)}})
	}
	return out
}
