package markdown

import (
	"io"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// WriteInspection draws what data hold.
func WriteInspection(w io.Writer, in *report.Inspection) error {
	return draw(w, page.Inspection(in))
}
