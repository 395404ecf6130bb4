package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// No command asks the terminal anything before it does its work: one that does not
// answer would make every start take five seconds. TERM is the user's afterwards.
func TestTerminalIsNotAsked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems' script takes other flags")
	}
	script, err := exec.LookPath("script")
	if err != nil {
		t.Fatalf("this test needs script of util-linux: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(script, "-qec", self+" -test.run '^TestSaysTERM$' -test.v", filepath.Join(t.TempDir(), "typescript"))
	c.Env = append(os.Environ(), "TERM=xterm-256color")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if at := bytes.IndexByte(out, 0x1b); at >= 0 {
		t.Errorf("the terminal is asked: %q", out[at:min(len(out), at+40)])
	}
	if !bytes.Contains(out, []byte("TERM is xterm-256color")) {
		t.Errorf("%q", out)
	}
}

// TestSaysTERM is what TestTerminalIsNotAsked starts.
func TestSaysTERM(t *testing.T) { t.Logf("TERM is %s", os.Getenv("TERM")) }
