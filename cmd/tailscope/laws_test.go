package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// The laws relate two runs of the command. They are checked on every case whose
// input is OTLP JSON in whole lines, and on the committed sample.

// lawful is an input that laws are checked on: the lines of each side; a single
// data set has none of a baseline.
type lawful struct {
	name string
	side [2][][]byte // baseline, current
}

const large = "samples/mercury"

func lawfuls(t *testing.T) []lawful {
	var out []lawful
	for _, c := range cases(t) {
		l := lawful{name: c.name}
		ok := true
		for name, data := range c.inputs {
			side := 1
			if strings.HasPrefix(name, "baseline") {
				side = 0
			}
			ok = ok && (side == 0 || strings.HasPrefix(name, "current") || name == "spans.jsonl" || name == "metrics.jsonl" || name == "hostile.jsonl")
			l.side[side] = append(l.side[side], splitLines(data)...)
		}
		if ok {
			out = append(out, l)
		}
	}
	if !testing.Short() {
		out = append(out, lawful{large, [2][][]byte{sample(t, "baseline"), sample(t, "current")}})
	}
	return out
}

func splitLines(data []byte) [][]byte {
	return slices.DeleteFunc(bytes.SplitAfter(data, []byte("\n")), func(b []byte) bool { return len(b) == 0 })
}

// sample is the lines of one side of samples/mercury.
func sample(t *testing.T, side string) [][]byte {
	t.Helper()
	names, err := filepath.Glob("../../samples/mercury/" + side + "/*.zst")
	if err != nil || len(names) == 0 {
		t.Fatal("no sample: ", err)
	}
	var all [][]byte
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		z.Close()
		f.Close()
		all = append(all, splitLines(data)...)
	}
	return all
}

// analyze writes the lines of each side into n files, by part, and returns the report.
func (l *lawful) analyze(t *testing.T, n int, part func(i int) int, change func([]byte) []byte) *report.Report {
	t.Helper()
	args := []string{"analyze", "--format", "json"}
	if l.name != large { // of which the entry endpoint is enough
		args = append(args, "--inner")
	}
	for side, lines := range l.side {
		if lines == nil {
			continue
		}
		dir := t.TempDir()
		for k := range n {
			var file []byte
			for i, line := range lines {
				if part(i) == k {
					file = append(file, change(line)...)
				}
			}
			if len(file) > 0 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", k)), file, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		switch {
		case l.side[0] == nil:
			args = append(args, dir)
		case side == 0:
			args = append(args, "--baseline", dir)
		default:
			args = append(args, "--current", dir)
		}
	}
	r := checkReport(t, command(t, args...))
	r.Ingest.Files = nil // names and places
	return r
}

func (l *lawful) shuffled(rng *rand.Rand) *lawful {
	s := &lawful{name: l.name}
	for i, lines := range l.side {
		s.side[i] = slices.Clone(lines)
		rng.Shuffle(len(lines), func(a, b int) { s.side[i][a], s.side[i][b] = s.side[i][b], s.side[i][a] })
	}
	return s
}

func encoded(t *testing.T, r *report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := report.Encode(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func one(int) int             { return 0 }
func asIs(line []byte) []byte { return line }
func same(t *testing.T, law string, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("%s: line %d of the report is %s, was %s", law, i+1, b[i], a[i])
			return
		}
	}
	t.Errorf("%s: %d lines and %d", law, len(a), len(b))
}

// farShift is a multiple of 2^20 s, so that no block of time is cut elsewhere.
const farShift = 3 << 20

func TestLaws(t *testing.T) {
	for _, l := range lawfuls(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			plain := l.analyze(t, 1, one, asIs)
			want := encoded(t, plain)
			reconciles(t, plain)

			rng := rand.New(rand.NewPCG(1, uint64(len(want))))
			same(t, "shuffled over files", want, encoded(t, l.shuffled(rng).analyze(t, 3, func(i int) int { return i % 3 }, asIs)))

			if l.name == "request-start" {
				return // its stamps are times of their own
			}
			moved := l.analyze(t, 1, one, func(b []byte) []byte { return shifted(b, farShift*1e9) })
			for i := range moved.Run.Sets {
				if moved.Run.Sets[i].From == plain.Run.Sets[i].From && plain.Run.Sets[i].From != "" {
					t.Errorf("set %d begins at %s as before", i, moved.Run.Sets[i].From)
				}
				moved.Run.Sets[i].From, moved.Run.Sets[i].To = plain.Run.Sets[i].From, plain.Run.Sets[i].To
			}
			same(t, "shifted", want, moment.ReplaceAllStringFunc(encoded(t, moved), func(text string) string {
				at, err := time.Parse(time.RFC3339, strings.TrimPrefix(text, "time="))
				if err != nil {
					t.Error(err)
				}
				return "time=" + at.Add(-farShift*time.Second).Format(time.RFC3339)
			}))

			// A prefix keeps the order of services.
			key, prefix := `{"key":"service.name","value":{"stringValue":"`, "qq-"
			renamed := l.analyze(t, 1, one, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(key), []byte(key+prefix)) })
			if len(renamed.Endpoints) != len(plain.Endpoints) {
				t.Fatalf("renamed: %d endpoints, were %d", len(renamed.Endpoints), len(plain.Endpoints))
			}
			for i := range renamed.Endpoints {
				renamed.Endpoints[i].Shape = plain.Endpoints[i].Shape
			}
			same(t, "renamed", want, strings.ReplaceAll(encoded(t, renamed), prefix, ""))
		})
	}
}

// moment is a time at which a guard proposes to split a set.
var moment = regexp.MustCompile(`time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// Random traces are odd on purpose (package tracetest). Whatever they are, the
// report holds its own rules, and shuffling changes nothing.
func TestRandomTraces(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			l := lawful{name: "random"}
			for side := range l.side {
				if side == 0 && seed%3 == 0 {
					continue // a single data set
				}
				store := trace.NewStore(trace.NewTables())
				store.KeepAll = true
				spans := tracetest.Random(rng, 3+rng.IntN(20))
				for i := range spans {
					spans[i].Flags = 0 // OTLP has none
				}
				tracetest.Fill(store, spans)
				data, err := tracetest.Lines(store)
				if err != nil {
					t.Fatal(err)
				}
				l.side[side] = splitLines(data)
			}
			want := encoded(t, l.analyze(t, 1, one, asIs))
			same(t, "shuffled over files", want, encoded(t, l.shuffled(rng).analyze(t, 2, func(i int) int { return i % 2 }, asIs)))
		})
	}
}

// A part of a run is the traces whose id falls to it. Snapshots of the parts,
// merged in any order, are the snapshot of the whole, to the byte.
func TestMergeOfParts(t *testing.T) {
	for _, c := range cases(t) {
		data, ok := c.inputs["spans.jsonl"]
		if !ok || len(c.inputs) > 1 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			files := [4][]byte{0: data}
			for _, line := range splitLines(data) {
				k := 1 + lastDigit(t, line)%3
				files[k] = append(files[k], line...)
			}
			var snaps []string
			for k, file := range files {
				if len(file) == 0 {
					continue
				}
				in, snap := filepath.Join(dir, fmt.Sprintf("%d.jsonl", k)), filepath.Join(dir, fmt.Sprintf("%d.snap", k))
				if err := os.WriteFile(in, file, 0o644); err != nil {
					t.Fatal(err)
				}
				command(t, "analyze", in, "--save", snap)
				snaps = append(snaps, snap)
			}
			merged := filepath.Join(dir, "merged.snap")
			parts := snaps[1:]
			slices.Reverse(parts)
			command(t, append([]string{"merge", "-o", merged}, parts...)...)
			a, _ := os.ReadFile(snaps[0])
			b, err := os.ReadFile(merged)
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("the merge of %d parts has %d bytes, the whole %d: %v", len(parts), len(b), len(a), err)
			}
		})
	}
}

// lastDigit is that of the trace id of a line's span, not of a link's in it.
func lastDigit(t *testing.T, line []byte) byte {
	t.Helper()
	var d struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []struct{ TraceID string } }
		}
	}
	if err := json.Unmarshal(line, &d); err != nil {
		t.Fatal(err)
	}
	id := d.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceID
	return id[len(id)-1]
}

// reconciles checks that what is counted in parts is counted as a whole: requests
// by outcome, attempts by why they were made, late work by whether it waited.
func reconciles(t *testing.T, r *report.Report) {
	t.Helper()
	near := func(what string, whole report.Float, parts ...report.Float) {
		t.Helper()
		var sum report.Float
		for _, p := range parts {
			sum += p
		}
		if d := whole - sum; max(d, -d) > 1e-6*max(1, whole) {
			t.Errorf("%s: %v in parts, %v as a whole", what, sum, whole)
		}
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		name := e.Service + " " + e.Operation
		for _, q := range []*report.Requests{e.Requests.Baseline, &e.Requests.Current} {
			if q != nil {
				near(name+": offered", q.Offered, q.Completed, q.Failed, q.TimedOut, q.Cancelled, q.Rejected)
			}
		}
		for _, a := range e.Attempts {
			for _, x := range []*report.AttemptTotals{a.Baseline, &a.AttemptTotals} {
				if x != nil {
					near(name+": attempts of "+a.Operation, x.Attempts, x.Logical, x.Retries, x.Hedges)
				}
			}
		}
		var late report.Float
		for _, x := range e.LateWork.Edges {
			late += x.LateAttempts
			if x.TotalMs > 0 {
				near(name+": late work of "+x.Operation, x.TotalMs, report.Float(x.WaitingMs.Or(0)), report.Float(x.WorkingMs.Or(0)))
			}
			if x.LateAttempts > x.Attempts || x.StartedAfter > x.LateAttempts {
				t.Errorf("%s: of %v calls of %s %v were late, of which %v began late", name, x.Attempts, x.Operation, x.LateAttempts, x.StartedAfter)
			}
		}
		if !e.Inner {
			near(name+": late attempts", e.LateWork.LateAttempts, late)
		}
	}
}
