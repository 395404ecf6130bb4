package ingest

import (
	"encoding/binary"

	"github.com/tailscope/tailscope/trace"
)

// pairs remembers the attributes and names that spans had, by the bytes they
// were written in: most attributes of most spans were met shortly before, byte
// for byte, and then need not be read, checked and looked up again. What is
// remembered is what the store kept, so that the values of attributes that are
// not kept never enter the tables. Its numbers are those of one Tables.
//
// Texts of two lengths have tables of their own, in sets of two slots of one or
// four cache lines each: what was remembered last, and what before that.
type pairs struct {
	short  [1 << shortBits]shortPair
	long   [1 << longBits]longPair
	names  [1 << nameBits]shortPair
	places [64]place

	missed  []missed
	learned [256]uint32 // per key, of which some share a counter: how many pairs were remembered
}

const (
	shortBits = 11
	longBits  = 9
	nameBits  = 8
)

type shortPair struct {
	attr trace.Attr // the zero Attr: free
	n    uint8
	raw  [55]byte
}

type longPair struct {
	attr trace.Attr
	n    uint8
	raw  [247]byte
}

// A place of a span's list in JSON is how the attributes there began that were
// met last, up to their values: neighbouring spans tend to have the same keys in
// the same places.
type place struct {
	openings [2]opening
	last     uint8 // which of them was met last
}

// An opening is the beginning of a pair up to its value.
type opening struct {
	text   [104]byte
	n      uint8 // of text; zero: none
	keyLen uint8
	typ    trace.ValueType
	key    trace.StringID
}

// A missed pair is that of the span's attribute i.
type missed struct {
	raw  []byte
	hash uint64
	i    int
}

func newPairs() *pairs { return new(pairs) }

// maxPair is the length of the longest text that is remembered.
const maxPair = len(longPair{}.raw)

// hashPair looks at both ends and the middle of raw: a bad hash here costs a miss
// and nothing else.
func hashPair(raw []byte) uint64 {
	n := len(raw)
	if n >= 8 {
		return binary.LittleEndian.Uint64(raw)*0x9e3779b97f4a7c15 ^
			binary.LittleEndian.Uint64(raw[n-8:])*0xbf58476d1ce4e5b9 ^
			binary.LittleEndian.Uint64(raw[n/2-4:])*0x94d049bb133111eb ^ uint64(n)<<56
	}
	var v uint64
	for _, c := range raw {
		v = v<<8 | uint64(c)
	}
	return (v ^ uint64(n)<<56) * 0x9e3779b97f4a7c15
}

// known is the pair written as raw; the zero Attr if it is not remembered, and
// then the hash for miss.
func (p *pairs) known(raw []byte) (trace.Attr, uint64) {
	h := hashPair(raw)
	if len(raw) <= len(shortPair{}.raw) {
		i := h >> (64 - shortBits) &^ 1
		for j := range uint64(2) {
			if s := &p.short[i|j]; string(s.raw[:s.n]) == string(raw) {
				return s.attr, h
			}
		}
		return trace.Attr{}, h
	}
	i := h >> (64 - longBits) &^ 1
	for j := range uint64(2) {
		if s := &p.long[i|j]; string(s.raw[:s.n]) == string(raw) {
			return s.attr, h
		}
	}
	return trace.Attr{}, h
}

// value is known of a pair of JSON, by its opening and the value behind it. A pair
// of protobuf begins with a control character, and raw has none.
func (p *pairs) value(o *opening, raw []byte) (trace.Attr, uint64) {
	h := hashPair(raw) ^ uint64(o.key)*0xd6e8feb86659fd93
	if len(raw) <= len(shortPair{}.raw) {
		i := h >> (64 - shortBits) &^ 1
		for j := range uint64(2) {
			if s := &p.short[i|j]; s.attr.Key == o.key && string(s.raw[:s.n]) == string(raw) && s.attr.Value.Type() == o.typ {
				return s.attr, h
			}
		}
		return trace.Attr{}, h
	}
	i := h >> (64 - longBits) &^ 1
	for j := range uint64(2) {
		if s := &p.long[i|j]; s.attr.Key == o.key && string(s.raw[:s.n]) == string(raw) && s.attr.Value.Type() == o.typ {
			return s.attr, h
		}
	}
	return trace.Attr{}, h
}

// name is the number of the name written as raw, if it is remembered.
func (p *pairs) name(raw []byte) (trace.StringID, bool) {
	if s := &p.names[hashPair(raw)>>(64-nameBits)]; string(s.raw[:s.n]) == string(raw) {
		return s.attr.Key, s.n > 0
	}
	return 0, false
}

// learnName remembers a name.
func (p *pairs) learnName(raw []byte, id trace.StringID) {
	s := &p.names[hashPair(raw)>>(64-nameBits)]
	if len(raw) <= len(s.raw) {
		s.attr.Key, s.n = id, uint8(copy(s.raw[:], raw))
	}
}

// miss notes that attribute i of the span was written as raw.
func (p *pairs) miss(raw []byte, hash uint64, i int) {
	if len(raw) <= maxPair {
		p.missed = append(p.missed, missed{raw, hash, i})
	}
}

// begin forgets what the last span missed.
func (p *pairs) begin() { p.missed = p.missed[:0] }

// learn remembers the missed pairs that were kept, as the store filled them in.
func (p *pairs) learn(kept []trace.Attr) {
	for _, m := range p.missed {
		if known := kept[m.i]; known.Key != 0 && p.worth(known.Key) {
			p.remember(m.raw, m.hash, known)
		}
	}
	p.begin()
}

// worth reports whether a value of the key is to be remembered. Keys with more
// values than there is room for would drive out all others, so most of theirs
// are not, but some: which values are frequent may change.
func (p *pairs) worth(key trace.StringID) bool {
	n := &p.learned[uint8(key)]
	*n++
	return *n <= 1<<9 || *n&15 == 0
}

func (p *pairs) remember(raw []byte, h uint64, attr trace.Attr) {
	if len(raw) <= len(shortPair{}.raw) {
		i := h >> (64 - shortBits) &^ 1
		s := &p.short[i]
		p.short[i|1] = *s
		s.attr, s.n = attr, uint8(copy(s.raw[:], raw))
		return
	}
	i := h >> (64 - longBits) &^ 1
	s := &p.long[i]
	p.long[i|1] = *s
	s.attr, s.n = attr, uint8(copy(s.raw[:], raw))
}

// opening is how a pair at a place of a list begins that begins like b; nil if none
// such was met there lately.
func (p *pairs) opening(i int, b []byte) *opening {
	if i >= len(p.places) {
		return nil
	}
	at := &p.places[i]
	for range 2 {
		o := &at.openings[at.last]
		if n := int(o.n); n > 0 && len(b) > n && string(b[:n]) == string(o.text[:n]) {
			return o
		}
		at.last ^= 1
	}
	return nil
}

// open remembers how a pair began at a place of a list.
func (p *pairs) open(i int, text []byte, keyLen int, key trace.StringID, typ trace.ValueType) {
	if i < len(p.places) && len(text) <= len(opening{}.text) && key != 0 {
		at := &p.places[i]
		at.last ^= 1
		o := &at.openings[at.last]
		o.n, o.keyLen, o.key, o.typ = uint8(copy(o.text[:], text)), uint8(keyLen), key, typ
	}
}
