// Package numbers has named numbers of every sort, for the test of what can be set.
package numbers

import "time"

const (
	share = 0.5 // of a float
	few   = 3   // a number of things
	pause = 2 * time.Millisecond

	size  = 4       // an array's
	wide  = size    // derived
	start = 7       // read once
	name  = "share" // no number
)

type timer struct{ d time.Duration }

type kind uint8

const (
	first kind = iota
	second
)

var (
	cells [size]int
	begun = start
)

func rare(x float64, n int64, d time.Duration, k kind) bool {
	const within = 1_000
	return x > -share && n < 2*few*within && d < pause && k == second && len(cells) > wide && begun > 0 && name != ""
}
