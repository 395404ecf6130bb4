package metric

import "math"

// A Signal is a runtime's word about what spans cannot show: the CPU, the event
// loop, the scheduler, the garbage collector.
type Signal struct {
	Service, Instance string
	Name              string
	Role              Role

	// Levels is what a gauge says: a share of the CPUs, or a lag in
	// milliseconds. It is empty otherwise.
	Levels Levels

	// Times is what a histogram says, such as the lengths of pauses.
	Times Times

	// PerSecond is how fast a counter of time grows: CPU seconds, or seconds in
	// pauses, a second; NaN otherwise.
	PerSecond float64
}

// Signals is every signal with a value in w, in the order of the series' keys.
func (f *Fold) Signals(w Window, n *Names) []Signal {
	var out []Signal
	for _, s := range f.Series() {
		role, ok := n.Meaning(&s.Key)
		if !ok || role.Role <= RequestDuration {
			continue
		}
		m := member{s, role}
		sig := Signal{Service: s.Service, Instance: s.Instance, Name: s.Name, Role: role.Role, PerSecond: math.NaN(), Times: Times{MeanMS: math.NaN(), Values: noValues()}}
		factor, timed := m.factor()
		switch {
		case s.Type == Gauge && role.Role == CPUShare:
			sig.Levels = levels(s.steps(), w)
		case s.Type == Gauge && timed:
			steps := s.steps()
			for i := range steps {
				steps[i].value *= factor
			}
			sig.Levels = levels(steps, w)
		case s.Type == Sum && timed:
			sig.Levels = levels(nil, w)
			sig.PerSecond = s.perSecond(w) * factor / 1e3
		case timed:
			sig.Levels = levels(nil, w)
			sig.Times = times([]member{m}, w)
		}
		if sig.Levels.Seconds > 0 || sig.Times.Count > 0 || !math.IsNaN(sig.PerSecond) {
			out = append(out, sig)
		}
	}
	return out
}

// perSecond is the increase in w over the time that it took; NaN if that is not known.
func (s *Series) perSecond(w Window) float64 {
	grown, _ := s.growths(w)
	total, length := 0.0, 0.0
	for _, g := range grown {
		from := g.to.Start
		if g.from != nil {
			from = g.from.Time
		}
		if from <= 0 || from >= g.to.Time {
			continue
		}
		total += g.number()
		length += float64(g.to.Time-from) / 1e9
	}
	if length == 0 {
		return math.NaN()
	}
	return total / length
}
