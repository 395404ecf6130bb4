package metric_test

import (
	"fmt"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// Two files of one counter, read apart: the restart between them is one reset,
// and the point that stands in both counts once.
func Example() {
	const second = trace.Time(1e9)
	read := func(points ...metric.RawPoint) *metric.Fold {
		s := metric.NewStore(trace.NewTables())
		for i := range points {
			p := &points[i]
			p.Name, p.Type, p.Temporality, p.Monotonic, p.IsInt = []byte("jobs"), metric.Sum, metric.Cumulative, true, true
			s.Add(p)
		}
		return s.Fold()
	}
	first := metric.RawPoint{Start: 1 * second, Time: 60 * second, Int: 40}
	again := metric.RawPoint{Start: 70 * second, Time: 120 * second, Int: 2}

	f := read(first)
	f.Merge(read(first, again))
	r := f.Rows()[0]
	fmt.Println(r.Points, "points,", r.Duplicates, "copy,", r.Resets, "reset, increase", r.Increase)
	// Output: 2 points, 1 copy, 1 reset, increase 42
}
