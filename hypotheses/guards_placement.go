package hypotheses

import (
	"cmp"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/trace"
)

const (
	// minPlacement is how many points of a service's calls must have moved
	// between its instances to be told.
	minPlacement = 0.15
	// minPlaced is the least number of a service's calls on each side for that.
	minPlaced = 50
)

// placementGuard: are the calls of each service spread over its instances as they
// were? A concentration is a true cause; the guard says only that the instances
// of both sides do not do the same.
func (c *Comparison) placementGuard() Guard {
	d := c.Reading.Dict
	type counts map[trace.StringID]float64
	by := map[trace.StringID]*[2]counts{}
	for i, s := range c.Sides {
		for _, q := range s.Counted {
			for k := range q.Calls {
				call := &q.Calls[k]
				if !call.Work.Seen() || !call.Client.Seen() && k > 0 {
					continue
				}
				p := d.ProcAt(call.Work.Proc)
				if p.Instance == 0 {
					continue
				}
				x := by[p.Service]
				if x == nil {
					x = &[2]counts{{}, {}}
					by[p.Service] = x
				}
				x[i][p.Instance]++
			}
		}
	}
	var worst trace.StringID
	var most float64
	var was, is []float64
	for _, service := range sortedNames(d, by) {
		x := by[service]
		a, b := spread(x[0], x[1])
		n := [2]float64{total(x[0]), total(x[1])}
		if min(n[0], n[1]) < minPlaced || max(len(x[0]), len(x[1])) < 2 {
			continue
		}
		var tv, chance float64
		for k := range a {
			tv += math.Abs(a[k]-b[k]) / 2
			p := (a[k]*n[0] + b[k]*n[1]) / (n[0] + n[1])
			chance += math.Sqrt(p*(1-p)*(1/n[0]+1/n[1])) * 0.4 // half the mean of |normal|
		}
		if tv > minPlacement && tv > 4*chance && tv > most {
			worst, most, was, is = service, tv, a, b
		}
	}
	if most == 0 {
		return guard(GuardPlacement, GuardOK, "calls are spread over the instances of each service as they were, within %s", prose.Percent(minPlacement))
	}
	x := by[worst]
	return guard(GuardPlacement, GuardWarn, "%s of the calls of %s are served by other instances: the busiest of %d served %s, of %d now %s", prose.Percent(most), d.String(worst),
		len(x[0]), prose.Percent(slices.Max(was)), len(x[1]), prose.Percent(slices.Max(is)))
}

func total(m map[trace.StringID]float64) (sum float64) {
	for _, n := range m {
		sum += n
	}
	return sum
}

func sortedNames[V any](d *graph.Dict, m map[trace.StringID]V) []trace.StringID {
	var out []trace.StringID
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(x, y trace.StringID) int { return cmp.Compare(d.String(x), d.String(y)) })
	return out
}

// spread is the shares of both sides: instance by instance where the sides have
// instances in common, else by rank, since a rollout renames them all.
func spread(x, y map[trace.StringID]float64) (a, b []float64) {
	nx, ny := total(x), total(y)
	common := false
	for k := range x {
		_, ok := y[k]
		common = common || ok
	}
	if common {
		all := map[trace.StringID]bool{}
		for k := range x {
			all[k] = true
		}
		for k := range y {
			all[k] = true
		}
		for k := range all {
			a, b = append(a, x[k]/nx), append(b, y[k]/ny)
		}
		return a, b
	}
	for _, n := range x {
		a = append(a, n/nx)
	}
	for _, n := range y {
		b = append(b, n/ny)
	}
	for len(a) < len(b) {
		a = append(a, 0)
	}
	for len(b) < len(a) {
		b = append(b, 0)
	}
	desc := func(p, q float64) int { return cmp.Compare(q, p) }
	slices.SortFunc(a, desc)
	slices.SortFunc(b, desc)
	return a, b
}
