package stats

import "math"

// maxJoint bounds the work of the joint null, which grows with the number of requests. Above it all counts are
// shrunk alike: by then the smallest tail in use holds hundreds of requests, and G depends on shares alone.
const maxJoint = 1 << 18

// A jointNull is the joint distribution of the counts above nested thresholds when requests are dealt to the two
// sides by lot: n1 of all are current, above[u] of all are above threshold u, widest tail first. Given the number
// of current ones above one threshold, the number above the next is hypergeometric, so the counts form a Markov
// chain from the widest tail inward, and its law is summed exactly instead of being drawn.
type jointNull struct {
	n0, n1 int
	above  []int
}

func newJointNull(n0, n1 int, above []int) jointNull {
	if n := n0 + n1; n > maxJoint {
		scale := float64(maxJoint) / float64(n)
		shrink := func(k int) int { return int(math.Round(float64(k) * scale)) }
		shrunk := make([]int, len(above))
		for i, k := range above {
			shrunk[i] = shrink(k)
		}
		n0, n1, above = shrink(n0), shrink(n1), shrunk
	}
	return jointNull{n0, n1, above}
}

// atMost is the probability that the smallest Fisher p of all thresholds is p or less.
func (j jointNull) atMost(p float64) float64 {
	// inside[i] is the probability that all counts so far were accepted and the last one is lo + i.
	var inside, next []float64
	lo := 0
	population, side := j.n0+j.n1, j.n1
	for u, k := range j.above {
		l, h := newHypergeometric(j.n0+j.n1, k, j.n1).accepted(p)
		if l > h {
			return 1
		}
		next = append(next[:0], make([]float64, h-l+1)...)
		if u == 0 {
			addHypergeometric(next, l, population, side, k, 1)
		}
		for i, mass := range inside {
			if mass > 1e-15 {
				addHypergeometric(next, l, population, lo+i, k, mass)
			}
		}
		inside, next, lo, population = next, inside, l, k
	}
	sum := 0.0
	for _, mass := range inside {
		sum += mass
	}
	return min(max(1-sum, 0), 1)
}

// addHypergeometric adds mass times the probability of l, l+1, … marked among the draws to row. It stops where
// probabilities no longer matter to a p-value.
func addHypergeometric(row []float64, l, population, marked, draws int, mass float64) {
	least, most := max(l, draws+marked-population, 0), min(l+len(row)-1, draws, marked)
	if least > most {
		return
	}
	mode := int(float64(draws+1) / float64(population+2) * float64(marked+1))
	mode = min(max(mode, least), most)
	start := mass * math.Exp(logChoose(marked, mode)+logChoose(population-marked, draws-mode)-logChoose(population, draws))
	row[mode-l] += start
	const nothing = 1e-17
	rest := population - marked - draws
	for k, p := mode, start; k < most && p > nothing; k++ {
		p *= float64(marked-k) * float64(draws-k) / (float64(k+1) * float64(rest+k+1))
		row[k+1-l] += p
	}
	for k, p := mode-1, start; k >= least && p > nothing; k-- {
		p *= float64(k+1) * float64(rest+k+1) / (float64(marked-k) * float64(draws-k))
		row[k-l] += p
	}
}
