// Package text draws reports and traces for a terminal: aligned in display cells, at any width from 40 to 200, with
// or without colour. Colour never says what the characters do not.
//
// [Write] draws a report and [WriteTrace] one request; [For] finds out the width and whether colour is wanted. What
// stands on the page and in which order is decided in report/page.
package text

import (
	"bufio"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// Options say how to draw.
type Options struct {
	Width int  // cells; 0 for DefaultWidth; kept within MinWidth and MaxWidth
	Color bool // send colour sequences

	Top  int // endpoints in full, see page.Options
	Rows int // spans of a trace, see page.TraceOptions

	Brief bool // see page.Options
}

// Widths in cells. Below MinWidth nothing could be aligned; beyond MaxWidth the eye loses its line.
const (
	MinWidth     = 40
	DefaultWidth = 80
	MaxWidth     = 200
)

// For returns the options that suit w: the width and colour of a terminal; DefaultWidth and no colour for anything
// else. A NO_COLOR that is not empty and a TERM of "dumb" forbid colour.
func For(w io.Writer) Options {
	o := Options{Width: DefaultWidth}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return o
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		o.Width = width
	}
	o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return o
}

// Write draws a report.
func Write(w io.Writer, r *report.Report, o Options) error {
	return draw(w, page.Report(r, page.Options{Top: o.Top, Brief: o.Brief}), o)
}

// WriteGraph draws the structures of a report's endpoints.
func WriteGraph(w io.Writer, r *report.Report, o Options) error { return draw(w, page.Graph(r), o) }

// WriteTrace draws one request.
func WriteTrace(w io.Writer, t *report.Trace, o Options) error {
	return draw(w, page.Trace(t, page.TraceOptions{Rows: o.Rows}), o)
}

func draw(w io.Writer, p *page.Page, o Options) error {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	o.Width = max(MinWidth, o.Width)
	return WritePage(w, p, o)
}

// WritePage draws a page or a part of one, for who has laid it out already. Width is kept below MaxWidth and may be
// less than MinWidth: then tables become lists.
func WritePage(w io.Writer, p *page.Page, o Options) error {
	c := &canvas{w: bufio.NewWriter(w), width: max(leastWidth, min(MaxWidth, o.Width)), color: o.Color}
	c.page(p)
	return c.w.Flush()
}

// leastWidth is what the deepest indentation and a word of a few letters take.
const leastWidth = 24
