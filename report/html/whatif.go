package html

import (
	"io"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// WriteWhatIf draws a replay.
func WriteWhatIf(w io.Writer, t *report.WhatIf) error {
	return draw(w, page.WhatIf(t))
}
