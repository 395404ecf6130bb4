package stats

import (
	"cmp"
	"slices"
)

// BenjaminiHochberg adjusts the p-values of a family of endpoints: rejecting those whose adjusted value is alpha or
// less keeps the expected share of false ones among the rejected at alpha. Every endpoint that was tested belongs
// to the family, also one with too few requests to reject (p = 1).
func BenjaminiHochberg(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(p[a], p[b]), cmp.Compare(a, b)) })
	adjusted := make([]float64, len(p))
	least := 1.0
	for rank := len(order); rank >= 1; rank-- {
		i := order[rank-1]
		least = min(least, p[i]*float64(len(p))/float64(rank))
		adjusted[i] = least
	}
	return adjusted
}

// OneCause reports whether so many endpoints moved the same way that one cause (load, host, window) may have
// moved them all: more than half of 10 or more. Directions are those of all endpoints tested, +1 or −1 where the
// endpoint is rejected and 0 where not; the result is the common direction or 0.
func OneCause(directions []int) int {
	if len(directions) < 10 {
		return 0
	}
	up, down := 0, 0
	for _, d := range directions {
		switch {
		case d > 0:
			up++
		case d < 0:
			down++
		}
	}
	switch {
	case 2*up > len(directions):
		return 1
	case 2*down > len(directions):
		return -1
	}
	return 0
}
