package export

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

const schema = "https://opentelemetry.io/schemas/1.37.0"

// writer holds what is the same for all spans and points of an instance.
type writer struct {
	s         *Set
	resources []*otlp.Resource
	address   map[*sim.Instance]string
	last      map[*sim.Instance]*sim.Snapshot
	state     string
}

func (s *Set) writer() *writer {
	w := &writer{s: s, address: map[*sim.Instance]string{}, last: map[*sim.Instance]*sim.Snapshot{}}
	if h := s.Options.Head; h > 0 && h < 1 {
		_, w.state = threshold(h)
	}
	for i, in := range s.Run.Instances {
		w.resources = append(w.resources, resource(s.Run.System.Name, in))
		w.address[in] = fmt.Sprintf("10.42.%d.%d", 1+i/200, 10+i%200)
	}
	return w
}

func text(k, v string) otlp.Attr       { return otlp.Attr{Key: k, Value: v} }
func number(k string, v int) otlp.Attr { return otlp.Attr{Key: k, Value: int64(v)} }

func resource(system string, in *sim.Instance) *otlp.Resource {
	s := in.Service
	k := sim.Key(0).Name(system).Name(s.Name).Sub(uint64(in.N))
	id, lo := uint64(k.Name("id")), uint64(k.Name("id").Sub(1))
	pod := fmt.Sprintf("%s-%08x-%05x", s.Name, uint32(sim.Key(0).Name(s.Name).Name(s.Version)), k.Name("pod")&0xfffff)
	return &otlp.Resource{SchemaURL: schema, Attrs: []otlp.Attr{
		text("service.name", s.Name),
		text("service.namespace", system),
		text("service.version", s.Version),
		text("service.instance.id", fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", id>>32, id>>16&0xffff, id&0xfff, lo>>48&0xfff, lo&(1<<48-1))),
		text("deployment.environment.name", "production"),
		text("host.name", in.Host),
		text("k8s.namespace.name", system),
		text("k8s.node.name", in.Host),
		text("k8s.pod.name", pod),
		text("telemetry.sdk.language", s.Language),
		text("telemetry.sdk.name", "opentelemetry"),
		text("telemetry.sdk.version", sdkVersion[s.Language]),
	}}
}

var sdkVersion = map[string]string{"java": "1.53.0", "go": "1.38.0", "dotnet": "1.12.0", "nodejs": "2.1.0", "python": "1.36.0", "cpp": "1.22.0"}

// scope is the instrumentation library that makes a span.
func scope(sp *sim.Span) otlp.Scope {
	var name string
	lang := sp.In.Service.Language
	p := sim.HTTP
	if sp.Op != nil {
		p = sp.Op.Protocol
	}
	switch {
	case sp.Kind == sim.Internal:
		return otlp.Scope{Name: sp.In.Service.Name, Version: sp.In.Service.Version}
	case sp.In.Proxy:
		return otlp.Scope{Name: "envoy"}
	case lang == "go":
		name = [...]string{"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp",
			"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc",
			"github.com/XSAM/otelsql", "github.com/dnwe/otelsarama"}[p]
		return otlp.Scope{Name: name, Version: "0.63.0"}
	case lang == "java":
		server := sp.Kind == sim.Server
		switch p {
		case sim.HTTP:
			name = "io.opentelemetry.apache-httpclient-5.0"
			if server {
				name = "io.opentelemetry.tomcat-10.0"
			}
		case sim.GRPC:
			name = "io.opentelemetry.grpc-1.6"
		case sim.DB:
			name = "io.opentelemetry.jdbc"
		case sim.Message:
			name = "io.opentelemetry.kafka-clients-0.11"
		}
		return otlp.Scope{Name: name, Version: "2.19.0-alpha"}
	case lang == "dotnet":
		name = [...]string{"System.Net.Http", "OpenTelemetry.Instrumentation.GrpcNetClient", "Npgsql", "Confluent.Kafka"}[p]
		if sp.Kind == sim.Server {
			name = "Microsoft.AspNetCore"
		}
		return otlp.Scope{Name: name}
	}
	name = [...]string{"http", "grpc", "pg", "kafkajs"}[p]
	return otlp.Scope{Name: "@opentelemetry/instrumentation-" + name, Version: "0.203.0"}
}

func (w *writer) time(in *sim.Instance, t sim.Time) uint64 {
	return uint64(w.s.Options.Start.Add(in.Clock(t)).UnixNano())
}

func (w *writer) batch(b *batch) otlp.ResourceSpans {
	rs := otlp.ResourceSpans{Resource: w.resources[b.in]}
	at := map[otlp.Scope]int{}
	for _, i := range b.spans {
		sp := &w.s.Run.Spans[i]
		sc := scope(sp)
		k, ok := at[sc]
		if !ok {
			k = len(rs.Scopes)
			at[sc] = k
			rs.Scopes = append(rs.Scopes, otlp.ScopeSpans{Scope: sc})
		}
		rs.Scopes[k].Spans = append(rs.Scopes[k].Spans, w.span(sp))
	}
	return rs
}

// Flags of a span: sampled, and whether its parent is known to be remote.
const (
	sampledFlag  = 0x001
	hasRemote    = 0x100
	remoteParent = 0x200
)

func (w *writer) span(sp *sim.Span) otlp.Span {
	o := otlp.Span{TraceID: sp.Trace, SpanID: sp.ID, Parent: sp.Parent, TraceState: w.state, Flags: sampledFlag | hasRemote,
		Name: sp.Name, Kind: int(sp.Kind), Start: w.time(sp.In, sp.Start), End: w.time(sp.In, sp.End)}
	if sp.Remote && sp.Parent != 0 {
		o.Flags |= remoteParent
	}
	if l := sp.Link; l != nil {
		o.Links = []otlp.Link{{TraceID: l.Trace, SpanID: l.Span, Flags: sampledFlag}}
	}
	if sp.GotConn >= 0 {
		o.Events = []otlp.Event{{Time: o.Start, Name: "GetConn"}, {Time: w.time(sp.In, sp.GotConn), Name: "GotConn"}}
	}
	if sp.Op == nil {
		return o
	}
	if sp.In.Proxy {
		w.envoy(&o, sp)
		return o
	}
	switch sp.Op.Protocol {
	case sim.HTTP:
		w.http(&o, sp)
	case sim.GRPC:
		w.grpc(&o, sp)
	case sim.DB:
		w.db(&o, sp)
	case sim.Message:
		w.message(&o, sp)
	}
	if sp.Kind == sim.Client && sp.Served == sim.Omitted {
		o.Status = 2
		errorType, msg := clientError(sp)
		o.Message = msg
		o.Attrs = append(o.Attrs, text("error.type", errorType))
	}
	if sp.Entry {
		w.entry(&o, sp)
	}
	return o
}

// clientError is how an SDK reports that no answer came.
func clientError(sp *sim.Span) (errorType, message string) {
	timeout := sp.Outcome == sim.TimedOut
	switch sp.In.Service.Language {
	case "java":
		if timeout {
			return "java.net.SocketTimeoutException", "Read timed out"
		}
		return "java.util.concurrent.CancellationException", ""
	case "go":
		if timeout {
			return "context.deadlineExceededError", "context deadline exceeded"
		}
		return "*errors.errorString", "context canceled"
	}
	if timeout {
		return "timeout", ""
	}
	return "cancelled", ""
}

// HTTPStatus is the status code of an outcome.
func HTTPStatus(o sim.Outcome) int {
	return map[sim.Outcome]int{sim.OK: 200, sim.Failed: 500, sim.Rejected: 503, sim.TimedOut: 504, sim.Cancelled: 499}[o]
}

// GRPCStatus is the status code of an outcome, as number and name.
func GRPCStatus(o sim.Outcome) (int, string) {
	switch o {
	case sim.Failed:
		return 13, "INTERNAL"
	case sim.Rejected:
		return 8, "RESOURCE_EXHAUSTED"
	case sim.TimedOut:
		return 4, "DEADLINE_EXCEEDED"
	case sim.Cancelled:
		return 1, "CANCELLED"
	}
	return 0, "OK"
}

func (w *writer) name(op *sim.Operation) string {
	if n, ok := w.s.Options.Rename[op.Service.Name+" "+op.Name]; ok {
		return n
	}
	return op.Name
}

func (w *writer) http(o *otlp.Span, sp *sim.Span) {
	name := w.name(sp.Op)
	_, route, _ := strings.Cut(name, " ")
	method, path := w.httpPath(sp)
	host := sp.Op.Service.Name
	if sp.Kind == sim.Server {
		o.Name = name
		client := "10.42.0.7"
		o.Attrs = append(make([]otlp.Attr, 0, 14), text("http.request.method", method), text("url.scheme", "http"), text("url.path", path),
			text("http.route", route), text("server.address", host), number("server.port", 8080),
			text("network.protocol.version", "1.1"), text("client.address", client))
		code := HTTPStatus(sp.Outcome)
		o.Attrs = append(o.Attrs, number("http.response.status_code", code))
		if code >= 500 {
			o.Status = 2
			o.Attrs = append(o.Attrs, text("error.type", strconv.Itoa(code)))
		}
		return
	}
	o.Name = method
	o.Attrs = append(make([]otlp.Attr, 0, 8), text("http.request.method", method), text("url.full", "http://"+host+":8080"+path),
		text("server.address", host), number("server.port", 8080), text("network.protocol.version", "1.1"))
	if sp.Resend > 0 {
		o.Attrs = append(o.Attrs, number("http.request.resend_count", sp.Resend))
	}
	if sp.Served != sim.Omitted {
		code := HTTPStatus(sp.Served)
		o.Attrs = append(o.Attrs, number("http.response.status_code", code))
		if code >= 400 {
			o.Status = 2
			o.Attrs = append(o.Attrs, text("error.type", strconv.Itoa(code)))
		}
	}
}

// grpc uses the names of the conventions that the service's SDK knows: Go's the stable ones, the others
// the ones before.
func (w *writer) grpc(o *otlp.Span, sp *sim.Span) {
	o.Name = w.name(sp.Op)
	o.Attrs = append(make([]otlp.Attr, 0, 8), rpcAttrs(sp.In.Service.Language, o.Name)...)
	o.Attrs = append(o.Attrs, text("server.address", sp.Op.Service.Name), number("server.port", 9090))
	answer := sp.Outcome
	if sp.Kind == sim.Client {
		if answer = sp.Served; sp.Served == sim.Omitted {
			answer = sp.Outcome // the client library makes a status of its own
		}
	}
	o.Attrs = append(o.Attrs, rpcStatus(sp.In.Service.Language, answer))
	if answer != sim.OK && (sp.Kind == sim.Client || answer == sim.Failed || answer == sim.TimedOut) {
		o.Status = 2
		if sp.Served != sim.Omitted || sp.Kind == sim.Server {
			_, name := GRPCStatus(answer)
			o.Attrs = append(o.Attrs, text("error.type", name))
		}
	}
}

func rpcAttrs(language, name string) []otlp.Attr {
	if language == "go" {
		return []otlp.Attr{text("rpc.system.name", "grpc"), text("rpc.method", name)}
	}
	service, method, _ := strings.Cut(name, "/")
	return []otlp.Attr{text("rpc.system", "grpc"), text("rpc.service", service), text("rpc.method", method)}
}

func rpcStatus(language string, o sim.Outcome) otlp.Attr {
	code, name := GRPCStatus(o)
	if language == "go" {
		return text("rpc.response.status_code", name)
	}
	return number("rpc.grpc.status_code", code)
}

func dbAttrs(op *sim.Operation) []otlp.Attr {
	peer := op.Service.Peer
	verb, table, _ := strings.Cut(op.Name, " ")
	as := []otlp.Attr{text("db.system.name", peer.System), text("db.namespace", peer.Namespace), text("db.operation.name", verb)}
	if table != "" {
		as = append(as, text("db.collection.name", table), text("db.query.summary", op.Name))
	}
	return append(as, text("server.address", op.Service.Name), number("server.port", peer.Port))
}

func (w *writer) db(o *otlp.Span, sp *sim.Span) {
	o.Name = w.name(sp.Op)
	o.Attrs = dbAttrs(sp.Op)
	if sp.Served != sim.Omitted && sp.Served != sim.OK {
		o.Status = 2
		o.Attrs = append(o.Attrs, text("error.type", "_OTHER"))
	}
}

func (w *writer) message(o *otlp.Span, sp *sim.Span) {
	verb := "send"
	if sp.Kind == sim.Consumer {
		verb = "process"
	}
	dest := w.name(sp.Op)
	o.Name = verb + " " + dest
	o.Attrs = []otlp.Attr{text("messaging.system", "kafka"), text("messaging.destination.name", dest),
		text("messaging.operation.name", verb), text("messaging.operation.type", verb)}
	if sp.Kind == sim.Consumer {
		o.Attrs = append(o.Attrs, text("messaging.consumer.group.name", sp.In.Service.Name))
		if sp.Outcome != sim.OK {
			o.Status = 2
			o.Attrs = append(o.Attrs, text("error.type", "_OTHER"))
		}
	}
}

// envoy is a span of a sidecar: it knows the connection and the HTTP below a gRPC call, not the route.
func (w *writer) envoy(o *otlp.Span, sp *sim.Span) {
	svc, port, method, path, code := sp.Op.Service.Name, 8080, "POST", "/"+sp.Op.Name, 200
	if sp.Op.Protocol == sim.HTTP {
		method, path = w.httpPath(sp)
		code = HTTPStatus(sp.Outcome)
	} else {
		port = 9090
	}
	host := svc + "." + w.s.Run.System.Name + ".svc.cluster.local:" + strconv.Itoa(port)
	o.Name = host + "/*"
	o.Attrs = []otlp.Attr{text("component", "proxy"), text("upstream_cluster", fmt.Sprintf("inbound|%d||", port)),
		text("node_id", fmt.Sprintf("sidecar~%s~%s.%s~%[3]s.svc.cluster.local", w.address[sp.Peer], sp.Peer.Host, w.s.Run.System.Name)),
		text("istio.canonical_service", svc), text("istio.namespace", w.s.Run.System.Name),
		text("http.method", method), text("http.url", "http://"+host+path), text("http.protocol", "HTTP/1.1"), text("response_flags", "-"),
		text("http.status_code", strconv.Itoa(code))}
	if sp.Op.Protocol == sim.GRPC {
		n, name := GRPCStatus(sp.Outcome)
		o.Attrs = append(o.Attrs, text("grpc.status_code", strconv.Itoa(n)), text("grpc.message", name))
	}
	if code >= 500 {
		o.Status = 2
	}
}

// httpPath is the method and the path of a request, with its ids.
func (w *writer) httpPath(sp *sim.Span) (method, path string) {
	method, path, _ = strings.Cut(w.name(sp.Op), " ")
	if i := strings.IndexByte(path, '{'); i >= 0 {
		j := strings.IndexByte(path, '}')
		path = path[:i] + strconv.Itoa(100000+w.s.Run.Requests[sp.Request].Identity) + path[j+1:]
	}
	return method, path
}

// entry adds what the edge of the system knows of a request.
func (w *writer) entry(o *otlp.Span, sp *sim.Span) {
	q := &w.s.Run.Requests[sp.Request]
	if q.Class.Synthetic {
		o.Attrs = append(o.Attrs, text("user_agent.original", "blackbox-prober/0.27"), text("user_agent.synthetic.type", "test"))
	} else {
		o.Attrs = append(o.Attrs, text("user_agent.original", "Mozilla/5.0"))
		if q.Class.Name != "" {
			o.Attrs = append(o.Attrs, text("app.tier", q.Class.Name))
		}
		if w.s.Run.System.Workload.Tenants > 0 {
			o.Attrs = append(o.Attrs, text("app.tenant.id", fmt.Sprintf("t%03d", q.Tenant)))
		}
	}
	if sp.Stamp >= 0 {
		at := w.s.Options.Start.Add(sp.Stamp).UnixNano() / int64(time.Millisecond)
		o.Attrs = append(o.Attrs, otlp.Attr{Key: "http.request.header.x-request-start",
			Value: []string{fmt.Sprintf("t=%d.%03d", at/1000, at%1000)}})
	}
}
