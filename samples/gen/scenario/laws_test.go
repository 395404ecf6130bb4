package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// kinds are the causes that an analysis may name.
var kinds = strings.Fields(`load client-wait server-queue service-time contention instance network mix-shift fan-out
	call-count serialization new-hop retries timeout-plateau late-work optional-branch hedging pause measurement`)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // many short runs: less collecting makes them half as long
	os.Exit(m.Run())
}

// Every scenario obeys the laws.
func TestScenarios(t *testing.T) {
	var mu sync.Mutex
	systems := map[string]map[string]bool{} // by kind
	for _, s := range List() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			r := s.Generate(1, 100)
			for _, run := range []*sim.Run{r.Baseline.Run, r.Current.Run} {
				counted(t, run)
				attemptsAddUp(t, run)
				queuesAddUp(t, run)
				spansFit(t, run)
			}
			structureHolds(t, r.Baseline.Run, r.Truth.Baseline.Structure)
			structureHolds(t, r.Current.Run, r.Truth.Current.Structure)
			system, _, _ := strings.Cut(s.Name, "/")
			for _, c := range r.Truth.Causes {
				componentExists(t, r, c)
				mu.Lock()
				if systems[c.Kind] == nil {
					systems[c.Kind] = map[string]bool{}
				}
				systems[c.Kind][system] = true
				mu.Unlock()
			}
			if s.Verdict == NoChange && len(r.Truth.Causes) > 0 {
				t.Error("a null scenario with a cause")
			}
		})
	}
	t.Cleanup(func() {
		for _, k := range kinds {
			if len(systems[k]) < 2 {
				t.Errorf("%s is planted in %d systems, want two", k, len(systems[k]))
			}
		}
		if len(systems) != len(kinds) {
			t.Errorf("%d kinds planted, %d known", len(systems), len(kinds))
		}
	})
}

// Every planted cause shows: it adds a twelfth or more to the p99.
func TestCausesShow(t *testing.T) {
	for _, s := range List() {
		n := 600
		switch {
		case s.Name == "mesh/late-work" || s.Name == "search/fan-out":
			n = 800 // whose slow calls are rare
		case strings.HasPrefix(s.Name, "search/"):
			n = 300 // of forty calls and more
		}
		for i, c := range s.Causes {
			if c.Kind == "measurement" {
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				with := p99(s.side(1, !s.Worse, false, n, func(int) bool { return true }).Run)
				without := p99(s.side(1, !s.Worse, false, n, func(k int) bool { return k != i }).Run)
				if d := with - without; float64(d) < float64(with)/12 {
					t.Errorf("%s adds %v to a p99 of %v", c.Kind, d, with)
				}
			})
		}
	}
}

func TestEverySystemHasNullAndImprovement(t *testing.T) {
	names := map[string]bool{}
	for _, s := range List() {
		if names[s.Name] {
			t.Errorf("two scenarios %s", s.Name)
		}
		names[s.Name] = true
	}
	for _, system := range []string{"mercury", "checkout", "search", "mesh"} {
		for _, what := range []string{"null", "improvement"} {
			if !names[system+"/"+what] {
				t.Errorf("no %s/%s", system, what)
			}
		}
	}
}

// offered = completed + rejected + cancelled + failed (of which some timed out), and each has ended.
func counted(t *testing.T, r *sim.Run) {
	t.Helper()
	n := map[sim.Outcome]int{}
	for i := range r.Requests {
		q := &r.Requests[i]
		n[q.Outcome]++
		if q.Instance == nil || q.End < q.Start || q.Start < q.Arrive {
			t.Fatalf("request %d arrived %v, began %v, ended %v", i, q.Arrive, q.Start, q.End)
		}
	}
	if sum := n[sim.OK] + n[sim.Rejected] + n[sim.Cancelled] + n[sim.Failed] + n[sim.TimedOut]; sum != len(r.Requests) || sum != r.Options.Requests {
		t.Errorf("%d requests of %d are counted: %v", sum, r.Options.Requests, n)
	}
	entry := 0
	for i := range r.Attempts {
		if r.Attempts[i].Edge == 0 {
			entry++
		}
	}
	if entry != len(r.Requests) {
		t.Errorf("%d requests, %d attempts of clients", len(r.Requests), entry)
	}
}

// An attempt's waits, network and service fill the time from its begin to its end, to the nanosecond.
func attemptsAddUp(t *testing.T, r *sim.Run) {
	t.Helper()
	for i := range r.Attempts {
		a := &r.Attempts[i]
		sum := a.Begin + a.PoolWait + a.NetOut + a.ExecWait + a.Service + a.NetBack
		message := r.Edges[a.Edge].Op != nil && r.Edges[a.Edge].Op.Protocol == sim.Message
		if a.Departed == 0 && !message && sum != a.End {
			t.Fatalf("attempt %d of %v: parts end at %v, it ends at %v: %+v", i, r.Edges[a.Edge], sum, a.End, a)
		}
		if a.Departed > 0 && a.Departed != a.End {
			t.Fatalf("attempt %d departed at %v, ended at %v", i, a.Departed, a.End)
		}
		if a.Stretch+a.Locked > 0 && a.Service <= 0 || a.PoolWait < 0 || a.ExecWait < 0 || a.NetOut < 0 || a.NetBack < 0 {
			t.Fatalf("attempt %d: %+v", i, a)
		}
	}
}

// Little's law on every queue and on its slots, exactly, since every run drains: the integral of the
// number waiting is the sum of the waits, that of the number in use is the sum of the holds.
func queuesAddUp(t *testing.T, r *sim.Run) {
	t.Helper()
	for _, in := range r.Instances {
		for _, res := range in.Resources() {
			if res.Offered != res.Granted+res.Refused+res.Left {
				t.Errorf("%s %d %s: offered %d, granted %d, refused %d, left %d", in.Service.Name, in.N, res.Name, res.Offered, res.Granted, res.Refused, res.Left)
			}
			if got, want := res.Steps.TotalWaiting, res.Wait-res.Waking+res.LeftWait; got != want {
				t.Errorf("%s %d %s: ∫waiting = %v, Σ waits = %v", in.Service.Name, in.N, res.Name, got, want)
			}
			if got, want := res.Steps.TotalUse, res.Hold; got != want {
				t.Errorf("%s %d %s: ∫in use = %v, Σ holds = %v", in.Service.Name, in.N, res.Name, got, want)
			}
		}
	}
}

// Parents exist, ids are unique, and in true time a callee's span lies inside its caller's unless the
// caller left.
func spansFit(t *testing.T, r *sim.Run) {
	t.Helper()
	type id struct {
		trace [16]byte
		span  uint64
	}
	spans := map[id]*sim.Span{}
	for i := range r.Spans {
		s := &r.Spans[i]
		k := id{s.Trace, s.ID}
		if spans[k] != nil || s.ID == 0 {
			t.Fatalf("span id %x used twice in %x", s.ID, s.Trace)
		}
		spans[k] = s
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		if s.End < s.Start {
			t.Fatalf("span %x ends before it starts", s.ID)
		}
		if s.Link != nil && s.Link.Span != 0 && spans[id{s.Link.Trace, s.Link.Span}] == nil {
			t.Fatalf("a link of %x leads nowhere", s.ID)
		}
		if s.Parent == 0 {
			continue
		}
		p := spans[id{s.Trace, s.Parent}]
		if p == nil {
			t.Fatalf("the parent of %x %v %s is missing", s.ID, s.Kind, s.Name)
		}
		if s.Start < p.Start {
			t.Fatalf("%x starts %v before its parent", s.ID, p.Start-s.Start)
		}
		if p.Kind == sim.Client && s.Kind == sim.Server && p.Served != sim.Omitted && s.End > p.End {
			t.Fatalf("server span %x ends %v after its client's, which was answered", s.ID, s.End-p.End)
		}
	}
}

// What the truth says of order and of waiting is so in every request: a call that comes before another
// has ended when the other begins, and a call that is waited for ends before its caller does. Calls that
// their caller leaves running on purpose are exempt.
func structureHolds(t *testing.T, r *sim.Run, structure []EndpointTruth) {
	t.Helper()
	type slot struct{ service, op string }
	left := map[slot]bool{}
	for _, s := range r.System.Services {
		for _, op := range s.Ops {
			sim.Walk(op.Plan, func(st sim.Step) {
				if c, ok := st.(*sim.Call); ok && (c.Abandon > 0 || c.Hedge != nil && c.Hedge.Keep) {
					left[slot{c.To.Service.Name, c.To.Name}] = true
				}
			})
		}
	}
	calls := map[uint64]map[slot][]*sim.Span{} // by the server span that makes them
	for i := range r.Spans {
		s := &r.Spans[i]
		if s.Kind != sim.Client {
			continue
		}
		if calls[s.Parent] == nil {
			calls[s.Parent] = map[slot][]*sim.Span{}
		}
		k := slot{s.Op.Service.Name, s.Op.Name}
		calls[s.Parent][k] = append(calls[s.Parent][k], s)
	}
	endpoints := map[slot]*EndpointTruth{}
	for i := range structure {
		endpoints[slot{structure[i].Service, structure[i].Operation}] = &structure[i]
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		if s.Kind != sim.Server || s.In.Proxy {
			continue
		}
		e := endpoints[slot{s.Op.Service.Name, s.Op.Name}]
		if e == nil {
			continue
		}
		of := func(k int) []*sim.Span {
			key := slot{e.Calls[k].Service, e.Calls[k].Operation}
			if left[key] {
				return nil
			}
			return calls[s.ID][key]
		}
		for _, b := range e.Before {
			for _, x := range of(b[0]) {
				for _, y := range of(b[1]) {
					if x.End > y.Start {
						t.Fatalf("%s: %s ends %v after %s begins", e.Operation, x.Op.Name, x.End-y.Start, y.Op.Name)
					}
				}
			}
		}
		for k, c := range e.Calls {
			for _, x := range of(k) {
				if c.WaitedFor && x.End > s.End {
					t.Fatalf("%s: %s, which is waited for, ends %v after it", e.Operation, x.Op.Name, x.End-s.End)
				}
			}
		}
	}
}

// A planted component names things that are there.
func componentExists(t *testing.T, r *Result, c CauseTruth) {
	t.Helper()
	sys := r.Current.Run.System
	if r.Scenario.Worse {
		sys = r.Baseline.Run.System
	}
	switch {
	case c.Kind == "measurement" || c.Kind == "mix-shift":
		if c.Attribute == "" {
			t.Errorf("%s without an attribute", c.Kind)
		}
		return
	case (c.Kind == "instance" || c.Kind == "pause") && c.Instance == "" && r.Scenario.Causes[0].instance >= 0:
		t.Errorf("%s without an instance", c.Kind)
	}
	callee := sys.Service(c.Service)
	if c.Peer != "" {
		calls(sys, c.Service, c.Peer, c.Operation)
		callee = sys.Service(c.Peer)
	}
	if c.Operation != "" {
		callee.Op(c.Operation)
	}
}

// The same arguments give the same bytes, and another seed gives others.
func TestDeterminism(t *testing.T) {
	bytesOf := func(seed uint64) []byte {
		r, err := Generate("mesh/hedging", seed, 200)
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		for _, enc := range []otlp.Encoding{otlp.JSON, otlp.Proto} {
			tr, m := r.Current.Encode(enc)
			out = append(append(out, tr...), m...)
		}
		r.Rows()
		truth, err := json.Marshal(r.Truth)
		if err != nil {
			t.Fatal(err)
		}
		return append(out, truth...)
	}
	first := bytesOf(1)
	if !bytes.Equal(first, bytesOf(1)) {
		t.Error("two runs with one seed differ")
	}
	if bytes.Equal(first, bytesOf(2)) {
		t.Error("two seeds give the same")
	}
}

// The counterfactual of the only cause is the null scenario's current run: same numbers, no cause. And a
// baseline does not know which scenario it belongs to.
func TestCounterfactualIsNull(t *testing.T) {
	null, _ := Generate("mercury/null", 3, 400)
	cause, _ := Generate("mercury/service-time", 3, 400)
	if got, want := cause.Truth.Causes[0].P99Without, null.Truth.Current.Latency.P99; got != want {
		t.Errorf("p99 without the cause %g ms, in the null scenario %g ms", got, want)
	}
	a, am := null.Baseline.Encode(otlp.JSON)
	b, bm := cause.Baseline.Encode(otlp.JSON)
	if !bytes.Equal(a, b) || !bytes.Equal(am, bm) {
		t.Error("the baselines differ")
	}
}

// The truth does not leak: telemetry holds none but the conventions' attributes, and its only free
// strings are those of the systems' descriptions.
func TestNoTruthInTelemetry(t *testing.T) {
	allowed := strings.Fields(`service. deployment. host. k8s. telemetry. http. url. server. network. client. user_agent. error.
		rpc. db. messaging. cpu. jvm. istio. grpc. component upstream_cluster node_id response_flags app.tier app.tenant.id name httpclient state`)
	check := func(where string, as []otlp.Attr) {
		for _, a := range as {
			ok := false
			for _, p := range allowed {
				ok = ok || a.Key == p || strings.HasSuffix(p, ".") && strings.HasPrefix(a.Key, p)
			}
			if !ok {
				t.Errorf("%s has the attribute %q", where, a.Key)
			}
			if v, ok := a.Value.(string); ok {
				for _, k := range append(kinds, "truth", "scenario", "baseline") {
					if strings.Contains(v, k) && k != "load" {
						t.Errorf("%s: %s = %q speaks of %s", where, a.Key, v, k)
					}
				}
			}
		}
	}
	for _, name := range []string{"mercury/pause", "checkout/contention", "search/hedging", "mesh/late-work", "mesh/null-sidecars"} {
		r, err := Generate(name, 2, 100)
		if err != nil {
			t.Fatal(err)
		}
		r.Current.Traces(func(rs []otlp.ResourceSpans) error {
			for _, x := range rs {
				check("a resource", x.Resource.Attrs)
				for _, sc := range x.Scopes {
					for _, s := range sc.Spans {
						check("span "+s.Name, s.Attrs)
					}
				}
			}
			return nil
		})
		r.Current.Metrics(func(rms []otlp.ResourceMetrics) error {
			for _, x := range rms {
				for _, m := range x.Metrics {
					for _, p := range m.Points {
						check("metric "+m.Name, p.Attrs)
					}
				}
			}
			return nil
		})
	}
}

// The late work of the truth obeys Mercury's formula: mean in flight = rate × late share × mean late time.
func TestLateWorkFormula(t *testing.T) {
	r, err := Generate("mercury/late-work", 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	side := &r.Truth.Current
	window := r.Current.Run.Arrivals.Seconds()
	for _, e := range side.Late.Edges {
		rate := float64(e.Attempts) / window
		share := float64(e.LateAttempts) / float64(e.Attempts)
		if want := rate * share * e.Mean / 1000; e.MeanInFlight < want*0.999-0.001 || e.MeanInFlight > want*1.001+0.001 {
			t.Errorf("%s: mean in flight %g, formula %g", e.Operation, e.MeanInFlight, want)
		}
	}
	if side.Late.Attempts == 0 {
		t.Error("no late work")
	}
}

// Mercury's order and what is waited for, as its plan has them.
func TestStructure(t *testing.T) {
	r, err := Generate("mercury/null", 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.Truth.Current.Structure {
		if e.Operation != "GET /v2/home" {
			continue
		}
		for i, c := range e.Calls {
			var after []string
			for _, b := range e.Before {
				if b[1] == i {
					after = append(after, e.Calls[b[0]].Service)
				}
			}
			got = append(got, fmt.Sprintf("%s optional=%v waited=%v %s after %v", c.Service, c.Optional, c.WaitedFor, c.Repeated, after))
		}
	}
	want := `profile optional=false waited=true  after []
entitlement optional=false waited=true  after [profile]
inventory optional=false waited=true  after [profile entitlement]
pricing optional=false waited=true parallel after [profile entitlement]
recommendation optional=true waited=true  after [profile entitlement]
reputation optional=true waited=true  after [profile entitlement]
experiment optional=false waited=true  after [profile entitlement]
experiment optional=false waited=false  after [profile entitlement experiment]`
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}
