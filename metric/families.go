package metric

// A family is metric names of one library, in the order of preference.
type family struct {
	kind   Kind
	pool   []string // attributes that name the pool
	states []string // attributes that tell used from idle
	roles  []named
}

type named struct {
	name string
	role Role
}

// stateValues is what the attributes of ByState say.
var stateValues = map[string]Role{
	"used": Used, "active": Used, "inuse": Used, "in_use": Used, "busy": Used, "leased": Used, "acquired": Used,
	"idle": Idle, "available": Idle, "free": Idle,
}

// families is what is known by itself. Names are compared after canonical, so
// that hikaricp.connections.active and hikaricp_connections_active are one.
// Newer conventions stand before the older ones that they replace.
var families = []family{
	{kind: ConnectionPool, // OpenTelemetry, stable
		pool:   []string{"db.client.connection.pool.name", "db.client.connections.pool.name", "pool.name"},
		states: []string{"db.client.connection.state", "db.client.connections.state", "state"},
		roles: []named{
			{"db.client.connection.count", ByState},
			{"db.client.connection.max", Max},
			{"db.client.connection.pending_requests", Pending},
			{"db.client.connection.wait_time", Wait},
			{"db.client.connection.use_time", Use},
			{"db.client.connection.timeouts", Timeouts},
		}},
	{kind: ConnectionPool, // OpenTelemetry until 1.26
		pool:   []string{"pool.name", "db.client.connections.pool.name", "db.client.connection.pool.name"},
		states: []string{"state", "db.client.connections.state", "db.client.connection.state"},
		roles: []named{
			{"db.client.connections.usage", ByState},
			{"db.client.connections.count", ByState},
			{"db.client.connections.max", Max},
			{"db.client.connections.pending_requests", Pending},
			{"db.client.connections.wait_time", Wait},
			{"db.client.connections.use_time", Use},
			{"db.client.connections.timeouts", Timeouts},
		}},
	{kind: ConnectionPool, pool: []string{"pool", "name"}, roles: []named{ // HikariCP
		{"hikaricp.connections.active", Used},
		{"hikaricp.connections.idle", Idle},
		{"hikaricp.connections", Total},
		{"hikaricp.connections.max", Max},
		{"hikaricp.connections.pending", Pending},
		{"hikaricp.connections.acquire", Wait},
		{"hikaricp.connections.usage", Use},
		{"hikaricp.connections.timeout", Timeouts},
	}},
	{kind: ConnectionPool, pool: []string{"name", "pool"}, roles: []named{ // Micrometer, any DataSource
		{"jdbc.connections.active", Used},
		{"jdbc.connections.idle", Idle},
		{"jdbc.connections.max", Max},
	}},
	{kind: ConnectionPool, // Go database/sql: XSAM/otelsql
		pool: []string{"db.client.connection.pool.name", "db.name", "db.namespace", "db.instance"}, states: []string{"status"},
		roles: []named{
			{"db.sql.connection.open", ByState},
			{"db.sql.connection.max_open", Max},
			{"db.sql.connection.wait_duration", WaitTotal},
			{"db.sql.connection.wait", WaitCount},
		}},
	{kind: ConnectionPool, pool: []string{"db_name", "db.name", "db"}, roles: []named{ // Go: Prometheus collector, uptrace/otelsql
		{"go_sql_in_use_connections", Used},
		{"go_sql_idle_connections", Idle},
		{"go_sql_open_connections", Total},
		{"go_sql_max_open_connections", Max},
		{"go_sql_wait_duration", WaitTotal},
		{"go_sql_wait_count", WaitCount},
		{"go.sql.connections_in_use", Used},
		{"go.sql.connections_idle", Idle},
		{"go.sql.connections_open", Total},
		{"go.sql.connections_max_open", Max},
		{"go.sql.connections_wait_duration", WaitTotal},
		{"go.sql.connections_wait_count", WaitCount},
	}},
	{kind: ConnectionPool, pool: []string{"pool.name", "db.client.connection.pool.name", "db.name", "db.namespace"}, roles: []named{ // pgx
		{"pgxpool.acquired_connections", Used},
		{"pgxpool.idle_connections", Idle},
		{"pgxpool.total_connections", Total},
		{"pgxpool.max_connections", Max},
		{"pgxpool.acquire_duration", WaitTotal},
		{"pgxpool.acquires", WaitCount},
	}},
	{kind: ConnectionPool, pool: []string{"name"}, roles: []named{ // R2DBC
		{"r2dbc.pool.acquired", Used},
		{"r2dbc.pool.idle", Idle},
		{"r2dbc.pool.allocated", Total},
		{"r2dbc.pool.max.allocated", Max},
		{"r2dbc.pool.pending", Pending},
	}},
	{kind: ConnectionPool, pool: []string{"cluster.id", "server.address"}, roles: []named{ // MongoDB, Micrometer
		{"mongodb.driver.pool.checkedout", Used},
		{"mongodb.driver.pool.size", Total},
		{"mongodb.driver.pool.waitqueuesize", Pending},
	}},
	{kind: ConnectionPool, // HTTP clients, OpenTelemetry (.NET)
		pool: []string{"server.address", "net.peer.name"}, states: []string{"http.connection.state", "state"},
		roles: []named{
			{"http.client.open_connections", ByState},
			{"http.client.request.time_in_queue", Wait},
		}},
	{kind: ConnectionPool, pool: []string{"name", "id", "remote.address"}, roles: []named{ // Reactor Netty
		{"reactor.netty.connection.provider.active.connections", Used},
		{"reactor.netty.connection.provider.idle.connections", Idle},
		{"reactor.netty.connection.provider.total.connections", Total},
		{"reactor.netty.connection.provider.max.connections", Max},
		{"reactor.netty.connection.provider.pending.connections", Pending},
		{"reactor.netty.connection.provider.pending.connections.time", Wait},
	}},
	{kind: ConnectionPool, pool: []string{"httpclient"}, states: []string{"state"}, roles: []named{ // Apache HttpClient, Micrometer
		{"httpcomponents.httpclient.pool.total.connections", ByState},
		{"httpcomponents.httpclient.pool.total.max", Max},
		{"httpcomponents.httpclient.pool.total.pending", Pending},
	}},
	{kind: ConnectionPool, pool: []string{"pool.name", "pool_name", "name"}, roles: []named{ // Vert.x
		{"vertx.pool.in.use", Used},
		{"vertx.pool.queue.pending", Pending},
		{"vertx.pool.queue.time", Wait},
		{"vertx.pool.queue.delay", Wait},
		{"vertx.pool.usage", Use},
	}},
	{kind: Executor, pool: []string{"name", "executor.name"}, roles: []named{ // Micrometer
		{"executor.active", Used},
		{"executor.pool.size", Total},
		{"executor.pool.max", Max},
		{"executor.queued", Pending},
		{"executor.idle", Wait}, // the time a task is idle: from its submission to its start
		{"executor", Use},
	}},
	{kind: Executor, pool: []string{"tomcat.thread.pool.name", "name"}, states: []string{"state"}, roles: []named{ // Tomcat
		{"tomcat.thread.busy.count", Used},
		{"tomcat.thread.count", Total},
		{"tomcat.thread.limit", Max},
		{"tomcat.threads.busy", Used},
		{"tomcat.threads.current", Total},
		{"tomcat.threads.config.max", Max},
		{"http.server.tomcat.threads", ByState},
	}},
	{kind: Executor, pool: []string{"name", "jetty.thread.pool.name"}, roles: []named{ // Jetty
		{"jetty.thread.busy.count", Used},
		{"jetty.thread.idle.count", Idle},
		{"jetty.thread.limit", Max},
		{"jetty.thread.queue.size", Pending},
		{"jetty.threads.busy", Used},
		{"jetty.threads.idle", Idle},
		{"jetty.threads.current", Total},
		{"jetty.threads.config.max", Max},
		{"jetty.threads.jobs", Pending},
	}},
	{kind: Executor, roles: []named{ // .NET thread pool
		{"dotnet.thread_pool.queue.length", Pending},
		{"dotnet.thread_pool.thread.count", Total},
		{"process.runtime.dotnet.thread_pool.queue.length", Pending},
		{"process.runtime.dotnet.thread_pool.threads.count", Total},
	}},
	{kind: Executor, roles: []named{ // Puma
		{"puma.pool_capacity", Idle},
		{"puma.max_threads", Max},
		{"puma.backlog", Pending},
	}},
	{kind: Limiter, pool: []string{"name"}, roles: []named{ // Resilience4j
		{"resilience4j.bulkhead.available.concurrent.calls", Idle},
		{"resilience4j.bulkhead.max.allowed.concurrent.calls", Max},
		{"resilience4j.bulkhead.active.thread.count", Used},
		{"resilience4j.bulkhead.max.thread.pool.size", Max},
		{"resilience4j.bulkhead.queue.depth", Pending},
	}},
	{kind: Limiter, pool: []string{"aspnetcore.rate_limiting.policy"}, roles: []named{ // ASP.NET Core
		{"aspnetcore.rate_limiting.active_request_leases", Used},
		{"aspnetcore.rate_limiting.queued_requests", Pending},
		{"aspnetcore.rate_limiting.request.time_in_queue", Wait},
	}},
	{kind: Server, roles: []named{
		{"http.server.active_requests", Used},
		{"http.server.requests.active", Used}, // Micrometer
		{"rpc.server.active_requests", Used},
		{"kestrel.queued_requests", Pending},
		{"kestrel.queued_connections", Pending},
		{"http.server.request.time_in_queue", Wait},
	}},
	{roles: []named{
		{"http.server.request.duration", RequestDuration},
		{"http.server.duration", RequestDuration},
		{"http.server.requests", RequestDuration}, // Micrometer
		{"rpc.server.call.duration", RequestDuration},
		{"rpc.server.request.duration", RequestDuration},
		{"rpc.server.duration", RequestDuration},
		{"grpc.server.call.duration", RequestDuration},
		{"grpc.server.processing.duration", RequestDuration}, // Micrometer
		{"grpc.server.handling", RequestDuration},            // go-grpc-middleware
		{"traces.span.metrics.duration", RequestDuration},    // spanmetrics connector
		{"span.metrics.duration", RequestDuration},
		{"traces.spanmetrics.latency", RequestDuration}, // Tempo's generator
		{"spanmetrics.duration", RequestDuration},
	}},
	{roles: []named{
		{"process.cpu.utilization", CPUShare},
		{"process.cpu.usage", CPUShare},
		{"jvm.cpu.recent_utilization", CPUShare},
		{"process.runtime.jvm.cpu.utilization", CPUShare},
		{"system.cpu.usage", CPUShare},
		{"process.cpu.time", CPUTime},
		{"jvm.cpu.time", CPUTime},
		{"process.cpu", CPUTime}, // process_cpu_seconds_total
		{"container.cpu.time", CPUTime},
		{"container_cpu_cfs_throttled", CPUThrottled}, // cAdvisor
	}},
	{roles: []named{
		{"nodejs.eventloop.delay.p99", EventLoopLag},
		{"nodejs.eventloop.delay.max", EventLoopLag},
		{"nodejs.eventloop.delay.mean", EventLoopLag},
		{"nodejs.eventloop.lag.p99", EventLoopLag}, // prom-client: nodejs_eventloop_lag_p99_seconds
		{"nodejs.eventloop.lag.max", EventLoopLag},
		{"nodejs.eventloop.lag.mean", EventLoopLag},
		{"nodejs.eventloop.lag", EventLoopLag},
		{"event_loop.delay", EventLoopLag},
		{"nodejs.eventloop.utilization", EventLoopShare},
	}},
	{roles: []named{
		{"go.schedule.duration", SchedulerDelay},
		{"process.runtime.go.sched.latency", SchedulerDelay},
		{"go.sched.latencies", SchedulerDelay},
	}},
	{roles: []named{
		{"jvm.gc.duration", GCPause},
		{"process.runtime.jvm.gc.duration", GCPause},
		{"jvm.gc.pause", GCPause}, // Micrometer
		{"process.runtime.go.gc.pause_ns", GCPause},
		{"go.gc.duration", GCPause}, // go_gc_duration_seconds
		{"go.gc.pause.duration", GCPause},
		{"v8js.gc.duration", GCPause},
		{"nodejs.gc.duration", GCPause},
		{"dotnet.gc.pause.time", GCPause},
	}},
}
