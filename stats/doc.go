// Package stats says whether the latency of an endpoint changed, by how much, and what its quantiles are made of.
//
// Start with [Sample], the requests of one side, and [Pair], two samples to compare: [Pair.Test] asks whether
// anything changed, [Pair.Delta] by how much at a quantile, [Pair.Verdict] puts both into one word, and
// [Pair.Allocate] says where a quantile and its change are spent.
//
// All values are nanoseconds unless a name says otherwise. Quantiles, shares and probabilities lie in 0..1.
// A point quantile is always the smallest value x with F(x) >= q, where F is the weighted distribution function.
//
// What it assumes: every request has a weight above zero (1 where nothing was sampled away) and, if known, the
// second in which it began and the run it belongs to. Requests of one side need not be independent where times
// are known; where they are not, independence is assumed and said in a [Warning].
//
// What it refuses: to close an interval that the data cannot close. Such an end is infinite, see [Interval].
//
// Everything is deterministic: generators are seeded by counts of the data, and requests are put into a canonical
// order first, so that equal input in any order gives equal bytes.
package stats
