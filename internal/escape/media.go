package escape

import (
	"fmt"
	"html"
	"strings"
)

// HTML returns s for the text of an HTML element or a quoted attribute. Templates of html/template escape by
// themselves and want [Terminal] alone.
func HTML(s string) string { return html.EscapeString(Terminal(s)) }

// Markdown returns s for a place inside a line or a table cell, where it shows as it is: it makes no heading, list,
// link, mention, markup, column or line, in CommonMark and in GitHub's dialect. It must not be put inside a code span.
// What has a meaning only in some places is escaped only there, so that the source stays readable.
func Markdown(s string) string {
	s = Terminal(s)
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		starts := strings.Trim(s[:i], " ") == ""
		ends := i+1 == len(s) || s[i+1] == ' '
		escaped := false
		switch c {
		case '\\', '`', '*', '[', ']', '|', '#', '$':
			escaped = true
		case '_':
			escaped = !between(s, i)
		case '~': // strikes through only beside a word
			escaped = !ends || i > 0 && s[i-1] != ' '
		case '.', ')': // an ordered list
			escaped = i > 0 && ends && strings.Trim(s[:i], "0123456789") == ""
		case '-', '+': // a list, a rule, the underline of a heading
			escaped = starts && (ends || s[i+1] == c)
		case '=', '>': // an underline, a quote
			escaped = starts
		}
		switch {
		case escaped:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '<', c == '&', c == '@', // entities: HTML must not begin even for a reader that knows no backslashes
			c == ':' && !ends && i > 0 && letter(s[i-1]),             // a scheme
			c == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"): // a bare host
			fmt.Fprintf(&b, "&#%d;", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// between reports whether the byte at i stands inside a word, where an underscore makes no emphasis.
func between(s string, i int) bool {
	word := func(c byte) bool { return c >= '0' && c <= '9' || letter(c) }
	return i > 0 && i+1 < len(s) && word(s[i-1]) && word(s[i+1])
}

// DOT returns s as a quoted DOT string for a label, quotes included. Backslashes are doubled, so that \n, \N and \G
// of the data are text, and & is an entity, because Graphviz reads entities in labels; the string is never an
// HTML-like label.
func DOT(s string) string { return `"` + dot.Replace(Terminal(s)) + `"` }

var dot = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")

// Mermaid returns s as a quoted Mermaid label, quotes included. ASCII punctuation with a meaning in Mermaid, in its
// Markdown strings or in HTML becomes #NN; codes.
func Mermaid(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range Terminal(s) {
		switch {
		case r >= 0x80, r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune(" ./,-+=?!", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// CSV returns s as one CSV field, quoted where needed. A field that a spreadsheet would take for a formula gets an
// apostrophe before it; numbers do not pass through here.
func CSV(s string) string {
	s = Terminal(s)
	if t := strings.TrimLeft(s, " "); t != "" && strings.ContainsRune("=+-@|%", rune(t[0])) || strings.HasPrefix(s, `\t`) || strings.HasPrefix(s, `\r`) {
		s = "'" + s
	}
	if strings.ContainsAny(s, `",;'`) || strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
