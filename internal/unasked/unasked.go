// Package unasked keeps packages from asking the terminal for its colours while
// the program starts. Bubble Tea does so in its init, in every command that is
// linked with it, and a terminal that does not answer costs five seconds, while
// one that does may find the answer in its next prompt.
//
// A terminal that is called dumb is not asked. So TERM is dumb from the moment
// that this package is initialised until Restore, which the program calls first of
// all. To be initialised before those who would ask, it imports nothing but
// syscall: packages are initialised in the order of their paths as soon as what
// they import is.
package unasked

import "syscall"

var term, had = dumb()

func dumb() (string, bool) {
	term, had := syscall.Getenv("TERM")
	_ = syscall.Setenv("TERM", "dumb") // else it is asked, and no more
	return term, had
}

// Restore makes TERM what it was.
func Restore() {
	if had {
		_ = syscall.Setenv("TERM", term)
	} else {
		_ = syscall.Unsetenv("TERM")
	}
}
