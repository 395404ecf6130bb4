package stats

import "math/bits"

// Shapley splits value(all) − value(none) fairly over n drivers, n at most 16: each gets the mean of what adding it
// changes, over all orders in which the drivers can be added. Drivers in a set are the bits of its mask. Every set is
// valued once, so 2^n values are needed: 64 for 6 drivers. The shares sum to the difference; what rounding leaves
// over, far below a nanosecond, goes to the last driver.
func Shapley(n int, value func(set uint) float64) []float64 {
	values := make([]float64, 1<<n)
	for set := range values {
		values[set] = value(uint(set))
	}
	// weight[k] = k!(n−k−1)!/n!, the share of orders in which a given set of k comes before a given driver.
	weight := make([]float64, n)
	for k := range weight {
		weight[k] = 1 / float64(n)
		for i := 1; i <= k; i++ {
			weight[k] *= float64(i) / float64(n-i)
		}
	}
	shares := make([]float64, n)
	for i := range shares {
		for set := range values {
			if set&(1<<i) == 0 {
				shares[i] += weight[bits.OnesCount(uint(set))] * (values[set|1<<i] - values[set])
			}
		}
	}
	if n > 0 {
		rest := values[len(values)-1] - values[0]
		for _, s := range shares {
			rest -= s
		}
		shares[n-1] += rest
	}
	return shares
}
