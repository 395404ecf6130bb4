package tui

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
	"github.com/tailscope/tailscope/report/text"
)

// A document is a screen of text that flows: blocks of a page, lines that open something, drawings. It is laid out
// once for every width.
type document struct {
	name  string // breadcrumb, escaped
	title []string
	parts []part
	notes []string

	cmd  func(*Source) string
	file string
	keys func(d *document) []action

	pen   *pen // by who shows it
	width int  // of lines
	lines []docLine
}

// A part is one stretch of a document: blocks, or a line with what it opens, or what draw makes.
type part struct {
	blocks []page.Block
	draw   func(p *pen, width int) []string
	line   string // escaped by who made it
	open   func(*App)
	why    string    // why it does not open
	ref    *TraceRef // the request that it opens, to compare
}

type docLine struct {
	s    string
	part int
}

// blocks adds blocks of a page.
func (d *document) blocks(b ...page.Block) {
	if len(b) > 0 {
		d.parts = append(d.parts, part{blocks: b})
	}
}

// heading adds a line above what belongs together.
func (d *document) heading(s string) {
	d.parts = append(d.parts, part{blocks: []page.Block{page.Heading{Level: 3, Text: page.Text{{S: s}}}}})
}

// link adds a line that opens something.
func (d *document) link(line string, open func(*App)) {
	d.parts = append(d.parts, part{line: line, open: open})
}

// layout breaks the document into lines of the width.
func (d *document) layout(width int) {
	if d.width == width && d.lines != nil {
		return
	}
	p := d.pen
	d.width, d.lines = width, []docLine{}
	add := func(part int, lines ...string) {
		for _, l := range lines {
			d.lines = append(d.lines, docLine{l, part})
		}
	}
	for i, x := range d.parts {
		switch {
		case x.draw != nil:
			add(i, x.draw(p, width)...)
		case x.blocks != nil:
			if i > 0 && len(d.lines) > 0 && d.lines[len(d.lines)-1].s != "" {
				add(i, "")
			}
			add(i, drawn(&page.Page{Blocks: x.blocks}, width, p.color)...)
		default:
			add(i, x.line)
		}
	}
	if len(d.notes) > 0 {
		add(len(d.parts), "")
		add(len(d.parts), drawn(&page.Page{Notes: d.notes}, width, p.color)...)
	}
}

// drawn is a page as lines.
func drawn(p *page.Page, width int, color bool) []string {
	var b bytes.Buffer
	if err := text.WritePage(&b, p, text.Options{Width: width, Color: color}); err != nil {
		return nil // a buffer takes everything
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func (d *document) crumb() string { return d.name }

func (d *document) head(p *pen, s size) []string {
	var out []string
	for i, l := range d.title {
		if i == 0 {
			l = p.tone(page.Strong, l)
		}
		out = append(out, l)
	}
	return out
}

func (d *document) rows(s size) int {
	d.layout(s.width)
	return len(d.lines)
}

func (d *document) row(p *pen, s size, i int) string {
	d.layout(s.width)
	if i >= len(d.lines) {
		return ""
	}
	l := d.lines[i]
	if l.part < len(d.parts) && d.parts[l.part].open != nil {
		return p.tone(page.Strong, "› ") + l.s
	}
	return l.s
}

func (d *document) at(i int) *part {
	if i < 0 || i >= len(d.lines) || d.lines[i].part >= len(d.parts) {
		return nil
	}
	return &d.parts[d.lines[i].part]
}

func (d *document) opens(i int) (func(*App), string) {
	switch x := d.at(i); {
	case x == nil:
	case x.open != nil:
		return x.open, ""
	case x.why != "":
		return nil, x.why
	}
	return nil, "this line opens nothing; tab goes to the next that does"
}

func (d *document) contains(s size, i int, text string) bool {
	d.rows(s)
	return strings.Contains(strings.ToLower(bare(d.lines[i].s)), text)
}

// firstLink is the first line that opens something, where it is within the first screenful.
func (d *document) firstLink(s size) int {
	for i := range min(d.rows(s), s.height) {
		if x := d.at(i); x != nil && x.open != nil {
			return i
		}
	}
	return 0
}

func (d *document) anchor(s size, i int) int {
	d.rows(s)
	if i < 0 || i >= len(d.lines) {
		return 0
	}
	return d.lines[i].part
}

func (d *document) find(s size, anchor int) int {
	d.rows(s)
	return max(0, slices.IndexFunc(d.lines, func(l docLine) bool { return l.part == anchor }))
}

func (d *document) actions() []action {
	if d.keys == nil {
		return nil
	}
	return d.keys(d)
}

func (d *document) command(src *Source) string { return d.cmd(src) }

// export writes the document as plain text.
func (d *document) export() (string, func(io.Writer) error) {
	c := *d
	plain := newPen(Look{})
	c.pen, c.lines = &plain, nil
	return d.file + ".txt", func(w io.Writer) error {
		c.layout(text.DefaultWidth)
		var b strings.Builder
		for _, l := range c.title {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
		if len(c.title) > 0 {
			b.WriteString("\n")
		}
		for _, l := range c.lines {
			b.WriteString(strings.TrimRight(l.s, " ") + "\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// compareKey is the key that compares requests: the one under the cursor, if it is one.
func compareKey(k keyMap, otherwise func(*App), does string) func(*document) []action {
	return func(d *document) []action {
		b := k.Compare
		b.SetHelp("c", does)
		return []action{{key: b, do: func(a *App, f *frame) {
			switch x := d.at(f.cursor); {
			case x != nil && x.ref != nil:
				a.compare(*x.ref)
			case otherwise != nil:
				otherwise(a)
			default:
				a.status = "c: put the cursor on a request"
			}
		}}}
	}
}

// slug is a name for a file.
func slug(parts ...string) string {
	var b strings.Builder
	b.WriteString("tailscope")
	for _, p := range parts {
		b.WriteByte('-')
		p, _ = escape.Clip(p, 40)
		for _, r := range p {
			switch {
			case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
				b.WriteRune(r)
			case !strings.HasSuffix(b.String(), "-"):
				b.WriteByte('-')
			}
		}
	}
	return strings.TrimRight(b.String(), "-")
}
