// Package escape makes untrusted text safe for the medium it is shown in, and measures it.
//
// Names of services, operations and attributes come from whoever sent the spans. They hold escape sequences, markup,
// right-to-left marks, newlines and megabytes. Every medium has one function here: [Terminal] for text on a
// terminal and as the first step of all others, [Markdown], [HTML], [DOT], [Mermaid], [CSV]. None of them loses a
// character silently: what cannot be shown becomes a visible escape such as \x1b or \u202e.
//
// [Width], [Elide] and [Pad] count display cells, not bytes or runes.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal returns s as one line that steers nothing: C0 and C1 controls (newlines too), DEL, bidi controls, zero
// widths and all other characters without a picture of their own become visible escapes, and bytes that are not
// UTF-8 become U+FFFD.
func Terminal(s string) string {
	i := 0
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7f {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for _, r := range s[i:] { // ranging yields U+FFFD for each invalid byte
		if Shown(r) {
			b.WriteRune(r)
			continue
		}
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// Shown reports whether r may stand in output as it is. Combining marks may: they are a part of many scripts. Not
// shown are controls, format characters (Cf: bidi controls, zero widths, tags), line and paragraph separators, other
// spaces than the plain one that could fake layout, and what is invisible by default.
func Shown(r rune) bool {
	switch {
	case r < 0x7f:
		return r >= ' '
	case r < 0xa0:
		return false
	case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return false
	case r > 0xffff && r&0xfffe == 0xfffe: // never characters
		return false
	}
	return true
}

// Clip shortens s to at most limit runes by leaving out its middle, and reports whether it did. It is the bound on
// what a hostile megabyte may cost before anything else looks at it; limit is at least 3.
func Clip(s string, limit int) (string, bool) {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s, false
	}
	limit = max(limit, 3)
	head, tail := limit/2, limit-limit/2-1
	i := 0
	for range head {
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
	j := len(s)
	for range tail {
		_, n := utf8.DecodeLastRuneInString(s[:j])
		j -= n
	}
	return s[:i] + "…" + s[j:], true
}
