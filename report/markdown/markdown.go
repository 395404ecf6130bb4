// Package markdown draws reports and traces as Markdown for tickets and reviews: CommonMark with the tables of
// GitHub's dialect, which most trackers read. Every row of a table has as many cells as its head, and no name of the
// data makes a heading, a link, a column or markup.
//
// What stands on the page and in which order is decided in report/page.
package markdown

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// Options say how much to draw.
type Options struct {
	Top  int // endpoints in full, see page.Options
	Rows int // spans of a trace, see page.TraceOptions

	Brief bool // see page.Options
}

// Write draws a report.
func Write(w io.Writer, r *report.Report, o Options) error {
	return draw(w, page.Report(r, page.Options{Top: o.Top, Brief: o.Brief}))
}

// WriteTrace draws one request.
func WriteTrace(w io.Writer, t *report.Trace, o Options) error {
	return draw(w, page.Trace(t, page.TraceOptions{Rows: o.Rows}))
}

func draw(w io.Writer, p *page.Page) error {
	d := &document{w: bufio.NewWriter(w)}
	for i, b := range p.Blocks {
		if i > 0 {
			d.line("")
		}
		switch b := b.(type) {
		case page.Heading:
			d.line(strings.Repeat("#", b.Level) + " " + inline(b.Text))
		case page.Para:
			d.line(strings.TrimRight(inline(b.Text), " "))
		case page.Code:
			d.code(b.S)
		case page.Table:
			d.table(b.WithoutEmpty())
		case page.BarLegend:
			d.line("Bars: █ " + b.Both + ", ▓ " + b.Grew + ", ░ " + b.Shrank + ".")
		case page.Waterfall:
			d.waterfall(b)
		}
	}
	if len(p.Notes) > 0 {
		d.line("")
	}
	for i, n := range p.Notes {
		d.line("- " + page.Superscript(i+1) + " " + escape.Markdown(n))
	}
	return d.w.Flush()
}

// A document is written line by line. Errors of the writer stay in it until Flush.
type document struct{ w *bufio.Writer }

func (d *document) line(s string) {
	d.w.WriteString(s)
	d.w.WriteByte('\n')
}

// inline is a text on one line.
func inline(t page.Text) string {
	var b strings.Builder
	marked := false
	for _, r := range t {
		if r.Note > 0 {
			if marked {
				b.WriteByte(' ')
			}
			b.WriteString(page.Superscript(r.Note))
			marked = true
			continue
		}
		marked = false
		s := escape.Markdown(r.S)
		switch r.Tone {
		case page.Strong, page.Good, page.Warn, page.Bad:
			s = bold(s)
		}
		b.WriteString(s)
	}
	return b.String()
}

// bold marks s but for the spaces around it, which would keep the stars from being markup. A name that ends in a
// backslash escape cannot end the bold early: escapes come in pairs.
func bold(s string) string {
	core := strings.Trim(s, " ")
	if core == "" {
		return s
	}
	i := strings.Index(s, core)
	return s[:i] + "**" + core + "**" + s[i+len(core):]
}

// code is a fenced block; the fence is longer than any run of backticks within.
func (d *document) code(s string) {
	s = escape.Terminal(s)
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(strings.TrimSpace(s), "|") {
		s = " " + s // no reader shall take it for a row of a table
	}
	d.line(fence)
	d.line(s)
	d.line(fence)
}

// barCells is the length of bars.
const barCells = 20

func (d *document) table(t page.Table) {
	if len(t.Columns) == 0 {
		return
	}
	var head, rule []string
	for _, c := range t.Columns {
		head = append(head, escape.Markdown(c.Head))
		if c.Right {
			rule = append(rule, "--:")
		} else {
			rule = append(rule, ":--")
		}
	}
	d.row(head)
	d.row(rule)
	for _, r := range t.Rows {
		var cells []string
		for j, c := range r.Cells {
			s := cell(c)
			if j == 0 && r.Depth > 0 {
				s = strings.Repeat("&emsp;", min(r.Depth-1, 12)) + "└ " + s
			}
			if r.Total {
				s = bold(strings.ReplaceAll(s, "**", ""))
			}
			cells = append(cells, s)
		}
		d.row(cells)
	}
}

func (d *document) row(cells []string) {
	d.line("| " + strings.Join(cells, " | ") + " |")
}

func cell(c page.Cell) string {
	switch {
	case c.Bar != nil:
		both, grew, shrank := c.Bar.Cells(barCells)
		return strings.Repeat("█", both) + strings.Repeat("▓", grew) + strings.Repeat("░", shrank)
	case len(c.Spark) > 0:
		return page.Sparkline(c.Spark, barCells)
	}
	return inline(c.Text)
}

// waterfall is a table with one row per span; the bars stand in code spans of our own characters, so that they align.
func (d *document) waterfall(w page.Waterfall) {
	const cells = 40
	used := map[page.Mark]bool{}
	unit := w.Unit()
	d.row([]string{"span", "start, " + unit.Name, "for", "on path", "0 to " + unit.Format(w.EndNS) + " " + unit.Name})
	d.row([]string{":--", "--:", "--:", "--:", ":--"})
	for i := range w.Rows {
		r := &w.Rows[i]
		lead := ""
		if r.Depth > 0 {
			lead = strings.Repeat("&emsp;", min(r.Depth-1, 12)) + "└ "
			if r.Depth > 13 {
				lead += fmt.Sprintf("⋯%d ", r.Depth)
			}
		}
		onPath := ""
		if r.PathNS > 0 {
			onPath = unit.Format(r.PathNS)
		}
		if r.Gap != "" {
			d.row([]string{lead + escape.Markdown(r.Gap), "", "", onPath, ""})
			continue
		}
		label := escape.Markdown(r.Label)
		if r.Status == "error" {
			label = "**error** " + label
		}
		empty, marks := r.Track(w.EndNS, cells)
		track := strings.Repeat("·", empty)
		for _, m := range marks {
			used[m] = true
			track += string(m.Sign())
		}
		d.row([]string{lead + label, unit.Format(r.StartNS), unit.Format(r.EndNS - r.StartNS), onPath, "`" + track + "`"})
	}
	var legend []string
	for _, m := range page.Marks {
		if used[m] {
			legend = append(legend, string(m.Sign())+" "+m.String())
		}
	}
	if len(legend) > 0 {
		d.line("")
		d.line(strings.Join(legend, " · "))
	}
}
