package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/tui"
)

// notOfTUI are the flags of analyze that say how a report is written.
var notOfTUI = []string{"format", "output", "brief", "save", "save-baseline"}

func tuiCommand() *cobra.Command {
	var f analyzeFlags
	c := &cobra.Command{
		Use:   "tui --baseline PATH --current PATH | tui PATH... | tui REPORT.json",
		Short: "go through a report on the terminal: endpoints, causes, queues, requests",
		Long: `Tui reads what analyze reads, or a report that analyze wrote as JSON, and goes
from the endpoints down to one cause, queue or request. ? lists the keys.`,
		Example: `  tailscope tui --baseline before/ --current after/
  tailscope tui traces.jsonl metrics.jsonl
  tailscope tui report.json`,
		RunE: func(c *cobra.Command, args []string) error { return runTUI(c, args, &f) },
	}
	f.add(c)
	for _, name := range notOfTUI {
		c.Flags().MarkHidden(name)
	}
	c.Flags().Lookup("top").Usage = "show only the `N` most important endpoints"
	c.Flags().Lookup("top").DefValue = "0"
	return c
}

func runTUI(c *cobra.Command, args []string, f *analyzeFlags) error {
	for _, name := range notOfTUI {
		if c.Flags().Changed(name) {
			return &usageError{"--" + name + " is not of tui, which writes nothing by itself", "tailscope analyze has it; the key e writes what is on the screen"}
		}
	}
	src, err := tuiSource(c, args, f)
	if err != nil {
		return err
	}
	out, ok := c.OutOrStdout().(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return &usageError{"tui needs a terminal to draw on", "tailscope analyze writes the report"}
	}
	o := tui.Options{Output: out, Look: tui.Look{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}}
	if in, ok := c.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		o.Input = in // else standard input is data, and keys come from the terminal itself
	}
	return tui.Run(c.Context(), src, o)
}

// tuiSource is where the program gets what it shows: a report, or data to analyse.
func tuiSource(c *cobra.Command, args []string, f *analyzeFlags) (*tui.Source, error) {
	o := analysis.New()
	if err := f.options(&o); err != nil {
		return nil, err
	}
	if !c.Flags().Changed("top") {
		o.Top = 0
	}
	o.Stdin = c.InOrStdin()
	if len(args) == 1 && len(f.baseline)+len(f.current) == 0 && isReport(args[0]) {
		return reportSource(args[0], o)
	}
	if err := f.runs(args, &o); err != nil {
		return nil, err
	}
	return dataSource(c.Flags(), args, o), nil
}

// dataSource analyses, and looks requests up in the same files.
func dataSource(flags *pflag.FlagSet, args []string, o analysis.Options) *tui.Source {
	paths := map[string][]string{}
	for set, runs := range map[string][][]string{report.Baseline: o.Baseline, report.Current: o.Current} {
		for _, run := range runs {
			paths[set] = append(paths[set], run...)
		}
	}
	var held holding
	return &tui.Source{
		Report: func(ctx context.Context, progress func(done, total int64), first func(*report.Report)) (*report.Report, error) {
			o := o
			o.First = first
			o.Progress = func(p ingest.Progress) { progress(p.Bytes, p.Total) }
			l, err := analysis.Load(ctx, &o)
			if err != nil {
				return nil, err
			}
			held.note(l.Held())
			return analysis.AnalyzeContext(ctx, l, &o)
		},
		Trace: traceOf(paths, o),
		NoTrace: func(set, id string) string {
			for _, p := range paths[set] {
				if p == "-" {
					return "the requests came from standard input, which cannot be read again"
				}
			}
			if snapshots(paths[set]) {
				return held.lacks(set, id)
			}
			return ""
		},
		Held:   held.of,
		Args:   commandLine(flags, args),
		Inputs: func(set string) string { return quoted(paths[set]) },
	}
}

// reportSource shows a report that analyze wrote. Its files are read again for requests, where they still are.
func reportSource(path string, o analysis.Options) (*tui.Source, error) {
	r, err := readReport(path)
	if err != nil {
		return nil, err
	}
	paths := map[string][]string{}
	reasons := map[string]string{}
	for _, file := range r.Ingest.Files {
		at := file.Path
		if beside := filepath.Join(filepath.Dir(path), filepath.Base(at)); file.Format == snapshotFormat && !exists(at) && exists(beside) {
			at = beside // serve and the exporter write reports beside the snapshots they are made of
		}
		paths[file.Set] = append(paths[file.Set], at)
		if !exists(at) {
			reasons[file.Set] = at + ", from which the report was made, is not here"
		}
	}
	var held holding
	return &tui.Source{
		Report: func(ctx context.Context, _ func(done, total int64), _ func(*report.Report)) (*report.Report, error) {
			for set, files := range paths {
				if reasons[set] != "" || !snapshots(files) {
					continue
				}
				o := o
				o.Baseline, o.Current = nil, nil
				for _, f := range files {
					o.Current = append(o.Current, []string{f})
				}
				l, err := analysis.Load(ctx, &o)
				if err != nil {
					reasons[set] = err.Error()
					continue
				}
				all := l.Held()
				for i := range all {
					all[i].Set = set
				}
				held.note(all)
			}
			return r, nil
		},
		Trace: traceOf(paths, o),
		NoTrace: func(set, id string) string {
			if len(paths[set]) == 0 {
				return "the report names no file of this set"
			}
			if reasons[set] == "" && snapshots(paths[set]) {
				return held.lacks(set, id)
			}
			return printable(reasons[set])
		},
		Held:   held.of,
		Args:   reportArgs(paths),
		Inputs: func(set string) string { return quoted(paths[set]) },
	}, nil
}

// reportArgs are the files of a report as the arguments of analyze. Several files of one set are named as so many runs
// only if there is no other way.
func reportArgs(paths map[string][]string) string {
	if len(paths[report.Baseline]) == 0 {
		return quoted(paths[report.Current])
	}
	var words []string
	for _, set := range []string{report.Baseline, report.Current} {
		for _, p := range directories(paths[set]) {
			words = append(words, "--"+set, tui.Quote(p))
		}
	}
	return strings.Join(words, " ")
}

// directories is the one directory that holds all files, or the files.
func directories(paths []string) []string {
	dir := ""
	for i, p := range paths {
		at := strings.LastIndexByte(p, '/')
		if at < 0 || i > 0 && p[:at] != dir {
			return paths
		}
		dir = p[:at]
	}
	if len(paths) < 2 {
		return paths
	}
	return []string{dir}
}

// traceOf finds requests in the files of their set. Several runs are searched as one.
func traceOf(paths map[string][]string, o analysis.Options) func(context.Context, string, string) (*report.Trace, error) {
	return func(ctx context.Context, set, id string) (*report.Trace, error) {
		o := o
		o.Baseline, o.Current, o.Progress = nil, [][]string{paths[set]}, nil
		return analysis.Trace(ctx, &o, id)
	}
}

// holding is the requests that snapshots hold whole.
type holding struct {
	mu  sync.Mutex
	all []analysis.Held
}

func (h *holding) note(more []analysis.Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, more...)
}

// lacks says why a request of a set cannot be opened; "" if it can.
func (h *holding) lacks(set, id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.all {
		if h.all[i].Set == set && h.all[i].TraceID.String() == id {
			return ""
		}
	}
	return "it is not among the few requests that the snapshot keeps whole; tailscope trace ID PATH reads the traces it was made of"
}

// of is the requests of an endpoint that can be opened, the slowest first.
func (h *holding) of(set, service, operation string) (list []report.Exemplar) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.all {
		if q := &h.all[i]; q.Set == set && q.Service == service && q.Operation == operation {
			list = append(list, report.Exemplar{TraceID: q.TraceID.String(), Set: set, DurationMs: report.Ms(q.NS), Percentile: report.Null, Why: "kept whole"})
		}
	}
	return list
}

const (
	snapshotFormat = "tailscope-snapshot"
	sniffed        = 4096 // bytes that tell what a file is
)

// begins is the first bytes of a file; none if it cannot be read.
func begins(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil {
		return nil
	}
	return b
}

// isReport reports whether a file is a report as JSON.
func isReport(path string) bool {
	b := bytes.TrimSpace(begins(path))
	return len(b) > 0 && b[0] == '{' && bytes.Contains(b, []byte(`"`+report.ReportV1+`"`))
}

// snapshots reports whether all paths are snapshots.
func snapshots(paths []string) bool {
	for _, p := range paths {
		if !isSnapshot(p) {
			return false
		}
	}
	return len(paths) > 0
}

func isSnapshot(path string) bool { return bytes.HasPrefix(begins(path), []byte(summary.Magic)) }

func readReport(path string) (*report.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &usageError{err.Error(), ""}
	}
	defer f.Close()
	r, err := report.Decode(f)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("%s: %v", path, err), "tailscope analyze --format json writes it anew"}
	}
	return r, nil
}

// commandLine is the flags and paths that were given, for a shell.
func commandLine(flags *pflag.FlagSet, args []string) string {
	var words []string
	flags.Visit(func(f *pflag.Flag) {
		switch many, ok := f.Value.(pflag.SliceValue); {
		case ok:
			for _, v := range many.GetSlice() {
				words = append(words, "--"+f.Name, tui.Quote(v))
			}
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, tui.Quote(f.Value.String()))
		}
	})
	for _, a := range args {
		words = append(words, tui.Quote(a))
	}
	return strings.Join(words, " ")
}

func quoted(paths []string) string {
	var words []string
	for _, p := range paths {
		words = append(words, tui.Quote(p))
	}
	return strings.Join(words, " ")
}
