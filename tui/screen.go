package tui

import (
	"io"

	"github.com/charmbracelet/bubbles/key"
)

// A size is what a screen has to draw in: the width of a row, and the rows that fit.
type size struct{ width, height int }

// A screen is one view: a few lines that stay, and rows of which only the visible ones are drawn. It knows nothing of
// the cursor but the index it is asked about, and nothing of the framework.
type screen interface {
	crumb() string                             // escaped
	head(p *pen, s size) []string              // painted, at most s.width cells each
	rows(s size) int                           // how many there are
	row(p *pen, s size, i int) string          // painted; what does not fit is cut
	opens(i int) (open func(*App), why string) // what Enter does on row i, or why it does nothing
	contains(s size, i int, text string) bool  // text is in lower case
	actions() []action
	command(src *Source) string // reproduces the view in a shell
	export() (file string, write func(io.Writer) error)
}

// An action is a key of one screen. Why says why it does nothing now.
type action struct {
	key key.Binding
	do  func(a *App, f *frame)
	why string
}

// A frame is a screen with its cursor.
type frame struct {
	screen
	cursor, top int
}

// settle keeps the cursor on a row and the row on the screen.
func (f *frame) settle(s size) {
	n := f.rows(s)
	f.cursor = max(0, min(f.cursor, n-1))
	f.top = max(0, min(f.top, n-s.height))
	if f.cursor < f.top {
		f.top = f.cursor
	}
	if f.cursor >= f.top+s.height {
		f.top = f.cursor - s.height + 1
	}
}

// A searcher takes the search text itself, as a filter; other screens are searched row by row.
type searcher interface{ search(text string) }

// A flowing screen breaks its lines anew for every width; the cursor follows what it stood on.
type flowing interface {
	anchor(s size, i int) int
	find(s size, anchor int) int
}
