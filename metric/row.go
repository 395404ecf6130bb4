package metric

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A Row is what can be said of one series without knowing what it means. A
// number that the points do not give is NaN; a bound that is open is infinite.
// All values are in Unit, as recorded.
type Row struct {
	*Key

	Points     int // distinct points
	NoValue    int // of them, those that say that nothing was recorded
	Duplicates int // copies that were dropped
	Gaps       int // stretches without a value; see Series.gaps
	Resets     int // times a cumulative series began again

	// Increase is what a sum, histogram or summary counted in all its points.
	// A cumulative series' first point counts from its own start time.
	Increase float64

	// Count is the number of values: of a gauge or sum, those recorded; of a
	// histogram or summary, those it counted.
	Count          uint64
	Mean, Min, Max float64

	// The median and the 99th percentile of the values lie within these bounds.
	// They meet where the values themselves are known.
	P50Lo, P50Hi, P99Lo, P99Hi float64

	// Overflow marks the series in which an SDK collects what exceeded its
	// limit of attribute sets: its attributes tell nothing.
	Overflow bool
}

// Rows is one row per series, in the order of their keys.
func (f *Fold) Rows() []Row {
	var rows []Row
	for _, s := range f.Series() {
		rows = append(rows, s.Row())
	}
	return rows
}

// Row is the row of s.
func (s *Series) Row() Row {
	nan := math.NaN()
	r := Row{
		Key: &s.Key, Points: len(s.Points), Duplicates: int(s.Received) - len(s.Points), Gaps: s.gaps(),
		Increase: s.Increase(Window{}), Mean: nan, Min: nan, Max: nan, P50Lo: nan, P50Hi: nan, P99Lo: nan, P99Hi: nan,
		Overflow: s.overflow(),
	}
	_, r.Resets = s.growths(Window{})
	var values []float64
	for i := range s.Points {
		switch p := &s.Points[i]; {
		case p.NoValue:
			r.NoValue++
		case p.Dist == nil:
			values = append(values, p.Value())
		}
	}
	if s.Type == Gauge || s.Type == Sum {
		r.describe(values)
		return r
	}
	d := s.Distribution(Window{})
	r.Count, r.Mean, r.Min, r.Max = d.Count, d.Mean(), d.Min, d.Max
	r.P50Lo, r.P50Hi = d.Quantile(0.5)
	r.P99Lo, r.P99Hi = d.Quantile(0.99)
	return r
}

func (k *Key) overflow() bool { return k.Attr("otel.metric.overflow") == "true" }

// describe fills in what plain values say.
func (r *Row) describe(values []float64) {
	n := uint64(len(values))
	if r.Count = n; n == 0 {
		return
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	if math.IsInf(sum, 0) {
		sum = math.NaN()
	}
	r.Mean, r.Min, r.Max = sum/float64(n), values[0], values[n-1]
	r.P50Lo = values[rankOf(0.5, n)-1]
	r.P99Lo = values[rankOf(0.99, n)-1]
	r.P50Hi, r.P99Hi = r.P50Lo, r.P99Lo
}

// gaps counts the stretches in which the series has no value:
//
//	a run of points that say so, whatever the type;
//	for delta points, a point that starts after the one before ended;
//	else, between points of one start time, a step of more than 1.5 times the
//	median step, where there are at least minSteps steps to know it from.
//
// A cumulative series that begins again leaves no gap: its start says where it was.
func (s *Series) gaps() int {
	n := 0
	absent := false
	var steps []trace.Time
	var last *Point
	for i := range s.Points {
		p := &s.Points[i]
		if p.NoValue {
			if !absent {
				n++
			}
			absent, last = true, nil
			continue
		}
		absent = false
		if last != nil {
			switch {
			case s.Temporality == Delta:
				if p.Start > last.Time {
					n++
				}
			case p.Start == last.Start && p.Time > last.Time:
				steps = append(steps, p.Time-last.Time)
			}
		}
		last = p
	}
	if len(steps) < minSteps {
		return n
	}
	slices.Sort(steps)
	usual := steps[(len(steps)-1)/2]
	for _, step := range steps {
		if step > usual+usual/2 {
			n++
		}
	}
	return n
}

// minSteps is how many steps it takes to know a series' usual one: with three,
// two agree against the third.
const minSteps = 3
