package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/html"
	"github.com/tailscope/tailscope/report/markdown"
	"github.com/tailscope/tailscope/report/text"
)

// traceRenderers are the formats of a trace.
var traceRenderers = map[string]func(io.Writer, *report.Trace) error{
	"text":     func(w io.Writer, t *report.Trace) error { return text.WriteTrace(w, t, text.For(w)) },
	"json":     report.EncodeTrace,
	"markdown": func(w io.Writer, t *report.Trace) error { return markdown.WriteTrace(w, t, markdown.Options{}) },
	"html":     func(w io.Writer, t *report.Trace) error { return html.WriteTrace(w, t, html.Options{}) },
}

func traceCommand() *cobra.Command {
	var f inputFlags
	var format, output string
	c := &cobra.Command{
		Use:     "trace ID PATH...",
		Short:   "show one request: its waterfall, path, waits and late work",
		Example: `  tailscope trace 4bf92f35 traces/`,
		RunE: func(c *cobra.Command, args []string) error {
			render, ok := traceRenderers[format]
			if !ok {
				return &usageError{fmt.Sprintf("--format: %q is not a format of a trace", format), "text, json, markdown or html"}
			}
			if len(args) < 2 {
				return &usageError{"a trace id and a path are needed", "tailscope trace ID PATH; tailscope analyze names ids under exemplars"}
			}
			o := analysis.New()
			if err := f.options(&o); err != nil {
				return err
			}
			o.Current = [][]string{args[1:]}
			progress := newProgress(c.ErrOrStderr())
			o.Stdin, o.Progress = c.InOrStdin(), progress.read
			t, err := analysis.Trace(c.Context(), &o, args[0])
			progress.done()
			if err != nil {
				return err
			}
			return write(c.OutOrStdout(), output, func(w io.Writer) error { return render(w, t) })
		},
	}
	f.add(c)
	c.Flags().StringVar(&format, "format", "text", "text, json, markdown or html")
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return c
}
