// Package report is the result of an analysis as plain data, and nothing else: no renderer, no analysis.
//
// [Report] answers `tailscope analyze` and is the JSON contract tailscope.report/v1; [Trace] answers
// `tailscope trace` and is tailscope.trace/v1. [Encode] and [EncodeTrace] write them; the published JSON Schemas
// are [ReportSchema] and [TraceSchema]. Start reading at [Report] and [Endpoint].
//
// # Numbers
//
// A number that may be unknown is a [Num]; a number that is always known is a [Float] or an integer. Neither can
// carry NaN or an infinity into the output: what cannot be given is null. Times are milliseconds where the name
// ends in Ms and nanoseconds where it ends in NS. Shares and occupancies are 0..1 until they are printed.
//
// # One data set, two data sets
//
// A single data set stands under "current" and the keys about a baseline (baseline…, delta_ms, ci_ms of a change)
// are absent: leave those fields zero. In a comparison they are present, and null where the number cannot be given:
// use [Null] or [Some] of NaN. [Report.Check] tells where a report breaks this or another rule.
//
// # Names
//
// Strings of the data (services, operations, attribute values) stand here exactly as they were recorded. Making
// them safe for a medium is the renderers' duty.
//
// # Doubts
//
// What weakens a number travels with it as Warnings: sentences that every renderer shows as footnotes.
// Equal sentences share one footnote.
package report
