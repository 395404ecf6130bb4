package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/tailscope/tailscope/report"
)

// This file is all that knows Bubble Tea. It restores the terminal after a panic in any of its goroutines and after a
// signal.

// Options say how the program meets its terminal. The zero Options are for tests: no input, no output.
type Options struct {
	Input  io.Reader // nil: the terminal itself, also where standard input is data
	Output io.Writer
	Dir    string // where views are exported; "" for the working directory
	Look   Look
}

// Run shows a source until the user quits. An end of ctx, as by a signal, is [context.Canceled].
func Run(ctx context.Context, src *Source, o Options) error {
	m := newModel(ctx, src, o)
	defer m.cancel()
	// A signal ends ctx. Bubble Tea's own handler would send its message to a loop that ctx has ended already, and its
	// shutdown would wait for that for ever.
	set := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithOutput(o.Output)}
	if o.Input == nil {
		set = append(set, tea.WithInputTTY())
	} else {
		set = append(set, tea.WithInput(o.Input))
	}
	p := tea.NewProgram(m, set...)
	m.send = p.Send
	_, err := p.Run()
	if ctx.Err() != nil {
		return context.Canceled
	}
	if errors.Is(err, tea.ErrInterrupted) {
		return context.Canceled
	}
	if err == nil {
		err = m.app.Err()
	}
	return err
}

// A model is App as Bubble Tea wants it.
type model struct {
	app    *App
	src    *Source
	o      Options
	send   func(tea.Msg)
	ctx    context.Context
	cancel context.CancelFunc // of the loading under way
	parent context.Context
}

func newModel(ctx context.Context, src *Source, o Options) *model {
	m := &model{app: New(src, o.Look), src: src, o: o, parent: ctx, send: func(tea.Msg) {}}
	m.ctx, m.cancel = context.WithCancel(ctx)
	return m
}

type (
	loadedMsg struct {
		req int
		e   *Endpoints
		err error
	}
	firstMsg struct {
		req int
		e   *Endpoints
	}
	tracesMsg struct {
		req    int
		traces []*Request
		err    error
	}
	progressMsg struct {
		req         int
		done, total int64
	}
	exportedMsg struct {
		path string
		err  error
	}
	tickMsg struct{}
)

// tickEvery is how often a waiting screen moves.
const tickEvery = 250 * time.Millisecond

func tick() tea.Cmd { return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} }) }

func (m *model) Init() tea.Cmd { return tea.Batch(m.do(m.app.Start()), tick()) }

func (m *model) View() string { return m.app.View() }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.app.Resize(msg.Width, msg.Height)
	case tea.KeyMsg:
		k := msg.String()
		if msg.Paste || msg.Type == tea.KeyRunes && len(msg.Runes) > 1 {
			k = pasted + string(msg.Runes)
		}
		return m, m.do(m.app.Press(k))
	case tea.MouseMsg:
		switch {
		case msg.Button == tea.MouseButtonWheelUp:
			m.app.Wheel(-3)
		case msg.Button == tea.MouseButtonWheelDown:
			m.app.Wheel(3)
		case msg.Button == tea.MouseButtonLeft && msg.Action == tea.MouseActionPress:
			return m, m.do(m.app.Click(msg.X, msg.Y))
		}
	case progressMsg:
		m.app.Progress(msg.req, msg.done, msg.total)
	case firstMsg:
		m.app.First(msg.req, msg.e)
	case loadedMsg:
		m.app.Loaded(msg.req, msg.e, msg.err)
	case tracesMsg:
		m.app.Traces(msg.req, msg.traces, msg.err)
	case exportedMsg:
		m.app.Exported(msg.path, msg.err)
	case tickMsg:
		m.app.Tick()
		if m.app.Waiting() {
			return m, tick()
		}
	}
	return m, nil
}

// do turns effects into commands.
func (m *model) do(effects []Effect) tea.Cmd {
	var cmds []tea.Cmd
	for _, e := range effects {
		switch e := e.(type) {
		case Quit:
			m.cancel()
			cmds = append(cmds, tea.Quit)
		case Cancel:
			m.cancel()
		case Load:
			cmds = append(cmds, m.load(e))
		case LoadTraces:
			cmds = append(cmds, m.traces(e), tick())
		case Copy:
			cmds = append(cmds, func() tea.Msg {
				termenv.NewOutput(m.o.Output).Copy(e.Text) // OSC 52; a terminal that does not know it shows nothing
				return nil
			})
		case Export:
			cmds = append(cmds, func() tea.Msg {
				path, err := writeNew(filepath.Join(m.o.Dir, e.Name), e.Write)
				return exportedMsg{path, err}
			})
		}
	}
	return tea.Batch(cmds...)
}

// fresh ends the loading under way and begins another.
func (m *model) fresh() context.Context {
	m.cancel()
	m.ctx, m.cancel = context.WithCancel(m.parent)
	return m.ctx
}

func (m *model) load(e Load) tea.Cmd {
	ctx := m.fresh()
	return func() tea.Msg {
		var last time.Time
		r, err := m.src.Report(ctx, func(done, total int64) {
			if now := time.Now(); now.Sub(last) > 50*time.Millisecond || done == total {
				last = now
				m.send(progressMsg{e.Req, done, total})
			}
		}, func(r *report.Report) { m.send(firstMsg{e.Req, NewEndpoints(r)}) })
		if err != nil {
			return loadedMsg{e.Req, nil, err}
		}
		return loadedMsg{e.Req, NewEndpoints(r), nil}
	}
}

func (m *model) traces(e LoadTraces) tea.Cmd {
	ctx := m.fresh()
	return func() tea.Msg {
		var out []*Request
		for _, r := range e.Refs {
			t, err := m.src.Trace(ctx, r.Set, r.ID)
			if err != nil {
				return tracesMsg{e.Req, nil, err}
			}
			out = append(out, NewRequest(t, r.Set))
		}
		return tracesMsg{e.Req, out, nil}
	}
}

// writeNew writes a file that does not exist yet: a number is added to the name where it does.
func writeNew(path string, write func(io.Writer) error) (string, error) {
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(path, ext)
	for n := 1; ; n++ {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) && n < 1000 {
			path = fmt.Sprintf("%s-%d%s", stem, n+1, ext)
			continue
		}
		if err != nil {
			return path, err
		}
		err = write(f)
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			os.Remove(path)
		}
		return path, err
	}
}
