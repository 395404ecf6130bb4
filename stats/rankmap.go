package stats

import "sort"

// A RankMap puts a value of one sample where a value of the same rank lies in another: x → Q_to(F_from(x)). Mapping
// the current waits to the baseline's this way gives them back their old distribution and keeps who waited long.
// Between equal samples it changes nothing.
type RankMap struct{ from, to *Sample }

// NewRankMap maps the values of from to those of to. If either is empty, values stay as they are.
func NewRankMap(from, to *Sample) RankMap { return RankMap{from, to} }

// At maps x. Several requests with the value x occupy a stretch of ranks; tie in [0, 1) is the place in it, and giving
// each request its own (a hash of its id) keeps the distribution where many are equal. 0.5 is the middle. A value
// between those of the sample has the rank of all below it.
func (m RankMap) At(x int64, tie float64) int64 {
	from, to := m.from, m.to
	if len(from.x) == 0 || len(to.x) == 0 {
		return x
	}
	lo, hi := sort.SearchFloat64s(from.x, float64(x)), from.above(float64(x))
	rank := from.cum[lo] + tie*(from.cum[hi]-from.cum[lo])
	rank *= to.Weight() / from.Weight() * (1 + slack)
	i := sort.Search(len(to.x), func(i int) bool { return to.cum[i+1] > rank })
	return int64(to.x[min(i, len(to.x)-1)])
}
