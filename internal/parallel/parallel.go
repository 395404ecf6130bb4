// Package parallel does independent things at once.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls f for each number below n, by as many goroutines as there are
// processors, and returns when all calls have. No call may depend on another's
// having ended, or change what another reads.
func Do(n int, f func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
