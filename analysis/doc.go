// Package analysis runs an analysis: inputs and options in, a report out.
//
// Run reads the runs of one or two sides, joins them into a summary.Reading and
// fills the rows of a report.Report from it. Nothing is computed here that a
// lower package could compute: this is where questions are put in order and
// answers are named.
package analysis

// Version is that of the analysis: figures recorded of another version are
// stale. It rises with every change that can move a verdict or a rank.
const Version = 1
