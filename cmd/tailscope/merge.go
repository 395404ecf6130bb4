package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/summary"
)

func mergeCommand() *cobra.Command {
	var f inputFlags
	var output string
	c := &cobra.Command{
		Use:   "merge -o FILE PATH...",
		Short: "join snapshots (or data) of parts of one run into one snapshot",
		Long: `Merge joins what parts of one run were saved as, for instance by several
collectors that shared the traces among them. The result is the snapshot of the
whole, in whatever order the parts are named. Snapshots that hold several runs
are joined run by run.`,
		Example: `  tailscope merge -o all.snap replica-1.snap replica-2.snap`,
		RunE: func(c *cobra.Command, args []string) error {
			if output == "" || len(args) == 0 {
				return &usageError{"merge needs -o FILE and at least one PATH", ""}
			}
			var joined []*summary.Summary
			for i, path := range args {
				o := analysis.New()
				if err := f.options(&o); err != nil {
					return err
				}
				o.Whole = true
				o.Current, o.Stdin = [][]string{{path}}, c.InOrStdin()
				l, err := analysis.Load(c.Context(), &o)
				if err != nil {
					return err
				}
				runs := l.Sides[summary.Current]
				if i == 0 {
					joined = runs
					continue
				}
				if len(runs) != len(joined) {
					return &usageError{fmt.Sprintf("%s holds %d runs and %s %d: runs are joined one by one", path, len(runs), args[0], len(joined)), ""}
				}
				for k := range runs {
					joined[k].Merge(runs[k])
				}
				o.Bound(joined...)
			}
			return save(output, joined)
		},
	}
	f.add(c)
	c.Flags().StringVarP(&output, "output", "o", "", "write the snapshot to `FILE`")
	return c
}
