package ingest

import (
	"bytes"
	"encoding/binary"

	"github.com/tailscope/tailscope/trace"
)

// pairs remembers the attributes that spans had, by the bytes they were written
// in: most attributes of most spans were met shortly before, byte for byte, and
// then need not be read, checked and looked up again. What is remembered is what
// the store kept, so that the values of attributes that are not kept never enter
// the tables. Its numbers are those of one Tables.
//
// It serves protobuf, where a pair's length comes first. In JSON the pair must be
// scanned to find its end, and little would be saved.
type pairs struct {
	slots  []pair
	missed []missed
}

type pair struct {
	raw  []byte
	attr trace.Attr
}

// A missed pair is that of the span's attribute i.
type missed struct {
	raw []byte
	i   int
}

func newPairs() *pairs { return &pairs{slots: make([]pair, 1<<12)} }

// maxPair is the length of the longest pair that is remembered.
const maxPair = 256

// slot looks at both ends and the middle of raw: a bad hash here costs a miss and
// nothing else.
func (p *pairs) slot(raw []byte) *pair {
	var h uint64
	if n := len(raw); n >= 8 {
		h = binary.LittleEndian.Uint64(raw)*0x9e3779b97f4a7c15 ^
			binary.LittleEndian.Uint64(raw[n-8:])*0xbf58476d1ce4e5b9 ^
			binary.LittleEndian.Uint64(raw[n/2-4:])*0x94d049bb133111eb ^ uint64(n)<<56
	}
	return &p.slots[h>>52]
}

// known is the pair written as raw; the zero Attr if it is not remembered.
func (p *pairs) known(raw []byte) trace.Attr {
	if slot := p.slot(raw); bytes.Equal(slot.raw, raw) {
		return slot.attr
	}
	return trace.Attr{}
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
		if known := kept[m.i]; known.Key != 0 {
			slot := p.slot(m.raw)
			slot.raw, slot.attr = append(slot.raw[:0], m.raw...), known
		}
	}
	p.begin()
}
