package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tailscope/tailscope/samples/gen/scenario"
)

var update = flag.Bool("update", false, "rewrite the table of planted causes and rankings")

func init() {
	flag.StringVar(&cache, "cache", "", "keep simulated data in `DIR`, as the command does")
}

const (
	table = "testdata/ranking.txt"

	tableRequests = 1000
	tableSeed     = 1
)

// costly are the incidents of the system that takes longest to simulate; the table has some of them.
var costly = []string{"search/server-queue", "search/client-wait", "search/service-time", "search/instance", "search/hedging"}

// perTest is how many incidents there are for each that a test runs; -update runs
// all.
const perTest = 4

// TestRankingTable holds incidents to the table of planted causes and rankings:
// where the planted cause led, it still has to. -update runs all and rewrites the
// table; read the difference. Every second incident is without metrics.
func TestRankingTable(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of simulation")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What was planted, and what is said to be the cause: the first three, with their strength. %d requests a side, seed %d.\n", tableRequests, tableSeed)
	b.WriteString("# Rewritten by go test ./internal/accuracy -run TestRankingTable -update\n")
	var list []simulation
	for i, sc := range scenario.List() {
		if sc.Verdict == scenario.NoChange || strings.HasPrefix(sc.Name, "search/") && !slices.Contains(costly, sc.Name) {
			continue // nulls have no causes: the suites count them
		}
		if !*update && i%perTest != 0 {
			continue // all of them take minutes
		}
		list = append(list, simulation{scenario: sc, seed: tableSeed, requests: tableRequests, blind: i%2 == 1 && !sc.Metered})
	}
	answers := make([]*answer, len(list))
	var workers sync.WaitGroup
	var next atomic.Int64
	for range 2 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				a, err := list[i].analyze()
				if err != nil {
					t.Error(err)
					continue
				}
				answers[i] = a
			}
		})
	}
	workers.Wait()
	if t.Failed() {
		return
	}
	ran, now := map[string]bool{}, map[string]bool{} // the planted cause leads
	first, three, n := 0, 0, 0
	for _, a := range answers {
		sc := a.scenario
		ran[sc.Name] = true
		metrics := ""
		if a.blind {
			metrics = ", no metrics"
		}
		head := fmt.Sprintf("%s%s: %s", sc.Name, metrics, a.endpoint.Verdict)
		if a.place() == 1 {
			head += ", as planted"
			now[sc.Name] = true
		}
		fmt.Fprintf(&b, "\n%s\n", head)
		for k := range a.truth.Causes {
			fmt.Fprintf(&b, "    %s\n", plantedAs(&a.truth.Causes[k]))
		}
		for i := range min(3, len(a.endpoint.Hypotheses)) {
			h := &a.endpoint.Hypotheses[i]
			fmt.Fprintf(&b, "  %d %s, %s\n", i+1, called(h), h.Strength)
		}
		if sc.Verdict == scenario.Regression || sc.Verdict == scenario.Improvement {
			n++
			if a.place() == 1 {
				first++
			}
			if a.inThree() {
				three++
			}
		}
	}
	fmt.Fprintf(&b, "\nOf %d incidents with causes in the system %d have one that was planted first, %d all of them among three.\n", n, first, three)
	if *update {
		if err := os.WriteFile(table, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(want)) {
		if head, ok := strings.CutSuffix(strings.TrimSpace(line), ", as planted"); ok {
			name, _, _ := strings.Cut(head, ":")
			if name, _, _ = strings.Cut(name, ","); ran[name] && !now[name] {
				t.Errorf("%s: the planted cause led, and does not any more", name)
			}
		}
	}
}
