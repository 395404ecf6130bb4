// Package hypotheses says why the tail of an endpoint is slow: causes, each with
// the observation that would refute it.
//
// A Comparison is one endpoint on one or two sides, prepared for asking. Each
// kind of cause is one file.
package hypotheses
