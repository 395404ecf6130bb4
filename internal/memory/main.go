//go:build unix

// Memory measures how much memory tailscope takes under a bound, on data from the
// simulator that are larger than it:
//
//	go run ./internal/memory --gib 5 --memory 512MiB
//
// It generates runs of one scenario with several seeds, which stand beside each
// other as the files of one data set, analyses them in a process of its own, and
// prints a row of the table in docs/performance.md. Directories with data are
// reused.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

func main() {
	dir := flag.String("dir", "", "generate the data into `DIR`, or use those that are there; empty: a temporary directory")
	want := flag.Int64("gib", 5, "generate at least so many `GiB`")
	memory := flag.String("memory", "512MiB", "the bound")
	scenario := flag.String("scenario", "mercury/drill", "what is simulated")
	encoding := flag.String("encoding", "json", "how they are encoded: json or proto")
	requests := flag.Int("requests", 60_000, "requests a side of each seed")
	flag.Parse()
	if err := run(*dir, *want<<30, *memory, *scenario, *encoding, *requests); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, want int64, memory, scenario, encoding string, requests int) error {
	tmp, err := os.MkdirTemp("", "tailscope-memory")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if dir == "" {
		dir = filepath.Join(tmp, "data")
	}
	tailscope, gen := filepath.Join(tmp, "tailscope"), filepath.Join(tmp, "gen")
	for out, pkg := range map[string]string{tailscope: "./cmd/tailscope", gen: "./samples/gen"} {
		if err := command("go", "build", "-o", out, pkg).Run(); err != nil {
			return err
		}
	}
	for seed := 1; size(dir) < want; seed++ {
		if err := generate(gen, dir, scenario, encoding, seed, requests); err != nil {
			return err
		}
	}

	c := command(tailscope, "analyze", "--memory", memory, "--baseline", filepath.Join(dir, "baseline"), "--current", filepath.Join(dir, "current"), "--format", "json")
	var out bytes.Buffer
	c.Stdout = &out
	c.Env = append(os.Environ(), "TMPDIR="+tmp)
	if err := c.Run(); err != nil {
		return err
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return fmt.Errorf("no resource usage on %s", runtime.GOOS)
	}
	peak := usage.Maxrss
	if runtime.GOOS != "darwin" { // which counts bytes, and others kibibytes
		peak <<= 10
	}
	var r struct {
		Run    struct{ Kept string }
		Ingest struct{ Spans, Traces int64 }
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(tmp, "tailscope-*"))
	if err != nil {
		return err
	}
	fmt.Printf("| %.1f GiB | %.1f M | %d k | %s | %d MiB | %s | %.1f µs | %d |\n",
		float64(size(dir))/(1<<30), float64(r.Ingest.Spans)/1e6, r.Ingest.Traces/1000, memory, peak>>20, r.Run.Kept,
		float64((c.ProcessState.UserTime()+c.ProcessState.SystemTime()).Microseconds())/float64(r.Ingest.Spans), len(left))
	return nil
}

// generate adds the files of one seed to the sides' directories.
func generate(gen, dir, scenario, encoding string, seed, requests int) error {
	part := filepath.Join(dir, fmt.Sprintf("seed-%d", seed))
	if err := command(gen, "--scenario", scenario, "--out", part, "--encoding", encoding, "--requests", fmt.Sprint(requests), "--seed", fmt.Sprint(seed), "--truth", "summary").Run(); err != nil {
		return err
	}
	for _, side := range []string{"baseline", "current"} {
		files, err := os.ReadDir(filepath.Join(part, side))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, side), 0o777); err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Rename(filepath.Join(part, side, f.Name()), filepath.Join(dir, side, fmt.Sprintf("seed-%d-%s", seed, f.Name()))); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(part)
}

func command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c
}

// size is the bytes of the files below dir.
func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
