package escape

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width is the number of terminal cells that s takes: two for East Asian wide and fullwidth characters and emoji,
// none for combining marks, one for the rest. Ambiguous characters count one, as in every locale but East Asian
// legacy ones. s is meant to be the output of [Terminal]; controls count one.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n += runeWidth(r)
		i += size
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Elide shortens s to at most cells cells by replacing its middle by "…", and reports whether it did. Both ends are
// kept because names differ at both: the service's at the start, the operation's at the end.
func Elide(s string, cells int) (string, bool) {
	if Width(s) <= cells {
		return s, false
	}
	if cells < 1 {
		return "", true
	}
	tail := (cells - 1) / 2
	head := cells - 1 - tail
	return cut(s, head) + "…" + cutLeft(s, tail), true
}

// cut is the longest start of s of at most n cells; marks stay with their base.
func cut(s string, n int) string {
	for i, r := range s {
		if n -= runeWidth(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// cutLeft is the longest end of s of at most n cells that does not begin with a mark.
func cutLeft(s string, n int) string {
	start := len(s)
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		w := runeWidth(r)
		if n -= w; n < 0 {
			break
		}
		i -= size
		if w > 0 {
			start = i
		}
	}
	return s[start:]
}

// Pad adds spaces to the right until s takes n cells. It never shortens.
func Pad(s string, n int) string { return s + spaces(n-Width(s)) }

// PadLeft adds spaces to the left until s takes n cells. It never shortens.
func PadLeft(s string, n int) string { return spaces(n-Width(s)) + s }

func spaces(n int) string {
	if n <= 0 {
		return ""
	}
	return strings.Repeat(" ", n)
}

// Wrap breaks s at spaces into lines of at most n cells; a word that is longer is broken where it must be.
func Wrap(s string, n int) []string {
	n = max(n, 2) // a wide character takes two
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(s) {
		w := Width(word)
		if used > 0 && used+1+w <= n {
			line, used = line+" "+word, used+1+w
			continue
		}
		if used > 0 {
			lines = append(lines, line)
		}
		for w > n {
			part := cut(word, n)
			lines = append(lines, part)
			word = word[len(part):]
			w = Width(word)
		}
		line, used = word, w
	}
	return append(lines, line)
}
