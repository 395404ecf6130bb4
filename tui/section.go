package tui

import (
	"strings"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// A sections is one endpoint as report/page lays it out, by the headings of its parts.
type sections struct {
	lead  []page.Block // before the first heading: verdict, requests, arrivals
	parts []section
	notes []string
}

type section struct {
	title  string
	blocks []page.Block // the heading first
}

// sectionsOf lays out one endpoint of a report. change may take away what is not wanted: it gets a copy.
func sectionsOf(r *report.Report, e *report.Endpoint, change func(*report.Endpoint)) sections {
	row := *e
	row.Class, row.Shape, row.ShapeText = "", "", "" // a class or shape is laid out as an endpoint is
	if change != nil {
		change(&row)
	}
	alone := report.Report{Run: r.Run, Endpoints: []report.Endpoint{row}}
	p := page.Report(&alone, page.Options{Top: -1})
	var s sections
	s.notes = p.Notes
	inside := false
	for _, b := range p.Blocks {
		h, ok := b.(page.Heading)
		switch {
		case ok && h.Level < 3:
			if inside {
				return s // what follows is about the whole input
			}
			inside = h.Level == 2
		case !inside:
		case ok:
			s.parts = append(s.parts, section{plainText(h.Text), []page.Block{b}})
		case len(s.parts) == 0:
			s.lead = append(s.lead, b)
		default:
			last := &s.parts[len(s.parts)-1]
			last.blocks = append(last.blocks, b)
		}
	}
	return s
}

func plainText(t page.Text) string {
	var b strings.Builder
	for _, r := range t {
		b.WriteString(r.S)
	}
	return b.String()
}

// take is the blocks of the parts whose title begins so; they are taken away.
func (s *sections) take(titles ...string) []page.Block {
	var out []page.Block
	for _, title := range titles {
		for i := range s.parts {
			if x := &s.parts[i]; x.blocks != nil && strings.HasPrefix(x.title, title) {
				out = append(out, x.blocks...)
				x.blocks = nil
			}
		}
	}
	return out
}

// rest is what was not taken.
func (s *sections) rest() []page.Block {
	var out []page.Block
	for _, x := range s.parts {
		out = append(out, x.blocks...)
	}
	return out
}
