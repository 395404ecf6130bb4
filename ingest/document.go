package ingest

import (
	"bytes"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// A format is a set of formats that a file holds.
type format uint16

const (
	otlpJSON format = 1 << iota
	tempoJSON
	jaegerJSON
	zipkinJSON
	otlpProto
	otlpFrames
	otlpLogs     // log records and nothing else that is used
	otlpProfiles // likewise
)

var formatNames = []string{"otlp-json", "tempo-json", "jaeger-json", "zipkin-json", "otlp-proto", "otlp-proto-frames", "otlp-logs", "otlp-profiles"}

func (f format) String() string {
	if f&^(otlpLogs|otlpProfiles) != 0 {
		f &^= otlpLogs | otlpProfiles
	}
	var names []string
	for i, name := range formatNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// decodeJSON reads the documents of a chunk: one a line, glued, pretty-printed
// or in arrays. If careful, each document is first read into a trial sink, and
// into k only as far as it is sound; otherwise the first damaged document ends
// the reading, and decodeJSON reports false.
func decodeJSON(k *sink, d *jsonDecoder, careful bool, trial func() *sink) bool {
	d.reset(k.data)
	d.maxDepth = k.limits.Depth
	d.badText = 0
	from, recovering := 0, false
	for {
		from = k.space(from)
		if from >= len(k.data) {
			break
		}
		d.pos, d.err, d.depth, d.fresh, d.arena = from, nil, 0, false, d.arena[:0]
		to := k
		if careful {
			to = trial()
			to.recovering, k.recovering = recovering, recovering
		}
		known := to.documents
		d.into(to)
		d.document(0)
		d.glued()
		if d.err == nil {
			recovering = recovering && to.documents == known
			if careful {
				d.pos, d.badText = from, 0
				d.into(k)
				d.document(0)
			}
			k.texts(d)
			from = d.pos
			continue
		}
		if !careful {
			return false
		}
		err, ranOn := *d.err, false
		next := nextLine(k.data, from+1)
		at := err.at
		switch {
		case to.units > 0: // keep the sound units
			d.pos, d.err, d.depth, d.fresh, d.badText = from, nil, 0, false, 0
			d.into(k)
			k.stopAt = to.lastUnit
			d.document(0)
			k.stopAt = -1
			k.texts(d)
			next = nextLine(k.data, max(err.at, from+1))
		case at >= next && next < len(k.data): // it ran on into the next line: the line was cut
			at = next - 1
			err.cut = true
			err.message = "ends before it is complete"
			ranOn = true
		}
		k.broken(from, at, next, err)
		recovering = recovering || ranOn
		from = next
	}
	return true
}

func (d *jsonDecoder) into(k *sink) {
	d.sink = k
	d.misfit = func(at int, want string) { k.fail(at, trace.BadValue, "a value that is not "+want+" was left out") }
}

// texts counts the texts that were repaired.
func (k *sink) texts(d *jsonDecoder) {
	k.defectTexts(d.badText)
	d.badText = 0
}

// broken reports the document in data[from:next], which cannot be read at at.
func (k *sink) broken(from, at, next int, err syntaxError) {
	kind := trace.BadSyntax
	if err.cut {
		kind = trace.CutOff
	}
	e := Located{Message: err.message}
	if len(k.errors) < maxErrors || next == len(k.data) { // to find the line takes time
		e.Where = k.where(at)
		if start := k.where(from); start != e.Where {
			e.Message += ", in the document that begins at " + start
		}
	}
	if k.aside(from, next, kind, e) {
		return
	}
	k.rejected++
	k.defects.Add(kind, err.message)
	k.errorsTotal++
	if len(k.errors) < maxErrors {
		k.errors = append(k.errors, e)
	}
}

// space skips what may stand between documents: white space, byte order marks,
// commas of a list that lost its brackets, and NUL bytes, which are counted.
func (k *sink) space(i int) int {
	nul := 0
	for ; i < len(k.data); i++ {
		switch k.data[i] {
		case ' ', '\t', '\r', '\n', 0x1e: // record separator of JSON text sequences
		case 0:
			nul++
		case 0xef:
			if !bytes.HasPrefix(k.data[i:], bom) {
				goto done
			}
			i += 2
		default:
			goto done
		}
	}
done:
	if nul > 0 {
		k.defects.Add(trace.NulBytes, "")
	}
	return i
}

var bom = []byte("\xef\xbb\xbf")

// glued fails if something other than a document follows one without a line
// end: then the line is damaged, and its document may be a fragment of another.
func (d *jsonDecoder) glued() {
	if d.err != nil {
		return
	}
	for i := d.pos; i < len(d.data); i++ {
		switch d.data[i] {
		case ' ', '\t', '\r', 0, 0x1e:
		case '\n', '{', '[':
			return
		case ',': // of a list that lost its brackets
			if d.depth == 0 && i == d.pos {
				d.pos++
			}
		default:
			d.fail(i, "%s after the end of a document", quoteByte(d.data[i]))
			return
		}
	}
}

// nextLine is the first start of a line at or behind i where a document can
// begin; the end of data if there is none.
func nextLine(data []byte, i int) int {
	if i > 0 {
		i--
	}
	for {
		n := bytes.IndexByte(data[i:], '\n')
		if n < 0 {
			return len(data)
		}
		i += n + 1
		if i == len(data) || data[i] == '{' || data[i] == '[' || data[i] == 0 || data[i] == 0x1e {
			return i
		}
	}
}

// document reads one document, or a list of them.
func (d *jsonDecoder) document(level int) {
	k := d.sink
	switch d.peek() {
	case '[':
		if !d.array() {
			return
		}
		for d.element() {
			at := d.pos
			if !k.unit(at) {
				d.fail(at, "stop")
				return
			}
			d.document(level + 1)
			k.whole(d.err == nil)
		}
	case '{':
		d.documentObject()
	default:
		at := d.pos
		if level == 0 {
			d.unexpected("a JSON object or array")
			return
		}
		d.skip()
		if d.err == nil {
			k.reject(at, trace.BadSyntax, "a list holds something that is not an object")
		}
	}
}

// documentObject finds out what the object is, by the first key that says so.
func (d *jsonDecoder) documentObject() {
	k := d.sink
	at := d.pos
	what, format := d.classify()
	if d.err != nil {
		return
	}
	d.pos = at
	k.formats |= format
	if what != foreignDocument {
		k.documents++
	}
	switch what {
	case otlpDocument:
		d.otlp()
	case resourceSpansDocument:
		d.resourceSpan()
	case scopeSpansDocument:
		d.scopeList("scopeSpans", func(scope trace.ScopeID) { d.each(func() { d.span(0, scope) }) })
	case spanDocument:
		d.span(0, 0)
	case resourceMetricsDocument:
		d.resourceList("resourceMetrics", d.metrics)
	case scopeMetricsDocument:
		d.scopeList("scopeMetrics", func(trace.ScopeID) { d.each(func() { d.metric(0) }) })
	case resourceLogsDocument:
		d.resourceList("resourceLogs", d.logs)
	case scopeLogsDocument:
		d.scopeList("scopeLogs", func(trace.ScopeID) { d.each(d.log) })
	case jaegerDocument:
		d.jaeger()
	case jaegerTraceDocument:
		d.jaegerTrace()
	case jaegerSpanDocument:
		clear(d.processes)
		d.jaegerSpan(trace.TraceID{})
	case zipkinDocument:
		d.zipkin()
	default:
		reason := d.foreign()
		if d.err == nil && !k.recovering {
			k.reject(at, trace.BadSyntax, reason)
		}
	}
}

// A documentKind is what a JSON object is, by its keys.
type documentKind uint8

const (
	foreignDocument documentKind = iota
	otlpDocument
	resourceSpansDocument
	scopeSpansDocument
	spanDocument
	resourceMetricsDocument
	scopeMetricsDocument
	resourceLogsDocument
	scopeLogsDocument
	jaegerDocument
	jaegerTraceDocument
	jaegerSpanDocument
	zipkinDocument
)

// classify reads the object up to a key that decides.
func (d *jsonDecoder) classify() (documentKind, format) {
	if !d.object() {
		return foreignDocument, 0
	}
	var id, traceID, jaegerID, spans bool
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "resourceSpans", "resource_spans", "resourceMetrics", "resource_metrics", "resourceLogs", "resource_logs",
			"resourceProfiles", "resource_profiles":
			return d.decide(otlpDocument, otlpJSON)
		case "batches":
			return d.decide(otlpDocument, tempoJSON)
		case "trace", "result", "_source": // an envelope of Tempo, Jaeger, Elasticsearch
			if d.peek() == '{' {
				return d.decide(otlpDocument, 0)
			}
		case "data":
			if c := d.peek(); c == '[' || c == 'n' {
				return d.decide(jaegerDocument, jaegerJSON)
			} else if c == '{' {
				return d.decide(otlpDocument, 0)
			}
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans":
			return d.decide(resourceSpansDocument, otlpJSON)
		case "scopeMetrics", "scope_metrics", "instrumentationLibraryMetrics", "instrumentation_library_metrics":
			return d.decide(resourceMetricsDocument, otlpJSON)
		case "scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs":
			return d.decide(resourceLogsDocument, otlpJSON)
		case "metrics":
			if d.peek() == '[' {
				return d.decide(scopeMetricsDocument, otlpJSON)
			}
		case "logRecords", "log_records":
			return d.decide(scopeLogsDocument, otlpJSON)
		case "startTimeUnixNano", "start_time_unix_nano":
			return d.decide(spanDocument, otlpJSON)
		case "processes":
			return d.decide(jaegerTraceDocument, jaegerJSON)
		case "spanID", "operationName":
			return d.decide(jaegerSpanDocument, jaegerJSON)
		case "localEndpoint", "binaryAnnotations":
			return d.decide(zipkinDocument, zipkinJSON)
		case "id":
			id = true
		case "traceId", "trace_id":
			traceID = true
		case "traceID":
			traceID, jaegerID = true, true
		case "spans":
			spans = d.peek() == '['
		}
		if id && traceID {
			return d.decide(zipkinDocument, zipkinJSON)
		}
		d.skip()
	}
	switch {
	case spans && jaegerID:
		return jaegerTraceDocument, jaegerJSON
	case spans && !traceID:
		return scopeSpansDocument, otlpJSON
	}
	return foreignDocument, 0
}

// decide ends a classification in the midst of an object.
func (d *jsonDecoder) decide(what documentKind, f format) (documentKind, format) {
	d.depth--
	d.fresh = false
	return what, f
}

// otlp reads a request, an answer of Tempo's API, or the envelope of one.
func (d *jsonDecoder) otlp() {
	if !d.object() {
		return
	}
	for key, ok := d.field(); ok; key, ok = d.field() {
		switch string(key) {
		case "resourceSpans", "resource_spans", "batches":
			d.resourceSpans()
		case "resourceMetrics", "resource_metrics":
			d.each(func() { d.resourceList("resourceMetrics", d.metrics) })
		case "resourceLogs", "resource_logs":
			d.each(func() { d.resourceList("resourceLogs", d.logs) })
		case "trace", "result", "_source", "data":
			if d.peek() == '{' {
				d.documentObject()
			} else {
				d.skip()
			}
		case "resourceProfiles", "resource_profiles":
			d.sink.formats |= otlpProfiles
			d.sink.skipped("document", key)
			d.skip()
		default:
			d.sink.skipped("document", key)
			d.skip()
		}
	}
}
