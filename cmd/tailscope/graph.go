package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/dot"
	"github.com/tailscope/tailscope/report/text"
)

// graphRenderers are the formats of a structure. A file of DOT may hold several
// graphs, one of Mermaid only one.
var graphRenderers = map[string]func(io.Writer, *report.Report) error{
	"text": func(w io.Writer, r *report.Report) error { return text.WriteGraph(w, r, text.For(w)) },
	"json": report.Encode,
	"dot": func(w io.Writer, r *report.Report) error {
		for _, e := range whole(r) {
			if err := dot.Write(w, e, r.Run.Quantile); err != nil {
				return err
			}
		}
		return nil
	},
	"mermaid": func(w io.Writer, r *report.Report) error {
		for _, e := range whole(r) {
			return dot.WriteMermaid(w, e, r.Run.Quantile)
		}
		return nil
	},
}

// whole are the endpoints as such, without the rows of their kinds of request.
func whole(r *report.Report) []*report.Endpoint {
	var out []*report.Endpoint
	for i := range r.Endpoints {
		if r.Endpoints[i].Whole() {
			out = append(out, &r.Endpoints[i])
		}
	}
	return out
}

func graphCommand() *cobra.Command {
	var f analyzeFlags
	c := &cobra.Command{
		Use:   "graph [PATH...]",
		Short: "draw how endpoints do their work: what follows what, what is parallel, what is waited for",
		Long: `Graph draws the work of each endpoint as all its requests together show it: the
calls it makes, which of them follow each other and which run side by side,
which are waited for, and the share of the slow requests' time that each has.
The format json is the report of analyze, with the structure in it.`,
		Example: `  tailscope graph traces/
  tailscope graph traces/ --endpoint 'GET /page' --format mermaid
  tailscope graph --baseline before.jsonl --current after.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			render, ok := graphRenderers[f.format]
			if !ok {
				return &usageError{fmt.Sprintf("--format: %q is not a format of a graph", f.format), "text, dot, mermaid or json"}
			}
			o := analysis.New()
			o.Top = 20
			if err := f.inputFlags.options(&o); err != nil {
				return err
			}
			if err := f.runs(args, &o); err != nil {
				return err
			}
			progress := newProgress(c.ErrOrStderr())
			o.Stdin, o.Progress = c.InOrStdin(), progress.read
			r, err := analysis.Run(c.Context(), &o)
			progress.done()
			if err != nil {
				return err
			}
			if n := len(whole(r)); f.format == "mermaid" && n > 1 {
				fmt.Fprintf(c.ErrOrStderr(), "tailscope: Mermaid draws one graph: %d more endpoints are left out; --endpoint chooses\n", n-1)
			}
			return write(c.OutOrStdout(), f.output, func(w io.Writer) error { return render(w, r) })
		},
	}
	f.inputFlags.add(c)
	c.Flags().StringArrayVar(&f.baseline, "baseline", nil, "`PATH` of how it was, for what changed in the structure")
	c.Flags().StringArrayVar(&f.current, "current", nil, "`PATH` of how it is now")
	c.Flags().StringVar(&f.format, "format", "text", "text, dot, mermaid or json")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write to `FILE`")
	return c
}
