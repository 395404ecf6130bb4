package metric

import (
	"slices"
	"strings"

	"github.com/tailscope/tailscope/config"
)

// A Role is what the values of a metric are to an analysis of waiting.
type Role uint8

const (
	NoRole    Role = iota
	Used           // connections, threads or slots at work
	Idle           // and those that wait for work
	Total          // both
	ByState        // one of the three above, told apart by an attribute
	Max            // the limit of Total
	Pending        // requests that wait for one
	Wait           // how long each waited
	WaitTotal      // the sum of all waits, a counter
	WaitCount      // their number, a counter
	Use            // how long each was held
	Timeouts       // requests that gave up waiting, a counter
	RequestDuration
	CPUShare     // share of the CPUs in use, 0 to 1
	CPUTime      // CPU time used, a counter
	CPUThrottled // time in which a quota kept runnable threads from a CPU, a counter
	EventLoopLag
	EventLoopShare // share of the time in which an event loop was busy, 0 to 1
	SchedulerDelay // how long runnable threads or goroutines waited for a CPU
	GCPause
)

// String is the name that a configuration uses.
func (r Role) String() string {
	if r == NoRole {
		return "none"
	}
	return config.Roles[r-1]
}

// A Kind is what a pool-like metric watches.
type Kind string

const (
	ConnectionPool Kind = "connection-pool"
	Executor       Kind = "executor" // threads or workers with a queue
	Limiter        Kind = "limiter"  // a bulkhead or rate limiter: slots without threads
	Server         Kind = "server"   // the requests inside a server
)

// A Meaning is what a series is known to be.
type Meaning struct {
	Role Role
	Kind Kind
	Pool string // the pool's or executor's name; may be empty

	// unit replaces the series' own if not empty.
	unit string

	// rank is the order of preference among names for the same thing: services
	// in migration write an old and a new name with the same content, and only
	// one of them may count.
	rank int
}

// Names knows what metrics mean by their names.
type Names struct{ own []config.Metric }

// NewNames returns the built-in names with a team's own before them.
func NewNames(own []config.Metric) *Names { return &Names{own: own} }

// An entry is the place of a canonical name in families.
type entry struct {
	family *family
	role   Role
	rank   int
}

var known = func() map[string]entry {
	m := map[string]entry{}
	rank := 0
	for i := range families {
		for _, n := range families[i].roles {
			rank++
			if _, ok := m[canonical(n.name)]; !ok {
				m[canonical(n.name)] = entry{&families[i], n.role, rank}
			}
		}
	}
	return m
}()

// canonical writes a name in one way: OpenTelemetry separates with dots and
// underscores, Prometheus with underscores only, some libraries with dots only.
func canonical(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", "."))
}

// suffixes is what Prometheus exporters append to a name.
var suffixes = []string{".total", ".seconds", ".milliseconds", ".ms", ".ratio"}

func lookup(name string) (entry, bool) {
	name = canonical(name)
	for {
		if e, ok := known[name]; ok {
			return e, true
		}
		shorter := name
		for _, s := range suffixes {
			if cut, ok := strings.CutSuffix(name, s); ok {
				shorter = cut
				break
			}
		}
		if shorter == name {
			return entry{}, false
		}
		name = shorter
	}
}

// Meaning is what a series is; ok is false if its name says nothing. A nil n
// knows the built-in names.
func (n *Names) Meaning(k *Key) (m Meaning, ok bool) {
	if k.overflow() {
		return Meaning{}, false // of which pool or operation, nobody knows
	}
	if n != nil {
		for i := range n.own {
			if own := &n.own[i]; config.Match(own.Name, k.Name) {
				m = ownMeaning(own, k)
				m.rank = i - len(n.own) // before the known names
				return m, m.Role != NoRole
			}
		}
	}
	e, ok := lookup(k.Name)
	if !ok {
		return Meaning{}, false
	}
	m = Meaning{Role: e.role, Kind: e.family.kind, Pool: k.Attr(e.family.pool...), rank: e.rank}
	if e.role == ByState {
		m.Role = state(k, e.family.states)
	}
	return m, m.Role != NoRole
}

func ownMeaning(own *config.Metric, k *Key) Meaning {
	m := Meaning{Kind: Kind(own.Kind), Pool: own.Pool, unit: own.Unit}
	if i := slices.Index(config.Roles, own.Role); i >= 0 {
		m.Role = Role(i + 1)
	}
	if m.Kind == "" {
		m.Kind = ConnectionPool
	}
	if own.PoolAttribute != "" {
		if name := k.Attr(own.PoolAttribute); name != "" {
			m.Pool = name
		}
	}
	if m.Role == ByState {
		m.Role = state(k, []string{own.StateAttribute, "state"})
	}
	return m
}

// state is which of used, idle and total a series of ByState is.
func state(k *Key, attributes []string) Role {
	v := k.Attr(attributes...)
	if v == "" {
		return Total
	}
	return stateValues[strings.ToLower(v)]
}
