package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tailscope/tailscope/trace/tracetest"
)

var update = flag.Bool("update", false, "rewrite expected output in testdata")

// The scripts run this binary as the command.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tailscope": main, "instrumented": instrumented})
}

// Scripts are the command as a user meets it: what is on stdout and stderr, and
// the exit code. Beside testscript's own words they have
//
//	sketch FILE OUT           a drawn trace (package tracetest) as OTLP JSON, a line per span
//	exits CODE COMMAND ARG…   runs a command and wants this exit code
//	quiet                     the last command wrote nothing to stderr
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sketch": func(ts *testscript.TestScript, neg bool, args []string) {
				out, err := tracetest.OTLP(ts.ReadFile(args[0]))
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o644))
			},
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				got := 0
				var exit *exec.ExitError
				if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
					got = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if got != want {
					ts.Fatalf("exit code %d, want %d", got, want)
				}
			},
			"quiet": func(ts *testscript.TestScript, neg bool, args []string) {
				if s := ts.ReadFile("stderr"); s != "" {
					ts.Fatalf("stderr: %s", s)
				}
			},
			"same": func(ts *testscript.TestScript, neg bool, args []string) {
				if ts.ReadFile(args[0]) != ts.ReadFile(args[1]) {
					ts.Fatalf("%s", fmt.Sprintf("%s and %s differ", args[0], args[1]))
				}
			},
		},
	})
}
