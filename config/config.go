package config

// A Config is a tailscope.yaml.
type Config struct {
	// Class tells the kinds of requests apart that one endpoint serves.
	Class Class `yaml:"class"`

	// Endpoints holds rules for endpoints; the first that fits one is its own.
	Endpoints []Endpoint `yaml:"endpoints"`

	// Exclude names requests that are not customers': they are counted and are
	// in no percentile.
	Exclude []Exclusion `yaml:"exclude"`

	// Operations names operations where instrumentation gives many of them one
	// name, or one of them many. The first rule that fits a span holds.
	Operations []Operation `yaml:"operations"`

	// Metrics says what a team's own metrics are.
	Metrics []Metric `yaml:"metrics"`

	// Waits says which span attributes tell how long the span, or the start of
	// its work, had waited, beyond the names that tailscope knows.
	Waits []Wait `yaml:"waits"`

	// Redact keeps values out of reports and snapshots.
	Redact Redact `yaml:"redact"`
}

// A Class is the attribute by whose values requests of one endpoint are told
// apart, such as a customer's tier. Classes are few; a tenant is no class.
type Class struct {
	// Attribute is looked for on the entry span, then on its resource. Without
	// it there is one class, ''.
	Attribute string `yaml:"attribute"`

	// Values lists the classes; a request with another value is of class
	// Other. Empty: every value is a class.
	Values []string `yaml:"values"`

	// Other is the class of values that are not listed; "other" if empty.
	Other string `yaml:"other"`

	// Default is the class of requests without the attribute; '' if empty.
	Default string `yaml:"default"`
}

// Of is the class of a request whose attribute has the given value; present is
// false if it has none.
func (c *Class) Of(value string, present bool) string {
	if !present || value == "" {
		return c.Default
	}
	if len(c.Values) == 0 {
		return value
	}
	for _, v := range c.Values {
		if v == value {
			return v
		}
	}
	if c.Other != "" {
		return c.Other
	}
	return "other"
}

// An Endpoint is rules for the endpoints that its patterns fit.
type Endpoint struct {
	// Service and Operation are patterns (see Match); empty fits all.
	Service   string `yaml:"service"`
	Operation string `yaml:"operation"`

	Rules `yaml:",inline"`

	// Classes holds what differs for single classes: what is stated there
	// replaces what is stated above, key by key.
	Classes map[string]Rules `yaml:"classes"`
}

// Rules is what a team asks of an endpoint and what it knows of its parts.
// Nothing that is not stated is checked.
type Rules struct {
	// Objective is what the endpoint promises to its callers.
	Objective *Objective `yaml:"objective"`

	// Deadline is the time that a request has, and how its parts share it.
	Deadline *Deadline `yaml:"deadline"`

	// Optional and Mandatory list branches by meaning: whether a correct answer
	// can do without them. Whether they are waited for is seen in the traces. An
	// entry is a pattern that fits a callee's "service" or "service operation".
	// A class that lists a branch in one list takes it out of the other.
	Optional  []string `yaml:"optional"`
	Mandatory []string `yaml:"mandatory"`

	// Contracts limits what may be changed about the hops; see Contract. Those
	// of a class are added to those of its endpoint.
	Contracts []Contract `yaml:"contracts"`

	// Limits is the bounds on work in progress per process.
	Limits []Limit `yaml:"limits"`

	// Budget is what `tailscope check` holds a build to.
	Budget *Budget `yaml:"budget"`
}

// An Objective is the latency that callers may count on. A request that meets it
// completed correctly within the largest duration stated.
type Objective struct {
	P50  Duration `yaml:"p50"`
	P90  Duration `yaml:"p90"`
	P95  Duration `yaml:"p95"`
	P99  Duration `yaml:"p99"`
	P999 Duration `yaml:"p999"`

	// Goodput is the least share of offered requests that meet it.
	Goodput Share `yaml:"goodput"`
}

// At is the objective for a quantile; zero if there is none.
func (o *Objective) At(quantile float64) Duration {
	if o == nil {
		return 0
	}
	switch quantile {
	case 0.5:
		return o.P50
	case 0.9:
		return o.P90
	case 0.95:
		return o.P95
	case 0.99:
		return o.P99
	case 0.999:
		return o.P999
	}
	return 0
}

// Within is the largest duration stated: a request beyond it missed the
// objective whatever the quantile. Zero if none is.
func (o *Objective) Within() Duration {
	if o == nil {
		return 0
	}
	return max(o.P50, o.P90, o.P95, o.P99, o.P999)
}

// A Deadline is the time a request has from its arrival.
type Deadline struct {
	// Total is the whole of it.
	Total Duration `yaml:"total"`

	// Reserve is kept for the response: a mandatory branch is started only if
	// its useful work fits into what remains less Reserve.
	Reserve Duration `yaml:"reserve"`

	// OptionalMin is the least remaining time with which an optional branch is
	// started.
	OptionalMin Duration `yaml:"optional_min"`
}

// A Contract is a promise about one hop that a proposed change may not break.
type Contract struct {
	// Hop is a pattern for the callee, as in Optional.
	Hop string `yaml:"hop"`

	// Rule is one of ContractRules.
	Rule string `yaml:"rule"`

	// Reason is printed where the contract forbids an action.
	Reason string `yaml:"reason"`
}

// ContractRules is what a contract can say. Each but may-finish-after and
// idempotent forbids what it names.
var ContractRules = []string{
	"keep",             // the hop may not be dropped or merged into another
	"no-degrade",       // an answer without it is not correct
	"no-cache",         // its answer may not be kept for other requests
	"no-coalesce",      // its calls may not be shared between requests
	"no-retry",         // it may not be called twice for one request: it has effects
	"idempotent",       // it may
	"may-finish-after", // it may lawfully finish after the response was sent
}

// A Limit bounds work in progress in each process.
type Limit struct {
	// Resource is the pool, executor or endpoint that is bounded.
	Resource string `yaml:"resource"`

	// Max is the most work in progress at once.
	Max int `yaml:"max"`

	// Classes is the largest share of Max that a class may take, so that no
	// class takes every slot.
	Classes map[string]Share `yaml:"classes"`
}

// A Budget is the bounds whose breach stops or questions a release. They are
// never averaged into a score. A bound that is not stated is not checked; zero
// is a bound.
type Budget struct {
	// Breaches of these block: answers are wrong.
	CoreMismatch *Share `yaml:"core_mismatch"` // responses that lack a mandatory branch
	Errors       *Share `yaml:"errors"`        // requests that failed or timed out

	// Breaches of these hold the release.
	P50           *Duration `yaml:"p50"`
	P99           *Duration `yaml:"p99"`
	QueueAge      *Duration `yaml:"queue_age"`      // p99 of the wait before the work of the entry begins
	PoolOccupancy *Share    `yaml:"pool_occupancy"` // p99 of the one-second views of any pool
	LateWork      *Share    `yaml:"late_work"`      // attempts that went on after their caller left
	Goodput       *Share    `yaml:"goodput"`        // at least so many of the offered requests
	MixMoved      *Share    `yaml:"mix_moved"`      // of a class or a dependency's calls, relative to the baseline
	Recovery      *Duration `yaml:"recovery"`       // until all of this is inside again

	// A breach of this asks for a decision.
	Omission *Share `yaml:"omission"` // responses without an optional branch
}

// An Exclusion names requests that are not customers', such as probes and load
// tests. A request is excluded if all that is stated fits; one of Attribute,
// Service and Operation has to be.
type Exclusion struct {
	// Name is what they are counted under.
	Name string `yaml:"name"`

	// Attribute is looked for on the entry span, then on its resource. Values
	// are patterns for its value; without any, its presence is enough.
	Attribute string   `yaml:"attribute"`
	Values    []string `yaml:"values"`

	// Service and Operation are patterns for the endpoint.
	Service   string `yaml:"service"`
	Operation string `yaml:"operation"`
}

// An Operation names the operation of the spans that it fits.
type Operation struct {
	// Service and Span are patterns for the service and the span's name; empty
	// fits all.
	Service string `yaml:"service"`
	Span    string `yaml:"span"`

	// Attribute, if stated, must be present on the span.
	Attribute string `yaml:"attribute"`

	// Name is the operation; {value} in it is the attribute's value.
	Name string `yaml:"name"`
}

// A Wait is a span attribute that holds a duration spent waiting.
type Wait struct {
	// Attribute is its name.
	Attribute string `yaml:"attribute"`

	// Unit is that of its value: ns, us, ms or s.
	Unit string `yaml:"unit"`

	// Resource is what was waited for; ResourceAttribute an attribute that
	// names it.
	Resource          string `yaml:"resource"`
	ResourceAttribute string `yaml:"resource_attribute"`

	// Before reports that the wait lies before the span's start, as the time
	// in a queue does; else it is the span's first part.
	Before bool `yaml:"before"`
}

// Redact is what never leaves the program in clear.
type Redact struct {
	// Attributes is patterns for the keys whose values are replaced by a hash:
	// equal values stay equal, and nobody reads them.
	Attributes []string `yaml:"attributes"`
}

// Redacted reports whether the values of an attribute are to be hidden.
func (r *Redact) Redacted(key string) bool {
	for _, p := range r.Attributes {
		if Match(p, key) {
			return true
		}
	}
	return false
}
