package metric

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Signal is a runtime's word about what spans cannot show: the CPU, the event
// loop, the scheduler, the garbage collector. It is all series of one name of one
// instance, whatever their attributes.
type Signal struct {
	Service, Instance string
	Name              string
	Role              Role

	// Levels is what gauges say: the share of the CPUs in use, all states
	// together, or the greatest lag in milliseconds. Its Seconds are zero
	// otherwise.
	Levels Levels

	// Times is what histograms say, such as the lengths of pauses.
	Times Times

	// PerSecond is how fast counters of time grow: CPU seconds, or seconds in
	// pauses, a second; NaN otherwise.
	PerSecond float64
}

// Signals is every signal with a value in w, in the order of service, instance
// and name.
func (f *Fold) Signals(w Window, n *Names) []Signal {
	type signal struct{ service, instance, name string }
	found := map[signal][]member{}
	for _, s := range f.Series() {
		if m, ok := n.Meaning(&s.Key); ok && m.Role > RequestDuration {
			k := signal{s.Service, s.Instance, s.Name}
			found[k] = append(found[k], member{s, m})
		}
	}
	order := slices.SortedFunc(maps.Keys(found), func(a, b signal) int {
		return cmp.Or(strings.Compare(a.service, b.service), strings.Compare(a.instance, b.instance), strings.Compare(a.name, b.name))
	})
	var out []Signal
	for _, k := range order {
		s := signalOf(found[k], w)
		s.Service, s.Instance, s.Name = k.service, k.instance, k.name
		if s.Levels.Seconds > 0 || s.Times.Count > 0 || !math.IsNaN(s.PerSecond) {
			out = append(out, s)
		}
	}
	return out
}

func signalOf(members []member, w Window) Signal {
	out := Signal{Role: members[0].Role, PerSecond: math.NaN()}
	var gauges [][]step
	var histograms []member
	for _, m := range members {
		factor, timed := m.factor()
		switch {
		case m.Type == Gauge && (out.Role == CPUShare || out.Role == EventLoopShare):
			gauges = append(gauges, m.steps())
		case m.Type == Gauge && timed:
			steps := m.steps()
			for i := range steps {
				steps[i].value *= factor
			}
			gauges = append(gauges, steps)
		case m.Type == Sum && m.Monotonic && timed:
			if v := m.perSecond(w) * factor / 1e3; !math.IsNaN(v) {
				if math.IsNaN(out.PerSecond) {
					out.PerSecond = 0
				}
				out.PerSecond += v
			}
		case m.Type != Gauge && m.Type != Sum:
			histograms = append(histograms, m)
		}
	}
	together := slices.Max[[]float64]
	if out.Role == CPUShare {
		together = addUp
	}
	out.Levels = levels(combine(gauges, false, together), w)
	out.Times = times(histograms, w)
	return out
}

// perSecond is the increase in w over the time that it took; NaN if that is not
// known.
func (s *Series) perSecond(w Window) float64 {
	grown, _ := s.growths(w)
	total, length := 0.0, 0.0
	for _, g := range grown {
		if t := g.seconds(); t > 0 {
			total += g.number()
			length += t
		}
	}
	if length == 0 {
		return math.NaN()
	}
	return total / length
}
