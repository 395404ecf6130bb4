package reporttest

import (
	"fmt"

	"github.com/tailscope/tailscope/report"
)

const ms = 1_000_000

// Trace is one slow request of [Mercury]: a wait for a connection, a retry that its caller left, and work after the
// response.
func Trace() *report.Trace {
	t := &report.Trace{
		TraceID: "1f4e9c162aff06acb50064d86a79c263", StartUnixNano: 1767268800000000000, DurationNS: 489 * ms,
		Root: report.TraceRoot{SpanID: "01", Service: "gateway", Operation: "GET /v2/home"},
	}
	span := func(id, parent, service, op, kind string, start, end, shift, self int64, status string) {
		t.Spans = append(t.Spans, report.Span{SpanID: id, ParentSpanID: parent, Service: service, Operation: op, Name: op, SpanKind: kind,
			StartNS: start * ms, EndNS: end * ms, ShiftNS: shift, SelfNS: self * ms, Status: status})
	}
	span("01", "", "gateway", "GET /v2/home", "server", 0, 489, 0, 18, "ok")
	span("02", "01", "gateway", "profile.P/Get", "client", 6, 66, 0, 5, "ok")
	span("03", "02", "profile", "profile.P/Get", "server", 9, 64, 200_000, 55, "ok")
	span("04", "01", "gateway", "entitlement.E/Claims", "client", 67, 101, 0, 2, "ok")
	span("05", "04", "entitlement", "entitlement.E/Claims", "server", 68, 100, 0, 32, "ok")
	span("06", "01", "gateway", "POST /quote", "client", 102, 352, 0, 228, "ok")
	span("07", "06", "pricing", "POST /quote", "server", 328, 350, 0, 10, "ok")
	span("08", "07", "pricing", "SELECT price", "client", 331, 337, 0, 6, "ok")
	span("09", "07", "pricing", "SELECT price", "client", 339, 345, 0, 6, "ok")
	span("0a", "01", "gateway", "recommendation.R/List", "client", 102, 302, 0, 150, "error")
	span("0b", "0a", "recommendation", "recommendation.R/List", "server", 152, 361, 0, 209, "ok")
	span("0c", "01", "gateway", "recommendation.R/List", "client", 352, 478, 0, 4, "ok")
	span("0d", "0c", "recommendation", "recommendation.R/List", "server", 354, 476, 0, 122, "ok")
	span("0e", "01", "gateway", "experiment.X/Expose", "producer", 103, 500, 0, 397, "unset")
	path := func(id, service, op, peer, spanKind string, kind report.Kind, evidence string, start, end int64) {
		t.Path = append(t.Path, report.Segment{SpanID: id, Service: service, Operation: op, Name: op, Peer: peer, SpanKind: spanKind, Kind: kind, Evidence: evidence, StartNS: start * ms, EndNS: end * ms})
	}
	path("01", "gateway", "GET /v2/home", "", "server", report.Service, "", 0, 6)
	path("02", "gateway", "profile.P/Get", "profile", "client", report.Network, "client − server duration, floor 5 ms", 6, 9)
	path("03", "profile", "profile.P/Get", "", "server", report.Service, "", 9, 64)
	path("02", "gateway", "profile.P/Get", "profile", "client", report.Network, "client − server duration, floor 5 ms", 64, 66)
	path("01", "gateway", "GET /v2/home", "", "server", report.Service, "", 66, 67)
	path("04", "gateway", "entitlement.E/Claims", "entitlement", "client", report.Network, "", 67, 68)
	path("05", "entitlement", "entitlement.E/Claims", "", "server", report.Service, "", 68, 100)
	path("04", "gateway", "entitlement.E/Claims", "entitlement", "client", report.Network, "", 100, 101)
	path("01", "gateway", "GET /v2/home", "", "server", report.Service, "", 101, 102)
	path("06", "gateway", "POST /quote", "pricing", "client", report.Wait, "hand-over: client-wait", 102, 326)
	path("06", "gateway", "POST /quote", "pricing", "client", report.Network, "floor 4 ms", 326, 328)
	path("07", "pricing", "POST /quote", "", "server", report.Service, "", 328, 331)
	path("08", "pricing", "SELECT price", "prices", "client", report.Service, "includes network and any wait inside the client library", 331, 337)
	path("07", "pricing", "POST /quote", "", "server", report.Service, "", 337, 339)
	path("09", "pricing", "SELECT price", "prices", "client", report.Service, "includes network and any wait inside the client library", 339, 345)
	path("07", "pricing", "POST /quote", "", "server", report.Service, "", 345, 350)
	path("06", "gateway", "POST /quote", "pricing", "client", report.Network, "floor 4 ms", 350, 352)
	path("0c", "gateway", "recommendation.R/List", "recommendation", "client", report.Network, "", 352, 354)
	path("0d", "recommendation", "recommendation.R/List", "", "server", report.Service, "", 354, 476)
	path("0c", "gateway", "recommendation.R/List", "recommendation", "client", report.Network, "", 476, 478)
	path("01", "gateway", "GET /v2/home", "", "server", report.Service, "", 478, 489)
	t.Late = report.List[report.LateSpan]{{SpanID: "0b", Service: "recommendation", Operation: "recommendation.R/List", Name: "recommendation.R/List", DepartedNS: 302 * ms, StartNS: 302 * ms, EndNS: 361 * ms}}
	t.After = report.List[report.AfterSpan]{{SpanID: "0e", Service: "gateway", Operation: "experiment.X/Expose", Name: "experiment.X/Expose", StartNS: 489 * ms, EndNS: 500 * ms}}
	t.Defects = report.List[report.SpanDefect]{{Kind: "unresolved-link", SpanID: "0e", Detail: "the linked span never came"}}
	return t
}

// HostileTrace has a root and one child per hostile name, ten milliseconds each.
func HostileTrace() *report.Trace {
	t := &report.Trace{TraceID: "1f4e9c162aff06acb50064d86a79c263", StartUnixNano: 1767268800000000000, DurationNS: int64(len(HostileNames)+2) * 10 * ms,
		Root: report.TraceRoot{SpanID: "r", Service: HostileNames[0], Operation: "GET /safe"}}
	t.Spans = append(t.Spans, report.Span{SpanID: "r", Service: HostileNames[0], Operation: "GET /safe", Name: "GET /safe", SpanKind: "server", EndNS: t.DurationNS, SelfNS: 20 * ms, Status: "unset"})
	add := func(id, op string, i int64) {
		t.Path = append(t.Path, report.Segment{SpanID: id, Service: HostileNames[0], Operation: op, Name: op, SpanKind: "internal", Kind: report.Service, StartNS: i * 10 * ms, EndNS: (i + 1) * 10 * ms})
	}
	add("r", "GET /safe", 0)
	for i, name := range HostileNames {
		id := fmt.Sprintf("s%d", i)
		at := int64(i+1) * 10 * ms
		t.Spans = append(t.Spans, report.Span{SpanID: id, ParentSpanID: "r", Service: HostileNames[0], Operation: name, Name: name, SpanKind: "internal", StartNS: at, EndNS: at + 10*ms, SelfNS: 10 * ms, Status: "unset"})
		add(id, name, int64(i+1))
	}
	add("r", "GET /safe", int64(len(HostileNames)+1))
	t.Defects = report.List[report.SpanDefect]{{Kind: HostileNames[5], SpanID: HostileNames[6], Detail: HostileNames[4]}}
	return t
}

// WideTrace has n spans of 5 ms one after the other below its root.
func WideTrace(n int) *report.Trace {
	t := &report.Trace{TraceID: "c2100000000000000000000000000001", DurationNS: int64(n) * 5 * ms, Root: report.TraceRoot{SpanID: "root", Service: "batch", Operation: "nightly"}}
	t.Spans = append(t.Spans, report.Span{SpanID: "root", Service: "batch", Operation: "nightly", Name: "nightly", SpanKind: "internal", EndNS: t.DurationNS, Status: "unset"})
	for i := range int64(n) {
		id := fmt.Sprintf("%016x", i+1)
		t.Spans = append(t.Spans, report.Span{SpanID: id, ParentSpanID: "root", Service: "batch", Operation: "row", Name: "row", SpanKind: "internal", StartNS: i * 5 * ms, EndNS: (i + 1) * 5 * ms, SelfNS: 5 * ms, Status: "unset"})
		t.Path = append(t.Path, report.Segment{SpanID: id, Service: "batch", Operation: "row", Name: "row", SpanKind: "internal", Kind: report.Service, StartNS: i * 5 * ms, EndNS: (i + 1) * 5 * ms})
	}
	return t
}

// DeepTrace has n spans, each the only child of the one before and 2 ms shorter.
func DeepTrace(n int) *report.Trace {
	t := &report.Trace{TraceID: "d2100000000000000000000000000001", DurationNS: int64(n) * 2 * ms, Root: report.TraceRoot{SpanID: "0000000000000000", Service: "deep", Operation: "recurse"}}
	for i := range int64(n) {
		id, parent := fmt.Sprintf("%016x", i), fmt.Sprintf("%016x", i-1)
		if i == 0 {
			parent = ""
		}
		t.Spans = append(t.Spans, report.Span{SpanID: id, ParentSpanID: parent, Service: "deep", Operation: "recurse", Name: "recurse", SpanKind: "internal", StartNS: i * ms, EndNS: t.DurationNS - i*ms, SelfNS: 2 * ms, Status: "unset"})
	}
	for i := range int64(n) {
		t.Path = append(t.Path, report.Segment{SpanID: t.Spans[i].SpanID, Service: "deep", Operation: "recurse", Name: "recurse", SpanKind: "internal", Kind: report.Service, StartNS: i * ms, EndNS: (i + 1) * ms})
	}
	for i := int64(n) - 1; i >= 0; i-- {
		t.Path = append(t.Path, report.Segment{SpanID: t.Spans[i].SpanID, Service: "deep", Operation: "recurse", Name: "recurse", SpanKind: "internal", Kind: report.Service, StartNS: t.DurationNS - (i+1)*ms, EndNS: t.DurationNS - i*ms})
	}
	return t
}
