// Package reporttest builds reports for tests of what renders them. The numbers are made up and add up: the rows of
// every allocation sum to their quantile, outcomes to what was offered.
package reporttest

import (
	"fmt"

	"github.com/tailscope/tailscope/report"
)

// Mercury is a comparison of two sets with one clear regression, one unchanged endpoint and one that cannot tell:
// the connection pool in front of pricing shrank.
func Mercury() *report.Report {
	r := &report.Report{
		Run: report.Run{
			Version: "0.1.0", Kept: report.KeptAll, Quantile: 0.99, Alpha: 0.05, Population: "default",
			MinEffectMs: 1, MinEffectShare: 0.05, Seed: 1,
			Sets: report.List[report.Set]{
				{Set: report.Baseline, From: "2026-01-01T12:00:00Z", To: "2026-01-01T12:01:20Z", Runs: 1, Spans: 98120},
				{Set: report.Current, From: "2026-01-01T13:00:00Z", To: "2026-01-01T13:01:20Z", Runs: 1, Spans: 97204},
			},
		},
		Ingest: report.Ingest{
			Files: report.List[report.File]{
				{Path: "mercury/baseline/traces.jsonl.zst", Set: report.Baseline, Format: "otlp-json", Spans: 98120},
				{Path: "mercury/baseline/metrics.jsonl", Set: report.Baseline, Format: "otlp-json", MetricPoints: 640},
				{Path: "mercury/current/traces.jsonl.zst", Set: report.Current, Format: "otlp-json", Spans: 97204, Rejected: 2, ErrorsTotal: 1,
					Errors: report.List[report.FileError]{{Where: "line 812", Message: "the line is cut off after 4,096 bytes"}}},
				{Path: "mercury/current/metrics.jsonl", Set: report.Current, Format: "otlp-json", MetricPoints: 640},
			},
			NotUsed: report.NotUsed{LogRecords: 311}, Spans: 195324, Traces: 16260, MetricPoints: 1280,
			Duplicates: 12, Rejected: 2, Orphans: 41, IncompleteTraces: 32, Links: report.Links{Resolved: 40, Unresolved: 3},
			Defects: report.List[report.Defect]{
				{Kind: "end-before-start", Severity: report.DataLoss, Count: 2, Example: "mercury/current/traces.jsonl.zst: line 90", Message: "the span was rejected"},
				{Kind: "orphan", Severity: report.Notice, Count: 41, Example: "trace 5f0c…, span 9d2e…", Message: "the parent was reported and never came; subtrees stay out of the percentiles"},
				{Kind: "duplicate", Severity: report.Info, Count: 12, Example: "mercury/baseline/traces.jsonl.zst: line 17", Message: "the span was dropped"},
			},
			Clocks: report.List[report.Clock]{{HostA: "gateway-1", HostB: "pricing-1", OffsetLoNS: report.Int(-310000), OffsetHiNS: report.Int(120000)}},
		},
		Metrics: report.List[report.Metric]{
			{Name: "db.client.connection.count", Set: report.Baseline, Service: "gateway", Instance: "gateway-1", Unit: "{connection}", Attributes: report.Attributes{"pool.name": "pricing", "state": "used"}, Type: report.Gauge, Points: 80, Mean: report.Some(12.4), Min: report.Int(3), Max: report.Int(31)},
			{Name: "db.client.connection.count", Set: report.Current, Service: "gateway", Instance: "gateway-1", Unit: "{connection}", Attributes: report.Attributes{"pool.name": "pricing", "state": "used"}, Type: report.Gauge, Points: 80, Mean: report.Some(11.8), Min: report.Int(4), Max: report.Int(12)},
			{Name: "http.server.request.duration", Set: report.Current, Service: "gateway", Instance: "gateway-1", Unit: "s", Attributes: report.Attributes{"http.route": "/v2/home"}, Type: report.Histogram, Points: 8, Count: report.Int(8102), Mean: report.Some(0.0913), P50Lo: report.Some(0.05), P50Hi: report.Some(0.1), P99Lo: report.Some(0.25), P99Hi: report.Some(0.5)},
		},
		Endpoints: report.List[report.Endpoint]{home(), homeClass(), history(), search()},
		LeftOut:   report.List[report.LeftOut]{{What: "inner endpoints", Count: 7, Why: "give --inner"}},
		Warnings:  report.List[string]{"one run a side: window-to-window variation unknown"},
	}
	return r
}

func quantile(base, cur float64, ci, baseCI, curCI report.Interval, needs int64) report.Quantile {
	q := report.Quantile{BaselineMs: report.Some(base), CurrentMs: report.Some(cur), DeltaMs: report.Some(cur - base),
		CIMs: ci, BaselineCIMs: baseCI, CurrentCIMs: curCI, Needs: needs}
	return q
}

// upTo is an interval that is open above.
func upTo(lo float64) report.Interval { return report.Interval{Lo: report.Some(lo), Hi: report.Null} }

func home() report.Endpoint {
	between := report.Between
	e := report.Endpoint{
		Service: "gateway", Operation: "GET /v2/home", Verdict: report.Regression,
		Basis: &report.Basis{Test: report.ExceedanceTest, Quantile: 0.99, ThresholdMs: report.Some(351.2), Baseline: [2]report.Float{9, 8130}, Current: [2]report.Float{154, 8102},
			PValue: report.Some(0.00021), ExcludedMs: report.Null, ExcludedQuantile: report.Null, Method: "10 blocks of 8 s"},
		Requests: report.Sides[report.Requests]{
			Baseline: &report.Requests{Sampled: 8130, Estimated: 8130, Offered: 8152, Completed: 8121, Failed: 9, Cancelled: 22, Incomplete: 14, EffectiveN: report.Int(8130)},
			Current:  report.Requests{Sampled: 8102, Estimated: 8102, Offered: 8160, Completed: 8072, Failed: 11, TimedOut: 19, Cancelled: 41, Rejected: 17, Incomplete: 18, Excluded: report.Excluded{report.Stream: 3}, EffectiveN: report.Int(8102)},
		},
		Arrivals: report.Sides[report.Arrivals]{
			Baseline: &report.Arrivals{MeanPerS: report.Some(101.9), Peak1sPerS: report.Int(127), SecondsSeen: report.Int(80)},
			Current:  report.Arrivals{MeanPerS: report.Some(102), Peak1sPerS: report.Int(125), SecondsSeen: report.Int(80)},
		},
		Goodput: report.Pair{Baseline: report.Some(0.9951), Current: report.Some(0.9672)},
		P50:     quantile(82.1, 83.4, between(-0.4, 3.1), between(81, 83.2), between(82.2, 84.7), 0),
		P75:     quantile(110.3, 114.9, between(1.2, 8.3), between(108.1, 112.6), between(112.2, 118.1), 0),
		P90:     quantile(151.7, 198.2, between(30.2, 62.8), between(147, 156.9), between(181.4, 211.3), 0),
		P95:     quantile(187.4, 301.6, between(81.5, 148.9), between(181.1, 195), between(270.3, 330.8), 0),
		P99:     quantile(268, 487, between(171.4, 262.3), between(254.6, 281.9), between(448.2, 524.7), 0),
		P999:    quantile(402.8, 731.5, between(190.7, 455.2), between(371, 471.4), between(640.9, 842.2), 0),
		Max:     quantile(611.3, 1204.9, report.Open, upTo(611.3), upTo(1204.9), 0),
		HighestClosed: &report.HighestClosed{Quantile: 0.999, BaselineMs: report.Some(402.8), CurrentMs: report.Some(731.5), DeltaMs: report.Some(328.7),
			CIMs: between(190.7, 455.2)},
		Before: &report.Before{Evidence: "X-Request-Start of the load balancer", Baseline: &report.BeforeTimes{P50Ms: report.Some(0.6), P99Ms: report.Some(8.8)},
			Current: report.BeforeTimes{P50Ms: report.Some(0.6), P99Ms: report.Some(9.1)}},
		Structure:       structure(),
		AllocationScale: report.Pair{Baseline: report.Some(0.997), Current: report.Some(1.004)},
		ReplayInexact:   report.Some(0.0004),
		After:           report.After{Requests: 211, TotalMs: 2630.5},
		Mix: report.List[report.Mix]{
			{Attribute: "customer.class", Value: "enterprise", Baseline: report.Some(0.05), Current: report.Some(0.09), OddsRatio: report.Some(1.88), OddsCI: between(1.61, 2.19), EffectP99Ms: report.Some(96)},
			{Attribute: "customer.class", Value: "standard", Baseline: report.Some(0.72), Current: report.Some(0.69), OddsRatio: report.Some(0.87), OddsCI: between(0.81, 0.93), EffectP99Ms: report.Some(-41)},
			{Attribute: "http.response.status_code", Value: "504", Baseline: report.Some(0), Current: report.Some(0.0023), OddsRatio: report.Null, OddsCI: upTo(3.1), EffectP99Ms: report.Some(513), Consequence: true},
		},
		MixSplit: &report.MixSplit{Attribute: "customer.class", Lead: report.Current, Strength: "weak", OnlyCurrent: 0.002, Orders: report.List[report.MixOrder]{
			{Reweighted: report.Current, CounterfactualMs: report.Some(462), MixMs: report.Some(25), MixCIMs: between(4, 61), BehaviourMs: report.Some(195), BehaviourCIMs: between(121, 240), SupportMs: report.Some(-1), TailN: 17},
			{Reweighted: report.Baseline, CounterfactualMs: report.Some(281), MixMs: report.Some(13), MixCIMs: between(-9, 40), BehaviourMs: report.Some(207), BehaviourCIMs: report.Open, SupportMs: report.Some(-1), TailN: 9},
		}},
		Guards: report.List[report.Guard]{
			{Kind: report.PopulationGuard, Status: report.GuardOK, Detail: "failed 0.1 % and 0.1 %, cancelled 0.3 % and 0.5 %"},
			{Kind: report.MixGuard, Status: report.GuardWarn, Detail: "customer.class=enterprise went from 5 % to 9 % of the requests"},
			{Kind: report.PlacementGuard, Status: report.GuardOK, Detail: "the same 2 instances a side"},
			{Kind: report.SamplingGuard, Status: report.GuardOK, Detail: "all requests"},
			{Kind: report.ClockGuard, Status: report.GuardOK, Detail: "offsets within 0.4 ms"},
			{Kind: report.RunsGuard, Status: report.GuardWarn, Detail: "one run a side: window-to-window variation unknown"},
		},
		Exemplars: report.List[report.Exemplar]{
			{TraceID: "1f4e9c162aff06acb50064d86a79c263", Set: report.Current, DurationMs: report.Some(489.1), Percentile: report.Some(0.9901), Why: "nearest to p99; waits 226 ms for a connection to pricing"},
			{TraceID: "77ab10d8a5a0c3b1e6f2b2c4d9a01b55", Set: report.Baseline, DurationMs: report.Some(267.4), Percentile: report.Some(0.99), Why: "nearest to p99 before"},
			{TraceID: "c2100000000000000000000000000001", Set: report.Current, DurationMs: report.Some(1204.9), Percentile: report.Some(1), Why: "the slowest"},
		},
		Warnings: report.List[string]{"gateway and pricing are on different hosts: up to 0.4 ms of a wait may be clock skew"},
	}
	e.Allocation, e.Typical = allocation()
	e.Queues = queues()
	e.LateWork = lateWork()
	e.Attempts = report.List[report.Attempts]{{Service: "gateway", Peer: "recommendation", Operation: "recommendation.R/List",
		AttemptTotals: report.AttemptTotals{Logical: 8096, Attempts: 8301, Retries: 205, Duplicates: 12, Failed: 221, FailedMs: 18233, BackoffMs: 2050, Amplification: report.Some(8301.0 / 8096), OverLayers: report.Some(8301.0 / 8096)},
		Baseline:      &report.AttemptTotals{Logical: 8125, Attempts: 8166, Retries: 41, Failed: 44, FailedMs: 3102, BackoffMs: 410, Amplification: report.Some(8166.0 / 8125), OverLayers: report.Some(8166.0 / 8125)}}}
	e.FanOut = report.List[report.FanOut]{{Node: 0, Branches: 5, Begun: 5, PSlow: report.List[report.Num]{report.Some(0.012), report.Some(0.041), report.Some(0.025), report.Some(0.015), report.Some(0.004)},
		Independent: report.Some(0.0937), Observed: report.Some(0.0711), NEff: report.Some(3.8),
		Owners: report.List[report.BranchOwner]{{Node: 4, Share: report.Some(0.52)}, {Node: 5, Share: report.Some(0.31)}, {Node: 3, Share: report.Some(0.12)}, {Node: 6, Share: report.Some(0.05)}}}}
	e.Hedging = report.List[report.HedgedCall]{{Service: "ingress", Peer: "inventory", Operation: "inventory.v3.Stock/List", Calls: 8125, Hedged: 374, Wins: 298, DelayMs: report.Some(48), Rate: 0.046, NominalRate: 0.05,
		PSlow: 0.049, PSlowAgain: 0.061, P99Ms: report.Some(61), FirstP99Ms: report.Some(112), LoserWorkShare: report.Some(0.071), LoserStopP50Ms: report.Some(0.4), LoserStopP99Ms: report.Some(2.1),
		Verdict: "it pays: the second attempt is rarely slow where the first is"}}
	e.Coalescing = report.List[report.Coalescing]{{Service: "ingress", Peer: "profile", Operation: "GET /v1/profiles/{id}", Calls: 8125, Eligible: 2112, EligibleShare: 0.26, MeanGroup: report.Some(2.6),
		EligiblePerS: report.Some(23.2), LeadersPerS: report.Some(8.9), AvoidedPerS: report.Some(14.3), Followers: 31, Followed: 19, Warnings: report.List[string]{"the same path, by the spans"}}}
	e.Deadlines = report.List[report.Deadline]{{Service: "ingress", Peer: "recommendation", Operation: "GET /v1/recommendations/{id}", Calls: 8125, TimeoutMs: report.Some(400), RemainingMs: report.Some(212), Beyond: 8125,
		Retries: 24, TooLate: 11, UsefulMs: report.Some(31), Left: 1625, Heard: 102, StartedAfter: 7, Propagated: report.NotPropagated, Warnings: report.List[string]{"a timeout of its own, not the remaining time"}}}
	e.Notices = report.List[report.CallNotice]{{Kind: report.RepeatedCalls, Service: "profile", Peer: "profile-db", Operation: "SELECT profiles", Requests: 812, Share: 0.1, Calls: 9.4, PathMs: 38, SameAgain: 120,
		Statement: "one call after the other: ask for all at once, or side by side"}}
	e.Hypotheses, e.Actions = causes()
	e.Unexplained = &report.Unexplained{Ms: report.Some(12.1), CIMs: report.Between(-9.5, 31)}
	return e
}

func structure() report.Structure {
	type n struct {
		parent         report.NodeID
		service, op    string
		kind           string
		present, of    int64
		optional, wait bool
		b50, b99, bm   float64
		c50, c99, cm   float64
	}
	var nodes report.List[report.Node]
	for i, x := range []n{
		{report.NoNode, "gateway", "GET /v2/home", "server", 8102, 8102, false, true, 82.1, 268, 91, 83.4, 487, 104.2},
		{0, "profile", "profile.P/Get", "client", 8102, 8102, false, true, 21.2, 61.3, 24, 21.3, 63, 24.4},
		{0, "entitlement", "entitlement.E/Claims", "client", 8102, 8102, false, true, 15.1, 38.4, 16.2, 15.2, 38.9, 16.3},
		{0, "inventory", "inventory.I/Stock", "client", 8102, 8102, false, true, 22.3, 58.1, 24.2, 22.1, 57.7, 24},
		{0, "pricing", "POST /quote", "client", 8102, 8102, false, true, 14.4, 41.2, 16, 15.2, 262.3, 31.1},
		{0, "recommendation", "recommendation.R/List", "client", 8096, 8102, true, true, 28.2, 181.3, 40.1, 28.4, 184.1, 40.7},
		{0, "reputation", "reputation.R/Score", "client", 8090, 8102, true, true, 9.1, 31.3, 10.4, 9.1, 31.5, 10.4},
		{0, "experiment", "experiment.X/Expose", "producer", 8102, 8102, false, false, 1.2, 6.8, 1.7, 1.2, 6.9, 1.7},
		{4, "pricing", "SELECT price", "client", 8102, 8102, false, true, 4.1, 12.2, 4.8, 4.2, 12.6, 4.9},
	} {
		node := report.Node{ID: report.NodeID(i), Parent: x.parent, Service: x.service, Operation: x.op, Kind: x.kind, Present: x.present, Of: x.of, Mode: report.SingleCall,
			MeanMultiplicity: 1, Optional: x.optional, WaitedFor: x.wait, WaitedForHeld: x.present / 3,
			Baseline: &report.NodeTimes{P50Ms: report.Some(x.b50), P99Ms: report.Some(x.b99), MeanMs: report.Some(x.bm)},
			Current:  report.NodeTimes{P50Ms: report.Some(x.c50), P99Ms: report.Some(x.c99), MeanMs: report.Some(x.cm)}}
		if !x.wait {
			node.WaitedForRefuted, node.WaitedForHeld = 7311, 0
		}
		if x.parent != report.NoNode {
			node.SelfMs, node.SlackMs, node.Concurrency = report.Some(x.c50/2), report.Some(x.c50/4), report.Some(1.5)
			if x.wait {
				node.WaitedUpToMs = report.Some(2 * x.c99)
			}
		}
		if x.op == "SELECT price" {
			node.Peer, node.Mode, node.MeanMultiplicity = "prices (postgresql)", report.SerialRepeat, 2.4
		}
		nodes = append(nodes, node)
	}
	return report.Structure{
		Expression: "ingress + profile + entitlement + max(inventory, pricing, recommendation?, reputation?) + respond",
		Nodes:      nodes,
		Edges: report.List[report.Edge]{
			{From: 1, To: 2, Held: 8102, GapP50Ms: report.Some(0.3), GapP10Ms: report.Some(0.2), GapP90Ms: report.Some(0.5), Follows: report.Some(1)},
			{From: 2, To: 3, Held: 8102, GapP50Ms: report.Some(0.4)}, {From: 2, To: 4, Held: 8102, GapP50Ms: report.Some(0.4)},
			{From: 2, To: 5, Held: 8096, GapP50Ms: report.Some(0.4)}, {From: 2, To: 6, Held: 8090, GapP50Ms: report.Some(0.4)},
		},
		Exclusions: report.List[report.Exclusion]{{A: 4, B: 6, AFirst: 5120, BFirst: 2970, ByChance: 811.4}},
		Differences: report.List[report.Difference]{{Kind: report.Wider, Node: 8, Service: "pricing", Operation: "SELECT price", Detail: "enterprise requests read more partitions",
			Baseline: report.Some(2.2), Current: report.Some(2.4)}},
	}
}

// allocation charges 268 → 487 ms of p99 and 82.1 → 83.4 ms of the median.
func allocation() (tail, typical report.List[report.Allocation]) {
	type row struct {
		node         report.NodeID
		service, op  string
		peer         string
		kind         report.Kind
		base, cur    float64
		lo, hi       float64
		base50, cu50 float64
	}
	for _, x := range []row{
		{4, "gateway", "POST /quote", "pricing", report.Wait, 18.034, 223.912, 159.1, 248.8, 0.1, 0.9},
		{5, "recommendation", "recommendation.R/List", "", report.Service, 82.388, 105.688, -11.9, 55.3, 12.4, 12.4},
		{3, "inventory", "inventory.I/Stock", "", report.Service, 33.7, 20.3, -29.8, 2.2, 7.2, 7.1},
		{4, "pricing", "POST /quote", "", report.Service, 20.378, 22.3, -1.4, 5.2, 3.1, 3.3},
		{2, "entitlement", "entitlement.E/Claims", "", report.Service, 31, 31.4, -2.1, 2.9, 13.9, 14},
		{1, "profile", "profile.P/Get", "", report.Service, 41.3, 42.1, -3.3, 4.9, 19.4, 19.5},
		{1, "gateway", "profile.P/Get", "profile", report.Wait, 9.4, 11, -2.2, 5.3, 0, 0},
		{0, "gateway", "GET /v2/home", "", report.Service, 18.2, 18.6, -1.1, 1.9, 16.4, 16.5},
		{6, "reputation", "reputation.R/Score", "", report.Service, 3.2, 1.5, -5, 1.6, 0.6, 0.6},
		{1, "gateway", "profile.P/Get", "profile", report.Network, 2.1, 2.1, -0.1, 0.1, 1.8, 1.8},
		{2, "gateway", "entitlement.E/Claims", "entitlement", report.Network, 2, 2, -0.1, 0.1, 1.7, 1.7},
		{4, "gateway", "POST /quote", "pricing", report.Network, 1.9, 1.9, -0.1, 0.1, 1.2, 1.2},
		{8, "pricing", "SELECT price", "prices (postgresql)", report.Service, 0.3, 0.2, -0.4, 0.3, 1.2, 1.3},
		{0, "gateway", "GET /v2/home", "", report.Untraced, 4.1, 4, -0.6, 0.4, 3.1, 3.1},
	} {
		a := report.Allocation{Quantile: 0.99, Node: x.node, Service: x.service, Operation: x.op, Peer: x.peer, Kind: x.kind,
			BaselineMs: report.Some(x.base), CurrentMs: report.Some(x.cur), DeltaMs: report.Some(x.cur - x.base), CIMs: report.Between(x.lo, x.hi), PathSwitch: report.Null}
		if len(tail) == 0 {
			a.Largest = true
		}
		if len(tail) == 2 {
			a.PathSwitch = report.Some(0.31)
			a.Warnings = report.List[string]{"pricing took over the maximum of the fan-out from inventory in 31 % of these requests"}
		}
		tail = append(tail, a)
		a.Quantile, a.BaselineMs, a.CurrentMs, a.DeltaMs, a.CIMs = 0.5, report.Some(x.base50), report.Some(x.cu50), report.Some(x.cu50-x.base50), report.Interval{Lo: report.Null, Hi: report.Null}
		a.Largest, a.PathSwitch, a.Warnings = false, report.Null, nil
		typical = append(typical, a)
	}
	return tail, typical
}

func queues() report.List[report.Queue] {
	some := report.Some
	seconds := func(lo, hi float64) (l report.List[report.Num]) {
		for i := range 40 {
			l = append(l, some(lo+(hi-lo)*float64(i*7%11)/10))
		}
		return l
	}
	return report.List[report.Queue]{
		{Service: "gateway", Peer: "pricing", Operation: "POST /quote", Resource: "pricing pool", Evidence: "client − server duration over the floor; hand-over", Owner: string(report.ClientWait),
			Baseline:      &report.QueueSide{N: 8130, MeanMs: some(0.41), P50Ms: some(0), P99Ms: some(18.2), LoMs: some(0.38), HiMs: some(1.61), GapMs: some(1.92), PerS: some(8.13), Peak1sPerS: some(14), Bursts: some(1.02), Waiting: some(0.0033), Pending: some(0.04), ServiceP99Ms: some(20.1), Occupancy: some(0.71), OccupancyP50: some(0.39), OccupancyMax: some(0.97), Occupancy1s: seconds(0.2, 0.7)},
			Current:       report.QueueSide{N: 8102, MeanMs: some(14.9), P50Ms: some(0.2), P99Ms: some(228.4), LoMs: some(14.3), HiMs: some(16.2), GapMs: some(16.5), PerS: some(8.1), Peak1sPerS: some(19), Bursts: some(1.31), Waiting: some(0.12), Pending: some(0.15), ServiceP99Ms: some(22.3), Occupancy: some(1), OccupancyP50: some(0.94), OccupancyMax: some(1), Occupancy1s: seconds(0.7, 1)},
			InferredLimit: report.Int(12), InferredLimitBaseline: report.Null,
			Tests: report.List[report.OwnerTest]{
				{Test: "explicit", Statement: "no event names this wait"},
				{Test: "sides", Statement: "offset bounds of ±0.2 ms: the request side moved alone"},
				{Test: "hand-over", Says: string(report.ClientWait), Decided: true, Statement: "81 % of the waits end within 0.2 ms of another call's end of the same pool, 3 % at shifted times; 4 % for the callee's releases"},
				{Test: "metrics", Says: string(report.ClientWait), Statement: "the pool stands at 12 of 12 in 61 of 80 seconds"},
			},
			Warnings: report.List[string]{"Little's law gives a mean of 1.48 calls waiting, the pool's pending gauge 1.6"}},
		{Service: "gateway", Peer: "profile", Operation: "profile.P/Get", Resource: "", Evidence: "client − server duration over the floor", Owner: "untraced",
			Baseline:      &report.QueueSide{N: 8130, MeanMs: some(1.2), P50Ms: some(0.4), P99Ms: some(9.4), LoMs: some(0), HiMs: some(2.9), GapMs: some(3.4), PerS: report.Null, Peak1sPerS: report.Null, Bursts: report.Null, Waiting: report.Null, Pending: report.Null, ServiceP99Ms: some(41.4), Occupancy: report.Null, OccupancyP50: report.Null, OccupancyMax: report.Null},
			Current:       report.QueueSide{N: 8102, MeanMs: some(1.3), P50Ms: some(0.4), P99Ms: some(11), LoMs: some(0), HiMs: some(3.1), GapMs: some(3.6), PerS: report.Null, Peak1sPerS: report.Null, Bursts: report.Null, Waiting: report.Null, Pending: report.Null, ServiceP99Ms: some(42.2), Occupancy: report.Null, OccupancyP50: report.Null, OccupancyMax: report.Null},
			InferredLimit: report.Null, InferredLimitBaseline: report.Null,
			Tests: report.List[report.OwnerTest]{{Test: "hand-over", Statement: "7 % against 5 % at shifted times: no one lets go when a wait ends"}}},
	}
}

func lateWork() report.LateWork {
	return report.LateWork{
		LateTotals: report.LateTotals{Attempts: 41000, LateAttempts: 221, TotalMs: 18784, MeanInFlight: report.Some(0.2348)},
		Baseline:   &report.LateTotals{Attempts: 40820, LateAttempts: 44, TotalMs: 3696, MeanInFlight: report.Some(0.0462)},
		Edges: report.List[report.LateEdge]{{Service: "gateway", Peer: "recommendation", Operation: "recommendation.R/List", Attempts: 8301, LateAttempts: 221, StartedAfter: 17, TotalMs: 18784,
			MeanInFlight: report.Some(0.2348), WaitingMs: report.Some(3011), WorkingMs: report.Some(15773), ClientFailedServerSucceeded: 171, ClientFailedUnknown: 33, ClientFailedServerFailed: 17,
			ClientSucceededServerSucceeded: 8069, ClientSucceededServerFailed: 0, ClientSucceededUnknown: 11}},
	}
}

func causes() (report.List[report.Hypothesis], report.List[report.Action]) {
	some, between := report.Some, report.Between
	hs := report.List[report.Hypothesis]{
		{Rank: 1, Kind: report.ClientWait, Strength: report.Strong, Service: "gateway", Peer: "pricing", Operation: "POST /quote",
			Claim: "calls of gateway wait for a connection to pricing", ExplainsMs: some(199.3), CIMs: between(150.2, 241),
			Evidence: report.List[report.Evidence]{
				{Statement: "p99 of the wait before POST /quote is served", Baseline: some(18.2), Current: some(228.4), Unit: "ms", Source: report.FromSpans, N: 16232},
				{Statement: "waits that end as another call of the same pool ends", Baseline: some(0.02), Current: some(0.81), Unit: "share", Source: report.FromSpans, N: 1944},
				{Statement: "calls in flight at the middle of a wait: a limit", Baseline: report.Null, Current: some(12), Unit: "calls", Source: report.FromSpans, N: 1944},
				{Statement: "pool used ÷ max at p99 of one-second views", Baseline: some(0.71), Current: some(1), Unit: "share", Source: report.FromMetrics, N: 160},
			},
			Against: report.List[report.Evidence]{{Statement: "service time of POST /quote rose a little, p99", Baseline: some(20.1), Current: some(22.3), Unit: "ms", Source: report.FromSpans, N: 16232}},
			Check: report.Check{Question: "Who lets go when a wait ends?", Rival: "server-queue of pricing", IfThis: "waits end as the caller's own calls end", IfRival: "waits end as pricing ends work of any caller",
				Status: report.Ran, Outcome: "81 % end with a call of the same pool, 4 % with another caller's"}},
		{Rank: 2, Kind: report.MixShift, Strength: report.Moderate, Service: "gateway", Operation: "GET /v2/home", Attribute: "customer.class", Value: "enterprise",
			Claim: "more enterprise requests, which read more partitions", ExplainsMs: some(17.8), CIMs: between(4.4, 33.1),
			Evidence: report.List[report.Evidence]{{Statement: "share of customer.class=enterprise", Baseline: some(0.05), Current: some(0.09), Unit: "share", Source: report.FromSpans, N: 16232}},
			Against:  report.List[report.Evidence]{{Statement: "p99 within the class standard rose as well", Baseline: some(251), Current: some(460.4), Unit: "ms", Source: report.FromSpans, N: 11440}},
			Check: report.Check{Question: "Does p99 fall when the classes are weighted as before?", Rival: "client-wait of gateway on pricing", IfThis: "reweighted p99 is near 268 ms", IfRival: "it stays near 487 ms",
				Status: report.Ran, Outcome: "reweighted p99 is 469 ms"},
			Warnings: report.List[string]{"tail n is 17 after reweighting: weak below 20"}},
		{Rank: 3, Kind: report.ServiceTime, Strength: report.Weak, Service: "recommendation", Operation: "recommendation.R/List",
			Claim: "recommendation works longer", ExplainsMs: some(6.2), CIMs: report.Interval{Lo: some(-12.3), Hi: report.Null},
			Evidence: report.List[report.Evidence]{{Statement: "service time, p99", Baseline: some(181.3), Current: some(184.1), Unit: "ms", Source: report.FromSpans, N: 16221}},
			Check: report.Check{Question: "Is the CPU of recommendation busier?", Rival: "chance", IfThis: "CPU time per request rises with service time", IfRival: "it stands still", Status: report.ToRun,
				Query: `histogram_quantile(0.99, sum by (le) (rate(process_cpu_seconds_bucket{service="recommendation"}[5m])))`}},
	}
	as := report.List[report.Action]{
		{Action: "raise the connection limit of the pricing pool", Target: "gateway → pricing", ForRank: 1, Verdict: report.Supported, Reason: "pricing's own queue stays empty at the baseline's 31 connections", Costs: "19 more connections an instance", PaidBy: "pricing"},
		{Action: "add gateway hosts", Target: "gateway", ForRank: 1, Verdict: report.Unsupported, Reason: "the limit is per process and CPU is at 41 %", Costs: "hosts", PaidBy: "the budget"},
		{Action: "degrade pricing", Target: "pricing", ForRank: 1, Verdict: report.ViolatesContract, Reason: "a price is part of the answer's core", Costs: "wrong answers", PaidBy: "customers"},
	}
	return hs, as
}

// homeClass is one class of home.
func homeClass() report.Endpoint {
	between := report.Between
	return report.Endpoint{
		Service: "gateway", Operation: "GET /v2/home", Class: "enterprise", Verdict: report.Regression,
		Basis: &report.Basis{Test: report.ExceedanceTest, Quantile: 0.9, ThresholdMs: report.Some(300.1), Baseline: [2]report.Float{21, 407}, Current: [2]report.Float{138, 729}, PValue: report.Some(0.0041),
			ExcludedMs: report.Null, ExcludedQuantile: report.Null, Method: "8 blocks of 8 s"},
		Requests: report.Sides[report.Requests]{Baseline: &report.Requests{Sampled: 407, Estimated: 407, Offered: 407, Completed: 407}, Current: report.Requests{Sampled: 729, Estimated: 729, Offered: 729, Completed: 729}},
		Arrivals: report.Sides[report.Arrivals]{Baseline: &report.Arrivals{MeanPerS: report.Some(5.1)}, Current: report.Arrivals{MeanPerS: report.Some(9.1)}},
		P50:      quantile(121, 130.3, between(1, 18), between(116, 127), between(124, 136), 0), P75: quantile(160.2, 190, between(4, 60), between(150, 172), between(175, 212), 0),
		P90: quantile(220, 390.4, between(90, 231), between(201, 240), between(340, 430), 0), P95: quantile(268.3, 470.2, between(110, 300), between(240, 310), between(420, 540), 0),
		P99: quantile(371, 611.9, upTo(60), upTo(330), between(540, 760), 368), P999: quantile(402.8, 900, report.Open, report.Open, report.Open, 3688), Max: quantile(402.8, 1204.9, report.Open, report.Open, report.Open, 0),
		AllocationScale: report.Pair{Baseline: report.Null, Current: report.Null}, Goodput: report.Pair{Baseline: report.Null, Current: report.Null},
		LateWork: report.LateWork{Baseline: &report.LateTotals{MeanInFlight: report.Null}},
	}
}

// history did not change.
func history() report.Endpoint {
	between := report.Between
	return report.Endpoint{
		Service: "gateway", Operation: "GET /v2/history/{id}", Verdict: report.NoRegression,
		Basis: &report.Basis{Test: report.IntervalTest, Quantile: 0.99, ThresholdMs: report.Some(61), Baseline: [2]report.Float{7, 702}, Current: [2]report.Float{8, 711}, PValue: report.Some(0.81),
			ExcludedMs: report.Some(11.2), ExcludedQuantile: report.Some(0.99), Method: "8 blocks of 8 s"},
		Requests: report.Sides[report.Requests]{Baseline: &report.Requests{Sampled: 702, Estimated: 702, Offered: 702, Completed: 702}, Current: report.Requests{Sampled: 711, Estimated: 711, Offered: 711, Completed: 711}},
		Arrivals: report.Sides[report.Arrivals]{Baseline: &report.Arrivals{MeanPerS: report.Some(8.8)}, Current: report.Arrivals{MeanPerS: report.Some(8.9)}},
		P50:      quantile(0.412, 0.409, between(-0.021, 0.018), between(0.402, 0.424), between(0.396, 0.421), 0), P75: quantile(0.81, 0.82, between(-0.1, 0.1), between(0.78, 0.85), between(0.79, 0.86), 0),
		P90: quantile(4.02, 4.1, between(-0.5, 0.7), between(3.7, 4.4), between(3.8, 4.5), 0), P95: quantile(12.4, 12.6, between(-2, 2.4), between(11.2, 14), between(11.1, 14.4), 0),
		P99: quantile(60.2, 61.9, between(-9, 12), between(50, 71), between(53, 72), 0), P999: quantile(91, 88, report.Open, upTo(70), upTo(70), 3688), Max: quantile(91, 88, report.Open, upTo(91), upTo(88), 0),
		AllocationScale: report.Pair{Baseline: report.Null, Current: report.Null}, Goodput: report.Pair{Baseline: report.Null, Current: report.Null},
		LateWork: report.LateWork{Baseline: &report.LateTotals{MeanInFlight: report.Null}},
	}
}

// search has 20 requests a side.
func search() report.Endpoint {
	e := CannotTell().Endpoints[0]
	e.Operation = "GET /v2/search"
	return e
}

// CannotTell compares 20 with 20 requests: p99 is open and nothing rejects.
func CannotTell() *report.Report {
	between := report.Between
	e := report.Endpoint{
		Service: "shop", Operation: "GET /search", Verdict: report.CannotTell,
		Basis: &report.Basis{Test: report.ExceedanceTest, Quantile: 0.5, ThresholdMs: report.Some(41), Baseline: [2]report.Float{8, 20}, Current: [2]report.Float{12, 20}, PValue: report.Some(0.34),
			ExcludedMs: report.Some(118), ExcludedQuantile: report.Some(0.75), Method: "independence assumed"},
		Requests: report.Sides[report.Requests]{Baseline: &report.Requests{Sampled: 20, Estimated: 20, Offered: 20, Completed: 20}, Current: report.Requests{Sampled: 20, Estimated: 20, Offered: 21, Completed: 20, Cancelled: 1}},
		Arrivals: report.Sides[report.Arrivals]{Baseline: &report.Arrivals{MeanPerS: report.Null, Peak1sPerS: report.Null}, Current: report.Arrivals{MeanPerS: report.Null, Peak1sPerS: report.Null}},
		P50:      quantile(40.1, 44, between(-8, 19), between(35, 48), between(37, 57), 0), P75: quantile(52, 61, between(-21, 60), between(44, 70), between(50, 118), 0),
		P90: quantile(70, 118, report.Open, upTo(52), upTo(61), 36), P95: quantile(88, 131, report.Open, upTo(70), upTo(90), 72),
		P99: quantile(91.5, 160.2, report.Open, upTo(70), upTo(118), 368), P999: quantile(91.5, 160.2, report.Open, upTo(70), upTo(118), 3688), Max: quantile(91.5, 160.2, report.Open, upTo(91.5), upTo(160.2), 0),
		HighestClosed:   &report.HighestClosed{Quantile: 0.75, BaselineMs: report.Some(52), CurrentMs: report.Some(61), DeltaMs: report.Some(9), CIMs: between(-21, 60)},
		AllocationScale: report.Pair{Baseline: report.Null, Current: report.Null}, Goodput: report.Pair{Baseline: report.Null, Current: report.Null},
		LateWork: report.LateWork{Baseline: &report.LateTotals{MeanInFlight: report.Null}},
		Guards: report.List[report.Guard]{
			{Kind: report.TooFewGuard, Status: report.GuardWarn, Detail: "20 requests a side; p99 needs 368 for a closed interval"},
			{Kind: report.WindowGuard, Status: report.GuardWarn, Detail: "both sides span less than 8 s: independence assumed"},
		},
		Hypotheses: report.List[report.Hypothesis]{{Rank: 1, Kind: report.ServiceTime, Strength: report.Weak, Service: "shop", Operation: "SELECT items", Peer: "items (mysql)",
			ExplainsMs: report.Some(31), CIMs: report.Open, Evidence: report.List[report.Evidence]{{Statement: "duration of SELECT items, p75", Baseline: report.Some(20.2), Current: report.Some(48.9), Unit: "ms", Source: report.FromSpans, N: 40}},
			Check: report.Check{Question: "Is it the database or a wait for a connection?", Rival: "client-wait of shop", IfThis: "the database's own log shows longer statements", IfRival: "it shows the same", Status: report.ToRun,
				Query: "SELECT digest_text, avg_timer_wait FROM performance_schema.events_statements_summary_by_digest"}}},
	}
	return &report.Report{
		Run: report.Run{Version: "0.1.0", Kept: report.KeptAll, Quantile: 0.99, Alpha: 0.05, Population: "default", MinEffectMs: 1, MinEffectShare: 0.05, Seed: 1,
			Sets: report.List[report.Set]{{Set: report.Baseline, From: "2026-01-01T12:00:00Z", To: "2026-01-01T12:00:06Z", Runs: 1, Spans: 58}, {Set: report.Current, From: "2026-01-01T13:00:00Z", To: "2026-01-01T13:00:05Z", Runs: 1, Spans: 62}}},
		Ingest: report.Ingest{Spans: 120, Traces: 41, Files: report.List[report.File]{
			{Path: "before.json", Set: report.Baseline, Format: "jaeger", Spans: 58}, {Path: "after.json", Set: report.Current, Format: "jaeger", Spans: 62}}},
		Endpoints: report.List[report.Endpoint]{e},
	}
}

// SingleSet is [Mercury]'s first endpoint from its current side alone, not yet tested for anything.
func SingleSet() *report.Report {
	r := Mercury()
	r.Run.Sets = r.Run.Sets[1:]
	r.Ingest.Files = r.Ingest.Files[2:]
	r.Ingest.Spans, r.Ingest.Traces, r.Ingest.MetricPoints, r.Ingest.Duplicates = 97204, 8123, 640, 0
	r.Ingest.Defects = r.Ingest.Defects[:2]
	r.Metrics = r.Metrics[1:]
	r.Warnings = nil
	e := r.Endpoints[0]
	e.Verdict, e.Basis, e.Hypotheses, e.Actions, e.Unexplained, e.Mix = report.Single, nil, nil, nil, nil, nil
	e.Requests.Baseline, e.Arrivals.Baseline, e.Before.Baseline, e.LateWork.Baseline = nil, nil, nil, nil
	e.Goodput.Baseline, e.AllocationScale.Baseline = report.Num{}, report.Num{}
	for _, q := range []*report.Quantile{&e.P50, &e.P75, &e.P90, &e.P95, &e.P99, &e.P999, &e.Max} {
		*q = report.Quantile{CurrentMs: q.CurrentMs, CurrentCIMs: q.CurrentCIMs, Needs: q.Needs}
	}
	e.HighestClosed = &report.HighestClosed{Quantile: 0.999, CurrentMs: e.P999.CurrentMs}
	for i := range e.Structure.Nodes {
		e.Structure.Nodes[i].Baseline = nil
	}
	e.Structure.Differences = nil
	for _, l := range []report.List[report.Allocation]{e.Allocation, e.Typical} {
		for i := range l {
			l[i].BaselineMs, l[i].DeltaMs, l[i].CIMs, l[i].PathSwitch, l[i].Warnings = report.Num{}, report.Num{}, report.Interval{}, report.Null, nil
		}
	}
	e.MixSplit = nil
	for i := range e.Queues {
		e.Queues[i].Baseline, e.Queues[i].InferredLimitBaseline = nil, report.Num{}
	}
	for i := range e.Attempts {
		e.Attempts[i].Baseline = nil
	}
	e.Exemplars = e.Exemplars[:1]
	e.Guards = e.Guards[3:5]
	r.Endpoints = report.List[report.Endpoint]{e}
	return r
}

// NotTested is [Mercury] before anything is tested: verdicts null, no hypotheses.
func NotTested() *report.Report {
	r := Mercury()
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		e.Verdict, e.Basis, e.Hypotheses, e.Actions, e.Unexplained = report.NotTested, nil, nil, nil, nil
	}
	return r
}

// Empty read one file without a span.
func Empty() *report.Report {
	return &report.Report{
		Run: report.Run{Version: "0.1.0", Kept: report.KeptAll, Quantile: 0.99, Alpha: 0.05, Population: "default", MinEffectMs: 1, MinEffectShare: 0.05,
			Sets: report.List[report.Set]{{Set: report.Current, Runs: 1}}},
		Ingest: report.Ingest{Files: report.List[report.File]{{Path: "empty.jsonl", Set: report.Current, Format: "otlp-json", ErrorsTotal: 3, Errors: report.List[report.FileError]{{Where: "line 1", Message: "not JSON"}}}}},
	}
}

// MetricsOnly has occupancies and no spans.
func MetricsOnly() *report.Report {
	r := Mercury()
	m := Empty()
	m.Ingest.Files = r.Ingest.Files[3:4]
	m.Ingest.MetricPoints = 640
	m.Metrics = r.Metrics[1:]
	return m
}

// Hostile is [SingleSet] with names that were sent to hurt somebody.
func Hostile() *report.Report {
	r := SingleSet()
	e := &r.Endpoints[0]
	e.Service = HostileNames[0]
	n := 0
	next := func() string { n++; return HostileNames[n%len(HostileNames)] }
	r.Ingest.Files[0].Path, r.Ingest.Files[0].Errors[0].Message = next(), next()
	r.Ingest.Defects[0].Example = next()
	for i := range r.Metrics {
		r.Metrics[i].Name, r.Metrics[i].Unit = next(), next()
		r.Metrics[i].Attributes = report.Attributes{next(): next()}
	}
	for i := range e.Structure.Nodes {
		e.Structure.Nodes[i].Service, e.Structure.Nodes[i].Operation, e.Structure.Nodes[i].Peer = HostileNames[0], next(), next()
	}
	e.Structure.Expression = next()
	for i := range e.Allocation {
		e.Allocation[i].Service, e.Allocation[i].Operation, e.Allocation[i].Peer = next(), next(), next()
	}
	for i := range e.Queues {
		q := &e.Queues[i]
		q.Service, q.Operation, q.Resource, q.Evidence = next(), next(), next(), next()
		q.Warnings = report.List[string]{next()}
		for j := range q.Tests {
			q.Tests[j].Statement = next()
		}
	}
	e.LateWork.Edges[0].Operation, e.Attempts[0].Operation = next(), next()
	e.Exemplars[0].TraceID, e.Exemplars[0].Why = next(), next()
	h, _ := causes()
	h[0].Operation, h[0].Claim, h[0].Evidence[0].Statement, h[0].Check.Query = next(), next(), next(), next()
	for i := range h[0].Evidence {
		h[0].Evidence[i].Baseline = report.Num{}
	}
	h[0].Against[0].Baseline = report.Num{}
	e.Hypotheses = h[:1]
	return r
}

// HostileNames steer terminals, close tags, break tables and reorder text.
var HostileNames = []string{
	"svc\x1b[31m<b>x</b>",
	"GET /\x1b[2J\x1b[1;1Hgone",
	"op\x1b]52;c;aGVsbG8=\x07end",
	"c1\u009b31mred\u009d0;title\u009c",
	"<script>alert(1)</script><img src=x onerror=alert(2)>",
	"a|b|c `code` [x](javascript:alert(1))\n# heading\r\nnext",
	"\u202egnp.exe\u202c",
	"</pre></style><!-- --> ]]> &lt;b&gt;",
	"注文サービス/決済を確定する",
	"bad\xff\xfeutf8\x00nul",
	fmt.Sprintf("long-%0300d-end", 7),
}
