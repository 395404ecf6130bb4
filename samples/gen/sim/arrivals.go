package sim

import (
	"math"
	"sort"
	"time"
)

func zipf(n int) []float64 {
	c := make([]float64, n)
	var s float64
	for i := range c {
		s += 1 / float64(i+1)
		c[i] = s
	}
	return c
}

func pick(cum []float64, u float64) int {
	if len(cum) == 0 {
		return 0
	}
	u *= cum[len(cum)-1]
	return min(sort.SearchFloat64s(cum, u), len(cum)-1)
}

// Duration is the nominal length of the run: its requests over its rate.
func (r *Run) Duration() Time {
	return scaled(time.Second, float64(r.Options.Requests)/r.System.Workload.Rate)
}

// rate is the arrival rate in second i.
func (r *Run) rate(i int) float64 {
	w := &r.System.Workload
	f := w.Rate
	if w.Wave > 0 {
		z := r.key.Name("wave").Sub(uint64(i)).normal()
		f *= math.Exp(w.Wave*z - w.Wave*w.Wave/2)
	}
	if w.Shape != nil {
		f *= w.Shape(float64(i) * float64(time.Second) / float64(r.Duration()))
	}
	return f
}

// nextArrival maps the arrivals of a Poisson process of rate one through the inverse of the expected
// number of arrivals, so that another rate moves the same arrivals and draws no others.
func (r *Run) nextArrival() Time {
	r.unit += r.key.Name("arrival").Sub(uint64(len(r.Requests))).exp()
	for len(r.waveSum) == 0 || r.waveSum[len(r.waveSum)-1] < r.unit {
		i := len(r.waves)
		var before float64
		if i > 0 {
			before = r.waveSum[i-1]
		}
		r.waves = append(r.waves, r.rate(i))
		r.waveSum = append(r.waveSum, before+r.waves[i])
	}
	i := sort.SearchFloat64s(r.waveSum, r.unit)
	left := r.waveSum[i] - r.unit
	return Time(i+1)*time.Second - scaled(time.Second, left/r.waves[i])
}

func (r *Run) arrivals() {
	w := &r.System.Workload
	if w.Workers > 0 {
		for i := range w.Workers {
			r.after(w.Think.Sample(r.key.Name("think").Sub(uint64(i))), r.offer)
		}
		return
	}
	if r.Options.Requests > 0 {
		r.at(r.nextArrival(), r.offer)
	}
}

// offer lets the next request arrive.
func (r *Run) offer() {
	i := len(r.Requests)
	if i == r.Options.Requests {
		return
	}
	w := &r.System.Workload
	k := r.key.Name("request").Sub(uint64(i))
	q := Request{Class: r.class(k.Name("class").Float())}
	q.Size = q.Class.Size * math.Exp(q.Class.Sigma*k.Name("size").normal())
	if k.Name("slow").Float() < w.SlowRequests {
		q.Size *= w.SlowFactor
	}
	if q.Tenant = q.Class.Tenant; q.Tenant == 0 {
		q.Tenant = 1 + pick(r.tenant, k.Name("tenant").Float())
	}
	q.Identity = pick(r.identity, k.Name("identity").Float())
	q.Trace = k.trace()
	r.Requests = append(r.Requests, q)
	r.Arrivals = r.now
	r.active++

	a := &attempt{r: r, req: int32(i), op: q.Class.Op, key: k, edge: entryEdge, size: q.Size, trace: q.Trace, leg: w.Entry, begin: r.now}
	if w.Deadline > 0 {
		a.deadline = r.now + w.Deadline
	}
	a.callee = r.choose(nil, q.Class.Op.Service, k.Name("instance"), 0)
	if w.Patience != nil {
		a.timer = r.after(w.Patience.Sample(k.Name("patience")), func() { a.depart(Cancelled) })
	}
	a.finish = func(o Outcome) {
		if w.Workers > 0 {
			r.after(w.Think.Sample(k.Name("think")), r.offer)
		}
	}
	a.send()
	if w.Workers == 0 && i+1 < r.Options.Requests {
		r.at(r.nextArrival(), r.offer)
	}
}

func (r *Run) class(u float64) *Class {
	cs := r.System.Workload.Classes
	var sum float64
	for i := range cs {
		sum += cs[i].Share
	}
	u *= sum
	for i := range cs {
		if u -= cs[i].Share; u < 0 {
			return &cs[i]
		}
	}
	return &cs[len(cs)-1]
}
