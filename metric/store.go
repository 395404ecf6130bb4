package metric

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A Store holds metric points in the order of arrival, by series. It is not
// safe for concurrent use; decoders that run side by side fill one each, which
// Append joins.
type Store struct {
	// Defects counts what was wrong with points.
	Defects trace.Tally

	tables *trace.Tables
	points int

	series []storeSeries
	index  map[storeKey]int

	attrSets   [][]trace.Attr
	attrSetIDs map[string]uint32

	attrs  []trace.Attr // scratch of Add
	key    []byte       // scratch of attrSet
	counts []uint64     // the unused rest of a block that bucket counts are cut from
}

// A storeKey names a series by the ids of one Tables.
type storeKey struct {
	name, unit  trace.StringID
	typ         Type
	temporality Temporality
	monotonic   bool
	resource    trace.ResourceID
	attrs       uint32 // index in attrSets
}

type storeSeries struct {
	key       storeKey
	points    []Point
	exemplars []Exemplar
}

// NewStore returns an empty store over tables, which spans may share.
func NewStore(tables *trace.Tables) *Store {
	return &Store{
		Defects: trace.Tally{}, tables: tables,
		index: map[storeKey]int{}, attrSetIDs: map[string]uint32{},
	}
}

// Points is the number of points taken.
func (s *Store) Points() int { return s.points }

// Add takes a point and reports whether it did: a point without a type or a
// time is in no series, and is counted as a defect instead.
func (s *Store) Add(p *RawPoint) bool {
	if p.Type < Gauge || p.Type > Summary {
		s.Defects.Add(UnknownType, string(p.Name))
		return false
	}
	if p.Time <= 0 {
		s.Defects.Add(MissingPointTime, string(p.Name))
		return false
	}
	s.attrs = s.attrs[:0]
	for _, a := range p.Attrs {
		s.attrs = append(s.attrs, trace.Attr{Key: s.tables.Intern(a.Key), Value: s.tables.Value(a.Value)})
	}
	k := storeKey{
		name: s.tables.Intern(p.Name), unit: s.tables.Intern(p.Unit), typ: p.Type,
		temporality: p.Temporality, resource: p.Resource, attrs: s.attrSet(s.attrs),
	}
	switch p.Type {
	case Gauge:
		k.temporality = Unspecified
	case Summary:
		k.temporality = Cumulative
	case Sum:
		k.monotonic = p.Monotonic
	}
	if p.Type != Gauge && k.temporality != Delta && k.temporality != Cumulative {
		// As cumulative, delta points are segments of one point each, and add up
		// to the same.
		s.Defects.Add(NoTemporality, string(p.Name))
		k.temporality = Cumulative
	}
	r := s.at(k)
	var last *Dist
	if n := len(r.points); n > 0 {
		last = r.points[n-1].Dist
	}
	r.points = append(r.points, s.point(p, last))
	for _, e := range p.Exemplars {
		if !math.IsNaN(e.Value) && !math.IsInf(e.Value, 0) {
			e.Value += 0 // one zero
			r.exemplars = append(r.exemplars, Exemplar(e))
		}
	}
	s.points++
	return true
}

// at is the series of k, made if new.
func (s *Store) at(k storeKey) *storeSeries {
	i, ok := s.index[k]
	if !ok {
		i = len(s.series)
		s.series = append(s.series, storeSeries{key: k})
		s.index[k] = i
	}
	return &s.series[i]
}

// attrSet is the id of a set of attributes, in any order.
func (s *Store) attrSet(attrs []trace.Attr) uint32 {
	slices.SortFunc(attrs, func(a, b trace.Attr) int {
		if a.Key != b.Key {
			return int(a.Key) - int(b.Key)
		}
		return int(a.Value) - int(b.Value)
	})
	attrs = slices.Compact(attrs)
	s.key = s.key[:0]
	for _, a := range attrs {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(a.Key))
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(a.Value))
	}
	id, ok := s.attrSetIDs[string(s.key)]
	if !ok {
		id = uint32(len(s.attrSets))
		s.attrSets = append(s.attrSets, slices.Clone(attrs))
		s.attrSetIDs[string(s.key)] = id
	}
	return id
}

// point copies what is kept of p. last is the distribution of the point before
// in the series, whose bounds are shared if they are the same.
func (s *Store) point(p *RawPoint, last *Dist) Point {
	q := Point{Start: p.Start, Time: p.Time, NoValue: p.NoValue}
	if q.Start <= 0 {
		q.Start = 0
	}
	if q.Start > q.Time {
		s.Defects.Add(StartAfterTime, string(p.Name))
		q.Start = 0
	}
	if p.NoValue {
		return q
	}
	if p.Type == Gauge || p.Type == Sum {
		q.IsInt = p.IsInt
		if p.IsInt {
			q.bits = uint64(p.Int)
		} else {
			q.setFloat(p.Float)
			if q.NoValue && !math.IsNaN(p.Float) {
				s.Defects.Add(NotFinite, string(p.Name))
			}
		}
		return q
	}
	d, ok := newDist(p, last, s.cut)
	if !ok {
		s.Defects.Add(BadBuckets, string(p.Name))
	}
	q.Dist = d
	return q
}

// cut copies counts into a block that many points share, so that a point costs
// no object of its own for them.
func (s *Store) cut(counts []uint64) []uint64 {
	const block = 4096
	if len(counts) == 0 {
		return nil
	}
	if len(counts) > len(s.counts) {
		if len(counts) > block/8 {
			return slices.Clone(counts)
		}
		s.counts = make([]uint64, block)
	}
	n := copy(s.counts, counts)
	c := s.counts[:n:n]
	s.counts = s.counts[n:]
	return c
}

// Append adds all points of o, whose tables were absorbed into s's with the
// translation m. The stores share points afterwards; points never change.
func (s *Store) Append(o *Store, m *trace.Remap) {
	sets := make([]uint32, len(o.attrSets))
	for i, set := range o.attrSets {
		s.attrs = s.attrs[:0]
		for _, a := range set {
			s.attrs = append(s.attrs, trace.Attr{Key: m.Strings[a.Key], Value: m.Value(a.Value)})
		}
		sets[i] = s.attrSet(s.attrs)
	}
	for i := range o.series {
		r := &o.series[i]
		k := r.key
		k.name, k.unit, k.resource, k.attrs = m.Strings[k.name], m.Strings[k.unit], m.Resources[k.resource], sets[k.attrs]
		to := s.at(k)
		to.points = append(to.points, r.points...)
		to.exemplars = append(to.exemplars, r.exemplars...)
	}
	s.points += o.points
	s.Defects.Merge(o.Defects)
}

// AppendMoves adds all points of o, translated into s's tables by m, with what m
// takes over of their attributes. Series that differ in nothing else then are one.
func (s *Store) AppendMoves(o *Store, m *trace.Moves) {
	sets := make([]uint32, len(o.attrSets))
	for i, set := range o.attrSets {
		s.attrs = m.Attrs(s.attrs[:0], set, trace.OfPoint)
		sets[i] = s.attrSet(s.attrs)
	}
	for i := range o.series {
		r := &o.series[i]
		k := r.key
		k.name, k.unit, k.resource, k.attrs = m.String(k.name), m.String(k.unit), m.Resource(k.resource), sets[k.attrs]
		to := s.at(k)
		to.points = append(to.points, r.points...)
		to.exemplars = append(to.exemplars, r.exemplars...)
	}
	s.points += o.points
	s.Defects.Merge(o.Defects)
}
