// Package graph turns spans into the work graph of each request.
//
// A Tree is one trace after repair. A Record is what is kept of one request: its
// calls in pre-order, each with the halves of client and server in their own
// hosts' clocks. A Fold is what all requests together tell of clocks, of the
// order of sibling calls and of who is waited for; folds merge in any order.
// Verdicts is what a merged Fold says, and Walk charges every nanosecond of a
// Record to one call under those verdicts.
//
// Nothing in a Record depends on another request, and nothing here moves a
// recorded time: clocks are shifted only while a Record is walked.
package graph
