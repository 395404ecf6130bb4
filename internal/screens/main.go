// Command screens draws the screens of tailscope tui that the README shows: the
// program itself on samples/mercury, as SVG into docs/screens.
//
//	go run ./internal/screens
package main

import (
	"context"
	"fmt"
	"html"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/tui"
)

const (
	width, height = 110, 32
	dir           = "docs/screens"
)

func main() {
	log.SetFlags(0)
	shots, err := draw(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	for name, svg := range shots {
		if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(svg), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// draw goes through the sample below root as a user would, and draws what is seen.
func draw(root string) (map[string]string, error) {
	o := analysis.New()
	base, cur := filepath.Join(root, "samples/mercury/baseline"), filepath.Join(root, "samples/mercury/current")
	o.Baseline, o.Current = [][]string{{base}}, [][]string{{cur}}
	r, err := analysis.Run(context.Background(), &o)
	if err != nil {
		return nil, err
	}
	src := &tui.Source{
		Report: func(context.Context, func(done, total int64), func(*report.Report)) (*report.Report, error) {
			return r, nil
		},
		Trace: func(ctx context.Context, set, id string) (*report.Trace, error) {
			o := o
			o.Baseline, o.Current = nil, [][]string{{map[string]string{report.Baseline: base, report.Current: cur}[set]}}
			return analysis.Trace(ctx, &o, id)
		},
		NoTrace: func(_, _ string) string { return "" },
		Args:    "--baseline samples/mercury/baseline --current samples/mercury/current",
		Inputs:  func(set string) string { return "samples/mercury/" + set },
	}
	a := tui.New(src, tui.Look{Color: true})
	a.Resize(width, height)
	answer(a, src, r, a.Start())
	shots := map[string]string{}
	press := func(keys ...string) {
		for _, k := range keys {
			answer(a, src, r, a.Press(k))
		}
	}
	find := func(text string) {
		press("/")
		for _, c := range text {
			press(string(c))
		}
		press("enter")
	}
	press("enter")
	find("client-wait")
	shots["endpoint"] = svg(a.View())
	press("enter")
	shots["cause"] = svg(a.View())
	press("esc")
	find("slowest")
	press("enter")
	shots["trace"] = svg(a.View())
	return shots, nil
}

// answer does at once what the screens ask for.
func answer(a *tui.App, src *tui.Source, r *report.Report, effects []tui.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case tui.Load:
			a.Loaded(e.Req, tui.NewEndpoints(r), nil)
		case tui.LoadTraces:
			var got []*tui.Request
			var err error
			for _, ref := range e.Refs {
				var t *report.Trace
				if t, err = src.Trace(context.Background(), ref.Set, ref.ID); err != nil {
					break
				}
				got = append(got, tui.NewRequest(t, ref.Set))
			}
			a.Traces(e.Req, got, err)
		}
	}
}

// The cell of a monospaced font of 13 px.
const cellW, cellH, pad = 7.8, 17.0, 12.0

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// svg draws a screen of coloured text. Every run of one style is placed at its own
// cell, so that the drawing keeps its columns in whatever font is there.
func svg(screen string) string {
	var b strings.Builder
	w, h := width*cellW+2*pad, height*cellH+2*pad
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" rx="8" fill="#16181d"/>`+"\n", w, h)
	for y, line := range strings.Split(screen, "\n") {
		var s style
		x := 0
		for line != "" {
			at := sgr.FindStringSubmatchIndex(line)
			text := line
			if at != nil {
				text = line[:at[0]]
			}
			if n := escape.Width(text); n > 0 {
				s.draw(&b, x, y, n, text)
				x += n
			}
			if at == nil {
				break
			}
			s.set(line[at[2]:at[3]])
			line = line[at[1]:]
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

type style struct {
	bold, faint, reverse bool
	color                string
}

func (s *style) set(codes string) {
	for c := range strings.SplitSeq(codes, ";") {
		switch c {
		case "", "0":
			*s = style{}
		case "1":
			s.bold = true
		case "2":
			s.faint = true
		case "7":
			s.reverse = true
		case "31":
			s.color = "#ff7b72"
		case "32":
			s.color = "#7ee787"
		case "33":
			s.color = "#e3b341"
		}
	}
}

func (s *style) draw(b *strings.Builder, x, y, n int, text string) {
	left, top := pad+float64(x)*cellW, pad+float64(y)*cellH
	fill := s.color
	if fill == "" {
		fill = "#d7dae0"
	}
	if s.faint {
		fill = "#8b93a1"
	}
	if s.reverse {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" fill="%s"/>`+"\n", left, top, float64(n)*cellW, cellH, fill)
		fill = "#16181d"
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	weight := ""
	if s.bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="%s"%s>%s</text>`+"\n", left, top+13, float64(n)*cellW, fill, weight, html.EscapeString(text))
}
