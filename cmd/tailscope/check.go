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

// budgetRenderers are the formats of a check; JSON is the report of analyze.
var budgetRenderers = map[string]func(io.Writer, *report.Report) error{
	"text":     func(w io.Writer, r *report.Report) error { return text.WriteBudget(w, r, text.For(w)) },
	"json":     report.Encode,
	"markdown": markdown.WriteBudget,
	"html":     html.WriteBudget,
}

func checkCommand() *cobra.Command {
	var f analyzeFlags
	c := &cobra.Command{
		Use:   "check --baseline PATH --current PATH | check PATH...",
		Short: "hold a build to the budget of its endpoints in tailscope.yaml",
		Long: `Check compares what an endpoint did with the bounds that tailscope.yaml states for
it, and exits 1 if one is breached. Bounds are never averaged into a score: wrong
answers block, latency and queues hold the release, an optional part left out too
often asks for a decision. A bound that the data cannot tell of breaches nothing
and is said.`,
		Example: `  tailscope check traces/
  tailscope check --baseline main.snap --current build/ --format json
  tailscope check traces/ --config budgets.yaml --service ingress`,
		RunE: func(c *cobra.Command, args []string) error { return check(c, args, &f) },
	}
	f.add(c)
	for _, flag := range []string{"brief", "top", "save", "save-baseline"} {
		if err := c.Flags().MarkHidden(flag); err != nil {
			panic(err) // analyze has no such flag
		}
	}
	return c
}

func check(c *cobra.Command, args []string, f *analyzeFlags) error {
	render, ok := budgetRenderers[f.format]
	if !ok {
		return &usageError{fmt.Sprintf("--format: %q is not a format", f.format), "text, json, markdown or html"}
	}
	o := analysis.New()
	if err := f.options(&o); err != nil {
		return err
	}
	if err := f.runs(args, &o); err != nil {
		return err
	}
	o.Top = 0
	progress := newProgress(c.ErrOrStderr())
	o.Stdin, o.Progress = c.InOrStdin(), progress.read
	r, err := analysis.Run(c.Context(), &o)
	progress.done()
	if err != nil {
		return err
	}
	bounds, breached := 0, false
	for i := range r.Endpoints {
		for _, x := range r.Endpoints[i].Budget {
			bounds++
			breached = breached || x.Status == report.Breached
		}
	}
	if bounds == 0 {
		return &usageError{"no endpoint of these data has a budget", "state bounds under endpoints: … budget: in tailscope.yaml, or name another file with --config"}
	}
	if err := write(c.OutOrStdout(), f.output, func(w io.Writer) error { return render(w, r) }); err != nil {
		return err
	}
	if breached {
		return exit(exitBreach)
	}
	return nil
}
