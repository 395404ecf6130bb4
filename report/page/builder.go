package page

import (
	"fmt"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
)

// nameLimit bounds the runes of one name on a page, so that a hostile megabyte costs nothing.
const nameLimit = 160

// A builder collects the blocks and footnotes of a page.
type builder struct {
	Page
	notes   map[string]int
	clipped bool // a name was shortened
	signs   map[string]bool
}

func newBuilder(title string) *builder {
	return &builder{Page: Page{Title: title}, notes: map[string]int{}, signs: map[string]bool{}}
}

func (b *builder) add(blocks ...Block) { b.Blocks = append(b.Blocks, blocks...) }

func (b *builder) heading(level int, t ...Run) { b.add(Heading{level, t}) }

func (b *builder) para(t ...Run) { b.add(Para{Text: t}) }

// note is the mark of a footnote; equal footnotes share one.
func (b *builder) note(s string) Run {
	n, ok := b.notes[s]
	if !ok {
		b.Notes = append(b.Notes, b.prose(s))
		n = len(b.Notes)
		b.notes[s] = n
	}
	return Run{Note: n}
}

// marks are the marks of warnings.
func (b *builder) marks(warnings []string) Text {
	var t Text
	for _, w := range warnings {
		t = append(t, b.note(w))
	}
	return t
}

// name bounds the length of a name.
func (b *builder) name(s string) string {
	s, cut := escape.Clip(s, nameLimit)
	b.clipped = b.clipped || cut
	return s
}

// prose bounds the length of a sentence; it may hold names.
func (b *builder) prose(s string) string {
	s, cut := escape.Clip(s, 8*nameLimit)
	b.clipped = b.clipped || cut
	return s
}

// page closes the footnotes.
func (b *builder) page() *Page {
	var signs []string
	for _, s := range [][2]string{{"~", "no detectable difference"}, {"?", "not computable"}, {"∞", "an end of an interval that the data cannot close"}} {
		if b.signs[s[0]] {
			signs = append(signs, s[0]+" "+s[1])
		}
	}
	if b.signs[openInterval] {
		signs = append(signs, openInterval+": an interval of which the data close neither end")
	}
	if len(signs) > 0 {
		b.Notes = append(b.Notes, strings.Join(signs, "; "))
	}
	if b.clipped {
		b.Notes = append(b.Notes, "… inside a name: shortened; --format json has it whole")
	}
	return &b.Page
}

// sign notes which of the signs a cell uses, so that the page explains those alone.
func (b *builder) sign(s string) string {
	for _, c := range []string{"~", "?", "∞"} {
		if strings.Contains(s, c) {
			b.signs[c] = true
		}
	}
	if s == openInterval {
		b.signs[s] = true
	}
	return s
}

func plain(s string) Run { return Run{S: s} }

func plainf(format string, args ...any) Run { return Run{S: fmt.Sprintf(format, args...)} }

func strong(s string) Run { return Run{S: s, Tone: Strong} }
func dim(s string) Run    { return Run{S: s, Tone: Dim} }

// cell is a cell of one plain run.
func cell(s string) Cell { return Cell{Text: Text{{S: s}}} }

// num is a cell with a number, whose signs are noted.
func (b *builder) num(s string) Cell { return cell(b.sign(s)) }

func (b *builder) dimNum(s string) Cell { return Cell{Text: Text{dim(b.sign(s))}} }

// endpoint is "service operation".
func (b *builder) endpoint(service, operation string) string {
	return strings.TrimSpace(b.name(service) + " " + b.name(operation))
}

// call is "caller → callee operation", or "service operation" without a callee.
func (b *builder) call(service, peer, operation string) string {
	if peer == "" || peer == service {
		return b.endpoint(service, operation)
	}
	return strings.TrimSpace(b.name(service) + " → " + b.name(peer) + " " + b.name(operation))
}

// component names what a hypothesis is about.
func (b *builder) component(h *report.Hypothesis) string {
	switch {
	case h.Kind == report.Measurement:
		return b.name(h.Attribute)
	case h.Attribute != "":
		return b.name(h.Attribute) + "=" + b.name(h.Value)
	case h.Instance != "":
		return b.name(h.Service) + " on " + b.name(h.Instance)
	}
	return b.call(h.Service, h.Peer, h.Operation)
}

// list joins parts with commas.
func list(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ", ")
}

// plural is "1 span", "2 spans".
func plural(n int64, noun string) string {
	if n != 1 {
		if strings.HasSuffix(noun, "y") {
			noun = strings.TrimSuffix(noun, "y") + "ie"
		}
		noun += "s"
	}
	return count(n) + " " + noun
}

// more is the row that stands for n rows that are not shown, in a table of the given width.
func more(n int, noun string, columns int) Row {
	r := Row{Rest: true, Cells: make([]Cell, columns)}
	r.Cells[0] = Cell{Text: Text{dim(fmt.Sprintf("… %s not shown", plural(int64(n), "more "+noun)))}}
	return r
}
