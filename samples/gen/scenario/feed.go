package scenario

import (
	"math"
	"time"

	"github.com/tailscope/tailscope/samples/gen/sim"
)

// feed is a reader's page whose services have runtimes of different kinds: api is one event loop an instance, which also
// writes exports that nobody waits for on the page; users collects its garbage; ranker has a small share of a machine.
func feed() *sim.System {
	sys := &sim.System{Name: "feed"}
	service := func(s *sim.Service) *sim.Service {
		s.Instances, s.Unequal, s.Wake, s.ClockSkew = 2, 0.02, wake(), 2*ms
		return sys.Add(s)
	}
	edge := service(&sim.Service{Name: "edge", Version: "1.1.0", Language: "go", Cores: 4})
	api := service(&sim.Service{Name: "api", Version: "3.20.1", Language: "nodejs", Cores: 1, Loop: true, Turn: 80 * time.Microsecond})
	users := service(&sim.Service{Name: "users", Version: "5.0.2", Language: "java", Cores: 4,
		Executor: sim.Executor{Name: "http-nio-8080", Slots: 24, Vendor: "micrometer"}, Spans: sim.Spans{ServerAfterQueue: true},
		Pools:  []*sim.Pool{{Target: "users-db", Size: 12}},
		Pauses: []sim.Pause{{Instance: -1, Every: sim.Exp(2 * time.Second), Length: sim.Uniform{Lo: 2 * ms, Hi: 5 * ms}}}})
	usersDB := sys.Add(&sim.Service{Name: "users-db", Instances: 1, Peer: &sim.Peer{System: "postgresql", Namespace: "users", Port: 5432}, Executor: sim.Executor{Name: "users-db", Slots: 32}})
	ranker := service(&sim.Service{Name: "ranker", Version: "0.8.0", Language: "python", Cores: 2, Turn: 150 * time.Microsecond})
	archive := sys.Add(&sim.Service{Name: "archive", Instances: 1, Peer: &sim.Peer{System: "mongodb", Namespace: "items", Port: 27017}, Executor: sim.Executor{Name: "archive", Slots: 48}})

	call := func(to *sim.Operation) *sim.Call { return &sim.Call{To: to, Leg: lan(), Timeout: 3 * time.Second} }
	cpu := func(median time.Duration) *sim.Work { return &sim.Work{Time: lognormal(median, 0.3), CPU: 1} }
	selectUser := usersDB.Add(&sim.Operation{Name: "SELECT users", Protocol: sim.DB, Plan: []sim.Step{&sim.Work{Time: lognormal(4*ms, 0.4)}}})
	find := archive.Add(&sim.Operation{Name: "find items", Protocol: sim.DB, Plan: []sim.Step{&sim.Work{Time: lognormal(9*ms, 0.4)}}})
	getUser := users.Add(&sim.Operation{Name: "GET /users/{id}", Plan: []sim.Step{
		&sim.Work{Time: lognormal(3*ms, 0.3), CPU: 0.6}, call(selectUser), &sim.Work{Time: lognormal(2*ms, 0.3), CPU: 0.6}}})
	rank := ranker.Add(&sim.Operation{Name: "rank.v1.Ranker/Rank", Protocol: sim.GRPC, Plan: []sim.Step{
		&sim.Work{Time: lognormal(14*ms, 0.35), CPU: 0.7}}})
	read := api.Add(&sim.Operation{Name: "GET /feed/{id}", Plan: []sim.Step{
		cpu(1200 * time.Microsecond), call(getUser), cpu(600 * time.Microsecond),
		&sim.Parallel{Branches: []sim.Step{call(rank), call(find)}}, cpu(1500 * time.Microsecond)}})
	export := api.Add(&sim.Operation{Name: "GET /exports/{id}", Plan: []sim.Step{
		cpu(ms), call(find), cpu(3 * ms)}})
	page := edge.Add(&sim.Operation{Name: "GET /", Plan: []sim.Step{cpu(500 * time.Microsecond), call(read), cpu(500 * time.Microsecond)}})
	download := edge.Add(&sim.Operation{Name: "GET /download", Plan: []sim.Step{cpu(500 * time.Microsecond), call(export)}})
	sys.Workload = sim.Workload{Rate: 70, Wave: 0.1, Tenants: 50, Identities: 1000, Entry: lan(), Classes: []sim.Class{
		{Name: "reader", Share: 97, Op: page, Size: 1, Sigma: 0.2}, {Name: "writer", Share: 3, Op: download, Size: 1, Sigma: 0.2}}}
	return sys
}

// hogs makes the last work of an operation keep its CPU for longer, in a share of its calls.
func hogs(service, op string, p float64, lo, hi time.Duration) change {
	return func(s *sim.System) {
		plan := s.Service(service).Op(op).Plan
		w := plan[len(plan)-1].(*sim.Work)
		w.Time = sim.Mix{P: p, Rare: sim.Uniform{Lo: lo, Hi: hi}, Common: w.Time}
	}
}

// stopped stops an instance for a reason that its runtime does not know, beside what it did.
func stopped(service string, instance int, frozen bool, every, length time.Duration) change {
	return func(s *sim.System) {
		v := s.Service(service)
		v.Pauses = append(v.Pauses[:len(v.Pauses):len(v.Pauses)],
			sim.Pause{Instance: instance, Every: sim.Exp(every), Length: sim.Uniform{Lo: length * 8 / 10, Hi: length * 12 / 10}, Frozen: frozen})
	}
}

func feedScenarios() []*Scenario {
	const read, export, rank, user, find = "GET /feed/{id}", "GET /exports/{id}", "rank.v1.Ranker/Rank", "GET /users/{id}", "find items"
	return built(feed,
		null("feed/null", "the same system on two days"),
		&Scenario{Name: "feed/null-lulls", Verdict: NoChange, About: "as many requests as before, with lulls of a quarter of a second in which none comes",
			currentOnly: func(s *sim.System) {
				s.Workload.Shape = func(x float64) float64 {
					if x*200-math.Floor(x*200) < 0.2 {
						return 0.02
					}
					return 1.2
				}
			}},
		regression("feed/loop-blocked", "pause", Component{Service: "api"}, "exports are written at one go, which keeps api's event loop for 150 ms: pages wait for their turns",
			hogs("api", export, 1, 130*ms, 170*ms)).on(-1),
		regression("feed/loop-own", "service-time", Component{Service: "api", Operation: read}, "one page in twenty keeps api's event loop for 60 ms",
			hogs("api", read, 0.05, 50*ms, 70*ms)),
		regression("feed/loop-busy", "pause", Component{Service: "api"}, "exports are written in twenty parts, each of which keeps api's event loop for 13 ms: it never stops for long",
			func(s *sim.System) {
				s.Service("api").Op(export).Plan = []sim.Step{&sim.Repeat{N: 20, Step: sim.Seq{
					&sim.Work{Time: lognormal(13*ms, 0.2), CPU: 1}, &sim.Work{Time: lognormal(12*ms, 0.3)}}}}
			}).on(-1),
		regression("feed/loop-load", "load", Component{Service: "api"}, "six times the requests: the event loops of api do not suffice", rate(6)).with(all(cores("ranker", 16), cores("users", 16))),
		regression("feed/throttled", "contention", Component{Service: "ranker", Operation: rank}, "ranker's containers may use 45 ms of CPU in 100 ms",
			func(s *sim.System) { s.Service("ranker").Quota = &sim.Quota{CPU: 45 * ms, Period: 100 * ms} }),
		regression("feed/starved", "contention", Component{Service: "ranker", Operation: rank}, "neighbours leave ranker a third of a core", cores("ranker", 0.45)),
		regression("feed/garbage", "pause", Component{Service: "users"}, "an instance of users collects garbage for 250 ms every second and a half", stopped("users", 1, false, 1500*time.Millisecond, 250*ms)).on(1),
		regression("feed/frozen", "pause", Component{Service: "users"}, "an instance of users stands still for 250 ms every second and a half, and not for garbage", stopped("users", 1, true, 1500*time.Millisecond, 250*ms)).on(1),
		regression("feed/server-queue", "server-queue", Component{Service: "users", Operation: user}, "users has one thread where it had 24", slots("users", 1)),
		regression("feed/client-wait", "client-wait", Component{Service: "users", Peer: "users-db", Operation: "SELECT users"}, "users keeps two connections to its database where it had twelve",
			pool("users", "users-db", 2)).with(all(slower("users-db", "SELECT users", 8), func(s *sim.System) { s.Service("users").Spans.ClientAfterPool = true })),
		regression("feed/client-wait-inside", "client-wait", Component{Service: "users", Peer: "users-db", Operation: "SELECT users"}, "the same, with the wait within users' client spans, where only the pool's metrics tell it",
			pool("users", "users-db", 2)).with(slower("users-db", "SELECT users", 8)).metered(),
		regression("feed/service-time-inside", "service-time", Component{Service: "users", Peer: "users-db", Operation: "SELECT users"}, "users' database takes twelve times as long; the connections to it suffice",
			slower("users-db", "SELECT users", 12)).with(pool("users", "users-db", 30)),
		regression("feed/service-time", "service-time", Component{Service: "api", Peer: "archive", Operation: find}, "the archive takes four times as long", slower("archive", find, 4)),
		regression("feed/improvement", "server-queue", Component{Service: "users", Operation: user}, "users gets its threads back", slots("users", 1)).undone(),
	)
}
