package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/trace"
)

// missing lists what the data lack, the most useful first. Each entry says what
// cannot be answered, what was looked for, and what to record.
func (in *inspector) missing() {
	if in.out.Ingest.Spans == 0 {
		in.lack("paths, waits per request and causes", "the input holds metrics and no spans",
			"traces of the services behind these metrics, as OTLP, Jaeger, Zipkin or Tempo JSON")
		in.noMetrics()
		return
	}
	in.noRequests()
	in.noKinds()
	in.noParents()
	in.noSampling()
	in.fewRequests()
	in.noServers()
	in.noClients()
	in.noStamps()
	in.noMetrics()
	in.noOutcomes()
	in.noNames()
}

func (in *inspector) lack(what, why, emit string) {
	in.out.Missing = append(in.out.Missing, report.Missing{What: what, Why: why, Emit: emit})
}

// grouped is a number as it is shown: 12,345.
func grouped(n int64) string {
	t := strconv.FormatInt(n, 10)
	for i := len(t) - 3; i > 0; i -= 3 {
		t = t[:i] + "," + t[i:]
	}
	return t
}

// some names the first few of a list.
func some(names []string) string {
	const shown = 4
	if n := len(names) - shown; n > 0 {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}

func (in *inspector) noKinds() {
	unspecified, all := int64(0), int64(0)
	for _, k := range in.out.SpanKinds {
		all += k.Count
		if k.Name == trace.KindUnspecified.String() {
			unspecified = k.Count
		}
	}
	if unspecified*10 > all {
		in.lack("which spans are the two sides of one call", fmt.Sprintf("%s of %s spans have no kind; it is guessed where a service's only child is of another service", grouped(unspecified), grouped(all)),
			"the span kind: SpanKind server and client in OpenTelemetry, the tag span.kind in Jaeger")
	}
}

// noRequests tells of spans of which none begins a request.
func (in *inspector) noRequests() {
	if len(in.out.Endpoints) > 0 {
		return
	}
	var services []string
	for _, s := range in.out.Services {
		services = append(services, name(s.Service))
	}
	in.lack("any latency", "no span begins a request: each is below a span that never came, and none is a server's or consumer's",
		"the entry spans of "+some(services)+": a root, server or consumer span for each request")
}

// minIncomplete is the share of incomplete traces that is worth a word.
const minIncomplete = 0.01

// noParents tells of callers that were never received.
func (in *inspector) noParents() {
	n, all := in.out.Ingest.IncompleteTraces, in.out.Ingest.Traces
	if float64(n) <= minIncomplete*float64(all) {
		return
	}
	orphans := map[string]int64{}
	for _, r := range in.set.Records {
		if r.Orphan {
			orphans[name(in.str(in.reading.EntryName(r).Service))]++
		}
	}
	var services []string
	for _, s := range tallied(orphans) {
		services = append(services, s.Name)
	}
	why := fmt.Sprintf("in %s of %s traces the parent of a span never came", grouped(n), grouped(all))
	if len(services) > 0 {
		why += "; requests of " + some(services) + " count, and nothing says on whose behalf they were made"
	}
	in.lack("which calls belong to which request", why, "the client spans of the callers; where spans are sampled, sample whole traces")
}

func (in *inspector) noSampling() {
	s := &in.out.Sampling
	if len(in.out.Endpoints) == 0 {
		return
	}
	switch n := s.Unreadable + s.Unmeasured; {
	case n > 0:
		in.lack("how many requests there were", fmt.Sprintf("%s of %s requests say that they were sampled and not with which probability; each counts once", grouped(n), grouped(n+s.Stated+s.Unstated)),
			"the sampling threshold in the tracestate (ot=th:…), as OpenTelemetry's consistent probability samplers do")
	case s.Stated == 0 && s.TailBiased == "" && len(s.Against) == 0:
		in.lack("whether the requests are a sample", "no request states a probability, and no metric counted them all; each counts once, which is right only if all were kept",
			"the sampling threshold in the tracestate (ot=th:…) or http.server.request.duration as a histogram")
	}
	if s.TailBiased != "" {
		in.lack("how slow requests are in general", s.TailBiased, "a random sample beside the chosen traces, with its probability in the tracestate (ot=th:…)")
	}
}

func (in *inspector) fewRequests() {
	var most report.InspectedEndpoint
	for _, e := range in.out.Endpoints {
		if !e.Inner && e.Requests > most.Requests {
			most = e
		}
	}
	need := int64(stats.NeededAbove(in.o.Quantile))
	if most.Requests > 0 && most.Requests < need {
		in.lack(prose.Sprintf("p%.4g with an interval", 100*in.o.Quantile), prose.Sprintf("the busiest endpoint has %s of the %s requests that close the interval; verdicts rest on lower quantiles until then", grouped(most.Requests), grouped(need)),
			"a longer window of the same endpoint")
	}
	if s := window(in.set); most.Requests >= 100 && s < 8 {
		in.lack("whether requests that came together were slow together", prose.Sprintf("the window is %.3g s long, and 8 blocks of a second are the least; requests are taken to be independent", s), "a window of at least a minute")
	}
}

// noServers names peers that recorded nothing.
func (in *inspector) noServers() {
	var peers []string
	unnamed := int64(0)
	for _, e := range in.out.Edges {
		if e.Recorded || e.Kind == trace.KindProducer.String() {
			continue
		}
		if e.Callee == "" {
			unnamed += e.ClientOnly
			continue
		}
		if name := e.Caller + " → " + e.Callee; !slices.Contains(peers, name) {
			peers = append(peers, name)
		}
	}
	if len(peers) > 0 {
		in.lack("how the time of these calls splits into network, queue and work", "no server span for "+some(peers),
			"server spans there, with the context propagated (traceparent); of a database, the metrics of the caller's pool")
	}
	if unnamed > 0 {
		in.lack("who was called", fmt.Sprintf("%s client spans have no server span and name nobody", grouped(unnamed)), "peer.service or server.address on client spans")
	}
}

// noClients names services whose callers record no client span.
func (in *inspector) noClients() {
	var edges []string
	for _, e := range in.out.Edges {
		if e.ServerOnly*10 > e.Calls {
			edges = append(edges, e.Caller+" → "+e.Callee)
		}
	}
	if len(edges) > 0 {
		in.lack("how long calls waited before their server began", "no client span for "+some(edges), "client spans in the callers: instrument their HTTP, RPC or messaging client")
	}
}

// noStamps tells of waits before the entry span and inside processes.
func (in *inspector) noStamps() {
	var without []string
	for _, e := range in.out.Endpoints {
		if !e.Inner && e.BeforeRequests == 0 && (e.Kind == trace.KindServer.String() || e.Kind == trace.KindConsumer.String()) {
			without = append(without, e.Service+" "+e.Operation)
		}
	}
	if len(without) > 0 {
		in.lack("how long requests waited before their entry span", "no request-start stamp and no producer for "+some(without),
			"the header X-Request-Start at the load balancer, recorded as http.request.header.x-request-start; for messages, a link to the producer's span")
	}
	var explicit, pairs int64
	for _, w := range in.out.Waits {
		explicit += w.Count
	}
	for _, e := range in.out.Edges {
		pairs += e.Pairs
	}
	if explicit == 0 {
		why := "no span, event or attribute says that it waited"
		if pairs > 0 {
			why += fmt.Sprintf("; %s calls have both sides, and the time between them shows waits whose owner must be found by tests", grouped(pairs))
		}
		in.lack("waits inside a process, span by span", why, "events such as GetConn and GotConn, a span pool.acquire, or an attribute such as db.pool.wait_time_ms")
	}
}

func (in *inspector) noMetrics() {
	if in.out.Ingest.MetricPoints == 0 {
		in.lack("whether pools, executors and runtimes were at their limit", "the input holds no metric points", "the metrics of the same window: "+wanted)
		return
	}
	pooled, runtime := map[string]bool{}, map[string]bool{}
	for _, p := range in.out.Pools {
		pooled[p.Service] = true
	}
	for _, s := range in.out.Signals {
		runtime[s.Service] = true
	}
	var noPool, noSignal []string
	for _, s := range in.out.Services {
		calls := slices.ContainsFunc(in.out.Edges, func(e report.InspectedEdge) bool { return e.Caller == s.Service && e.Pairs+e.ClientOnly > 0 })
		if calls && !pooled[s.Service] {
			noPool = append(noPool, s.Service)
		}
		if !runtime[s.Service] {
			noSignal = append(noSignal, s.Service)
		}
	}
	if len(noPool) > 0 {
		in.lack("whether their pools and executors were at their limit", "no pool or executor metric of "+some(noPool),
			"db.client.connection.count, .max, .pending_requests and .wait_time, http.client.open_connections, or the executor's active, max and queued; own names by metrics: in tailscope.yaml")
	}
	if len(noSignal) > 0 && in.out.Ingest.Spans > 0 {
		in.lack("whether their processes paused or lacked CPU", "no runtime metric of "+some(noSignal), "process.cpu.utilization, jvm.gc.duration, nodejs.eventloop.delay.max or go.schedule.duration")
	}
	if len(in.out.Durations) == 0 && in.out.Ingest.Spans > 0 {
		in.lack("the latency of all requests, sampled or not", "no histogram of request durations", "http.server.request.duration or rpc.server.call.duration")
	}
}

const wanted = "db.client.connection.count and .pending_requests, http.server.active_requests, http.server.request.duration, process.cpu.utilization"

// noOutcomes tells of deadlines and cancellation.
func (in *inspector) noOutcomes() {
	left, status := int64(0), false
	for _, e := range in.out.Edges {
		left += e.TimedOut + e.Cancelled
	}
	for _, e := range in.out.Endpoints {
		left += int64(e.TimedOut + e.Cancelled)
	}
	for _, a := range in.out.Attributes {
		switch a.Key {
		case "http.response.status_code", "http.status_code", "rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code", "error.type", "error":
			status = true
		}
	}
	if left == 0 {
		why := "no call ended with a deadline or was cancelled: either none did, or the spans do not say"
		if !status {
			why = "spans have no status codes and no error.type"
		}
		in.lack("work that went on after the caller had left", why, "rpc.grpc.status_code, http.response.status_code (408, 499, 504) and error.type on client and server spans")
	}
}

// noNames tells of names that are guessed.
func (in *inspector) noNames() {
	if d := in.defect(trace.TemplatedName); d > 0 {
		in.lack("endpoints by their route", fmt.Sprintf("%s requests are named by their span with identifiers replaced, which guesses", grouped(d)), "http.route, or rpc.service and rpc.method, on server spans")
	}
	var noInstance, noHost []string
	for _, s := range in.out.Services {
		if s.Instances == 0 {
			noInstance = append(noInstance, name(s.Service))
		}
	}
	hostless := map[string]bool{}
	for i := range in.reading.Dict.Procs() {
		p := in.reading.Dict.ProcAt(graph.ProcID(i))
		if p.Host != 0 && p.Host == p.Service {
			hostless[in.str(p.Service)] = true
		}
	}
	for _, s := range in.out.Services {
		if hostless[s.Service] {
			noHost = append(noHost, name(s.Service))
		}
	}
	if len(noInstance) > 0 {
		in.lack("whether one instance is slow, and whose connections were taken", "no instance of "+some(noInstance), "service.instance.id, k8s.pod.name or host.name in the resource")
	}
	if len(noHost) > 0 {
		in.lack("which spans share a clock", "no host of "+some(noHost)+": each service is taken to have one clock", "host.name in the resource")
	}
}

func (in *inspector) defect(kind trace.DefectKind) int64 {
	for _, d := range in.out.Ingest.Defects {
		if d.Kind == string(kind) {
			return d.Count
		}
	}
	return 0
}

// name is a service's name, or words where it has none.
func name(service string) string {
	if service == "" {
		return "the service without a name"
	}
	return service
}
