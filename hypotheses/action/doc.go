// Package action says of everything that could be done about a regression
// whether the evidence supports it, what it costs and who pays.
//
// Start with [Weigh]. It reads a [Situation], which holds plain facts, and
// refuses to look at requests itself: what it says can be followed with a pencil.
// An action on weak evidence is never supported; one that a contract forbids is
// named with the contract.
package action
