package stats

import "math"

// A hypergeometric is the distribution of the number of marked ones among draws from a population, held as the
// probabilities of lo, lo+1, …; what lies outside has no mass that a float64 could add to the rest.
type hypergeometric struct {
	lo int
	p  []float64
}

// logChoose is ln C(n, k).
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// newHypergeometric is the distribution of the marked among draws of a population with so many marked. It works
// outward from the mode by the ratio of neighbours and then makes the sum 1, so that it carries no error of
// logarithms of large factorials.
func newHypergeometric(population, marked, draws int) hypergeometric {
	least, most := max(0, draws+marked-population), min(draws, marked)
	mode := int(float64(draws+1) / float64(population+2) * float64(marked+1))
	mode = min(max(mode, least), most)
	// ratio is P(k+1)/P(k).
	ratio := func(k int) float64 {
		return float64(marked-k) / float64(k+1) * (float64(draws-k) / float64(population-marked-draws+k+1))
	}
	const nothing = 1e-300
	var up, down []float64
	for k, p := mode, 1.0; k < most; k++ {
		if p *= ratio(k); p < nothing {
			break
		}
		up = append(up, p)
	}
	for k, p := mode-1, 1.0; k >= least; k-- {
		if p /= ratio(k); p < nothing {
			break
		}
		down = append(down, p)
	}
	h := hypergeometric{lo: mode - len(down), p: make([]float64, 0, len(down)+1+len(up))}
	for i := len(down) - 1; i >= 0; i-- {
		h.p = append(h.p, down[i])
	}
	h.p = append(append(h.p, 1), up...)
	sum := 0.0
	for _, p := range h.p {
		sum += p
	}
	for i := range h.p {
		h.p[i] /= sum
	}
	return h
}

// sameProbability is the relative difference below which two outcomes count as equally probable, as in R's
// fisher.test: 10 of 20 against 10 of 20 has pairs of outcomes that only rounding tells apart.
const sameProbability = 1 + 1e-7

// sameSum is the relative difference that two sums of the same probabilities in another order may have.
const sameSum = 1e-9

// twoSided is the sum of the probabilities not larger than that of k.
func (h hypergeometric) twoSided(k int) float64 {
	i := k - h.lo
	if i < 0 || i >= len(h.p) {
		return 0
	}
	limit := h.p[i] * sameProbability
	sum := 0.0
	for _, p := range h.p {
		if p <= limit {
			sum += p
		}
	}
	return min(sum, 1)
}

// accepted is the range of outcomes whose two-sided p is above p, and the empty range lo > hi if there are none.
// The distribution has one mode, so they are contiguous.
func (h hypergeometric) accepted(p float64) (lo, hi int) {
	i, j := 0, len(h.p)-1
	sum := 0.0
	// Take outcomes away from the outside, the least probable first, together with its equals on the other side.
	for i <= j {
		least := min(h.p[i], h.p[j]) * sameProbability
		ni, nj, add := i, j, 0.0
		for ni <= nj && h.p[ni] <= least {
			add += h.p[ni]
			ni++
		}
		for nj >= ni && h.p[nj] <= least {
			add += h.p[nj]
			nj--
		}
		if sum+add > p*(1+sameSum) {
			break
		}
		sum += add
		i, j = ni, nj
	}
	return h.lo + i, h.lo + j
}

// FisherTwoSided is the two-sided p-value of Fisher's exact test of a of n0 against b of n1: the sum of the
// probabilities, given a+b, that are not larger than the observed one. 1 if a side is empty.
func FisherTwoSided(a, n0, b, n1 int) float64 {
	if n0 <= 0 || n1 <= 0 || a+b == 0 || a+b == n0+n1 {
		return 1
	}
	return newHypergeometric(n0+n1, a+b, n1).twoSided(b)
}
