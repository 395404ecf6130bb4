package export

import (
	"strconv"
	"strings"
	"time"

	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// metrics collects the points of one snapshot by metric.
type metrics struct {
	w           *writer
	in          *sim.Instance
	start, time uint64
	list        []otlp.Metric
	at          map[string]int
}

func (m *metrics) add(name, unit string, t otlp.MetricType, p otlp.Point) {
	p.Time = m.time
	p.Start = m.start
	i, ok := m.at[name]
	if !ok {
		i = len(m.list)
		m.at[name] = i
		m.list = append(m.list, otlp.Metric{Name: name, Unit: unit, Type: t})
	}
	m.list[i].Points = append(m.list[i].Points, p)
}

func (m *metrics) count(name, unit string, t otlp.MetricType, v int, attrs ...otlp.Attr) {
	m.add(name, unit, t, otlp.Point{Int: int64(v), Attrs: attrs})
}

func (m *metrics) float(name, unit string, t otlp.MetricType, v float64, attrs ...otlp.Attr) {
	m.add(name, unit, t, otlp.Point{Float: v, IsFloat: true, Attrs: attrs})
}

// histogram adds a distribution of durations in seconds, or in milliseconds.
func (m *metrics) histogram(name, unit string, h *sim.Histogram, attrs ...otlp.Attr) {
	scale := 1.0
	if unit == "ms" {
		scale = 1000
	}
	p := otlp.Point{Attrs: attrs, Count: h.Count, Sum: scale * h.Sum.Seconds(), Min: scale * h.Min.Seconds(), Max: scale * h.Max.Seconds(),
		Buckets: h.Counts}
	for _, b := range h.Bounds {
		p.Bounds = append(p.Bounds, scale*b)
	}
	for _, x := range h.Exemplars {
		if !m.w.s.headSampled(x.Trace) {
			continue // an exemplar is taken in a sampled context only
		}
		p.Exemplars = append(p.Exemplars, otlp.Exemplar{Time: m.w.time(m.in, x.At), Value: scale * x.Value.Seconds(), TraceID: x.Trace, SpanID: x.Span})
	}
	m.add(name, unit, otlp.Histogram, p)
}

// snapshot is one collection of an instance: its libraries' and its runtime's metrics.
func (w *writer) snapshot(s *sim.Snapshot) otlp.ResourceMetrics {
	in, svc := s.In, s.In.Service
	m := &metrics{w: w, in: in, start: w.time(in, 0), time: w.time(in, s.At), at: map[string]int{}}
	var res *otlp.Resource
	for i := range w.s.Run.Instances {
		if w.s.Run.Instances[i] == in {
			res = w.resources[i]
		}
	}
	m.server(s)
	m.client(s)
	for i := range s.Pools {
		m.pool(&s.Pools[i])
	}
	if s.Exec != nil {
		m.executor(svc.Executor.Vendor, s.Exec)
	}
	if svc.Cores > 0 {
		user, system := 0.85*s.CPU/1e9, 0.15*s.CPU/1e9
		m.float("process.cpu.time", "s", otlp.Counter, user, text("cpu.mode", "user"))
		m.float("process.cpu.time", "s", otlp.Counter, system, text("cpu.mode", "system"))
		var before float64
		var since time.Duration
		if l := w.last[in]; l != nil {
			before, since = l.CPU, l.At
		}
		if d := float64(s.At - since); d > 0 {
			m.float("process.cpu.utilization", "1", otlp.Gauge, (s.CPU-before)/(d*svc.Cores))
			if svc.Loop {
				m.float("nodejs.eventloop.utilization", "1", otlp.Gauge, (s.CPU-before)/d)
				m.float("nodejs.eventloop.delay.max", "s", otlp.Gauge, s.Lag.Seconds())
			}
		}
		if svc.Quota != nil {
			m.float("container_cpu_cfs_throttled_seconds_total", "s", otlp.Counter, s.Throttled.Seconds())
		}
	}
	if s.Pause.Count > 0 && svc.Language == "java" {
		m.histogram("jvm.gc.duration", "s", &s.Pause, text("jvm.gc.action", "end of major GC"), text("jvm.gc.name", "G1 Old Generation"))
	}
	w.last[in] = s
	return otlp.ResourceMetrics{Resource: res, Scope: otlp.Scope{Name: "io.opentelemetry.runtime", Version: sdkVersion[svc.Language]}, Metrics: m.list}
}

func (m *metrics) server(s *sim.Snapshot) {
	svc := s.In.Service
	for i := range s.Served {
		v := &s.Served[i]
		switch v.Op.Protocol {
		case sim.HTTP:
			method, route, _ := strings.Cut(m.w.name(v.Op), " ")
			code := HTTPStatus(v.Outcome)
			as := []otlp.Attr{text("http.request.method", method), text("http.route", route), text("url.scheme", "http"), number("http.response.status_code", code)}
			if code >= 500 {
				as = append(as, text("error.type", strconv.Itoa(code)))
			}
			m.histogram("http.server.request.duration", "s", &v.Histogram, as...)
		case sim.GRPC:
			name, unit := "rpc.server.duration", "ms"
			if svc.Language == "go" {
				name, unit = "rpc.server.call.duration", "s"
			}
			m.histogram(name, unit, &v.Histogram, append(rpcAttrs(svc.Language, m.w.name(v.Op)), rpcStatus(svc.Language, v.Outcome))...)
		case sim.Message:
			m.histogram("messaging.process.duration", "s", &v.Histogram, text("messaging.system", "kafka"),
				text("messaging.destination.name", v.Op.Name), text("messaging.operation.name", "process"))
		}
	}
	if len(svc.Ops) > 0 && svc.Ops[0].Protocol == sim.HTTP {
		method, _, _ := strings.Cut(svc.Ops[0].Name, " ")
		m.count("http.server.active_requests", "{request}", otlp.UpDownCounter, s.Active, text("http.request.method", method), text("url.scheme", "http"))
	}
}

func (m *metrics) client(s *sim.Snapshot) {
	for i := range s.Called {
		c := &s.Called[i]
		var failed []otlp.Attr
		if c.Served == sim.Omitted {
			t, _ := clientError(&sim.Span{In: s.In, Outcome: c.Outcome})
			failed = []otlp.Attr{text("error.type", t)}
		}
		switch c.Op.Protocol {
		case sim.HTTP:
			method, _, _ := strings.Cut(c.Op.Name, " ")
			as := []otlp.Attr{text("http.request.method", method), text("server.address", c.Op.Service.Name), number("server.port", 8080)}
			if c.Served != sim.Omitted {
				code := HTTPStatus(c.Served)
				as = append(as, number("http.response.status_code", code))
				if code >= 400 {
					failed = []otlp.Attr{text("error.type", strconv.Itoa(code))}
				}
			}
			m.histogram("http.client.request.duration", "s", &c.Histogram, append(as, failed...)...)
		case sim.GRPC:
			name, unit := "rpc.client.duration", "ms"
			if s.In.Service.Language == "go" {
				name, unit = "rpc.client.call.duration", "s"
			}
			o := c.Served
			if o == sim.Omitted {
				o = c.Outcome
			}
			as := append(rpcAttrs(s.In.Service.Language, m.w.name(c.Op)), text("server.address", c.Op.Service.Name), rpcStatus(s.In.Service.Language, o))
			m.histogram(name, unit, &c.Histogram, as...)
		case sim.DB:
			m.histogram("db.client.operation.duration", "s", &c.Histogram, append(dbAttrs(c.Op), failed...)...)
		}
	}
}

func (m *metrics) pool(p *sim.PoolLevel) {
	switch p.Kind {
	case sim.DBPool:
		pool := text("db.client.connection.pool.name", p.Name)
		m.count("db.client.connection.count", "{connection}", otlp.UpDownCounter, p.InUse, pool, text("db.client.connection.state", "used"))
		m.count("db.client.connection.count", "{connection}", otlp.UpDownCounter, p.Cap-p.InUse, pool, text("db.client.connection.state", "idle"))
		m.count("db.client.connection.max", "{connection}", otlp.UpDownCounter, p.Cap, pool)
		m.count("db.client.connection.pending_requests", "{request}", otlp.UpDownCounter, p.Waiting, pool)
		m.count("db.client.connection.timeouts", "{timeout}", otlp.Counter, p.Timeouts, pool)
		m.histogram("db.client.connection.wait_time", "s", &p.Wait, pool)
		m.histogram("db.client.connection.use_time", "s", &p.Use, pool)
	case sim.HTTPPool:
		to := []otlp.Attr{text("server.address", p.Name), number("server.port", 8080)}
		with := func(as []otlp.Attr, a otlp.Attr) []otlp.Attr { return append(as[:len(as):len(as)], a) }
		m.count("http.client.open_connections", "{connection}", otlp.UpDownCounter, p.InUse, with(to, text("http.connection.state", "active"))...)
		m.count("http.client.open_connections", "{connection}", otlp.UpDownCounter, p.Cap-p.InUse, with(to, text("http.connection.state", "idle"))...)
		client := text("httpclient", p.Name)
		m.count("httpcomponents.httpclient.pool.total.max", "", otlp.Gauge, p.Cap, client)
		m.count("httpcomponents.httpclient.pool.total.connections", "", otlp.Gauge, p.InUse, client, text("state", "leased"))
		m.count("httpcomponents.httpclient.pool.total.connections", "", otlp.Gauge, p.Cap-p.InUse, client, text("state", "available"))
		m.count("httpcomponents.httpclient.pool.total.pending", "", otlp.Gauge, p.Waiting, client)
	}
}

func (m *metrics) executor(vendor string, l *sim.Level) {
	switch vendor {
	case "micrometer":
		name := text("name", l.Name)
		m.count("executor.active", "threads", otlp.Gauge, l.InUse, name)
		m.count("executor.pool.size", "threads", otlp.Gauge, l.Cap, name)
		m.count("executor.pool.max", "threads", otlp.Gauge, l.Cap, name)
		m.count("executor.queued", "tasks", otlp.Gauge, l.Waiting, name)
		m.count("executor.completed", "tasks", otlp.Counter, l.Done, name)
	case "jetty":
		m.count("jetty.thread.busy.count", "{thread}", otlp.UpDownCounter, l.InUse)
		m.count("jetty.thread.count", "{thread}", otlp.UpDownCounter, l.Cap)
		m.count("jetty.thread.limit", "{thread}", otlp.UpDownCounter, l.Cap)
		m.count("jetty.thread.queue.size", "{thread}", otlp.UpDownCounter, l.Waiting)
	}
}
