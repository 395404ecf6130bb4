package stats

import "math"

// SampleKey is the key by which a record competes for being kept: −ln(u)/weight with u in (0, 1) from a hash of its
// trace and span ids. The records with the smallest keys are a sample without replacement, the likelier kept the
// heavier they are, and the same whatever the order and however the data were split (bottom-k, Cohen and Kaplan
// 2007). The 52 upper bits of the hash count: with one more, the largest u would round to 1.
func SampleKey(hash uint64, weight float64) float64 {
	u := (float64(hash>>12) + 0.5) / (1 << 52)
	return -math.Log(u) / weight
}

// KeptWeights are the weights of the records kept of one bucket. keys ascend and are the m+1 smallest of the bucket,
// or all if there are fewer; weights are those of the records and bucketWeight is that of the whole bucket, kept or
// not. At most m weights come back: the (m+1)-th record only gives its key τ, the threshold below which the others
// were. A record of weight w was below it with probability 1 − e^(−wτ), so it stands for w/(1 − e^(−wτ)); the sum is
// then scaled to the bucket's weight. To divide that weight evenly would favour the light records.
func KeptWeights(keys, weights []float64, m int, bucketWeight float64) []float64 {
	kept := make([]float64, min(m, len(keys)))
	copy(kept, weights)
	if len(keys) <= m {
		return kept
	}
	tau, sum := keys[m], 0.0
	for i, w := range kept {
		kept[i] = w / -math.Expm1(-w*tau)
		sum += kept[i]
	}
	for i := range kept {
		kept[i] *= bucketWeight / sum
	}
	return kept
}
