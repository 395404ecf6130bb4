package text

import (
	"bufio"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

// A canvas draws blocks line by line. Errors of the writer stay in it until Flush.
type canvas struct {
	w      *bufio.Writer
	width  int
	color  bool
	began  bool // something was drawn
	elided bool // a name was shortened to fit
}

func (c *canvas) page(p *page.Page) {
	for _, b := range p.Blocks {
		switch b := b.(type) {
		case page.Heading:
			c.heading(b)
		case page.Para:
			c.gap(b.Tight)
			c.lines(c.wrap(b.Text, c.width-indent*b.Indent), indent*b.Indent)
		case page.Code:
			for _, l := range escape.Wrap(escape.Terminal(b.S), c.width-indent*b.Indent) {
				c.line(strings.Repeat(" ", indent*b.Indent) + l)
			}
		case page.Table:
			c.gap(b.Tight)
			c.table(b)
		case page.BarLegend:
			c.lines(c.wrap(page.Text{{S: "Bars: █ " + b.Both + ", ▓ " + b.Grew + ", ░ " + b.Shrank + ".", Tone: page.Dim}}, c.width), 0)
		case page.Waterfall:
			c.gap(false)
			c.waterfall(b)
		}
	}
	notes := p.Notes
	if len(notes) > 0 || c.elided {
		c.gap(false)
	}
	for i, n := range notes {
		mark := page.Superscript(i+1) + " "
		for j, l := range escape.Wrap(escape.Terminal(n), c.width-escape.Width(mark)) {
			if j > 0 {
				mark = strings.Repeat(" ", escape.Width(mark))
			}
			c.line(mark + l)
		}
	}
	if c.elided {
		for _, l := range escape.Wrap("… inside a name: shortened to fit; a wider terminal or --format json shows more", c.width) {
			c.line(l)
		}
	}
}

// indent is the cells of one step to the right.
const indent = 3

// gap is the empty line between blocks.
func (c *canvas) gap(tight bool) {
	if c.began && !tight {
		c.line("")
	}
	c.began = true
}

func (c *canvas) line(s string) {
	c.w.WriteString(strings.TrimRight(s, " "))
	c.w.WriteByte('\n')
}

func (c *canvas) lines(ls []styled, left int) {
	for _, l := range ls {
		c.line(strings.Repeat(" ", left) + c.paint(l))
	}
}

// heading draws the page's title bold, endpoints underlined, parts with a dash.
func (c *canvas) heading(h page.Heading) {
	c.gap(false)
	t := h.Text
	if h.Level == 3 {
		t = append(page.Text{{S: "── "}}, t...)
	}
	bold := make(page.Text, len(t))
	for i, r := range t {
		bold[i] = r
		if r.Tone == page.Plain {
			bold[i].Tone = page.Strong
		}
	}
	ls := c.wrap(bold, c.width)
	c.lines(ls, 0)
	if h.Level == 2 {
		w := 0
		for _, l := range ls {
			w = max(w, l.width())
		}
		c.line(strings.Repeat("━", w))
	}
	c.began = h.Level == 1 || h.Level == 2 // parts stand close to what they head
	if h.Level == 3 {
		c.began = false
	}
}

// A styled line is made of pieces that are already escaped.
type styled []piece

type piece struct {
	s    string
	tone page.Tone
}

func (l styled) width() int {
	n := 0
	for _, p := range l {
		n += escape.Width(p.s)
	}
	return n
}

func (c *canvas) paint(l styled) string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(c.tone(p.tone, p.s))
	}
	return b.String()
}

// sequences are the SGR codes of tones.
var sequences = map[page.Tone]string{page.Strong: "1", page.Dim: "2", page.Good: "32", page.Warn: "33", page.Bad: "1;31"}

func (c *canvas) tone(t page.Tone, s string) string {
	code := sequences[t]
	if !c.color || code == "" || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// flat is a text on one line: escaped, with footnote marks.
func flat(t page.Text) styled {
	var l styled
	marked := false
	for _, r := range t {
		if r.Note > 0 {
			s := page.Superscript(r.Note)
			if marked {
				s = " " + s // ¹² would be twelve
			}
			l = append(l, piece{s, page.Plain})
			marked = true
			continue
		}
		if s := escape.Terminal(r.S); s != "" {
			l = append(l, piece{s, r.Tone})
			marked = false
		}
	}
	return l
}

// wrap breaks a text at spaces into lines of at most n cells.
func (c *canvas) wrap(t page.Text, n int) []styled {
	n = max(n, 8)
	var out []styled
	var line styled
	used, space := 0, false
	put := func(s string, tone page.Tone) {
		if k := len(line) - 1; k >= 0 && line[k].tone == tone {
			line[k].s += s
		} else {
			line = append(line, piece{s, tone})
		}
		used += escape.Width(s)
	}
	brk := func() {
		out = append(out, line)
		line, used, space = nil, 0, false
	}
	for _, p := range flat(t) {
		words := strings.Split(p.s, " ")
		for i, word := range words {
			if i > 0 {
				space = used > 0
			}
			if word == "" {
				continue
			}
			w := escape.Width(word)
			if used > 0 && used+w+b2i(space) > n {
				if !space { // in the middle of a word: take it along
					word = c.takeBack(&line, &used) + word
					w = escape.Width(word)
				}
				if used > 0 {
					brk()
				}
			}
			if space {
				put(" ", p.tone)
				space = false
			}
			for w > n-used {
				part := escape.Wrap(word, n-used)[0]
				put(part, p.tone)
				word = word[len(part):]
				w = escape.Width(word)
				brk()
			}
			put(word, p.tone)
		}
	}
	if used > 0 || len(out) == 0 {
		brk()
	}
	return out
}

// takeBack removes the last word of a line and returns it, so that it moves to the next line with what is joined to
// it. A line of one word stays.
func (c *canvas) takeBack(line *styled, used *int) string {
	l := *line
	k := len(l) - 1
	i := strings.LastIndexByte(l[k].s, ' ')
	if i < 0 {
		return ""
	}
	word := l[k].s[i+1:]
	l[k].s = l[k].s[:i]
	*used -= escape.Width(word) + 1
	if l[k].s == "" {
		l = l[:k]
	}
	*line = l
	return word
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
