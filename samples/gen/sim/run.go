package sim

import (
	"fmt"
	"math"
	"sort"
	"time"
)

// Options say which run of a system to make.
type Options struct {
	Seed     uint64
	Requests int
	// Drift is the standard deviation of the logarithm of the factor by which this run's work in each
	// service differs from another run's, as the same system does from day to day.
	Drift float64
	// Spans and Metrics keep what instrumentation would report; without them only the truth is kept.
	Spans, Metrics bool
	// Brief keeps the requests only, not the attempts of their calls.
	Brief bool
	// Interval between two points of a metric series; 0 means 2 s.
	Interval Time
}

// A Run is what happened.
type Run struct {
	System    *System
	Options   Options
	Instances []*Instance
	Requests  []Request
	Attempts  []Attempt
	Spans     []Span
	Metrics   []Snapshot
	Edges     []Edge
	Coalesced int // calls that shared another's
	Omitted   []Omission
	Arrivals  Time // the last request arrived
	End       Time // the last event

	engine
	key      Key
	active   int // requests and late work still going on
	ticks    []*Timer
	services [][]*Instance // by service id
	unit     float64       // of the arrival process: operational time of the last arrival
	edgeIDs  map[Edge]int
	waves    []float64
	waveSum  []float64 // expected arrivals until the end of each second
	identity []float64 // cumulative
	tenant   []float64
}

// A Request is one logical request to an entry.
type Request struct {
	Class            *Class
	Arrive           Time // at the entry's instance
	Start            Time // the executor took it; the entry's work begins
	End              Time // of the entry's work
	Outcome          Outcome
	Size             float64
	Tenant, Identity int
	Trace            [16]byte
	Instance         *Instance
}

// Before is the wait before the entry's work began.
func (q *Request) Before() Time { return q.Start - q.Arrive }

// Latency is the time of the entry's server span.
func (q *Request) Latency() Time {
	if q.Instance.Service.Spans.ServerAfterQueue {
		return q.End - q.Start
	}
	return q.End - q.Arrive
}

// An Instance is one running copy of a service.
type Instance struct {
	Service *Service
	N       int
	Host    string
	Offset  Time    // its host's clock less the true time, at the run's start
	Drift   float64 // by how many parts per million its host's clock is fast
	Exec    *Resource
	Proxy   bool // a sidecar, not a service

	r           *Run
	cpu         *cpu
	pools       map[int]*Resource // by the target's service id
	poolList    []*Resource
	locks       map[string]*Resource
	flights     map[flightKey]*flight
	budgets     map[uint64]float64
	robin       map[int]int
	outstanding int
	factor      float64
	pausedUntil Time
	Throttled   Time // stopped for want of quota
	meters      *meters
	sidecar     *Instance // its proxy, which only reports spans
	active      int       // requests in it, working or queued
}

// Resources of an instance: its executor, its pools in the order of the service's, its locks.
func (in *Instance) Resources() []*Resource {
	var rs []*Resource
	if in.Exec != nil {
		rs = append(rs, in.Exec)
	}
	rs = append(rs, in.poolList...)
	var names []string
	for n := range in.locks {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		rs = append(rs, in.locks[n])
	}
	return rs
}

// Simulate runs the system until every request and everything it caused has ended.
func Simulate(sys *System, o Options) *Run {
	if o.Interval == 0 {
		o.Interval = 2 * time.Second
	}
	r := &Run{System: sys, Options: o, key: Key(mix(o.Seed)), edgeIDs: map[Edge]int{}}
	r.edge(nil, nil)
	r.Requests = make([]Request, 0, o.Requests)
	r.build()
	r.arrivals()
	if o.Metrics {
		r.startMetrics()
	}
	r.run()
	r.End = r.now
	for _, in := range r.Instances {
		for _, res := range in.Resources() {
			res.Steps.advance(r.now)
		}
		if in.cpu != nil {
			in.cpu.advance()
		}
	}
	return r
}

// Clock is what the instance's clock shows at a time.
func (in *Instance) Clock(t Time) Time {
	return t + in.Offset + Time(math.Round(float64(t)*in.Drift/1e6))
}

func (r *Run) build() {
	hosts := map[string]Time{}
	drifts := map[string]float64{}
	for id, s := range r.System.Services {
		s.id = id
		drift := math.Exp(r.Options.Drift * r.key.Name("drift").Name(s.Name).normal())
		var list []*Instance
		for n := range s.Instances {
			k := r.key.Name("instance").Name(s.Name).Sub(uint64(n))
			host := s.Host
			if host == "" {
				host = s.Name + "-node"
			}
			host = fmt.Sprintf("%s-%d", host, n/max(s.PerHost, 1)+1)
			if _, ok := hosts[host]; !ok {
				u := r.key.Name("clock").Name(host).Float()
				hosts[host] = scaled(s.ClockSkew, 2*u-1)
				drifts[host] = s.Drift * (2*r.key.Name("clock drift").Name(host).Float() - 1)
			}
			in := &Instance{Service: s, N: n, Host: host, Offset: hosts[host], Drift: drifts[host], r: r, factor: drift,
				pools: map[int]*Resource{}, locks: map[string]*Resource{}, flights: map[flightKey]*flight{},
				budgets: map[uint64]float64{}, robin: map[int]int{}}
			// Instances differ in the same way in all runs of a system.
			in.factor *= math.Exp(s.Unequal * Key(0).Name(s.Name).Sub(uint64(n)).normal())
			if f, ok := s.Slow[n]; ok {
				in.factor *= f
			}
			if s.Cores > 0 {
				in.cpu = &cpu{e: &r.engine, cores: s.Cores, turns: s.Loop}
				if q := s.Quota; q != nil {
					in.cpu.quota, in.cpu.period, in.cpu.stop = float64(q.CPU), q.Period, in.throttle
					in.cpu.until = scaled(q.Period, k.Name("period").Float())
				}
			}
			if x := s.Executor; x.Slots > 0 {
				in.Exec = r.resource("executor", x.Name, x.Slots, x.Queue, s.Wake)
			}
			for i := range s.Pauses {
				if p := &s.Pauses[i]; p.Instance < 0 || p.Instance == n {
					r.schedulePause(in, p, k.Name("pause"), 0)
				}
			}
			list = append(list, in)
			r.Instances = append(r.Instances, in)
			if s.Spans.Sidecar {
				in.sidecar = &Instance{Service: &Service{Name: s.Name + "." + r.System.Name, Version: "1.27.3", Language: "cpp"}, N: n,
					Host: host, Offset: in.Offset, Drift: in.Drift, Proxy: true}
				r.Instances = append(r.Instances, in.sidecar)
			}
		}
		r.services = append(r.services, list)
		ops := 0
		for _, op := range s.Ops {
			op.id = ops
			ops++
			number(op.Plan)
			Walk(op.Plan, func(st Step) {
				if c, ok := st.(*Call); ok {
					c.edge = r.edge(s, c.To)
				}
			})
		}
	}
	for _, in := range r.Instances {
		for _, p := range in.Service.Pools {
			res := r.resource("pool", p.Target, p.Size, 0, in.Service.Wake)
			in.pools[r.System.Service(p.Target).id] = res
			in.poolList = append(in.poolList, res)
		}
		if r.Options.Metrics && in.Service.Peer == nil && !in.Proxy {
			in.meters = newMeters(in)
		}
	}
	r.identity = zipf(r.System.Workload.Identities)
	r.tenant = zipf(r.System.Workload.Tenants)
}

func (r *Run) resource(kind, name string, slots, queue int, wake Dist) *Resource {
	if queue == 0 {
		queue = -1
	}
	return &Resource{Kind: kind, Name: name, Cap: slots, MaxQueue: queue, wake: wake, e: &r.engine}
}

func (r *Run) schedulePause(in *Instance, p *Pause, k Key, n uint64) {
	r.after(p.Every.Sample(k.Sub(2*n)), func() {
		if r.finished() {
			return
		}
		d := p.Length.Sample(k.Sub(2*n + 1))
		in.pausedUntil = max(in.pausedUntil, r.now+d)
		if in.cpu != nil {
			in.cpu.pause(true)
		}
		if in.meters != nil && !p.Frozen {
			in.meters.pause.record(d, nil)
		}
		r.after(d, func() {
			if in.cpu != nil {
				in.cpu.pause(false)
			}
			r.schedulePause(in, p, k, n+1)
		})
	})
}

// throttle stops an instance whose quota is spent.
func (in *Instance) throttle(d Time) {
	in.Throttled += d
	in.pausedUntil = max(in.pausedUntil, in.r.now+d)
	in.cpu.pause(true)
	in.r.after(d, func() { in.cpu.pause(false) })
}

// gate runs fn when the instance notices: at once, or when its pause is over and its turn has come.
func (in *Instance) gate(fn func()) {
	switch turn := in.Service.Turn; {
	case in.cpu != nil && (turn > 0 || in.cpu.turns):
		in.cpu.add(turn, fn)
	case in.r.now < in.pausedUntil:
		in.r.at(in.pausedUntil, func() { in.gate(fn) })
	default:
		fn()
	}
}

func (r *Run) finished() bool {
	return r.active == 0 && len(r.Requests) == r.Options.Requests
}

// done notes that a request, or work that outlived one, has ended.
func (r *Run) done() {
	r.active--
	if r.finished() {
		for _, t := range r.ticks {
			t.Stop()
		}
		r.ticks = nil
		if r.Options.Metrics {
			r.collect()
		}
	}
}
