package text

import (
	"io"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// WriteBudget draws the bounds of a report's endpoints.
func WriteBudget(w io.Writer, r *report.Report, o Options) error {
	return draw(w, page.Budget(r), o)
}
