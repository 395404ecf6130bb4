package text

import (
	"io"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// WriteWhatIf draws a replay.
func WriteWhatIf(w io.Writer, t *report.WhatIf, o Options) error {
	return draw(w, page.WhatIf(t), o)
}
