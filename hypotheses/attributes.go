package hypotheses

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// maxValues is how many values a key may have to be compared: of more, most are
// identifiers.
const maxValues = 1000

// Consequence reports whether an attribute follows from how a request went or
// where it was served, and not from what was asked: such keys never reweight.
func Consequence(key string) bool {
	for _, p := range consequences {
		if key == p || strings.HasSuffix(p, ".") && strings.HasPrefix(key, p) {
			return true
		}
	}
	return trace.WaitAttribute(key)
}

var consequences = []string{
	"http.response.", "http.status_code", "http.status_text", "error.", "error", "exception.", "otel.", "rpc.grpc.", "rpc.response.", "grpc.", "status", "status.",
	"http.request.resend_count", "previous-rpc-attempts", "retry.", "retry_count", "cache.hit", "cache.", "cancelled", "timeout",
	"service.instance.", "host.", "k8s.pod.", "k8s.node.", "container.", "process.", "thread.", "net.", "network.", "client.address", "client.port", "server.address", "server.port",
	"telemetry.", "os.", "http.request.header.x-request-start", "http.request.header.x-queue-start", "url.full", "http.url", "db.", "messaging.message.",
	"http.server.", "faas.coldstart", "degraded", "omitted",
}

// A ValueShare is how often an attribute has a value on both sides.
type ValueShare struct {
	Key, Value trace.StringID
	Base, Cur  float64 // shares of the requests, 0..1
	BaseN      int
	CurN       int
	Odds       float64 // ratio of odds, current against baseline
	OddsLo     float64
	OddsHi     float64
	P          float64 // of the difference, by Fisher's test
	// Effect is the target quantile of the current requests with the value less
	// that of those without, in ns; NaN where one of them has too few.
	Effect      float64
	Consequence bool
}

// An Attribute is one key, compared.
type Attribute struct {
	Key    trace.StringID
	Values []ValueShare
	P      float64 // the least of its values', for their number
	// OneSided is the share of current requests with a value that the baseline
	// lacks.
	OneSided float64
	of       [2][]int // of each counted request: the index in Values
}

// Attributes compares all keys of entry spans and their resources.
func (c *Comparison) Attributes() []*Attribute {
	d := c.Reading.Dict
	counts := [2]map[trace.StringID]map[trace.StringID]int{{}, {}}
	tooMany := map[trace.StringID]bool{}
	for i, s := range c.Sides {
		if s == nil {
			return nil
		}
		for _, q := range s.Counted {
			for _, a := range q.Attrs {
				if tooMany[a.Key] {
					continue
				}
				m := counts[i][a.Key]
				if m == nil {
					m = map[trace.StringID]int{}
					counts[i][a.Key] = m
				}
				m[a.Value.TextID()]++
				if len(m) > maxValues {
					tooMany[a.Key] = true
				}
			}
		}
	}
	n := [2]int{len(c.Sides[0].Counted), len(c.Sides[1].Counted)}
	if n[0] == 0 || n[1] == 0 {
		return nil
	}
	var out []*Attribute
	for key := range counts[1] {
		if tooMany[key] {
			continue
		}
		a := &Attribute{Key: key, P: 1}
		values := map[trace.StringID]bool{}
		for i := range counts {
			for v := range counts[i][key] {
				values[v] = true
			}
		}
		for v := range values {
			b, k := counts[0][key][v], counts[1][key][v]
			x := ValueShare{Key: key, Value: v, BaseN: b, CurN: k, Base: float64(b) / float64(n[0]), Cur: float64(k) / float64(n[1]), Consequence: Consequence(d.String(key)), Effect: math.NaN()}
			x.P = stats.FisherTwoSided(b, n[0], k, n[1])
			ratio, iv := stats.OddsRatio(float64(b), float64(n[0]), float64(k), float64(n[1]), 0.95)
			x.Odds, x.OddsLo, x.OddsHi = ratio, iv.Lo, iv.Hi
			a.P = min(a.P, x.P)
			if b == 0 {
				a.OneSided += x.Cur
			}
			a.Values = append(a.Values, x)
		}
		a.P = min(1, a.P*float64(len(a.Values)))
		slices.SortFunc(a.Values, func(x, y ValueShare) int {
			return cmp.Or(cmp.Compare(math.Abs(y.Cur-y.Base), math.Abs(x.Cur-x.Base)), cmp.Compare(y.Cur-y.Base, x.Cur-x.Base), strings.Compare(d.String(x.Value), d.String(y.Value)))
		})
		out = append(out, a)
	}
	slices.SortFunc(out, func(x, y *Attribute) int { return strings.Compare(d.String(x.Key), d.String(y.Key)) })

	p := make([]float64, len(out))
	for i, a := range out {
		p[i] = a.P
	}
	for i, q := range stats.BenjaminiHochberg(p) {
		out[i].P = q
	}
	for _, a := range out {
		c.index(a)
	}
	return out
}

// index finds which value each request has: −1 for none.
func (c *Comparison) index(a *Attribute) {
	at := map[trace.StringID]int{}
	for i, v := range a.Values {
		at[v.Value] = i
	}
	for i, s := range c.Sides {
		a.of[i] = make([]int, len(s.Counted))
		for j, q := range s.Counted {
			a.of[i][j] = -1
			for _, x := range q.Attrs {
				if x.Key == a.Key {
					a.of[i][j] = at[x.Value.TextID()]
					break
				}
			}
		}
	}
	cur := c.Sides[summary.Current]
	for v := range a.Values {
		if a.P > 0.05 || v > 8 {
			break
		}
		var with, without part
		for j, q := range cur.Counted {
			p := &without
			if a.of[summary.Current][j] == v {
				p = &with
			}
			p.ns, p.w = append(p.ns, q.Duration()), append(p.w, float64(q.Weight)/graph.OneRequest)
		}
		if len(with.ns) > 0 && len(without.ns) > 0 {
			a.Values[v].Effect = with.at(c.Options.Quantile) - without.at(c.Options.Quantile)
		}
	}
}
