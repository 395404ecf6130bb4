package trace

import (
	"math"
	"time"
)

// Time is an instant in nanoseconds since the Unix epoch, by the clock of the
// host that reported it. Times from two hosts differ by an unknown offset, so
// only times of one host may be subtracted without thought.
type Time int64

// NoTime is the Time of something that was not recorded. It is not zero,
// because formats exist in which zero is a time.
const NoTime Time = math.MinInt64

// UTC is t as the standard library's time, in UTC.
func (t Time) UTC() time.Time { return time.Unix(0, int64(t)).UTC() }

// An Interval is the half-open stretch of time [Start, End): the end of one
// interval may be the start of the next, and then they do not overlap.
type Interval struct{ Start, End Time }

// Duration is the length of v in nanoseconds.
func (v Interval) Duration() int64 { return int64(v.End - v.Start) }

// Clip is the part of v inside w. It is empty, at one of w's ends, where they
// do not meet.
func (v Interval) Clip(w Interval) Interval {
	v.Start = min(max(v.Start, w.Start), w.End)
	v.End = max(min(v.End, w.End), v.Start)
	return v
}

// Overlaps reports whether v and w have an instant in common.
func (v Interval) Overlaps(w Interval) bool { return v.Start < w.End && w.Start < v.End }
