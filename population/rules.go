package population

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/trace"
)

// A Population is whose latencies the percentiles are of.
type Population uint8

const (
	// Answered is everyone who waited for an answer: all but the cancelled, who
	// did not wait, and the rejected, who were not served.
	Answered Population = iota
	// Success is the completed only, as in an objective.
	Success
)

func (p Population) String() string {
	if p == Success {
		return "success"
	}
	return "answered"
}

// ParsePopulation reads the name of a population; empty is the default.
func ParsePopulation(name string) (Population, error) {
	switch name {
	case "", "answered":
		return Answered, nil
	case "success":
		return Success, nil
	}
	return Answered, fmt.Errorf("population %q is neither answered nor success", name)
}

// Holds reports whether a request that ended so is in the percentiles. Streams,
// excluded and incomplete requests are in none, however they ended.
func (p Population) Holds(o Outcome) bool {
	if p == Success {
		return o == Completed
	}
	return o != Cancelled && o != Rejected
}

// Rules is what a configuration says about who counts. The rules without a
// configuration exclude only what OpenTelemetry's own attribute calls a test.
type Rules struct {
	class   config.Class
	exclude []config.Exclusion
}

// synthetic is the exclusion that needs no configuration.
var synthetic = config.Exclusion{Name: "synthetic", Attribute: "user_agent.synthetic.type", Values: []string{"test"}}

// New returns the rules of c, which may be nil.
func New(c *config.Config) *Rules {
	if c == nil {
		c = &config.Config{}
	}
	return &Rules{class: c.Class, exclude: append(slices.Clone(c.Exclude), synthetic)}
}

// Class is the class of the request that r is the entry of.
func (p *Rules) Class(s *trace.Store, r trace.SpanRef) string {
	if p.class.Attribute == "" {
		return ""
	}
	v := attr(s, r, p.class.Attribute)
	return p.class.Of(s.Text(v), v != 0)
}

// Excluded is the name of the first exclusion that fits a request of an endpoint;
// ok is false if none does.
func (p *Rules) Excluded(s *trace.Store, r trace.SpanRef, service, operation string) (name string, ok bool) {
	for i := range p.exclude {
		if x := &p.exclude[i]; fits(x, s, r, service, operation) {
			return x.Name, true
		}
	}
	return "", false
}

func fits(x *config.Exclusion, s *trace.Store, r trace.SpanRef, service, operation string) bool {
	if x.Service != "" && !config.Match(x.Service, service) || x.Operation != "" && !config.Match(x.Operation, operation) {
		return false
	}
	if x.Attribute == "" {
		return true
	}
	v := attr(s, r, x.Attribute)
	if v == 0 {
		return false
	}
	return len(x.Values) == 0 || slices.ContainsFunc(x.Values, func(p string) bool { return config.Match(p, s.Text(v)) })
}

// attr is an attribute of a span, else of its resource; zero if neither has it.
func attr(s *trace.Store, r trace.SpanRef, key string) trace.Value {
	if v := s.Attr(r, key); v != 0 {
		return v
	}
	id, ok := s.Lookup(key)
	if !ok {
		return 0
	}
	for _, a := range s.Resource(s.ResourceOf(r)).Attrs {
		if a.Key == id {
			return a.Value
		}
	}
	return 0
}
