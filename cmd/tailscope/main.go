// Tailscope explains a slow tail: from traces and metrics to ranked causes, each
// with the observation that would refute it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/internal/unasked"
)

// Exit codes.
const (
	exitDone          = 0
	exitBreach        = 1 // check: a budget is breached
	exitUnusable      = 2 // input or usage
	exitNotComparable = 3 // every compared endpoint
	exitInterrupted   = 130
)

// version is set by the linker in releases.
var version = ""

func init() { unasked.Restore() }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A reader that went away is an error of a write, which run knows.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// An exit is an outcome that is not success, without a message of its own.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// A usageError is a mistake in the command line.
type usageError struct{ msg, cure string }

func (e *usageError) Error() string { return e.msg }

// run is the command as a function.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ctx, end := selfTrace(ctx, commandName(root, args), stderr)
	err := root.ExecuteContext(ctx)
	end(err)
	var code exit
	var usage *usageError
	var input *ingest.InputError
	var unknown *analysis.TraceError
	var edge *analysis.EdgeError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, syscall.EPIPE):
		return exitDone // the reader has seen enough
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "tailscope: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "tailscope: %s\n", printable(usage.msg))
		if usage.cure != "" {
			fmt.Fprintf(stderr, "  %s\n", printable(usage.cure))
		}
	case errors.As(err, &input), errors.As(err, &unknown), errors.As(err, &edge):
		fmt.Fprintf(stderr, "tailscope: %s\n", printable(err.Error()))
	default:
		fmt.Fprintf(stderr, "tailscope: %s\n", printable(err.Error()))
	}
	return exitUnusable
}

// commandName is the name of the command that args ask for.
func commandName(root *cobra.Command, args []string) string {
	if c, _, err := root.Find(args); err == nil && c != root {
		return c.Name()
	}
	return "help"
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tailscope",
		Short: "explain a slow tail from traces and metrics",
		Long: `Tailscope reads traces and metrics that a team already has and says whether the
tail of an endpoint changed, what the time of its slow requests is made of, and
which causes could explain it, each with an observation that would refute it.`,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Sprintf("unknown command %q", args[0]), "tailscope --help lists the commands"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("tailscope {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usageError{err.Error(), c.CommandPath() + " --help lists the flags"}
	})
	root.AddCommand(
		analyzeCommand(),
		tuiCommand(),
		graphCommand(),
		traceCommand(),
		inspectCommand(),
		timeoutsCommand(),
		whatIfCommand(),
		checkCommand(),
		mergeCommand(),
		explainCommand(),
		convertCommand(),
		serveCommand(),
		captureCommand(),
	)
	return root
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "devel"
}
