package tui

import (
	"github.com/charmbracelet/bubbles/key"

	"github.com/tailscope/tailscope/report/page"
)

// newHelp lists the keys of a screen, those that do nothing now with the reason.
func newHelp(a *App, f *frame) *document {
	d := &document{name: "help", title: []string{"Keys on this screen"}, pen: &a.pen, cmd: func(*Source) string { return "" }}
	var t page.Table
	begin := func(title string) {
		d.heading(title)
		t = page.Table{Columns: []page.Column{{}, {Wrap: true}}}
	}
	add := func(b key.Binding, why string) {
		does := page.Text{{S: b.Help().Desc}}
		if why != "" {
			does = page.Text{{S: b.Help().Desc + " — not now: " + why, Tone: page.Dim}}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{words(b.Help().Key), {Text: does}}})
	}
	k := &a.keys
	if x := f.actions(); len(x) > 0 {
		begin("Here")
		for _, x := range x {
			add(x.key, x.why)
		}
		d.blocks(t)
	}
	begin("Everywhere")
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
	d.blocks(t, page.Para{Text: page.Text{{S: "The mouse selects, opens on a second click, scrolls, and goes back on a name in the first line."}}})
	return d
}
