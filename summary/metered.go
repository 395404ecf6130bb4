package summary

import (
	"math"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// A Metering is the requests of one endpoint in one run held against the
// request-duration metric of the endpoint, which nobody sampled.
type Metering struct {
	Name string // the metric's
	Run  int32
	*population.Strata

	// Stated is the weight of each weighted request by its own word.
	Stated map[*graph.Record]int64

	// Looked is the exemplars of the metric, Found those whose traces are here.
	Looked, Found int

	// Exemplar is the longest of those found; zero if there is none.
	Exemplar trace.TraceID
}

// Weighted reports whether requests of the set have their weights from metrics.
func (s *Set) Weighted() bool {
	for _, list := range s.Metered {
		for _, m := range list {
			if m.Weights != nil {
				return true
			}
		}
	}
	return false
}

// durations is what the metrics of one run counted.
func (s *Summary) durations(names *metric.Names) []metric.Durations {
	if s.Counts.From == trace.NoTime {
		return nil
	}
	return s.Metrics.Durations(metric.Window{From: s.Counts.From, To: s.Counts.To}, names)
}

// exemplarError and exemplarSlack are by how much an exemplar and its trace may
// differ: a metric is recorded in another layer than the span.
const exemplarError, exemplarSlack = 0.1, 1e6

// meter weights the requests of each endpoint by its metrics, run by run. It is
// done at reading, when all parts of a run are together, and never saved: parts of
// a run are merged with the weights that spans state.
//
// What is returned files the results under the names that endpoints have by then:
// metrics know the names of their own run, and renames come after.
func (r *Reading) meter(set *Set, runs [][]metric.Durations, seconds []float64) (file func()) {
	type key struct {
		run                int32
		service, operation string
	}
	records := map[key][]*graph.Record{}
	for i, rec := range set.Records {
		if rec.Standing == graph.Stream {
			continue
		}
		name := r.EntryName(rec)
		k := key{set.RunOf[i], r.Dict.String(name.Service), r.Dict.String(name.Operation)}
		records[k] = append(records[k], rec)
	}
	type result struct {
		of *graph.Record
		m  *Metering
	}
	var results []result
	for run, list := range runs {
		for k := range list {
			d := &list[k]
			of := records[key{int32(run), d.Service, d.Operation}]
			if len(of) == 0 {
				continue
			}
			m := meter(d, of, seconds[run])
			m.Run = int32(run)
			if m.Weights != nil {
				m.Stated = make(map[*graph.Record]int64, len(of))
			}
			for i, w := range m.Weights {
				m.Stated[of[i]] = of[i].Weight
				of[i].Weight = int64(w)
			}
			results = append(results, result{of[0], m})
		}
	}
	return func() {
		set.Metered = map[trace.Endpoint][]*Metering{}
		for _, x := range results {
			name := r.EntryName(x.of)
			set.Metered[name] = append(set.Metered[name], x.m)
		}
	}
}

// meter holds the requests of one endpoint against its metric.
func meter(d *metric.Durations, of []*graph.Record, seconds float64) *Metering {
	m := &Metering{Name: d.Name}
	sample := make([]population.Metered, len(of))
	length := make(map[trace.TraceID]int64, len(of))
	for i, rec := range of {
		sample[i] = population.Metered{NS: rec.Duration(), Broken: rec.Outcome != population.Completed, Weight: population.Weight(rec.Weight)}
		length[rec.TraceID] = rec.Duration()
	}
	var buckets []population.Bucket
	add := func(values *metric.Distribution, broken bool) {
		for _, b := range values.Buckets {
			buckets = append(buckets, population.Bucket{Lo: b.Lo * 1e6, Hi: b.Hi * 1e6, N: b.N, Broken: broken})
		}
	}
	for i := range d.ByStatus {
		s := &d.ByStatus[i]
		add(&s.Distribution, s.Failed || population.Broken(s.Status))
	}
	window := 1.0
	if d.Seconds > 0 {
		window = min(1, seconds/d.Seconds)
	}
	off := 0
	for _, e := range d.Exemplars {
		if e.TraceID == (trace.TraceID{}) {
			continue
		}
		m.Looked++
		if ns, ok := length[e.TraceID]; ok {
			if m.Found++; m.Found == 1 { // they come longest first
				m.Exemplar = e.TraceID
			}
			if miss := math.Abs(e.Value*1e6 - float64(ns)); miss > exemplarSlack && miss > exemplarError*float64(ns) {
				off++
			}
		}
	}
	m.Strata = population.Stratify(sample, buckets, window)
	if m.Found >= 3 && 2*off > m.Found {
		m.Contradiction, m.Weights, m.Of = population.OtherClock, nil, nil
	}
	return m
}
