package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/internal/escape"
)

func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [KIND]",
		Short:   "say what a kind of cause claims, what would refute it, and what looks alike",
		Example: "  tailscope explain client-wait",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, cause := range hypotheses.Catalogue {
					fmt.Fprintf(c.OutOrStdout(), "%-16s %s\n", cause.Kind, cause.Title)
				}
				return nil
			}
			if len(args) > 1 {
				return &usageError{"one kind at a time", ""}
			}
			d, ok := hypotheses.Explain(args[0])
			if !ok {
				var kinds []string
				for _, cause := range hypotheses.Catalogue {
					kinds = append(kinds, cause.Kind)
				}
				return &usageError{fmt.Sprintf("%q is not a kind of cause", args[0]), strings.Join(kinds, ", ")}
			}
			writeDoc(c.OutOrStdout(), d)
			return nil
		},
	}
}

func writeDoc(w io.Writer, d hypotheses.Doc) {
	fmt.Fprintf(w, "%s: %s\n", d.Kind, d.Title)
	for _, f := range []struct{ name, text string }{
		{"claims", d.Claim}, {"supported by", d.Supports}, {"refuted by", d.Refutes}, {"looks like", d.Mimics}, {"to tell, emit", d.Emit},
	} {
		fmt.Fprintf(w, "\n%s\n", f.name)
		for _, l := range escape.Wrap(f.text, 76) {
			fmt.Fprintf(w, "  %s\n", l)
		}
	}
}
