package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/text"
)

func inspectCommand() *cobra.Command {
	var f inputFlags
	var format, output string
	c := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "say what data hold, what is wrong with them, and what is missing",
		Example: `  tailscope inspect traces.jsonl metrics.jsonl
  tailscope inspect export/ --format json`,
		RunE: func(c *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return &usageError{fmt.Sprintf("--format: %q is not a format of an inspection", format), "text or json"}
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
			return write(c.OutOrStdout(), output, func(w io.Writer) error {
				if format == "json" {
					return report.EncodeInspection(w, in)
				}
				return text.WriteInspection(w, in, text.For(w))
			})
		},
	}
	c.Flags().StringVar(&f.config, "config", "", "read `FILE` instead of tailscope.yaml")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return c
}
