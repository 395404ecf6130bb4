package trace

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strconv"
)

// A TraceID names a trace. Identifiers of 64 bits stand in the right half, so
// that both spellings of one trace are equal.
type TraceID [16]byte

// A SpanID names a span within its trace. Zero is no span.
type SpanID uint64

// NoSpanID is the parent of a root.
const NoSpanID SpanID = 0

func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether id names no trace.
func (id TraceID) IsZero() bool { return id == TraceID{} }

// Compare orders trace identifiers by their bytes.
func (id TraceID) Compare(o TraceID) int {
	a, b := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(o[:8])
	if a == b {
		a, b = binary.BigEndian.Uint64(id[8:]), binary.BigEndian.Uint64(o[8:])
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (id SpanID) String() string {
	s := strconv.FormatUint(uint64(id), 16)
	return "0000000000000000"[len(s):] + s
}

// ParseTraceID reads up to 32 hexadecimal digits in either case; a shorter
// text is padded with zeros on the left. It reports whether text is one.
func ParseTraceID(text []byte) (TraceID, bool) {
	var id TraceID
	if len(text) == 0 || len(text) > 32 {
		return id, false
	}
	for i := range text {
		d, ok := hexDigit(text[len(text)-1-i])
		if !ok {
			return TraceID{}, false
		}
		id[15-i/2] |= d << (4 * (i & 1))
	}
	return id, true
}

// ParseSpanID reads up to 16 hexadecimal digits in either case.
func ParseSpanID(text []byte) (SpanID, bool) {
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	var id SpanID
	for _, c := range text {
		d, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		id = id<<4 | SpanID(d)
	}
	return id, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// hashTraceID and hashSpanID stand for identifiers that are not hexadecimal;
// the store remembers the text. FNV is fixed, so that two runs, and two halves
// of one input, agree.
func hashTraceID(text []byte) TraceID {
	h := fnv.New128a()
	h.Write(text)
	var id TraceID
	h.Sum(id[:0])
	return id
}

func hashSpanID(text []byte) SpanID {
	h := fnv.New64a()
	h.Write(text)
	if id := SpanID(h.Sum64()); id != NoSpanID {
		return id
	}
	return 1
}
