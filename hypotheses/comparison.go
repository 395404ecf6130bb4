package hypotheses

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/parallel"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// A Side is the requests of one endpoint in one set.
type Side struct {
	Set *summary.Set
	All []*summary.Request

	// Orders is what these requests alone tell of orders and of who is waited for;
	// nil: what the whole set tells stands.
	Orders *graph.Verdicts

	// Counted is those of All that are in the percentiles; Sample is their
	// latencies, in the same order.
	Counted []*summary.Request
	Sample  *stats.Sample

	// Metered is what the endpoint's request-duration metrics say of how these were
	// sampled, by run.
	Metered []*summary.Metering

	// Entries is the ledger of each of Counted; components are the
	// Comparison's.
	Entries [][]stats.Entry
}

// Verdicts is what is known of orders and of who is waited for.
func (s *Side) Verdicts() *graph.Verdicts {
	if s.Orders != nil {
		return s.Orders
	}
	return s.Set.Calibration.Verdicts
}

// A Component is a node of the endpoint and a kind of time spent there.
type Component struct {
	Slot graph.SlotID
	Kind summary.Kind
}

// A Comparison is one endpoint on one or two sides.
type Comparison struct {
	Reading  *summary.Reading
	Endpoint *summary.Endpoint
	Options  stats.Options

	// Sides holds the baseline, nil of a single data set, and the current side.
	Sides [2]*Side

	Components []Component // in order of slot, then kind

	// Meant is what somebody declared of a callee: whether the endpoint can do
	// without it; declared is false where nobody said. Nil: nobody said anything.
	Meant func(service, operation string) (optional, declared bool)

	// Pair is nil unless both sides have requests in the percentiles.
	Pair    *stats.Pair
	Test    stats.Test
	P       float64 // adjusted for all endpoints
	Verdict stats.Verdict

	// Guards is set by Guard. Judged is the verdict that stood before one of them
	// made it NotComparable.
	Guards []Guard
	Judged stats.Outcome

	attributes []*Attribute // once asked for
}

// Counts reports whether a request is in the percentiles of a population.
func Counts(r *graph.Record, p population.Population) bool {
	return r.Standing == graph.Counted && p.Holds(r.Outcome)
}

// NewComparison prepares an endpoint.
func NewComparison(r *summary.Reading, e *summary.Endpoint, opt stats.Options, counts func(*summary.Request) bool) (*Comparison, error) {
	c := &Comparison{Reading: r, Endpoint: e, Options: opt}
	for i, set := range r.Sets {
		if set == nil {
			continue
		}
		var counted []*summary.Request
		for _, q := range e.Sides[i] {
			if counts(q) {
				counted = append(counted, q)
			}
		}
		if err := c.side(i, counted); err != nil {
			return nil, err
		}
	}
	c.charge()
	c.pair()
	return c, nil
}

// Part is the comparison of those counted requests that of holds for, whose ledger
// is that of the whole.
func (c *Comparison) Part(of func(*summary.Request) bool) (*Comparison, error) {
	p := &Comparison{Reading: c.Reading, Endpoint: c.Endpoint, Options: c.Options}
	number := make([]int, len(c.Components)) // of the components that the part has
	for i, s := range c.Sides {
		if s == nil {
			continue
		}
		var counted []*summary.Request
		var entries [][]stats.Entry
		for j, q := range s.Counted {
			if !of(q) {
				continue
			}
			counted, entries = append(counted, q), append(entries, s.Entries[j])
			for _, e := range s.Entries[j] {
				number[e.Component] = 1
			}
		}
		if err := p.side(i, counted); err != nil {
			return nil, err
		}
		p.Sides[i].Entries = entries
	}
	for i, k := range c.Components {
		if number[i] != 0 {
			number[i] = len(p.Components)
			p.Components = append(p.Components, k)
		}
	}
	for _, s := range p.Sides {
		if s == nil {
			continue
		}
		n := 0
		for _, row := range s.Entries {
			n += len(row)
		}
		all := make([]stats.Entry, 0, n)
		for j, row := range s.Entries {
			first := len(all)
			for _, e := range row {
				all = append(all, stats.Entry{Component: number[e.Component], NS: e.NS})
			}
			s.Entries[j] = all[first:len(all):len(all)]
		}
	}
	p.pair()
	return p, nil
}

// side makes a side of the requests that count.
func (c *Comparison) side(i int, counted []*summary.Request) error {
	s := &Side{Set: c.Reading.Sets[i], All: c.Endpoint.Sides[i], Counted: counted}
	if !c.Endpoint.Inner {
		s.Metered = s.Set.Metered[c.Endpoint.Name]
	}
	c.Sides[i] = s
	var err error
	s.Sample, err = c.sample(s, func(j int) (int64, float64, bool) {
		return counted[j].Duration(), float64(counted[j].Weight) / graph.OneRequest, true
	})
	return err
}

// sample is what of gives of a side's counted requests: a length in ns and a weight, or that it has none.
func (c *Comparison) sample(s *Side, of func(j int) (ns int64, weight float64, ok bool)) (*stats.Sample, error) {
	n := len(s.Counted)
	cols := stats.Requests{Seed: c.Options.Seed, Latency: make([]int64, 0, n), Weight: make([]float64, 0, n), Second: make([]int64, 0, n), Run: make([]int, 0, n), Key: make([]uint64, 0, n)}
	weighted := false
	for j, q := range s.Counted {
		ns, w, ok := of(j)
		if !ok {
			continue
		}
		cols.Latency, cols.Weight = append(cols.Latency, ns), append(cols.Weight, w)
		cols.Second, cols.Run, cols.Key = append(cols.Second, floorSecond(int64(q.Start()))), append(cols.Run, int(q.Run)), append(cols.Key, Key(q.Record))
		weighted = weighted || w != 1
	}
	if !weighted {
		cols.Weight = nil
	}
	return stats.NewSample(cols)
}

// pair compares the sides, where both have requests.
func (c *Comparison) pair() {
	if b, cur := c.Sides[summary.Baseline], c.Sides[summary.Current]; b != nil && b.Sample.N() > 0 && cur.Sample.N() > 0 {
		c.Pair = stats.NewPair(b.Sample, cur.Sample, c.Options)
		c.Test = c.Pair.Test()
	}
}

func floorSecond(ns int64) int64 {
	const second = 1_000_000_000
	if ns < 0 {
		return -((-ns + second - 1) / second)
	}
	return ns / second
}

// Key is a hash of a request's identity, the same wherever it is computed.
func Key(r *graph.Record) uint64 {
	h := fnv.New64a()
	h.Write(r.TraceID[:])
	var b [8]byte
	for i := range b {
		b[i] = byte(r.Entry >> (8 * i))
	}
	h.Write(b[:])
	return h.Sum64()
}

// charge computes the ledger of every counted request and numbers the
// components.
func (c *Comparison) charge() {
	type cell struct {
		Component
		ns int64
	}
	var charged [2][]cell
	var ends [2][]int // of each request's cells
	c.sides(func(i int, s *Side) {
		l := summary.NewLedger(s.Set.Calibration)
		cells := make([]cell, 0, 8*len(s.Counted))
		last := newNumbering(c.Reading.Dict.Slots(), 8*len(s.Counted)) // the last cell of each component, from 1
		for _, q := range s.Counted {
			first := len(cells)
			for _, p := range l.Charge(q.Record) {
				k := Component{c.Relative(q, p.Slot), p.Kind}
				at := last.of(k)
				if at <= first {
					cells = append(cells, cell{Component: k})
					at = len(cells)
					last.set(k, at)
				}
				cells[at-1].ns += p.End - p.Start
			}
			ends[i] = append(ends[i], len(cells))
		}
		charged[i] = cells
	})
	number := newNumbering(c.Reading.Dict.Slots(), len(charged[0])+len(charged[1]))
	for _, cells := range charged {
		for _, x := range cells {
			if number.of(x.Component) == 0 {
				number.set(x.Component, 1)
				c.Components = append(c.Components, x.Component)
			}
		}
	}
	slices.SortFunc(c.Components, func(a, b Component) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Kind, b.Kind))
	})
	for i, k := range c.Components {
		number.set(k, i)
	}
	for i, s := range c.Sides {
		if s == nil {
			continue
		}
		s.Entries = make([][]stats.Entry, len(ends[i]))
		all, from := make([]stats.Entry, len(charged[i])), 0
		for n, x := range charged[i] {
			all[n] = stats.Entry{Component: number.of(x.Component), NS: x.ns}
		}
		for j, to := range ends[i] {
			s.Entries[j] = all[from:to:to]
			from = to
		}
	}
}

// Relative is a slot as the endpoint sees it: of an entry endpoint the slot
// itself; of an inner one, which several slots may reach, the slot below the
// endpoint's own.
func (c *Comparison) Relative(q *summary.Request, slot graph.SlotID) graph.SlotID {
	if !c.Endpoint.Inner {
		return slot
	}
	return c.Reading.Below(q.Calls[0].Slot, slot)
}

// A numbering gives components numbers, zero before any is set: an array where enough is
// asked of it to be worth its memory, else a map.
type numbering struct {
	dense []int32
	few   map[Component]int32
}

func newNumbering(slots, asked int) *numbering {
	if n := slots * summary.Kinds; n <= 4096+8*asked {
		return &numbering{dense: make([]int32, n)}
	}
	return &numbering{few: map[Component]int32{}}
}

func (n *numbering) of(k Component) int {
	if at := int(k.Slot)*summary.Kinds + int(k.Kind); at < len(n.dense) {
		return int(n.dense[at])
	}
	return int(n.few[k])
}

func (n *numbering) set(k Component, to int) {
	if at := int(k.Slot)*summary.Kinds + int(k.Kind); at < len(n.dense) {
		n.dense[at] = int32(to)
		return
	}
	if n.few == nil {
		n.few = map[Component]int32{}
	}
	n.few[k] = int32(to)
}

// sides calls f for each side there is: at once, but for an inner endpoint, whose
// Relative slots are added where they are asked for.
func (c *Comparison) sides(f func(i int, s *Side)) {
	one := func(i int) {
		if s := c.Sides[i]; s != nil {
			f(i, s)
		}
	}
	if !c.Endpoint.Inner {
		parallel.Do(len(c.Sides), one)
		return
	}
	for i := range c.Sides {
		one(i)
	}
}

// Of is a side's ledger entries, for stats.
func (s *Side) Of(j int) []stats.Entry { return s.Entries[j] }
