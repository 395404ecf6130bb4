//go:build !unix

package graph

import "time"

var began = time.Now()

// cpu is the time that has passed, where processor time is not to be had.
func cpu() time.Duration { return time.Since(began) }
