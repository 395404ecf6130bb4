package main

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/stats"
)

const document = "../../docs/accuracy.md"

// TestRecordedFigures holds the document to the code: every suite is recorded, for the present version of what it
// measures, with the cells and targets that the code states, and every target is met or says what stops it.
func TestRecordedFigures(t *testing.T) {
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites() {
		version, rows, ok := read(string(doc), s.name)
		if !ok {
			t.Errorf("%s is not recorded: go run ./internal/accuracy %s", s.name, s.name)
			continue
		}
		if version != s.version {
			t.Errorf("%s is recorded for version %d and not for %d: go run ./internal/accuracy %s", s.name, version, s.version, s.name)
		}
		cells := s.run(1, 0)
		if len(rows) != len(cells) {
			t.Errorf("%s has %d recorded cells and not %d", s.name, len(rows), len(cells))
			continue
		}
		for i, c := range cells {
			row := rows[i]
			switch {
			case row.name != c.name || row.target != c.target.String():
				t.Errorf("%s: recorded %q, %s; the code says %q, %s", s.name, row.name, row.target, c.name, c.target)
			case row.runs < s.runs:
				t.Errorf("%s, %s: %d runs, want %d", s.name, row.name, row.runs, s.runs)
			case !c.target.met(row.percent/100) && c.missed == "":
				t.Errorf("%s, %s: %.1f %% misses %s, and nothing says why", s.name, row.name, row.percent, c.target)
			}
		}
	}
}

func TestSuitesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds of simulation")
	}
	for _, s := range suites() {
		if s.slow {
			continue
		}
		a, b := s.run(1, 1), s.run(1, 1)
		names := map[string]bool{}
		for i := range a {
			if a[i] != b[i] {
				t.Errorf("%s: %+v, and again %+v", s.name, a[i], b[i])
			}
			if names[a[i].name] {
				t.Errorf("%s has two cells %q", s.name, a[i].name)
			}
			names[a[i].name] = true
		}
	}
}

func TestSectionsAreReplacedAndReadBack(t *testing.T) {
	r := record{
		suite:  suite{name: "one", about: "What it is.", version: 3},
		seed:   1,
		date:   "2026-01-02",
		commit: "abc",
		cells: []cell{
			{name: "met", hits: 1, runs: 100, target: atMost(0.05)},
			{name: "missed", hits: 9, runs: 100, target: between(0.93, 0.97), missed: "Because."},
			{name: "free", hits: 5, runs: 10},
		},
	}
	doc := replace("# Accuracy\n", "one", r.section())
	doc = replace(doc, "two", record{suite: suite{name: "two"}}.section())
	r.version = 4
	doc = replace(doc, "one", r.section())
	if strings.Count(doc, "## one") != 1 || strings.Index(doc, "## one") > strings.Index(doc, "## two") {
		t.Errorf("sections moved or doubled:\n%s", doc)
	}
	version, rows, ok := read(doc, "one")
	want := []recorded{
		{"met", "met", "at most 5 %", 1, 100},
		{"missed", "missed: note 1", "93 … 97 %", 9, 100},
		{"free", "", "", 50, 10},
	}
	if !ok || version != 4 || len(rows) != len(want) {
		t.Fatalf("read %d %v %v", version, rows, ok)
	}
	for i := range want {
		if rows[i] != want[i] {
			t.Errorf("row %d: %+v, want %+v", i, rows[i], want[i])
		}
	}
	if !strings.Contains(doc, "\nNote 1: Because.\n") {
		t.Error("the note is missing")
	}
}

// Where some cells are measured anew, the other rows stay to the digit, and the page says when each came there.
func TestSomeCellsAreMeasuredAnew(t *testing.T) {
	all := record{suite: suite{name: "one", version: 1}, date: "2026-01-02", commit: "abc", cells: []cell{
		{name: "this", hits: 69, runs: 400, target: atMost(0.1), missed: "It was so."},
		{name: "that", hits: 1, runs: 1000},
	}}
	doc := replace("# Accuracy\n", "one", all.section())
	anew := func(hits int) record {
		return record{suite: all.suite, date: "2026-02-03", commit: "def", some: regexp.MustCompile("^that"), cells: []cell{
			{name: "this", target: atMost(0.1), missed: "It was so."},
			{name: "that", hits: hits, runs: 1000},
		}}
	}
	for _, hits := range []int{500, 2} { // the second time the first is forgotten
		r := anew(hits)
		if err := r.fill(doc); err != nil {
			t.Fatal(err)
		}
		doc = replace(doc, "one", r.section())
	}
	_, rows, _ := read(doc, "one")
	want := []recorded{{"this", "missed: note 1", "at most 10 %", 17.2, 400}, {"that", "", "", 0.2, 1000}}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	for _, line := range []string{"\nversion 1, seed 0, 2026-01-02, commit abc, `go run ./internal/accuracy one`, 0 s\n", "\nversion 1, seed 0, 2026-02-03, commit def, `go run ./internal/accuracy -cells '^that' one`, 0 s\n"} {
		if strings.Count(doc, line) != 1 {
			t.Errorf("%q is not there once:\n%s", line, doc)
		}
	}
	other := anew(1)
	other.version = 2
	if err := other.fill(doc); err == nil {
		t.Error("rows of another version are kept")
	}
	fresh := anew(1)
	fresh.cells = append(fresh.cells, cell{name: "new"})
	if err := fresh.fill(doc); err == nil {
		t.Error("a row is there that nobody measured")
	}
}

func TestTargets(t *testing.T) {
	if atMost(0.05).met(0.051) || !atMost(0.05).met(0.05) || atLeast(0.9).met(0.89) || between(0.93, 0.97).met(0.98) || !(target{}).met(0) {
		t.Error("a target is met that should not be, or the other way round")
	}
	// 0 of 100 has the standard error of half a run: √(0.005·0.995/100).
	if got := (cell{runs: 100}).standardError(); math.Abs(got-math.Sqrt(0.005*0.995/100)) > 1e-12 {
		t.Errorf("standard error %v", got)
	}
}

func TestLoadsHaveTheirTrueQuantiles(t *testing.T) {
	// Many requests of each load over a window long enough to forget where it began.
	for _, c := range append(loads(load{n: 3e5, sigma: 0.7}), special(load{n: 1e5, sigma: 0.7})...) {
		if c.taus > 0 && c.taus < 32 {
			continue
		}
		l := c.load
		if l.seconds > 0 {
			l.seconds = 40000
		}
		if testing.Short() && l.seconds > 0 {
			continue
		}
		by := timesAll(1.2)
		r := l.requests(generator(1, c.name), by)
		got, want := float64(stats.Quantile(r.Latency, r.Weight, 0.99)), l.truth(0.99, by)
		if math.Abs(got-want) > 0.03*want {
			t.Errorf("%s: p99 %.0f, want %.0f", c.name, got, want)
		}
		// The expected number that the requests stand for is n.
		total := float64(len(r.Latency))
		if r.Weight != nil {
			total = 0
			for _, w := range r.Weight {
				total += w
			}
		}
		if math.Abs(total-float64(l.n)) > 0.02*float64(l.n) {
			t.Errorf("%s: weight %.0f, want %d", c.name, total, l.n)
		}
	}
}

func TestTheTailAloneIsStretched(t *testing.T) {
	l := load{sigma: 0.5}
	by := l.beyondP95(1.15)
	for q, want := range map[float64]float64{0.5: 1, 0.95: 1, 0.99: 1.15} {
		x := l.quantile(q)
		if got := by(x) / x; math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is stretched by %v, want %v", q, got, want)
		}
	}
}

// Parts of the incidents that are measured one after the other count as all of them at once.
func TestPartsOfTheIncidentsAddUp(t *testing.T) {
	of := func(k, hits, runs int) record {
		return record{suite: suite{name: "one", version: 1}, commit: "abc", part: portion{k, 3}, cells: []cell{
			{name: "this", hits: hits, runs: runs, target: atLeast(0.9)}, {name: "rare"}}}
	}
	doc := "# Accuracy\n"
	for k, r := range []record{of(1, 5, 5), of(2, 2, 4), of(3, 6, 7)} {
		if k > 0 {
			if err := r.join(doc); err != nil {
				t.Fatal(err)
			}
		}
		doc = replace(doc, "one", r.section())
	}
	_, rows, _ := read(doc, "one")
	want := []recorded{{"this", "missed", "at least 90 %", 81.2, 16}, {"rare", "", "", 0, 0}}
	if !slices.Equal(rows, want) || strings.Count(doc, "\nversion 1, ") != 3 {
		t.Errorf("rows %v, want %v:\n%s", rows, want, doc)
	}
	again := of(2, 2, 4)
	if err := again.join(doc); err == nil {
		t.Error("a part was added twice")
	}
	for i, want := range map[int]bool{0: false, 1: true, 2: false, 4: true} {
		if (portion{2, 3}).has(i) != want || !(portion{}).has(i) {
			t.Errorf("incident %d of part 2/3", i)
		}
	}
}
