package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/live/receive"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

func captureCommand() *cobra.Command {
	var f analyzeFlags
	c := &cobra.Command{
		Use:   "capture [flags] -- COMMAND [ARG...]",
		Short: "run a command, take the traces and metrics it sends, and analyse them",
		Long: `Capture runs a command (tests, a load test, a service) with OTEL_EXPORTER_OTLP_*
pointing at a receiver on this machine, and analyses what came when the command
has ended: against --baseline, or by itself. The command's output goes to stderr,
so that stdout holds the report alone. If the command fails, capture ends with its
exit code, after the report.`,
		Example: `  tailscope capture --save main.snap -- go test ./checkout -run TestLoad
  tailscope capture --baseline main.snap -- go test ./checkout -run TestLoad`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{"capture needs a command", "tailscope capture -- COMMAND ARG..."}
			}
			if c.ArgsLenAtDash() != 0 {
				return &usageError{fmt.Sprintf("%q stands before --", args[0]), "tailscope capture [flags] -- COMMAND ARG..."}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return capture(c, args, &f) },
	}
	f.add(c)
	for _, name := range []string{"current", "split"} {
		_ = c.Flags().MarkHidden(name)
	}
	memoryFlag(c, "hold at most `SIZE` of memory, as 512MiB; what does not fit is shed by whole traces (default 1GiB)")
	return c
}

func capture(c *cobra.Command, args []string, f *analyzeFlags) error {
	render, ok := renderers[f.format]
	if !ok {
		return &usageError{fmt.Sprintf("--format: %q is not a format", f.format), "text, json, markdown or html"}
	}
	if len(f.current) > 0 || f.split != "" {
		return &usageError{"capture has no --current and no --split: the current set is what the command sends", ""}
	}
	o := analysis.New()
	if err := f.options(&o); err != nil {
		return err
	}
	l := &analysis.Loaded{Defects: trace.Tally{}, Unknown: map[string]int64{}}
	if len(f.baseline) > 0 { // before the command runs: it may take long
		base := o
		for _, path := range f.baseline {
			base.Current = append(base.Current, []string{path})
		}
		loaded, err := analysis.Load(c.Context(), &base)
		if err != nil {
			return err
		}
		l = loaded
		l.Sides[summary.Baseline], l.Sides[summary.Current] = l.Sides[summary.Current], nil
		for i := range l.Files {
			l.Files[i].Set = report.Baseline
		}
	}
	lo := live.New()
	lo.Analysis, lo.Window, lo.NoReports, lo.MaxAge = o, 0, true, time.Hour
	lo.Memory = 1 << 30
	if f.memory != "" {
		lo.Memory = o.Memory
	}
	lo.Analysis.Memory = 0 // of files
	if err := lo.Check(); err != nil {
		return &usageError{err.Error(), ""}
	}
	stderr := c.ErrOrStderr()
	lo.Warn = func(err error) { fmt.Fprintf(stderr, "tailscope: %s\n", printable(err.Error())) }
	taken, ran, err := runCaptured(c.Context(), args, lo, c.InOrStdin(), stderr)
	if err != nil {
		return err
	}
	status := exit(exitDone)
	if ran != nil {
		fmt.Fprintf(stderr, "tailscope: %s: %s\n", printable(args[0]), printable(ran.Error()))
		status = exitUnusable
		var failed *exec.ExitError
		if errors.As(ran, &failed) && failed.ExitCode() > 0 {
			status = exit(failed.ExitCode())
		}
		switch {
		case c.Context().Err() != nil:
			status = exitInterrupted
		case failed == nil:
			return status // it did not start
		}
	}
	n := taken.stats
	if n.Late+n.Shed+n.Open > 0 {
		fmt.Fprintf(stderr, "tailscope: of %d spans %d came late, %d were shed, %d are open\n", n.Received, n.Late, n.Shed, n.Open)
	}
	if n.Received == 0 && n.Points == 0 {
		e := &ingest.InputError{Path: args[0], Problem: "sent no spans and no metrics", Cure: "it must use an OpenTelemetry SDK whose exporter is OTLP and takes OTEL_EXPORTER_OTLP_ENDPOINT from the environment, and flush before it ends"}
		if taken.damaged > 0 {
			e.Problem, e.Cure = fmt.Sprintf("sent %d requests that cannot be read", taken.damaged), ""
		}
		if status != exitDone {
			fmt.Fprintf(stderr, "tailscope: %s\n", printable(e.Error()))
			return status
		}
		return e
	}
	runs, err := summary.Decode(taken.snapshot)
	if err != nil {
		return err
	}
	l.Sides[summary.Current] = runs
	row := report.File{Path: strings.Join(args, " "), Set: report.Current, Format: "otlp", Rejected: n.Rejected, Spans: runs[0].Counts.Spans, MetricPoints: n.Points}
	l.Files = append(l.Files, row)
	l.LogRecords += taken.logs
	for side, path := range [2]string{summary.Baseline: f.saveBase, summary.Current: f.save} {
		if path != "" && len(l.Sides[side]) > 0 {
			if err := save(path, l.Sides[side]); err != nil {
				return err
			}
		}
	}
	rep, err := analysis.Analyze(l, &o)
	if err != nil {
		return err
	}
	if err := write(c.OutOrStdout(), f.output, func(w io.Writer) error { return render(w, rep, page.Options{Brief: f.brief}) }); err != nil {
		return err
	}
	if status == exitDone && notComparable(rep) {
		status = exitNotComparable
	}
	if status != exitDone {
		return status
	}
	return nil
}

// captured is what a command sent.
type captured struct {
	snapshot      []byte
	stats         live.Stats
	logs, damaged int64
}

// runCaptured runs a command with a receiver. ran is how the command failed.
func runCaptured(ctx context.Context, args []string, o live.Options, stdin io.Reader, output io.Writer) (taken *captured, ran, err error) {
	e, err := live.Open(o)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot listen on this machine: %w", err)
	}
	h := receive.New(e, nil)
	srv := h.Server()
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(listener) })
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	wg.Go(func() { e.Run(running) })

	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, output, output
	cmd.Env = environment(os.Environ(), "http://"+listener.Addr().String())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it shall flush what it has
	cmd.WaitDelay = shutdown
	ran = cmd.Run()

	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
	defer cancel()
	settle, settled := context.WithTimeout(late, 5*time.Second)
	defer settled()
	if srv.Shutdown(settle) != nil {
		srv.Close()
	}
	stop()
	wg.Wait()
	if err := e.Close(late, time.Now()); err != nil {
		o.Warn(err)
	}
	taken = &captured{stats: e.Stats(), logs: h.Logs(), damaged: h.Damaged()}
	taken.snapshot, err = e.Snapshot()
	return taken, ran, err
}

// environment is the environment of the command: what points exporters elsewhere
// is taken out, what points them here is put in, and what the user chose besides
// stays.
func environment(env []string, endpoint string) []string {
	var out []string
	set := map[string]bool{}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") && !strings.HasSuffix(name, "_PROTOCOL") && !strings.HasSuffix(name, "_COMPRESSION") && !strings.HasSuffix(name, "_TIMEOUT") && !strings.HasSuffix(name, "_TEMPORALITY_PREFERENCE") {
			continue
		}
		set[name] = true
		out = append(out, kv)
	}
	put := func(name, value string) {
		if !set[name] {
			out = append(out, name+"="+value)
		}
	}
	out = append(out, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_EXPORTER_OTLP_INSECURE=true")
	put("OTEL_TRACES_EXPORTER", "otlp")
	put("OTEL_METRICS_EXPORTER", "otlp")
	put("OTEL_LOGS_EXPORTER", "none")
	put("OTEL_BSP_SCHEDULE_DELAY", "1000")
	return out
}
