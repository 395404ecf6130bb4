package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/reporttest"
)

// A journey is the real program with keys typed at it. It waits for what is on the screen, never for time.
type journey struct {
	t  *testing.T
	tm *teatest.TestModel
}

func travel(t *testing.T, src *Source, dir string) *journey {
	t.Helper()
	var copied bytes.Buffer
	m := newModel(context.Background(), src, Options{Output: &copied, Dir: dir})
	j := &journey{t: t}
	begun := make(chan struct{}) // the program loads before it is known to whom to send
	m.send = func(msg tea.Msg) {
		<-begun
		j.tm.Send(msg)
	}
	j.tm = teatest.NewTestModel(t, m, teatest.WithInitialTermSize(120, 40))
	close(begun)
	return j
}

// see waits until the screen shows a text.
func (j *journey) see(text string) {
	j.t.Helper()
	teatest.WaitFor(j.t, j.tm.Output(), func(b []byte) bool { return bytes.Contains(b, []byte(text)) }, teatest.WithDuration(10*time.Second), teatest.WithCheckInterval(5*time.Millisecond))
}

func (j *journey) key(names ...string) {
	special := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "down": tea.KeyDown}
	for _, n := range names {
		if k, ok := special[n]; ok {
			j.tm.Send(tea.KeyMsg{Type: k})
			continue
		}
		for _, r := range n {
			j.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
}

func (j *journey) end() {
	j.t.Helper()
	j.key("q")
	j.tm.WaitFinished(j.t, teatest.WithFinalTimeout(10*time.Second))
}

func TestDrillDown(t *testing.T) {
	j := travel(t, source(reporttest.Mercury(), reporttest.Trace()), t.TempDir())
	j.see("3 of 3 endpoints")
	j.key("/", "v2/home", "enter")
	j.see("1 of 3 endpoints")
	j.key("enter")
	j.see("Basis:")
	j.key("enter")
	j.see("wait for a connection")
	j.key("/", "mean", "enter", "tab", "esc")
	j.see("── Causes")
	j.key("/", "left by their", "enter", "enter")
	j.see("What other timeouts would do")
	j.key("esc", "/", "489 ms", "enter", "enter")
	j.see("path: █")
	j.key("]")
	j.see("path 1 of")
	j.key("enter")
	j.see("span id")
	j.key("esc", "c")
	j.see("marked")
	j.end()
}

// Rows are there before the analysis ends.
func TestRowsBeforeCauses(t *testing.T) {
	src := source(reporttest.Mercury(), reporttest.Trace())
	goOn := make(chan struct{})
	src.Report = func(_ context.Context, _ func(done, total int64), first func(*report.Report)) (*report.Report, error) {
		first(headlines(reporttest.Mercury()))
		<-goOn
		return reporttest.Mercury(), nil
	}
	j := travel(t, src, t.TempDir())
	j.see("looking for causes")
	j.key("enter")
	j.see("opens as soon as its causes are known")
	close(goOn)
	j.see("Basis:")
	j.end()
}

func TestExportAndCopy(t *testing.T) {
	dir := t.TempDir()
	j := travel(t, source(reporttest.Mercury(), reporttest.Trace()), dir)
	j.see("3 of 3 endpoints")
	j.key("y")
	j.see("copied: tailscope analyze --baseline before --current after")
	j.key("e")
	j.see("written: ")
	j.key("e")
	j.see("tailscope-report-2.json")
	j.end()
	f, err := os.Open(filepath.Join(dir, "tailscope-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if r, err := report.Decode(f); err != nil || len(r.Endpoints) != len(reporttest.Mercury().Endpoints) {
		t.Errorf("the exported report: %v", err)
	}
}

// The answer to a screen that was left does not come back, and its loading is ended.
func TestStaleAnswer(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	src := source(reporttest.Mercury(), nil)
	src.Trace = func(ctx context.Context, _, _ string) (*report.Trace, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return reporttest.Trace(), nil
	}
	j := travel(t, src, t.TempDir())
	j.see("3 of 3 endpoints")
	j.key("enter")
	j.see("Basis:")
	j.key("/", "489 ms", "enter", "enter")
	<-started
	j.see("looking up request")
	j.key("esc")
	<-ended
	j.see("── Requests worth")
	j.end()

	a := opened(reporttest.Mercury(), reporttest.Trace(), 80, 24, Look{})
	keys(a, "enter")
	a.openTraces(TraceRef{report.Current, "1"})
	old := a.req
	a.pop()
	before := a.View()
	a.Traces(old, []*Request{NewRequest(reporttest.Trace(), "")}, nil)
	a.openTraces(TraceRef{report.Current, "2"})
	a.Traces(old, []*Request{NewRequest(reporttest.Trace(), "")}, nil)
	if !a.Waiting() {
		t.Error("an old answer was taken for a new one")
	}
	a.pop()
	if a.View() != before {
		t.Error("a stale answer changed the screen")
	}
}

// A screen is a terminal that was left by a program.
type screenBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *screenBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// left reports whether the alternate screen and the mouse were switched off and the cursor on after they were not.
func (b *screenBuffer) left(t *testing.T) {
	t.Helper()
	b.Lock()
	defer b.Unlock()
	s := b.String()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?25l": "\x1b[?25h"} {
		if strings.LastIndex(s, off) < strings.LastIndex(s, on) {
			t.Errorf("%q was not undone: %q", on, s)
		}
	}
}

func TestPanicRestoresTheTerminal(t *testing.T) {
	src := source(nil, nil)
	src.Report = func(context.Context, func(done, total int64), func(*report.Report)) (*report.Report, error) {
		panic("a mistake of ours")
	}
	var out screenBuffer
	err := Run(context.Background(), src, Options{Input: &neverRead{}, Output: &out})
	if !errors.Is(err, tea.ErrProgramPanic) {
		t.Errorf("error %v", err)
	}
	out.left(t)
}

func TestSignalRestoresTheTerminal(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	src := source(nil, nil)
	src.Report = func(ctx context.Context, _ func(done, total int64), _ func(*report.Report)) (*report.Report, error) {
		stop() // as main does on a signal
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var out screenBuffer
	if err := Run(ctx, src, Options{Input: &neverRead{}, Output: &out}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	out.left(t)
}

func TestErrorIsReturned(t *testing.T) {
	src := source(nil, nil)
	want := errors.New("no such file")
	src.Report = func(context.Context, func(done, total int64), func(*report.Report)) (*report.Report, error) {
		return nil, want
	}
	j := travel(t, src, "")
	j.see("no such file")
	j.end()
	if err := j.tm.FinalModel(t).(*model).app.Err(); err != want {
		t.Errorf("error %v", err)
	}
}

// neverRead is a keyboard that nobody touches.
type neverRead struct{}

func (*neverRead) Read([]byte) (int, error) { return 0, io.EOF }
