package population

import "math"

// Offered is the requests that came: every one was completed, rejected,
// cancelled by its caller, timed out or failed.
func Offered(completed, rejected, cancelled, timedOut, failed float64) float64 {
	return completed + rejected + cancelled + timedOut + failed
}

// Goodput is the share of the offered requests that were answered correctly and
// in time; NaN without any.
func Goodput(inTime, offered float64) float64 {
	if offered <= 0 {
		return math.NaN()
	}
	return inTime / offered
}
