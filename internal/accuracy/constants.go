package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

// constantsName is the section of the document that says how much depends on each constant.
const constantsName = "constants"

// A panel sets the numbers of the program, and knows which were read.
type panel struct {
	set    func(i int, x float64)
	forget func()
	was    func(i int) bool
}

// dials are nil but in a program that was built to set its numbers.
var dials *panel

// An outcome is what an answer to an incident comes to.
type outcome struct {
	first, three bool   // as planted
	sure         bool   // another cause is first, and not weak
	alarm        bool   // nothing became slower, but a cause leads
	leads        string // what is first, with its strength
}

func outcomeOf(a *answer) outcome {
	hs := a.endpoint.Hypotheses
	o := outcome{leads: string(a.endpoint.Verdict)}
	if len(hs) > 0 {
		o.leads = called(&hs[0]) + ", " + string(hs[0].Strength)
	}
	if a.truth.Verdict == scenario.NoChange || a.truth.Verdict == scenario.Artefact {
		o.alarm = a.endpoint.Verdict == report.Regression && len(hs) > 0 && hs[0].Kind != report.Measurement
		return o
	}
	o.first, o.three = a.place() == 1, a.inThree()
	o.sure = len(hs) > 0 && !o.first && hs[0].Strength != report.Weak
	return o
}

// A tally adds up outcomes.
type tally struct{ first, three, sure, alarms, others int }

func (t tally) String() string {
	return fmt.Sprintf("%d, %d, %d, %d, %d", t.first, t.three, t.sure, t.alarms, t.others)
}

// sum is the tally of outcomes, of which as many are other than before as lead with something else.
func sum(outcomes, before []outcome) tally {
	var t tally
	for i, o := range outcomes {
		for _, c := range []struct {
			is bool
			n  *int
		}{{o.first, &t.first}, {o.three, &t.three}, {o.sure, &t.sure}, {o.alarm, &t.alarms}, {o.leads != before[i].leads, &t.others}} {
			if c.is {
				*c.n++
			}
		}
	}
	return t
}

// incidentsFor are those of the suite of labelled incidents that are to be analysed again and again.
func incidentsFor(match *regexp.Regexp) []simulation {
	var out []simulation
	for n, sc := range scenario.List() {
		for _, c := range conditions {
			if c.blind && sc.Metered || n%c.every > 0 || !match.MatchString(sc.Name+", "+c.name) {
				continue
			}
			out = append(out, simulation{scenario: sc, seed: recordedSeed, requests: c.requests, head: c.head, blind: c.blind})
		}
	}
	return out
}

// sensitivity measures incidents with each constant halved and doubled, and writes the section about it. A constant
// that the analysis of an incident never reads cannot move it: it is not analysed again.
func sensitivity(which, match *regexp.Regexp, path string) error {
	if cache == "" {
		return fmt.Errorf("-constants needs -cache: it analyses the same data again and again")
	}
	s, err := sourceOf(dialled)
	if err != nil {
		return err
	}
	if dials == nil {
		dir, err := os.MkdirTemp("", "constants")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		bin, err := s.build(dir)
		if err != nil {
			return err
		}
		cmd := exec.Command(bin, os.Args[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	incidents := incidentsFor(match)
	before := make([]outcome, len(incidents))
	reads := make([]map[int]bool, len(incidents))
	for k, in := range incidents {
		dials.forget()
		a, err := in.analyze()
		if err != nil {
			return err
		}
		before[k], reads[k] = outcomeOf(a), map[int]bool{}
		for i := range s.numbers {
			if dials.was(i) {
				reads[k][i] = true
			}
		}
	}
	moved := func(i int, by float64) string {
		n := s.numbers[i]
		x, ok := n.times(by)
		if !ok {
			return "—"
		}
		dials.set(i, x)
		defer dials.set(i, n.value)
		after := slices.Clone(before)
		for k, in := range incidents {
			if !reads[k][i] {
				continue
			}
			a, err := in.analyze()
			if err != nil {
				return "fails"
			}
			after[k] = outcomeOf(a)
		}
		return sum(after, before).String()
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	asTheyAre := fmt.Sprintf("As they are, of %d incidents: %v.", len(incidents), sum(before, before))
	kept, lines := keptRows(string(doc), asTheyAre)
	var rows []string
	for i, n := range s.numbers {
		if !which.MatchString(n.file + " " + n.name) {
			if row := kept[n.row()]; row != "" {
				rows = append(rows, row)
			}
			continue
		}
		by := 0
		for _, r := range reads {
			if r[i] {
				by++
			}
		}
		if by == 0 {
			rows = append(rows, n.row()+" 0 | | |")
			continue
		}
		row := fmt.Sprintf("%s %d | %s | %s |", n.row(), by, moved(i, 0.5), moved(i, 2))
		fmt.Fprintln(os.Stderr, row)
		rows = append(rows, row)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n## %s\n\n", begin(constantsName), constantsName)
	fmt.Fprintf(&b, `How the ranking moves when a constant of the causes or of the waits is halved or doubled. Each entry counts incidents: a planted cause
first, all of them in three, another cause first that is not weak, a false alarm, and those that lead with another cause or another
strength than with the constants as they are. %s A whole number is halved downwards; — where that is
nothing. Read: by the analysis of how many of the incidents; the others cannot move. Of %d constants %d move anything.

%s%s, commit %s, `+"`go run ./internal/accuracy -cache DIR -constants '%s' -only '%s'`\n\n", asTheyAre, len(rows), moving(rows, sum(before, before).String()), lines,
		time.Now().UTC().Format(time.DateOnly), commit(), which, match)
	b.WriteString("| constant | file | value | read | halved | doubled |\n|---|---|---:|---:|---:|---:|\n")
	b.WriteString(strings.Join(rows, "\n") + "\n" + end(constantsName))
	return os.WriteFile(path, []byte(replace(string(doc), constantsName, b.String())), 0o644)
}

// keptRows are the rows of the recorded section by how they begin, and the lines that say how they came there, if the
// incidents came to the same when they were measured.
func keptRows(doc, asTheyAre string) (rows map[string]string, lines string) {
	from, to := strings.Index(doc, begin(constantsName)), strings.Index(doc, end(constantsName))
	if from < 0 || to < from || !strings.Contains(doc[from:to], asTheyAre) {
		return nil, ""
	}
	rows = map[string]string{}
	for _, m := range constantRow.FindAllStringSubmatch(doc[from:to], -1) {
		rows[m[1]] = m[0]
	}
	for _, line := range constantLine.FindAllString(doc[from:to], -1) {
		lines += line + "\n\n"
	}
	return rows, lines
}

var (
	constantRow  = regexp.MustCompile(`(?m)^(\| \w+ \| \S+\.go \| .+? \|) .*$`)
	constantLine = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d, commit .*$`)
)

// row is how the number's row begins.
func (n number) row() string { return fmt.Sprintf("| %s | %s | %s |", n.name, n.file, n.text) }

// moving is how many rows say that something is other than as the constants are.
func moving(rows []string, asTheyAre string) (n int) {
	for _, row := range rows {
		cells := strings.Split(row, " | ")
		if slices.ContainsFunc(cells[len(cells)-2:], func(c string) bool {
			c = strings.Trim(c, "| ")
			return strings.Contains(c, ",") && c != asTheyAre || c == "fails"
		}) {
			n++
		}
	}
	return n
}
