package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // many short runs: less collecting makes them shorter
	os.Exit(m.Run())
}
