package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/key"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
)

// An App is the whole state of the program. Its methods never wait; what they want done they return.
type App struct {
	src  *Source
	pen  pen
	keys keyMap

	width, height int
	stack         []*frame // the first is the endpoints, or the reading of them

	help   *frame // over everything
	prompt *string
	query  string // the last search
	status string // until the next key

	req     int       // of the newest loading
	pending bool      // the row under the cursor opens when the report is there
	partial int       // of the loading of which the first screen shows the first rows only; 0: none
	marked  *TraceRef // to compare the next request with
	effects []Effect
}

// New returns the program before anything was read.
func New(src *Source, look Look) *App {
	return &App{src: src, pen: newPen(look), keys: newKeyMap(), width: 80, height: 24}
}

// Start asks for the report.
func (a *App) Start() []Effect {
	a.req++
	a.push(&loading{what: "reading", req: a.req})
	a.want(Load{a.req})
	return a.done()
}

// Resize tells of the terminal's size.
func (a *App) Resize(width, height int) {
	type place struct{ anchor int }
	old := a.size()
	var at []place
	for _, f := range a.stack {
		p := place{}
		if fl, ok := f.screen.(flowing); ok {
			p.anchor = fl.anchor(old, f.cursor)
		}
		at = append(at, p)
	}
	a.width, a.height = max(width, 8), max(height, 4)
	for i, f := range a.stack {
		if fl, ok := f.screen.(flowing); ok {
			f.cursor = fl.find(a.size(), at[i].anchor)
		}
	}
}

// Err is why the report could not be read, for who started the program.
func (a *App) Err() error {
	if l, ok := a.stack[0].screen.(*loading); ok {
		return l.err
	}
	return nil
}

// Progress tells how far a loading is.
func (a *App) Progress(req int, done, total int64) {
	if l, ok := a.front().screen.(*loading); ok && l.req == req {
		l.done, l.total = done, total
	}
}

// Tick moves what shows that something is going on.
func (a *App) Tick() {
	if l, ok := a.front().screen.(*loading); ok {
		l.ticks++
	}
	if e, ok := a.stack[0].screen.(*Endpoints); ok && a.partial > 0 {
		e.ticks++
	}
}

// Waiting reports whether something is being loaded.
func (a *App) Waiting() bool {
	l, ok := a.front().screen.(*loading)
	return a.partial > 0 || ok && l.err == nil
}

// First brings the rows of the report before their causes are known: they can be looked at, sorted and searched.
func (a *App) First(req int, e *Endpoints) {
	if l, ok := a.front().screen.(*loading); ok && l.req == req && len(a.stack) == 1 {
		a.partial = req
		e.partial = true
		a.stack = nil
		a.push(e)
	}
}

// Loaded brings the report.
func (a *App) Loaded(req int, e *Endpoints, err error) {
	if a.partial == req && req > 0 {
		a.complete(e, err)
		return
	}
	l, ok := a.front().screen.(*loading)
	switch {
	case !ok || l.req != req: // nobody waits for it any more
	case err != nil:
		l.err = err
	default:
		a.stack = nil
		a.push(e)
	}
}

// complete puts the report in the place of its first rows. The cursor stays on its endpoint, and what was sorted and
// searched for stays so.
func (a *App) complete(e *Endpoints, err error) {
	a.partial = 0
	if err != nil {
		a.stack, a.prompt, a.help = nil, nil, nil
		a.push(&loading{what: "reading", err: err})
		return
	}
	f := a.stack[0]
	old := f.screen.(*Endpoints)
	e.order, e.filter, e.text = old.order, old.filter, old.text
	e.refresh()
	at := ""
	if f.cursor < len(old.shown) {
		at = old.all[old.shown[f.cursor]].name
	}
	f.screen = e
	if i := slices.IndexFunc(e.shown, func(i int) bool { return e.all[i].name == at }); i >= 0 {
		f.top += i - f.cursor
		f.cursor = i
	} else {
		a.pending = false
	}
	f.settle(a.sizeOf(e))
	if a.pending && len(a.stack) == 1 && len(e.shown) > 0 {
		a.pending, a.status = false, ""
		a.open(f)
	}
}

// Traces brings requests.
func (a *App) Traces(req int, traces []*Request, err error) {
	l, ok := a.front().screen.(*loading)
	if !ok || l.req != req {
		return
	}
	if err != nil {
		l.err = err
		return
	}
	a.pop()
	switch len(traces) {
	case 1:
		a.push(newWaterfall(traces[0]))
	case 2:
		a.push(compareRequests(traces[0], traces[1]))
	}
}

// Exported tells where a view was written.
func (a *App) Exported(path string, err error) {
	if err != nil {
		a.status = "not written: " + name(err.Error())
		return
	}
	a.status = "written: " + name(path)
}

func (a *App) front() *frame { return a.stack[len(a.stack)-1] }

func (a *App) want(e Effect) { a.effects = append(a.effects, e) }

func (a *App) done() []Effect {
	e := a.effects
	a.effects = nil
	return e
}

func (a *App) push(s screen) {
	f := &frame{screen: s}
	if d, ok := s.(*document); ok {
		d.pen = &a.pen
		f.cursor = d.firstLink(a.sizeOf(s))
	}
	a.stack = append(a.stack, f)
}

func (a *App) pop() {
	if _, ok := a.front().screen.(*loading); ok {
		a.req++ // its answer is stale
		a.want(Cancel{})
	}
	if len(a.stack) > 1 {
		a.stack = a.stack[:len(a.stack)-1]
	}
}

// openTraces loads one request, or two to compare.
func (a *App) openTraces(refs ...TraceRef) {
	for _, r := range refs {
		if why := a.noTrace(r); why != "" {
			a.status = why
			return
		}
	}
	a.req++
	what := "looking up request " + name(refs[0].ID)
	if len(refs) > 1 {
		what = "looking up two requests"
	}
	a.push(&loading{what: what, req: a.req})
	a.want(LoadTraces{a.req, refs})
}

func (a *App) noTrace(r TraceRef) string {
	if a.src.NoTrace == nil {
		return ""
	}
	return a.src.NoTrace(r.Set, r.ID)
}

// compare marks a request, or compares it with the one that is marked.
func (a *App) compare(ref TraceRef) {
	switch {
	case a.marked == nil || *a.marked == ref:
		a.marked = &ref
		a.status = "marked: press c on another request to compare the two"
	default:
		first := *a.marked
		a.marked = nil
		a.openTraces(first, ref)
	}
}

// Press is a key by its name, as "enter", "ctrl+c" or "j".
func (a *App) Press(name string) []Effect {
	k := pressed(name)
	a.status, a.pending = "", false
	switch {
	case a.prompt != nil:
		a.typed(name)
	case a.help != nil:
		a.pressHelp(k)
	default:
		a.press(k)
	}
	return a.done()
}

func (a *App) pressHelp(k pressed) {
	switch {
	case key.Matches(k, a.keys.Quit) && k == "ctrl+c":
		a.want(Quit{})
	case a.move(k, a.help):
	default:
		a.help = nil
	}
}

func (a *App) press(k pressed) {
	f := a.front()
	for _, x := range f.actions() {
		if key.Matches(k, x.key) {
			if x.why != "" {
				a.status = x.key.Help().Key + ": " + x.why
			} else {
				x.do(a, f)
			}
			return
		}
	}
	switch {
	case a.move(k, f):
	case key.Matches(k, a.keys.Quit):
		a.want(Quit{})
	case key.Matches(k, a.keys.Open):
		a.open(f)
	case key.Matches(k, a.keys.Back):
		if len(a.stack) == 1 {
			a.status = "this is the first screen; q quits"
			if s, ok := f.screen.(searcher); ok && a.query != "" {
				a.query, a.status = "", ""
				s.search("")
			}
			return
		}
		a.pop()
	case key.Matches(k, a.keys.Help):
		a.help = &frame{screen: newHelp(a, f)}
	case key.Matches(k, a.keys.Search):
		empty := ""
		a.prompt = &empty
	case key.Matches(k, a.keys.Again):
		a.again(f, 1)
	case key.Matches(k, a.keys.Before):
		a.again(f, -1)
	case key.Matches(k, a.keys.Next):
		a.link(f, 1)
	case key.Matches(k, a.keys.Prev):
		a.link(f, -1)
	case key.Matches(k, a.keys.Copy):
		cmd := f.command(a.src)
		if cmd == "" {
			a.status = "y: nothing to copy before it is read"
			return
		}
		a.want(Copy{cmd})
		a.status = copied + escape.Terminal(cmd)
	case key.Matches(k, a.keys.Export):
		file, write := f.export()
		if write == nil {
			a.status = "e: nothing to write before it is read"
			return
		}
		a.want(Export{file, write})
	default:
		if len(k) == 1 && k != " " {
			a.status = "no key " + escape.Terminal(string(k)) + " here; ? lists them"
		}
	}
}

// move is what the cursor keys do.
func (a *App) move(k pressed, f *frame) bool {
	s := a.sizeOf(f.screen)
	page := max(1, s.height-1)
	switch {
	case key.Matches(k, a.keys.Up):
		f.cursor--
	case key.Matches(k, a.keys.Down):
		f.cursor++
	case key.Matches(k, a.keys.PageUp):
		f.cursor -= page
		f.top -= page
	case key.Matches(k, a.keys.PageDown):
		f.cursor += page
		f.top += page
	case key.Matches(k, a.keys.Top):
		f.cursor = 0
	case key.Matches(k, a.keys.Bottom):
		f.cursor = f.rows(s) - 1
	default:
		return false
	}
	f.settle(s)
	return true
}

func (a *App) open(f *frame) {
	if f.rows(a.sizeOf(f.screen)) == 0 {
		_, why := f.opens(0)
		a.status = "enter: " + why
		return
	}
	f.settle(a.sizeOf(f.screen))
	open, why := f.opens(f.cursor)
	if open == nil {
		a.status = "enter: " + why
		return
	}
	open(a)
}

// link moves to the next row that opens something.
func (a *App) link(f *frame, step int) {
	n := f.rows(a.sizeOf(f.screen))
	for k := 1; k <= n; k++ {
		i := ((f.cursor+k*step)%n + n) % n
		if open, _ := f.opens(i); open != nil {
			f.cursor = i
			f.settle(a.sizeOf(f.screen))
			return
		}
	}
	a.status = "nothing here opens"
}

// typed edits the search.
func (a *App) typed(k string) {
	f := a.front()
	live := func(text string) {
		if s, ok := f.screen.(searcher); ok {
			s.search(text)
			f.cursor, f.top = 0, 0
		}
	}
	switch {
	case k == "esc" || k == "ctrl+c":
		a.prompt = nil
		live(a.query)
	case k == "enter":
		a.query = *a.prompt
		a.prompt = nil
		if _, ok := f.screen.(searcher); !ok {
			f.cursor--
			a.again(f, 1)
		}
	case k == "backspace":
		p := *a.prompt
		_, n := utf8.DecodeLastRuneInString(p)
		p = p[:len(p)-n]
		a.prompt = &p
		live(p)
	case utf8.RuneCountInString(k) == 1 || strings.HasPrefix(k, pasted):
		p := *a.prompt + escape.Terminal(strings.TrimPrefix(k, pasted))
		p, _ = escape.Clip(p, nameLimit)
		a.prompt = &p
		live(p)
	}
}

// copied begins the status that shows a command.
const copied = "copied: "

// pasted marks text that came at once and is no key.
const pasted = "paste:"

// again goes to the next row that holds the search text.
func (a *App) again(f *frame, step int) {
	if a.query == "" {
		a.status = "n: nothing was searched for; / searches"
		return
	}
	s := a.sizeOf(f.screen)
	n := f.rows(s)
	text := strings.ToLower(a.query)
	for k := 1; k <= n; k++ {
		i := ((f.cursor+k*step)%n + n) % n
		if f.contains(s, i, text) {
			f.cursor = i
			f.settle(s)
			return
		}
	}
	a.status = "not here: " + a.query
}

// Wheel scrolls by rows.
func (a *App) Wheel(rows int) {
	f := a.front()
	if a.help != nil {
		f = a.help
	}
	f.cursor += rows
	f.top += rows
	f.settle(a.sizeOf(f.screen))
}

// Click is a press of the mouse on a cell: on a breadcrumb it goes back to it, on a row it selects it, on the selected
// row it opens it.
func (a *App) Click(x, y int) []Effect {
	a.status, a.pending = "", false
	if a.help != nil {
		a.help = nil
		return a.done()
	}
	if y == 0 {
		if i := a.crumbAt(x); i >= 0 {
			for len(a.stack) > i+1 {
				a.pop()
			}
		}
		return a.done()
	}
	f := a.front()
	s := a.sizeOf(f.screen)
	f.settle(s)
	row := y - 1 - len(f.head(&a.pen, s)) + f.top
	if y > 1+len(a.headOf(f.screen, s))+s.height-1 || row < f.top || row >= f.rows(s) {
		return a.done()
	}
	if row == f.cursor {
		a.open(f)
	} else {
		f.cursor = row
	}
	return a.done()
}

// sideName is the name of a set.
func sideName(set string) string {
	if slices.Contains([]string{report.Baseline, report.Current}, set) {
		return set
	}
	return name(set)
}

func errorText(err error) string { return fmt.Sprint(err) }
