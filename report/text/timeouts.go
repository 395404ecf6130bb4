package text

import (
	"io"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// WriteTimeouts draws a timeout sweep.
func WriteTimeouts(w io.Writer, t *report.Timeouts, o Options) error {
	return draw(w, page.Timeouts(t), o)
}
