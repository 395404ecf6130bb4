package ingest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// A modelSpan is what Jaeger and Zipkin can both say of a span.
type modelSpan struct {
	trace, id, parent uint64
	name, service     string
	kind              trace.Kind
	start, duration   int64 // microseconds
	tags              map[string]string
	failed            bool
	shared            bool // Zipkin
	follows           bool // Jaeger
	logs              []string
}

func randomModel(r *rand.Rand) (spans []modelSpan) {
	for range 1 + r.IntN(8) {
		s := modelSpan{
			trace: 1 + r.Uint64N(3), id: 1 + r.Uint64(), name: name(r), service: "s" + name(r), kind: trace.Kind(r.IntN(6)),
			start: 1 + r.Int64N(1e15), duration: r.Int64N(1e9), tags: map[string]string{}, failed: r.IntN(4) == 0,
		}
		if r.IntN(2) == 0 {
			s.parent = 1 + r.Uint64()
			s.follows = r.IntN(4) == 0
		}
		s.shared = s.kind == trace.KindServer && r.IntN(2) == 0
		for i := range r.IntN(3) {
			s.tags[fmt.Sprint("k", name(r), i)] = name(r)
		}
		for range r.IntN(3) {
			s.logs = append(s.logs, "e"+name(r))
		}
		spans = append(spans, s)
	}
	return spans
}

// store is the model put into a store by hand.
func (s modelSpan) add(to *trace.Store, flags trace.Flags) {
	var id trace.TraceID
	for i := range 8 {
		id[8+i] = byte(s.trace >> (56 - 8*i))
	}
	text := func(k, v string) trace.RawAttr {
		return trace.RawAttr{Key: []byte(k), Value: trace.RawValue{Type: trace.String, Bytes: []byte(v)}}
	}
	raw := trace.RawSpan{
		TraceID: id, ID: trace.SpanID(s.id), ParentID: trace.SpanID(s.parent), Name: []byte(s.name), Kind: s.kind, Flags: flags,
		Start: trace.Time(s.start * 1000), End: trace.Time((s.start + s.duration) * 1000),
		Resource: to.AddResource([]trace.RawAttr{text("service.name", s.service)}),
	}
	for k, v := range s.tags {
		raw.Attrs = append(raw.Attrs, text(k, v))
	}
	if s.failed {
		raw.Status = trace.StatusError
		raw.Attrs = append(raw.Attrs, text("error", "true"))
	}
	for i, l := range s.logs {
		raw.Events = append(raw.Events, trace.RawEvent{Time: trace.Time((s.start + int64(i)) * 1000), Name: []byte(l)})
	}
	to.Add(&raw)
}

func (s modelSpan) zipkin() map[string]any {
	tags := map[string]string{}
	for k, v := range s.tags {
		tags[k] = v
	}
	if s.failed {
		tags["error"] = "true"
	}
	m := map[string]any{"traceId": fmt.Sprintf("%016x", s.trace), "id": fmt.Sprintf("%016x", s.id), "name": s.name, "timestamp": s.start, "duration": s.duration,
		"localEndpoint": map[string]any{"serviceName": s.service}, "tags": tags, "shared": s.shared}
	if s.parent != 0 {
		m["parentId"] = fmt.Sprintf("%016x", s.parent)
	}
	if s.kind != trace.KindUnspecified {
		m["kind"] = s.kind.String()
	}
	var annotations []any
	for i, l := range s.logs {
		annotations = append(annotations, map[string]any{"timestamp": s.start + int64(i), "value": l})
	}
	m["annotations"] = annotations
	return m
}

func (s modelSpan) jaeger() map[string]any {
	tag := func(k string, v any, typ string) map[string]any {
		return map[string]any{"key": k, "value": v, "type": typ}
	}
	tags := []any{}
	for k, v := range s.tags {
		tags = append(tags, tag(k, v, "string"))
	}
	if s.failed {
		tags = append(tags, tag("error", "true", "string"))
	}
	if s.kind != trace.KindUnspecified {
		tags = append(tags, tag("span.kind", s.kind.String(), "string"))
	}
	m := map[string]any{"traceID": fmt.Sprintf("%x", s.trace), "spanID": fmt.Sprintf("%x", s.id), "operationName": s.name, "startTime": s.start, "duration": s.duration,
		"processID": "p" + s.service, "tags": tags}
	if s.parent != 0 {
		typ := "CHILD_OF"
		if s.follows {
			typ = "FOLLOWS_FROM"
		}
		m["references"] = []any{map[string]any{"refType": typ, "traceID": fmt.Sprintf("%x", s.trace), "spanID": fmt.Sprintf("%x", s.parent), "span": map[string]any{"references": []any{}}}}
	}
	var logs []any
	for i, l := range s.logs {
		logs = append(logs, map[string]any{"timestamp": s.start + int64(i), "fields": []any{tag("event", l, "string")}})
	}
	m["logs"] = logs
	return m
}

// Jaeger and Zipkin documents that encoding/json wrote from a model give the same
// store as the model put there by hand, in any order of keys and any form.
func TestAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 100 {
		model := randomModel(r)
		zipkinWant, jaegerWant := trace.NewStore(trace.NewTables()), trace.NewStore(trace.NewTables())
		zipkinWant.KeepAll, jaegerWant.KeepAll = true, true
		var list []any
		traces := map[uint64][]any{}
		processes := map[string]any{}
		for _, s := range model {
			list = append(list, s.zipkin())
			traces[s.trace] = append(traces[s.trace], s.jaeger())
			processes["p"+s.service] = map[string]any{"serviceName": s.service, "tags": []any{}}
			var z, j trace.Flags
			if s.shared {
				z = trace.Shared
			}
			if s.follows {
				j = trace.FollowsFrom
			}
			s.add(zipkinWant, z)
			s.add(jaegerWant, j)
		}
		var data []any
		for id, spans := range traces {
			data = append(data, map[string]any{"traceID": fmt.Sprintf("%x", id), "spans": spans, "processes": processes, "warnings": nil})
		}
		for _, c := range []struct {
			what string
			doc  any
			want *trace.Store
		}{
			{"Zipkin", list, zipkinWant}, {"Zipkin, lists of lists", []any{list}, zipkinWant},
			{"Jaeger", map[string]any{"data": data, "errors": nil, "total": len(data)}, jaegerWant}, {"Jaeger, bare traces", data, jaegerWant},
		} {
			b, err := json.Marshal(c.doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range [][]byte{b, indent(b), respell(b, spelling{shuffle: r}), respell(b, spelling{ascii: true})} {
				set := readBytes(t, doc, Limits{})
				clean(t, set)
				same(t, c.what, describe(set), describeStores(c.want, metric.NewStore(c.want.Tables)))
			}
		}
		if t.Failed() {
			break
		}
	}
}
