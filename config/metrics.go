package config

// A Metric says what a team's own metric means. It goes before the names that
// tailscope knows by itself.
type Metric struct {
	// Name is the metric's name; a * stands for any run of characters.
	Name string `yaml:"name"`

	// Role is what the metric's values are, one of Roles.
	Role string `yaml:"role"`

	// Kind is what the metric watches, one of Kinds; connection-pool if empty.
	Kind string `yaml:"kind"`

	// PoolAttribute is the attribute that names the pool or executor, and Pool
	// its name where no attribute has it.
	PoolAttribute string `yaml:"pool_attribute"`
	Pool          string `yaml:"pool"`

	// StateAttribute is the attribute that tells used from idle, for the role
	// by-state.
	StateAttribute string `yaml:"state_attribute"`

	// Unit is the unit of the values where the metric does not state it or
	// states it wrongly: ns, us, ms, s.
	Unit string `yaml:"unit"`
}

// Roles is what a Metric can be.
var Roles = []string{
	"used",             // connections or threads at work
	"idle",             // and those that wait for work
	"total",            // both
	"by-state",         // one of the three, told apart by StateAttribute
	"max",              // the limit of total
	"pending",          // requests that wait for one
	"wait",             // how long each waited
	"wait-total",       // the sum of all waits, a counter
	"wait-count",       // their number, a counter
	"use",              // how long each was held
	"timeouts",         // requests that gave up waiting, a counter
	"request-duration", // durations of a server's requests
	"cpu-share",        // share of the CPUs in use, 0 to 1
	"cpu-time",         // CPU time used, a counter
	"cpu-throttled",    // time in which a quota kept threads from a CPU, a counter
	"event-loop-lag",
	"event-loop-share", // share of the time in which an event loop was busy, 0 to 1
	"scheduler-delay",  // how long runnable threads or goroutines waited for a CPU
	"gc-pause",
}

// Kinds is what a Metric can watch.
var Kinds = []string{"connection-pool", "executor", "limiter", "server"}
