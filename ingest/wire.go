package ingest

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// A wire reads the protobuf wire format in place. A message is data[pos:end];
// methods move pos and never beyond end. As in the scanner the first error
// sticks, and ends every loop.
//
//	for num, typ, ok := w.field(end); ok; num, typ, ok = w.field(end) {
//		switch {
//		case num == 1 && typ == length: from, to := w.message(end) …
//		default: w.skip(typ, end)
//		}
//	}
type wire struct {
	data []byte
	pos  int
	err  *syntaxError

	arena   []byte // repaired texts
	badText int64
}

// The types of fields on the wire.
const (
	varint  = 0
	fixed64 = 1
	length  = 2
	fixed32 = 5
)

func (w *wire) fail(at int, cut bool, format string, args ...any) {
	if w.err == nil {
		w.err = &syntaxError{at: at, cut: cut, message: fmt.Sprintf(format, args...)}
	}
}

// field reads the tag of the next field; false at the end of the message.
func (w *wire) field(end int) (num int, typ int, ok bool) {
	if w.pos >= end || w.err != nil {
		return 0, 0, false
	}
	at := w.pos
	v := uint64(w.data[at])
	if v < 0x80 {
		w.pos++
	} else {
		v = w.uvarint(end)
	}
	num, typ = int(v>>3), int(v&7)
	if num == 0 || v>>3 > 1<<29-1 || typ == 3 || typ == 4 || typ > 5 {
		if w.err == nil {
			w.fail(at, false, "a tag that no field has (number %d, type %d)", v>>3, typ)
		}
		return 0, 0, false
	}
	return num, typ, w.err == nil
}

func (w *wire) uvarint(end int) uint64 {
	if w.pos < end {
		if b := w.data[w.pos]; b < 0x80 {
			w.pos++
			return uint64(b)
		}
	}
	v, n := binary.Uvarint(w.data[w.pos:end])
	if n <= 0 {
		w.fail(w.pos, n == 0, "a number that does not end")
		w.pos = end
		return 0
	}
	w.pos += n
	return v
}

// message reads the length of a message or text and steps behind it.
func (w *wire) message(end int) (from, to int) {
	at := w.pos
	n := w.uvarint(end)
	if w.err != nil {
		return end, end
	}
	if n > uint64(end-w.pos) {
		w.fail(at, true, "a length of %d where %d bytes are left", n, end-w.pos)
		w.pos = end
		return end, end
	}
	from = w.pos
	w.pos += int(n)
	return from, w.pos
}

func (w *wire) bytes(end int) []byte {
	from, to := w.message(end)
	return w.data[from:to]
}

// text reads a text. One that is not UTF-8 is repaired.
func (w *wire) text(end int) []byte {
	from, to := w.message(end)
	b := w.data[from:to]
	if !utf8.Valid(b) {
		return w.repaired(b)
	}
	return b
}

func (w *wire) repaired(b []byte) []byte {
	w.badText++
	n := len(w.arena)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		w.arena = utf8.AppendRune(w.arena, r)
		b = b[size:]
		for r == utf8.RuneError && len(b) > 0 { // one mark for a run of bad bytes
			if r, size := utf8.DecodeRune(b); r != utf8.RuneError || size != 1 {
				break
			}
			b = b[1:]
		}
	}
	return w.arena[n:]
}

func (w *wire) uint64(end int) uint64 {
	if end-w.pos < 8 {
		w.fail(w.pos, true, "8 bytes expected where %d are left", end-w.pos)
		w.pos = end
		return 0
	}
	v := binary.LittleEndian.Uint64(w.data[w.pos:])
	w.pos += 8
	return v
}

func (w *wire) float64(end int) float64 { return math.Float64frombits(w.uint64(end)) }

func (w *wire) sint32(end int) int32 {
	v := uint32(w.uvarint(end))
	return int32(v>>1) ^ -int32(v&1)
}

// skip steps behind a field's value.
func (w *wire) skip(typ, end int) {
	switch typ {
	case varint:
		w.uvarint(end)
	case fixed64:
		w.uint64(end)
	case length:
		w.message(end)
	case fixed32:
		if end-w.pos < 4 {
			w.fail(w.pos, true, "4 bytes expected where %d are left", end-w.pos)
			w.pos = end
			return
		}
		w.pos += 4
	}
}
