package trace

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"unsafe"
)

// An interner gives equal texts equal numbers, counted up from zero. It is a map
// without its costs where most texts have been met before and many are new:
// there is no pointer for the garbage collector to follow but those to blocks of
// texts, no text is hashed twice when it grows, and to find one takes two steps
// through memory: to its slot, and from there to its number with the text behind
// it.
type interner struct {
	blocks [][]byte // of entries: number and length (both four bytes) and text, from multiples of 8
	places []uint32 // by number: where the entry is, in units of 8 bytes, as if all blocks had blockSize
	slots  []uint64 // the upper half of the hash, and the entry's place + 1; zero is free
	next   uint32   // the place of the next entry
	size   int64    // bytes of all texts
	seed   maphash.Seed
}

const (
	blockBits = 16
	blockSize = 1 << blockBits // of one with a large text more
	placeBits = blockBits - 3
)

func newInterner() interner {
	t := interner{slots: make([]uint64, 1<<10), seed: maphash.MakeSeed()}
	t.intern(nil)
	return t
}

func (t *interner) len() int { return len(t.places) }

// entry is the memory from a place on.
func (t *interner) entry(place uint32) []byte {
	return t.blocks[place>>placeBits][place&(1<<placeBits-1)<<3:]
}

// bytes is the text of id. It must not be changed.
func (t *interner) bytes(id StringID) []byte {
	e := t.entry(t.places[id])
	return e[8:][:binary.LittleEndian.Uint32(e[4:])]
}

func (t *interner) text(id StringID) string {
	b := t.bytes(id)
	return unsafe.String(unsafe.SliceData(b), len(b)) // never written again
}

// find is the number of text, or the slot where it belongs.
func (t *interner) find(hash uint64, text []byte) (id StringID, slot int, ok bool) {
	mask := len(t.slots) - 1
	for i := int(hash>>32) & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			return 0, i, false
		}
		if s>>32 != hash>>32 {
			continue
		}
		e := t.entry(uint32(s) - 1)
		if n := binary.LittleEndian.Uint32(e[4:]); int(n) == len(text) && string(e[8:][:n]) == string(text) {
			return StringID(binary.LittleEndian.Uint32(e)), i, true
		}
	}
}

func (t *interner) intern(text []byte) StringID {
	hash := maphash.Bytes(t.seed, text)
	id, slot, ok := t.find(hash, text)
	if ok {
		return id
	}
	id = StringID(len(t.places))
	if len(t.places)*4 >= len(t.slots)*3 {
		t.grow()
		_, slot, _ = t.find(hash, text)
	}
	size := 8 + len(text)
	if at := int(t.next & (1<<placeBits - 1) << 3); at == 0 || at+size > blockSize {
		t.next = uint32(len(t.blocks)) << placeBits
		t.blocks = append(t.blocks, make([]byte, max(size, blockSize)))
	}
	e := t.entry(t.next)
	binary.LittleEndian.PutUint32(e, uint32(id))
	binary.LittleEndian.PutUint32(e[4:], uint32(len(text)))
	copy(e[8:], text)
	t.slots[slot] = hash&^(1<<32-1) | uint64(t.next+1)
	t.places = append(t.places, t.next)
	t.size += int64(len(text))
	if size < blockSize {
		t.next += uint32(size+7) / 8
	} else {
		t.next = 0
	}
	return id
}

// grow doubles the slots, and makes room for as many texts as they are for. The
// kept half of the hashes says where they go.
func (t *interner) grow() {
	old := t.slots
	t.slots = make([]uint64, 2*len(old))
	mask := len(t.slots) - 1
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := int(s>>32) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
	t.places = append(make([]uint32, 0, len(t.slots)*3/4+1), t.places...)
}

// view is the texts of t as it is now, to be read while t grows in another
// goroutine.
func (t *interner) view() interner {
	return interner{blocks: t.blocks[:len(t.blocks):len(t.blocks)], places: t.places[:len(t.places):len(t.places)]}
}

// fork is the texts of t as it is now, to grow by itself.
func (t *interner) fork() interner {
	f := t.view()
	f.slots, f.size, f.seed = slices.Clone(t.slots), t.size, t.seed // next is zero: what comes goes into a block of its own
	return f
}
