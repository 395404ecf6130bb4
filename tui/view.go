package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

// The frame: breadcrumbs, the head of the screen, its visible rows, a line of status or of the search, a line of keys.

const (
	gutter  = 2 // cells before a row: the cursor
	outside = 3 // lines of breadcrumbs, status and keys
)

// size is what a screen without a head has.
func (a *App) size() size { return size{a.width - gutter, a.height - outside} }

// headOf is the head of a screen, at most half of the lines.
func (a *App) headOf(sc screen, s size) []string {
	h := sc.head(&a.pen, s)
	return h[:min(len(h), max(1, (a.height-outside)/2))]
}

// sizeOf is the size for the rows of a screen.
func (a *App) sizeOf(sc screen) size {
	s := a.size()
	s.height = max(1, s.height-len(a.headOf(sc, s)))
	return s
}

// View is the frame: a.height lines of at most a.width cells.
func (a *App) View() string {
	if len(a.stack) == 0 {
		return ""
	}
	f := a.front()
	if a.help != nil {
		f = a.help
	}
	s := a.sizeOf(f.screen)
	f.settle(s)
	lines := make([]string, 0, a.height)
	lines = append(lines, a.pen.bar.Render(a.crumbs()))
	for _, l := range a.headOf(f.screen, a.size()) {
		lines = append(lines, clip(l, a.width))
	}
	n := f.rows(s)
	for i := f.top; i < f.top+s.height; i++ {
		switch {
		case i >= n:
			lines = append(lines, "")
		case i == f.cursor:
			l := clip(f.row(&a.pen, s, i), s.width)
			mark := "  "
			if open, _ := f.opens(i); open != nil {
				mark = "▸ "
			} else if f != a.help {
				mark = "· "
			}
			if a.pen.color && mark != "  " {
				l = a.pen.selected.Render(mark + escape.Pad(bare(l), s.width))
				mark = ""
			}
			lines = append(lines, mark+l)
		default:
			lines = append(lines, "  "+clip(f.row(&a.pen, s, i), s.width))
		}
	}
	status := a.statusLines(f, s, n)
	if over := len(status) - 1; over > 0 { // a long answer covers rows
		over = min(over, s.height-1)
		status = status[:over+1]
		lines = lines[:len(lines)-over]
	}
	lines = append(append(lines, status...), clip(a.hints(f), a.width))
	if over := len(lines) - a.height; over > 0 { // very low: the rows matter most
		lines = append(lines[:1], lines[1+over:]...)
	}
	return strings.Join(lines, "\n")
}

// crumbs is the way to this screen; on a narrow terminal the beginning of it is left out.
func (a *App) crumbs() string {
	parts, first := a.crumbParts()
	s := strings.Join(parts[first:], crumbSep)
	if first > 0 {
		s = "…" + crumbSep + s
	}
	return clip(s, a.width)
}

const crumbSep = " › "

// crumbParts are the names of the screens, and the first that is shown. Names share the room.
func (a *App) crumbParts() (parts []string, first int) {
	for _, f := range a.stack {
		parts = append(parts, f.crumb())
	}
	width := func() int {
		w := 0
		for _, p := range parts[first:] {
			w += escape.Width(p) + len(" > ")
		}
		if first > 0 {
			w++
		}
		return w
	}
	for i := 0; i < len(parts) && width() > a.width; i++ {
		parts[i], _ = escape.Elide(parts[i], max(12, a.width/max(1, len(parts))-3))
	}
	for first < len(parts)-1 && width() > a.width {
		first++
	}
	return parts, first
}

// crumbAt is the screen whose name stands at cell x of the first line, or -1.
func (a *App) crumbAt(x int) int {
	parts, first := a.crumbParts()
	at := 0
	if first > 0 {
		at = escape.Width("…" + crumbSep)
		if x < at {
			return first - 1
		}
	}
	for i := first; i < len(parts); i++ {
		at += escape.Width(parts[i])
		if x < at {
			return i
		}
		at += escape.Width(crumbSep)
	}
	return -1
}

// statusLines is the search that is being typed, what the last key did, or where in the rows one is.
func (a *App) statusLines(f *frame, s size, n int) []string {
	switch {
	case a.prompt != nil:
		p := "/" + *a.prompt + "▏"
		for escape.Width(p) > a.width { // the end is what is being typed
			_, n := utf8.DecodeRuneInString(p)
			p = p[n:]
		}
		return []string{p}
	case a.status != "":
		lines := escape.Wrap(a.status, a.width)
		if strings.HasPrefix(a.status, copied) { // a command is shown as it is
			lines = nil
			for rest := a.status; rest != ""; {
				l := clip(rest, a.width)
				rest = rest[len(l):]
				lines = append(lines, l)
			}
		}
		for i, l := range lines {
			lines[i] = a.pen.tone(page.Warn, l)
		}
		return lines
	}
	t := ""
	switch {
	case n > s.height:
		t = count(f.cursor+1) + " of " + count(n)
		if f.top+s.height >= n {
			t += " · end"
		}
	case a.query != "":
		t = count(n) + " rows"
	}
	if a.query != "" {
		t += " · /" + a.query
	}
	if a.marked != nil {
		t += " · marked " + cell(a.marked.ID, 12)
	}
	return []string{clip(a.pen.tone(page.Dim, t), a.width)}
}

// hints are the keys that matter most here, as many as fit.
func (a *App) hints(f *frame) string {
	if f == a.help {
		return a.pen.tone(page.Dim, "any key closes")
	}
	if a.prompt != nil {
		return a.pen.tone(page.Dim, "enter keep · esc leave")
	}
	var parts []string
	used := 0
	add := func(k, does string) {
		p := k + " " + does
		if used+escape.Width(p)+3 <= a.width {
			parts = append(parts, p)
			used += escape.Width(p) + 3
		}
	}
	add("?", "help")
	add("enter", "open")
	if len(a.stack) > 1 {
		add("esc", "back")
	}
	for _, x := range f.actions() {
		if x.why == "" {
			add(x.key.Help().Key, x.key.Help().Desc)
		}
	}
	add("/", "search")
	add("y", "copy command")
	add("e", "export")
	add("q", "quit")
	return a.pen.tone(page.Dim, strings.Join(parts, " · "))
}
