package tui

import (
	"io"
	"regexp"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

// A Look says what a terminal can show. Colour never carries meaning alone.
type Look struct {
	Color bool // the sixteen colours of the terminal's own theme, and reverse video
}

// A pen paints pieces of escaped text. It keeps to the sixteen colours, whose shades are the user's choice, so that
// light and dark backgrounds both work.
type pen struct {
	color    bool
	styles   [page.Bad + 1]lipgloss.Style
	selected lipgloss.Style
	bar      lipgloss.Style // the line of breadcrumbs
}

func newPen(l Look) pen {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.Ascii)
	if l.Color {
		r.SetColorProfile(termenv.ANSI)
	}
	p := pen{color: l.Color}
	for i := range p.styles {
		p.styles[i] = r.NewStyle()
	}
	p.styles[page.Strong] = r.NewStyle().Bold(true)
	p.styles[page.Dim] = r.NewStyle().Faint(true)
	p.styles[page.Good] = r.NewStyle().Foreground(lipgloss.Color("2"))
	p.styles[page.Warn] = r.NewStyle().Foreground(lipgloss.Color("3"))
	p.styles[page.Bad] = r.NewStyle().Bold(true).Foreground(lipgloss.Color("1"))
	p.selected = r.NewStyle().Reverse(true)
	p.bar = r.NewStyle().Bold(true)
	return p
}

// tone paints escaped text.
func (p *pen) tone(t page.Tone, s string) string {
	if !p.color || t == page.Plain || strings.TrimSpace(s) == "" {
		return s
	}
	return p.styles[t].Render(s)
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// bare is a painted line without its colours.
func bare(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return sgr.ReplaceAllString(s, "")
}

// clip cuts a painted line to n cells. Colours that are still on are switched off.
func clip(s string, n int) string {
	if len(s) <= n || escape.Width(bare(s)) <= n {
		return s
	}
	var b strings.Builder
	used := 0
	for s != "" && used < n {
		if at := sgr.FindStringIndex(s); at != nil && at[0] == 0 {
			b.WriteString(s[:at[1]])
			s = s[at[1]:]
			continue
		}
		size := 1
		for i := range s {
			if i > 0 {
				size = i
				break
			}
			size = len(s)
		}
		w := escape.Width(s[:size])
		if used+w > n {
			break
		}
		used += w
		b.WriteString(s[:size])
		s = s[size:]
	}
	if strings.Contains(b.String(), "\x1b") {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// cell is untrusted text, escaped and elided to n cells.
func cell(s string, n int) string {
	s, _ = escape.Elide(name(s), n)
	return s
}

// right is escaped text on the right of n cells.
func right(s string, n int) string {
	s, _ = escape.Elide(s, n)
	return escape.PadLeft(s, n)
}

// nameLimit bounds the runes of a name, as on a page.
const nameLimit = 160

// name is untrusted text that steers nothing and costs little, whatever its length.
func name(s string) string {
	s, _ = escape.Clip(s, nameLimit)
	return escape.Terminal(s)
}

// clipped is a name for a page, which escapes by itself.
func clipped(s string) string {
	s, _ = escape.Clip(s, nameLimit)
	return s
}
