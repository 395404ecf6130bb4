package ingest

import (
	"bufio"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// A utf16Reader reads UTF-16 as UTF-8. A shell of Windows writes it when output
// is redirected into a file.
type utf16Reader struct {
	r   *bufio.Reader
	big bool // the high byte comes first

	out  []byte // not yet given
	high rune   // a first half of a pair; zero if none
}

// utf16BOM reports whether head begins with the byte order mark of UTF-16.
func utf16BOM(head []byte) (big, ok bool) {
	if len(head) < 2 {
		return false, false
	}
	return head[0] == 0xfe, head[0] == 0xfe && head[1] == 0xff || head[0] == 0xff && head[1] == 0xfe
}

func (u *utf16Reader) Read(b []byte) (int, error) {
	for len(u.out) == 0 {
		u.out = u.out[:0:0]
		head, err := u.r.Peek(2)
		if len(head) < 2 {
			if err == io.EOF && len(head) == 0 && u.high == 0 {
				return 0, io.EOF
			}
			if err == io.EOF {
				u.r.Discard(len(head))
				u.out, u.high = utf8.AppendRune(nil, utf8.RuneError), 0
				break
			}
			return 0, err
		}
		head, _ = u.r.Peek(max(2, u.r.Buffered()&^1))
		u.out = make([]byte, 0, 2*len(head))
		for i := 0; i < len(head); i += 2 {
			c := rune(head[i+1])<<8 | rune(head[i])
			if u.big {
				c = rune(head[i])<<8 | rune(head[i+1])
			}
			u.add(c)
		}
		u.r.Discard(len(head))
	}
	n := copy(b, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) add(c rune) {
	if u.high != 0 {
		r := utf16.DecodeRune(u.high, c)
		u.high = 0
		u.out = utf8.AppendRune(u.out, r) // U+FFFD if they are no pair
		if r != utf8.RuneError {
			return
		}
	}
	switch {
	case 0xd800 <= c && c < 0xdc00:
		u.high = c
	default:
		u.out = utf8.AppendRune(u.out, c)
	}
}
