package scenario

import (
	"time"

	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

const ms = time.Millisecond

// lan is a leg inside one data centre.
func lan() sim.Leg {
	return sim.Leg{Base: 250 * time.Microsecond, Jitter: sim.Exp(150 * time.Microsecond)}
}

// wake is the delay of a thread that was handed a slot.
func wake() sim.Dist { return sim.Uniform{Lo: 50 * time.Microsecond, Hi: 600 * time.Microsecond} }

func lognormal(median time.Duration, sigma float64) sim.Dist {
	return sim.LogNormal{Median: median, Sigma: sigma}
}

// Mercury is the API of a home page: GET /v2/home validates, reads the profile, then the entitlements,
// asks five services at once, two of them optional but waited for, and assembles the page. It is scaled
// to 50 requests/s and two instances a service; limits are scaled with the rate.
func mercury() *sim.System {
	sys := &sim.System{Name: "mercury"}
	service := func(s *sim.Service) *sim.Service {
		s.Instances, s.Unequal, s.Wake, s.ClockSkew = 2, 0.03, wake(), 2*ms
		return sys.Add(s)
	}
	peer := func(name string, p sim.Peer, slots int) *sim.Service {
		return sys.Add(&sim.Service{Name: name, Instances: 1, Peer: &p, Executor: sim.Executor{Name: name, Slots: slots}})
	}
	ingress := service(&sim.Service{Name: "ingress", Version: "4.18.2", Language: "java", Cores: 4,
		Executor: sim.Executor{Name: "http-nio-8080", Slots: 20, Vendor: "micrometer"},
		Spans:    sim.Spans{ServerAfterQueue: true},
		Pools: []*sim.Pool{{Target: "profile", Size: 6, Kind: sim.HTTPPool}, {Target: "pricing", Size: 6, Kind: sim.HTTPPool},
			{Target: "recommendation", Size: 12, Kind: sim.HTTPPool}, {Target: "reputation", Size: 12, Kind: sim.HTTPPool}}})
	profile := service(&sim.Service{Name: "profile", Version: "2.41.0", Language: "java", Cores: 2,
		Executor: sim.Executor{Name: "qtp", Slots: 12, Vendor: "jetty"}, Spans: sim.Spans{ServerAfterQueue: true},
		Pools: []*sim.Pool{{Target: "profile-db", Size: 8}}})
	profileDB := peer("profile-db", sim.Peer{System: "postgresql", Namespace: "profiles", Port: 5432}, 32)
	entitlement := service(&sim.Service{Name: "entitlement", Version: "1.9.3", Language: "go", Cores: 2})
	inventory := service(&sim.Service{Name: "inventory", Version: "3.3.1", Language: "go", Cores: 2})
	cache := peer("inventory-cache", sim.Peer{System: "redis", Namespace: "0", Port: 6379}, 64)
	pricing := service(&sim.Service{Name: "pricing", Version: "7.2.0", Language: "java", Cores: 4,
		Executor: sim.Executor{Name: "pricing-worker", Slots: 16, Vendor: "micrometer"}, Spans: sim.Spans{ServerAfterQueue: true}})
	recommendation := service(&sim.Service{Name: "recommendation", Version: "12.0.4", Language: "nodejs", Cores: 4})
	reputation := service(&sim.Service{Name: "reputation", Version: "0.31.0", Language: "dotnet", Cores: 2})
	experiment := service(&sim.Service{Name: "experiment", Version: "5.5.0", Language: "go", Cores: 2})

	selectProfile := profileDB.Add(&sim.Operation{Name: "SELECT profiles", Protocol: sim.DB, Plan: []sim.Step{
		&sim.Work{Time: lognormal(5*ms, 0.5)}}})
	getProfile := profile.Add(&sim.Operation{Name: "GET /v1/profiles/{id}", Cancel: sim.BetweenSteps, Plan: []sim.Step{
		&sim.Work{Time: lognormal(5*ms, 0.35), CPU: 0.8},
		&sim.When{P: 0.4, Then: &sim.Call{To: selectProfile, Leg: lan()}},
		&sim.Work{Time: lognormal(3*ms, 0.35), CPU: 0.8}}})
	check := entitlement.Add(&sim.Operation{Name: "entitlement.v1.Entitlements/Check", Protocol: sim.GRPC, Cancel: sim.Prompt, Plan: []sim.Step{
		&sim.Work{Time: lognormal(9*ms, 0.4), CPU: 0.5}}})
	cacheGet := cache.Add(&sim.Operation{Name: "GET", Protocol: sim.DB, Plan: []sim.Step{&sim.Work{Time: lognormal(ms*6/10, 0.4)}}})
	stock := inventory.Add(&sim.Operation{Name: "inventory.v3.Stock/List", Protocol: sim.GRPC, Cancel: sim.Prompt, Plan: []sim.Step{
		&sim.Call{To: cacheGet, Leg: lan()},
		&sim.When{P: 0.15, Then: &sim.Work{Time: lognormal(22*ms, 0.4), Size: 1}, Else: &sim.Work{Time: lognormal(7*ms, 0.4), CPU: 0.6, Size: 1}}}})
	quote := pricing.Add(&sim.Operation{Name: "POST /v1/quotes", Cancel: sim.Ignore, Plan: []sim.Step{
		&sim.Work{Time: lognormal(28*ms, 0.45), CPU: 0.4, Size: 0.5}}})
	recommend := recommendation.Add(&sim.Operation{Name: "GET /v1/recommendations/{id}", Cancel: sim.Ignore, Plan: []sim.Step{
		&sim.Work{Time: sim.Mix{P: 0.004, Rare: sim.Uniform{Lo: 250 * ms, Hi: 600 * ms}, Common: lognormal(26*ms, 0.5)}, CPU: 0.2, Size: 0.5}}})
	score := reputation.Add(&sim.Operation{Name: "GET /v1/scores/{id}", Cancel: sim.Ignore, Plan: []sim.Step{
		&sim.Work{Time: lognormal(20*ms, 0.5), CPU: 0.3, Size: 0.3}}})
	assign := experiment.Add(&sim.Operation{Name: "experiment.v1.Assignments/Get", Protocol: sim.GRPC, Cancel: sim.Prompt, Plan: []sim.Step{
		&sim.Work{Time: lognormal(5*ms, 0.4), CPU: 0.5}}})
	expose := experiment.Add(&sim.Operation{Name: "experiment.v1.Exposures/Record", Protocol: sim.GRPC, Writes: true, Plan: []sim.Step{
		&sim.Work{Time: lognormal(15*ms, 0.5), CPU: 0.2}}})

	home := ingress.Add(&sim.Operation{Name: "GET /v2/home", Cancel: sim.Prompt, Plan: []sim.Step{
		&sim.Work{Time: lognormal(2*ms, 0.3), CPU: 1},
		&sim.Call{To: getProfile, Leg: lan(), Timeout: 500 * ms},
		&sim.Call{To: check, Leg: lan(), Timeout: 400 * ms},
		&sim.Parallel{Branches: []sim.Step{
			&sim.Call{To: stock, Leg: lan(), Timeout: 500 * ms, BytesSize: 0.5},
			&sim.Repeat{N: 1, ByClass: map[string]int{"premium": 2, "enterprise": 6}, Parallel: true,
				Step: &sim.Call{To: quote, Leg: lan(), Timeout: 2 * time.Second}},
			&sim.Call{To: recommend, Leg: lan(), Timeout: 400 * ms, Optional: true},
			&sim.Call{To: score, Leg: lan(), Timeout: 400 * ms, Optional: true},
			sim.Seq{&sim.Call{To: assign, Leg: lan(), Timeout: 500 * ms},
				&sim.Async{Step: &sim.Call{To: expose, Leg: lan(), Timeout: 2 * time.Second}}},
		}},
		&sim.Work{Time: lognormal(4*ms, 0.35), CPU: 1, Size: 0.5}}})
	sys.Workload = sim.Workload{Rate: 50, Wave: 0.1, SlowRequests: 0.003, SlowFactor: 2, Tenants: 200, Identities: 5000, Entry: lan(),
		Classes: []sim.Class{{Name: "standard", Share: 72, Op: home, Size: 1, Sigma: 0.2}, {Name: "premium", Share: 23, Op: home, Size: 1.2, Sigma: 0.2},
			{Name: "enterprise", Share: 5, Op: home, Size: 1.5, Sigma: 0.3}}}
	return sys
}

func mercuryScenarios() []*Scenario {
	const quotes, home, recommendations, check, profiles = "POST /v1/quotes", "GET /v2/home", "GET /v1/recommendations/{id}", "entitlement.v1.Entitlements/Check", "GET /v1/profiles/{id}"
	pricing := Component{Service: "ingress", Peer: "pricing", Operation: quotes}
	own := Component{Service: "pricing", Operation: quotes}
	recommended := Component{Service: "ingress", Peer: "recommendation", Operation: recommendations}
	fewer := pool("ingress", "pricing", 2)
	return built(mercury,
		null("mercury/null", "the same system on two days"),
		null("mercury/null-sampled", "the same system on two days, 10 % head sampled").exported(head(0.1)),
		null("mercury/null-lossy", "the same system on two days; 1 % of the spans and of the SDKs' batches are lost").exported(func(o *export.Options) {
			o.LoseSpans, o.LoseBatches = 0.01, 0.01
		}),
		&Scenario{Name: "mercury/null-async", Verdict: NoChange, About: "the record of exposures, for which nobody waits, takes ten times as long",
			currentOnly: slower("experiment", "experiment.v1.Exposures/Record", 10)},
		&Scenario{Name: "mercury/null-busier", Verdict: NoChange, About: "a fifth more load, which no queue notices",
			currentOnly: rate(1.2)},
		regression("mercury/client-wait", "client-wait", pricing,
			"the ingress keeps fewer connections to pricing: calls wait for one, pricing is as fast as before", fewer),
		regression("mercury/client-wait-sampled", "client-wait", pricing, "fewer connections to pricing, 20 % head sampled", fewer).exported(head(0.2)),
		regression("mercury/server-queue", "server-queue", own, "pricing has two worker threads where it had 16", slots("pricing", 2)),
		regression("mercury/service-time", "service-time", own, "pricing takes nearly twice as long for a quote", slower("pricing", quotes, 1.9)),
		regression("mercury/service-time-pool", "service-time", own, "pricing takes longer, so that its callers' connections no longer suffice: the wait is a consequence",
			slower("pricing", quotes, 1.6)).with(pool("ingress", "pricing", 4)),
		regression("mercury/service-time-class", "service-time", own, "quotes for enterprise customers take four times as long", func(s *sim.System) {
			op := s.Service("pricing").Op(quotes)
			op.Plan = append(op.Plan, &sim.When{Classes: []string{"enterprise"}, Then: &sim.Work{Time: lognormal(90*ms, 0.3), CPU: 0.2}})
		}),
		regression("mercury/load-pool", "load", Component{Service: "ingress"}, "nearly twice the requests; the ingress' connections to pricing do not suffice", rate(1.9)).
			with(pool("ingress", "pricing", 4)),
		regression("mercury/contention", "contention", own, "pricing's containers get less than a core", cores("pricing", 0.6)),
		regression("mercury/instance", "instance", Component{Service: "pricing"}, "one of pricing's two instances is slow", slow("pricing", 1, 3)).on(1),
		regression("mercury/placement", "instance", Component{Service: "pricing"}, "nine in ten calls of pricing go to one instance, whose threads do not suffice",
			func(s *sim.System) { s.Service("pricing").Placement = []float64{0.92, 0.08} }).with(slots("pricing", 3)).on(0),
		regression("mercury/network", "network", Component{Service: "ingress", Peer: "entitlement", Operation: check},
			"entitlement is reached across regions", farther("ingress", "entitlement", check, 18*ms, 3*ms)),
		regression("mercury/load", "load", own, "nearly twice the requests; pricing's threads do not suffice", rate(1.9)).with(slots("pricing", 4)),
		regression("mercury/mix-shift", "mix-shift", Component{Attribute: "app.tier", Value: "enterprise"},
			"enterprise customers, who need six quotes a page, are a quarter of the requests", share(2, 26)).with(pool("ingress", "pricing", 5)),
		regression("mercury/fan-out", "fan-out", pricing, "a page of a standard customer asks for eight quotes at once",
			replaced("ingress", home, isParallel, func(st sim.Step) sim.Step {
				b := st.(*sim.Parallel).Branches
				for _, x := range b {
					if r, ok := x.(*sim.Repeat); ok {
						r.N, r.ByClass = 8, map[string]int{"premium": 9, "enterprise": 12}
					}
				}
				return st
			})).with(pool("ingress", "pricing", 100)),
		regression("mercury/call-count", "call-count", Component{Service: "ingress", Peer: "entitlement", Operation: check},
			"entitlements are checked one by one", replaced("ingress", home, to("entitlement"), repeated(6))),
		regression("mercury/serialization", "serialization", Component{Service: "ingress", Operation: home},
			"the five branches follow one another", replaced("ingress", home, isParallel, serial)),
		regression("mercury/new-hop", "new-hop", Component{Service: "ingress", Peer: "consent", Operation: "consent.v1.Consents/Get"},
			"consent is asked for before the entitlements", hop("ingress", home, to("entitlement"), "consent", "go", "consent.v1.Consents/Get", sim.GRPC, 35*ms)),
		regression("mercury/retries", "retries", pricing, "pricing fails more often, and is asked again after a backoff", fails("pricing", quotes, 0.06)).
			with(each("ingress", "pricing", quotes, func(c *sim.Call) { c.Retry = &sim.Retry{Max: 3, Backoff: 60 * ms} })),
		regression("mercury/timeout-plateau", "timeout-plateau", recommended, "recommendation hangs now and then, until the caller's 400 ms are over",
			stalls("recommendation", recommendations, 0.03, 1500*ms, 2500*ms)),
		regression("mercury/timeout-plateau-abandoned", "timeout-plateau", recommended,
			"recommendation hangs now and then; the page goes on without it after 250 ms, but the calls last until their answers",
			stalls("recommendation", recommendations, 0.03, 500*ms, 900*ms)).
			with(each("ingress", "recommendation", recommendations, func(c *sim.Call) { c.Timeout, c.Abandon = 2*time.Second, 250*ms })),
		regression("mercury/late-work", "late-work", recommended, "recommendation no longer stops when its caller has left; the threads that hang are missing",
			cancel("recommendation", recommendations, sim.Ignore)).
			with(all(cancel("recommendation", recommendations, sim.Prompt), slots("recommendation", 3),
				stalls("recommendation", recommendations, 0.005, 4000*ms, 6000*ms),
				each("ingress", "recommendation", recommendations, func(c *sim.Call) { c.Timeout = 300 * ms }))),
		regression("mercury/optional-branch", "optional-branch", recommended, "recommendation, optional but waited for, is slow",
			slower("recommendation", recommendations, 3.5)),
		regression("mercury/pause", "pause", Component{Service: "profile"}, "an instance of profile stops for 250 ms every three seconds",
			pauses("profile", 0, 3*time.Second, 250*ms)).on(0),
		regression("mercury/improvement", "client-wait", pricing, "the ingress gets its connections to pricing back", fewer).undone(),
		regression("mercury/improvement-coalescing", "client-wait", Component{Service: "ingress", Peer: "profile", Operation: "GET /v1/profiles/{id}"},
			"concurrent reads of one profile share a call, so that the pool suffices",
			each("ingress", "profile", "GET /v1/profiles/{id}", func(c *sim.Call) { c.Coalesce = false })).
			with(all(each("ingress", "profile", "GET /v1/profiles/{id}", func(c *sim.Call) { c.Coalesce = true }),
				pool("ingress", "profile", 1), slower("profile", "GET /v1/profiles/{id}", 2.6),
				func(s *sim.System) { s.Workload.Identities = 6 })).undone(),
		&Scenario{Name: "mercury/drill", Verdict: Regression, About: "fewer connections to pricing, and more enterprise customers",
			Causes: []Cause{{Kind: "client-wait", Component: pricing, Apply: pool("ingress", "pricing", 3)},
				{Kind: "mix-shift", Component: Component{Attribute: "app.tier", Value: "enterprise"}, Apply: share(2, 10)}}},
		&Scenario{Name: "mercury/mixture-load", Verdict: Regression, About: "more requests, and pricing takes longer for a quote: the ingress' connections to it do not suffice",
			Both: pool("ingress", "pricing", 4),
			Causes: []Cause{{Kind: "load", Component: Component{Service: "ingress"}, Apply: rate(1.5)},
				{Kind: "service-time", Component: own, Apply: slower("pricing", quotes, 1.3)}}},
		&Scenario{Name: "mercury/mixture-pool", Verdict: Regression, About: "fewer connections to pricing, which takes longer for a quote", Causes: []Cause{
			{Kind: "client-wait", Component: pricing, Apply: pool("ingress", "pricing", 3)},
			{Kind: "service-time", Component: own, Apply: slower("pricing", quotes, 1.3)}}},
		regression("mercury/decoy-off-path", "service-time", Component{Service: "entitlement", Operation: check},
			"entitlement is slow; experiment's p99 is nine times what it was, beside slower branches", slower("entitlement", check, 3)).
			beside(stalls("experiment", "experiment.v1.Assignments/Get", 0.03, 40*ms, 60*ms)),
		regression("mercury/decoy-unequal", "service-time", Component{Service: "profile", Operation: profiles},
			"profile is slow; one of pricing's instances is, and always was", slower("profile", profiles, 4)).with(slow("pricing", 1, 1.7)),
		regression("mercury/overload", "server-queue", own, "pricing has one thread where it had 16; calls time out before it takes them", slots("pricing", 1)).
			with(each("ingress", "pricing", quotes, func(c *sim.Call) { c.Timeout = 300 * ms })),
		regression("mercury/client-wait-woken", "client-wait", pricing, "fewer connections to pricing; threads wake up 1 to 5 ms late", fewer).with(woken(ms, 5*ms)),
		regression("mercury/server-queue-woken", "server-queue", own, "pricing has two threads; threads wake up 0.2 ms late", slots("pricing", 2)).with(woken(200*time.Microsecond, 200*time.Microsecond)),
		regression("mercury/chain-pool", "client-wait", Component{Service: "ingress", Peer: "profile", Operation: profiles},
			"the ingress keeps one connection to profile, whose threads now idle", pool("ingress", "profile", 1)).with(all(slots("profile", 3), slower("profile", profiles, 1.7))),
		regression("mercury/server-only", "service-time", own, "pricing takes longer; nobody reports client spans", slower("pricing", quotes, 1.9)).with(serverOnly),
		artefact("mercury/measurement-sampling", "sampling", "the current run is tail sampled, and nothing says so", nil, func(o *export.Options) {
			o.Tail = &export.Tail{Slower: 110 * ms, Rate: 0.1}
		}),
		artefact("mercury/measurement-population", "population", "impatient clients cancel the slow requests, which so leave the percentiles",
			func(s *sim.System) { s.Workload.Patience = sim.Const(160 * ms) }, nil).with(fewer),
	)
}

func head(p float64) func(*export.Options) {
	return func(o *export.Options) { o.Head = p }
}
