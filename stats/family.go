package stats

import (
	"cmp"
	"math"
	"slices"
)

const (
	// minAbove is the least number of pooled requests above a threshold: with fewer than 6 no split of equal
	// sides reaches p = 0.05.
	minAbove = 6

	// minFamily is the least number of pooled requests for thresholds other than the median.
	minFamily = 12
)

// tailShares are the tail shares of a family on n pooled requests, widest first.
func tailShares(n int, q float64) []float64 {
	if n < minFamily {
		return []float64{0.5}
	}
	var shares []float64
	for u := 0.5; u*float64(n) >= minAbove && u >= (1-q)/4*(1-slack); u /= 2 {
		shares = append(shares, u)
	}
	if u := tailShare(q); u*float64(n) >= minAbove*(1-slack) && !slices.Contains(shares, u) {
		shares = append(shares, u)
		slices.SortFunc(shares, func(a, b float64) int { return cmp.Compare(b, a) })
	}
	return shares
}

// tailShare is 1 − q without the noise of the subtraction, so that 0.99 leaves 0.01.
func tailShare(q float64) float64 { return math.Round((1-q)*1e12) / 1e12 }

// distance is how far a tail share is from the target's, as a ratio.
func (o Options) distance(u float64) float64 { return math.Abs(math.Log(u / tailShare(o.Quantile))) }

// pooled merges two sorted samples.
func (p *Pair) pooled() (x, cum []float64) {
	a, b := p.Base, p.Cur
	n := len(a.x) + len(b.x)
	x, cum = make([]float64, 0, n), make([]float64, 1, n+1)
	for i, j := 0, 0; i+j < n; {
		w := 0.0
		if j == len(b.x) || i < len(a.x) && a.x[i] <= b.x[j] {
			x, w = append(x, a.x[i]), a.w[i]
			i++
		} else {
			x, w = append(x, b.x[j]), b.w[j]
			j++
		}
		cum = append(cum, cum[len(cum)-1]+w)
	}
	return x, cum
}

// members are the thresholds of the family with their counts. Shares that lead to the same requests count once,
// under the name of the one nearest to the target; those that nothing exceeds are dropped.
func (p *Pair) members() []Member {
	x, cum := p.pooled()
	n := len(x)
	var ms []Member
	for _, u := range tailShares(n, p.opt.Quantile) {
		target := (1 - u) * cum[n] * (1 - slack)
		i, _ := slices.BinarySearch(cum[1:], target)
		c := x[min(i, n-1)]
		if c == x[n-1] {
			continue
		}
		if k := len(ms) - 1; k >= 0 && ms[k].Threshold == c {
			if p.opt.distance(u) < p.opt.distance(ms[k].Share) {
				ms[k].Share = u
			}
			continue
		}
		m := Member{Share: u, Threshold: c}
		m.Base = Count{len(p.Base.x) - p.Base.above(c), len(p.Base.x)}
		m.Cur = Count{len(p.Cur.x) - p.Cur.above(c), len(p.Cur.x)}
		m.BaseShare, m.CurShare = p.Base.shareAbove(c), p.Cur.shareAbove(c)
		m.Direction = cmp.Compare(m.CurShare, m.BaseShare)
		m.Quantile = 1 - (m.BaseShare*p.Base.Weight()+m.CurShare*p.Cur.Weight())/cum[n]
		m.From = p.Base.Quantile(m.Quantile)
		m.Moved = p.Cur.Quantile(m.Quantile) - m.From
		ms = append(ms, m)
	}
	return ms
}
