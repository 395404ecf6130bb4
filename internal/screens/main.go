// Command screens draws the screens of tailscope tui that the documents show: the
// program itself on samples/mercury, as SVG into docs/screens and as text into
// docs/tui.md.
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

	manual                = "docs/tui.md"
	manualWidth, manualHt = 120, 45
	begin, end            = "<!-- begin screens -->\n", "<!-- end screens -->\n"
)

func main() {
	log.SetFlags(0)
	r, o, err := read(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	for name, svg := range pictures(r, o) {
		if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(svg), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	text, err := os.ReadFile(manual)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(manual, []byte(insert(string(text), texts(r, o))), 0o644); err != nil {
		log.Fatal(err)
	}
}

// read analyses the sample below root.
func read(root string) (*report.Report, *analysis.Options, error) {
	o := analysis.New()
	o.Baseline, o.Current = [][]string{{filepath.Join(root, "samples/mercury/baseline")}}, [][]string{{filepath.Join(root, "samples/mercury/current")}}
	r, err := analysis.Run(context.Background(), &o)
	return r, &o, err
}

// A session is the program, as somebody uses it.
type session struct {
	*tui.App
	src    *tui.Source
	report *report.Report
}

func open(r *report.Report, o *analysis.Options, look tui.Look, width, height int) *session {
	src := &tui.Source{
		Report: func(context.Context, func(done, total int64), func(*report.Report)) (*report.Report, error) {
			return r, nil
		},
		Trace: func(ctx context.Context, set, id string) (*report.Trace, error) {
			one := *o
			one.Baseline, one.Current = nil, map[string][][]string{report.Baseline: o.Baseline, report.Current: o.Current}[set]
			return analysis.Trace(ctx, &one, id)
		},
		NoTrace: func(_, _ string) string { return "" },
		Args:    "--baseline samples/mercury/baseline --current samples/mercury/current",
		Inputs:  func(set string) string { return "samples/mercury/" + set },
	}
	s := &session{tui.New(src, look), src, r}
	s.Resize(width, height)
	s.answer(s.Start())
	return s
}

func (s *session) press(keys ...string) {
	for _, k := range keys {
		s.answer(s.Press(k))
	}
}

func (s *session) find(text string) {
	s.press("/")
	for _, c := range text {
		s.press(string(c))
	}
	s.press("enter")
}

// pictures draws what a user sees on the way to a request.
func pictures(r *report.Report, o *analysis.Options) map[string]string {
	s := open(r, o, tui.Look{Color: true}, width, height)
	shots := map[string]string{}
	s.press("enter")
	s.find("client-wait")
	shots["endpoint"] = svg(s.View())
	s.press("enter")
	shots["cause"] = svg(s.View())
	s.press("esc")
	s.find("slowest")
	s.press("enter")
	shots["trace"] = svg(s.View())
	return shots
}

// texts is the same way for the manual, with a queue.
func texts(r *report.Report, o *analysis.Options) string {
	s := open(r, o, tui.Look{}, manualWidth, manualHt)
	var b strings.Builder
	show := func(title string) {
		fmt.Fprintf(&b, "### %s\n\n", title)
		lines := strings.Split(s.View(), "\n")
		for i, line := range lines {
			line = strings.TrimRight(line, " ")
			if line == "" && i > 0 && strings.TrimRight(lines[i-1], " ") == "" {
				continue // the screen is higher than what it shows
			}
			if line != "" {
				line = "    " + line
			}
			b.WriteString(line + "\n")
		}
		b.WriteString("\n")
	}
	show("Endpoints")
	s.press("enter")
	s.find("client-wait")
	show("An endpoint")
	s.press("enter")
	show("A cause")
	s.find("Its queue")
	s.press("tab", "enter")
	show("Its queue")
	s.press("esc", "esc")
	s.find("slowest")
	s.press("enter")
	show("A request")
	return b.String()
}

// insert puts the screens into the manual.
func insert(text, screens string) string {
	before, rest, _ := strings.Cut(text, begin)
	_, after, _ := strings.Cut(rest, end)
	return before + begin + "\n" + screens + end + after
}

// answer does at once what the screens ask for.
func (s *session) answer(effects []tui.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case tui.Load:
			s.Loaded(e.Req, tui.NewEndpoints(s.report), nil)
		case tui.LoadTraces:
			var got []*tui.Request
			var err error
			for _, ref := range e.Refs {
				var t *report.Trace
				if t, err = s.src.Trace(context.Background(), ref.Set, ref.ID); err != nil {
					break
				}
				got = append(got, tui.NewRequest(t, ref.Set))
			}
			s.Traces(e.Req, got, err)
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
