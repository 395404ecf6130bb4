// Package latework says what was done for callers that had left, and what was
// done more than once: departures and the work after them, what a client
// believed against what its server did, attempts of logical calls, hedges,
// timeouts and fan-out, the time that calls are given, calls that could share one,
// and ways of calling that cost time.
//
// Start with [Chains], the attempts of one logical call, and [LateCounter], one of
// the counters over the records of one side. The functions of shares and rates in
// formulas.go stand alone.
//
// It assumes records with repaired clocks and a graph.Walker under the set's
// verdicts. It refuses to call work late because it ended after its parent:
// somebody must have left.
package latework
