package scenario

import (
	"math"
	"time"

	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// mesh is a shop's product page behind sidecars: calls carry an absolute deadline, failed reads are
// tried again within a budget, slow reads of details are hedged, ads are optional with a timeout.
// Callers choose the less loaded of two instances. Threads wake up late.
func mesh() *sim.System {
	sys := &sim.System{Name: "mesh"}
	service := func(s *sim.Service) *sim.Service {
		s.Instances, s.Unequal, s.Wake, s.ClockSkew, s.Cores, s.Balance = 3, 0.04, sim.Uniform{Lo: ms, Hi: 4 * ms}, ms, 2, sim.TwoChoices
		return sys.Add(s)
	}
	edge := service(&sim.Service{Name: "edge", Version: "1.27.3", Language: "go"})
	product := service(&sim.Service{Name: "product", Version: "4.4.0", Language: "java",
		Executor: sim.Executor{Name: "grpc-default-executor", Slots: 24, Vendor: "micrometer"}, Spans: sim.Spans{ServerAfterQueue: true}})
	details := service(&sim.Service{Name: "details", Version: "2.2.0", Language: "dotnet",
		Executor: sim.Executor{Name: "worker", Slots: 8, Vendor: "micrometer"}, Spans: sim.Spans{ServerAfterQueue: true}})
	reviews := service(&sim.Service{Name: "reviews", Version: "3.9.1", Language: "java",
		Executor: sim.Executor{Name: "qtp", Slots: 8, Vendor: "jetty"}, Spans: sim.Spans{ServerAfterQueue: true},
		Pools: []*sim.Pool{{Target: "reviews-db", Size: 8}}})
	reviewsDB := sys.Add(&sim.Service{Name: "reviews-db", Instances: 1, Peer: &sim.Peer{System: "mongodb", Namespace: "reviews", Port: 27017},
		Executor: sim.Executor{Name: "reviews-db", Slots: 32}})
	ratings := service(&sim.Service{Name: "ratings", Version: "1.0.8", Language: "python"})
	ads := service(&sim.Service{Name: "ads", Version: "0.4.0", Language: "nodejs"})
	currency := service(&sim.Service{Name: "currency", Version: "2.0.0", Language: "go"})

	within := func(c sim.Call) *sim.Call {
		c.Leg, c.Deadline, c.Reserve = lan(), true, 10*ms
		return &c
	}
	work := func(median time.Duration, sigma float64) *sim.Work {
		return &sim.Work{Time: lognormal(median, sigma), CPU: 0.5, Size: 0.5}
	}
	rate := ratings.Add(&sim.Operation{Name: "ratings.v1.Ratings/Get", Protocol: sim.GRPC, Cancel: sim.Prompt, RefuseLate: true, FailP: 0.004,
		Plan: []sim.Step{work(8*ms, 0.4)}})
	aggregate := reviewsDB.Add(&sim.Operation{Name: "aggregate reviews", Protocol: sim.DB, Plan: []sim.Step{&sim.Work{Time: lognormal(9*ms, 0.45)}}})
	list := reviews.Add(&sim.Operation{Name: "reviews.v3.Reviews/List", Protocol: sim.GRPC, Cancel: sim.Prompt, RefuseLate: true, Plan: []sim.Step{
		work(4*ms, 0.4),
		within(sim.Call{To: aggregate}),
		within(sim.Call{To: rate, Timeout: 100 * ms, Retry: &sim.Retry{Max: 2, Backoff: 25 * ms, Budget: 0.2}}),
		work(3*ms, 0.4)}})
	describe := details.Add(&sim.Operation{Name: "GET /details/{id}", Cancel: sim.Prompt, RefuseLate: true, Plan: []sim.Step{
		&sim.Work{Time: sim.Mix{P: 0.02, Rare: sim.Uniform{Lo: 50 * ms, Hi: 150 * ms}, Common: lognormal(12*ms, 0.4)}, CPU: 0.4}}})
	banner := ads.Add(&sim.Operation{Name: "GET /ads/{id}", Plan: []sim.Step{work(14*ms, 0.5)}})
	convert := currency.Add(&sim.Operation{Name: "currency.v1.Currency/Convert", Protocol: sim.GRPC, Cancel: sim.Prompt, Plan: []sim.Step{work(3*ms, 0.3)}})
	get := product.Add(&sim.Operation{Name: "product.v4.Products/Get", Protocol: sim.GRPC, Cancel: sim.Prompt, RefuseLate: true, Plan: []sim.Step{
		work(3*ms, 0.3),
		&sim.Parallel{Branches: []sim.Step{
			within(sim.Call{To: describe, Hedge: &sim.Hedge{Delay: 30 * ms, Cap: 0.1}}),
			within(sim.Call{To: list, Timeout: 400 * ms}),
			within(sim.Call{To: banner, Timeout: 150 * ms, Optional: true})}},
		within(sim.Call{To: convert, Timeout: 200 * ms}),
		work(2*ms, 0.3)}})
	page := edge.Add(&sim.Operation{Name: "GET /product/{id}", Cancel: sim.Prompt, Plan: []sim.Step{
		work(ms, 0.3), within(sim.Call{To: get}), work(2*ms, 0.3)}})
	sys.Workload = sim.Workload{Rate: 80, Wave: 0.12, Deadline: time.Second, Tenants: 100, Identities: 2000, Entry: lan(), Classes: []sim.Class{
		{Name: "web", Share: 60, Op: page, Size: 1, Sigma: 0.2}, {Name: "app", Share: 39.5, Op: page, Size: 0.9, Sigma: 0.2},
		{Name: "feed", Share: 0.5, Op: page, Size: 12, Sigma: 0.2}}}
	return sys
}

func sidecars(s *sim.System) {
	for _, v := range s.Services {
		v.Spans.Sidecar = v.Peer == nil
	}
}

func meshScenarios() []*Scenario {
	const rating, list, describe, banner, products, page, convert = "ratings.v1.Ratings/Get", "reviews.v3.Reviews/List", "GET /details/{id}", "GET /ads/{id}", "product.v4.Products/Get", "GET /product/{id}", "currency.v1.Currency/Convert"
	rated := Component{Service: "reviews", Peer: "ratings", Operation: rating}
	reviews := Component{Service: "reviews", Operation: list}
	described := Component{Service: "product", Peer: "details", Operation: describe}
	advertised := Component{Service: "product", Peer: "ads", Operation: banner}
	return built(mesh,
		null("mesh/null", "the same system on two days"),
		null("mesh/null-drift", "the same system on two days; the hosts' clocks run fast or slow, by up to 100 parts per million").with(drifting),
		null("mesh/null-sidecars", "the same system on two days; the sidecars report spans, too").with(sidecars),
		regression("mesh/server-queue-sidecars", "server-queue", reviews, "reviews has one thread where it had eight; the sidecars' spans begin before the queue", slots("reviews", 1)).with(sidecars),
		regression("mesh/retries-sampled", "retries", rated, "ratings fails more often; half of the traces are sampled", fails("ratings", rating, 0.07)).exported(head(0.5)),
		regression("mesh/client-wait", "client-wait", Component{Service: "reviews", Peer: "reviews-db", Operation: "aggregate reviews"},
			"reviews keeps one connection to its database where it had eight; events say how long it waits", pool("reviews", "reviews-db", 1)).with(all(slots("reviews", 24), func(s *sim.System) { s.Service("reviews").Spans.PoolEvents = true }, slower("reviews-db", "aggregate reviews", 1.8))),
		regression("mesh/server-queue", "server-queue", reviews, "reviews has one thread where it had eight", slots("reviews", 1)),
		regression("mesh/service-time", "service-time", Component{Service: "ratings", Operation: rating}, "ratings takes three times as long", slower("ratings", rating, 3)),
		regression("mesh/contention", "contention", Component{Service: "ratings", Operation: rating}, "the containers of ratings get a fifth of a core", cores("ratings", 0.2)),
		regression("mesh/instance", "instance", Component{Service: "reviews"}, "one of reviews' three instances is slow", slow("reviews", 2, 5)).on(2),
		regression("mesh/network", "network", Component{Service: "product", Peer: "reviews", Operation: list}, "reviews is reached across zones",
			farther("product", "reviews", list, 15*ms, 3*ms)),
		regression("mesh/load", "load", reviews, "more than twice the requests; the threads of reviews do not suffice", rate(2.2)).with(slots("reviews", 2)),
		regression("mesh/load-burst", "load", reviews, "as many requests as before, but in bursts; the threads of reviews do not suffice", func(s *sim.System) {
			s.Workload.Shape = func(x float64) float64 { // a quarter of the time 2.8 times the mean, else 0.4 times
				if x*8-math.Floor(x*8) < 0.25 {
					return 2.8
				}
				return 0.4
			}
		}).with(slots("reviews", 2)),
		regression("mesh/mix-shift", "mix-shift", Component{Attribute: "app.tier", Value: "feed"}, "feeds, which ask for much, are an eighth of the requests", share(2, 14)),
		regression("mesh/call-count", "call-count", Component{Service: "product", Peer: "currency", Operation: convert}, "prices are converted one by one",
			replaced("product", products, to("currency"), repeated(9))),
		regression("mesh/serialization", "serialization", Component{Service: "product", Operation: products}, "details, reviews and ads follow one another",
			replaced("product", products, isParallel, serial)),
		regression("mesh/new-hop", "new-hop", Component{Service: "product", Peer: "authz", Operation: "authz.v1.Authz/Check"}, "a check of the caller's rights before the branches",
			hop("product", products, isParallel, "authz", "go", "authz.v1.Authz/Check", sim.GRPC, 25*ms)),
		regression("mesh/retries", "retries", rated, "ratings fails more often, and is asked again within the budget", fails("ratings", rating, 0.07)),
		regression("mesh/timeout-plateau", "timeout-plateau", advertised, "ads hangs now and then, until the caller's 150 ms are over", stalls("ads", banner, 0.03, 1500*ms, 2500*ms)),
		regression("mesh/late-work", "late-work", rated, "ratings no longer stops when its caller has left; the threads that hang are missing",
			all(cancel("ratings", rating, sim.Ignore))).
			with(all(slots("ratings", 2), stalls("ratings", rating, 0.011, 2000*ms, 3000*ms),
				func(s *sim.System) { s.Service("ratings").Balance = sim.Random })),
		regression("mesh/optional-branch", "optional-branch", advertised, "ads, optional but waited for, is slow", slower("ads", banner, 4)),
		regression("mesh/hedging", "hedging", described, "details is hedged early, without a cap, and the loser goes on",
			each("product", "details", describe, func(c *sim.Call) { c.Hedge = &sim.Hedge{Delay: 6 * ms, Keep: true} })).
			with(slots("details", 1)),
		regression("mesh/pause", "pause", Component{Service: "product"}, "an instance of product stops for 200 ms every three seconds", pauses("product", 0, 3*time.Second, 200*ms)).on(0),
		regression("mesh/improvement", "timeout-plateau", advertised, "ads hangs no longer", stalls("ads", banner, 0.03, 1500*ms, 2500*ms)).undone(),
		regression("mesh/chain-callee", "service-time", Component{Service: "ratings", Operation: rating}, "ratings is slow, so that the threads of reviews no longer suffice",
			slower("ratings", rating, 3)).with(slots("reviews", 2)),
		regression("mesh/chain-network", "network", rated, "ratings is reached across regions, so that the threads of reviews no longer suffice",
			farther("reviews", "ratings", rating, 14*ms, 2*ms)).with(slots("reviews", 2)),
		regression("mesh/decoy-unequal", "service-time", Component{Service: "currency", Operation: convert}, "currency is slow; one of the instances of reviews is, and always was",
			slower("currency", convert, 8)).with(slow("reviews", 0, 2)),
		&Scenario{Name: "mesh/two-causes", Verdict: Regression, About: "reviews is reached across zones, and prices are converted one by one", Causes: []Cause{
			{Kind: "network", Component: Component{Service: "product", Peer: "reviews", Operation: list}, Apply: farther("product", "reviews", list, 15*ms, 3*ms)},
			{Kind: "call-count", Component: Component{Service: "product", Peer: "currency", Operation: convert}, Apply: replaced("product", products, to("currency"), repeated(9))}}},
		artefact("mesh/measurement-warm-up", "warm-up", "the current run begins with cold instances of reviews", func(s *sim.System) {
			s.Service("reviews").Warm = &sim.Warming{Until: 0.12, Factor: 5}
		}, nil),
		artefact("mesh/measurement-population", "population", "a third of the current requests are a prober's, which ask for little", func(s *sim.System) {
			c := s.Workload.Classes[0]
			s.Workload.Classes = append(s.Workload.Classes, sim.Class{Name: "probe", Share: 50, Op: c.Op, Size: 0.1, Sigma: 0.05, Synthetic: true})
		}, nil),
		artefact("mesh/measurement-lost", "instrumentation", "a sixth of the batches of spans is lost on the way", nil, func(o *export.Options) { o.LoseBatches = 0.16 }),
	)
}
