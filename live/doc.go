// Package live analyses a stream of spans and metric points: it keeps traces
// until they are whole, folds them into windows of time, and compares each window
// with those before it.
//
// Read Engine and Options first. Everything waits for Tick, which is told the
// time: the package reads no clock but in Run. Nothing that comes in waits for
// the analysis. Memory is bounded: what does not fit is shed, whole traces at a
// time and chosen by a hash of their ids, so that what is left is a fair sample
// whose weights say so. Every span that was received is counted as analysed, as
// late, as shed or as still open.
package live
