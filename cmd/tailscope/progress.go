package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/tailscope/tailscope/ingest"
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

// read tells of what has been read.
func (p *progress) read(r ingest.Progress) {
	now := time.Now()
	if p.w == nil || now.Sub(p.last) < 500*time.Millisecond || now.Sub(p.start) < 300*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r\x1b[K%s", readLine(r, now.Sub(p.start)))
}

// readLine says how far the reading is after a time: bytes, spans a second, and the
// time left, if it can be told.
func readLine(r ingest.Progress, after time.Duration) string {
	line := fmt.Sprintf("reading: %.0f MB", float64(r.Bytes)/1e6)
	if r.Total > 0 {
		line = fmt.Sprintf("reading: %.0f of %.0f MB (%d %%)", float64(r.Bytes)/1e6, float64(r.Total)/1e6, 100*r.Bytes/r.Total)
	}
	if r.Spans > 0 && after > 0 {
		line += fmt.Sprintf(", %s spans/s", thousands(float64(r.Spans)/after.Seconds()))
	}
	if r.Total > 0 && r.Bytes > 0 {
		left := time.Duration(float64(after) * float64(r.Total-r.Bytes) / float64(r.Bytes)).Round(time.Second)
		line += fmt.Sprintf(", %s left", left)
	}
	return line
}

// thousands is a rate in three digits or fewer.
func thousands(x float64) string {
	switch {
	case x >= 999_500:
		return fmt.Sprintf("%.1f M", x/1e6)
	case x >= 999.5:
		return fmt.Sprintf("%.0f k", x/1e3)
	}
	return fmt.Sprintf("%.0f", x)
}

// done removes the line.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
