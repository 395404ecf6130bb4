package tui

import (
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// newInput is the screen of what was read, what was left out, what is wrong with it, and the metrics.
func newInput(r *report.Report) screen {
	d := &document{name: "input", file: "tailscope-input", title: []string{"What was read"}}
	d.cmd = func(src *Source) string { return analyzeCommand(src, "", "", false) }
	rest := *r
	rest.Endpoints = nil
	p := page.Report(&rest, page.Options{})
	d.notes = p.Notes
	for _, b := range p.Blocks {
		if h, ok := b.(page.Heading); ok && h.Level == 1 {
			continue
		}
		if x, ok := b.(page.Para); ok && len(r.Endpoints) > 0 && len(x.Text) > 0 && x.Text[0].S == "No requests to report on." {
			continue
		}
		d.blocks(b)
	}
	return d
}
