//go:build !unix

// Package cputime tells benchmarks how much processor time they used: what they
// compare, because others may be using the machine.
package cputime

import "time"

var began = time.Now()

// Used is the time that has passed, where processor time is not to be had.
func Used() time.Duration { return time.Since(began) }
