//go:build unix

package graph

import (
	"syscall"
	"time"
)

// cpu is the processor time that this process has used: what benchmarks compare,
// because others may be using the machine.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
