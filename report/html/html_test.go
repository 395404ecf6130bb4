package html

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
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
	"mercury": reporttest.Mercury, "single": reporttest.SingleSet, "cannot-tell": reporttest.CannotTell,
	"empty": reporttest.Empty, "metrics-only": reporttest.MetricsOnly, "hostile": reporttest.Hostile,
}

var traces = map[string]func() *report.Trace{
	"trace": reporttest.Trace, "trace.hostile": reporttest.HostileTrace, "trace.wide": func() *report.Trace { return reporttest.WideTrace(1000) },
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
	for _, s := range append([]string{"", "\" onload=\"x", "{{.}}"}, reporttest.HostileNames...) {
		r, tr := reporttest.Mercury(), reporttest.Trace()
		reporttest.Poison(r, s, report.Baseline, report.Current)
		reporttest.Poison(tr, s)
		var a, b bytes.Buffer
		if err := Write(&a, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := WriteTrace(&b, tr, Options{}); err != nil {
			t.Fatal(err)
		}
		out["report of "+s], out["trace of "+s] = a.Bytes(), b.Bytes()
	}
	return out
}

func TestGolden(t *testing.T) {
	for name, got := range outputs(t) {
		path := filepath.Join("testdata", name+".html")
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
			t.Errorf("%s is not what is drawn; run go test ./report/html -update and read the diff", path)
		}
	}
}

// Every element is closed, none is a script, nothing points outside the file, and nothing steers a terminal.
func TestLaws(t *testing.T) {
	all := outputs(t)
	maps.Copy(all, poisoned(t))
	for name, out := range all {
		for _, r := range string(out) {
			if r != '\n' && !escape.Shown(r) {
				t.Errorf("%s holds %U", name, r)
			}
		}
		for _, bad := range []string{`<script`, `<img`, `<iframe`, `<link`, `<b>`, `(?i)(src|href)="[^#]`, `javascript:alert\(1\)"`, `url\([^#]`, `@import`, `\son\w+=["']`} {
			if m := regexp.MustCompile(bad).Find(out); m != nil {
				t.Errorf("%s holds %q", name, m)
			}
		}
		if n := bytes.Count(out, []byte("</style>")); n != 1 {
			t.Errorf("%s has %d ends of style", name, n)
		}
		d := xml.NewDecoder(bytes.NewReader(out))
		d.Strict, d.AutoClose, d.Entity = true, []string{"meta"}, xml.HTMLEntity
		for {
			_, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

// A name that looks escaped shows as it is.
func TestHostileNamesShow(t *testing.T) {
	out := string(outputs(t)["trace.hostile"])
	for _, want := range []string{"&amp;lt;b&amp;gt;", `svc\x1b[31m&lt;b&gt;x&lt;/b&gt;`, `\u202egnp.exe\u202c`, "注文サービス/決済を確定する"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
}
