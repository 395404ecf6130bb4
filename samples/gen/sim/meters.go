package sim

import (
	"sort"
)

// Bounds of duration histograms in seconds, as the semantic conventions advise.
var (
	DurationBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	WaitBounds     = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}
)

// A Histogram is cumulative.
type Histogram struct {
	Bounds   []float64
	Counts   []uint64 // one more than Bounds
	Count    uint64
	Sum      Time
	Min, Max Time
	// Exemplars are of the time since the last point: for each bucket the latest.
	Exemplars []Exemplar
}

// An Exemplar is one measurement and the span in whose context it was made.
type Exemplar struct {
	At    Time
	Value Time
	Trace [16]byte
	Span  uint64
}

func newHistogram(bounds []float64) *Histogram {
	return &Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

func (h *Histogram) record(d Time, x *Exemplar) {
	i := sort.SearchFloat64s(h.Bounds, d.Seconds()) // upper bounds are inclusive
	h.Counts[i]++
	h.Count++
	h.Sum += d
	if h.Count == 1 || d < h.Min {
		h.Min = d
	}
	h.Max = max(h.Max, d)
	if x == nil {
		return
	}
	for j := range h.Exemplars {
		if sort.SearchFloat64s(h.Bounds, h.Exemplars[j].Value.Seconds()) == i {
			h.Exemplars[j] = *x
			return
		}
	}
	h.Exemplars = append(h.Exemplars, *x)
}

// take copies the histogram and forgets its exemplars.
func (h *Histogram) take() Histogram {
	c := *h
	c.Counts = append([]uint64(nil), h.Counts...)
	h.Exemplars = nil
	return c
}

type servedKey struct {
	op *Operation
	o  Outcome
}

type calledKey struct {
	op     *Operation
	served Outcome
	o      Outcome
}

// meters are the instruments of one instance.
type meters struct {
	in       *Instance
	byServed map[servedKey]*Histogram
	byCalled map[calledKey]*Histogram
	wait     []*Histogram // by pool
	use      []*Histogram
	timeout  []int
	pause    *Histogram
}

func newMeters(in *Instance) *meters {
	m := &meters{in: in, byServed: map[servedKey]*Histogram{}, byCalled: map[calledKey]*Histogram{}, pause: newHistogram([]float64{0.01, 0.1, 1, 10})}
	for _, p := range in.poolList {
		w, u := newHistogram(WaitBounds), newHistogram(WaitBounds)
		m.wait, m.use, m.timeout = append(m.wait, w), append(m.use, u), append(m.timeout, 0)
		p.onGrant = func(d Time) { w.record(d, nil) }
		p.onRelease = func(d Time) { u.record(d, nil) }
	}
	return m
}

func (m *meters) served(h *handler, o Outcome) {
	k := servedKey{h.op, o}
	hist := m.byServed[k]
	if hist == nil {
		hist = newHistogram(DurationBounds)
		m.byServed[k] = hist
	}
	start := h.arrived
	if h.inst.Service.Spans.ServerAfterQueue {
		start = h.started
	}
	d := h.r.now - start
	hist.record(d, &Exemplar{At: h.r.now, Value: d, Trace: h.a.trace, Span: h.span})
}

func (m *meters) called(a *attempt, o Outcome) {
	if o == TimedOut && !a.got {
		for i, p := range m.in.poolList {
			if p == a.w.r {
				m.timeout[i]++
			}
		}
	}
	served := Omitted
	if !a.left {
		served = a.served
	}
	k := calledKey{a.op, served, o}
	hist := m.byCalled[k]
	if hist == nil {
		hist = newHistogram(DurationBounds)
		m.byCalled[k] = hist
	}
	hist.record(a.r.now-a.begin, nil)
}

// A Snapshot is one collection of an instance's metrics.
type Snapshot struct {
	At     Time
	In     *Instance
	Exec   *Level
	Pools  []PoolLevel
	Served []Served
	Called []Called
	CPU    float64 // core-nanoseconds since the start
	Active int
	Pause  Histogram
	Lag    Time // the longest that a turn of the event loop waited, since the last
	// Throttled is how long the instance stood still for want of quota.
	Throttled Time
}

// A Level is the state of a resource.
type Level struct {
	Name                string
	Cap, InUse, Waiting int
	Done                int // tasks completed or connections given back, so far
}

// A PoolLevel is the state of a pool.
type PoolLevel struct {
	Level
	Kind      PoolKind
	Wait, Use Histogram
	Timeouts  int
}

// Served and Called are duration histograms by what was served or called and how it ended.
type Served struct {
	Op      *Operation
	Outcome Outcome
	Histogram
}

type Called struct {
	Op              *Operation
	Served, Outcome Outcome
	Histogram
}

func (r *Run) startMetrics() {
	var tick func()
	tick = func() {
		r.ticks = r.ticks[:0]
		r.collect()
		r.ticks = append(r.ticks, r.after(r.Options.Interval, tick))
	}
	r.ticks = append(r.ticks, r.after(r.Options.Interval, tick))
}

func level(r *Resource) Level {
	return Level{Name: r.Name, Cap: r.Cap, InUse: r.Steps.use, Waiting: r.Steps.wait, Done: r.Released}
}

// collect takes a point of every series.
func (r *Run) collect() {
	for _, in := range r.Instances {
		m := in.meters
		if m == nil {
			continue
		}
		s := Snapshot{At: r.now, In: in, Active: in.active, Pause: m.pause.take()}
		if in.cpu != nil {
			in.cpu.advance()
			s.CPU, s.Lag, s.Throttled = in.cpu.Busy, in.cpu.Lag, in.Throttled
			in.cpu.Lag = 0
		}
		if in.Exec != nil {
			l := level(in.Exec)
			s.Exec = &l
		}
		for i, p := range in.poolList {
			s.Pools = append(s.Pools, PoolLevel{level(p), in.Service.Pools[i].Kind, m.wait[i].take(), m.use[i].take(), m.timeout[i]})
		}
		for k, h := range m.byServed {
			s.Served = append(s.Served, Served{k.op, k.o, h.take()})
		}
		sort.Slice(s.Served, func(i, j int) bool {
			a, b := s.Served[i], s.Served[j]
			return a.Op.id < b.Op.id || a.Op.id == b.Op.id && a.Outcome < b.Outcome
		})
		for k, h := range m.byCalled {
			s.Called = append(s.Called, Called{k.op, k.served, k.o, h.take()})
		}
		sort.Slice(s.Called, func(i, j int) bool {
			a, b := s.Called[i], s.Called[j]
			switch {
			case a.Op.Service.id != b.Op.Service.id:
				return a.Op.Service.id < b.Op.Service.id
			case a.Op.id != b.Op.id:
				return a.Op.id < b.Op.id
			case a.Served != b.Served:
				return a.Served < b.Served
			}
			return a.Outcome < b.Outcome
		})
		r.Metrics = append(r.Metrics, s)
	}
}
