// Accuracy measures how often the analysis is right, by simulation, and records the figures in docs/accuracy.md.
//
//	go run ./internal/accuracy            every suite
//	go run ./internal/accuracy SUITE...   some of them
//	go run ./internal/accuracy -try RUNS SUITE...   with fewer simulations, to standard output only
//	    -cache DIR      keep what was simulated, to analyse it again
//	    -only REGEXP    some incidents
//	    -seed N         others than those that are recorded: to repair by, while the recorded ones are held out
//	go run ./internal/accuracy -part 2/8 SUITE   an eighth of the incidents, in suites of incidents: the first part begins
//	    the section anew, each other is added to what it records
//	go run ./internal/accuracy -cells REGEXP SUITE   some cells of a suite; the other rows stay as they are recorded
//	go run ./internal/accuracy -cache DIR -constants REGEXP   how rankings move with the constants of the causes
//
// Each suite is one file here: it adds itself to the list, owns one section of the document and states its targets.
// A test checks that the recorded figures meet them and belong to the present version of what they measure.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

func main() {
	try := flag.Int("try", 0, "simulate each cell only `runs` times; print and leave the document alone")
	flag.StringVar(&cache, "cache", "", "keep simulated data in `DIR` and read it from there; empty it when the simulator changes")
	seed := flag.Uint64("seed", recordedSeed, "simulate from `SEED`; with -try")
	match := flag.String("only", "", "incidents that match `REGEXP`, in suites of incidents; with -try")
	which := flag.String("constants", "", "halve and double the constants of the causes that match `REGEXP`, over the incidents of -only; needs -cache")
	some := flag.String("cells", "", "measure the cells that match `REGEXP`, in suites that can; the others keep what is recorded of them")
	flag.Func("part", "measure part `k/n` of the incidents, in suites of incidents", part.set)
	flag.Parse()
	if *some != "" {
		cells = regexp.MustCompile(*some)
	}
	if *match != "" {
		only = regexp.MustCompile(*match)
	}
	if *which != "" {
		if only == nil {
			only = regexp.MustCompile("all spans, no metrics")
		}
		if err := sensitivity(regexp.MustCompile(*which), only, filepath.Join("docs", "accuracy.md")); err != nil {
			fmt.Fprintln(os.Stderr, "accuracy:", err)
			os.Exit(1)
		}
		return
	}
	if (only != nil || *seed != recordedSeed) && *try == 0 {
		fmt.Fprintln(os.Stderr, "accuracy: -only and -seed need -try: what is recorded is of all incidents, and of one seed")
		os.Exit(2)
	}
	debug.SetGCPercent(800) // much short-lived, little kept
	if err := run(flag.Args(), *seed, *try); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// recordedSeed is that of the recorded figures.
const recordedSeed = 1

func run(names []string, seed uint64, try int) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	path := filepath.Join(root, "docs", "accuracy.md")
	for _, s := range chosen {
		if try > 0 {
			s.runs = try
		}
		began := time.Now()
		r := record{suite: s, seed: seed, date: began.UTC().Format(time.DateOnly), commit: commit(), some: cells, part: part}
		r.cells = s.run(r.seed, s.runs)
		r.took = time.Since(began)
		if try > 0 {
			r.cells = slices.DeleteFunc(r.cells, func(c cell) bool { return c.runs == 0 })
			fmt.Println(r.section())
			continue
		}
		// Read anew for every suite, which may take minutes, so that two that run at once lose nothing.
		doc, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if cells != nil {
			if err := r.fill(string(doc)); err != nil {
				return err
			}
		}
		if part.k > 1 {
			if err := r.join(string(doc)); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, []byte(replace(string(doc), s.name, r.section())), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// choose finds suites by name; all without names.
func choose(names []string) ([]suite, error) {
	if len(names) == 0 {
		return suites(), nil
	}
	var chosen []suite
	for _, name := range names {
		found := false
		for _, s := range suites() {
			if s.name == name {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no suite %q; there are %s", name, strings.Join(suiteNames(), ", "))
		}
	}
	return chosen, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	return strings.TrimSpace(string(out)), err
}

// commit names the code that is measured, with a + where it is not all committed.
func commit() string {
	id, err := git("rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := git("status", "--porcelain", "--", "*.go"); err != nil || changed != "" {
		id += "+"
	}
	return id
}
