package metric

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A Window is a stretch of time of which a view is wanted. The zero Window is all
// time. What a point counted since the one before lies somewhere between the two;
// it belongs to every window that this stretch overlaps, so that a window
// shorter than the export interval is not empty. A level, and a value of a
// gauge, belongs where it was recorded.
type Window struct{ From, To trace.Time }

// holds reports whether t lies in (From, To].
func (w Window) holds(t trace.Time) bool {
	return w == Window{} || w.From < t && t <= w.To
}

// overlaps reports whether (from, to] has a part in w; a from that is not known
// is zero, and then to has to lie in w.
func (w Window) overlaps(from, to trace.Time) bool {
	if from <= 0 || from == to {
		return w.holds(to)
	}
	return w == Window{} || w.From < to && from < w.To
}

// A growth is what a series counted between two of its points: to less from.
// A nil from is zero.
type growth struct{ from, to *Point }

// growths is what a series counted in w, and how often it began again.
//
// A delta point is a growth of its own. The points of a cumulative series form
// segments, one per start time, whatever their order: two processes that cannot
// be told apart write two segments, not resets at every point. In a segment
//
//	start known          the first point counts from the start
//	start not recorded   or equal to the first point's time: that point is the
//	                     zero of the others
//	value falls          a series that can only rise began again and nothing
//	                     said so
//
// A segment that reaches into w from before counts from its last point before w.
// Without one it counts from its start if most of the time until its first point
// lies in w; else from that point, unless that is its only one in w.
func (s *Series) growths(w Window) (out []growth, resets int) {
	if s.Temporality != Cumulative {
		for i := range s.Points {
			if p := &s.Points[i]; !p.NoValue && w.overlaps(p.Start, p.Time) {
				out = append(out, growth{nil, p})
			}
		}
		return out, 0
	}
	points := make([]*Point, 0, len(s.Points))
	for i := range s.Points {
		if !s.Points[i].NoValue {
			points = append(points, &s.Points[i])
		}
	}
	slices.SortStableFunc(points, func(a, b *Point) int { return cmp.Compare(a.Start, b.Start) })
	segments := 0
	for len(points) > 0 {
		n := 1
		for n < len(points) && points[n].Start == points[0].Start {
			n++
		}
		grown, fell, met := segmentGrowth(points[:n], w, s.Type != Sum || s.Monotonic)
		out = append(out, grown...)
		resets += fell
		if met {
			segments++
		}
		points = points[n:]
	}
	return out, resets + max(0, segments-1)
}

// segmentGrowth is the growths of the points of one start time, the number of
// times a value that cannot fall did, and whether a point lies in w.
func segmentGrowth(points []*Point, w Window, rises bool) (out []growth, fell int, met bool) {
	first := points[0]
	var from *Point // the zero of what follows
	var last *Point // the last point in w since from
	counted := first.Start > 0 && first.Start < first.Time
	if w != (Window{}) && first.Time-w.From < w.From-first.Start {
		counted = false
	}
	var before *Point
	for _, p := range points {
		dropped := rises && before != nil && p.less(before)
		since := first.Start
		if before != nil {
			since = before.Time
		}
		if !w.overlaps(since, p.Time) {
			if p.Time <= w.From {
				from, counted = p, true
			}
			before = p
			continue
		}
		met = true
		if dropped {
			fell++
			if last != nil {
				out = append(out, growth{from, last})
			}
			from, counted = nil, true
		}
		if !counted {
			from, counted = p, true
		}
		last, before = p, p
	}
	if last == nil {
		return out, fell, met
	}
	if from == last {
		// The only point, and nothing to count from in w. It is better counted
		// from its own start, or for a histogram's shape from an unknown one,
		// than not at all. A number without a start says nothing alone.
		if last.Dist == nil && (last.Start == 0 || last.Start == last.Time) {
			return out, fell, met
		}
		from = nil
	}
	return append(out, growth{from, last}), fell, met
}

// less reports whether p counted less than the earlier q.
func (p *Point) less(q *Point) bool {
	switch {
	case p.Dist != nil && q.Dist != nil:
		return p.Dist.Count < q.Dist.Count
	case p.IsInt && q.IsInt:
		return p.Int() < q.Int()
	}
	return p.Value() < q.Value()
}

// seconds is how long g took; 0 if that is not known.
func (g growth) seconds() float64 {
	from := g.to.Start
	if g.from != nil {
		from = g.from.Time
	}
	if from <= 0 {
		return 0
	}
	return float64(g.to.Time-from) / 1e9
}

// number is the growth of a number.
func (g growth) number() float64 {
	switch {
	case g.from == nil:
		return g.to.Value()
	case g.from.IsInt && g.to.IsInt:
		return float64(g.to.Int() - g.from.Int()) // exact beyond 2^53
	}
	return g.to.Value() - g.from.Value()
}

// dist is the growth of a histogram. A state that cannot follow the one it
// should is a histogram that began again.
func (g growth) dist() *Dist {
	if g.from != nil {
		if d, ok := g.to.Dist.minus(g.from.Dist); ok {
			return d
		}
	}
	return g.to.Dist
}

// Distribution is the values that a histogram or summary counted in w.
func (s *Series) Distribution(w Window) Distribution {
	total := noValues()
	grown, _ := s.growths(w)
	var sum *Dist
	for _, g := range grown {
		if g.to.Dist == nil {
			return total
		}
		d := g.dist()
		if d.Count == 0 {
			continue
		}
		if sum != nil {
			if both, ok := sum.plus(d); ok {
				sum = both
				continue
			}
			total.add(sum.distribution())
		}
		sum = d
	}
	if sum != nil {
		total.add(sum.distribution())
	}
	return total
}

// Increase is what a series counted in w; NaN where that means nothing, as for a
// gauge. For a sum that may also fall it is the net change.
func (s *Series) Increase(w Window) float64 {
	if s.Type == Gauge {
		return math.NaN()
	}
	grown, _ := s.growths(w)
	if len(grown) == 0 {
		return math.NaN()
	}
	total := 0.0
	for _, g := range grown {
		if g.to.Dist != nil {
			total += float64(g.dist().Count)
		} else {
			total += g.number()
		}
	}
	return total
}
