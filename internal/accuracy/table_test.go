package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tailscope/tailscope/samples/gen/scenario"
)

var update = flag.Bool("update", false, "rewrite the table of planted causes and rankings")

const (
	table = "testdata/ranking.txt"

	tableRequests = 500
	tableSeed     = 1
)

// costly are the incidents of the system that takes longest to simulate; the table has some of them.
var costly = []string{"search/server-queue", "search/client-wait", "search/service-time", "search/instance", "search/fan-out-documents",
	"search/hedging", "search/serialization", "search/two-causes"}

// TestRankingTable holds the causes that lead, for each incident that is simulated here, to the table of planted causes
// and rankings. A change of the analysis may change it: read the difference, then rewrite it with -update. Every second
// incident is without metrics.
func TestRankingTable(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of simulation")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What was planted, and what is said to be the cause: the first three, with their strength. %d requests a side, seed %d.\n", tableRequests, tableSeed)
	b.WriteString("# Rewritten by go test ./internal/accuracy -run TestRankingTable -update\n")
	first, three, n := 0, 0, 0
	for i, sc := range scenario.List() {
		if strings.HasPrefix(sc.Name, "search/") && !slices.Contains(costly, sc.Name) {
			continue
		}
		a, err := simulation{scenario: sc, seed: tableSeed, requests: tableRequests, blind: i%2 == 1}.analyze()
		if err != nil {
			t.Fatal(err)
		}
		metrics := ""
		if a.blind {
			metrics = ", no metrics"
		}
		fmt.Fprintf(&b, "\n%s%s: %s\n", sc.Name, metrics, a.endpoint.Verdict)
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
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("rankings differ from %s (-recorded +now):\n%s", table, d)
	}
}
