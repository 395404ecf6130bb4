package trace

import (
	"hash/maphash"
	"unsafe"
)

// An interner gives equal texts equal numbers, counted up from zero. It is a map
// without its costs where most texts have been met before and many are new: no
// pointer but those to blocks of text, and no text hashed twice when it grows.
type interner struct {
	texts []string
	block []byte   // the texts are in it and in earlier ones
	slots []uint64 // the upper half of the hash, and the number + 1; zero is free
	seed  maphash.Seed
	size  int64 // of all texts
}

const textBlock = 64 << 10

func newInterner() interner {
	t := interner{slots: make([]uint64, 1<<10), seed: maphash.MakeSeed()}
	t.add(maphash.Bytes(t.seed, nil), nil)
	return t
}

// find is the number of text, or the slot where it belongs.
func (t *interner) find(hash uint64, text []byte) (id StringID, slot int, ok bool) {
	mask := len(t.slots) - 1
	for i := int(hash>>32) & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			return 0, i, false
		}
		if s>>32 == hash>>32 {
			if id := StringID(s) - 1; t.texts[id] == string(text) {
				return id, i, true
			}
		}
	}
}

func (t *interner) intern(text []byte) StringID {
	hash := maphash.Bytes(t.seed, text)
	if id, _, ok := t.find(hash, text); ok {
		return id
	}
	return t.add(hash, text)
}

// share is intern of a text that lives as long as t and need not be copied.
func (t *interner) share(text string) StringID {
	b := unsafe.Slice(unsafe.StringData(text), len(text)) // only read
	hash := maphash.Bytes(t.seed, b)
	if id, _, ok := t.find(hash, b); ok {
		return id
	}
	return t.put(hash, b, text)
}

// add adds a copy of a text that is not there.
func (t *interner) add(hash uint64, text []byte) StringID { return t.put(hash, text, t.copy(text)) }

func (t *interner) put(hash uint64, text []byte, kept string) StringID {
	if len(t.texts)*4 >= len(t.slots)*3 {
		t.grow()
	}
	_, slot, _ := t.find(hash, text)
	id := StringID(len(t.texts))
	t.slots[slot] = hash&^(1<<32-1) | uint64(id+1)
	t.texts = append(t.texts, kept)
	t.size += int64(len(kept))
	return id
}

// copy is text as a string in the block.
func (t *interner) copy(text []byte) string {
	if len(text) > textBlock/8 {
		return string(text)
	}
	if len(t.block)+len(text) > cap(t.block) {
		t.block = make([]byte, 0, textBlock)
	}
	n := len(t.block)
	t.block = append(t.block, text...)
	return unsafe.String(unsafe.SliceData(t.block[n:]), len(text)) // never written again
}

// grow doubles the slots. The kept half of the hashes says where they go.
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
}
