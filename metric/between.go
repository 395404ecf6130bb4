package metric

import (
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// Times is the first and the last time of a point of s; false if there is none.
func (s *Store) Times() (first, last trace.Time, ok bool) {
	for i := range s.series {
		for k := range s.series[i].points {
			at := s.series[i].points[k].Time
			if !ok {
				first, last, ok = at, at, true
				continue
			}
			first, last = min(first, at), max(last, at)
		}
	}
	return first, last, ok
}

// FoldBetween is the fold of the points of s that were taken in [from, to), with
// the exemplars of that time.
func (s *Store) FoldBetween(from, to trace.Time) *Fold {
	f := NewFold()
	for i := range s.series {
		r := &s.series[i]
		var points []Point
		for _, p := range r.points {
			if p.Time >= from && p.Time < to {
				points = append(points, p)
			}
		}
		if len(points) == 0 {
			continue
		}
		received := int64(len(points))
		slices.SortFunc(points, func(a, b Point) int { return a.compare(&b) })
		points = slices.CompactFunc(points, func(a, b Point) bool { return a.compare(&b) == 0 })
		exemplars := slices.DeleteFunc(slices.Clone(r.exemplars), func(e Exemplar) bool { return e.Time < from || e.Time >= to })
		f.add(&Series{Key: s.keyOf(r.key), Received: received, Points: points, Exemplars: topExemplars(exemplars)})
	}
	return f
}
