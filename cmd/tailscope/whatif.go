package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/html"
	"github.com/tailscope/tailscope/report/markdown"
	"github.com/tailscope/tailscope/report/text"
)

// whatIfRenderers are the formats of a replay.
var whatIfRenderers = map[string]func(io.Writer, *report.WhatIf) error{
	"text":     func(w io.Writer, t *report.WhatIf) error { return text.WriteWhatIf(w, t, text.For(w)) },
	"json":     report.EncodeWhatIf,
	"markdown": markdown.WriteWhatIf,
	"html":     html.WriteWhatIf,
}

// whatIfFlags are the changes.
type whatIfFlags struct {
	pools, drop, parallel, timeouts, hedges, optional []string
	deadline, reserve, optionalMin                    time.Duration
	rate                                              string
}

func whatIfCommand() *cobra.Command {
	var f inputFlags
	var w whatIfFlags
	var format, output string
	var objective time.Duration
	c := &cobra.Command{
		Use:   "whatif [PATH...]",
		Short: "replay the recorded requests with a pool, a timeout, a deadline … changed",
		Long: `Run the recorded requests again with something changed, and say what would have
become of their latency, and of the requests that would not have been answered
any more. A queue is run again only if the run with its present size gives the
waits that were seen. What is not changed takes as long as it took: the list of
what that takes for granted is part of the answer.

Hops are patterns as in tailscope.yaml: 'service' or 'service operation', with *.`,
		Example: `  tailscope whatif traces/ --pool 'ingress→pricing=6'
  tailscope whatif traces/ --deadline 300ms --reserve 20ms --optional-min 70ms --optional recommendation
  tailscope whatif traces/ --parallel 'profile,entitlement' --drop reputation
  tailscope whatif traces/ --timeout 'ingress→recommendation=100ms' --hedge 'ingress→inventory=40ms' --rate +25%`,
		RunE: func(c *cobra.Command, args []string) error {
			render, ok := whatIfRenderers[format]
			if !ok {
				return &usageError{fmt.Sprintf("--format: %q is not a format of a replay", format), "text, json, markdown or html"}
			}
			change, words, err := w.change()
			if err != nil {
				return err
			}
			if len(words) == 0 {
				return &usageError{"nothing is changed", "give --pool, --drop, --parallel, --timeout, --hedge, --deadline or --rate"}
			}
			if err := checkPaths(args); err != nil {
				return err
			}
			o := analysis.New()
			if err := f.options(&o); err != nil {
				return err
			}
			o.Objective = objective
			o.Current = [][]string{args}
			progress := newProgress(c.ErrOrStderr())
			o.Stdin, o.Progress = c.InOrStdin(), progress.read
			t, err := analysis.WhatIf(c.Context(), &o, change, words)
			progress.done()
			var unfit *hypotheses.UnfitError
			if errors.As(err, &unfit) || errors.Is(err, analysis.ErrNoEndpoint) {
				return &usageError{err.Error(), ""}
			}
			if err != nil {
				return err
			}
			return write(c.OutOrStdout(), output, func(w io.Writer) error { return render(w, t) })
		},
	}
	f.add(c)
	c.Flags().StringArrayVar(&w.pools, "pool", nil, "`POOL=N`: N places in each instance; POOL is a pool's name or CALLER→CALLEE")
	c.Flags().StringArrayVar(&w.drop, "drop", nil, "leave out the calls to `HOP`")
	c.Flags().StringArrayVar(&w.parallel, "parallel", nil, "make the calls to these `HOPS`, with commas between, side by side")
	c.Flags().StringArrayVar(&w.timeouts, "timeout", nil, "`EDGE=TIME`: leave calls of CALLER→CALLEE after that time")
	c.Flags().StringArrayVar(&w.hedges, "hedge", nil, "`EDGE=TIME`: send calls of CALLER→CALLEE again after that time, and take the first answer")
	c.Flags().DurationVar(&w.deadline, "deadline", 0, "the `TIME` that a request has, known to all that work for it")
	c.Flags().DurationVar(&w.reserve, "reserve", 0, "the part of the deadline that is kept for the response")
	c.Flags().DurationVar(&w.optionalMin, "optional-min", 0, "the least remaining time with which an optional branch is started")
	c.Flags().StringArrayVar(&w.optional, "optional", nil, "an answer can do without `HOP`; beside those of tailscope.yaml")
	c.Flags().StringVar(&w.rate, "rate", "", "`TIMES` as many requests: 1.25 or +25%")
	c.Flags().DurationVar(&objective, "objective", 0, "latency that a good answer keeps, for goodput; the deadline without it")
	c.Flags().StringVar(&format, "format", "text", "text, json, markdown or html")
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return c
}

// change reads the flags, and says in words what they change.
func (f *whatIfFlags) change() (w hypotheses.WhatIf, words []string, err error) {
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, p := range f.pools {
		name, n, ok := cutLast(p)
		size, e := strconv.Atoi(n)
		if !ok || e != nil || size < 1 {
			return w, nil, &usageError{fmt.Sprintf("--pool: %q is no pool with a size", p), "write it as 'pricing=6' or 'ingress→pricing=6'"}
		}
		x := hypotheses.PoolSize{Name: name, N: size}
		if caller, peer, op, ok := parseEdge(name); ok {
			x.Name, x.Edge = "", hypotheses.Edge{Caller: caller, Peer: peer, Operation: op}
		}
		w.Pools = append(w.Pools, x)
		say("%s has %d places in each instance", name, size)
	}
	times := func(flag string, list []string, what string) (out []hypotheses.EdgeTime, err error) {
		for _, p := range list {
			name, at, ok := cutLast(p)
			d, e := time.ParseDuration(at)
			caller, peer, op, edge := parseEdge(name)
			if !ok || e != nil || d <= 0 || !edge {
				return nil, &usageError{fmt.Sprintf("--%s: %q is no edge with a time", flag, p), "write it as 'ingress→pricing=100ms', with an operation after the callee if only one is meant"}
			}
			out = append(out, hypotheses.EdgeTime{Edge: hypotheses.Edge{Caller: caller, Peer: peer, Operation: op}, NS: int64(d)})
			say(what, name, d)
		}
		return out, nil
	}
	if w.Timeouts, err = times("timeout", f.timeouts, "calls of %s are left after %s"); err != nil {
		return w, nil, err
	}
	if w.Hedges, err = times("hedge", f.hedges, "calls of %s that take longer than %s are sent again"); err != nil {
		return w, nil, err
	}
	w.Drop = f.drop
	for _, d := range f.drop {
		say("%s is not called", d)
	}
	for _, p := range f.parallel {
		group := strings.Split(p, ",")
		if len(group) < 2 {
			return w, nil, &usageError{fmt.Sprintf("--parallel: %q is one hop", p), "name at least two, with a comma between"}
		}
		for i := range group {
			group[i] = strings.TrimSpace(group[i])
		}
		w.Parallel = append(w.Parallel, group)
		say("%s are called side by side", strings.Join(group, " and "))
	}
	if f.deadline < 0 || f.reserve < 0 || f.optionalMin < 0 {
		return w, nil, &usageError{"--deadline, --reserve and --optional-min are not negative", ""}
	}
	if f.deadline == 0 && (f.reserve > 0 || f.optionalMin > 0) {
		return w, nil, &usageError{"--reserve and --optional-min are parts of a deadline", "give --deadline too"}
	}
	w.Deadline, w.Reserve, w.OptionalMin, w.Optional = int64(f.deadline), int64(f.reserve), int64(f.optionalMin), f.optional
	if f.deadline > 0 {
		t := fmt.Sprintf("a request has %s, and all that work for it know", f.deadline)
		if f.reserve > 0 {
			t += fmt.Sprintf("; %s are kept for the response", f.reserve)
		}
		if f.optionalMin > 0 {
			t += fmt.Sprintf("; an optional branch is started with at least %s left", f.optionalMin)
		}
		say("%s", t)
	}
	if f.rate != "" {
		if w.Rate, err = parseRate(f.rate); err != nil {
			return w, nil, err
		}
		say("%.4g times as many requests come", w.Rate)
	}
	return w, words, nil
}

// parseRate reads 1.25, +25% or -10%.
func parseRate(s string) (float64, error) {
	bad := &usageError{fmt.Sprintf("--rate: %q is no rate", s), "write it as 1.25 or +25%"}
	if p, ok := strings.CutSuffix(s, "%"); ok {
		x, err := strconv.ParseFloat(p, 64)
		if err != nil || x <= -100 || p[0] != '+' && p[0] != '-' {
			return 0, bad
		}
		return 1 + x/100, nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0 && x <= 1000) {
		return 0, bad
	}
	return x, nil
}

// cutLast splits name=value at the last equals sign: an operation may have one.
func cutLast(s string) (name, value string, ok bool) {
	i := strings.LastIndex(s, "=")
	if i <= 0 {
		return "", "", false
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:]), true
}
