package metric

import "math"

// Times is durations in milliseconds, such as waits for a connection.
type Times struct {
	Count uint64

	// MeanMS is NaN if no sum was recorded.
	MeanMS float64

	// Values bounds each of them; it is empty where only their sum is known.
	Values Distribution

	// Seconds is the time in which they were counted; 0 if it is not known.
	Seconds float64
}

// InFlight is how many of them were under way at once in the mean, by Little's
// law: waits give the number of the waiting, holds that of the used. NaN if it
// cannot be known.
func (t *Times) InFlight() float64 {
	switch {
	case t.Seconds == 0:
		return math.NaN()
	case t.Count == 0:
		return 0
	}
	return t.MeanMS / 1e3 * float64(t.Count) / t.Seconds
}

// covered is the longest stretch that one of the series covers; 0 if a stretch
// of one is not known.
func covered(members []member, w Window) float64 {
	longest := 0.0
	for _, m := range members {
		grown, _ := m.growths(w)
		total := 0.0
		for _, g := range grown {
			s := g.seconds()
			if s == 0 {
				return 0
			}
			total += s
		}
		longest = max(longest, total)
	}
	return longest
}

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
	var counted []member
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
			counted = append(counted, m)
		}
	}
	return Times{Count: total.Count, MeanMS: total.Mean(), Values: total, Seconds: covered(counted, w)}
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
	t.Count, t.Seconds = uint64(n), covered(sums, w)
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
