package ingest

import (
	"bytes"
	"hash/maphash"

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
	seed   maphash.Seed
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

func newPairs() *pairs { return &pairs{seed: maphash.MakeSeed(), slots: make([]pair, 4096)} }

// maxPair is the length of the longest pair that is remembered.
const maxPair = 256

func (p *pairs) slot(raw []byte) *pair {
	return &p.slots[maphash.Bytes(p.seed, raw)%uint64(len(p.slots))]
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

// learn remembers the missed pairs that were kept.
func (p *pairs) learn(attrs []trace.RawAttr) {
	for _, m := range p.missed {
		if known := attrs[m.i].Known; known.Key != 0 {
			slot := p.slot(m.raw)
			slot.raw, slot.attr = append(slot.raw[:0], m.raw...), known
		}
	}
	p.begin()
}
