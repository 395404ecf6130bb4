package trace

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"slices"
	"strconv"
	"unsafe"
)

// A StringID is the place of a string in Tables. The empty string is zero.
// Equal strings have equal ids; the order of ids is the order in which strings
// were met and means nothing.
type StringID uint32

// A ResourceID is the place of a resource in Tables. Zero is the resource with
// no attributes.
type ResourceID uint32

// A ScopeID is the place of an instrumentation scope in Tables. Zero is the
// scope of which nothing is known.
type ScopeID uint32

// Tables holds what spans and metric points share: strings, resources and
// scopes, each once. A Tables is not safe for concurrent use.
type Tables struct {
	strings interner

	resources   []Resource
	resourceIDs map[string]ResourceID
	key         []byte // scratch of Resource
	sorted      []Attr // scratch of Resource

	scopes   []Scope
	scopeIDs map[Scope]ScopeID
}

// A Scope is the library that recorded spans or points.
type Scope struct {
	Name, Version StringID
	Attrs         Value // of type JSON: the OTLP key-value list; zero if none

	// What only a conversion keeps: of the lists that the spans stood in, and of
	// their resource, which differs from others in no attribute for it.
	SchemaURL, ResourceSchemaURL StringID
	Dropped, ResourceDropped     uint32 // attributes
}

// A Resource is the entity that recorded spans or points.
type Resource struct {
	// Attrs is sorted by key, then value, as text.
	Attrs []Attr

	// Service is service.name; empty if not given.
	Service StringID

	// Host names the clock: host.name, else host.id, pod, container,
	// service.instance.id, service.name.
	Host StringID

	// Instance names the process: service.instance.id, else pod, container.id,
	// host.name with process.pid, host.name; else empty.
	Instance StringID

	// Version is service.version.
	Version StringID
}

// NewTables returns tables that hold the empty string and the empty resource.
func NewTables() *Tables {
	t := &Tables{strings: newInterner(), resourceIDs: map[string]ResourceID{}, scopeIDs: map[Scope]ScopeID{}}
	t.resources = append(t.resources, Resource{})
	t.resourceIDs[""] = 0
	t.AddScope(Scope{})
	return t
}

// String is the text of id.
func (t *Tables) String(id StringID) string { return t.strings.text(id) }

// Strings is the number of different strings.
func (t *Tables) Strings() int { return t.strings.len() }

// Intern is the id of the string with these bytes, which are copied if new.
func (t *Tables) Intern(text []byte) StringID { return t.strings.intern(text) }

// InternString is Intern of a string.
func (t *Tables) InternString(text string) StringID {
	return t.strings.intern(unsafe.Slice(unsafe.StringData(text), len(text))) // only read
}

// Lookup is the id of text, if some span, resource or point has it.
func (t *Tables) Lookup(text string) (StringID, bool) {
	b := unsafe.Slice(unsafe.StringData(text), len(text))
	id, _, ok := t.strings.find(maphash.Bytes(t.strings.seed, b), b)
	return id, ok
}

// Resource is the resource with the given id. The caller must not change it.
func (t *Tables) Resource(id ResourceID) *Resource { return &t.resources[id] }

// Resources is the number of different resources.
func (t *Tables) Resources() int { return len(t.resources) }

// Value interns a raw attribute value.
func (t *Tables) Value(v RawValue) Value {
	var buf [32]byte
	b := v.Bytes
	switch v.Type {
	case Empty:
		return 0
	case Int:
		b = strconv.AppendInt(buf[:0], v.Int, 10)
	case Bool:
		b = strconv.AppendBool(buf[:0], v.Int != 0)
	case Double:
		b = strconv.AppendFloat(buf[:0], v.Double, 'g', -1, 64)
	}
	return Value(v.Type)<<valueBits | Value(t.Intern(b))
}

// Text is the text of an attribute value, whatever its type.
func (t *Tables) Text(v Value) string { return t.strings.text(v.text()) }

// AddResource is the id of the resource with these attributes, in any order.
func (t *Tables) AddResource(raw []RawAttr) ResourceID {
	t.sorted = t.sorted[:0]
	for _, a := range raw {
		t.sorted = append(t.sorted, Attr{t.Intern(a.Key), t.Value(a.Value)})
	}
	return t.addResource(t.sorted)
}

func (t *Tables) addResource(attrs []Attr) ResourceID {
	slices.SortFunc(attrs, func(a, b Attr) int {
		if a.Key != b.Key {
			return cmpString(t.strings.text(a.Key), t.strings.text(b.Key))
		}
		if c := cmpString(t.Text(a.Value), t.Text(b.Value)); c != 0 {
			return c
		}
		return int(a.Value.Type()) - int(b.Value.Type())
	})
	t.key = t.key[:0]
	for _, a := range attrs {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(a.Key))
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(a.Value))
	}
	if id, ok := t.resourceIDs[string(t.key)]; ok {
		return id
	}
	r := Resource{Attrs: slices.Clone(attrs)}
	get := func(keys ...string) StringID {
		for _, k := range keys {
			for _, a := range attrs {
				if t.strings.text(a.Key) == k && t.Text(a.Value) != "" {
					return a.Value.text()
				}
			}
		}
		return 0
	}
	r.Service = get("service.name")
	r.Version = get("service.version")
	r.Host = get("host.name", "host.id", "k8s.pod.uid", "k8s.pod.name", "container.id", "container.name", "service.instance.id", "service.name")
	r.Instance = get("service.instance.id", "k8s.pod.uid", "k8s.pod.name", "container.id")
	if r.Instance == 0 {
		if host, pid := get("host.name"), get("process.pid"); host != 0 && pid != 0 {
			r.Instance = t.InternString(t.strings.text(host) + ":" + t.strings.text(pid))
		} else {
			r.Instance = host
		}
	}
	if ip := get("host.ip"); r.Instance == 0 && r.Host == r.Service && ownAddress(t.strings.text(ip)) {
		// All that Zipkin says of who recorded a span. Machines apart may have one address each on a bridge of their own, so
		// that it tells processes of one service from each other, and no more.
		r.Instance = ip
		r.Host = t.InternString(t.strings.text(r.Service) + "@" + t.strings.text(ip))
	}
	id := ResourceID(len(t.resources))
	t.resources = append(t.resources, r)
	t.resourceIDs[string(bytes.Clone(t.key))] = id
	return id
}

// ownAddress reports whether a text is an address that a machine, not every machine, has.
func ownAddress(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && !ip.IsLoopback() && !ip.IsUnspecified()
}

// Scope is the scope with the given id.
func (t *Tables) Scope(id ScopeID) Scope { return t.scopes[id] }

// AddScope is the id of s.
func (t *Tables) AddScope(s Scope) ScopeID {
	if id, ok := t.scopeIDs[s]; ok {
		return id
	}
	id := ScopeID(len(t.scopes))
	t.scopes = append(t.scopes, s)
	t.scopeIDs[s] = id
	return id
}

// A Remap translates the ids of one Tables into those of another. The zero
// Remap translates none.
type Remap struct {
	Strings   []StringID
	Resources []ResourceID
	Scopes    []ScopeID
}

// Value is the value v in the other tables.
func (m *Remap) Value(v Value) Value {
	return v&^valueMask | Value(m.Strings[v.text()])
}

// Absorb adds all of o's strings, resources and scopes to t and returns the
// translation of o's ids.
func (t *Tables) Absorb(o *Tables) *Remap {
	m := new(Remap)
	t.AbsorbMore(o, m)
	return m
}

// AbsorbMore is Absorb of what o has gained since m was made or last extended;
// it extends m.
func (t *Tables) AbsorbMore(o *Tables, m *Remap) {
	m.Strings = slices.Grow(m.Strings, o.strings.len()-len(m.Strings))
	for id := len(m.Strings); id < o.strings.len(); id++ {
		m.Strings = append(m.Strings, t.strings.intern(o.strings.bytes(StringID(id))))
	}
	var attrs []Attr
	for i := len(m.Resources); i < len(o.resources); i++ {
		attrs = appendAttrs(attrs[:0], o.resources[i].Attrs, m)
		m.Resources = append(m.Resources, t.addResource(attrs))
	}
	for _, s := range o.scopes[len(m.Scopes):] {
		m.Scopes = append(m.Scopes, t.AddScope(Scope{m.Strings[s.Name], m.Strings[s.Version], m.Value(s.Attrs),
			m.Strings[s.SchemaURL], m.Strings[s.ResourceSchemaURL], s.Dropped, s.ResourceDropped}))
	}
}

// Same is the translation of t's ids into themselves.
func (t *Tables) Same() *Remap {
	m := &Remap{Strings: make([]StringID, t.strings.len()), Resources: make([]ResourceID, len(t.resources)), Scopes: make([]ScopeID, len(t.scopes))}
	for i := range m.Strings {
		m.Strings[i] = StringID(i)
	}
	for i := range m.Resources {
		m.Resources[i] = ResourceID(i)
	}
	for i := range m.Scopes {
		m.Scopes[i] = ScopeID(i)
	}
	return m
}

// View is t as it is now, to be absorbed by another Tables, while t may go on
// growing in another goroutine.
func (t *Tables) View() *Tables {
	return &Tables{strings: t.strings.view(), resources: slices.Clip(t.resources), scopes: slices.Clip(t.scopes)}
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Raw is a value as a decoder had it. Its bytes must not be changed.
func (t *Tables) Raw(v Value) RawValue {
	text := t.Text(v)
	r := RawValue{Type: v.Type()}
	switch r.Type {
	case Int:
		r.Int, _ = strconv.ParseInt(text, 10, 64)
	case Double:
		r.Double, _ = strconv.ParseFloat(text, 64)
	case Bool:
		if text == "true" {
			r.Int = 1
		}
	default:
		r.Bytes = []byte(text)
	}
	return r
}
