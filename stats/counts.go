package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson is the interval of a share of which k of n were seen (Wilson 1927). k and n may be effective counts. Without
// any it is 0..1.
func Wilson(k, n, level float64) Interval {
	if n <= 0 {
		return Interval{0, 1}
	}
	z := normal((1 + level) / 2)
	p := k / n
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{max(centre-half, 0), min(centre+half, 1)}
}

// RuleOfThree is the 95 % upper bound of a share of which none of n were seen: 1 − 0.05^(1/n), about 3/n.
func RuleOfThree(n float64) float64 {
	if n <= 0 {
		return 1
	}
	return -math.Expm1(math.Log(0.05) / n)
}

// OddsRatio is the odds of being among the first b of n1 over those of a of n0, with Woolf's interval. Where a cell
// is empty, half a request is added to each, without which the ratio would be zero or infinite. Counts may be
// effective ones.
func OddsRatio(a, n0, b, n1, level float64) (ratio float64, iv Interval) {
	cells := [4]float64{a, n0 - a, b, n1 - b}
	if min(cells[0], cells[1], cells[2], cells[3]) <= 0 {
		for i := range cells {
			cells[i] = max(cells[i], 0) + 0.5
		}
	}
	log := math.Log(cells[2]) - math.Log(cells[3]) - math.Log(cells[0]) + math.Log(cells[1])
	se := math.Sqrt(1/cells[0] + 1/cells[1] + 1/cells[2] + 1/cells[3])
	z := normal((1 + level) / 2)
	return math.Exp(log), Interval{math.Exp(log - z*se), math.Exp(log + z*se)}
}

// EffectiveCounts turns weighted requests, of which some have a property, into plain counts k of n: k/n is the
// weighted share and n the number of requests whose plain share would be as uncertain. They can be given to [Wilson]
// and [OddsRatio], and rounded to [FisherTwoSided]. Equal weights give the requests themselves.
func EffectiveCounts(weights []float64, has []bool) (k, n float64) {
	var h heaviness
	for i, w := range weights {
		if has[i] {
			h.tail += w
			h.tailSquare += w * w
		} else {
			h.body += w
			h.bodySquare += w * w
		}
	}
	total := h.tail + h.body
	if total == 0 {
		return 0, 0
	}
	p := h.tail / total
	n = total * h.perRequest(p)
	return p * n, n
}

// BinomialAtLeast is the probability of k or more of n at probability p each.
func BinomialAtLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// PoissonAtLeast is the probability of k or more events where mean are expected.
func PoissonAtLeast(k int, mean float64) float64 {
	switch {
	case k <= 0:
		return 1
	case mean <= 0:
		return 0
	}
	return mathext.GammaIncReg(float64(k), mean)
}

// PoissonInterval is the exact interval of the mean of a count of which k were seen (Garwood 1936).
func PoissonInterval(k int, level float64) Interval {
	tail := (1 - level) / 2
	iv := Interval{0, distuv.Gamma{Alpha: float64(k + 1), Beta: 1}.Quantile(1 - tail)}
	if k > 0 {
		iv.Lo = distuv.Gamma{Alpha: float64(k), Beta: 1}.Quantile(tail)
	}
	return iv
}
