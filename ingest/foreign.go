package ingest

import (
	"bytes"
	"strings"
)

// This file names what people bring that cannot be right, so that the message
// says what the file is and not only that it is not something else.

// foreign says what the object is that no rule reads, and skips it.
func (d *jsonDecoder) foreign() string {
	has := map[string]bool{}
	if d.object() {
		for key, ok := d.field(); ok; key, ok = d.field() {
			if len(has) < 64 {
				has[string(key)] = true
			}
			d.skip()
		}
	}
	for _, f := range foreignObjects {
		all := true
		for _, key := range f.keys {
			all = all && has[key]
		}
		if all {
			return f.name
		}
	}
	return "a JSON object that is no known format of spans or metrics"
}

// foreignObjects is the first keys that tell a format, the most telling first.
var foreignObjects = []struct {
	keys []string
	name string
}{
	{[]string{"traceEvents"}, "a Chrome trace; it holds no requests across services"},
	{[]string{"traces", "metrics"}, "a search result of Tempo: it lists traces without their spans; fetch each trace by its id (/api/traces/ID)"},
	{[]string{"traces"}, "a list of traces without their spans; fetch each trace by its id"},
	{[]string{"SpanContext", "StartTime"}, "the output of the Go stdout exporter; export with the OTLP exporter or the Collector's file exporter instead"},
	{[]string{"context", "start_time", "end_time"}, "the output of the Python console exporter; export with the OTLP exporter or the Collector's file exporter instead"},
	{[]string{"Segments"}, "an AWS X-Ray trace; export through the Collector instead"},
	{[]string{"subsegments"}, "an AWS X-Ray segment; export through the Collector instead"},
	{[]string{"TraceSummaries"}, "a list of AWS X-Ray trace summaries, without spans"},
	{[]string{"trace_id", "span_id", "resource", "service"}, "a Datadog span list; export through the Collector instead"},
	{[]string{"trace.trace_id"}, "a Honeycomb query result; export through the Collector instead"},
	{[]string{"projectId", "spans"}, "a Google Cloud trace; export through the Collector instead"},
	{[]string{"processor", "@timestamp"}, "an Elastic APM document; export through the Collector instead"},
	{[]string{"traceSegmentId"}, "a SkyWalking segment; export through the Collector instead"},
	{[]string{"segmentId", "spanId"}, "a SkyWalking span list; export through the Collector instead"},
	{[]string{"hits", "took"}, "an Elasticsearch search result; export its documents one a line"},
	{[]string{"trace.id", "guid"}, "a New Relic span list; export through the Collector instead"},
	{[]string{"guid", "traceId"}, "a New Relic span list; export through the Collector instead"},
	{[]string{"body", "severityText"}, "a log record; logs are not used"},
	{[]string{"@timestamp"}, "a log line; logs are not used"},
	{[]string{"level", "msg"}, "a log line; logs are not used"},
	{[]string{"level", "message"}, "a log line; logs are not used"},
	{[]string{"status", "data"}, "a Prometheus answer; metrics are read as OTLP"},
	{[]string{"schema", "run", "endpoints"}, "a report of tailscope"},
	{[]string{"error"}, "an error message of a server"},
	{[]string{"code", "message"}, "an error message of a server"},
}

var foreignMagic = []struct{ magic, name string }{
	{"PK\x03\x04", "a zip archive; unpack it"},
	{"BZh", "bzip2-compressed data; unpack it or use gzip or zstd"},
	{"\xfd7zXZ", "xz-compressed data; unpack it or use gzip or zstd"},
	{"\x04\x22\x4d\x18", "lz4-compressed data; unpack it or use gzip or zstd"},
	{"\xff\x06\x00\x00sNaPpY", "snappy-compressed data; unpack it or use gzip or zstd"},
	{"7z\xbc\xaf", "a 7z archive; unpack it"},
	{"PAR1", "a Parquet file"},
	{"Obj\x01", "an Avro file"},
	{"ORC", "an ORC file"},
	{"ARROW1", "an Arrow file"},
	{"SQLite format 3", "an SQLite database"},
	{"go 1.", "a Go execution trace; it holds no requests across services"},
	{"\x7fELF", "a program"},
	{"%PDF", "a PDF document"},
	{"<!DOCTYPE", "an HTML page: perhaps a login page in place of the data"},
	{"<!doctype", "an HTML page: perhaps a login page in place of the data"},
	{"<html", "an HTML page: perhaps a login page in place of the data"},
	{"<?xml", "an XML document"},
	{"# HELP", "a Prometheus exposition; metrics are read as OTLP"},
	{"# TYPE", "a Prometheus exposition; metrics are read as OTLP"},
}

// foreignFile names a file by its first bytes; empty if it is not known.
func foreignFile(head []byte) string {
	for _, f := range foreignMagic {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.name
		}
	}
	if len(head) > 262 && bytes.HasPrefix(head[257:], []byte("ustar")) {
		return "a tar archive; unpack it"
	}
	first, _, _ := bytes.Cut(head, []byte{'\n'})
	if len(first) > 4096 || !plainText(first) {
		return ""
	}
	for _, sep := range []string{",", ";", "\t"} {
		if n := strings.Count(string(first), sep); n >= 2 && !bytes.Contains(first, []byte(`":`)) && !bytes.ContainsAny(first, "{}()") {
			return "a table of values separated by " + map[string]string{",": "commas (CSV)", ";": "semicolons (CSV)", "\t": "tabs (TSV)"}[sep] +
				", which does not hold whole spans; export the traces themselves"
		}
	}
	return ""
}

func plainText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return len(b) > 0
}
