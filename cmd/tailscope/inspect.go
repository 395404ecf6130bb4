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

// inspectRenderers are the formats of an inspection.
var inspectRenderers = map[string]func(io.Writer, *report.Inspection) error{
	"text":     func(w io.Writer, in *report.Inspection) error { return text.WriteInspection(w, in, text.For(w)) },
	"json":     report.EncodeInspection,
	"markdown": markdown.WriteInspection,
	"html":     html.WriteInspection,
}

func inspectCommand() *cobra.Command {
	var f inputFlags
	var format, output string
	c := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "say what data hold, what is wrong with them, and what is missing",
		Example: `  tailscope inspect traces.jsonl metrics.jsonl
  tailscope inspect export/ --format json`,
		RunE: func(c *cobra.Command, args []string) error {
			render, ok := inspectRenderers[format]
			if !ok {
				return &usageError{fmt.Sprintf("--format: %q is not a format of an inspection", format), "text, json, markdown or html"}
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
			in, err := analysis.Inspect(c.Context(), &o)
			progress.done()
			if err != nil {
				return err
			}
			return write(c.OutOrStdout(), output, func(w io.Writer) error { return render(w, in) })
		},
	}
	c.Flags().StringVar(&f.config, "config", "", "read `FILE` instead of tailscope.yaml")
	f.addMemory(c)
	c.Flags().StringVar(&format, "format", "text", "text, json, markdown or html")
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return c
}
