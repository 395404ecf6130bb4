package tui

import "github.com/charmbracelet/bubbles/key"

// A keyMap is every key there is. The line of hints and the help are made from it.
type keyMap struct {
	Up, Down, PageUp, PageDown, Top, Bottom key.Binding
	Open, Back, Next, Prev                  key.Binding
	Search, Again, Before                   key.Binding
	Copy, Export, Help, Quit                key.Binding

	Input, Sort, Filter, Compare                          key.Binding
	Fold, ZoomIn, ZoomOut, ZoomSpan, ZoomAll, Left, Right key.Binding
	NextPath, PrevPath                                    key.Binding
}

func newKeyMap() keyMap {
	bind := func(help, does string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, does))
	}
	return keyMap{
		Up:       bind("↑ k", "up", "up", "k"),
		Down:     bind("↓ j", "down", "down", "j"),
		PageUp:   bind("pgup", "a page up", "pgup", "ctrl+b"),
		PageDown: bind("pgdn", "a page down", "pgdown", "ctrl+f", " "),
		Top:      bind("home g", "to the top", "home", "g"),
		Bottom:   bind("end G", "to the end", "end", "G"),
		Open:     bind("enter", "open", "enter", "right", "l"),
		Back:     bind("esc", "back", "esc", "left", "h", "backspace"),
		Next:     bind("tab", "to the next that opens", "tab"),
		Prev:     bind("⇧tab", "the one before", "shift+tab"),
		Search:   bind("/", "search", "/"),
		Again:    bind("n", "next match", "n"),
		Before:   bind("N", "match before", "N"),
		Copy:     bind("y", "copy the command for this view", "y"),
		Export:   bind("e", "write this view to a file", "e"),
		Help:     bind("?", "help", "?"),
		Quit:     bind("q", "quit", "q", "ctrl+c"),

		Input:    bind("i", "what was read", "i"),
		Sort:     bind("s", "sort", "s"),
		Filter:   bind("f", "filter", "f"),
		Compare:  bind("c", "compare", "c"),
		Fold:     bind("o", "fold", "o"),
		ZoomIn:   bind("+", "zoom in", "+", "="),
		ZoomOut:  bind("-", "zoom out", "-"),
		ZoomSpan: bind("z", "zoom to this", "z"),
		ZoomAll:  bind("0", "all of it", "0"),
		Left:     bind("<", "earlier", "<", ","),
		Right:    bind(">", "later", ">", "."),
		NextPath: bind("]", "next on the path", "]"),
		PrevPath: bind("[", "before on the path", "["),
	}
}

// A pressed key, by name.
type pressed string

func (p pressed) String() string { return string(p) }
