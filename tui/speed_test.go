package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/reporttest"
)

// frameGoal is what a frame may take; busy machines of a CI get ten times as much.
const frameGoal = 16 * time.Millisecond

// quick wants the median of steps, each a key and the frame after it, within the goal.
func quick(t *testing.T, a *App, what string, steps ...string) {
	t.Helper()
	var took []time.Duration
	for _, k := range steps {
		begin := time.Now()
		keys(a, k)
		a.View()
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("%s: median %v, worst %v", what, took[len(took)/2], took[len(took)-1])
	if took[len(took)/2] > 10*frameGoal {
		t.Errorf("%s: a frame takes %v", what, took[len(took)/2])
	}
}

func TestFramesAreQuick(t *testing.T) {
	long := strings.Repeat("注文/サービス<b>\x1b[31m", 500) // about 10 kB
	moves := []string{"down", "pgdown", "end", "up", "home", "pgdown"}
	lists := func(what string, r *report.Report) {
		a := opened(r, reporttest.Trace(), 200, 60, Look{Color: true})
		quick(t, a, what, moves...)
		quick(t, a, what+", sorted", "s", "s", "s", "s", "s")
		quick(t, a, what+", searched", "/", "v", "9", "9", "backspace", "enter")
		quick(t, a, what+", opened", "enter", "down", "enter", "esc", "esc")
	}
	lists("10,000 endpoints", many(10_000, "home"))
	lists("names of 10 kB", many(300, long))

	trace := func(what string, tr *report.Trace) {
		a := opened(reporttest.Mercury(), tr, 200, 60, Look{Color: true})
		a.push(newWaterfall(NewRequest(tr, report.Current)))
		quick(t, a, what, moves...)
		quick(t, a, what+", zoomed", "+", "+", "-", ">", "z", "0")
		quick(t, a, what+", folded", "o", "o", "o", "o")
		quick(t, a, what+", on the path", "]", "]", "]", "]", "[")
		quick(t, a, what+", searched", "/", "x", "enter", "n")
	}
	trace("a wide trace of 120,000 spans", reporttest.WideTrace(120_000))
	trace("a deep trace of 20,000 spans", reporttest.DeepTrace(20_000))
	named := reporttest.Trace()
	for i := range named.Spans {
		named.Spans[i].Name, named.Spans[i].Operation, named.Spans[i].Service = long, long, long
	}
	trace("spans with names of 10 kB", named)
}

func BenchmarkEndpointsFrame(b *testing.B) {
	a := opened(many(10_000, "home"), nil, 200, 60, Look{Color: true})
	b.ReportAllocs()
	for b.Loop() {
		a.Press("down")
		a.View()
	}
}

func BenchmarkTraceFrame(b *testing.B) {
	tr := reporttest.WideTrace(120_000)
	a := opened(reporttest.Mercury(), tr, 200, 60, Look{Color: true})
	a.push(newWaterfall(NewRequest(tr, report.Current)))
	b.ReportAllocs()
	for b.Loop() {
		a.Press("down")
		a.View()
	}
}
