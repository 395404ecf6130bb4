package analysis

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// Inspect reads one data set and says what it holds, without analysing it.
func Inspect(ctx context.Context, o *Options) (*report.Inspection, error) {
	l := &Loaded{Defects: trace.Tally{}, Unknown: map[string]int64{}, seen: newSeen()}
	if err := l.all(ctx, o); err != nil {
		return nil, err
	}
	reading := o.reading()
	reading.Inner = true
	in := &inspector{
		analyzer: analyzer{o: o, opt: o.stats(), reading: summary.Read(nil, l.Sides[summary.Current], reading)},
		out:      &report.Inspection{Version: o.Version},
	}
	in.set = in.reading.Sets[summary.Current]
	in.read(l)
	in.services(l.seen)
	in.endpoints()
	in.attributes()
	in.edges()
	in.waits()
	in.metrics()
	in.told()
	in.sampling(l.seen)
	in.missing()
	return in.out, nil
}

// seen is what spans tell that no record keeps.
type seen struct {
	kinds      map[trace.Kind]int64
	services   map[string]*serviceSeen
	deadlines  map[string]int64
	policies   map[string]int64
	lock       sync.Mutex // of samplings
	samplings  map[population.Sampling]int64
	fromStores bool // some spans were read, not only snapshots
}

type serviceSeen struct {
	spans                      int64
	instances, hosts, versions map[string]bool
}

func newSeen() *seen {
	return &seen{kinds: map[trace.Kind]int64{}, services: map[string]*serviceSeen{}, deadlines: map[string]int64{}, policies: map[string]int64{}, samplings: map[population.Sampling]int64{}}
}

func (s *seen) span(service, instance, host, version string, n int64) {
	of := s.services[service]
	if of == nil {
		of = &serviceSeen{instances: map[string]bool{}, hosts: map[string]bool{}, versions: map[string]bool{}}
		s.services[service] = of
	}
	of.spans += n
	named(of.instances, instance)
	named(of.hosts, host)
	named(of.versions, version)
}

func named(set map[string]bool, name string) {
	if name != "" {
		set[name] = true
	}
}

// spans counts the spans of a store.
func (s *seen) spans(store *trace.Store) {
	s.fromStores = true
	resources := make([]int64, store.Resources())
	deadline := map[trace.StringID]bool{}
	policy := map[trace.StringID]bool{}
	for id := range store.Strings() {
		key := trace.StringID(id)
		name := strings.ToLower(store.String(key))
		if len(name) > 80 {
			continue
		}
		deadline[key] = strings.Contains(name, "deadline") || strings.Contains(name, "timeout")
		policy[key] = strings.HasPrefix(name, "tailsampling.") || strings.HasPrefix(name, "sampling.policy")
	}
	for i := range store.Len() {
		r := trace.SpanRef(i)
		s.kinds[store.Kind(r)]++
		resources[store.ResourceOf(r)]++
		for _, a := range store.Attrs(r) {
			if deadline[a.Key] {
				s.deadlines[store.String(a.Key)]++
			}
			if policy[a.Key] {
				s.policies[store.String(a.Key)+"="+store.Text(a.Value)]++
			}
		}
	}
	for id, n := range resources {
		if n > 0 {
			r := store.Resource(trace.ResourceID(id))
			s.span(store.String(r.Service), store.String(r.Instance), store.String(r.Host), store.String(r.Version), n)
		}
	}
}

// requests counts how the requests that judge judges were sampled. Several such
// judges may be asked at once.
func (s *seen) requests(judge graph.Judge) graph.Judge {
	return func(store *trace.Store, r trace.SpanRef, calls bool) graph.Judgement {
		_, sampling := population.WeightOf(store, r)
		s.lock.Lock()
		s.samplings[sampling]++
		s.lock.Unlock()
		return judge(store, r, calls)
	}
}

// An inspector fills an Inspection.
type inspector struct {
	analyzer
	set *summary.Set
	out *report.Inspection
}

// tallied is counts with the greatest first.
func tallied(m map[string]int64) report.List[report.Tallied] {
	var out report.List[report.Tallied]
	for name, n := range m {
		out = append(out, report.Tallied{Name: name, Count: n})
	}
	slices.SortFunc(out, func(a, b report.Tallied) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (in *inspector) read(l *Loaded) {
	var rep report.Report
	in.ingest(&rep, l)
	in.out.Ingest = rep.Ingest
	in.out.From, in.out.To = instant(in.set.Counts.From), instant(in.set.Counts.To)
	if first, last, ok := in.set.Metrics.Span(); ok {
		in.out.MetricsFrom, in.out.MetricsTo = instant(first), instant(last)
	}
	in.out.UnknownFields = tallied(l.Unknown)
	in.out.Outside = in.set.Counts.Spans
	for _, r := range in.set.Records {
		for i := range r.Calls {
			in.out.Outside -= halves(&r.Calls[i])
		}
	}
}

// halves is the number of spans of a call.
func halves(c *graph.Call) int64 {
	if c.Paired() {
		return 2
	}
	return 1
}

func (in *inspector) services(s *seen) {
	if !s.fromStores { // a snapshot: what its records tell
		for _, r := range in.set.Records {
			for i := range r.Calls {
				for _, h := range [2]*graph.Half{&r.Calls[i].Client, &r.Calls[i].Work} {
					if h.Seen() {
						p := in.reading.Dict.ProcAt(h.Proc)
						s.span(in.str(p.Service), in.str(p.Instance), in.str(p.Host), in.str(p.Version), 1)
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.services)) {
		of := s.services[name]
		in.out.Services = append(in.out.Services, report.InspectedService{
			Service: name, Spans: of.spans, Instances: int64(len(of.instances)), Hosts: int64(len(of.hosts)), Versions: slices.Sorted(maps.Keys(of.versions)),
		})
	}
	kinds := map[string]int64{}
	for k, n := range s.kinds {
		kinds[k.String()] = n
	}
	in.out.SpanKinds = tallied(kinds)
	in.out.Deadlines = tallied(s.deadlines)
	in.out.Sampling.Policies = tallied(s.policies)
}

// endpoints counts the requests of each endpoint.
func (in *inspector) endpoints() {
	type row struct {
		report.InspectedEndpoint
		time float64
	}
	var rows []row
	for _, e := range in.reading.Endpoints {
		rows = append(rows, row{InspectedEndpoint: in.endpoint(e)})
		r := &rows[len(rows)-1]
		for _, q := range e.Sides[summary.Current] {
			r.time += float64(q.Duration()) * weight(q.Weight)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if a.Inner != b.Inner {
			if a.Inner {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.time, a.time)
	})
	for _, r := range rows {
		in.out.Endpoints = append(in.out.Endpoints, r.InspectedEndpoint)
	}
}

func (in *inspector) endpoint(e *summary.Endpoint) report.InspectedEndpoint {
	out := report.InspectedEndpoint{Service: in.str(e.Name.Service), Operation: in.str(e.Name.Operation), Inner: e.Inner, PerS: report.Null, P50Ms: report.Null, P99Ms: report.Null}
	shapes := map[string]bool{}
	var counted []weighted
	for _, q := range e.Sides[summary.Current] {
		w := report.Float(weight(q.Weight))
		out.Requests++
		out.Estimated += w
		if out.Kind == "" {
			out.Kind = in.entryKind(q.Record, e.Inner)
		}
		if q.Before != graph.NoBefore || len(q.Dwells) > 0 {
			out.BeforeRequests++
			if out.Before == "" {
				out.Before = "messaging dwell"
				if q.BeforeEvidence != 0 {
					out.Before = in.str(q.BeforeEvidence)
				}
			}
		}
		if !e.Inner {
			shapes[shapeKey(q.Record)] = true
		}
		if q.Standing != graph.Counted {
			out.NotCount++
			continue
		}
		switch q.Outcome {
		case population.Failed:
			out.Failed += w
		case population.TimedOut:
			out.TimedOut += w
		case population.Cancelled:
			out.Cancelled += w
		case population.Rejected:
			out.Rejected += w
		}
		if in.o.Population.Holds(q.Outcome) {
			counted = append(counted, weighted{q.Duration(), weight(q.Weight)})
		}
	}
	out.Shapes = int64(len(shapes))
	if s := window(in.set); s >= 1 {
		out.PerS = report.Some(float64(out.Estimated) / s)
	}
	slices.SortFunc(counted, func(a, b weighted) int { return cmp.Compare(a.ns, b.ns) })
	out.P50Ms, out.P99Ms = quantileOf(counted, 0.5), quantileOf(counted, 0.99)
	return out
}

func (in *inspector) entryKind(r *graph.Record, inner bool) string {
	if inner {
		return trace.KindServer.String()
	}
	return in.reading.Dict.SlotAt(r.Calls[0].Slot).Kind.String()
}

// shapeKey is the set of slots that a record has.
func shapeKey(r *graph.Record) string {
	slots := make([]graph.SlotID, len(r.Calls))
	for i := range r.Calls {
		slots[i] = r.Calls[i].Slot
	}
	slices.Sort(slots)
	key := make([]byte, 0, 4*len(slots))
	for i, s := range slots {
		if i == 0 || s != slots[i-1] {
			key = append(key, byte(s), byte(s>>8), byte(s>>16), byte(s>>24))
		}
	}
	return string(key)
}

// A weighted is a latency with its weight.
type weighted struct {
	ns     int64
	weight float64
}

// quantileOf is the smallest x with F(x) ≥ q, in ms; null of none.
func quantileOf(sorted []weighted, q float64) report.Num {
	total := 0.0
	for _, w := range sorted {
		total += w.weight
	}
	sum := 0.0
	for _, w := range sorted {
		if sum += w.weight; sum >= q*total*(1-1e-12) && sum > 0 {
			return report.Ms(w.ns)
		}
	}
	return report.Null
}

// maxValues bounds the values that are told apart of one attribute.
const maxValues = 1001

// attributes lists what entry spans and their resources say of requests: what
// --class-attr could name.
func (in *inspector) attributes() {
	values := map[trace.StringID]map[trace.Value]int64{}
	requests := map[trace.StringID]int64{}
	for _, r := range in.set.Records {
		for _, a := range r.Attrs {
			of := values[a.Key]
			if of == nil {
				of = map[trace.Value]int64{}
				values[a.Key] = of
			}
			requests[a.Key]++
			if _, known := of[a.Value]; known || len(of) < maxValues {
				of[a.Value]++
			}
		}
	}
	for key, of := range values {
		texts := map[string]int64{}
		for v, n := range of {
			texts[in.str(v.TextID())] += n
		}
		most := tallied(texts)
		in.out.Attributes = append(in.out.Attributes, report.InspectedAttr{Key: in.str(key), Requests: requests[key], Values: int64(len(of)), Most: most[:min(len(most), 8)]})
	}
	slices.SortFunc(in.out.Attributes, func(a, b report.InspectedAttr) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Key, b.Key))
	})
}

// edges counts the calls between services, and to peers that recorded nothing.
func (in *inspector) edges() {
	type key struct {
		caller, callee string
		recorded       bool
		kind           trace.Kind
	}
	d := in.reading.Dict
	edges := map[key]*report.InspectedEdge{}
	for _, r := range in.set.Records {
		for i := range r.Calls {
			c := &r.Calls[i]
			s := d.SlotAt(c.Slot)
			k := key{kind: s.Kind}
			switch {
			case c.Paired():
				k.caller, k.callee, k.recorded = in.str(s.Caller.Service), in.str(s.Callee.Service), true
			case c.Client.Seen():
				k.caller, k.callee = in.str(s.Caller.Service), in.str(s.Peer)
			case c.Parent >= 0:
				up := d.SlotAt(r.Calls[c.Parent].Slot)
				k.caller, k.callee, k.recorded = in.str(up.Shown().Service), in.str(s.Callee.Service), true
				if k.caller == k.callee {
					continue // inside a service
				}
			default:
				continue
			}
			e := edges[k]
			if e == nil {
				e = &report.InspectedEdge{Caller: k.caller, Callee: k.callee, Recorded: k.recorded, Kind: k.kind.String(), FloorMs: report.Null}
				edges[k] = e
			}
			e.Calls++
			switch {
			case c.Paired():
				e.Pairs++
				if f, ok := in.set.Calibration.Floors.Of(c.Slot); ok {
					if ms := float64(f.NS) / 1e6; !e.FloorMs.Known() || ms < e.FloorMs.Or(0) {
						e.FloorMs = report.Some(ms)
					}
				}
			case c.Client.Seen():
				e.ClientOnly++
			default:
				e.ServerOnly++
			}
			switch c.OuterEnd() {
			case graph.TimedOut:
				e.TimedOut++
			case graph.Cancelled:
				e.Cancelled++
			}
		}
	}
	for _, e := range edges {
		in.out.Edges = append(in.out.Edges, *e)
	}
	slices.SortFunc(in.out.Edges, func(a, b report.InspectedEdge) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), strings.Compare(a.Caller, b.Caller), strings.Compare(a.Callee, b.Callee), strings.Compare(a.Kind, b.Kind), cmp.Compare(b.Pairs, a.Pairs))
	})
}

// waits counts where spans say that they waited.
func (in *inspector) waits() {
	type key struct{ service, evidence, resource string }
	type sum struct{ n, ns int64 }
	found := map[key]sum{}
	for _, r := range in.set.Records {
		for _, w := range r.Waits {
			h := &r.Calls[w.Call].Work
			if w.Client {
				h = &r.Calls[w.Call].Client
			}
			k := key{in.str(in.reading.Dict.ProcAt(h.Proc).Service), in.str(w.Evidence), in.str(w.Resource)}
			s := found[k]
			found[k] = sum{s.n + 1, s.ns + w.Duration()}
		}
	}
	for k, s := range found {
		in.out.Waits = append(in.out.Waits, report.InspectedWait{Service: k.service, Evidence: k.evidence, Resource: k.resource, Count: s.n, TotalMs: report.Ms(s.ns)})
	}
	slices.SortFunc(in.out.Waits, func(a, b report.InspectedWait) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Service, b.Service), strings.Compare(a.Evidence, b.Evidence), strings.Compare(a.Resource, b.Resource))
	})
}

// metrics lists the pools, signals and durations that metrics hold.
func (in *inspector) metrics() {
	names := in.o.reading().Names
	type pool struct{ service, kind, name string }
	pools := map[pool]*report.InspectedPool{}
	var order []pool
	for _, p := range in.set.Metrics.Pools(metric.Window{}, names) {
		k := pool{p.Service, string(p.Kind), p.Name}
		row := pools[k]
		if row == nil {
			row = &report.InspectedPool{Service: k.service, Kind: k.kind, Name: k.name, Limit: report.Null, UsedMax: report.Null}
			pools[k] = row
			order = append(order, k)
		}
		row.Instances++
		if p.Exhausted() {
			row.Exhausted++
		}
		if p.Limit.Seconds > 0 {
			row.Limit = report.Some(math.Max(row.Limit.Or(0), p.Limit.P50))
		}
		if p.Used.Seconds > 0 {
			row.UsedMax = report.Some(math.Max(row.UsedMax.Or(0), p.Used.Max))
		}
		row.Wait = row.Wait || p.Wait.Count > 0
		for _, s := range p.Sources {
			if !slices.Contains(row.Sources, s) {
				row.Sources = append(row.Sources, s)
			}
		}
	}
	for _, k := range order {
		slices.Sort(pools[k].Sources)
		in.out.Pools = append(in.out.Pools, *pools[k])
	}
	for _, s := range in.set.Metrics.Signals(metric.Window{}, names) {
		at := slices.IndexFunc(in.out.Signals, func(x report.InspectedSignal) bool { return x.Service == s.Service && x.Metric == s.Name })
		if at >= 0 {
			in.out.Signals[at].Instances++
			continue
		}
		in.out.Signals = append(in.out.Signals, report.InspectedSignal{Service: s.Service, Role: s.Role.String(), Metric: s.Name, Instances: 1})
	}
	for _, d := range in.set.Metrics.Durations(metric.Window{}, names) {
		row := report.InspectedDuration{Service: d.Service, Operation: d.Operation, Metric: d.Name, Count: report.Float(d.Total.Count)}
		lo, hi := d.Total.Quantile(0.5)
		row.P50Lo, row.P50Hi = report.Some(lo), report.Some(hi)
		lo, hi = d.Total.Quantile(0.99)
		row.P99Lo, row.P99Hi = report.Some(lo), report.Some(hi)
		in.out.Durations = append(in.out.Durations, row)
		in.against(&d)
	}
}
