package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/html"
	"github.com/tailscope/tailscope/report/markdown"
	"github.com/tailscope/tailscope/report/text"
)

// timeoutRenderers are the formats of a timeout sweep.
var timeoutRenderers = map[string]func(io.Writer, *report.Timeouts) error{
	"text":     func(w io.Writer, t *report.Timeouts) error { return text.WriteTimeouts(w, t, text.For(w)) },
	"json":     report.EncodeTimeouts,
	"markdown": markdown.WriteTimeouts,
	"html":     html.WriteTimeouts,
}

func timeoutsCommand() *cobra.Command {
	var f inputFlags
	var edge, format, output string
	c := &cobra.Command{
		Use:   "timeouts --edge 'CALLER→CALLEE' PATH...",
		Short: "say what another timeout of a call would have done",
		Long: `Sweep the timeout of the calls from one service to another over the times at
which their work finished. A call that is left while its work goes on is in
doubt: tried again blindly it is done twice, given up it is reported as a failure
of what was done, and asking first costs a trip. Of work that stopped when its
caller left, the time at which it would have finished is estimated.`,
		Example: `  tailscope timeouts --edge 'ingress→pricing' traces.jsonl
  tailscope timeouts --edge 'ingress->pricing POST /v1/quotes' export/ --format json`,
		RunE: func(c *cobra.Command, args []string) error {
			render, ok := timeoutRenderers[format]
			if !ok {
				return &usageError{fmt.Sprintf("--format: %q is not a format of a timeout sweep", format), "text, json, markdown or html"}
			}
			caller, peer, operation, ok := parseEdge(edge)
			if !ok {
				return &usageError{fmt.Sprintf("--edge: %q is not an edge", edge), "give it as 'CALLER→CALLEE' or 'CALLER->CALLEE', with an operation after it if only one is meant"}
			}
			if err := checkPaths(args); err != nil {
				return err
			}
			o := analysis.New()
			if err := f.options(&o); err != nil {
				return err
			}
			o.Current = [][]string{args}
			progress := newProgress(c.ErrOrStderr())
			o.Stdin, o.Progress = c.InOrStdin(), progress.read
			t, err := analysis.Timeouts(c.Context(), &o, caller, peer, operation)
			progress.done()
			if err != nil {
				return err
			}
			return write(c.OutOrStdout(), output, func(w io.Writer) error { return render(w, t) })
		},
	}
	c.Flags().StringVar(&f.config, "config", "", "read `FILE` instead of tailscope.yaml")
	f.addMemory(c)
	c.Flags().StringVar(&edge, "edge", "", "the calls of which `EDGE`: CALLER→CALLEE, and an operation if one is meant")
	c.Flags().StringVar(&format, "format", "text", "text, json, markdown or html")
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return c
}

// parseEdge reads an edge. The operation is what follows the callee's name after
// a space; names of services have none.
func parseEdge(s string) (caller, peer, operation string, ok bool) {
	caller, rest, ok := strings.Cut(s, "→")
	if !ok {
		caller, rest, ok = strings.Cut(s, "->")
	}
	peer, operation, _ = strings.Cut(strings.TrimSpace(rest), " ")
	caller, operation = strings.TrimSpace(caller), strings.TrimSpace(operation)
	return caller, peer, operation, ok && caller != "" && peer != ""
}
