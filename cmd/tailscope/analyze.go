package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/html"
	"github.com/tailscope/tailscope/report/markdown"
	"github.com/tailscope/tailscope/report/page"
	"github.com/tailscope/tailscope/report/text"
	"github.com/tailscope/tailscope/summary"
)

func analyzeCommand() *cobra.Command {
	var f analyzeFlags
	c := &cobra.Command{
		Use:   "analyze --baseline PATH --current PATH | analyze PATH...",
		Short: "compare two data sets, or say what the tail of one is made of",
		Example: `  tailscope analyze --baseline before/ --current after/
  tailscope analyze traces.jsonl metrics.jsonl
  tailscope analyze --baseline monday.snap --current 'today/*.json' --format json`,
		RunE: func(c *cobra.Command, args []string) error { return analyze(c, args, &f) },
	}
	f.add(c)
	return c
}

// renderers are the formats of a report; JSON holds all of it whatever is shown.
var renderers = map[string]func(io.Writer, *report.Report, page.Options) error{
	"text": func(w io.Writer, r *report.Report, show page.Options) error {
		o := text.For(w)
		o.Top, o.Brief = show.Top, show.Brief
		return text.Write(w, r, o)
	},
	"json": func(w io.Writer, r *report.Report, _ page.Options) error { return report.Encode(w, r) },
	"markdown": func(w io.Writer, r *report.Report, show page.Options) error {
		return markdown.Write(w, r, markdown.Options{Top: show.Top, Brief: show.Brief})
	},
	"html": func(w io.Writer, r *report.Report, show page.Options) error {
		return html.Write(w, r, html.Options{Top: show.Top, Brief: show.Brief})
	},
}

func analyze(c *cobra.Command, args []string, f *analyzeFlags) error {
	render, ok := renderers[f.format]
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
	if f.saveBase != "" && len(o.Baseline) == 0 {
		return &usageError{"--save-baseline without a baseline", "give --baseline PATH, or --save for a single data set"}
	}
	o.Whole = f.save != "" || f.saveBase != ""
	show := page.Options{Brief: f.brief}
	if c.Flags().Changed("top") {
		if show.Top = f.top; show.Top == 0 {
			show.Top = -1 // all
		}
	}
	progress := newProgress(c.ErrOrStderr())
	o.Stdin, o.Progress = c.InOrStdin(), progress.read
	ctx, read := stage(c.Context(), "read")
	loaded, err := analysis.Load(ctx, &o)
	read()
	progress.done()
	if err != nil {
		return err
	}
	for side, path := range [2]string{summary.Baseline: f.saveBase, summary.Current: f.save} {
		if path == "" {
			continue
		}
		if err := save(path, loaded.Sides[side]); err != nil {
			return err
		}
	}
	_, analysed := stage(c.Context(), "analyse")
	rep, err := analysis.Analyze(loaded, &o)
	analysed()
	if err != nil {
		return err
	}
	_, written := stage(c.Context(), "write")
	defer written()
	if err := write(c.OutOrStdout(), f.output, func(w io.Writer) error { return render(w, rep, show) }); err != nil {
		return err
	}
	if notComparable(rep) {
		return exit(exitNotComparable)
	}
	return nil
}

// notComparable reports whether no compared endpoint is comparable. One that only
// one side has was not compared.
func notComparable(r *report.Report) bool {
	compared := false
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		if !e.Whole() || e.Basis == nil {
			continue
		}
		if e.Verdict != report.NotComparable {
			return false
		}
		compared = true
	}
	return compared
}

// write writes to a file, or to out if none is named. A file appears whole or
// not at all.
func write(out io.Writer, path string, render func(io.Writer) error) error {
	if path == "" {
		return render(out)
	}
	return replace(path, render)
}

func replace(path string, render func(io.Writer) error) error {
	tmp := path + ".part"
	f, err := os.Create(tmp)
	if err != nil {
		return &usageError{fmt.Sprintf("cannot write %s: %v", path, err), ""}
	}
	err = render(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func save(path string, runs []*summary.Summary) error {
	return replace(path, func(w io.Writer) error {
		_, err := w.Write(summary.Encode(runs))
		return err
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// printable is a message that may quote what came from outside.
func printable(s string) string { return escape.Terminal(s) }
