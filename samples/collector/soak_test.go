package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The soak is a script of its own:
//
//	go test -run Soak -soak 10m -timeout 20m -v .
var (
	soak     = flag.Duration("soak", 0, "how long the soak lasts; 0 skips it")
	soakRate = flag.Int("soak-rate", 5000, "spans a second")
)

// A Collector under steady load with little memory stays under its limit: the
// exporter's memory_limit and what a Collector takes without it.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("give -soak 10m")
	}
	const limit, bare = 128, 160 // MiB; a Collector without load, and the garbage of its receiver
	dir := t.TempDir()
	r := startWith(t, dir, strings.NewReplacer("window: 1h", "window: 30s, history: 6, memory_limit: 128MiB", "quiet: 500ms", "quiet: 5s"))
	rng := rand.New(rand.NewPCG(5, 6))
	began := time.Now()
	most, sent := 0, 0
	var worst time.Duration
	next := began.Add(30 * time.Second)
	for time.Since(began) < *soak {
		at := time.Now()
		n := *soakRate / 3 / 5
		td := requests(rng, n, at.Add(-time.Minute))
		for _, rs := range td.ResourceSpans().All() { // now, not in the past hour
			for _, s := range rs.ScopeSpans().At(0).Spans().All() {
				took := s.EndTimestamp() - s.StartTimestamp()
				s.SetEndTimestamp(ts(at))
				s.SetStartTimestamp(ts(at) - took)
			}
		}
		before := time.Now()
		send(t, []*replica{r}, td)
		worst = max(worst, time.Since(before))
		sent += 3 * n
		mib := resident(t, r.cmd.Process.Pid)
		most = max(most, mib)
		if time.Now().After(next) {
			files, _ := filepath.Glob(filepath.Join(dir, "window-*.snap"))
			t.Logf("%4.0f s: %9d spans, %d MiB resident, at most %d, %d windows", time.Since(began).Seconds(), sent, mib, most, len(files))
			next = next.Add(30 * time.Second)
		}
		if rest := 200*time.Millisecond - time.Since(at); rest > 0 {
			time.Sleep(rest)
		}
	}
	r.end(t)
	took := time.Since(began)
	s := merged(t, dir)
	t.Logf("%d spans in %.0f s, %.0f a second; %d in the snapshots; at most %d MiB resident; the longest send took %v", sent, took.Seconds(), float64(sent)/took.Seconds(), s.Counts.Spans, most, worst.Round(time.Millisecond))
	if most > limit+bare {
		t.Errorf("%d MiB resident; memory_limit is %d, and a Collector takes %d", most, limit, bare)
	}
	if int(s.Counts.Spans) < sent*99/100 {
		t.Errorf("%d of %d spans are in the snapshots", s.Counts.Spans, sent)
	}
}

// resident is the resident memory of a process, in MiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc")
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib >> 10
		}
	}
	return 0
}
