// Package html draws reports and traces as one self-contained HTML file: no script, no font, no request to anywhere;
// bars are SVG made here. It reads in light and dark, on a phone and on paper. A content security policy in the file
// forbids everything but its own style, so that a name that slipped through could still do nothing.
//
// What stands on the page and in which order is decided in report/page.
package html

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

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

//go:embed page.tmpl
var source string

//go:embed style.css
var style string

// tmpl is parsed where it is first asked for: nothing that only starts needs it.
var tmpl = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"safe":  escape.Terminal, // shows what steers; html/template escapes what is markup
		"style": func() template.CSS { return template.CSS(style) },
		"kind":  kind,
		"tone":  tone,
		"bar":   bar,
		"spark": spark,
		"fall":  fall,
		"trim":  func(t page.Table) page.Table { return t.WithoutEmpty() },
		// follows reports whether a footnote's mark stands beside another.
		"follows": func(t page.Text, i int) bool { return i > 0 && t[i-1].Note > 0 },
		"deep":    func(n int) int { return min(n, 12) },
		"inc":     func(n int) int { return n + 1 },
		"heads": func(t page.Table) bool {
			for _, c := range t.Columns {
				if c.Head != "" {
					return true
				}
			}
			return false
		},
		"class": func(c page.Column) string {
			var k []string
			for _, x := range []struct {
				on   bool
				name string
			}{{c.Right, "n"}, {c.Shrink, "name"}, {c.Wrap, "wrap"}, {c.Under, "ci"}} {
				if x.on {
					k = append(k, x.name)
				}
			}
			return strings.Join(k, " ")
		},
	}).Parse(source))
})

func draw(w io.Writer, p *page.Page) error {
	var b bytes.Buffer // a template that fails shall not leave half a file
	if err := tmpl().Execute(&b, p); err != nil {
		return fmt.Errorf("report/html: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func kind(b page.Block) string {
	switch b.(type) {
	case page.Heading:
		return "heading"
	case page.Para:
		return "para"
	case page.Code:
		return "code"
	case page.Table:
		return "table"
	case page.BarLegend:
		return "legend"
	case page.Waterfall:
		return "waterfall"
	}
	return ""
}

func tone(t page.Tone) string {
	return [...]string{page.Plain: "", page.Strong: "strong", page.Dim: "dim", page.Good: "good", page.Warn: "warn", page.Bad: "bad"}[t]
}
