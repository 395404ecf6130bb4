package live

import (
	"fmt"
	"time"

	"github.com/tailscope/tailscope/analysis"
)

// A Comparison says what a window is compared with.
type Comparison string

// The comparisons.
const (
	ByTime    Comparison = "time"    // with the windows before it
	ByVersion Comparison = "version" // the newest service.version with the one most requests went to besides
	Pinned    Comparison = "pinned"  // with a snapshot
)

// Options say how a stream is analysed. New gives the defaults.
type Options struct {
	Analysis analysis.Options

	// Window is the length of a window. Windows begin at multiples of it since the
	// epoch, so that those of replicas are the same. Zero: one window holds
	// everything, and closes with the engine.
	Window time.Duration

	// History is how many completed windows a window is compared with. One in which a
	// regression was found is left out until so many have passed.
	History int

	// Quiet is how long no span of a trace must come until it counts as whole. It
	// is so after one to two Quiet.
	Quiet time.Duration

	// MaxAge is how long a trace is kept whose spans keep coming; then it is
	// analysed as it is, and the rest is late.
	MaxAge time.Duration

	Compare Comparison

	// Looks is how many times a window is compared while it is open, evenly over
	// its length; a report is made where that shows a regression. Zero: only when it
	// closes.
	Looks int

	// VersionOf is the service whose version counts; empty: that of the service
	// where the trace begins.
	VersionOf string

	// Baseline is an encoded snapshot, of Pinned.
	Baseline []byte

	// Memory bounds what is held, in bytes; at least MinMemory.
	Memory int64

	// Dir takes the snapshots and reports; empty: nothing is written. Retain is how
	// many windows stay there.
	Dir    string
	Retain int

	// Formats of reports that are written: json, markdown, text.
	Formats []string

	// OnlyRegressions writes reports only where a regression is found.
	OnlyRegressions bool

	// NoReports makes none: the snapshots are all that is wanted.
	NoReports bool

	// Report is told of every report, never by two goroutines at once; may be nil.
	Report func(*Published)

	// Warn is told what went wrong and did not stop the engine; may be nil.
	Warn func(error)
}

// MinMemory is the least that Options.Memory may be.
const MinMemory = 16 << 20

// New returns the options where a user sets nothing.
func New() Options {
	o := Options{
		Analysis: analysis.New(), Window: 5 * time.Minute, History: 12, Quiet: 10 * time.Second, MaxAge: 5 * time.Minute,
		Compare: ByTime, Looks: 7, Memory: 512 << 20, Retain: 288, Formats: []string{"json", "markdown"},
	}
	o.Analysis.Top = 20
	return o
}

// Check tells what is wrong with options, naming the field.
func (o *Options) Check() error {
	switch {
	case o.Window != 0 && o.Window < time.Second:
		return fmt.Errorf("window: must be at least 1s, not %v", o.Window)
	case o.Quiet < 10*time.Millisecond:
		return fmt.Errorf("quiet: must be at least 10ms, not %v", o.Quiet)
	case o.Window != 0 && o.Quiet > o.Window:
		return fmt.Errorf("quiet: must not be longer than the window (%v)", o.Window)
	case o.MaxAge < 2*o.Quiet:
		return fmt.Errorf("max_age: must be at least twice quiet (%v)", 2*o.Quiet)
	case o.History < 1:
		return fmt.Errorf("history: must be at least 1 window")
	case o.Looks < 0 || o.Looks > 100:
		return fmt.Errorf("looks: must be 0 to 100, not %d", o.Looks)
	case o.Memory < MinMemory:
		return fmt.Errorf("memory_limit: must be at least %d MiB", MinMemory>>20)
	case o.Dir != "" && o.Retain <= o.History:
		return fmt.Errorf("retain: must be more than history (%d windows)", o.History)
	case o.Compare == Pinned && len(o.Baseline) == 0:
		return fmt.Errorf("baseline: a pinned comparison needs a snapshot")
	case o.Compare != Pinned && len(o.Baseline) > 0:
		return fmt.Errorf("baseline: is only used by a pinned comparison")
	case o.Compare != ByVersion && o.VersionOf != "":
		return fmt.Errorf("version_of: is only used by a comparison by version")
	}
	switch o.Compare {
	case ByTime, ByVersion, Pinned:
	default:
		return fmt.Errorf("compare: %q is none of time, version, pinned", o.Compare)
	}
	for _, f := range o.Formats {
		if renderers[f] == nil {
			return fmt.Errorf("formats: %q is none of json, markdown, text", f)
		}
	}
	return nil
}

func (o *Options) warn(err error) {
	if err != nil && o.Warn != nil {
		o.Warn(err)
	}
}
