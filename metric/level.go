package metric

import (
	"cmp"
	"math"
	"slices"
)

// Levels is a quantity that has a level at every moment, such as connections in
// use, seen second by second: what is full for a second is full, whatever the
// mean over minutes says. All are NaN if Seconds is zero.
type Levels struct {
	Seconds                  int64 // the number of one-second views
	Min, Mean, P50, P99, Max float64
}

// A step is a level during the seconds [from, to) after the epoch.
type step struct {
	from, to int64
	value    float64
}

const maxCarry = 300 // seconds; the limit that Prometheus gives a silent series

// steps is the level of a gauge or a sum in each second: the highest that was
// recorded in it, else the last one before, for as long as 1.5 times the series'
// usual step but at most maxCarry. A point without a value ends it.
func (s *Series) steps() []step {
	type view struct {
		second int64
		value  float64
		absent bool
	}
	var views []view
	total := 0.0
	for i := range s.Points {
		p := &s.Points[i]
		v := view{second: int64(p.Time) / 1e9, absent: p.NoValue}
		if p.Dist != nil {
			return nil
		}
		if !p.NoValue {
			v.value = p.Value()
			if s.Type == Sum && s.Temporality == Delta {
				total += v.value // changes; counted from where they began
				v.value = total
			}
		}
		if n := len(views); n > 0 && views[n-1].second == v.second {
			if last := &views[n-1]; last.absent || !v.absent && v.value > last.value {
				*last = v
			}
			continue
		}
		views = append(views, v)
	}
	var between []int64
	for i := 1; i < len(views); i++ {
		between = append(between, views[i].second-views[i-1].second)
	}
	carry := int64(1)
	if len(between) > 0 {
		slices.Sort(between)
		carry = min(maxCarry, 3*between[(len(between)-1)/2]/2)
	}
	var out []step
	for i, v := range views {
		if v.absent {
			continue
		}
		to := v.second + carry
		if i+1 < len(views) {
			to = min(to, views[i+1].second)
		}
		out = append(out, step{v.second, to, v.value})
	}
	return out
}

// carried is steps that hold until the next one, the first also before itself
// and the last for ever: limits are set, not sampled.
func carried(steps []step) []step {
	out := slices.Clone(steps)
	for i := range out {
		if i == 0 {
			out[i].from = math.MinInt64
		}
		if i+1 < len(out) {
			out[i].to = out[i+1].from
		} else {
			out[i].to = math.MaxInt64
		}
	}
	return out
}

// combine is op of the levels of several lists, at the seconds at which at least
// one of them (all of them, if every) has a level.
func combine(lists [][]step, every bool, op func([]float64) float64) []step {
	var cuts []int64
	for _, l := range lists {
		for _, s := range l {
			cuts = append(cuts, s.from, s.to)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	at := make([]int, len(lists))
	var out []step
	var values []float64
	for i := 0; i+1 < len(cuts); i++ {
		values = values[:0]
		for j, l := range lists {
			for at[j] < len(l) && l[at[j]].to <= cuts[i] {
				at[j]++
			}
			if at[j] < len(l) && l[at[j]].from <= cuts[i] {
				values = append(values, l[at[j]].value)
			}
		}
		if len(values) > 0 && (!every || len(values) == len(lists)) {
			if v := op(values); !math.IsNaN(v) {
				out = append(out, step{cuts[i], cuts[i+1], v})
			}
		}
	}
	return out
}

func addUp(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// OverTime is how many points a course over time has at most.
const OverTime = 60

// overTime is the steps in a window as a course over time.
func overTime(steps []step, w Window) []float64 {
	if w != (Window{}) {
		from, to := int64(w.From)/1e9, int64(w.To)/1e9+1
		var in []step
		for _, s := range steps {
			s.from, s.to = max(s.from, from), min(s.to, to)
			if s.from < s.to {
				in = append(in, s)
			}
		}
		steps = in
	}
	if len(steps) == 0 {
		return nil
	}
	first, last := steps[0].from, steps[len(steps)-1].to
	each := (last - first + OverTime - 1) / OverTime
	sum, n := make([]float64, (last-first+each-1)/each), make([]float64, (last-first+each-1)/each)
	for _, s := range steps {
		for from := s.from; from < s.to; {
			i := (from - first) / each
			to := min(s.to, first+(i+1)*each)
			sum[i] += s.value * float64(to-from)
			n[i] += float64(to - from)
			from = to
		}
	}
	for i := range sum {
		sum[i] /= n[i] // NaN of none
	}
	return sum
}

// levels is the steps seen through a window, whose two ends are seconds of it. If
// nothing was recorded there, as in a window shorter than the export interval,
// the next second that was stands for it, if it comes within maxCarry.
func levels(steps []step, w Window) Levels {
	if w != (Window{}) {
		from, to := int64(w.From)/1e9, int64(w.To)/1e9+1
		var in []step
		for _, s := range steps {
			s.from, s.to = max(s.from, from), min(s.to, to)
			if s.from < s.to {
				in = append(in, s)
			}
		}
		if len(in) == 0 {
			for _, s := range steps {
				if s.from >= to && s.from-to < maxCarry {
					in = []step{{s.from, s.from + 1, s.value}}
					break
				}
			}
		}
		steps = in
	} else {
		steps = slices.Clone(steps)
	}
	nan := math.NaN()
	l := Levels{Min: nan, Mean: nan, P50: nan, P99: nan, Max: nan}
	sum := 0.0
	for _, s := range steps {
		l.Seconds += s.to - s.from
		sum += s.value * float64(s.to-s.from)
	}
	if l.Seconds == 0 {
		return l
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.value, b.value) })
	quantile := func(q float64) float64 {
		rank := int64(rankOf(q, uint64(l.Seconds)))
		for _, s := range steps {
			if rank -= s.to - s.from; rank <= 0 {
				return s.value
			}
		}
		return steps[len(steps)-1].value
	}
	l.Min, l.Mean, l.Max = steps[0].value, sum/float64(l.Seconds), steps[len(steps)-1].value
	l.P50, l.P99 = quantile(0.5), quantile(0.99)
	return l
}
