package tui

import (
	"io"
	"strings"

	"github.com/charmbracelet/bubbles/key"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

// A help lists the keys of a screen, those that do nothing now with the reason.
type help struct {
	lines []helpLine
}

type helpLine struct{ key, does, why string }

func newHelp(a *App, f *frame) *help {
	h := &help{}
	add := func(b key.Binding, why string) {
		h.lines = append(h.lines, helpLine{b.Help().Key, b.Help().Desc, why})
	}
	title := func(s string) { h.lines = append(h.lines, helpLine{does: s}) }
	k := &a.keys
	if x := f.actions(); len(x) > 0 {
		title("Here")
		for _, x := range x {
			add(x.key, x.why)
		}
	}
	title("Everywhere")
	_, why := f.opens(f.cursor)
	add(k.Open, why)
	back := ""
	if len(a.stack) == 1 {
		back = "this is the first screen"
	}
	add(k.Back, back)
	for _, b := range []key.Binding{k.Next, k.Prev, k.Up, k.Down, k.PageUp, k.PageDown, k.Top, k.Bottom, k.Search} {
		add(b, "")
	}
	none := ""
	if a.query == "" {
		none = "nothing was searched for"
	}
	add(k.Again, none)
	add(k.Before, none)
	unread := ""
	if f.command(a.src) == "" {
		unread = "nothing is read yet"
	}
	add(k.Copy, unread)
	add(k.Export, unread)
	add(k.Help, "")
	add(k.Quit, "")
	h.lines = append(h.lines, helpLine{does: "The mouse selects, opens on a second click, scrolls, and goes back on a name in the first line."})
	return h
}

func (h *help) crumb() string { return "help" }

func (h *help) head(*pen, size) []string { return nil }

func (h *help) rows(size) int { return len(h.lines) }

func (h *help) row(p *pen, s size, i int) string {
	l := h.lines[i]
	switch {
	case l.key == "":
		return p.tone(page.Strong, l.does)
	case l.why != "":
		return p.tone(page.Dim, escape.Pad(l.key, 8)+l.does+" — not now: "+l.why)
	}
	return escape.Pad(l.key, 8) + l.does
}

func (h *help) opens(int) (func(*App), string) { return nil, "" }

func (h *help) contains(_ size, i int, text string) bool {
	return strings.Contains(strings.ToLower(h.lines[i].does), text)
}

func (h *help) actions() []action { return nil }

func (h *help) command(*Source) string { return "" }

func (h *help) export() (string, func(io.Writer) error) { return "", nil }
