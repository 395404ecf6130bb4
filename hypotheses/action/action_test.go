package action

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/hypotheses"
)

const msec = 1e6

// drill is a release of Mercury at its peak: calls of pricing wait in ingress,
// pricing is as fast as it was, and enterprise requests became more.
func drill() *Situation {
	share := func(x float64) *config.Share { s := config.Share(x); return &s }
	age := config.Duration(12e6)
	return &Situation{
		Service: "ingress", Operation: "GET /v2/home", Regression: true, Quantile: 0.99, P99: [2]float64{268 * msec, 318 * msec}, Shown: 0.99, ShownNS: [2]float64{268 * msec, 318 * msec},
		Findings: []hypotheses.Finding{
			{Kind: "client-wait", Service: "ingress", Peer: "pricing", Operation: "POST /v1/quotes", Strength: hypotheses.Strong},
			{Kind: "mix-shift", Attribute: "customer.tier", Value: "enterprise", Strength: hypotheses.Moderate},
		},
		Rules: config.Rules{
			Objective: &config.Objective{P99: config.Duration(300e6)},
			Optional:  []string{"recommendation", "reputation"},
			Mandatory: []string{"profile", "entitlement", "inventory", "pricing"},
			Contracts: []config.Contract{
				{Hop: "pricing", Rule: "no-degrade", Reason: "a home page without prices is wrong"},
				{Hop: "entitlement", Rule: "keep", Reason: "independently authoritative"},
			},
			Budget: &config.Budget{QueueAge: &age, PoolOccupancy: share(0.82), LateWork: share(0.02), Omission: share(0.08)},
		},
		Before: 9 * msec,
		Queues: []Queue{{Caller: "ingress", Peer: "pricing", Resource: "pricing", Owner: "client-wait",
			Wait: [2]float64{6 * msec, 24 * msec}, Hold: [2]float64{20 * msec, 22 * msec}}},
		Branches: []Branch{
			{Service: "pricing", Operation: "POST /v1/quotes", Caller: "ingress", Blocking: 0.7},
			{Service: "recommendation", Operation: "GET /v1/recommendations", Caller: "ingress", Survived: true, Blocking: 0.3},
		},
		Late:     Late{Attempts: 100_000, Late: 1_400, MeanStop: 15 * msec},
		Services: map[string]*Service{"ingress": {CPU: 0.46, Executor: 0.7, Instances: 24}},
	}
}

// of is the action that was weighed for a target; the test fails without one.
func of(t *testing.T, list []Action, action, target string) Action {
	t.Helper()
	for _, a := range list {
		if a.Action == action && strings.Contains(a.Target, target) {
			return a
		}
	}
	t.Fatalf("%s of %q was not weighed; there are %v", action, target, list)
	return Action{}
}

func expect(t *testing.T, a Action, v Verdict, because string) {
	t.Helper()
	if a.Verdict != v || !strings.Contains(a.Reason, because) {
		t.Errorf("%s of %s: %s because %s, want %s because …%s…", a.Action, a.Target, a.Verdict, a.Reason, v, because)
	}
}

func TestDrill(t *testing.T) {
	s := drill()
	list := Weigh(s)
	expect(t, of(t, list, "raise the limit", "ingress"), Unsupported, "inside the budget of 12.0 ms, and its executor is 70 % occupied: it would send more demand to pricing")
	expect(t, of(t, list, "add hosts", "ingress"), NotEnoughEvidence, "without a limit per process or uneven placement")
	expect(t, of(t, list, "degrade the branch", "pricing"), ViolatesContract, "without prices is wrong")
	expect(t, of(t, list, "hold the rollout", "ingress"), Supported, "beyond the objective of 300ms")
	expect(t, of(t, list, "add capacity", "pricing"), NotEnoughEvidence, "valid if its boundary is shown to be the limit")
	expect(t, of(t, list, "partition the limit by class", "pricing"), NotEnoughEvidence, "emit pending and active by customer.tier")
	expect(t, of(t, list, "propagate the deadline", "ingress"), Unsupported, "1.4 % of the attempts go on after their caller has left, inside the budget of 2 %")
	expect(t, of(t, list, "hedge", "pricing"), Unsupported, "what is short")
	expect(t, of(t, list, "grow the pool", "pricing"), NotEnoughEvidence, "how much pricing can serve at once")
	if list[0].Action != "hold the rollout" {
		t.Errorf("the first action is %+v", list[0])
	}
	for _, a := range list {
		if a.Reason == "" || a.Costs == "" || a.PaidBy == "" {
			t.Errorf("%+v lacks a reason or its price", a)
		}
	}
}

// TestDrillOtherwise changes one fact of the drill at a time: the verdict on one
// action must change, and for that reason.
func TestDrillOtherwise(t *testing.T) {
	for _, c := range []struct {
		name           string
		change         func(*Situation)
		action, target string
		want           Verdict
		because        string
	}{
		{"pricing has room", func(s *Situation) { s.Services["pricing"] = &Service{CPU: 0.3, Executor: math.NaN()} },
			"grow the pool", "pricing", Supported, "CPUs of pricing are 30 % in use"},
		{"pricing is full", func(s *Situation) { s.Services["pricing"] = &Service{CPU: 0.97, Executor: math.NaN()} },
			"grow the pool", "pricing", MovesTheQueue, "CPUs of pricing are 97 % in use"},
		{"pricing is full, so more of it helps", func(s *Situation) { s.Services["pricing"] = &Service{CPU: 0.97, Executor: math.NaN()} },
			"add capacity", "pricing", Supported, "97 %"},
		{"pricing's executor is beyond its budget", func(s *Situation) { s.Services["pricing"] = &Service{CPU: math.NaN(), Executor: 0.85} },
			"grow the pool", "pricing", MovesTheQueue, "85 % occupied"},
		{"pricing waits for its database", func(s *Situation) {
			s.Queues = append(s.Queues, Queue{Caller: "pricing", Peer: "prices-db", Owner: "client-wait", Wait: [2]float64{0, 9 * msec}})
		}, "grow the pool", "pricing", MovesTheQueue, "for prices-db"},
		{"the pool shrank", func(s *Situation) { s.Queues[0].Limit = [2]int{6, 2} },
			"grow the pool", "pricing", Supported, "up to 6 calls"},
		{"the pool shrank and pricing got slower", func(s *Situation) { s.Queues[0].Limit, s.Queues[0].Hold[1] = [2]int{6, 2}, 40*msec },
			"grow the pool", "pricing", NotEnoughEvidence, "how much pricing can serve"},
		{"enterprise requests fill the pool", func(s *Situation) { s.Queues[0].ByMix = 0.6 },
			"partition the limit by class", "pricing", Supported, "bring 60 % of the rise"},
		{"requests queue before ingress", func(s *Situation) { s.Before = 60 * msec },
			"raise the limit", "ingress", Unsupported, "executor is 70 % occupied"},
		{"requests queue before a full ingress", func(s *Situation) { s.Before = 60 * msec; s.Services["ingress"].Executor = 0.97 },
			"raise the limit", "ingress", MovesTheQueue, "more demand to pricing"},
		{"nothing tells of ingress' queue", func(s *Situation) { s.Before = math.NaN(); s.Services["ingress"].Executor = math.NaN() },
			"raise the limit", "ingress", NotEnoughEvidence, "X-Request-Start"},
		{"hosts are busy", func(s *Situation) { s.Services["ingress"].CPU = 0.96 },
			"add hosts", "ingress", Supported, "96 % in use"},
		{"much late work, and callees stop soon", func(s *Situation) { s.Late.Late = 20_000 },
			"propagate the deadline", "ingress", Supported, "20 % of the attempts"},
		{"much late work, and callees do not look", func(s *Situation) { s.Late.Late, s.Late.MeanStop = 20_000, 85*msec },
			"propagate the deadline", "ingress", MovesTheQueue, "leaves the work"},
		{"pricing is optional", func(s *Situation) {
			s.Rules.Contracts, s.Rules.Mandatory, s.Rules.Optional = nil, nil, []string{"pricing"}
		}, "degrade the branch", "pricing", Supported, "declared optional and still waited for"},
		{"nobody declared pricing", func(s *Situation) { s.Rules.Contracts, s.Rules.Mandatory = nil, nil },
			"degrade the branch", "pricing", NotEnoughEvidence, "declare it"},
		{"pricing is mandatory for one class", func(s *Situation) {
			s.Rules.Contracts, s.Rules.Mandatory, s.Rules.Optional = nil, nil, []string{"pricing"}
			s.Classes = map[string]config.Rules{"enterprise": {Mandatory: []string{"pricing"}}}
		}, "degrade the branch", "pricing", ViolatesContract, "of class enterprise"},
		{"a new release of ingress", func(s *Situation) {
			s.Services["ingress"].Versions = [2][]string{{"4.18.1"}, {"4.18.1", "4.18.2"}}
		}, "roll back", "ingress", Supported, "runs 4.18.2 where it ran 4.18.1"},
		{"the same release", func(s *Situation) { s.Services["ingress"].Versions = [2][]string{{"4.18.1"}, {"4.18.1"}} },
			"roll back", "ingress", Unsupported, "on both sides"},
		{"little overlap", func(s *Situation) {
			s.Identity = []Identity{{Peer: "pricing", Operation: "POST /v1/quotes", Calls: 5000, Eligible: 0.02, Group: 2}}
		}, "coalesce", "pricing", Unsupported, "next to nothing"},
		{"much overlap", func(s *Situation) {
			s.Rules.Contracts = append(s.Rules.Contracts, config.Contract{Hop: "pricing", Rule: "idempotent"})
			s.Identity = []Identity{{Peer: "pricing", Operation: "POST /v1/quotes", Calls: 5000, Eligible: 0.26, Group: 2.6}}
		}, "coalesce", "pricing", Supported, "16 % of them would be saved"},
		{"much overlap of what may be a write", func(s *Situation) {
			s.Identity = []Identity{{Peer: "pricing", Operation: "POST /v1/quotes", Calls: 5000, Eligible: 0.26, Group: 2.6}}
		}, "coalesce", "pricing", NotEnoughEvidence, "changes something"},
		{"prices may not be kept", func(s *Situation) {
			s.Rules.Contracts = append(s.Rules.Contracts, config.Contract{Hop: "pricing", Rule: "no-cache", Reason: "prices are per customer"})
		}, "cache", "pricing", ViolatesContract, "per customer"},
		{"the cause is weak", func(s *Situation) {
			s.Findings[0].Strength = hypotheses.Weak
			s.Queues[0].Limit = [2]int{6, 2}
		}, "grow the pool", "pricing", NotEnoughEvidence, "cause 1 held, which is weak"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := drill()
			c.change(s)
			expect(t, of(t, Weigh(s), c.action, c.target), c.want, c.because)
		})
	}
}

func finding(kind, service, peer, operation string) hypotheses.Finding {
	return hypotheses.Finding{Kind: kind, Service: service, Peer: peer, Operation: operation, Strength: hypotheses.Strong}
}

func TestOtherCauses(t *testing.T) {
	for _, c := range []struct {
		name           string
		s              Situation
		action, target string
		want           Verdict
		because        string
	}{
		{"a slow callee fills its caller's pool", Situation{Service: "front",
			Findings: []hypotheses.Finding{finding("service-time", "stock", "", "List")},
			Queues:   []Queue{{Caller: "front", Peer: "stock", Owner: "client-wait", Wait: [2]float64{0, 30 * msec}, Hold: [2]float64{10 * msec, 40 * msec}}},
		}, "grow the pool", "stock", MovesTheQueue, "the slow callee"},
		{"more arrivals at a limit", Situation{Service: "front",
			Findings: []hypotheses.Finding{finding("load", "stock", "", "List")},
			Queues:   []Queue{{Caller: "front", Peer: "stock", Owner: "server-queue", Limit: [2]int{8, 8}, Wait: [2]float64{0, 30 * msec}, Hold: [2]float64{10 * msec, 10 * msec}}},
		}, "add hosts", "stock", Supported, "serves 8 at once"},
		{"more arrivals, no limit known", Situation{Service: "front",
			Findings: []hypotheses.Finding{finding("load", "stock", "", "List")},
			Queues:   []Queue{{Caller: "front", Peer: "stock", Owner: "server-queue", Wait: [2]float64{0, 30 * msec}}},
		}, "add hosts", "stock", NotEnoughEvidence, "no limit"},
		{"threads wait while CPUs idle", Situation{Service: "front",
			Findings: []hypotheses.Finding{finding("server-queue", "stock", "", "List")},
			Queues:   []Queue{{Caller: "front", Peer: "stock", Owner: "server-queue", Wait: [2]float64{0, 30 * msec}}},
			Services: map[string]*Service{"stock": {CPU: 0.2, Executor: math.NaN()}},
		}, "raise the limit", "stock", Supported, "20 % in use"},
		{"threads wait for the service's own pool", Situation{Service: "front",
			Findings: []hypotheses.Finding{finding("server-queue", "stock", "", "List")},
			Queues: []Queue{{Caller: "front", Peer: "stock", Owner: "server-queue", Wait: [2]float64{0, 30 * msec}},
				{Caller: "stock", Peer: "stock-db", Owner: "client-wait", Wait: [2]float64{0, 50 * msec}}},
			Services: map[string]*Service{"stock": {CPU: 0.2, Executor: math.NaN()}},
		}, "raise the limit", "stock", MovesTheQueue, "own pool for stock-db"},
		{"calls in turn that ran side by side", Situation{Service: "front", Findings: []hypotheses.Finding{finding("serialization", "front", "", "GET /")}},
			"parallelise", "front", Supported, "side by side before"},
		{"one call became many", Situation{Service: "front", Findings: []hypotheses.Finding{{Kind: "call-count", Service: "front", Peer: "stock", Operation: "Get", Strength: hypotheses.Moderate,
			Evidence: []hypotheses.Evidence{{Unit: "calls", Base: 1, Cur: 12}}}}},
			"batch", "stock", Supported, "12 calls where it was 1"},
		{"a new hop that must stay", Situation{Service: "front", Findings: []hypotheses.Finding{finding("new-hop", "front", "audit", "Write")},
			Rules: config.Rules{Contracts: []config.Contract{{Hop: "audit", Rule: "keep", Reason: "the law asks for it"}}}},
			"drop the hop", "audit", ViolatesContract, "the law asks for it"},
		{"a new hop", Situation{Service: "front", Findings: []hypotheses.Finding{finding("new-hop", "front", "audit", "Write")}},
			"drop the hop", "audit", NotEnoughEvidence, "what it was added for"},
		{"one slow instance", Situation{Service: "front", Findings: []hypotheses.Finding{{Kind: "instance", Service: "stock", Instance: "stock-3", Strength: hypotheses.Strong}}},
			"rebalance", "stock", Supported, "stock-3 differs"},
		{"hedges that are slow together", Situation{Service: "front", Findings: []hypotheses.Finding{finding("service-time", "front", "stock", "List")},
			Attempts: []Attempts{{Caller: "front", Peer: "stock", Operation: "List", Logical: 1000, Hedged: 60, SecondsKnown: 60, Again: 0.9}}},
			"hedge", "stock", Unsupported, "90 % of the cases"},
		{"hedges that escape", Situation{Service: "front", Findings: []hypotheses.Finding{finding("hedging", "front", "stock", "List")},
			Attempts: []Attempts{{Caller: "front", Peer: "stock", Operation: "List", Logical: 1000, Hedged: 50, SecondsKnown: 50, Again: 0.05}}},
			"hedge less", "stock", NotEnoughEvidence, "5 % of the cases"},
		{"hedges that fill the callee", Situation{Service: "front", Findings: []hypotheses.Finding{finding("hedging", "front", "stock", "List")},
			Attempts: []Attempts{{Caller: "front", Peer: "stock", Operation: "List", Logical: 1000, Hedged: 400, SecondsKnown: 400, Again: 0.8}}},
			"hedge less", "stock", Supported, "40 % of the calls"},
		{"a storm of retries", Situation{Service: "front", Findings: []hypotheses.Finding{finding("retries", "front", "stock", "List")}},
			"retry less", "stock", Supported, "budget over all requests"},
		{"hardly a retry", Situation{Service: "front", Findings: []hypotheses.Finding{finding("service-time", "stock", "", "List")},
			Attempts: []Attempts{{Caller: "front", Peer: "stock", Logical: 1000, Retried: 3}}},
			"retry less", "front", Unsupported, "0.30 %"},
		{"a write that may finish", Situation{Service: "front", Findings: []hypotheses.Finding{finding("late-work", "front", "experiment", "POST /exposure")},
			Rules: config.Rules{Contracts: []config.Contract{{Hop: "experiment", Rule: "may-finish-after", Reason: "an idempotent write"}}}},
			"honour cancellation", "experiment", ViolatesContract, "idempotent write"},
		{"a search that goes on", Situation{Service: "front", Findings: []hypotheses.Finding{finding("late-work", "front", "search", "GET /q")}},
			"honour cancellation", "search", Supported, "have left"},
		{"other requests", Situation{Service: "front", Findings: []hypotheses.Finding{{Kind: "mix-shift", Attribute: "tier", Value: "big", Strength: hypotheses.Strong}}},
			"roll back", "front", Unsupported, "no version brings"},
		{"an effect that may not be had twice", Situation{Service: "front", Findings: []hypotheses.Finding{finding("service-time", "front", "pay", "POST /charge")},
			Rules: config.Rules{Contracts: []config.Contract{{Hop: "pay", Rule: "no-retry", Reason: "it charges"}}}},
			"hedge", "pay", ViolatesContract, "it charges"},
		{"telemetry differs", Situation{Service: "front", Regression: true, Findings: []hypotheses.Finding{{Kind: "measurement", Attribute: "sampling", Strength: hypotheses.Strong}, finding("load", "stock", "", "List")}},
			"compare again", "front", Supported, "sampling"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.Quantile = 0.99
			expect(t, of(t, Weigh(&c.s), c.action, c.target), c.want, c.because)
		})
	}
}

func TestNothingFound(t *testing.T) {
	if list := Weigh(&Situation{Service: "front", Regression: true}); len(list) != 0 {
		t.Errorf("without a cause there are actions: %v", list)
	}
}

// TestNotShown says that a change that is not shown holds no release.
func TestNotShown(t *testing.T) {
	s := drill()
	s.Regression = false
	for i := range s.Findings {
		s.Findings[i].Strength = hypotheses.Weak
	}
	for _, a := range Weigh(s) {
		if a.Verdict == Supported {
			t.Errorf("%+v is supported by a change that is not shown", a)
		}
	}
}

func TestEachIsWeighedOnce(t *testing.T) {
	s := drill()
	s.Findings = append(s.Findings, finding("load", "ingress", "", "POST /v1/quotes"), finding("service-time", "pricing", "", "POST /v1/quotes"))
	var seen []string
	for _, a := range Weigh(s) {
		k := a.Action + " " + a.Target
		if slices.Contains(seen, k) {
			t.Errorf("%s stands twice", k)
		}
		seen = append(seen, k)
	}
}

// TestTriedBefore says that what failed once is not supported again, and that a
// contract goes before a note.
func TestTriedBefore(t *testing.T) {
	s := drill()
	s.Queues[0].Limit = [2]int{6, 2}
	s.Notes = []config.Note{
		{At: "2026-02-17", Change: "a pool of 800", Observed: "the queue moved into pricing", Outcome: "failed", Action: "grow the pool", Target: "ingress → pricing*"},
		{Change: "no prices", Outcome: "failed", Action: "degrade the branch"},
		{Change: "a pool of 800", Outcome: "failed", Action: "grow the pool", Target: "ingress → stock"},
	}
	list := Weigh(s)
	expect(t, of(t, list, "grow the pool", "pricing"), Unsupported, "tried 2026-02-17: a pool of 800: the queue moved into pricing; calls wait")
	expect(t, of(t, list, "degrade the branch", "pricing"), ViolatesContract, "no prices")
}
