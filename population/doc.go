// Package population says who counts: how a request ended, whether it has a
// latency at all, whether it is a customer's, of which class it is, and how many
// requests it stands for.
//
// Read Outcome, Population and Rules first. Everything is asked of the entry span
// of a request; what only the whole request tells, such as whether it made any
// calls, is passed in. Nothing is decided from durations.
package population
