package scenario

import (
	"encoding/hex"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// Truth is what no telemetry says. Times are in milliseconds; p50 and the like are the smallest value
// that is not below that share of the values.
type Truth struct {
	Scenario string       `json:"scenario"`
	About    string       `json:"about"`
	System   string       `json:"system"`
	Seed     uint64       `json:"seed"`
	Verdict  Verdict      `json:"verdict"`
	Causes   []CauseTruth `json:"causes"`
	// DeltaP99 is of the first endpoint's requests that were neither cancelled nor rejected.
	DeltaP99 float64   `json:"delta_p99_ms"`
	Baseline SideTruth `json:"baseline"`
	Current  SideTruth `json:"current"`
}

// A CauseTruth is a planted cause and what it costs.
type CauseTruth struct {
	Kind string `json:"kind"`
	Component
	// P99Without is the p99 of the side that has the cause, run again with the same random numbers but
	// without this cause; DeltaP99 is what the cause adds to it.
	P99Without float64 `json:"p99_without_ms"`
	DeltaP99   float64 `json:"delta_p99_ms"`
}

// SideTruth is one run.
type SideTruth struct {
	Start     time.Time       `json:"start"`
	Seconds   float64         `json:"seconds"`
	Offered   int             `json:"offered"`
	Completed int             `json:"completed"`
	Rejected  int             `json:"rejected"`
	Cancelled int             `json:"cancelled"`
	TimedOut  int             `json:"timed_out"`
	Failed    int             `json:"failed"`
	Omitted   int             `json:"omitted"`   // optional calls left out for lack of time
	Coalesced int             `json:"coalesced"` // calls that shared another's
	Latency   Times           `json:"latency"`   // of the first endpoint's server spans
	Endpoints []EndpointTimes `json:"endpoints"`
	Before    Times           `json:"before"` // from arrival to the entry's work
	Edges     []EdgeTruth     `json:"edges"`
	Resources []ResourceTruth `json:"resources"`
	Late      LateTruth       `json:"late"`
	Structure []EndpointTruth `json:"structure"`
	Hosts     []HostTruth     `json:"hosts"`
	Requests  []RequestTruth  `json:"requests,omitempty"`
	Attempts  []sim.Attempt   `json:"-"`
}

// Times summarises durations.
type Times struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P99  float64 `json:"p99_ms"`
	Max  float64 `json:"max_ms"`
}

// EndpointTimes are the latencies of an entry, all of them and by class.
type EndpointTimes struct {
	Service   string       `json:"service"`
	Operation string       `json:"operation"`
	Latency   Times        `json:"latency"`
	Classes   []ClassTimes `json:"classes"`
}

// ClassTimes are the latencies of one class at one entry.
type ClassTimes struct {
	Name    string `json:"name"`
	Tenant  int    `json:"tenant,omitempty"`
	Latency Times  `json:"latency"`
}

// An EdgeTruth is the calls of an operation by a service.
type EdgeTruth struct {
	Caller    string `json:"caller"` // "" for clients
	Callee    string `json:"callee"`
	Operation string `json:"operation"`
	Attempts  int    `json:"attempts"`
	Retries   int    `json:"retries"`
	Hedges    int    `json:"hedges"`
	OK        int    `json:"ok"`
	Failed    int    `json:"failed"`
	Rejected  int    `json:"rejected"`
	TimedOut  int    `json:"timed_out"`
	Cancelled int    `json:"cancelled"`
	// Of all attempts that got so far: wait for a connection, wait in the callee's executor, both legs
	// of the network, the callee's work; and of those whose work was stretched by sharing cores, or waited
	// for a lock, by how much.
	ClientWait Times `json:"client_wait"`
	ServerWait Times `json:"server_wait"`
	Network    Times `json:"network"`
	Service    Times `json:"service"`
	Stretch    Times `json:"stretch,omitzero"`
	Locked     Times `json:"locked,omitzero"`
	Late       int   `json:"late_attempts"`
	// InFlight is the mean number of attempts that the callers wait for, Peak its highest mean of one
	// second, Series every second's.
	InFlight float64   `json:"mean_in_flight"`
	Peak     float64   `json:"peak_in_flight"`
	Series   []float64 `json:"in_flight,omitempty"`
}

// A ResourceTruth is a queue and its slots over time.
type ResourceTruth struct {
	Service   string    `json:"service"`
	Instance  string    `json:"instance"`
	Kind      string    `json:"kind"` // executor, pool or lock
	Name      string    `json:"name"`
	Slots     int       `json:"slots"`
	Occupancy float64   `json:"occupancy"`      // mean share of the slots in use
	Peak      float64   `json:"peak_occupancy"` // highest mean of one second
	MaxInUse  int       `json:"max_in_use"`
	Waiting   float64   `json:"mean_waiting"`
	WaitMean  float64   `json:"mean_wait_ms"`
	Refused   int       `json:"refused"`
	InUse     []float64 `json:"in_use,omitempty"`  // mean, second by second
	Queue     []float64 `json:"waiting,omitempty"` // mean, second by second
}

// LateTruth is work for callers that had left, but for the losers of hedges.
type LateTruth struct {
	Attempts     int       `json:"late_attempts"`
	StartedAfter int       `json:"started_after"`
	Total        float64   `json:"total_ms"` // the union in each request, summed
	MeanInFlight float64   `json:"mean_in_flight"`
	Edges        []LateRow `json:"edges"`
}

// A LateRow is the late work of an edge.
type LateRow struct {
	Caller       string  `json:"caller"`
	Callee       string  `json:"callee"`
	Operation    string  `json:"operation"`
	Attempts     int     `json:"attempts"`
	LateAttempts int     `json:"late_attempts"`
	StartedAfter int     `json:"started_after"`
	HedgeLosers  int     `json:"hedge_losers"` // work for hedged attempts whose rival had won; not counted in the rest
	Writes       bool    `json:"writes,omitempty"`
	Mean         float64 `json:"mean_ms"`
	Working      float64 `json:"mean_working_ms"`
	MeanInFlight float64 `json:"mean_in_flight"`
	Succeeded    int     `json:"client_failed_server_succeeded"`
}

// An EndpointTruth is the plan of an operation: its calls, and which wait for which.
type EndpointTruth struct {
	Service   string      `json:"service"`
	Operation string      `json:"operation"`
	Calls     []SlotTruth `json:"calls"`
	// Before lists pairs of indices into Calls: the second never begins before the first has ended.
	// Pairs that are in neither order here may overlap.
	Before [][2]int `json:"before"`
}

// A SlotTruth is a call of a plan.
type SlotTruth struct {
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Optional  bool   `json:"optional,omitempty"`
	WaitedFor bool   `json:"waited_for"`
	Repeated  string `json:"repeated,omitempty"` // serial or parallel
}

// A HostTruth is a host's clock less the true time, at the start of the run, and by how many parts per
// million it is fast.
type HostTruth struct {
	Host     string  `json:"host"`
	OffsetNs int64   `json:"offset_ns"`
	DriftPpm float64 `json:"drift_ppm,omitempty"`
}

// A RequestTruth is one request and its waits.
type RequestTruth struct {
	Trace   string      `json:"trace_id"`
	Class   string      `json:"class"`
	Outcome string      `json:"outcome"`
	Latency float64     `json:"latency_ms"`
	Before  float64     `json:"before_ms"`
	Late    float64     `json:"late_ms"`
	Waits   []WaitTruth `json:"waits"`
}

// A WaitTruth is the waits of one attempt; Edge is an index into the side's edges.
type WaitTruth struct {
	Edge   int     `json:"edge"`
	Client float64 `json:"client_ms"`
	Server float64 `json:"server_ms"`
}

func millis(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }

// quantile is the smallest element of sorted xs that is not below a share q of them.
func quantile(xs []time.Duration, q float64) time.Duration {
	if len(xs) == 0 {
		return 0
	}
	return xs[max(0, int(math.Ceil(q*float64(len(xs))-1e-9))-1)]
}

func times(xs []time.Duration) Times {
	if len(xs) == 0 {
		return Times{}
	}
	sort.Slice(xs, func(i, j int) bool { return xs[i] < xs[j] })
	var sum time.Duration
	for _, x := range xs {
		sum += x
	}
	return Times{len(xs), millis(sum / time.Duration(len(xs))), millis(quantile(xs, 0.5)), millis(quantile(xs, 0.9)),
		millis(quantile(xs, 0.99)), millis(xs[len(xs)-1])}
}

func newTruth(r *Result, seed uint64) *Truth {
	t := &Truth{Scenario: r.Scenario.Name, About: r.Scenario.About, Seed: seed, Verdict: r.Scenario.Verdict, Causes: []CauseTruth{}}
	t.System, _, _ = strings.Cut(r.Scenario.Name, "/")
	t.Baseline = side(r.Baseline)
	t.Current = side(r.Current)
	t.DeltaP99 = round3(t.Current.Latency.P99 - t.Baseline.Latency.P99)
	return t
}

func round3(f float64) float64 { return math.Round(f*1e3) / 1e3 }

func (t *Truth) counterfactual(r *Result, i int, without *export.Set) {
	c := r.Scenario.Causes[i]
	with := r.Current
	if r.Scenario.Worse {
		with = r.Baseline
	}
	ct := CauseTruth{Kind: c.Kind, Component: c.Component, P99Without: millis(p99(without.Run))}
	ct.DeltaP99 = round3(millis(p99(with.Run)) - ct.P99Without)
	if (c.Kind == "instance" || c.Kind == "pause") && c.instance >= 0 {
		ct.Instance = with.InstanceID(c.Component.Service, c.instance)
	}
	t.Causes = append(t.Causes, ct)
}

// latencies are those of an entry and a class; nil means the first entry, and all classes.
func latencies(run *sim.Run, op *sim.Operation, class *sim.Class) []time.Duration {
	if op == nil {
		op = run.System.Workload.Classes[0].Op
	}
	var xs []time.Duration
	for i := range run.Requests {
		q := &run.Requests[i]
		if q.Outcome != sim.Cancelled && q.Outcome != sim.Rejected && q.Class.Op == op && (class == nil || q.Class == class) {
			xs = append(xs, q.Latency())
		}
	}
	return xs
}

func p99(run *sim.Run) time.Duration {
	xs := latencies(run, nil, nil)
	sort.Slice(xs, func(i, j int) bool { return xs[i] < xs[j] })
	return quantile(xs, 0.99)
}

func serviceName(s *sim.Service) string {
	if s == nil {
		return ""
	}
	return s.Name
}

func side(set *export.Set) SideTruth {
	run := set.Run
	t := SideTruth{Start: set.Options.Start, Seconds: round3(run.Arrivals.Seconds()), Offered: len(run.Requests), Omitted: len(run.Omitted),
		Coalesced: run.Coalesced, Attempts: run.Attempts}
	var before []time.Duration
	for i := range run.Requests {
		q := &run.Requests[i]
		switch q.Outcome {
		case sim.OK:
			t.Completed++
		case sim.Failed:
			t.Failed++
		case sim.Rejected:
			t.Rejected++
		case sim.TimedOut:
			t.TimedOut++
		case sim.Cancelled:
			t.Cancelled++
		}
		before = append(before, q.Before())
	}
	t.Before = times(before)
	t.Latency = times(latencies(run, nil, nil))
	cs := run.System.Workload.Classes
	at := map[*sim.Operation]int{}
	for i := range cs {
		c := &cs[i]
		k, ok := at[c.Op]
		if !ok {
			k = len(t.Endpoints)
			at[c.Op] = k
			t.Endpoints = append(t.Endpoints, EndpointTimes{Service: c.Op.Service.Name, Operation: c.Op.Name, Latency: times(latencies(run, c.Op, nil))})
		}
		e := &t.Endpoints[k]
		e.Classes = append(e.Classes, ClassTimes{c.Name, c.Tenant, times(latencies(run, c.Op, c))})
	}
	t.edgeTruths(run)
	t.lateTruth(run)
	for _, in := range run.Instances {
		for _, res := range in.Resources() {
			t.Resources = append(t.Resources, resourceTruth(run, set, in, res))
		}
	}
	seen := map[string]bool{}
	for _, in := range run.Instances {
		if !seen[in.Host] && in.Service.Peer == nil {
			seen[in.Host] = true
			t.Hosts = append(t.Hosts, HostTruth{in.Host, int64(in.Offset), in.Drift})
		}
	}
	for _, s := range run.System.Services {
		for _, op := range s.Ops {
			if e := endpointTruth(op); len(e.Calls) > 0 {
				t.Structure = append(t.Structure, e)
			}
		}
	}
	return t
}

func (t *SideTruth) edgeTruths(run *sim.Run) {
	type samples struct{ client, server, network, service, stretch, locked []time.Duration }
	ss := make([]samples, len(run.Edges))
	in := make([]seconds, len(run.Edges))
	t.Edges = make([]EdgeTruth, len(run.Edges))
	for i, e := range run.Edges {
		if e.Op == nil {
			t.Edges[i].Callee = run.System.Workload.Classes[0].Op.Service.Name // of any of its operations
		} else {
			t.Edges[i] = EdgeTruth{Caller: serviceName(e.Caller), Callee: e.Op.Service.Name, Operation: e.Op.Name}
		}
	}
	for i := range run.Attempts {
		a := &run.Attempts[i]
		e, s := &t.Edges[a.Edge], &ss[a.Edge]
		e.Attempts++
		switch {
		case a.Hedge:
			e.Hedges++
		case a.N > 0:
			e.Retries++
		}
		switch a.Outcome {
		case sim.OK:
			e.OK++
		case sim.Failed:
			e.Failed++
		case sim.Rejected:
			e.Rejected++
		case sim.TimedOut:
			e.TimedOut++
		case sim.Cancelled:
			e.Cancelled++
		}
		in[a.Edge].add(a.Begin, a.End)
		s.client = append(s.client, a.PoolWait)
		if a.Served == sim.Omitted {
			continue
		}
		s.server = append(s.server, a.ExecWait)
		s.service = append(s.service, a.Service)
		if a.Stretch > 0 {
			s.stretch = append(s.stretch, a.Stretch)
		}
		if a.Locked > 0 {
			s.locked = append(s.locked, a.Locked)
		}
		if a.Late() > 0 && !a.Lost {
			e.Late++
		}
		if a.Departed == 0 {
			s.network = append(s.network, a.NetOut+a.NetBack)
		}
	}
	for i := range ss {
		e, s := &t.Edges[i], &ss[i]
		e.ClientWait, e.ServerWait, e.Network = times(s.client), times(s.server), times(s.network)
		e.Service, e.Stretch, e.Locked = times(s.service), times(s.stretch), times(s.locked)
		var sum time.Duration
		for _, x := range in[i] {
			sum += x
			v := round3(x.Seconds())
			e.Peak = max(e.Peak, v)
			e.Series = append(e.Series, v)
		}
		e.InFlight = round3(float64(sum) / float64(run.Arrivals))
	}
}

// seconds is, second by second, how much time intervals fill.
type seconds []time.Duration

func (s *seconds) add(from, to time.Duration) {
	for from < to {
		i := int(from / time.Second)
		for len(*s) <= i {
			*s = append(*s, 0)
		}
		end := min(to, time.Duration(i+1)*time.Second)
		(*s)[i] += end - from
		from = end
	}
}

func (t *SideTruth) lateTruth(run *sim.Run) {
	rows := make([]LateRow, len(run.Edges))
	sums := make([]struct{ late, work time.Duration }, len(run.Edges))
	type span struct{ from, to time.Duration }
	byRequest := map[int32][]span{}
	for i := range run.Attempts {
		a := &run.Attempts[i]
		row := &rows[a.Edge]
		row.Attempts++
		late := a.Late()
		if late == 0 {
			continue
		}
		if a.Lost {
			row.HedgeLosers++
			continue
		}
		row.LateAttempts++
		row.Writes = a.Writes
		sums[a.Edge].late += late
		sums[a.Edge].work += a.LateWork()
		if a.Started >= a.LateFrom() && a.Started < a.Ended {
			row.StartedAfter++
		}
		if a.Served == sim.OK {
			row.Succeeded++
		}
		byRequest[a.Request] = append(byRequest[a.Request], span{a.LateFrom(), a.Ended})
	}
	window := run.Arrivals
	var total time.Duration
	for _, ss := range byRequest {
		sort.Slice(ss, func(i, j int) bool { return ss[i].from < ss[j].from })
		var end time.Duration
		for _, s := range ss {
			total += max(0, s.to-max(s.from, end))
			end = max(end, s.to)
		}
	}
	t.Late = LateTruth{Total: millis(total), MeanInFlight: round3(float64(total) / float64(window)), Edges: []LateRow{}}
	for i, row := range rows {
		t.Late.Attempts += row.LateAttempts
		t.Late.StartedAfter += row.StartedAfter
		if row.LateAttempts+row.HedgeLosers == 0 {
			continue
		}
		e := run.Edges[i]
		if e.Op != nil {
			row.Caller, row.Callee, row.Operation = serviceName(e.Caller), e.Op.Service.Name, e.Op.Name
		}
		n := time.Duration(max(row.LateAttempts, 1))
		row.Mean, row.Working = millis(sums[i].late/n), millis(sums[i].work/n)
		row.MeanInFlight = round3(float64(sums[i].late) / float64(window))
		t.Late.Edges = append(t.Late.Edges, row)
	}
}

func resourceTruth(run *sim.Run, set *export.Set, in *sim.Instance, res *sim.Resource) ResourceTruth {
	st := &res.Steps
	t := ResourceTruth{Service: in.Service.Name, Instance: set.InstanceID(in.Service.Name, in.N), Kind: res.Kind, Name: res.Name,
		Slots: res.Cap, MaxInUse: st.Max, Refused: res.Refused}
	window := float64(run.Arrivals)
	t.Occupancy = round3(float64(st.TotalUse) / window / float64(max(res.Cap, 1)))
	t.Waiting = round3(float64(st.TotalWaiting) / window)
	if res.Granted > 0 {
		t.WaitMean = millis(res.Wait / time.Duration(res.Granted))
	}
	for i := range st.UseNs {
		use := float64(st.UseNs[i]) / float64(time.Second)
		t.InUse = append(t.InUse, round3(use))
		t.Queue = append(t.Queue, round3(float64(st.WaitNs[i])/float64(time.Second)))
		t.Peak = max(t.Peak, round3(use/float64(max(res.Cap, 1))))
	}
	return t
}

// Summary returns the truth without the rows of single requests and seconds.
func (t *Truth) Summary() *Truth {
	c := *t
	for _, s := range []*SideTruth{&c.Baseline, &c.Current} {
		s.Requests = nil
		s.Resources = append([]ResourceTruth(nil), s.Resources...)
		for i := range s.Resources {
			s.Resources[i].InUse, s.Resources[i].Queue = nil, nil
		}
		s.Edges = append([]EdgeTruth(nil), s.Edges...)
		for i := range s.Edges {
			s.Edges[i].Series = nil
		}
	}
	return &c
}

// Rows adds the rows of single requests.
func (r *Result) Rows() {
	rows := func(t *SideTruth, run *sim.Run) {
		t.Requests = make([]RequestTruth, len(run.Requests))
		for i := range run.Requests {
			q := &run.Requests[i]
			t.Requests[i] = RequestTruth{Trace: hex.EncodeToString(q.Trace[:]), Class: q.Class.Name, Outcome: q.Outcome.String(),
				Latency: millis(q.Latency()), Before: millis(q.Before()), Waits: []WaitTruth{}}
		}
		for i := range run.Attempts {
			a := &run.Attempts[i]
			q := &t.Requests[a.Request]
			q.Late += millis(a.Late())
			if a.PoolWait > 0 || a.ExecWait > 0 {
				q.Waits = append(q.Waits, WaitTruth{int(a.Edge), millis(a.PoolWait), millis(a.ExecWait)})
			}
		}
	}
	rows(&r.Truth.Baseline, r.Baseline.Run)
	rows(&r.Truth.Current, r.Current.Run)
}

// endpointTruth reads the calls of a plan and their order.
func endpointTruth(op *sim.Operation) EndpointTruth {
	e := EndpointTruth{Service: op.Service.Name, Operation: op.Name, Calls: []SlotTruth{}, Before: [][2]int{}}
	slots := map[*sim.Operation]int{}
	pairs := map[[2]int]int{} // 1: ordered, -1: not always
	order := func(before, after []int) {
		for _, a := range before {
			for _, b := range after {
				if a != b && pairs[[2]int{a, b}] == 0 {
					pairs[[2]int{a, b}] = 1
				}
			}
		}
	}
	// visit returns the slots of a step that it waits for, and all of them.
	var visit func(s sim.Step, waited bool, repeated string) (waitedFor, all []int)
	visit = func(s sim.Step, waited bool, repeated string) (w, all []int) {
		switch s := s.(type) {
		case *sim.Call:
			i, ok := slots[s.To]
			if !ok {
				i = len(e.Calls)
				slots[s.To] = i
				e.Calls = append(e.Calls, SlotTruth{Service: s.To.Service.Name, Operation: s.To.Name, Optional: s.Optional, WaitedFor: waited, Repeated: repeated})
			} else if e.Calls[i].Repeated == "" {
				e.Calls[i].Repeated = "serial"
			}
			return []int{i}, []int{i}
		case sim.Seq:
			for _, c := range s {
				cw, ca := visit(c, waited, repeated)
				order(w, ca)
				w, all = append(w, cw...), append(all, ca...)
			}
		case *sim.Parallel:
			for _, c := range s.Branches {
				cw, ca := visit(c, waited, repeated)
				w, all = append(w, cw...), append(all, ca...)
			}
		case *sim.Repeat:
			how := "serial"
			if s.Parallel {
				how = "parallel"
			}
			return visit(s.Step, waited, how)
		case *sim.When:
			if s.Then != nil {
				w, all = visit(s.Then, waited, repeated)
			}
			if s.Else != nil {
				cw, ca := visit(s.Else, waited, repeated)
				w, all = append(w, cw...), append(all, ca...)
			}
		case *sim.Lock:
			return visit(s.Step, waited, repeated)
		case *sim.Async:
			_, all = visit(s.Step, false, repeated)
		}
		return w, all
	}
	visit(sim.Seq(op.Plan), true, "")
	for i := range e.Calls {
		for j := range e.Calls {
			if pairs[[2]int{i, j}] == 1 && pairs[[2]int{j, i}] == 0 {
				e.Before = append(e.Before, [2]int{i, j})
			}
		}
	}
	return e
}
