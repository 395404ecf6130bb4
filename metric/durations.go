package metric

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Durations is the request durations that one operation of a service counted, in
// milliseconds, over all its instances. Nobody sampled them: they are the
// population that sampled traces are held against.
type Durations struct {
	Service string

	// Operation is written as that of an endpoint: method and route, or service
	// and method of an RPC, or the span's name; the method alone where the
	// metric has no route.
	Operation string

	// Name is the metric's.
	Name string

	Total Distribution

	// ByStatus is Total taken apart by outcome, in the order of Status.
	ByStatus []StatusDurations

	// Seconds is the time in which they were counted; 0 if it is not known.
	Seconds float64

	// Exemplars leads from durations to traces, the longest first.
	Exemplars []Exemplar
}

// StatusDurations is the durations of requests with one outcome.
type StatusDurations struct {
	// Status is the HTTP or gRPC status as recorded; empty if it was not.
	Status string

	// Failed reports whether the metric itself calls it an error: an error.type,
	// or a span status of error.
	Failed bool

	Distribution
}

var (
	methodAttrs = []string{"http.request.method", "http.method", "method"}
	routeAttrs  = []string{"http.route", "url.template", "uri", "route"}
	statusAttrs = []string{"http.response.status_code", "http.status_code", "rpc.response.status_code", "rpc.grpc.status_code",
		"grpc.status", "grpc_code", "statusCode", "status"}
)

// operation is the endpoint whose requests a series counted; ok is false if they
// are not those of a server, as for a client's spans counted by a connector.
func (k *Key) operation() (service, operation string, ok bool) {
	switch kind := k.Attr("span.kind", "span_kind"); strings.TrimPrefix(kind, "SPAN_KIND_") {
	case "", "SERVER", "CONSUMER", "Server", "Consumer", "server", "consumer":
	default:
		return "", "", false
	}
	service = k.Service
	if name := k.Attr("span.name", "span_name"); name != "" {
		// A connector counts for other services than its own.
		if s := k.Attr("service.name", "service_name", "service"); s != "" {
			service = s
		}
		return service, name, true
	}
	if route := k.Attr(routeAttrs...); route != "" {
		return service, strings.TrimSpace(k.Attr(methodAttrs...) + " " + route), true
	}
	if name := k.Attr("grpc.method"); name != "" {
		return service, name, true
	}
	if method := k.Attr("rpc.method", "grpc_method"); method != "" {
		if s := k.Attr("rpc.service", "grpc_service"); s != "" {
			method = s + "/" + method
		}
		return service, method, true
	}
	if s := k.Attr("service"); s != "" && k.Attr("methodType") != "" { // Micrometer's gRPC
		return service, s + "/" + k.Attr("method"), true
	}
	return service, k.Attr(methodAttrs...), true
}

// Durations is the request durations of every operation in w, in the order of
// service and operation. Of several metrics of one operation the one that the
// newer convention names is used.
func (f *Fold) Durations(w Window, n *Names) []Durations {
	type endpoint struct{ service, operation string }
	found := map[endpoint][]member{}
	for _, s := range f.Series() {
		m, ok := n.Meaning(&s.Key)
		if !ok || m.Role != RequestDuration || s.Type == Gauge || s.Type == Sum {
			continue
		}
		service, operation, ok := s.operation()
		if grown, _ := s.growths(w); !ok || len(grown) == 0 {
			continue
		}
		at := member{s, m}
		if _, ok := at.factor(); !ok {
			continue
		}
		e := endpoint{service, operation}
		switch have := found[e]; {
		case len(have) == 0 || m.rank < have[0].rank || m.rank == have[0].rank && s.Name < have[0].Name:
			found[e] = []member{at}
		case m.rank == have[0].rank && s.Name == have[0].Name:
			found[e] = append(have, at)
		}
	}
	order := slices.SortedFunc(maps.Keys(found), func(a, b endpoint) int {
		return cmp.Or(strings.Compare(a.service, b.service), strings.Compare(a.operation, b.operation))
	})
	var out []Durations
	for _, e := range order {
		out = append(out, durations(e.service, e.operation, found[e], w))
	}
	return out
}

func durations(service, operation string, members []member, w Window) Durations {
	d := Durations{Service: service, Operation: operation, Name: members[0].Name, Total: noValues(), Seconds: covered(members, w)}
	type outcome struct {
		status string
		failed bool
	}
	parts := map[outcome]*Distribution{}
	for _, m := range members {
		factor, _ := m.factor()
		values := m.Distribution(w).scaled(factor)
		d.Total.add(values)
		o := outcome{m.Attr(statusAttrs...), m.Attr("error.type") != "" || m.Attr("status.code", "status_code") == "STATUS_CODE_ERROR"}
		if parts[o] == nil {
			none := noValues()
			parts[o] = &none
		}
		parts[o].add(values)
		for _, e := range m.Exemplars {
			if w == (Window{}) || w.From <= e.Time && e.Time <= w.To {
				e.Value *= factor
				d.Exemplars = append(d.Exemplars, e)
			}
		}
	}
	d.Exemplars = topExemplars(d.Exemplars)
	for o, values := range parts {
		d.ByStatus = append(d.ByStatus, StatusDurations{o.status, o.failed, *values})
	}
	slices.SortFunc(d.ByStatus, func(a, b StatusDurations) int {
		return cmp.Or(strings.Compare(a.Status, b.Status), compareBool(a.Failed, b.Failed))
	})
	return d
}
