package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// A progress is one line on a terminal's standard error, at most twice a
// second. Elsewhere it is silent.
type progress struct {
	w     io.Writer // nil: silent
	start time.Time
	last  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{w: w, start: time.Now()}
}

// read tells of done of total bytes; total is zero if it is not known.
func (p *progress) read(done, total int64) {
	now := time.Now()
	if p.w == nil || now.Sub(p.last) < 500*time.Millisecond || now.Sub(p.start) < 300*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	rate := float64(done) / now.Sub(p.start).Seconds()
	line := fmt.Sprintf("reading: %.0f MB", float64(done)/1e6)
	if total > 0 && rate > 0 {
		left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
		line = fmt.Sprintf("reading: %.0f of %.0f MB (%d %%), %.0f MB/s, %s left", float64(done)/1e6, float64(total)/1e6, 100*done/total, rate/1e6, left)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
}

// done removes the line.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
