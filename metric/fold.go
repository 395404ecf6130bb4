package metric

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// An Attribute is an attribute of a series, in text.
type Attribute struct {
	Key, Value string
	Type       trace.ValueType
}

func compareAttribute(a, b Attribute) int {
	if c := strings.Compare(a.Key, b.Key); c != 0 {
		return c
	}
	if c := strings.Compare(a.Value, b.Value); c != 0 {
		return c
	}
	return cmp.Compare(a.Type, b.Type)
}

// A Key is the identity of a series. Two points with one key are of one series,
// whichever file, batch or instrumentation scope they came in.
type Key struct {
	Name, Unit        string
	Type              Type
	Temporality       Temporality
	Monotonic         bool
	Service, Instance string

	// Resource is the resource's attributes where no attribute of it names an
	// instance: then they are all that tells two processes of a service apart.
	Resource []Attribute

	// Attrs is sorted by key.
	Attrs []Attribute
}

// Attr is the value of the first of keys that the series has; "" if none.
func (k *Key) Attr(keys ...string) string {
	for _, key := range keys {
		for _, a := range k.Attrs {
			if a.Key == key && a.Value != "" {
				return a.Value
			}
		}
	}
	return ""
}

// compare is the order of series in output: by name, then where they come from.
func (k *Key) compare(o *Key) int {
	for _, c := range []int{
		strings.Compare(k.Name, o.Name), strings.Compare(k.Service, o.Service), strings.Compare(k.Instance, o.Instance),
		slices.CompareFunc(k.Attrs, o.Attrs, compareAttribute),
		slices.CompareFunc(k.Resource, o.Resource, compareAttribute),
		strings.Compare(k.Unit, o.Unit), cmp.Compare(k.Type, o.Type),
		cmp.Compare(k.Temporality, o.Temporality), compareBool(k.Monotonic, o.Monotonic),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}

// A Series is the distinct points of one key.
type Series struct {
	Key

	// Received counts the points that came, copies included.
	Received int64

	// Points is sorted by time, then start, then value; no two are the same.
	Points []Point

	// Exemplars is at most maxExemplars measurements, the largest first.
	Exemplars []Exemplar
}

// maxExemplars bounds what a series keeps. The k largest of a set can be merged
// exactly, and the large ones are those that lead to the traces of a tail.
const maxExemplars = 256

// A Fold is the distinct points of every series. The zero Fold is not ready for
// use; NewFold is. Merging folds of the parts of some input, in any order and
// grouping, gives the fold of the whole, to the byte of Append.
type Fold struct {
	series map[string]*Series // by the encoding of their Key
}

// NewFold returns a fold of no points.
func NewFold() *Fold { return &Fold{series: map[string]*Series{}} }

// Fold is the fold of the points of s.
func (s *Store) Fold() *Fold {
	f := NewFold()
	for i := range s.series {
		r := &s.series[i]
		key := s.keyOf(r.key)
		points := slices.Clone(r.points)
		slices.SortFunc(points, func(a, b Point) int { return a.compare(&b) })
		points = slices.CompactFunc(points, func(a, b Point) bool { return a.compare(&b) == 0 })
		f.add(&Series{
			Key: key, Received: int64(len(r.points)), Points: points,
			Exemplars: topExemplars(slices.Clone(r.exemplars)),
		})
	}
	return f
}

// keyOf is k in text.
func (s *Store) keyOf(k storeKey) Key {
	t := s.tables
	r := t.Resource(k.resource)
	key := Key{
		Name: t.String(k.name), Unit: t.String(k.unit),
		Type: k.typ, Temporality: k.temporality, Monotonic: k.monotonic,
		Service: t.String(r.Service), Instance: t.String(r.Instance),
		Attrs: attributes(t, s.attrSets[k.attrs]),
	}
	if key.Instance == "" {
		key.Resource = attributes(t, r.Attrs)
	}
	return key
}

func attributes(t *trace.Tables, attrs []trace.Attr) []Attribute {
	if len(attrs) == 0 {
		return nil
	}
	out := make([]Attribute, len(attrs))
	for i, a := range attrs {
		out[i] = Attribute{t.String(a.Key), t.Text(a.Value), a.Value.Type()}
	}
	slices.SortFunc(out, compareAttribute)
	return slices.Compact(out)
}

// topExemplars sorts es and keeps the maxExemplars largest distinct ones.
func topExemplars(es []Exemplar) []Exemplar {
	slices.SortFunc(es, Exemplar.compare)
	es = slices.Compact(es)
	if len(es) > maxExemplars {
		es = slices.Clip(es[:maxExemplars])
	}
	return es
}

// Merge adds the points of o. The folds share points afterwards, which never
// change; o itself is not changed.
func (f *Fold) Merge(o *Fold) {
	for _, s := range o.series {
		f.add(s)
	}
}

// add adds a series, which is not changed.
func (f *Fold) add(s *Series) {
	id := string(s.Key.appendTo(nil))
	have, ok := f.series[id]
	if !ok {
		f.series[id] = s
		return
	}
	f.series[id] = &Series{
		Key:       have.Key,
		Received:  have.Received + s.Received,
		Points:    union(have.Points, s.Points),
		Exemplars: topExemplars(slices.Concat(have.Exemplars, s.Exemplars)),
	}
}

// union merges two sorted lists of distinct points into one.
func union(a, b []Point) []Point {
	out := make([]Point, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].compare(&b[0]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Series is all series, in the order of their keys.
func (f *Fold) Series() []*Series {
	return slices.SortedFunc(maps.Values(f.series), func(a, b *Series) int { return a.Key.compare(&b.Key) })
}

// Points is the number of distinct points, and Received that of all points.
func (f *Fold) Points() (distinct, received int64) {
	for _, s := range f.series {
		distinct += int64(len(s.Points))
		received += s.Received
	}
	return distinct, received
}

// Span is the first and the last time of a point; ok is false if there is none.
func (f *Fold) Span() (first, last trace.Time, ok bool) {
	for _, s := range f.series {
		a, b := s.Points[0].Time, s.Points[len(s.Points)-1].Time
		if !ok {
			first, last, ok = a, b, true
		}
		first, last = min(first, a), max(last, b)
	}
	return first, last, ok
}
