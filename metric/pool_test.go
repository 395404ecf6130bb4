package metric

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/config"
)

func onePool(t *testing.T, text string, w Window) PoolView {
	t.Helper()
	pools := fold(t, text).Pools(w, nil)
	if len(pools) != 1 {
		t.Fatalf("%d pools, want 1: %+v", len(pools), pools)
	}
	return pools[0]
}

// A full pool and an idle one under the same wait before a query. Only the
// first is a pool's fault.
func TestFullAndIdlePool(t *testing.T) {
	full := onePool(t, `
		db.client.connection.count sum± t=20 v=10 unit={connection} db.client.connection.state=used db.client.connection.pool.name=main
		db.client.connection.count sum± t=20 v=0 unit={connection} db.client.connection.state=idle db.client.connection.pool.name=main
		db.client.connection.max sum± t=20 v=10 unit={connection} db.client.connection.pool.name=main
		db.client.connection.pending_requests sum± t=20 v=12 unit={request} db.client.connection.pool.name=main
		db.client.connection.wait_time dhist s=1 t=20 n=20 sum=8.2 b=0.25,0.5,1 c=0,20,0,0 unit=s db.client.connection.pool.name=main`, Window{})
	if full.Name != "main" || full.Kind != ConnectionPool || full.Service != "shop" {
		t.Errorf("pool %q of %q, a %s", full.Name, full.Service, full.Kind)
	}
	// 10 of 10 in the one second that was seen; 8.2 s over 20 waits is 410 ms.
	if full.Occupancy != (Levels{1, 1, 1, 1, 1, 1}) || full.Pending.Max != 12 || full.Limit.P50 != 10 {
		t.Errorf("occupancy %+v pending %+v limit %+v", full.Occupancy, full.Pending, full.Limit)
	}
	if !equal(full.Wait.MeanMS, 410) || full.Wait.Count != 20 || !full.Exhausted() {
		t.Errorf("wait %+v, exhausted %v", full.Wait, full.Exhausted())
	}
	if lo, hi := full.Wait.Values.Quantile(0.99); lo != 250 || hi != 500 {
		t.Errorf("p99 of the wait in [%v, %v] ms", lo, hi)
	}

	idle := onePool(t, `
		db.client.connection.count sum± t=20 v=2 db.client.connection.state=used db.client.connection.pool.name=main
		db.client.connection.count sum± t=20 v=8 db.client.connection.state=idle db.client.connection.pool.name=main
		db.client.connection.max sum± t=20 v=10 db.client.connection.pool.name=main
		db.client.connection.pending_requests sum± t=20 v=0 db.client.connection.pool.name=main
		db.client.connection.wait_time dhist s=1 t=20 n=20 sum=0.004 b=0.25,0.5,1 c=20,0,0,0 unit=s db.client.connection.pool.name=main`, Window{})
	if !equal(idle.Occupancy.Max, 0.2) || idle.Exhausted() || !equal(idle.Wait.MeanMS, 0.2) {
		t.Errorf("occupancy %+v exhausted %v wait %v", idle.Occupancy, idle.Exhausted(), idle.Wait.MeanMS)
	}
}

// 20 waits of 410 ms in 20 s: 0.41 of them at a time. 10 holds of 8 s in the same
// time: 4 connections in use.
func TestLittle(t *testing.T) {
	p := onePool(t, `
		hikaricp.connections.acquire hist s=10 t=20 n=9 sum=3690 unit=ms pool=p
		hikaricp.connections.acquire hist s=10 t=30 n=20 sum=8200 unit=ms pool=p
		hikaricp.connections.usage dhist s=10 t=20 n=6 sum=48 unit=s pool=p
		hikaricp.connections.usage dhist s=20 t=30 n=4 sum=32 unit=s pool=p`, Window{})
	if !equal(p.Wait.InFlight(), 0.41) || !equal(p.Use.InFlight(), 4) {
		t.Errorf("%v waiting, %v in use", p.Wait.InFlight(), p.Use.InFlight())
	}
	p = onePool(t, `hikaricp.connections.acquire hist t=30 n=20 sum=8200 unit=ms pool=p`, Window{})
	if !math.IsNaN(p.Wait.InFlight()) {
		t.Errorf("%v waiting since nobody knows when", p.Wait.InFlight())
	}
}

// The wait of one pool under the old name in ms and the new one in s, with the
// same content: 100 waits of 360 ms in the mean, not 200, not 0.36 ms.
func TestOldAndNewNameCountOnce(t *testing.T) {
	old := "db.client.connections.wait_time dhist s=1 t=60 n=100 sum=36000 b=10,100,1000 c=0,10,90,0 unit=ms pool.name=main"
	recent := "db.client.connection.wait_time dhist s=1 t=60 n=100 sum=36 b=0.01,0.1,1 c=0,10,90,0 unit=s db.client.connection.pool.name=main"
	for _, text := range []string{old, recent, old + "\n" + recent} {
		p := onePool(t, text, Window{})
		lo, hi := p.Wait.Values.Quantile(0.5)
		if p.Wait.Count != 100 || !equal(p.Wait.MeanMS, 360) || !equal(lo, 100) || !equal(hi, 1000) {
			t.Errorf("%d waits of %v ms, median in [%v, %v] ms", p.Wait.Count, p.Wait.MeanMS, lo, hi)
		}
		if len(p.Sources) != 1 {
			t.Errorf("from %v", p.Sources)
		}
	}
}

// Occupancy per second: five seconds at 2 of 10, five at 10 of 10. The mean
// would say 60 % and hide that it was full half of the time.
func TestOccupancyBySecond(t *testing.T) {
	var b strings.Builder
	for i := range 10 {
		v := " v=2"
		if i >= 5 {
			v = " v=10"
		}
		b.WriteString("hikaricp.connections.active gauge pool=p t=10" + string(rune('0'+i)) + v + "\n")
	}
	b.WriteString("hikaricp.connections.max gauge pool=p t=100 v=10")
	p := onePool(t, b.String(), Window{})
	if p.Occupancy.Seconds != 10 || !equal(p.Occupancy.Mean, 0.6) || p.Occupancy.P50 != 0.2 || p.Occupancy.P99 != 1 || p.Occupancy.Max != 1 {
		t.Errorf("%+v", p.Occupancy)
	}
	if p := onePool(t, b.String(), Window{100 * second, 104 * second}); p.Occupancy.Seconds != 5 || p.Occupancy.Max != 0.2 {
		t.Errorf("the first five seconds: %+v", p.Occupancy)
	}
}

// Requests of two seconds, and an export some seconds later: it stands for them.
// One that comes after ten minutes does not.
func TestWindowShorterThanTheExportInterval(t *testing.T) {
	text := `
		hikaricp.connections.active gauge t=20 v=10 pool=p
		hikaricp.connections.max gauge t=20 v=10 pool=p`
	if p := onePool(t, text, Window{15 * second, 17 * second}); p.Occupancy.Seconds != 1 || p.Occupancy.Max != 1 {
		t.Errorf("occupancy %+v", p.Occupancy)
	}
	far := strings.ReplaceAll(text, "t=20", "t=620")
	if p := onePool(t, far, Window{15 * second, 17 * second}); p.Occupancy.Seconds != 0 {
		t.Errorf("occupancy %+v", p.Occupancy)
	}
}

// The highest of several values in a second stands for it; a value holds until
// the next, but not through a silence much longer than the usual step.
func TestSteps(t *testing.T) {
	s := fold(t, `
		depth gauge t=10.1 v=1
		depth gauge t=10.7 v=9
		depth gauge t=10.9 v=2
		depth gauge t=20 v=3
		depth gauge t=30 v=4
		depth gauge t=90 v=5
		depth gauge t=95 nov`).Series()[0]
	// Steps of 10, 10, 60 and 5 s: the usual one is 10, so a value holds 15 s.
	want := []step{{10, 20, 9}, {20, 30, 3}, {30, 45, 4}, {90, 95, 5}}
	if got := s.steps(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPools(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		why                               string
		points                            string
		kind                              Kind
		name                              string
		occupancy, limit, wait, waitCount float64
	}{
		{"Go's counters: 5 s of waiting over 10 waits since the start; 0 connections at most is no limit", `
			go.sql.connections_wait_duration sum+ s=1 t=20 v=5000 unit=ms db.name=orders
			go.sql.connections_wait_count sum+ s=1 t=20 v=10 db.name=orders
			go.sql.connections_max_open gauge t=20 v=0 db.name=orders
			go.sql.connections_in_use gauge t=20 v=3 db.name=orders`, ConnectionPool, "orders", nan, nan, 500, 10},
		{"the same, as Prometheus writes them", `
			go_sql_wait_duration_seconds_total sum+ s=1 t=20 v=5.0 db_name=orders
			go_sql_wait_count_total sum+ s=1 t=20 v=10 db_name=orders
			go_sql_max_open_connections gauge t=20 v=4 db_name=orders
			go_sql_in_use_connections gauge t=20 v=3 db_name=orders`, ConnectionPool, "orders", 0.75, 4, 500, 10},
		{"used is what is not idle", `
			hikaricp.connections gauge t=20 v=10 pool=p
			hikaricp.connections.idle gauge t=20 v=4 pool=p
			hikaricp.connections.max gauge t=20 v=12 pool=p
			hikaricp.connections.acquire dhist s=1 t=20 n=2 sum=30 unit=ms pool=p`, ConnectionPool, "p", 0.5, 12, 15, 2},
		{"an executor; its idle timer is the time from submission to start", `
			executor.active gauge t=20 v=8 name=io
			executor.pool.max gauge t=20 v=8 name=io
			executor.idle dhist s=1 t=20 n=4 sum=100 unit=ms name=io`, Executor, "io", 1, 8, 25, 4},
		{"a bulkhead says what is left", `
			resilience4j.bulkhead.available.concurrent.calls gauge t=20 v=1 name=quote
			resilience4j.bulkhead.max.allowed.concurrent.calls gauge t=20 v=4 name=quote`, Limiter, "quote", 0.75, 4, nan, 0},
		{"a wait without a unit is no wait", `
			hikaricp.connections.active gauge t=20 v=8 pool=p
			hikaricp.connections.acquire dhist s=1 t=20 n=2 sum=30 pool=p`, ConnectionPool, "p", nan, nan, nan, 0},
		{"connections of one host over two ports are two series of a pool", `
			http.client.open_connections sum± t=20 v=3 http.connection.state=active server.address=pay server.port=1
			http.client.open_connections sum± t=20 v=4 http.connection.state=active server.address=pay server.port=2
			http.client.request.time_in_queue dhist s=1 t=20 n=2 sum=0.2 unit=s server.address=pay`, ConnectionPool, "pay", nan, nan, 100, 2},
	} {
		p := onePool(t, c.points, Window{})
		if p.Kind != c.kind || p.Name != c.name || !equal(p.Occupancy.Max, c.occupancy) || !equal(p.Limit.P50, c.limit) ||
			!equal(p.Wait.MeanMS, c.wait) || float64(p.Wait.Count) != c.waitCount {
			t.Errorf("%s:\n%s %q occupancy %v limit %v wait %v ms of %d", c.why, p.Kind, p.Name, p.Occupancy.Max, p.Limit.P50, p.Wait.MeanMS, p.Wait.Count)
		}
	}
}

func TestLimitThatWasChanged(t *testing.T) {
	p := onePool(t, `
		hikaricp.connections.active gauge t=10 v=20 pool=p
		hikaricp.connections.active gauge t=20 v=20 pool=p
		hikaricp.connections.active gauge t=30 v=10 pool=p
		hikaricp.connections.max gauge t=10 v=20 pool=p
		hikaricp.connections.max gauge t=20 v=20 pool=p
		hikaricp.connections.max gauge t=30 v=10 pool=p`, Window{})
	if p.Limit.Min != 10 || p.Limit.Max != 20 || p.Occupancy.P50 != 1 || p.Occupancy.Max != 1 {
		t.Errorf("limit %+v occupancy %+v", p.Limit, p.Occupancy)
	}
}

// A team's own names, with their own unit and attribute.
func TestOwnNames(t *testing.T) {
	own := NewNames([]config.Metric{
		{Name: "acme.slots.*.busy", Role: "used", Kind: "executor", PoolAttribute: "slot"},
		{Name: "acme.slots.*.size", Role: "max", Kind: "executor", PoolAttribute: "slot"},
		{Name: "acme.queue", Role: "wait", Kind: "executor", Pool: "endpoint", Unit: "us"},
	})
	f := fold(t, `
		acme.slots.home.busy gauge t=20 v=602 slot=endpoint
		acme.slots.home.size gauge t=20 v=640 slot=endpoint
		acme.queue dhist s=1 t=20 n=2 sum=3000`)
	if pools := f.Pools(Window{}, nil); len(pools) != 0 {
		t.Errorf("known without being told: %+v", pools)
	}
	pools := f.Pools(Window{}, own)
	if len(pools) != 1 {
		t.Fatalf("%d pools", len(pools))
	}
	// 602 of 640 slots; 3,000 µs over 2 waits.
	if p := pools[0]; p.Name != "endpoint" || !equal(p.Occupancy.Max, 0.940625) || !equal(p.Wait.MeanMS, 1.5) {
		t.Errorf("%+v", p)
	}
}

// One entry that fits two metrics of a pool: they are its parts. Two entries for
// one role: the first.
func TestOwnNamesThatMeet(t *testing.T) {
	f := fold(t, `
		acme.read.busy gauge t=20 v=3
		acme.write.busy gauge t=20 v=4
		acme.all gauge t=20 v=9`)
	own := []config.Metric{{Name: "acme.*.busy", Role: "used", Pool: "p"}, {Name: "acme.all", Role: "used", Pool: "p"}}
	if p := f.Pools(Window{}, NewNames(own)); len(p) != 1 || p[0].Used.Max != 7 {
		t.Errorf("%+v", p)
	}
	own[0], own[1] = own[1], own[0]
	if p := f.Pools(Window{}, NewNames(own)); len(p) != 1 || p[0].Used.Max != 9 {
		t.Errorf("%+v", p)
	}
}

// Names that look alike and mean something else.
func TestLookAlikes(t *testing.T) {
	for _, name := range []string{
		"db.client.operation.duration", "db.client.connection.idle.max", "db.client.connection.create_time", "hikaricp.connections.creation",
		"executor.completed", "http.client.request.duration", "rpc.client.duration", "http.server.request.body.size", "connections.active", "wait_time",
		"jvm.gc.live.data.size",
	} {
		if m, ok := (*Names)(nil).Meaning(&Key{Name: name}); ok {
			t.Errorf("%s is taken for %s", name, m.Role)
		}
	}
}

// A configuration names roles and kinds by the words that this package has.
func TestWordsOfTheConfiguration(t *testing.T) {
	if len(config.Roles) != int(GCPause) {
		t.Errorf("%d words for %d roles", len(config.Roles), GCPause)
	}
	for r, word := range map[Role]string{Used: "used", ByState: "by-state", Wait: "wait", RequestDuration: "request-duration", GCPause: "gc-pause"} {
		if r.String() != word {
			t.Errorf("role %d is %s, want %s", r, r, word)
		}
	}
	for _, k := range []Kind{ConnectionPool, Executor, Limiter, Server} {
		if !slices.Contains(config.Kinds, string(k)) {
			t.Errorf("%s cannot be configured", k)
		}
	}
}
