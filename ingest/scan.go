package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads JSON in place, front to back. It checks all that RFC 8259
// asks for but two things that writers in the wild get wrong: NaN and Infinity
// are numbers, and text that is not UTF-8 is repaired and counted.
//
// The first error sticks: after it every method reports the end, so callers
// check err once, where a record ends.
//
//	if s.object() {
//		for k, ok := s.field(); ok; k, ok = s.field() {
//			switch string(k) { … each case consumes the value … }
//		}
//	}
//
// A null where an object or array may stand is consumed and reads as absent.
// Texts are parts of data, or of arena if they hold escapes; they are valid
// until the arena is emptied or data is reused.
type scanner struct {
	data  []byte
	pos   int
	depth int
	fresh bool // just behind an opening bracket
	err   *syntaxError

	maxDepth int
	misfit   func(at int, want string) // told of a value of another type, which reads as absent; nil: an error
	arena    []byte
	badText  int64 // texts repaired
}

// A syntaxError is where and why a document cannot be read.
type syntaxError struct {
	at      int
	message string
	cut     bool // the data end too early
}

func (s *scanner) reset(data []byte) {
	s.data, s.pos, s.depth, s.fresh, s.err = data, 0, 0, false, nil
}

func (s *scanner) fail(at int, format string, args ...any) {
	if s.err == nil {
		s.err = &syntaxError{at: at, message: fmt.Sprintf(format, args...)}
	}
}

// unexpected fails at the current position.
func (s *scanner) unexpected(want string) {
	if s.err != nil {
		return
	}
	if s.pos >= len(s.data) {
		s.err = &syntaxError{at: len(s.data), message: "ends before it is complete, where " + want + " is expected", cut: true}
		return
	}
	s.fail(s.pos, "%s where %s is expected", quoteByte(s.data[s.pos]), want)
}

func quoteByte(c byte) string {
	switch {
	case c == '\n':
		return "a line end"
	case c < 0x20 || c >= 0x7f:
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return fmt.Sprintf("%q", c)
}

// peek is the first byte of the next token; zero at the end and after an error.
func (s *scanner) peek() byte {
	if s.err != nil {
		return 0
	}
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		s.pos++
	}
	return 0
}

// object enters an object.
func (s *scanner) object() bool { return s.open('{', "an object") }

// array enters an array.
func (s *scanner) array() bool { return s.open('[', "an array") }

func (s *scanner) open(bracket byte, want string) bool {
	switch s.peek() {
	case bracket:
		if s.depth >= s.maxDepth {
			s.fail(s.pos, "nesting deeper than %d", s.maxDepth)
			return false
		}
		s.pos++
		s.depth++
		s.fresh = true
		return true
	case 'n':
		s.literal("null")
		return false
	}
	if c := s.peek(); s.misfit != nil && (c == '{' || c == '[' || c == '"' || c == 't' || c == 'f' || c == '-' || '0' <= c && c <= '9') {
		s.misfit(s.pos, want)
		s.skip()
		return false
	}
	s.unexpected(want)
	return false
}

// field is the next key of the object; false at its end.
func (s *scanner) field() ([]byte, bool) {
	c := s.peek()
	fresh := s.fresh
	s.fresh = false
	if c == '}' {
		s.pos++
		s.depth--
		return nil, false
	}
	if !fresh {
		if c != ',' {
			s.unexpected("a comma or a closing brace")
			return nil, false
		}
		s.pos++
		c = s.peek()
	}
	if c != '"' {
		s.unexpected("a key")
		return nil, false
	}
	k := s.str()
	if s.peek() != ':' {
		s.unexpected("a colon")
		return nil, false
	}
	s.pos++
	return k, s.err == nil
}

// element reports whether the array has another element.
func (s *scanner) element() bool {
	c := s.peek()
	fresh := s.fresh
	s.fresh = false
	if c == ']' {
		s.pos++
		s.depth--
		return false
	}
	if !fresh {
		if c != ',' {
			s.unexpected("a comma or a closing bracket")
			return false
		}
		s.pos++
		c = s.peek()
	}
	if c == ']' || c == 0 {
		s.unexpected("a value")
		return false
	}
	return true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain is the number of bytes of b, at most the next 8, in front of the first
// that ends a run of string text: a quote, a backslash, a control character, or
// (ascii) a byte that is not ASCII. Borrows can only make a byte behind a true
// hit look like one, so the first hit is exact.
func plain(x uint64, ascii uint64) int {
	quote := x ^ '"'*ones
	slash := x ^ '\\'*ones
	hit := (quote-ones)&^quote | (slash-ones)&^slash | (x-' '*ones)&^x | x&ascii
	return bits.TrailingZeros64(hit&highs) / 8
}

// plainRun is the end of the run of plain ASCII text in b that begins at i.
func plainRun(b []byte, i int) int {
	for i+8 <= len(b) {
		n := plain(binary.LittleEndian.Uint64(b[i:]), highs)
		i += n
		if n < 8 {
			return i
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' && b[i] < 0x80 {
		i++
	}
	return i
}

// str reads a string; the caller has seen its quote.
func (s *scanner) str() []byte {
	if s.err != nil {
		return nil
	}
	start := s.pos + 1
	i := start
	data := s.data
	ascii := uint64(highs)
	for {
		if i+8 <= len(data) {
			n := plain(binary.LittleEndian.Uint64(data[i:]), ascii)
			i += n
			if n == 8 {
				continue
			}
		}
		if i >= len(data) {
			s.pos = i
			s.unexpected("the end of a string")
			return nil
		}
		switch c := data[i]; {
		case c == '"':
			s.pos = i + 1
			b := data[start:i]
			if ascii == 0 && !utf8.Valid(b) {
				return s.repaired(b)
			}
			return b
		case c == '\\':
			return s.escaped(start, i)
		case c < ' ':
			s.pos = i
			s.err = &syntaxError{at: i, message: quoteByte(c) + " inside a string", cut: c == '\n' || c == '\r' || c == 0}
			return nil
		case c >= 0x80:
			ascii = 0
			i++
		default:
			i++ // within 8 bytes of the end
		}
	}
}

// repaired is b with bad bytes replaced.
func (s *scanner) repaired(b []byte) []byte {
	s.badText++
	n := len(s.arena)
	s.arena = append(s.arena, bytes.ToValidUTF8(b, []byte("\uFFFD"))...)
	return s.arena[n:]
}

// escaped reads the rest of a string that began at start and has its first
// backslash at i.
func (s *scanner) escaped(start, i int) []byte {
	n := len(s.arena)
	out := append(s.arena, s.data[start:i]...)
	bad := false
	for {
		if i >= len(s.data) {
			s.pos = i
			s.unexpected("the end of a string")
			return nil
		}
		c := s.data[i]
		switch {
		case c == '"':
			s.pos = i + 1
			s.arena = out
			text := out[n:]
			if bad || !utf8.Valid(text) {
				s.arena = out[:n]
				return s.repaired(bytes.Clone(text))
			}
			return text
		case c < ' ':
			s.pos = i
			s.err = &syntaxError{at: i, message: quoteByte(c) + " inside a string", cut: c == '\n' || c == '\r' || c == 0}
			return nil
		case c != '\\':
			out = append(out, c)
			i++
			continue
		}
		if i+1 >= len(s.data) {
			s.pos = len(s.data)
			s.unexpected("the end of a string")
			return nil
		}
		i += 2
		switch c := s.data[i-1]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(s.data, i)
			if !ok {
				s.pos = min(i+4, len(s.data))
				s.fail(i-2, "\\u without four hexadecimal digits")
				s.err.cut = i+4 > len(s.data)
				return nil
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if i+1 < len(s.data) && s.data[i] == '\\' && s.data[i+1] == 'u' {
					low, ok = hex4(s.data, i+2)
				}
				if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
					i += 6
				} else {
					r, bad = utf8.RuneError, true
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			s.fail(i-2, "\\%c is not an escape", c)
			return nil
		}
	}
}

func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		d := hexDigits[c]
		if d > 15 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// hexDigits is the value of a hexadecimal digit; more than 15 of other bytes.
var hexDigits = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range 10 {
		t['0'+i] = byte(i)
	}
	for i := range 6 {
		t['a'+i], t['A'+i] = byte(10+i), byte(10+i)
	}
	return t
}()

// literal consumes word.
func (s *scanner) literal(word string) bool {
	if s.err != nil {
		return false
	}
	rest := s.data[s.pos:]
	if len(rest) >= len(word) && string(rest[:len(word)]) == word {
		s.pos += len(word)
		return true
	}
	if len(rest) < len(word) && word[:len(rest)] == string(rest) {
		s.pos = len(s.data)
	}
	s.unexpected(word)
	return false
}

// number reads a number and returns its text.
func (s *scanner) number() []byte {
	start := s.pos
	d, i := s.data, s.pos
	if i < len(d) && d[i] == '-' {
		i++
	}
	digits := func() bool {
		n := i
		for i < len(d) && '0' <= d[i] && d[i] <= '9' {
			i++
		}
		return i > n
	}
	switch {
	case i < len(d) && (d[i] == 'I' || d[i] == 'N'):
		s.pos = i
		if d[i] == 'N' {
			s.literal("NaN")
		} else {
			s.literal("Infinity")
		}
		return d[start:s.pos]
	case i < len(d) && d[i] == '0':
		i++
	case !digits():
		s.pos = i
		s.unexpected("a number")
		return nil
	}
	if i < len(d) && d[i] == '.' {
		i++
		if !digits() {
			s.pos = i
			s.unexpected("a digit")
			return nil
		}
	}
	if i < len(d) && d[i]|0x20 == 'e' {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		if !digits() {
			s.pos = i
			s.unexpected("a digit")
			return nil
		}
	}
	s.pos = i
	return d[start:i]
}

// scalar reads a string, number or boolean and returns its text, nil for null.
// It reports false for an object or array, which is consumed.
func (s *scanner) scalar() ([]byte, bool) {
	switch c := s.peek(); c {
	case '"':
		return s.str(), true
	case 'n':
		s.literal("null")
		return nil, true
	case 't':
		at := s.pos
		s.literal("true")
		return s.data[at:s.pos], true
	case 'f':
		at := s.pos
		s.literal("false")
		return s.data[at:s.pos], true
	case '{', '[':
		s.skip()
		return nil, false
	default:
		return s.number(), true
	}
}

// skip consumes any value and checks it.
func (s *scanner) skip() {
	switch s.peek() {
	case '"':
		n := len(s.arena)
		bad := s.badText
		s.str()
		s.arena, s.badText = s.arena[:n], bad
	case '{':
		if s.object() {
			for _, ok := s.field(); ok; _, ok = s.field() {
				s.skip()
			}
		}
	case '[':
		if s.array() {
			for s.element() {
				s.skip()
			}
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}
