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
	lo := lower(from.x, float64(x))
	hi := lo
	for hi < len(from.x) && from.x[hi] == float64(x) {
		if hi++; hi == lo+nearTies {
			hi = from.above(float64(x))
		}
	}
	rank := from.cum[lo] + tie*(from.cum[hi]-from.cum[lo])
	rank *= to.Weight() / from.Weight() * (1 + slack)
	return int64(to.x[min(to.holds(rank), len(to.x)-1)])
}

// holds is the place of the request that holds a rank, in units of weight; the number of requests beyond all.
func (s *Sample) holds(rank float64) int {
	// Where requests weigh about the same, it is near the rank's share of all.
	n := len(s.x)
	i := min(max(int(rank/s.Weight()*float64(n)), 0), n-1)
	for range nearPlace {
		switch {
		case i > 0 && s.cum[i] > rank:
			i--
		case i < n && s.cum[i+1] <= rank:
			i++
		default:
			return i
		}
	}
	return sort.Search(n, func(i int) bool { return s.cum[i+1] > rank })
}

// nearTies and nearPlace are how far is looked step by step before searching.
const nearTies, nearPlace = 8, 16

// lower is the place of the first of x, ascending, that is not below v.
func lower(x []float64, v float64) int {
	lo, n := 0, len(x)
	for n > 0 {
		half := n >> 1
		if x[lo+half] < v {
			lo += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return lo
}
