package scenario

import (
	"time"

	"github.com/tailscope/tailscope/samples/gen/sim"
)

const shards = 40

// search asks all 40 shards of an index at once, and for suggestions, which are optional; it ranks what
// was found and reads ten documents for the page, which can do without one. Two shards share a host.
func search() *sim.System {
	sys := &sim.System{Name: "search"}
	service := func(n int, s *sim.Service) *sim.Service {
		s.Instances, s.Unequal, s.Wake, s.ClockSkew = n, 0.03, wake(), 3*ms
		return sys.Add(s)
	}
	web := service(2, &sim.Service{Name: "web", Version: "31.4.0", Language: "java", Cores: 4,
		Executor: sim.Executor{Name: "http-nio-8080", Slots: 24, Vendor: "micrometer"}, Spans: sim.Spans{StartStamp: true, ServerAfterQueue: true, ClientAfterPool: true, PoolSpan: "pool.acquire"},
		Pools: []*sim.Pool{{Target: "docs", Size: 24}}})
	broker := service(2, &sim.Service{Name: "broker", Version: "9.0.1", Language: "go", Cores: 8})
	shard := service(shards, &sim.Service{Name: "shard", Version: "9.0.1", Language: "go", Cores: 2, Host: "index", PerHost: 2,
		Executor: sim.Executor{Name: "search", Slots: 4, Vendor: "micrometer"}})
	ranker := service(2, &sim.Service{Name: "ranker", Version: "1.7.0", Language: "python", Cores: 4,
		Executor: sim.Executor{Name: "grpc", Slots: 6, Vendor: "micrometer"}, Spans: sim.Spans{ServerAfterQueue: true}})
	suggest := service(2, &sim.Service{Name: "suggest", Version: "2.2.8", Language: "nodejs", Cores: 2})
	docs := sys.Add(&sim.Service{Name: "docs", Instances: 1, Peer: &sim.Peer{System: "cassandra", Namespace: "docs", Port: 9042},
		Executor: sim.Executor{Name: "docs", Slots: 64}})

	lookup := shard.Add(&sim.Operation{Name: "search.v2.Shard/Query", Protocol: sim.GRPC, Cancel: sim.Prompt, Plan: []sim.Step{
		&sim.Work{Time: sim.Mix{P: 0.0001, Rare: sim.Uniform{Lo: 60 * ms, Hi: 120 * ms}, Common: lognormal(11*ms, 0.35)}, CPU: 0.6, Size: 1}}})
	var branches []sim.Step
	for i := range shards {
		branches = append(branches, &sim.Call{To: lookup, Leg: lan(), Timeout: 500 * ms, Shard: i + 1})
	}
	find := broker.Add(&sim.Operation{Name: "search.v2.Broker/Search", Protocol: sim.GRPC, Cancel: sim.Prompt, Plan: []sim.Step{
		&sim.Work{Time: lognormal(2*ms, 0.3), CPU: 1},
		&sim.Parallel{Branches: branches},
		&sim.Work{Time: lognormal(3*ms, 0.3), CPU: 1}}})
	rank := ranker.Add(&sim.Operation{Name: "rank.v1.Ranker/Rank", Protocol: sim.GRPC, Cancel: sim.Ignore, Plan: []sim.Step{
		&sim.Work{Time: lognormal(18*ms, 0.4), CPU: 0.9, Size: 0.5}}})
	read := docs.Add(&sim.Operation{Name: "SELECT documents", Protocol: sim.DB, Plan: []sim.Step{&sim.Work{Time: lognormal(3*ms, 0.5)}}})
	propose := suggest.Add(&sim.Operation{Name: "GET /suggest", Plan: []sim.Step{&sim.Work{Time: lognormal(14*ms, 0.4), CPU: 0.5}}})
	get := web.Add(&sim.Operation{Name: "GET /search", Cancel: sim.Prompt, Plan: []sim.Step{
		&sim.Work{Time: lognormal(2*ms, 0.3), CPU: 1},
		&sim.Parallel{Branches: []sim.Step{&sim.Call{To: find, Leg: lan(), Timeout: 2 * time.Second},
			&sim.Call{To: propose, Leg: lan(), Timeout: 300 * ms, Optional: true}}},
		&sim.Call{To: rank, Leg: lan(), Timeout: 2 * time.Second},
		&sim.Repeat{N: 10, Parallel: true, Step: &sim.Call{To: read, Leg: lan(), Timeout: 250 * ms, Optional: true}},
		&sim.Work{Time: lognormal(5*ms, 0.3), CPU: 1}}})
	sys.Workload = sim.Workload{Rate: 16, Wave: 0.1, Tenants: 50, Identities: 3000, Entry: lan(), Classes: []sim.Class{
		{Name: "short", Share: 75, Op: get, Size: 1, Sigma: 0.15}, {Name: "long", Share: 24.5, Op: get, Size: 1.35, Sigma: 0.15},
		{Name: "long", Share: 0.5, Op: get, Size: 3, Sigma: 0.15, Tenant: 7}}}
	return sys
}

func searchScenarios() []*Scenario {
	const query, find, rank, page, documents, suggest = "search.v2.Shard/Query", "search.v2.Broker/Search", "rank.v1.Ranker/Rank", "GET /search", "SELECT documents", "GET /suggest"
	sharded := Component{Service: "broker", Peer: "shard", Operation: query}
	shard := Component{Service: "shard", Operation: query}
	ranker := Component{Service: "ranker", Operation: rank}
	reads := Component{Service: "web", Peer: "docs", Operation: documents}
	suggested := Component{Service: "web", Peer: "suggest", Operation: suggest}
	eachShard := func(f func(*sim.Call)) change { return each("broker", "shard", query, f) }
	return built(search,
		null("search/null", "the same system on two days"),
		null("search/null-sampled", "the same system on two days, 25 % head sampled").exported(head(0.25)),
		regression("search/server-queue", "server-queue", ranker, "the ranker has one thread where it had six", slots("ranker", 1)).with(slower("ranker", rank, 2)),
		regression("search/client-wait", "client-wait", reads, "a web server has three connections to the documents where it had 24; a span says how long it waits for one",
			pool("web", "docs", 3)).with(slower("docs", documents, 2.5)),
		regression("search/service-time", "service-time", shard, "the shards take longer", slower("shard", query, 1.7)),
		regression("search/contention", "contention", shard, "the shards' containers get a quarter of a core", cores("shard", 0.25)),
		regression("search/instance", "instance", Component{Service: "shard"}, "one of the 40 shards is slow", slow("shard", 17, 3.5)).on(17),
		regression("search/network", "network", sharded, "the index moved to another zone", farther("broker", "shard", query, 11*ms, 1500*time.Microsecond)),
		regression("search/load", "load", shard, "almost three times the searches; the shards' threads do not suffice", rate(2.8)).with(slots("shard", 1)),
		regression("search/mix-shift", "mix-shift", Component{Attribute: "app.tenant.id", Value: "t007"}, "one tenant sends many more of its large searches", share(2, 12)),
		regression("search/fan-out", "fan-out", sharded, "the index has 120 shards", func(s *sim.System) {
			s.Service("shard").Instances = 3 * shards
			p := s.Service("broker").Op(find).Plan[1].(*sim.Parallel)
			for i := shards; i < 3*shards; i++ {
				c := *p.Branches[0].(*sim.Call)
				c.Shard = i + 1
				p.Branches = append(p.Branches, &c)
			}
		}).with(func(s *sim.System) {
			w := firstWork(s.Service("shard").Op(query).Plan)
			w.Time = sim.Mix{P: 0.00016, Rare: sim.Uniform{Lo: 100 * ms, Hi: 180 * ms}, Common: lognormal(11*ms, 0.35)}
		}),
		regression("search/fan-out-documents", "fan-out", reads, "a page reads 80 documents at once", replaced("web", page, to("docs"), repeated(80))).
			with(all(pool("web", "docs", 400), slots("docs", 400), func(s *sim.System) {
				w := firstWork(s.Service("docs").Op(documents).Plan)
				w.Time = sim.Mix{P: 0.0008, Rare: sim.Uniform{Lo: 60 * ms, Hi: 120 * ms}, Common: w.Time}
			})),
		regression("search/call-count", "call-count", Component{Service: "web", Peer: "ranker", Operation: rank}, "the ranker is asked three times", replaced("web", page, to("ranker"), repeated(3))),
		regression("search/serialization", "serialization", Component{Service: "web", Operation: page}, "the documents are read one after the other", replaced("web", page, to("docs"), serial)),
		regression("search/new-hop", "new-hop", Component{Service: "web", Peer: "spelling", Operation: "spell.v1.Speller/Correct"}, "the spelling is corrected before the search",
			hop("web", page, isParallel, "spelling", "python", "spell.v1.Speller/Correct", sim.GRPC, 30*ms)),
		regression("search/timeout-plateau", "timeout-plateau", reads, "reads of documents hang now and then, until the caller's 250 ms are over", stalls("docs", documents, 0.003, 1500*ms, 2500*ms)),
		regression("search/optional-branch", "optional-branch", suggested, "suggestions, optional but waited for, are slow", slower("suggest", suggest, 6)),
		regression("search/hedging", "hedging", sharded, "slow queries are asked again of the same shard, and both go on",
			eachShard(func(c *sim.Call) { c.Hedge = &sim.Hedge{Delay: 9 * ms, Keep: true} })).with(all(slots("shard", 1), rate(1.8))),
		regression("search/pause", "pause", Component{Service: "ranker"}, "an instance of the ranker stops for 200 ms every three seconds", pauses("ranker", 0, 3*time.Second, 200*ms)).on(0),
		regression("search/improvement", "fan-out", sharded, "an answer needs 38 of the 40 shards",
			func(s *sim.System) { s.Service("broker").Op(find).Plan[1].(*sim.Parallel).Need = 0 }).
			with(all(stalls("shard", query, 0.002, 60*ms, 160*ms), func(s *sim.System) { s.Service("broker").Op(find).Plan[1].(*sim.Parallel).Need = 38 })).undone(),
		regression("search/chain-callee", "service-time", reads, "the documents are slow to read, so that the web servers' connections no longer suffice", slower("docs", documents, 3)).with(pool("web", "docs", 10)),
		regression("search/decoy-off-path", "service-time", ranker, "the ranker is slow; suggestions are too, beside the slower search", slower("ranker", rank, 2)).
			beside(slower("suggest", suggest, 1.7)),
		&Scenario{Name: "search/two-causes", Verdict: Regression, About: "the spelling is corrected before the search, and the ranker is slow", Causes: []Cause{
			{Kind: "new-hop", Component: Component{Service: "web", Peer: "spelling", Operation: "spell.v1.Speller/Correct"},
				Apply: hop("web", page, isParallel, "spelling", "python", "spell.v1.Speller/Correct", sim.GRPC, 30*ms)},
			{Kind: "service-time", Component: ranker, Apply: slower("ranker", rank, 2)}}},
		artefact("search/measurement-coordinated-omission", "coordinated-omission", "the current load waits for its answers, and so slows with the system", func(s *sim.System) {
			s.Workload.Workers, s.Workload.Think = 2, sim.Exp(60*ms)
		}, nil).with(slots("shard", 1)),
	)
}
