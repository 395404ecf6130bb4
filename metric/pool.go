package metric

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// A PoolView is what the metrics of one pool, executor, limiter or server of one
// instance say about a window. What was not recorded is NaN or has a zero Count.
type PoolView struct {
	Service, Instance string
	Kind              Kind
	Name              string // may be empty

	Used, Pending Levels

	// Occupancy is Used / limit, second by second. A limit holds from when it
	// was recorded until another one was.
	Occupancy Levels

	// OccupancyOver is the same over time, from the first second that was
	// recorded to the last: at most OverTime means of equal stretches, NaN of
	// those without a record.
	OccupancyOver []float64

	// Limit is the size it may grow to. Its P50 is the usual one; where Min and
	// Max differ it was changed in the window.
	Limit Levels

	Wait     Times // until one was free
	Use      Times // how long one was held
	Timeouts float64

	// Sources is the names of the metrics that were used.
	Sources []string
}

// Exhausted reports whether the pool was at its limit, or had requests waiting
// for it, in at least one second.
func (p *PoolView) Exhausted() bool { return p.Occupancy.Max >= 1 || p.Pending.Max > 0 }

// poolKey names a pool.
type poolKey struct {
	service, instance string
	kind              Kind
	name              string
}

func (k poolKey) compare(o poolKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.instance, o.instance),
		strings.Compare(string(k.kind), string(o.kind)), strings.Compare(k.name, o.name))
}

// member is a series of a pool.
type member struct {
	*Series
	Meaning
}

// Pools is every pool that the metrics watch, seen through w, in the order of
// service, instance, kind and name.
func (f *Fold) Pools(w Window, n *Names) []PoolView {
	pools := map[poolKey][]member{}
	for _, s := range f.Series() {
		m, ok := n.Meaning(&s.Key)
		if !ok || m.Kind == "" || m.Role >= RequestDuration {
			continue
		}
		k := poolKey{s.Service, s.Instance, m.Kind, m.Pool}
		pools[k] = append(pools[k], member{s, m})
	}
	var out []PoolView
	for _, k := range slices.SortedFunc(maps.Keys(pools), poolKey.compare) {
		if v, ok := poolView(k, pools[k], w); ok {
			out = append(out, v)
		}
	}
	return out
}

// poolView is the view of one pool; ok is false if nothing of it lies in w.
func poolView(k poolKey, members []member, w Window) (v PoolView, ok bool) {
	v = PoolView{Service: k.service, Instance: k.instance, Kind: k.kind, Name: k.name, Timeouts: math.NaN()}
	sources := map[string]bool{}
	// of is the series of a role under the one name that is preferred of those
	// that say something in w.
	of := func(r Role) (chosen []member) {
		for _, m := range members {
			if m.Role != r || !m.speaks(w) {
				continue
			}
			if len(chosen) > 0 {
				// Two spellings of one known name repeat each other; what one
				// entry of a configuration fits are parts.
				if m.rank > chosen[0].rank || m.rank == chosen[0].rank && m.rank > 0 && m.Name != chosen[0].Name {
					continue
				}
				if m.rank < chosen[0].rank {
					chosen = chosen[:0]
				}
			}
			chosen = append(chosen, m)
		}
		for _, m := range chosen {
			sources[m.Name] = true
		}
		return chosen
	}
	level := func(r Role) []step {
		var lists [][]step
		for _, m := range of(r) {
			lists = append(lists, m.steps())
		}
		return combine(lists, false, addUp)
	}

	recorded := slices.DeleteFunc(level(Max), func(s step) bool { return s.value <= 0 }) // 0 is "no limit" to database/sql
	limits := carried(recorded)
	used := level(Used)
	if len(used) == 0 {
		// What is not idle is used.
		if idle := level(Idle); len(idle) > 0 {
			all := level(Total)
			if len(all) == 0 {
				all = limits
			}
			used = combine([][]step{all, idle}, true, func(v []float64) float64 { return max(0, v[0]-v[1]) })
		}
	}
	occupancy := combine([][]step{used, limits}, true, func(v []float64) float64 { return v[0] / v[1] })
	v.Used, v.Pending, v.Occupancy = levels(used, w), levels(level(Pending), w), levels(occupancy, w)
	v.OccupancyOver = overTime(occupancy, w)
	if v.Limit = levels(recorded, w); v.Limit.Seconds == 0 && len(limits) > 0 {
		v.Limit = levels(limits, w) // set before the window
	}

	v.Wait, v.Use = times(of(Wait), w), times(of(Use), w)
	if v.Wait.Count == 0 {
		v.Wait = totals(of(WaitTotal), of(WaitCount), w)
	}
	if m := of(Timeouts); len(m) > 0 {
		v.Timeouts = increase(m, w)
	}
	v.Sources = slices.Sorted(maps.Keys(sources))
	return v, len(v.Sources) > 0
}

// speaks reports whether the series has a value in w, or holds one into it.
func (m member) speaks(w Window) bool {
	switch m.Role {
	case Used, Idle, Total, Pending:
		return levels(m.steps(), w).Seconds > 0
	case Max:
		return len(m.steps()) > 0
	}
	grown, _ := m.growths(w)
	return len(grown) > 0
}
