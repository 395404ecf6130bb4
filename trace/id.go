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
	if len(text) > 32 {
		return id, false
	}
	low := max(0, len(text)-16)
	right, ok := parseHex(text[low:])
	left, okLeft := uint64(0), true
	if low > 0 {
		left, okLeft = parseHex(text[:low])
	}
	if !ok || !okLeft {
		return id, false
	}
	binary.BigEndian.PutUint64(id[:8], left)
	binary.BigEndian.PutUint64(id[8:], right)
	return id, true
}

// ParseSpanID reads up to 16 hexadecimal digits in either case.
func ParseSpanID(text []byte) (SpanID, bool) {
	id, ok := parseHex(text)
	return SpanID(id), ok
}

func parseHex(text []byte) (uint64, bool) {
	if len(text) == 0 || len(text) > 16 {
		return 0, false
	}
	var v uint64
	var bad byte
	for _, c := range text {
		d := hexDigits[c]
		bad |= d
		v = v<<4 | uint64(d&15)
	}
	return v, bad < 16
}

// hexDigits is the value of a hexadecimal digit in either case; at least 16 of
// any other byte.
var hexDigits = func() (t [256]byte) {
	for c := range t {
		t[c] = 16
	}
	for d := range byte(10) {
		t['0'+d] = d
	}
	for d := range byte(6) {
		t['a'+d], t['A'+d] = 10+d, 10+d
	}
	return t
}()

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
