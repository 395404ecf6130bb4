// Package stats says whether the latency of an endpoint changed, by how much, and what its quantiles are made of.
//
// Start with [Sample], the requests of one side, and [Pair], two samples to compare: [Pair.Test] asks whether
// anything changed, [Pair.Delta] by how much at a quantile, [Pair.Verdict] puts both into one word, and
// [Pair.Allocate] says where a quantile and its change are spent.
//
// All values are nanoseconds unless a name says otherwise. Quantiles, shares and probabilities lie in 0..1.
// A point quantile is always the smallest value x with F(x) >= q, where F is the weighted distribution function.
//
// # How it decides
//
// Test counts the requests above thresholds at pooled tail shares 1/2, 1/4, 1/8, … and at the target's, and compares the
// sides by Fisher's exact test. Where times are known, blocks of time of every dyadic width are compared too, by
// t-tests with the correlation between neighbouring blocks in the variance, and the largest p of a threshold counts.
// Between windows of unequal length the variance of blocks is pooled: a short one cannot know how much a long one varies;
// and one of less than half the length is held against stretches of its own length of the other.
// One p for all thresholds comes from their joint distribution when requests are dealt to the sides by lot.
//
// Delta takes the spread of a quantile from 1,000 resamples of 8 to 15 blocks, widened for their small number and for
// the correlation left between them, but never below what independent requests would give. Allocate and Mix resample
// the same blocks. With three or more runs a side, runs are the units of Test, Delta and Allocate, by
// Student's t.
//
// How often all this is right is measured: docs/accuracy.md.
//
// # What it assumes and what it refuses
//
// It assumes that every request has a weight above zero (1 where nothing was sampled away) and, if known, the
// second in which it began and the run it belongs to. Requests of one side need not be independent where times
// are known; where they are not, independence is assumed and said in a [Warning].
//
// It refuses to close an interval that the data cannot close. Such an end is infinite, see [Interval].
//
// Everything is deterministic: generators are seeded by counts of the data, and requests are put into a canonical
// order first, so that equal input in any order gives equal bytes.
package stats
