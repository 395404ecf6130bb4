package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/population"
)

// inputFlags are the flags of every command that reads data.
type inputFlags struct {
	config    string
	classAttr string
	endpoint  string
	service   string
	since     string
	until     string
	inner     bool
	memory    string
}

func (f *inputFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.config, "config", "", "read `FILE` instead of tailscope.yaml")
	c.Flags().StringVar(&f.classAttr, "class-attr", "", "`ATTRIBUTE` of the entry span that tells classes of requests apart")
	c.Flags().StringVar(&f.endpoint, "endpoint", "", "only endpoints that match `REGEXP` (the operation, or service and operation)")
	c.Flags().StringVar(&f.service, "service", "", "only services that match `REGEXP`")
	c.Flags().StringVar(&f.since, "since", "", "only requests that began at or after `TIME` (RFC 3339)")
	c.Flags().StringVar(&f.until, "until", "", "only requests that began before `TIME` (RFC 3339)")
	c.Flags().BoolVar(&f.inner, "inner", false, "also the endpoints that other services call")
	f.addMemory(c)
}

// addMemory adds --memory alone.
func (f *inputFlags) addMemory(c *cobra.Command) {
	c.Flags().StringVar(&f.memory, "memory", "", "take at most `SIZE` of memory, as 512MiB: spans beyond it go to temporary files in $TMPDIR (default half of the machine's, or of its control group's)")
}

// analyzeFlags are those of an analysis.
type analyzeFlags struct {
	inputFlags
	baseline, current []string
	format, output    string
	objective         time.Duration
	population        string
	quantile, alpha   float64
	seed              int64
	top               int
	brief             bool
	minEffect         string
	save, saveBase    string
	split, notes      string
}

func (f *analyzeFlags) add(c *cobra.Command) {
	d := analysis.New()
	f.inputFlags.add(c)
	c.Flags().StringArrayVar(&f.baseline, "baseline", nil, "`PATH` (file, directory, glob, snapshot or -) of how it was; each repetition is an independent run")
	c.Flags().StringArrayVar(&f.current, "current", nil, "`PATH` of how it is now")
	c.Flags().StringVar(&f.format, "format", "text", "text, json, markdown or html")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write the report to `FILE`")
	c.Flags().DurationVar(&f.objective, "objective", 0, "latency that a good answer keeps, for goodput")
	c.Flags().StringVar(&f.population, "population", d.Population.String(), "who counts: answered, or success for completed requests only")
	c.Flags().Float64Var(&f.quantile, "quantile", d.Quantile, "the quantile that the analysis is about")
	c.Flags().Float64Var(&f.alpha, "alpha", d.Alpha, "false discovery rate over endpoints; intervals hold with 1 - alpha")
	c.Flags().Int64Var(&f.seed, "seed", 0, "add `N` to what resampling draws from the data: by how much the ends of intervals move is not the data's")
	c.Flags().IntVar(&f.top, "top", 20, "show the `N` most important endpoints; 0 for all")
	c.Flags().BoolVar(&f.brief, "brief", false, "only the verdicts, where the time goes and the causes (text, markdown, html)")
	c.Flags().StringVar(&f.minEffect, "min-effect", "", "smallest `CHANGE` that counts, as 5%, 1ms or both with a comma")
	c.Flags().StringVar(&f.notes, "notes", "", "earlier experiments in `FILE`: a failed one lowers the mechanism that it falsifies")
	c.Flags().StringVar(&f.split, "split", "", "compare two parts of one data set: its halves in `time` or what began before and after one (time=TIME), two versions (version), or two values of an ATTRIBUTE (ATTRIBUTE=VALUE: that value against the rest)")
	c.Flags().StringVar(&f.save, "save", "", "save the current set as a snapshot `FILE`")
	c.Flags().StringVar(&f.saveBase, "save-baseline", "", "save the baseline as a snapshot `FILE`")
}

// options are the analysis' options by the flags and the configuration.
func (f *inputFlags) options(o *analysis.Options) error {
	var err error
	re := func(flag, text string) *regexp.Regexp {
		if text == "" || err != nil {
			return nil
		}
		r, e := regexp.Compile(text)
		if e != nil {
			err = &usageError{fmt.Sprintf("--%s: %v", flag, e), "quote what is not meant as a regular expression: GET /a\\?b"}
		}
		return r
	}
	at := func(flag, text string) time.Time {
		if text == "" || err != nil {
			return time.Time{}
		}
		t, e := time.Parse(time.RFC3339Nano, text)
		if e != nil {
			err = &usageError{fmt.Sprintf("--%s: %q is not a time in RFC 3339", flag, text), "write it as 2026-01-02T15:04:05Z"}
		}
		return t
	}
	o.Endpoint, o.Service = re("endpoint", f.endpoint), re("service", f.service)
	o.Since, o.Until = at("since", f.since), at("until", f.until)
	o.Inner, o.ClassAttr, o.Version = f.inner, f.classAttr, buildVersion()
	if err != nil {
		return err
	}
	o.Memory = defaultMemory()
	if f.memory != "" {
		n, err := parseSize(f.memory)
		if err != nil {
			return &usageError{"--memory: " + err.Error(), "write it as 512MiB or 2GiB"}
		}
		if n < leastMemory {
			return &usageError{fmt.Sprintf("--memory: %s is too little", sizeText(n)), fmt.Sprintf("give %s or more", sizeText(leastMemory))}
		}
		o.Memory = n
	}
	limitMemory(o.Memory)
	return f.load(o)
}

// load reads the configuration: the one named, else tailscope.yaml here if
// there is one.
func (f *inputFlags) load(o *analysis.Options) error {
	path := f.config
	if path == "" {
		if !exists(defaultConfig) {
			return nil
		}
		path = defaultConfig
	}
	c, err := config.Load(path)
	if err != nil {
		return &usageError{err.Error(), ""}
	}
	o.Config = c
	return nil
}

const defaultConfig = "tailscope.yaml"

func (f *analyzeFlags) options(o *analysis.Options) error {
	if err := f.inputFlags.options(o); err != nil {
		return err
	}
	p, err := population.ParsePopulation(f.population)
	if err != nil {
		return &usageError{"--population: " + err.Error(), ""}
	}
	o.Population = p
	if f.notes != "" {
		if o.Notes, err = loadNotes(f.notes); err != nil {
			return err
		}
	}
	o.Objective, o.Quantile, o.Alpha, o.Seed, o.Top = f.objective, f.quantile, f.alpha, f.seed, f.top
	if f.minEffect != "" {
		if err := effect(f.minEffect, o); err != nil {
			return err
		}
	}
	if err := o.Check(); err != nil {
		return &usageError{err.Error(), ""}
	}
	return nil
}

// effect reads --min-effect: a share, a duration, or both.
func effect(text string, o *analysis.Options) error {
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if num, ok := strings.CutSuffix(part, "%"); ok {
			v, err := strconv.ParseFloat(num, 64)
			if err != nil || v < 0 {
				return &usageError{fmt.Sprintf("--min-effect: %q is not a share", part), "write it as 5%"}
			}
			o.MinEffectShare = v / 100
			continue
		}
		d, err := time.ParseDuration(part)
		if err != nil || d < 0 {
			return &usageError{fmt.Sprintf("--min-effect: %q is neither a share nor a duration", part), "write it as 5%, 1ms or 5%,1ms"}
		}
		o.MinEffect = d
	}
	return nil
}

// runs are the runs of an analysis: each repetition of a flag is one, all
// positional paths together are one.
func (f *analyzeFlags) runs(args []string, o *analysis.Options) error {
	const quote = "quote the glob, so that the shell leaves it to tailscope, or give the directory"
	switch {
	case len(args) > 0 && len(f.baseline)+len(f.current) > 0:
		return &usageError{fmt.Sprintf("%q stands beside --baseline or --current and belongs to neither", args[0]), quote}
	case len(f.baseline) > 0 && len(f.current) == 0:
		return &usageError{"--baseline without --current: there is nothing to compare it with", "give --current PATH too, or one data set without flags: tailscope analyze PATH"}
	case len(f.current) > 0 && len(f.baseline) == 0:
		return &usageError{"--current without --baseline: there is nothing to compare it with", "give --baseline PATH too, or one data set without flags: tailscope analyze PATH"}
	case f.split != "" && len(args) == 0:
		return &usageError{"--split makes two sides of one data set, and here are two", "tailscope analyze --split " + f.split + " PATH"}
	case len(args)+len(f.baseline) == 0:
		return &usageError{"no input", "tailscope analyze --baseline PATH --current PATH, or tailscope analyze PATH; " + accepted}
	}
	if err := checkPaths(append(append(append([]string{}, args...), f.baseline...), f.current...)); err != nil {
		return err
	}
	if len(args) > 0 {
		o.Current, o.Split = [][]string{args}, f.split
		return nil
	}
	for _, p := range f.baseline {
		o.Baseline = append(o.Baseline, []string{p})
	}
	for _, p := range f.current {
		o.Current = append(o.Current, []string{p})
	}
	return nil
}

const accepted = "PATH is a file, a directory, a glob or - (" + ingest.Accepted + ")"

// checkPaths tells what is wrong with paths before any is opened.
func checkPaths(paths []string) error {
	if len(paths) == 0 {
		return &usageError{"no input", "name a PATH; " + accepted}
	}
	stdin := 0
	for _, p := range paths {
		if p == "-" {
			stdin++
		}
		if p == "" {
			return &usageError{"a path is empty", "is a variable of the shell not set?"}
		}
	}
	if stdin > 1 {
		return &usageError{"standard input (-) is named twice and can be read once", "save one of the two to a file"}
	}
	return nil
}

// loadNotes reads a file of experiments, whose mechanisms must be kinds of causes.
func loadNotes(path string) (*config.Notes, error) {
	n, err := config.LoadNotes(path)
	if err != nil {
		return nil, &usageError{err.Error(), ""}
	}
	for i := range n.Notes {
		if kind := n.Notes[i].Tests.Kind; kind != "" {
			if _, ok := hypotheses.Explain(kind); !ok {
				return nil, &usageError{fmt.Sprintf("%s: note %d: %q is no kind of cause", path, i+1, kind), "tailscope explain lists them"}
			}
		}
	}
	return n, nil
}
