package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/live/receive"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
	"github.com/tailscope/tailscope/summary"
)

// shutdown is how long an end of serve or capture waits for requests under way
// and for what is open to be analysed.
const shutdown = 30 * time.Second

func serveCommand() *cobra.Command {
	var f inputFlags
	o := live.New()
	var grpc, web, show, compare, baseline, format string
	var keep redact.Policy
	c := &cobra.Command{
		Use:   "serve",
		Short: "take OTLP and compare each window of time with those before it",
		Long: `Serve takes traces and metrics by OTLP (gRPC and HTTP, protobuf and JSON, gzip
and zstd; each address takes both), keeps traces until they are whole, and when a
window of time is over compares it with the windows before it, with another
version, or with a snapshot. It listens on this machine alone unless told
otherwise. The last report is on a page that can only be read. When it is
interrupted it analyses what is open and prints the last report.`,
		Example: `  tailscope serve --window 1m --dir snapshots/
  tailscope serve --compare version --version-of checkout
  tailscope serve --baseline monday.snap`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Sprintf("serve reads no files: %q", args[0]), "tailscope analyze does; give a snapshot to compare with by --baseline"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			render, ok := renderers[format]
			if !ok {
				return &usageError{fmt.Sprintf("--format: %q is not a format", format), "text, json, markdown or html"}
			}
			if err := f.options(&o.Analysis); err != nil {
				return err
			}
			o.Compare = live.Comparison(compare)
			if baseline != "" {
				if c.Flags().Changed("compare") && o.Compare != live.Pinned {
					return &usageError{"--baseline with --compare " + compare, "a baseline is compared with as it is: leave out --compare"}
				}
				o.Compare = live.Pinned
				b, err := snapshotOf(c.Context(), baseline, &o.Analysis)
				if err != nil {
					return err
				}
				o.Baseline = b
			}
			if f.memory != "" {
				o.Memory = o.Analysis.Memory
			}
			o.Analysis.Memory = 0 // of files
			if err := o.Check(); err != nil {
				field, what, _ := strings.Cut(err.Error(), ": ")
				flag := strings.ReplaceAll(strings.TrimSuffix(field, "_limit"), "_", "-")
				return &usageError{fmt.Sprintf("--%s %s", flag, what), ""}
			}
			for flag, keys := range map[string]redact.Patterns{"allow": keep.Allow, "redact": keep.Redact} {
				if err := keys.Check(); err != nil {
					return &usageError{fmt.Sprintf("--%s: %v", flag, err), ""}
				}
			}
			keep.Reads = o.Analysis.Reads()
			s := &server{stderr: c.ErrOrStderr(), o: o, keep: &keep}
			last, err := s.run(c.Context(), []listening{{grpc, "OTLP"}, {web, "OTLP"}}, show)
			if err != nil {
				return err
			}
			if last == nil {
				return nil
			}
			return render(c.OutOrStdout(), last.Report, page.Options{})
		},
	}
	f.add(c)
	c.Flags().StringVar(&grpc, "grpc", "127.0.0.1:4317", "`ADDRESS` that takes OTLP; empty for none")
	c.Flags().StringVar(&web, "http", "127.0.0.1:4318", "another `ADDRESS` that takes OTLP; empty for none")
	c.Flags().StringVar(&show, "page", "127.0.0.1:4320", "`ADDRESS` of the page with the last report; empty for none")
	c.Flags().DurationVar(&o.Window, "window", o.Window, "length of a window")
	c.Flags().IntVar(&o.History, "history", o.History, "completed windows that a window is compared with")
	c.Flags().DurationVar(&o.Quiet, "quiet", o.Quiet, "a trace is whole when none of its spans came for so long")
	c.Flags().DurationVar(&o.MaxAge, "max-age", o.MaxAge, "a trace whose spans keep coming is analysed after so long")
	c.Flags().StringVar(&compare, "compare", string(o.Compare), "what a window is compared with: time (the windows before it) or version (the newest with the one most requests went to besides)")
	c.Flags().IntVar(&o.Looks, "looks", o.Looks, "how many times a window is compared while it is open; a regression is reported then")
	c.Flags().StringVar(&o.VersionOf, "version-of", "", "`SERVICE` whose version counts; that of the service where a trace begins if not given")
	c.Flags().StringVar(&baseline, "baseline", "", "compare every window with `PATH`: a snapshot, or data")
	memoryFlag(c, "hold at most `SIZE` of memory, as 512MiB; what does not fit is shed by whole traces (default 512MiB)")
	c.Flags().StringVar(&o.Dir, "dir", "", "write snapshots and reports to `DIRECTORY`, and go on with those there")
	c.Flags().IntVar(&o.Retain, "retain", o.Retain, "windows whose snapshots are kept there")
	c.Flags().BoolVar(&o.OnlyRegressions, "only-regressions", false, "write a report only where a regression is found")
	c.Flags().StringSliceVar((*[]string)(&keep.Allow), "allow", []string{"*"}, "`ATTRIBUTES` of entry spans and resources that are kept besides those that the analysis reads; * at the end stands for any rest")
	c.Flags().StringSliceVar((*[]string)(&keep.Redact), "redact", redact.Default, "`ATTRIBUTES` that are not kept even so; SQL literals and query strings never are")
	c.Flags().StringVar(&format, "format", "text", "of the last report, printed at the end: text, json, markdown or html")
	return c
}

// snapshotOf is the snapshot of a path.
func snapshotOf(ctx context.Context, path string, with *analysis.Options) ([]byte, error) {
	o := *with
	o.Current = [][]string{{path}}
	l, err := analysis.Load(ctx, &o)
	if err != nil {
		return nil, err
	}
	return summary.Encode(l.Sides[summary.Current]), nil
}

// memoryFlag says what --memory means where a stream is read.
func memoryFlag(c *cobra.Command, usage string) {
	c.Flags().Lookup("memory").Usage = usage
}

// A listening is an address and what it is for.
type listening struct{ address, what string }

// A server runs an engine behind listeners.
type server struct {
	stderr io.Writer
	o      live.Options
	keep   *redact.Policy

	mu sync.Mutex // of stderr
}

func (s *server) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.stderr, "tailscope: %s\n", printable(fmt.Sprintf(format, args...)))
}

// run serves until ctx ends, and returns the last report.
func (s *server) run(ctx context.Context, otlp []listening, show string) (*live.Published, error) {
	s.o.Warn = func(err error) { s.say("%v", err) }
	s.o.Report = func(p *live.Published) { s.say("%s", line(p)) }
	e, err := live.Open(s.o)
	if err != nil {
		return nil, &usageError{err.Error(), ""}
	}
	h := receive.New(e, s.keep)
	var servers []*http.Server
	var wg sync.WaitGroup
	end := func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		defer cancel()
		for _, srv := range servers {
			if srv.Shutdown(late) != nil {
				srv.Close()
			}
		}
		wg.Wait()
	}
	listen := func(l listening, srv *http.Server) error {
		listener, err := net.Listen("tcp", l.address)
		if err != nil {
			return &usageError{fmt.Sprintf("cannot listen on %s: %v", l.address, errors.Unwrap(err)), "is another receiver running? --grpc, --http and --page take other addresses"}
		}
		warn := ""
		if !receive.Loopback(listener.Addr().String()) {
			warn = "; other machines can reach it, without encryption or authentication"
		}
		s.say("%s on http://%s%s", l.what, listener.Addr(), warn)
		servers = append(servers, srv)
		wg.Go(func() {
			if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				s.say("%v", err)
			}
		})
		return nil
	}
	running, stop := context.WithCancel(ctx)
	wg.Go(func() { e.Run(running) })
	for _, l := range otlp {
		if l.address != "" {
			err = errors.Join(err, listen(l, h.Server()))
		}
	}
	if show != "" {
		err = errors.Join(err, listen(listening{show, "the last report"}, &http.Server{Handler: e.Page(), ReadHeaderTimeout: 10 * time.Second}))
	}
	if err != nil {
		stop()
		end()
		return nil, &usageError{err.Error(), "is another receiver running? --grpc, --http and --page take other addresses"}
	}
	<-ctx.Done()
	stop()
	end()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
	defer cancel()
	if err := e.Close(late, time.Now()); err != nil {
		s.say("%v", err)
	}
	n := e.Stats()
	s.say("%d spans received: %d analysed, %d late, %d shed, %d open", n.Received, n.Analysed, n.Late, n.Shed, n.Open)
	return e.Latest(), nil
}

// line is a report in one line.
func line(p *live.Published) string {
	what := "window " + p.Window.Format("15:04:05")
	if p.Open {
		what += " (open)"
	}
	endpoints, regressions := 0, ""
	for i := range p.Report.Endpoints {
		row := &p.Report.Endpoints[i]
		if !row.Whole() {
			continue
		}
		endpoints++
		if row.Verdict == report.Regression {
			regressions += prose.Sprintf("; regression of %s %s: p99 %.4g -> %.4g ms", row.Service, row.Operation, row.P99.BaselineMs.Or(0), row.P99.CurrentMs.Or(0))
			if len(row.Hypotheses) > 0 {
				first := row.Hypotheses[0]
				regressions += fmt.Sprintf(" (%s)", first.Kind)
			}
		}
	}
	if regressions == "" {
		regressions = ", no regression"
	}
	return fmt.Sprintf("%s: %d endpoints%s", what, endpoints, regressions)
}
