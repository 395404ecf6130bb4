package metric

import "math"

// factor turns the values of m into milliseconds.
func (m member) factor() (float64, bool) {
	if m.unit != "" {
		ns, ok := Nanoseconds(m.unit)
		return ns / 1e6, ok
	}
	return m.millis()
}

// times is the durations that the series recorded in w, together. Series whose
// unit is not one of time are left out: a wrong unit is worse than no number.
func times(members []member, w Window) Times {
	total := noValues()
	for _, m := range members {
		factor, ok := m.factor()
		if !ok {
			continue
		}
		switch m.Type {
		case Gauge:
			total.add(m.recorded(w).scaled(factor))
		case Histogram, ExponentialHistogram, Summary:
			total.add(m.Distribution(w).scaled(factor))
		}
	}
	return Times{Count: total.Count, MeanMS: total.Mean(), Values: total}
}

// recorded is the values of a gauge in w.
func (s *Series) recorded(w Window) Distribution {
	d := noValues()
	for i := range s.Points {
		if p := &s.Points[i]; !p.NoValue && w.holds(p.Time) {
			v := p.Value()
			if d.Count++; d.Count == 1 {
				d.Min, d.Max = v, v
			}
			d.Sum, d.Min, d.Max = d.Sum+v, min(d.Min, v), max(d.Max, v)
			d.Buckets = append(d.Buckets, Bucket{v, v, 1})
		}
	}
	d.Buckets = compactBuckets(d.Buckets)
	return d
}

// totals is durations of which only the sum and the number were counted.
func totals(sums, counts []member, w Window) Times {
	t := Times{MeanMS: math.NaN(), Values: noValues()}
	if len(sums) == 0 || len(counts) == 0 {
		return t
	}
	ms := 0.0
	for _, m := range sums {
		factor, ok := m.factor()
		if !ok {
			return t
		}
		ms += m.Increase(w) * factor
	}
	n := increase(counts, w)
	if !(n >= 0) || !(ms >= 0) {
		return t
	}
	t.Count = uint64(n)
	if n > 0 {
		t.MeanMS = ms / n
	}
	return t
}

// increase is what the counters counted in w, together.
func increase(members []member, w Window) float64 {
	total := 0.0
	for _, m := range members {
		if d := m.Increase(w); !math.IsNaN(d) {
			total += d
		}
	}
	return total
}
