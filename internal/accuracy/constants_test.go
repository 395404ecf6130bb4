package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNumbersThatCanBeSet(t *testing.T) {
	s, err := sourceOf([]string{"./testdata/numbers"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range s.numbers {
		got = append(got, fmt.Sprintf("%s = %s = %v, whole %v", n.name, n.text, n.value, n.whole))
	}
	want := []string{
		"late = 5 = 5, whole true",
		"share = 0.5 = 0.5, whole false",
		"few = 3 = 3, whole true",
		"pause = 2 * time.Millisecond = 2e+06, whole true",
		"wide = size = 4, whole true",
		"within = 1_000 = 1000, whole true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	dial := func(name string) string {
		file, err := filepath.Abs("testdata/numbers/" + name)
		if err != nil {
			t.Fatal(err)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(apply(src, s.edits[file]))
	}
	other := dial("late.go")
	for _, line := range []string{`; import "time"`, `t.d > dial.Read[time.Duration](0)`} {
		if !strings.Contains(other, line) {
			t.Errorf("%q is not in\n%s", line, other)
		}
	}
	dialled := dial("numbers.go")
	for _, line := range []string{
		`package numbers; import "github.com/tailscope/tailscope/internal/accuracy/dial"`,
		`return x > -dial.Read[float64](1) && n < 2*dial.Read[int64](2)*dial.Read[int64](5) && d < dial.Read[time.Duration](3) &&`,
		`len(cells) > dial.Read[int](4)`,
		`cells [size]int`,
		`const within = 1_000`,
	} {
		if !strings.Contains(dialled, line) {
			t.Errorf("%q is not in\n%s", line, dialled)
		}
	}
	for _, text := range []string{dialled, other, string(s.dialSource())} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil {
			t.Error(err)
		}
	}
}

func TestNumbersMultiplied(t *testing.T) {
	for _, c := range []struct {
		n    number
		by   float64
		want float64
		ok   bool
	}{
		{number{value: 0.5}, 2, 1, true},
		{number{value: 3, whole: true}, 0.5, 1, true},
		{number{value: 1, whole: true}, 0.5, 0, false},
		{number{value: 0}, 2, 0, false},
	} {
		if x, ok := c.n.times(c.by); ok != c.ok || ok && x != c.want {
			t.Errorf("%v times %g is %g, %v; want %g, %v", c.n.value, c.by, x, ok, c.want, c.ok)
		}
	}
}

// The recorded section is of constants that there are: a row whose constant has gone or has another value is stale.
func TestRecordedConstants(t *testing.T) {
	doc, err := os.ReadFile("../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	from, to := strings.Index(string(doc), begin(constantsName)), strings.Index(string(doc), end(constantsName))
	if from < 0 || to < from {
		t.Fatal("no section " + constantsName)
	}
	var paths []string
	for _, p := range dialled {
		paths = append(paths, "../../"+p)
	}
	s, err := sourceOf(paths)
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]string{}
	for _, n := range s.numbers {
		is[n.file+" "+n.name] = n.text
	}
	rows := regexp.MustCompile(`(?m)^\| (\w+) \| (\S+\.go) \| (.+?) \|`).FindAllStringSubmatch(string(doc)[from:to], -1)
	recorded := map[string]bool{}
	for _, r := range rows {
		recorded[r[2]+" "+r[1]] = true
		if text, ok := is[r[2]+" "+r[1]]; !ok || text != r[3] {
			t.Errorf("%s of %s is recorded as %s, and is %q", r[1], r[2], r[3], text)
		}
	}
	for _, n := range s.numbers {
		if strings.HasPrefix(n.file, "hypotheses/") && !recorded[n.file+" "+n.name] {
			t.Errorf("%s of %s is not recorded", n.name, n.file)
		}
	}
}

func TestRowsThatMove(t *testing.T) {
	rows := []string{
		"| a | x/y.go | 1 | 3 | 13, 13, 0, 0, 0 | 13, 13, 0, 0, 0 |",
		"| b | x/y.go | 1 | 3 | — | 12, 13, 1, 0, 1 |",
		"| c | x/y.go | 1 | 0 | | |",
		"| d | x/y.go | 0.5 | 3 | 13, 13, 0, 0, 2 | — |",
		"| e | x/y.go | 0.5 | 3 | fails | 13, 13, 0, 0, 0 |",
	}
	if n := moving(rows, "13, 13, 0, 0, 0"); n != 3 {
		t.Errorf("%d rows move, want 3", n)
	}
}
