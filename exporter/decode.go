package exporter

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/trace"
)

// A decoder moves spans from pdata into an intake. It remembers attributes by key
// and value: most of most spans were met shortly before, and then are neither
// judged nor looked up again. What it remembers belongs to the intake's tables.
type decoder struct {
	epoch     uint64
	policy    *redact.Policy
	pairs     []pair
	keys      []about  // does not belong to the tables
	places    []*about // of keys: what was last met at a place of the list
	named     uint32   // keys so far
	resources map[string]trace.ResourceID
	scratch   []byte

	span    trace.RawSpan
	missed  []missed
	nested  []trace.RawAttr
	extents [][2]int
}

// A pair is an attribute that was met before.
type pair struct {
	value   string
	number  int64  // the value of an integer; then value is empty
	key     uint32 // the number of the key; zero: the place is free
	integer bool
	attr    trace.Attr // as the tables have it
}

// An about is what is known of a key.
type about struct {
	key      string
	number   uint32 // counted up from one
	do       redact.Action
	analysed bool // it is kept of every span

	// Values that hardly ever come again, as paths with ids, are not looked for:
	// to remember them would drive out those that do.
	looked, missed uint16
	varies         bool
}

// Of so many look-ups three in four must have failed for a key to vary. Then one
// look-up in rarely still is made, and so it can be found that it does no more.
const (
	judgeAfter = 256
	rarely     = 16
)

// look reports whether a value of the key is to be looked for.
func (a *about) look() bool {
	a.looked++
	if a.looked == judgeAfter {
		if a.varies {
			a.varies = a.missed > judgeAfter/rarely*3/4
		} else {
			a.varies = a.missed > judgeAfter*3/4
		}
		a.looked, a.missed = 0, 0
	}
	return !a.varies || a.looked%rarely == 0
}

// sharedHalf marks the server's half of a pair of spans with one id.
const sharedHalf = "zipkin.shared"

type missed struct {
	at   int // in the span's list of attributes
	to   *pair
	pair pair // but for what the tables have it as
}

// maxPlaces is how many places of a list are told apart.
const maxPlaces = 255

// maxPair is the length of the longest value that is remembered.
const maxPair = 128

func newDecoder(p *redact.Policy) *decoder {
	return &decoder{policy: p, pairs: make([]pair, 1<<12), keys: make([]about, 1<<10), resources: map[string]trace.ResourceID{}}
}

// decoderOf is the decoder of an intake.
func decoderOf(in *live.Intake, p *redact.Policy) *decoder {
	d, ok := in.Cache.(*decoder)
	if !ok {
		d = newDecoder(p)
		in.Cache = d
	}
	if d.epoch != in.Epoch {
		clear(d.pairs)
		clear(d.resources)
		d.epoch = in.Epoch
	}
	return d
}

// slot is where a value of a key belongs. It looks at the ends of the value: a
// bad hash here costs a miss and nothing else.
func (d *decoder) slot(key uint32, value uint64, n int) *pair {
	return &d.pairs[(uint64(key)*0x9e3779b97f4a7c15^value*0xbf58476d1ce4e5b9^uint64(n)*0x94d049bb133111eb)>>52]
}

// key is what is known of a key at a place of a list: neighbouring spans have much
// the same lists.
func (d *decoder) key(in *live.Intake, place int, k string) *about {
	for len(d.places) <= place {
		d.places = append(d.places, &d.keys[0])
	}
	if a := d.places[place]; a.key == k && a.number > 0 {
		return a
	}
	a := &d.keys[(ends(k)*0x9e3779b97f4a7c15^uint64(len(k))*0x94d049bb133111eb)>>54]
	if a.key != k || a.number == 0 {
		d.named++ // what was remembered of the key that was here is not found any more
		*a = about{key: strings.Clone(k), number: d.named, do: d.policy.Of(k, false), analysed: in.Keeps(k)}
	}
	d.places[place] = a
	return a
}

func ends(s string) uint64 {
	n := len(s)
	if n >= 8 {
		b := unsafe.Slice(unsafe.StringData(s), n) // only read
		return binary.LittleEndian.Uint64(b) + binary.LittleEndian.Uint64(b[n-8:])*31
	}
	h := uint64(n)
	for i := range n {
		h = h<<8 | uint64(s[i])
	}
	return h
}

// bytesOf is the bytes of a string, which are only read.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// text is a string as the store may have it: UTF-8, and not megabytes long.
func text(s string) []byte {
	if len(s) > maxText {
		n := maxText
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return bytesOf(s)
}

// Bounds of one span, as those of files: what exceeds them is left out.
const (
	maxText       = 64 << 10
	maxAttributes = 4096
	maxEvents     = 16384
	maxDepth      = 128
)

// traces moves all spans.
func (d *decoder) traces(in *live.Intake, td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		resource := d.resource(in, rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			scope := d.scope(in, ss.Scope())
			for _, s := range ss.Spans().All() {
				d.one(in, s, resource, scope)
			}
		}
	}
}

// maxResources is how many resources are remembered.
const maxResources = 1024

func (d *decoder) resource(in *live.Intake, m pcommon.Map) trace.ResourceID {
	same := d.same(m)
	if same {
		if id, ok := d.resources[string(d.scratch)]; ok {
			return id
		}
	}
	d.nested = d.attrs(d.nested[:0], m, true)
	id := in.Tables.AddResource(d.nested)
	if same {
		if len(d.resources) >= maxResources {
			clear(d.resources)
		}
		d.resources[string(d.scratch)] = id
	}
	return id
}

// same writes a text of a list of attributes that no other list has to scratch; it
// reports false where a list is too long or has values that are lists.
func (d *decoder) same(m pcommon.Map) bool {
	b := d.scratch[:0]
	for k, v := range m.All() {
		b = append(binary.AppendUvarint(b, uint64(len(k))), k...)
		b = append(b, byte(v.Type()))
		switch v.Type() {
		case pcommon.ValueTypeStr:
			b = append(binary.AppendUvarint(b, uint64(len(v.Str()))), v.Str()...)
		case pcommon.ValueTypeInt:
			b = binary.LittleEndian.AppendUint64(b, uint64(v.Int()))
		case pcommon.ValueTypeDouble:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Double()))
		case pcommon.ValueTypeBool:
			one := byte(0)
			if v.Bool() {
				one = 1
			}
			b = append(b, one)
		case pcommon.ValueTypeEmpty:
		default:
			return false
		}
		if len(b) > maxText {
			return false
		}
	}
	d.scratch = b
	return true
}

func (d *decoder) scope(in *live.Intake, s pcommon.InstrumentationScope) trace.ScopeID {
	if s.Name() == "" && s.Version() == "" {
		return 0
	}
	return in.Tables.AddScope(trace.Scope{Name: in.Tables.Intern(text(s.Name())), Version: in.Tables.Intern(text(s.Version()))})
}

// attrs appends what is allowed of a map.
func (d *decoder) attrs(to []trace.RawAttr, m pcommon.Map, resource bool) []trace.RawAttr {
	from := len(to)
	for k, v := range m.All() {
		if len(to)-from >= maxAttributes {
			break
		}
		do := d.policy.Of(k, resource)
		if do == redact.Drop {
			continue
		}
		raw := value(v)
		if do != redact.Keep && raw.Type == trace.String {
			raw.Bytes = do.Template(raw.Bytes)
		}
		to = append(to, trace.RawAttr{Key: text(k), Value: raw})
	}
	return to
}

// value is a value as a decoder of files has it.
func value(v pcommon.Value) trace.RawValue {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return trace.RawValue{Type: trace.String, Bytes: text(v.Str())}
	case pcommon.ValueTypeInt:
		return trace.RawValue{Type: trace.Int, Int: v.Int()}
	case pcommon.ValueTypeDouble:
		return trace.RawValue{Type: trace.Double, Double: v.Double()}
	case pcommon.ValueTypeBool:
		r := trace.RawValue{Type: trace.Bool}
		if v.Bool() {
			r.Int = 1
		}
		return r
	case pcommon.ValueTypeBytes:
		b := v.Bytes().AsRaw()
		return trace.RawValue{Type: trace.Bytes, Bytes: b[:min(len(b), maxText)]}
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		if b := list(nil, v, 1); len(b) <= maxText {
			return trace.RawValue{Type: trace.JSON, Bytes: b}
		}
	}
	return trace.RawValue{}
}

// list writes an array or a map as the decoder of files does.
func list(to []byte, v pcommon.Value, depth int) []byte {
	inner := func(v pcommon.Value) trace.RawValue {
		if t := v.Type(); t != pcommon.ValueTypeSlice && t != pcommon.ValueTypeMap {
			return value(v)
		}
		if depth >= maxDepth {
			return trace.RawValue{}
		}
		return trace.RawValue{Type: trace.JSON, Bytes: list(nil, v, depth+1)}
	}
	n := 0
	comma := func() {
		if n > 0 {
			to = append(to, ',')
		}
		n++
	}
	if v.Type() == pcommon.ValueTypeSlice {
		to = append(to, `{"arrayValue":{"values":[`...)
		for _, e := range v.Slice().All() {
			comma()
			to = ingest.AppendValue(to, inner(e))
		}
	} else {
		to = append(to, `{"kvlistValue":{"values":[`...)
		for k, e := range v.Map().All() {
			comma()
			to = ingest.AppendPair(to, text(k), inner(e))
		}
	}
	return append(to, "]}}"...)
}

// nanos is a time; zero is one that was not recorded.
func nanos(t pcommon.Timestamp) trace.Time {
	if t == 0 || t > math.MaxInt64 {
		return trace.NoTime
	}
	return trace.Time(t)
}

func spanID(id pcommon.SpanID) trace.SpanID { return trace.SpanID(binary.BigEndian.Uint64(id[:])) }

// one moves one span.
func (d *decoder) one(in *live.Intake, s ptrace.Span, resource trace.ResourceID, scope trace.ScopeID) {
	r := &d.span
	r.Reset()
	r.TraceID, r.ID, r.ParentID = trace.TraceID(s.TraceID()), spanID(s.SpanID()), spanID(s.ParentSpanID())
	r.Start, r.End = nanos(s.StartTimestamp()), nanos(s.EndTimestamp())
	if k := s.Kind(); k > 0 && k <= ptrace.SpanKindConsumer {
		r.Kind = trace.Kind(k)
	}
	if c := s.Status().Code(); c > 0 && c <= ptrace.StatusCodeError {
		r.Status = trace.Status(c)
	}
	r.Resource, r.Scope = resource, scope
	d.name(in, s.Name())
	if m := s.Status().Message(); m != "" {
		r.StatusMessage = text(m)
	}
	if ts := s.TraceState().AsRaw(); ts != "" {
		r.TraceState = text(ts)
	}
	d.missed = d.missed[:0]
	entry := r.ParentID == trace.NoSpanID || r.Kind == trace.KindServer || r.Kind == trace.KindConsumer
	place := -1
	for k, v := range s.Attributes().All() {
		if len(r.Known) >= maxAttributes {
			break
		}
		place++
		about := d.key(in, min(place, maxPlaces), k)
		if about.do == redact.Drop || !entry && !about.analysed && k != sharedHalf {
			continue
		}
		if v.Type() == pcommon.ValueTypeStr {
			if str := v.Str(); len(str) <= maxPair && about.look() {
				slot := d.slot(about.number, ends(str), len(str))
				if slot.key == about.number && slot.value == str && !slot.integer {
					r.Known = append(r.Known, slot.attr)
					continue
				}
				about.missed++
				d.missed = append(d.missed, missed{len(r.Known), slot, pair{key: about.number, value: str}})
			}
		} else if v.Type() == pcommon.ValueTypeInt {
			n := v.Int()
			slot := d.slot(about.number, uint64(n), 1)
			if slot.key == about.number && slot.number == n && slot.integer {
				r.Known = append(r.Known, slot.attr)
				continue
			}
			d.missed = append(d.missed, missed{len(r.Known), slot, pair{key: about.number, number: n, integer: true}})
		}
		raw := value(v)
		if about.do != redact.Keep && raw.Type == trace.String {
			raw.Bytes = about.do.Template(raw.Bytes)
		}
		if k == sharedHalf && raw.Type == trace.Bool {
			if raw.Int != 0 {
				r.Flags |= trace.Shared
			}
			continue
		}
		r.Attrs = append(r.Attrs, trace.RawAttr{Key: text(k), Value: raw})
		r.Known = append(r.Known, trace.Attr{})
	}
	d.events(s)
	d.links(s)
	in.Span(r)
	for _, m := range d.missed {
		if known := r.Known[m.at]; known.Key != 0 {
			m.pair.value, m.pair.attr = strings.Clone(m.pair.value), known
			*m.to = m.pair
		}
	}
}

// name gives the span its name.
func (d *decoder) name(in *live.Intake, name string) {
	slot := d.slot(aName, ends(name), len(name))
	if slot.key != aName || slot.value != name {
		id := in.Tables.Intern(d.policy.Name(text(name)))
		if id == 0 || len(name) > maxPair {
			d.span.NameID = id
			return
		}
		*slot = pair{key: aName, value: strings.Clone(name), attr: trace.Attr{Key: id}}
	}
	d.span.NameID = slot.attr.Key
}

// aName is the number of no key: names of spans are remembered by it.
const aName = math.MaxUint32

func (d *decoder) events(s ptrace.Span) {
	n := s.Events().Len()
	if n == 0 {
		return
	}
	r := &d.span
	d.nested, d.extents = d.nested[:0], d.extents[:0]
	for i := range min(n, maxEvents) {
		e := s.Events().At(i)
		from := len(d.nested)
		d.nested = d.attrs(d.nested, e.Attributes(), false)
		r.Events = append(r.Events, trace.RawEvent{Time: nanos(e.Timestamp()), Name: text(e.Name())})
		d.extents = append(d.extents, [2]int{from, len(d.nested)})
	}
	for i, x := range d.extents {
		r.Events[i].Attrs = d.nested[x[0]:x[1]:x[1]]
	}
}

// links moves links. One that says that its target is the parent, which did not
// wait, is a flag of the span.
func (d *decoder) links(s ptrace.Span) {
	r := &d.span
	for i := range min(s.Links().Len(), maxEvents) {
		l := s.Links().At(i)
		link := trace.RawLink{TraceID: trace.TraceID(l.TraceID()), ID: spanID(l.SpanID())}
		if ref, ok := l.Attributes().Get("opentracing.ref_type"); ok && ref.Str() == "follows_from" &&
			link.ID == r.ParentID && link.ID != trace.NoSpanID && link.TraceID == r.TraceID {
			r.Flags |= trace.FollowsFrom
			continue
		}
		r.Links = append(r.Links, link)
	}
}
