package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// maxValues is how many values a key may have for all to be compared; of more,
	// the hottest are.
	maxValues = 1000
	// hottest is how many values of such a key are compared, and minHot how many of
	// the requests of a side the first must have: of less, they are identifiers.
	hottest = 64
	minHot  = 0.01
	// minNumbers is from how many values on a key of numbers is compared by size.
	minNumbers = 20
)

// Consequence reports whether an attribute follows from how a request went or
// where it was served, and not from what was asked: such keys never reweight.
func Consequence(key string) bool { return listed(consequences, key) || trace.WaitAttribute(key) }

// Deployed reports whether an attribute says what is deployed, and not what was
// asked: the same requests have another value after a rollout, and a share of
// them during one. Such keys never reweight either.
func Deployed(key string) bool { return listed(deployed, key) }

func listed(list []string, key string) bool {
	for _, p := range list {
		if key == p || strings.HasSuffix(p, ".") && strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

var consequences = []string{
	"http.response.", "http.status_code", "http.status_text", "error.", "error", "exception.", "otel.", "rpc.grpc.", "rpc.response.", "grpc.", "status", "status.",
	"http.request.resend_count", "previous-rpc-attempts", "retry.", "retry_count", "cache.hit", "cache.", "cancelled", "timeout",
	"service.instance.", "host.", "k8s.pod.", "k8s.node.", "container.", "process.", "thread.", "net.", "network.", "client.address", "client.port", "server.address", "server.port",
	"telemetry.", "os.", "http.request.header.x-request-start", "http.request.header.x-queue-start", "url.full", "http.url", "db.", "messaging.message.",
	"http.server.", "faas.coldstart", "degraded", "omitted",
}

var deployed = []string{
	"service.version", "service.name", "service.namespace", "deployment.", "telemetry.", "vcs.", "git.", "cloud.", "k8s.", "aws.", "gcp.", "azure.", "app.version", "version", "build", "release",
	"container.image.", "feature_flag.", "library.", "otel.",
}

// A ValueShare is how often an attribute has a value on both sides.
type ValueShare struct {
	Key, Value trace.StringID
	Base, Cur  float64 // weighted shares of the requests, 0..1
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
	P      float64 // the least of its values', for their number and that of keys of its family
	// OneSided is the share of current requests with a value that the baseline
	// lacks.
	OneSided float64
	// Sizes reports whether the values are numbers that are compared by size: each
	// value is a range from a power of two up to the next.
	Sizes bool
	of    [2][]int // of each counted request: the index in Values
}

// Distance is the share of the requests that have another value than they would
// have had: the total variation of the shares.
func (a *Attribute) Distance() float64 {
	var sum, base, cur float64
	for _, v := range a.Values {
		sum += math.Abs(v.Cur - v.Base)
		base, cur = base+v.Base, cur+v.Cur
	}
	return (sum + math.Abs(cur-base)) / 2 // those without the key are a kind, too
}

// nearlyAll is the share of the requests of a side from which on all have a key that only some instrumentation gives.
const nearlyAll = 0.9

// recordedAnew reports whether nearly all requests of one side have the key and none of the other: it was not another
// kind of request that came, but the key.
func (a *Attribute) recordedAnew() bool {
	var base, cur float64
	for _, v := range a.Values {
		base, cur = base+v.Base, cur+v.Cur
	}
	return min(base, cur) == 0 && max(base, cur) > nearlyAll
}

// chance is the Distance that shares of so many requests a side differ by when
// nothing changed.
func (a *Attribute) chance(n0, n1 float64) float64 {
	var sum float64
	for _, v := range a.Values {
		p := (v.Base*n0 + v.Cur*n1) / (n0 + n1)
		sum += 0.8 * math.Sqrt(p*(1-p)*(1/n0+1/n1)) // the mean of |normal|
	}
	return sum / 2
}

// flat is how many requests of equal weight tell as much of shares.
func (x *weighing) flat() float64 { return x.sum * x.sum / x.squares }

// Attributes compares all keys of entry spans and their resources.
func (c *Comparison) Attributes() []*Attribute {
	if c.attributes != nil || c.Sides[0] == nil || c.Sides[1] == nil || len(c.Sides[0].Counted) == 0 || len(c.Sides[1].Counted) == 0 {
		return c.attributes
	}
	d := c.Reading.Dict
	counts := [2]map[trace.StringID]map[trace.StringID]int{{}, {}}
	keys := map[trace.StringID]bool{}
	lay := layouts{by: map[uint64][]int32{}}
	for i, s := range c.Sides {
		lay.of[i] = make([]int32, len(s.Counted))
		count := func(key, value trace.StringID, n int) {
			m := counts[i][key]
			if m == nil {
				m = map[trace.StringID]int{}
				counts[i][key] = m
			}
			m[value] += n
			keys[key] = true
		}
		// What the last requests say alike is counted together.
		var last []trace.Attr
		var alike []int
		for j, q := range s.Counted {
			lay.of[i][j] = lay.find(q.Attrs)
			if j == 0 || lay.of[i][j] != lay.of[i][j-1] {
				for k, n := range alike {
					count(last[k].Key, last[k].Value.TextID(), n)
				}
				last, alike = append(last[:0], q.Attrs...), append(alike[:0], make([]int, len(q.Attrs))...)
			}
			for k, a := range q.Attrs {
				if a.Value.TextID() != last[k].Value.TextID() {
					count(last[k].Key, last[k].Value.TextID(), alike[k])
					last[k], alike[k] = a, 0
				}
				alike[k]++
			}
		}
		for k, n := range alike {
			count(last[k].Key, last[k].Value.TextID(), n)
		}
	}
	weights := [2]*weighing{weigh(c.Sides[0].Counted), weigh(c.Sides[1].Counted)}
	out := []*Attribute{}
	for key := range keys {
		if a := c.attribute(key, counts[0][key], counts[1][key], weights, &lay); a != nil {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(x, y *Attribute) int { return strings.Compare(d.String(x.Key), d.String(y.Key)) })

	// What may be a change of mix is one family. Keys that say the same of every request, or what follows from how it went or
	// where, are no chances to find one, however many an agent adds.
	var families [2][]*Attribute
	for _, a := range out {
		i := 0
		if key := d.String(a.Key); len(a.Values) < 2 || Consequence(key) || Deployed(key) {
			i = 1
		}
		families[i] = append(families[i], a)
	}
	for _, family := range families {
		p := make([]float64, len(family))
		for i, a := range family {
			p[i] = a.P
		}
		for i, q := range stats.BenjaminiHochberg(p) {
			family[i].P = q
		}
	}
	for _, a := range out {
		c.effects(a)
	}
	c.attributes = out
	return out
}

// Layouts are the keys of requests in their order: many requests share few.
type layouts struct {
	of   [2][]int32 // of each counted request
	keys [][]trace.StringID
	by   map[uint64][]int32 // by a hash of the keys
	last int32
}

// find is the layout of attributes.
func (l *layouts) find(attrs []trace.Attr) int32 {
	same := func(n int32) bool {
		return slices.EqualFunc(l.keys[n], attrs, func(k trace.StringID, a trace.Attr) bool { return k == a.Key })
	}
	if len(l.keys) > 0 && same(l.last) {
		return l.last
	}
	h := uint64(len(attrs))
	for _, a := range attrs {
		h = (h ^ uint64(a.Key)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for _, n := range l.by[h] {
		if same(n) {
			l.last = n
			return n
		}
	}
	keys := make([]trace.StringID, len(attrs))
	for i, a := range attrs {
		keys[i] = a.Key
	}
	l.last = int32(len(l.keys))
	l.keys, l.by[h] = append(l.keys, keys), append(l.by[h], l.last)
	return l.last
}

// places is where a key stands first in each layout; -1 where it does not.
func (l *layouts) places(key trace.StringID) []int {
	at := make([]int, len(l.keys))
	for i, keys := range l.keys {
		at[i] = slices.Index(keys, key)
	}
	return at
}

// A weighing is the weights of a side's requests.
type weighing struct {
	w            []float64
	sum, squares float64
	equal        bool
}

func weigh(of []*summary.Request) *weighing {
	x := &weighing{w: make([]float64, len(of)), equal: true}
	for j, q := range of {
		x.w[j] = float64(q.Weight) / graph.OneRequest
		x.sum += x.w[j]
		x.squares += x.w[j] * x.w[j]
		x.equal = x.equal && x.w[j] == x.w[0]
	}
	return x
}

// effective is the count, and the number of requests, that would be as uncertain
// as the weighted share of requests with a value at the share p of both sides.
// squares is of the weights of those with it. A few of them, all light by chance,
// would count for far more than they are; so the weights of all requests set a limit.
func (x *weighing) effective(sum, squares, p float64, k int) (count, of int) {
	if x.equal || p <= 0 || p >= 1 {
		return k, len(x.w)
	}
	total := x.sum * x.sum
	v := max((squares*(1-p)*(1-p)+(x.squares-squares)*p*p)/total, p*(1-p)*x.squares/total)
	n := p * (1 - p) / v
	return int(math.Round(sum / x.sum * n)), max(1, int(math.Round(n)))
}

// attribute compares one key; nil if its values are identifiers.
func (c *Comparison) attribute(key trace.StringID, base, cur map[trace.StringID]int, weights [2]*weighing, lay *layouts) *Attribute {
	d := c.Reading.Dict
	name := d.String(key)
	pooled := map[trace.StringID]int{}
	for _, m := range []map[trace.StringID]int{base, cur} {
		for v, n := range m {
			pooled[v] += n
		}
	}
	a := &Attribute{Key: key, P: 1}
	// label is what a value is compared as.
	label := func(v trace.StringID) (trace.StringID, bool) { return v, true }
	switch {
	case len(pooled) >= minNumbers && !identifies(name) && numbersOnly(d, pooled):
		a.Sizes = true
		buckets := map[trace.StringID]trace.StringID{}
		for v := range pooled {
			buckets[v] = d.InternString(sizeOf(d.String(v)))
		}
		label = func(v trace.StringID) (trace.StringID, bool) { return buckets[v], true }
	case len(pooled) > maxValues:
		values := make([]trace.StringID, 0, len(pooled))
		for v := range pooled {
			values = append(values, v)
		}
		slices.SortFunc(values, func(x, y trace.StringID) int {
			return cmp.Or(cmp.Compare(pooled[y], pooled[x]), strings.Compare(d.String(x), d.String(y)))
		})
		top := values[0]
		if max(float64(base[top])/float64(len(weights[0].w)), float64(cur[top])/float64(len(weights[1].w))) < minHot {
			return nil
		}
		hot := map[trace.StringID]bool{}
		for _, v := range values[:hottest] {
			hot[v] = true
		}
		label = func(v trace.StringID) (trace.StringID, bool) { return v, hot[v] }
	}

	// The value of each request, and the sums of their weights.
	type sums struct {
		n          [2]int
		w, squares [2]float64
	}
	of := map[trace.StringID]*sums{}
	var has [2][]trace.StringID
	at := lay.places(key)
	for i, s := range c.Sides {
		has[i] = make([]trace.StringID, len(s.Counted))
		var last trace.StringID // and what it is compared as
		var as trace.StringID
		var in *sums
		for j, q := range s.Counted {
			place := at[lay.of[i][j]]
			if place < 0 {
				continue
			}
			if x := q.Attrs[place].Value.TextID(); in == nil || x != last {
				v, ok := label(x)
				if !ok {
					continue
				}
				if of[v] == nil {
					of[v] = &sums{}
				}
				last, as, in = x, v, of[v]
			}
			w := weights[i].w[j]
			in.n[i]++
			in.w[i] += w
			in.squares[i] += w * w
			has[i][j] = as
		}
	}
	consequence := Consequence(name)
	for v, m := range of {
		x := ValueShare{Key: key, Value: v, BaseN: m.n[0], CurN: m.n[1], Base: m.w[0] / weights[0].sum, Cur: m.w[1] / weights[1].sum, Consequence: consequence, Effect: math.NaN()}
		p := (m.w[0] + m.w[1]) / (weights[0].sum + weights[1].sum)
		b, n0 := weights[0].effective(m.w[0], m.squares[0], p, m.n[0])
		k, n1 := weights[1].effective(m.w[1], m.squares[1], p, m.n[1])
		x.P = stats.FisherTwoSided(b, n0, k, n1)
		ratio, iv := stats.OddsRatio(float64(b), float64(n0), float64(k), float64(n1), 0.95)
		x.Odds, x.OddsLo, x.OddsHi = ratio, iv.Lo, iv.Hi
		a.P = min(a.P, x.P)
		if m.n[0] == 0 {
			a.OneSided += x.Cur
		}
		a.Values = append(a.Values, x)
	}
	a.P = min(1, a.P*float64(len(a.Values)))
	slices.SortFunc(a.Values, func(x, y ValueShare) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Cur-y.Base), math.Abs(x.Cur-x.Base)), cmp.Compare(y.Cur-y.Base, x.Cur-x.Base), strings.Compare(d.String(x.Value), d.String(y.Value)))
	})
	number := map[trace.StringID]int{}
	for i, v := range a.Values {
		number[v.Value] = i
	}
	for i := range has {
		a.of[i] = make([]int, len(has[i]))
		for j, v := range has[i] {
			a.of[i][j] = -1
			if k, ok := number[v]; ok && v != 0 {
				a.of[i][j] = k
			}
		}
	}
	return a
}

// identifies reports whether a key names things by number, whose size means
// nothing.
func identifies(key string) bool {
	for _, end := range []string{"id", "_id", ".id", "port", "code", "number", "uuid", "line", "lineno"} {
		if strings.HasSuffix(strings.ToLower(key), end) {
			return true
		}
	}
	return false
}

func numbersOnly(d *graph.Dict, values map[trace.StringID]int) bool {
	for v := range values {
		if x, err := strconv.ParseFloat(d.String(v), 64); err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return false
		}
	}
	return true
}

// sizeOf is the range that a number is in: from a power of two up to the next.
func sizeOf(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case x < 0:
		return "below 0"
	case x < 1:
		return "0 … 1"
	}
	lo := math.Exp2(math.Floor(math.Log2(x)))
	return fmt.Sprintf("%.0f … %.0f", lo, 2*lo)
}

// maxEffects is how many values of a key whose shares differ get their effect on
// the target quantile computed: those that differ most.
const maxEffects = 9

// effects computes what values that differ mean for the target quantile.
func (c *Comparison) effects(a *Attribute) {
	cur := c.Sides[summary.Current]
	for v := range a.Values {
		if a.P > mixP || v == maxEffects {
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
