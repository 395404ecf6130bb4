package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// The cases are small inputs with their right answers, each a file in
// testdata/cases that begins with what it is about. Its sections are
//
//	spans         drawn traces (package tracetest); they become spans.jsonl, OTLP JSON
//	spans *N      the same N times, a second apart
//	spans … FILE  in another file
//	analyze ARGS  facts of the JSON report, one a line; without ARGS of all inputs
//	trace ID      one trace as lines: its path, late work, and what runs after; times
//	              in ms. -update writes them: read the difference before believing it
//	text ARGS     "present RE" and "absent RE" of the output of a command
//	NAME          any other section is an input file of that name
//
// A fact is PATH = VALUE. A path has keys, [n], [*] and [key=value] for the
// elements of which it holds; a value is a number, from..to, a quoted text, ~RE,
// true, null or absent. All places that the path names must have the value, and
// there must be one. count PATH and sum PATH are of the places. endpoints are the
// rows of whole endpoints; rows are those of classes and shapes too.
func TestCases(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := c.write(t)
			rewritten := false
			for i := range c.archive.Files {
				f := &c.archive.Files[i]
				word, args, _ := strings.Cut(f.Name, " ")
				switch word {
				case "analyze":
					var doc map[string]any
					out := c.run(t, dir, append(append([]string{"analyze", "--inner", "--format", "json"}, c.paths(args)...), strings.Fields(args)...))
					decode(t, out, &doc)
					checkReport(t, out)
					doc["rows"] = doc["endpoints"]
					doc["endpoints"], _ = at(doc, "rows[class=][shape=]")
					for n, line := range strings.Split(string(f.Data), "\n") {
						if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
							continue
						}
						if err := fact(doc, line); err != nil {
							t.Errorf("%s, line %d: %s: %v", f.Name, n+1, line, err)
						}
					}
				case "trace":
					id, more, _ := strings.Cut(args, " ")
					out := c.run(t, dir, append(append([]string{"trace", "--format", "json", id}, c.paths(more)...), strings.Fields(more)...))
					valid(t, traceSchema, out)
					got := lines(t, out)
					if *update {
						rewritten = rewritten || got != string(f.Data)
						f.Data = []byte(got)
					} else if got != string(f.Data) {
						t.Errorf("%s: got\n%swant\n%s", f.Name, got, f.Data)
					}
				case "text":
					words := strings.Fields(args)
					out := string(c.run(t, dir, append(words, c.paths(strings.Join(words[1:], " "))...)))
					for _, line := range strings.Split(strings.TrimSpace(string(f.Data)), "\n") {
						kind, re, _ := strings.Cut(line, " ")
						if found := regexp.MustCompile(re).MatchString(out); found != (kind == "present") {
							t.Errorf("%s: %s; output:\n%s", f.Name, line, out)
						}
					}
				}
			}
			if rewritten {
				if err := os.WriteFile(filepath.Join("testdata/cases", c.name+".txtar"), txtar.Format(c.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A testCase is one file of testdata/cases.
type testCase struct {
	name    string
	archive *txtar.Archive
	inputs  map[string][]byte
}

func cases(t *testing.T) []testCase {
	t.Helper()
	names, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var out []testCase
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := testCase{strings.TrimSuffix(filepath.Base(name), ".txtar"), a, map[string][]byte{}}
		first := 1
		for _, f := range a.Files {
			word, rest, _ := strings.Cut(f.Name, " ")
			switch word {
			case "spans":
				n, file := 1, "spans.jsonl"
				for _, w := range strings.Fields(rest) {
					if times, ok := strings.CutPrefix(w, "*"); !ok {
						file = w
					} else if n, err = strconv.Atoi(times); err != nil {
						t.Fatal(name, f.Name, err)
					}
				}
				drawn, err := tracetest.OTLP(string(f.Data))
				if err != nil {
					t.Fatalf("%s: %s: %v", name, f.Name, err)
				}
				traces := len(idOf(drawn))
				for i := range n {
					moved := renumbered(drawn, first)
					c.inputs[file] = append(c.inputs[file], shifted(moved, int64(i)*1e9)...)
					first += traces
				}
			case "analyze", "trace", "text":
			default:
				c.inputs[f.Name] = f.Data
			}
		}
		out = append(out, c)
	}
	return out
}

// write writes the inputs into a new directory.
func (c *testCase) write(t *testing.T) string {
	dir := t.TempDir()
	for name, data := range c.inputs {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// paths is all inputs, unless args name some.
func (c *testCase) paths(args string) []string {
	var names []string
	for name := range c.inputs {
		if slices.ContainsFunc(strings.Fields(args), c.isInput) {
			return nil
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isInput reports whether an argument names an input, or matches one as a glob.
func (c *testCase) isInput(arg string) bool {
	for name := range c.inputs {
		if ok, err := filepath.Match(arg, name); ok && err == nil {
			return true
		}
	}
	return false
}

// run runs the command on files of dir and returns its stdout.
func (c *testCase) run(t *testing.T, dir string, args []string) []byte {
	t.Helper()
	for i, a := range args {
		if c.isInput(a) {
			args[i] = filepath.Join(dir, a)
		}
	}
	return command(t, args...)
}

// command runs the command in this process, and wants success and silence.
func command(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, strings.NewReader(""), &out, &errs)
	if (code != exitDone && code != exitNotComparable) || errs.Len() > 0 {
		t.Fatalf("tailscope %s: exit %d, stderr: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.Bytes()
}

func decode(t *testing.T, out []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(out, to); err != nil {
		t.Fatal(err)
	}
}

var (
	times    = regexp.MustCompile(`("(?:startT|endT|t)imeUnixNano":")(-?\d+)`)
	traceIDs = regexp.MustCompile(`("traceId":")([0-9a-f]{32})`)
)

// shifted is OTLP JSON with all times moved.
func shifted(data []byte, by int64) []byte {
	return times.ReplaceAllFunc(data, func(b []byte) []byte {
		m := times.FindSubmatch(b)
		n, _ := strconv.ParseInt(string(m[2]), 10, 64)
		return strconv.AppendInt(m[1], n+by, 10)
	})
}

// idOf is the trace ids of OTLP JSON.
func idOf(data []byte) map[string]bool {
	ids := map[string]bool{}
	for _, m := range traceIDs.FindAllSubmatch(data, -1) {
		ids[string(m[2])] = true
	}
	return ids
}

// renumbered is drawn traces, whose ids count from 1, counted from first.
func renumbered(data []byte, first int) []byte {
	return traceIDs.ReplaceAllFunc(data, func(b []byte) []byte {
		m := traceIDs.FindSubmatch(b)
		n, _ := strconv.ParseUint(string(m[2][16:]), 16, 64)
		return fmt.Appendf(m[1], "%032x", n+uint64(first)-1)
	})
}

// lines shows a trace as a test reads it.
func lines(t *testing.T, out []byte) string {
	t.Helper()
	tr, err := report.DecodeTrace(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, s := range tr.Spans {
		kinds[s.SpanID] = s.SpanKind
	}
	var b strings.Builder
	at := int64(0)
	for _, s := range tr.Path {
		if s.StartNS != at || s.EndNS <= s.StartNS {
			t.Errorf("the path is not a tiling at %d: %+v", at, s)
		}
		at = s.EndNS
		fmt.Fprintf(&b, "%s..%s  %s %s %s: %s", tracetest.Format(s.StartNS), tracetest.Format(s.EndNS), s.Service, s.Name, s.SpanKind, s.Kind)
		if strings.Contains(s.Evidence, "inferred") {
			b.WriteString(", inferred")
		}
		b.WriteByte('\n')
	}
	if at != tr.DurationNS {
		t.Errorf("the path sums to %d of %d", at, tr.DurationNS)
	}
	for _, s := range tr.Late {
		fmt.Fprintf(&b, "late  %s..%s  %s %s %s, left at %s\n", tracetest.Format(s.StartNS), tracetest.Format(s.EndNS), s.Service, s.Name, kinds[s.SpanID], tracetest.Format(s.DepartedNS))
	}
	for _, s := range tr.After {
		fmt.Fprintf(&b, "after  %s..%s  %s %s %s\n", tracetest.Format(s.StartNS), tracetest.Format(s.EndNS), s.Service, s.Name, kinds[s.SpanID])
	}
	names := map[string]string{}
	for _, s := range tr.Spans {
		names[s.SpanID] = s.Service + " " + s.Name
		if s.ShiftNS != 0 {
			fmt.Fprintf(&b, "shifted  %s  %s %s %s\n", tracetest.Format(s.ShiftNS), s.Service, s.Name, s.SpanKind)
		}
	}
	for _, d := range tr.Defects {
		fmt.Fprintf(&b, "%s  %s\n", d.Kind, names[d.SpanID])
	}
	return b.String()
}

// fact checks a line such as "sum endpoints[*].requests.current.sampled = 3".
func fact(doc map[string]any, line string) error {
	place, want, ok := strings.Cut(line, " = ")
	if !ok {
		return fmt.Errorf("want PATH = VALUE")
	}
	op, rest, _ := strings.Cut(place, " ")
	if op == "count" || op == "sum" {
		place = rest
	} else {
		op = ""
	}
	found, err := at(doc, place)
	if err != nil {
		return err
	}
	switch {
	case op == "count":
		found = []any{float64(len(found))}
	case op == "sum":
		total := 0.0
		for _, v := range found {
			x, _ := v.(float64)
			total += x
		}
		found = []any{total}
	case want == "absent":
		if len(found) > 0 {
			return fmt.Errorf("got %v", found)
		}
		return nil
	case len(found) == 0:
		return fmt.Errorf("there is no such place")
	}
	for _, v := range found {
		if !equal(v, want) {
			return fmt.Errorf("got %v", found)
		}
	}
	return nil
}

// equal compares a JSON value with how a fact writes it.
func equal(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == strconv.FormatBool(v)
	case string:
		if re, ok := strings.CutPrefix(want, "~"); ok {
			return regexp.MustCompile(re).MatchString(v)
		}
		text, err := strconv.Unquote(want)
		return err == nil && text == v
	case float64:
		lo, hi, ok := strings.Cut(want, "..")
		if !ok {
			hi = lo
		}
		a, err1 := strconv.ParseFloat(lo, 64)
		b, err2 := strconv.ParseFloat(hi, 64)
		eps := 1e-9 * math.Max(1, math.Abs(v))
		return err1 == nil && err2 == nil && a-eps <= v && v <= b+eps
	}
	return false
}

var step = regexp.MustCompile(`^(?:\.?([^.\[\]]+)|\[(\*|\d+)\]|\[([^=\]]+)=([^\]]*)\])`)

// at is the values at a path.
func at(doc any, path string) ([]any, error) {
	found := []any{doc}
	for path != "" {
		m := step.FindStringSubmatch(path)
		if m == nil {
			return nil, fmt.Errorf("bad path at %q", path)
		}
		path = path[len(m[0]):]
		var next []any
		for _, v := range found {
			list, _ := v.([]any)
			object, _ := v.(map[string]any)
			switch {
			case m[1] != "":
				if x, ok := object[m[1]]; ok {
					next = append(next, x)
				}
			case m[2] == "*":
				next = append(next, list...)
			case m[2] != "":
				if n, _ := strconv.Atoi(m[2]); n < len(list) {
					next = append(next, list[n])
				}
			case object != nil: // a second condition on an element that was found
				if got, err := at(object, m[3]); err == nil && len(got) == 1 && fmt.Sprint(got[0]) == m[4] {
					next = append(next, v)
				}
			default:
				for _, x := range list {
					if got, err := at(x, m[3]); err == nil && len(got) == 1 && fmt.Sprint(got[0]) == m[4] {
						next = append(next, x)
					}
				}
			}
		}
		found = next
	}
	return found, nil
}
