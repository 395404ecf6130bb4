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
	short [1 << 11]shortPair
	long  [1 << 9]longPair
	names [1 << 8]shortPair

	missed  []missed
	learned [256]uint32 // per key, of which some share a counter: how many pairs were remembered
}

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

// A missed pair is that of the span's attribute i.
type missed struct {
	raw []byte
	i   int
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

// known is the pair written as raw; the zero Attr if it is not remembered.
func (p *pairs) known(raw []byte) trace.Attr {
	h := hashPair(raw)
	if len(raw) <= len(shortPair{}.raw) {
		i := h >> (64 - 11) &^ 1
		if s := &p.short[i]; string(s.raw[:s.n]) == string(raw) {
			return s.attr
		}
		if s := &p.short[i|1]; string(s.raw[:s.n]) == string(raw) {
			return s.attr
		}
		return trace.Attr{}
	}
	i := h >> (64 - 9) &^ 1
	if s := &p.long[i]; string(s.raw[:s.n]) == string(raw) {
		return s.attr
	}
	if s := &p.long[i|1]; string(s.raw[:s.n]) == string(raw) {
		return s.attr
	}
	return trace.Attr{}
}

// name is the number of the name written as raw, if it is remembered.
func (p *pairs) name(raw []byte) (trace.StringID, bool) {
	if s := &p.names[hashPair(raw)>>(64-8)]; string(s.raw[:s.n]) == string(raw) {
		return s.attr.Key, s.n > 0
	}
	return 0, false
}

// learnName remembers a name.
func (p *pairs) learnName(raw []byte, id trace.StringID) {
	s := &p.names[hashPair(raw)>>(64-8)]
	if len(raw) <= len(s.raw) {
		s.attr.Key, s.n = id, uint8(copy(s.raw[:], raw))
	}
}

// miss notes that attribute i of the span was written as raw.
func (p *pairs) miss(raw []byte, i int) {
	if len(raw) <= maxPair {
		p.missed = append(p.missed, missed{raw, i})
	}
}

// begin forgets what the last span missed.
func (p *pairs) begin() { p.missed = p.missed[:0] }

// learn remembers the missed pairs that were kept, as the store filled them in.
func (p *pairs) learn(kept []trace.Attr) {
	for _, m := range p.missed {
		if known := kept[m.i]; known.Key != 0 && p.worth(known.Key) {
			p.remember(m.raw, known)
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

func (p *pairs) remember(raw []byte, attr trace.Attr) {
	h := hashPair(raw)
	if len(raw) <= len(shortPair{}.raw) {
		i := h >> (64 - 11) &^ 1
		s := &p.short[i]
		p.short[i|1] = *s
		s.attr, s.n = attr, uint8(copy(s.raw[:], raw))
		return
	}
	i := h >> (64 - 9) &^ 1
	s := &p.long[i]
	p.long[i|1] = *s
	s.attr, s.n = attr, uint8(copy(s.raw[:], raw))
}
