package tui

import (
	"fmt"
	"io"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

// A loading stands where the answer will be; or why there is none.
type loading struct {
	what        string
	req         int
	done, total int64
	ticks       int
	err         error
}

func (l *loading) crumb() string {
	if l.err != nil {
		return "error"
	}
	return "…"
}

func (l *loading) head(*pen, size) []string { return nil }

func (l *loading) lines(s size) []string {
	if l.err != nil {
		return append([]string{"Not read:", ""}, escape.Wrap(escape.Terminal(errorText(l.err)), s.width)...)
	}
	t := l.what
	if l.done > 0 {
		t += fmt.Sprintf(": %.1f MB", float64(l.done)/1e6)
	}
	if l.total > 0 {
		t += fmt.Sprintf(" of %.1f", float64(l.total)/1e6)
	}
	out := []string{t + " " + strings.Repeat(".", l.ticks%4)}
	switch {
	case l.total > 0 && l.done >= l.total:
		out = append(out, "all read; analysing "+strings.Repeat(".", l.ticks%4))
	case l.total > 0:
		w := min(40, s.width)
		full := int(float64(w) * float64(l.done) / float64(l.total))
		out = append(out, strings.Repeat("█", full)+strings.Repeat("░", w-full))
	}
	return out
}

func (l *loading) rows(s size) int { return len(l.lines(s)) }

func (l *loading) row(p *pen, s size, i int) string {
	t := l.lines(s)[i]
	if l.err != nil && i == 0 {
		return p.tone(page.Bad, t)
	}
	return t
}

func (l *loading) opens(int) (func(*App), string) { return nil, "wait until it is read; esc leaves" }

func (l *loading) contains(size, int, string) bool { return false }

func (l *loading) actions() []action { return nil }

func (l *loading) command(*Source) string { return "" }

func (l *loading) export() (string, func(io.Writer) error) { return "", nil }
