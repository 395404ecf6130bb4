package page

import "github.com/tailscope/tailscope/report"

// Graph lays out how endpoints do their work: of each, and of each kind of its
// requests, the structure alone.
func Graph(r *report.Report) *Page {
	b := newBuilder("tailscope graph")
	b.read(r)
	if len(r.Endpoints) == 0 {
		b.para(strong("No requests to draw."), plainf(" %s", nothing(r)))
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		level := 1
		if !e.Whole() {
			level = 2
		}
		b.heading(level, plain(b.rowName(e)))
		if len(e.Structure.Nodes) == 0 {
			b.para(plain("None of its requests is counted."))
			continue
		}
		b.structure(r, e)
	}
	return b.page()
}
