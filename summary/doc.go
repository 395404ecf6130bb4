// Package summary is what tailscope keeps of spans and metrics: the records of
// requests and the folds over them.
//
// A Summary of one half of the data merged with that of the other half is the
// Summary of the whole, in any order, to the byte. It is read only after the
// last merge: a Calibration is made of the folds of all sets, and Ledger charges
// a record under it.
package summary
