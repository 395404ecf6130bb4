//go:build unix

// Package cputime tells benchmarks how much processor time they used: what they
// compare, because others may be using the machine.
package cputime

import (
	"syscall"
	"time"
)

// Used is the processor time that this process has used.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
