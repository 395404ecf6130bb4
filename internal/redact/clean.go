package redact

import "github.com/tailscope/tailscope/trace"

// A Cleaner applies a policy to what is moved from one store to another; it is a
// trace.Cleaner. It is not safe for concurrent use.
type Cleaner struct {
	policy *Policy
	known  [3]map[string]Action // by trace.Owner
}

// maxKnown is how many keys are remembered.
const maxKnown = 4096

// NewCleaner returns a Cleaner by a policy.
func NewCleaner(p *Policy) *Cleaner { return &Cleaner{policy: p} }

// Attr is what is kept of an attribute; false: nothing.
func (c *Cleaner) Attr(a trace.RawAttr, of trace.Owner) (trace.RawAttr, bool) {
	do, ok := c.known[of][string(a.Key)]
	if !ok {
		key := string(a.Key)
		if do = c.policy.Of(key, of == trace.OfResource); of == trace.OfPoint {
			do = c.policy.OfPoint(key)
		}
		if c.known[of] == nil || len(c.known[of]) >= maxKnown {
			c.known[of] = map[string]Action{}
		}
		c.known[of][key] = do
	}
	if do != Keep && a.Value.Type == trace.String {
		a.Value.Bytes = do.Template(a.Value.Bytes)
	}
	return a, do != Drop
}

// Name is what is kept of a span's name.
func (c *Cleaner) Name(name []byte) []byte { return c.policy.Name(name) }
