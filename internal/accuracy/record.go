package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A record is what a suite measured, as it is written to the document.
type record struct {
	suite
	seed  uint64
	cells []cell

	date, commit string
	took         time.Duration

	some   *regexp.Regexp // which cells were measured; nil: all
	before []string       // how the others were: the lines that say so
	part   portion        // of the incidents; zero: all
}

func begin(suite string) string { return "<!-- begin " + suite + " -->" }
func end(suite string) string   { return "<!-- end " + suite + " -->" }

// section is the suite's part of the document, with its markers.
func (r record) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n## %s\n\n%s\n\n", begin(r.name), r.name, strings.TrimSpace(r.about))
	for _, line := range r.before {
		b.WriteString(line + "\n")
	}
	command := r.name
	if r.some != nil {
		command = fmt.Sprintf("-cells '%v' %s", r.some, r.name)
	}
	if r.part.n > 0 {
		command = fmt.Sprintf("-part %v %s", r.part, command)
	}
	fmt.Fprintf(&b, "version %d, seed %d, %s, commit %s, `go run ./internal/accuracy %s`, %d s\n\n",
		r.version, r.seed, r.date, r.commit, command, int(r.took.Seconds()))
	b.WriteString("| cell | share | s.e. | runs | target | |\n|---|---:|---:|---:|---|---|\n")
	var notes []string
	for _, c := range r.cells {
		verdict := ""
		if c.runs == 0 { // of a part that holds none
			fmt.Fprintf(&b, "| %s | 0.0 %% | 0.0 | 0 | %s | |\n", c.name, c.target)
			continue
		}
		switch {
		case !c.target.bound():
		case c.target.met(c.share()):
			verdict = "met"
		default:
			verdict = "missed"
			if c.missed != "" {
				if !slices.Contains(notes, c.missed) {
					notes = append(notes, c.missed)
				}
				verdict = fmt.Sprintf("missed: note %d", slices.Index(notes, c.missed)+1)
			}
		}
		fmt.Fprintf(&b, "| %s | %.1f %% | %.1f | %d | %s | %s |\n", c.name, 100*c.share(), 100*c.standardError(), c.runs, c.target, verdict)
	}
	for i, note := range notes {
		fmt.Fprintf(&b, "\nNote %d: %s\n", i+1, note)
	}
	b.WriteString(end(r.name))
	return b.String()
}

func (t target) String() string {
	percent := func(p float64) string { return strconv.FormatFloat(100*p, 'f', -1, 64) + " %" }
	switch {
	case !t.bound():
		return ""
	case t.least == 0:
		return "at most " + percent(t.most)
	case t.most == 1:
		return "at least " + percent(t.least)
	}
	return strconv.FormatFloat(100*t.least, 'f', -1, 64) + " … " + percent(t.most)
}

// replace puts a section in the place of the suite's present one, or at the end of the document.
func replace(doc, suite, section string) string {
	from, to := strings.Index(doc, begin(suite)), strings.Index(doc, end(suite))
	if from < 0 || to < from {
		return strings.TrimRight(doc, "\n") + "\n\n" + section + "\n"
	}
	return doc[:from] + section + doc[to+len(end(suite)):]
}

// fill takes the cells that were not measured from the suite's section of a document, with the lines that say how they
// came there.
func (r *record) fill(doc string) error {
	if !slices.ContainsFunc(r.cells, func(c cell) bool { return c.runs == 0 }) {
		return nil
	}
	version, rows, ok := read(doc, r.name)
	if !ok || version != r.version {
		return fmt.Errorf("%s: nothing of version %d is recorded to keep: measure all cells", r.name, r.version)
	}
	for i := range r.cells {
		c := &r.cells[i]
		if c.runs > 0 {
			continue
		}
		at := slices.IndexFunc(rows, func(row recorded) bool { return row.name == c.name })
		if at < 0 {
			return fmt.Errorf("%s: %q is neither measured nor recorded", r.name, c.name)
		}
		// Up to 1,000 runs a percentage with one decimal is one number of hits.
		c.runs = rows[at].runs
		c.hits = int(math.Round(rows[at].percent / 100 * float64(c.runs)))
	}
	from := strings.Index(doc, begin(r.name))
	section := doc[from : from+strings.Index(doc[from:], end(r.name))]
	for _, line := range versionLine.FindAllString(section, -1) {
		if !strings.Contains(line, fmt.Sprintf("-cells '%v' ", r.some)) { // the same cells again: that line is of no cell any more
			r.before = append(r.before, line)
		}
	}
	return nil
}

// join adds what the suite's section of a document counts, of other parts of the incidents.
func (r *record) join(doc string) error {
	version, rows, ok := read(doc, r.name)
	if !ok || version != r.version || len(rows) != len(r.cells) {
		return fmt.Errorf("%s: no other part of version %d is recorded: begin with -part 1/%d", r.name, r.version, r.part.n)
	}
	for i := range r.cells {
		c := &r.cells[i]
		if rows[i].name != c.name {
			return fmt.Errorf("%s: %q is recorded where %q is measured: begin with -part 1/%d", r.name, rows[i].name, c.name, r.part.n)
		}
		c.hits += int(math.Round(rows[i].percent / 100 * float64(rows[i].runs)))
		c.runs += rows[i].runs
	}
	from := strings.Index(doc, begin(r.name))
	section := doc[from : from+strings.Index(doc[from:], end(r.name))]
	for _, line := range versionLine.FindAllString(section, -1) {
		if strings.Contains(line, fmt.Sprintf("-part %v ", r.part)) {
			return fmt.Errorf("%s: part %v is recorded", r.name, r.part)
		}
		r.before = append(r.before, line)
	}
	return nil
}

var (
	versionLine = regexp.MustCompile(`(?m)^version (\d+), .*`)
	cellRow     = regexp.MustCompile(`(?m)^\| (.+?) \| ([0-9.]+) % \| [0-9.]+ \| (\d+) \| (.*?) \| (.*?) ?\|$`)
)

// A recorded cell is one row of the document.
type recorded struct {
	name, verdict, target string
	percent               float64
	runs                  int
}

// read gives the version and the rows of a suite's section; ok is false if there is none.
func read(doc, suite string) (version int, rows []recorded, ok bool) {
	from, to := strings.Index(doc, begin(suite)), strings.Index(doc, end(suite))
	if from < 0 || to < from {
		return 0, nil, false
	}
	section := doc[from:to]
	m := versionLine.FindStringSubmatch(section)
	if m == nil {
		return 0, nil, false
	}
	version, _ = strconv.Atoi(m[1])
	for _, m := range cellRow.FindAllStringSubmatch(section, -1) {
		percent, _ := strconv.ParseFloat(m[2], 64)
		runs, _ := strconv.Atoi(m[3])
		rows = append(rows, recorded{m[1], strings.TrimSpace(m[5]), strings.TrimSpace(m[4]), percent, runs})
	}
	return version, rows, true
}
