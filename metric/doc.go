// Package metric holds metric points and answers what they say about a tail:
// the series they form, the pools and executors they watch, and the request
// durations they counted.
//
// Read RawPoint, Fold and Row first. A Store takes what a decoder hands it. A
// Fold is what a Store becomes: the distinct points of every series under names
// in text. Folds merge in any order to the same bytes, because merging is the
// union of sets and nothing is computed before the last merge; so links between
// points, resets and duplicates count once wherever the input was cut.
//
// Values stay in the unit that was recorded. What is compared with spans
// (PoolView, Durations) is converted, and its name says the unit.
package metric
