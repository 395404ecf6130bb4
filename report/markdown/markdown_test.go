package markdown

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/reporttest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var reports = map[string]func() *report.Report{
	"mercury": reporttest.Mercury, "single": reporttest.SingleSet, "cannot-tell": reporttest.CannotTell, "not-tested": reporttest.NotTested,
	"empty": reporttest.Empty, "metrics-only": reporttest.MetricsOnly, "hostile": reporttest.Hostile,
}

var traces = map[string]func() *report.Trace{
	"trace": reporttest.Trace, "trace.hostile": reporttest.HostileTrace,
	"trace.wide": func() *report.Trace { return reporttest.WideTrace(1000) }, "trace.deep": func() *report.Trace { return reporttest.DeepTrace(30) },
}

func outputs(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, f := range reports {
		var b bytes.Buffer
		if err := Write(&b, f(), Options{}); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	for name, f := range traces {
		var b bytes.Buffer
		if err := WriteTrace(&b, f(), Options{Rows: 40}); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	return out
}

// poisoned are a report and a trace with every string replaced, by name of the string.
func poisoned(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, s := range append([]string{"", "|", "\\", "`", "]", "# a", "- ", "1."}, reporttest.HostileNames...) {
		r, tr := reporttest.Mercury(), reporttest.Trace()
		reporttest.Poison(r, s, report.Baseline, report.Current)
		reporttest.Poison(tr, s)
		var b bytes.Buffer
		if err := Write(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := WriteTrace(&b, tr, Options{}); err != nil {
			t.Fatal(err)
		}
		out[s] = b.Bytes()
	}
	return out
}

func TestGolden(t *testing.T) {
	for name, got := range outputs(t) {
		path := filepath.Join("testdata", name+".md")
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is drawn; run go test ./report/markdown -update and read the diff", path)
		}
	}
}

// Tables are even, nothing of the data begins a block or a link, and nothing steers a terminal.
func TestLaws(t *testing.T) {
	bar := regexp.MustCompile(`(^|[^\\])\|`)
	all := outputs(t)
	maps.Copy(all, poisoned(t))
	for name, out := range all {
		columns, fence := 0, ""
		for i, l := range strings.Split(string(out), "\n") {
			for _, r := range l {
				if !escape.Shown(r) {
					t.Errorf("%s:%d holds %U", name, i+1, r)
				}
			}
			if strings.HasPrefix(l, "```") {
				if fence == "" {
					fence = l
				} else if l == fence {
					fence = ""
				}
				columns = 0
				continue
			}
			if fence != "" {
				continue
			}
			if !strings.HasPrefix(l, "|") {
				columns = 0
			} else if n := len(bar.FindAllString(strings.ReplaceAll(l, "||", "| |"), -1)); columns == 0 {
				columns = n
			} else if n != columns {
				t.Errorf("%s:%d has %d bars, its head has %d: %s", name, i+1, n, columns, l)
			}
			for _, bad := range []string{`(^|[^\\])\]\(`, `<(script|img|b|/pre|/style|!--)`, `^\s*# heading`, `https?://`} {
				if regexp.MustCompile(bad).MatchString(l) {
					t.Errorf("%s:%d matches %s: %s", name, i+1, bad, l)
				}
			}
		}
		if fence != "" {
			t.Errorf("%s ends inside a code block", name)
		}
	}
}

// A trace has a row for each of its spans.
func TestRowPerSpan(t *testing.T) {
	out := string(outputs(t)["trace.hostile"])
	_, table, _ := strings.Cut(out, "| :-- | --: | --: | --: | :-- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if got, want := strings.Count(table, "\n")+1, len(reporttest.HostileTrace().Spans); got != want {
		t.Errorf("%d rows for %d spans", got, want)
	}
}
