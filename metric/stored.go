package metric

import "github.com/tailscope/tailscope/trace"

// A Stored is a series of a Store as it came: its points in the order of
// arrival, copies included. The caller must not change it.
type Stored struct {
	Name, Unit  trace.StringID
	Type        Type
	Temporality Temporality
	Monotonic   bool
	Resource    trace.ResourceID
	Attrs       []trace.Attr
	Points      []Point
	Exemplars   []Exemplar
}

// Stored is the series of s in the order in which they were first met.
func (s *Store) Stored() []Stored {
	all := make([]Stored, len(s.series))
	for i := range s.series {
		r := &s.series[i]
		all[i] = Stored{
			Name: r.key.name, Unit: r.key.unit, Type: r.key.typ, Temporality: r.key.temporality, Monotonic: r.key.monotonic,
			Resource: r.key.resource, Attrs: s.attrSets[r.key.attrs], Points: r.points, Exemplars: r.exemplars,
		}
	}
	return all
}
