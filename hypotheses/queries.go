package hypotheses

import (
	"fmt"
	"regexp"
	"strings"
)

// A Query asks a backend for what would tell a finding from its rival.
type Query struct {
	Language string // PromQL, TraceQL or ClickHouse SQL
	Text     string
}

// Queries is how the data of a finding are asked for where more of them are: of a
// service and operation of the entry. TraceQL is Tempo's; SQL is for the table
// that the Collector's ClickHouse exporter writes.
func Queries(f *Finding, service, operation string) []Query {
	var out []Query
	add := func(language, format string, args ...any) {
		out = append(out, Query{language, fmt.Sprintf(format, args...)})
	}
	if isPromQL(f.Check.Query) {
		add("PromQL", "%s", f.Check.Query)
	}
	entry := spans{service: service, operation: operation, kind: "server"}
	edge := spans{service: f.Service, operation: f.Operation, kind: "client"}
	own := spans{service: f.Service, operation: f.Operation, kind: "server"}
	switch f.Kind {
	case "client-wait", "network", "load", "server-queue":
		callee := f.Peer
		if callee == "" {
			callee = f.Service
		}
		served := spans{service: callee, operation: f.Operation, kind: "server"}
		if f.Peer != "" {
			add("TraceQL", "%s | quantile_over_time(duration, .99) by (resource.service.instance.id)", edge.traceQL())
		}
		add("TraceQL", "%s | quantile_over_time(duration, .99) by (resource.service.instance.id)", served.traceQL())
		caller := "c.SpanKind = 'Client'"
		if f.Peer != "" {
			caller = "c.ServiceName = " + sqlText(f.Service) + " AND " + caller
		}
		add("ClickHouse SQL", `SELECT toStartOfMinute(c.Timestamp) AS minute, c.ResourceAttributes['service.instance.id'] AS caller, count() AS calls,
  quantile(0.99)(toInt64(c.Duration) - toInt64(s.Duration)) / 1e6 AS gap_p99_ms, quantile(0.99)(s.Duration) / 1e6 AS served_p99_ms
FROM otel_traces AS c JOIN otel_traces AS s ON s.TraceId = c.TraceId AND s.ParentSpanId = c.SpanId
WHERE %s AND s.SpanKind = 'Server' AND s.ServiceName = %s
GROUP BY minute, caller ORDER BY minute, caller`, caller, sqlText(callee))
	case "service-time", "contention", "instance", "pause":
		s := own
		if f.Peer != "" {
			s = edge
		}
		if f.Kind == "instance" || f.Kind == "pause" {
			s.operation = ""
		}
		add("TraceQL", "%s | quantile_over_time(duration, .5, .99) by (resource.service.instance.id)", s.traceQL())
		add("ClickHouse SQL", `SELECT toStartOfMinute(Timestamp) AS minute, ResourceAttributes['service.instance.id'] AS instance, ResourceAttributes['service.version'] AS version,
  count() AS n, quantile(0.1)(Duration) / 1e6 AS p10_ms, quantile(0.99)(Duration) / 1e6 AS p99_ms
FROM otel_traces WHERE %s
GROUP BY minute, instance, version ORDER BY minute, instance`, s.sql())
	case "mix-shift":
		add("TraceQL", "%s | rate() by (span.%s)", entry.traceQL(), traceQLKey(f.Attribute))
		add("ClickHouse SQL", `SELECT toDate(Timestamp) AS day, coalesce(nullIf(SpanAttributes[%[2]s], ''), ResourceAttributes[%[2]s]) AS value,
  count() AS n, quantile(0.99)(Duration) / 1e6 AS p99_ms
FROM otel_traces WHERE %[1]s
GROUP BY day, value ORDER BY day, n DESC`, entry.sql(), sqlText(f.Attribute))
	case "call-count", "fan-out", "new-hop", "optional-branch", "serialization":
		s := edge
		if f.Kind == "serialization" {
			s.operation = ""
		}
		add("TraceQL", "%s && %s | rate()", entry.traceQL(), s.traceQL())
		add("ClickHouse SQL", `SELECT day, avg(calls) AS calls_per_request, quantile(0.99)(together_ms) AS from_first_start_to_last_end_p99_ms
FROM (SELECT TraceId, toDate(min(Timestamp)) AS day, count() AS calls,
    (max(toUnixTimestamp64Nano(Timestamp) + Duration) - min(toUnixTimestamp64Nano(Timestamp))) / 1e6 AS together_ms
  FROM otel_traces WHERE %s GROUP BY TraceId)
GROUP BY day ORDER BY day`, s.sql())
	case "retries", "hedging", "timeout-plateau", "late-work":
		add("TraceQL", "%s | rate() by (status)", edge.traceQL())
		add("ClickHouse SQL", `SELECT toStartOfMinute(Timestamp) AS minute, StatusCode, SpanAttributes['error.type'] AS error, count() AS n,
  uniqExact(ParentSpanId) AS callers, quantile(0.5)(Duration) / 1e6 AS p50_ms, quantile(0.99)(Duration) / 1e6 AS p99_ms
FROM otel_traces WHERE %s
GROUP BY minute, StatusCode, error ORDER BY minute, n DESC`, edge.sql())
	case "measurement":
		add("ClickHouse SQL", `SELECT toDate(Timestamp) AS day, ServiceName, SpanKind, SpanName, count() AS n
FROM otel_traces WHERE TraceId IN (SELECT TraceId FROM otel_traces WHERE %s)
GROUP BY day, ServiceName, SpanKind, SpanName ORDER BY day, n DESC`, entry.sql())
	}
	return out
}

// isPromQL reports whether a check's query is one, not an experiment in words.
func isPromQL(s string) bool {
	return promQL.MatchString(s)
}

var promQL = regexp.MustCompile(`^[a-z_]+( by \([a-z_, ]*\))? ?\([a-z_]+\{`)

// spans selects spans of one side of a call.
type spans struct{ service, operation, kind string }

func (s spans) traceQL() string {
	t := "{ resource.service.name = " + traceQLText(s.service) + " && kind = " + s.kind
	if s.operation != "" {
		if p, ok := pattern(s.operation); ok {
			t += " && name =~ " + traceQLText(p)
		} else {
			t += " && name = " + traceQLText(s.operation)
		}
	}
	return t + " }"
}

func (s spans) sql() string {
	t := "ServiceName = " + sqlText(s.service) + " AND SpanKind = '" + strings.ToUpper(s.kind[:1]) + s.kind[1:] + "'"
	if s.operation != "" {
		if p, ok := pattern(s.operation); ok {
			t += " AND match(SpanName, " + sqlText("^"+p+"$") + ")"
		} else {
			t += " AND SpanName = " + sqlText(s.operation)
		}
	}
	return t
}

var placeholder = regexp.MustCompile(`\\\{[^{}/]*\\\}`)

// pattern is a regular expression for the raw names of a templated operation; ok
// is false if it is no template.
func pattern(operation string) (string, bool) {
	q := regexp.QuoteMeta(operation)
	p := placeholder.ReplaceAllString(q, "[^/]+")
	return p, p != q
}

// Texts come from spans, whose names may hold anything: none may end its quotes.
func traceQLText(s string) string { return `"` + escaped(s, `"`) + `"` }
func sqlText(s string) string     { return "'" + escaped(s, "'") + "'" }

func escaped(s, quote string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\' || string(r) == quote:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// traceQLKey is an attribute's name, quoted where it has more than a name may.
func traceQLKey(key string) string {
	for _, r := range key {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return traceQLText(key)
		}
	}
	return key
}
