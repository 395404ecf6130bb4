package parallel

import (
	"runtime"
	"slices"
	"testing"
)

func TestDoCallsForEachOnce(t *testing.T) {
	for _, procs := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(procs)
		for _, n := range []int{0, 1, 2, 100} {
			calls := make([]int, n)
			Do(n, func(i int) { calls[i]++ })
			if slices.ContainsFunc(calls, func(k int) bool { return k != 1 }) {
				t.Errorf("%d of %d on %d processors: %v", n, n, procs, calls)
			}
		}
		runtime.GOMAXPROCS(before)
	}
}
