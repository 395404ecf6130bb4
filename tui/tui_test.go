package tui

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/reporttest"
)

// update reports whether to rewrite testdata: the flag -update, which teatest defines.
func update() bool { return flag.Lookup("update").Value.String() == "true" }

// teatest waits for a signal in a goroutine that it never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/charmbracelet/x/exp/teatest.NewTestModel.func2"))
}

// source is a report and its request without any files.
func source(r *report.Report, t *report.Trace) *Source {
	return &Source{
		Report: func(context.Context, func(done, total int64), func(*report.Report)) (*report.Report, error) {
			return r, nil
		},
		Trace: func(context.Context, string, string) (*report.Trace, error) { return t, nil },
		Args:  "--baseline before --current after",
		Inputs: func(set string) string {
			return map[string]string{report.Baseline: "before", report.Current: "after"}[set]
		},
	}
}

// opened is the program after its report was read.
func opened(r *report.Report, t *report.Trace, w, h int, look Look) *App {
	a := New(source(r, t), look)
	a.Start()
	a.Resize(w, h)
	a.Loaded(a.req, NewEndpoints(r), nil)
	return a
}

// keys presses keys, and answers what they ask for at once.
func keys(a *App, names ...string) {
	for _, k := range names {
		for _, e := range a.Press(k) {
			if l, ok := e.(LoadTraces); ok {
				var got []*Request
				for _, ref := range l.Refs {
					t, _ := a.src.Trace(context.Background(), ref.Set, ref.ID)
					got = append(got, NewRequest(t, ref.Set))
				}
				a.Traces(l.Req, got, nil)
			}
		}
	}
}

// goTo puts the cursor on the next row that opens something and holds the text.
func goTo(t testing.TB, a *App, text string) {
	t.Helper()
	f := a.front()
	s := a.sizeOf(f.screen)
	for i := range f.rows(s) {
		if open, _ := f.opens(i); open != nil && strings.Contains(bare(f.row(&a.pen, s, i)), text) {
			f.cursor = i
			return
		}
	}
	t.Fatalf("no row with %q opens anything:\n%s", text, a.View())
}

// A view is a screen and the way to it.
type view struct {
	name string
	r    func() *report.Report
	t    func() *report.Trace
	walk func(t testing.TB, a *App)
}

func press(names ...string) func(testing.TB, *App) {
	return func(_ testing.TB, a *App) { keys(a, names...) }
}

func open(texts ...string) func(testing.TB, *App) {
	return func(t testing.TB, a *App) {
		for _, x := range texts {
			goTo(t, a, x)
			keys(a, "enter")
		}
	}
}

func then(f func(testing.TB, *App), names ...string) func(testing.TB, *App) {
	return func(t testing.TB, a *App) {
		f(t, a)
		keys(a, names...)
	}
}

// many is a report with n endpoints.
func many(n int, name string) *report.Report {
	r := reporttest.Mercury()
	e := r.Endpoints[0]
	r.Endpoints = nil
	for i := range n {
		e := e
		e.Operation = fmt.Sprintf("GET /v%d/%s", i, name)
		e.Verdict = report.Verdicts[i%len(report.Verdicts)]
		e.P99.CurrentMs = report.Some(float64(i*7919%n + 1))
		r.Endpoints = append(r.Endpoints, e)
	}
	return r
}

var views = []view{
	{"endpoints", reporttest.Mercury, reporttest.Trace, press()},
	{"endpoints-empty", reporttest.Empty, reporttest.Trace, press("enter")},
	{"endpoints-one", func() *report.Report { return many(1, "home") }, reporttest.Trace, press("s")},
	{"endpoints-many", func() *report.Report { return many(340, "home") }, reporttest.Trace, press("s", "s", "/", "3", "enter", "down")},
	{"endpoints-single", reporttest.SingleSet, reporttest.Trace, press()},
	{"input", reporttest.Mercury, reporttest.Trace, press("i")},
	{"endpoint", reporttest.Mercury, reporttest.Trace, open("GET /v2/home")},
	{"endpoint-cannot-tell", reporttest.CannotTell, reporttest.Trace, press("enter")},
	{"cause", reporttest.Mercury, reporttest.Trace, open("GET /v2/home", "1. ")},
	{"queue", reporttest.Mercury, reporttest.Trace, open("GET /v2/home", "mean")},
	{"late", reporttest.Mercury, reporttest.Trace, open("GET /v2/home", "left by their caller")},
	{"calls", reporttest.Mercury, reporttest.Trace, open("GET /v2/home", "the calls of a request")},
	{"trace", reporttest.Mercury, reporttest.Trace, then(open("GET /v2/home"), slices.Concat(toTrace, []string{"]", "]"})...)},
	{"trace-folded", reporttest.Mercury, reporttest.Trace, then(open("GET /v2/home"), slices.Concat(toTrace, []string{"down", "down", "o", "+", "+", ">"})...)},
	{"trace-deep", reporttest.Mercury, func() *report.Trace { return reporttest.DeepTrace(100) }, then(open("GET /v2/home"), slices.Concat(toTrace, []string{"end"})...)},
	{"span", reporttest.Mercury, reporttest.Trace, then(open("GET /v2/home"), slices.Concat(toTrace, []string{"]", "]", "enter"})...)},
	{"compare", reporttest.Mercury, reporttest.Trace, compareTwo},
	{"copied", reporttest.Mercury, reporttest.Trace, then(open("GET /v2/home"), "y")},
	{"help", reporttest.Mercury, reporttest.Trace, press("?")},
	{"hostile", reporttest.Hostile, reporttest.HostileTrace, press("enter")},
	{"hostile-trace", reporttest.Mercury, reporttest.HostileTrace, then(open("GET /v2/home"), toTrace...)},
	{"reading", nil, nil, func(_ testing.TB, a *App) { a.Start(); a.Progress(a.req, 30e6, 120e6) }},
	{"first-rows", reporttest.Mercury, reporttest.Trace, func(t testing.TB, a *App) {
		a.Start()
		a.stack = a.stack[1:]
		a.First(a.req, NewEndpoints(headlines(reporttest.Mercury())))
		keys(a, "down", "enter")
	}},
	{"error", nil, nil, func(_ testing.TB, a *App) {
		a.Start()
		a.Loaded(a.req, nil, fmt.Errorf("before/: none of 3 files is in a format that is known\x1b[2J"))
	}},
}

// headlines are what is known of a report before the causes are.
func headlines(r *report.Report) *report.Report {
	for i, e := range r.Endpoints {
		r.Endpoints[i] = report.Endpoint{Service: e.Service, Operation: e.Operation, Class: e.Class, Shape: e.Shape, Verdict: e.Verdict, Basis: e.Basis,
			Requests: e.Requests, Arrivals: e.Arrivals, P50: e.P50, P75: e.P75, P90: e.P90, P95: e.P95, P99: e.P99, P999: e.P999, Max: e.Max}
	}
	return r
}

// toTrace is the way from an endpoint to its first request.
var toTrace = []string{"/", "1", "f", "4", "e", "9", "enter", "enter"}

func compareTwo(t testing.TB, a *App) {
	keys(a, "enter")
	keys(a, toTrace...)
	keys(a, "c", "esc")
	b := a.front().screen.(*document)
	for i := range b.lines {
		if p := b.at(i); p != nil && p.ref != nil && *p.ref != *a.marked {
			a.front().cursor = i
		}
	}
	keys(a, "c")
}

func (v *view) at(t testing.TB, w, h int, look Look) *App {
	t.Helper()
	var a *App
	if v.r == nil {
		a = New(source(nil, nil), look)
		a.Resize(w, h)
	} else {
		a = opened(v.r(), v.t(), w, h, look)
	}
	v.walk(t, a)
	return a
}

var sizes = [][2]int{{40, 12}, {80, 24}, {200, 50}}

func TestViews(t *testing.T) {
	for _, v := range views {
		for _, z := range sizes {
			golden(t, fmt.Sprintf("%s.%dx%d.txt", v.name, z[0], z[1]), v.at(t, z[0], z[1], Look{}).View())
		}
	}
	for _, name := range []string{"endpoints", "trace", "cause"} {
		for _, v := range views {
			if v.name == name {
				out := v.at(t, 80, 24, Look{Color: true}).View()
				golden(t, name+".80x24.color.txt", strings.ReplaceAll(out, "\x1b[", "␛["))
			}
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	var b strings.Builder
	for _, l := range strings.Split(got, "\n") {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	path := filepath.Join("testdata", name)
	if update() {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(b.String())) {
		t.Errorf("%s differs; -update rewrites it. Got\n%s", name, b.String())
	}
}

// Every frame has as many lines as the terminal, none is wider, nothing on it steers the terminal, and colour changes
// no character.
func TestFrames(t *testing.T) {
	all := [][2]int{{40, 12}, {41, 13}, {60, 20}, {80, 24}, {120, 40}, {300, 100}}
	if testing.Short() {
		all = all[:2]
	}
	for _, v := range views {
		for _, z := range all {
			plain := v.at(t, z[0], z[1], Look{}).View()
			color := v.at(t, z[0], z[1], Look{Color: true}).View()
			lines := strings.Split(plain, "\n")
			if len(lines) != z[1] {
				t.Errorf("%s at %v: %d lines", v.name, z, len(lines))
			}
			colored := strings.Split(color, "\n")
			for i, l := range lines {
				if escape.Width(l) > z[0] {
					t.Errorf("%s at %v: line %d takes %d cells: %q", v.name, z, i, escape.Width(l), l)
				}
				for _, r := range l {
					if !escape.Shown(r) {
						t.Errorf("%s at %v: line %d holds %U", v.name, z, i, r)
					}
				}
				if i < len(colored) && strings.TrimRight(bare(colored[i]), " ") != strings.TrimRight(l, " ") {
					t.Errorf("%s at %v: colour makes\n%q of\n%q", v.name, z, bare(colored[i]), l)
				}
			}
		}
	}
}

// The first rows can be sorted, searched and moved in while causes are looked for, and all of that outlasts the report's
// coming. What is opened opens then, unless another key comes first.
func TestFirstRows(t *testing.T) {
	full := many(40, "home")
	a := New(source(full, nil), Look{})
	a.Start()
	a.Resize(120, 20)
	a.First(a.req+1, NewEndpoints(headlines(many(40, "other")))) // nobody asked for those
	if _, ok := a.front().screen.(*Endpoints); ok {
		t.Fatal("rows of another request are shown")
	}
	a.First(a.req, NewEndpoints(headlines(many(40, "home"))))
	keys(a, "s", "s", "/", "v", "1", "enter", "down", "down")
	before := a.View()
	if !strings.Contains(before, "looking for causes") || !a.Waiting() {
		t.Fatalf("%s", before)
	}
	row := func() string {
		for _, l := range strings.Split(a.View(), "\n") {
			if _, name, ok := strings.Cut(l, "GET "); ok && (strings.HasPrefix(l, "▸") || strings.HasPrefix(l, "·")) {
				return strings.Fields(name)[0]
			}
		}
		return ""
	}
	at := row()
	keys(a, "enter")
	if len(a.stack) != 1 || !strings.Contains(a.View(), "opens as soon as") {
		t.Errorf("enter:\n%s", a.View())
	}
	a.Press("e")
	if !strings.Contains(a.View(), "nothing to write") {
		t.Errorf("e:\n%s", a.View())
	}
	keys(a, "i") // the report comes while another screen is open
	a.Loaded(a.req, NewEndpoints(full), nil)
	keys(a, "esc")
	if got := row(); at == "" || got != at || a.Waiting() || strings.Contains(a.View(), "looking for causes") || !strings.Contains(a.View(), "by slowest") || !strings.Contains(a.View(), "11 of 40") {
		t.Errorf("the cursor was on %s and is on %s:\n%s", at, got, a.View())
	}
	keys(a, "enter")
	if len(a.stack) != 2 {
		t.Error("the report does not open")
	}

	for _, last := range []string{"enter", "down"} {
		a = New(source(full, nil), Look{})
		a.Start()
		a.First(a.req, NewEndpoints(headlines(many(40, "home"))))
		keys(a, "down", "enter", last)
		a.Loaded(a.req, NewEndpoints(full), nil)
		if opened := len(a.stack) == 2 && strings.Contains(a.View(), "GET /v1/home"); opened != (last == "enter") {
			t.Errorf("after enter and %s:\n%s", last, a.View())
		}
	}

	a = New(source(full, nil), Look{})
	a.Start()
	a.First(a.req, NewEndpoints(headlines(many(4, "home"))))
	keys(a, "i", "?")
	a.Loaded(a.req, nil, fmt.Errorf("no memory is left"))
	if a.Err() == nil || !strings.Contains(a.View(), "no memory is left") {
		t.Errorf("an error behind the first rows:\n%s", a.View())
	}
}
