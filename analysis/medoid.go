package analysis

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/stats"
)

// maxBand is how many requests around a quantile are compared for the one that
// stands for them all.
const maxBand = 50

// medoid is the index of the request, of those around a quantile, that spends its
// time most like the others there: the sum of differences over all nodes and kinds
// is the least. A mean would be nobody's request. It is -1 of fewer than three.
func medoid(s *hypotheses.Side, q float64) int {
	n := len(s.Counted)
	if n < 3 {
		return -1
	}
	want := int64(s.Sample.Quantile(q))
	distance := make([]int64, n)
	for i, q := range s.Counted {
		d := q.Duration() - want
		distance[i] = max(d, -d)
	}
	// One request in a hundred on either side of the quantile, and three at least.
	size := min(max(3, n/50), maxBand)
	farthest := stats.Quantile(distance, nil, float64(size)/float64(n))
	var band []int
	for i, d := range distance {
		if d <= farthest {
			band = append(band, i)
		}
	}
	slices.SortFunc(band, func(a, b int) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), s.Counted[a].Compare(s.Counted[b].Record))
	})
	band = band[:size]
	spent := make([][]stats.Entry, len(band))
	for k, i := range band {
		spent[k] = slices.Clone(s.Entries[i])
		slices.SortFunc(spent[k], func(a, b stats.Entry) int { return cmp.Compare(a.Component, b.Component) })
	}
	best, least := -1, 0.0
	for k := range band {
		sum := 0.0
		for _, other := range spent {
			sum += apart(spent[k], other)
		}
		if best < 0 || sum < least {
			best, least = band[k], sum
		}
	}
	return best
}

// apart is how differently two requests spend their time, in ns: summed over the
// components. Entries are in order of component.
func apart(x, y []stats.Entry) float64 {
	sum := 0.0
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].Component < y[0].Component:
			sum += float64(x[0].NS)
			x = x[1:]
		case len(x) == 0 || y[0].Component < x[0].Component:
			sum += float64(y[0].NS)
			y = y[1:]
		default:
			sum += max(float64(x[0].NS)-float64(y[0].NS), float64(y[0].NS)-float64(x[0].NS))
			x, y = x[1:], y[1:]
		}
	}
	return sum
}
