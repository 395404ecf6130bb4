package scenario

import (
	"time"

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
	list := []*Scenario{
		{Name: "mercury/null", Verdict: NoChange, About: "the same system on two days"},
		{Name: "mercury/client-wait", Verdict: Regression, About: "the ingress keeps fewer connections to pricing: calls wait for one, pricing is as fast as before",
			Causes: []Cause{{Kind: "client-wait", Component: Component{Service: "ingress", Peer: "pricing", Operation: "POST /v1/quotes"},
				Apply: func(s *sim.System) { s.Service("ingress").Pool("pricing").Size = 2 }}}},
	}
	for _, s := range list {
		s.build = mercury
	}
	return list
}
