package text

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/reporttest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs at line %d; -update rewrites it\n got %q\nwant %q", path, i+1, g[i], strings.Join(w[i:min(i+1, len(w))], ""))
		}
	}
	t.Fatalf("%s is longer than what is drawn; -update rewrites it", path)
}

func drawn(t *testing.T, r *report.Report, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func drawnTrace(t *testing.T, r *report.Trace, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteTrace(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var reports = map[string]func() *report.Report{
	"mercury": reporttest.Mercury, "single": reporttest.SingleSet, "cannot-tell": reporttest.CannotTell, "not-tested": reporttest.NotTested,
	"empty": reporttest.Empty, "metrics-only": reporttest.MetricsOnly, "hostile": reporttest.Hostile,
}

func TestReports(t *testing.T) {
	for name, f := range reports {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".80.txt", drawn(t, f(), Options{}))
		})
	}
	for _, width := range []int{40, 60, 120, 200} {
		golden(t, fmt.Sprintf("mercury.%d.txt", width), drawn(t, reporttest.Mercury(), Options{Width: width}))
	}
	// Escapes are spelt out, so that the golden file may be looked at.
	color := drawn(t, reporttest.Mercury(), Options{Width: 120, Color: true, Top: 1})
	golden(t, "mercury.120.color.txt", bytes.ReplaceAll(color, []byte("\x1b["), []byte("␛[")))
	golden(t, "mercury.all.80.txt", drawn(t, reporttest.Mercury(), Options{Top: -1}))
}

func TestTraces(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120, 200} {
		golden(t, fmt.Sprintf("trace.%d.txt", width), drawnTrace(t, reporttest.Trace(), Options{Width: width}))
	}
	golden(t, "trace.hostile.80.txt", drawnTrace(t, reporttest.HostileTrace(), Options{}))
	golden(t, "trace.deep.80.txt", drawnTrace(t, reporttest.DeepTrace(100), Options{Rows: 20}))
	golden(t, "trace.wide.80.txt", drawnTrace(t, reporttest.WideTrace(1000), Options{Rows: 10}))
	golden(t, "trace.empty.80.txt", drawnTrace(t, &report.Trace{TraceID: "00"}, Options{}))
}

// No line is wider than asked for, none ends in spaces, nothing steers a terminal, and colour changes no character.
func TestLaws(t *testing.T) {
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	check := func(name string, width int, plain, color []byte) {
		t.Helper()
		for i, l := range strings.Split(string(plain), "\n") {
			if escape.Width(l) > width {
				t.Errorf("%s at %d: line %d takes %d cells: %q", name, width, i+1, escape.Width(l), l)
			}
			if strings.TrimRight(l, " ") != l {
				t.Errorf("%s at %d: line %d ends in spaces", name, width, i+1)
			}
			for _, r := range l {
				if !escape.Shown(r) {
					t.Errorf("%s at %d: line %d holds %U", name, width, i+1, r)
				}
			}
		}
		bare := sgr.ReplaceAll(color, nil)
		bare = regexp.MustCompile(`(?m) +$`).ReplaceAll(bare, nil)
		if !bytes.Equal(bare, plain) {
			t.Errorf("%s at %d: colour changes the characters", name, width)
		}
	}
	for _, width := range []int{40, 47, 60, 79, 80, 100, 120, 160, 200} {
		for name, f := range reports {
			check(name, width, drawn(t, f(), Options{Width: width}), drawn(t, f(), Options{Width: width, Color: true}))
		}
		for name, f := range map[string]func() *report.Trace{"trace": reporttest.Trace, "hostile trace": reporttest.HostileTrace, "deep": func() *report.Trace { return reporttest.DeepTrace(300) }} {
			check(name, width, drawnTrace(t, f(), Options{Width: width}), drawnTrace(t, f(), Options{Width: width, Color: true}))
		}
	}
	if a, b := drawn(t, reporttest.Mercury(), Options{Width: 5}), drawn(t, reporttest.Mercury(), Options{Width: MinWidth}); !bytes.Equal(a, b) {
		t.Error("widths below the least are not brought up to it")
	}
	if a, b := drawn(t, reporttest.Mercury(), Options{Width: 999}), drawn(t, reporttest.Mercury(), Options{Width: MaxWidth}); !bytes.Equal(a, b) {
		t.Error("widths beyond the most are not brought down to it")
	}
}

// A trace of 120,000 spans is a few hundred lines that say what was left out, at once; so is one 20,000 deep.
func TestLongTraces(t *testing.T) {
	for name, tr := range map[string]*report.Trace{"wide": reporttest.WideTrace(120_000), "deep": reporttest.DeepTrace(20_000)} {
		begin := time.Now()
		out := drawnTrace(t, tr, Options{})
		if n := bytes.Count(out, []byte("\n")); n > 500 {
			t.Errorf("%s: %d lines", name, n)
		}
		if !regexp.MustCompile(`1\d\d?,\d{3} left out`).Match(out) {
			t.Errorf("%s: does not say how many spans were left out", name)
		}
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// The rows of the allocation, read from the page, sum to its last line.
func TestAllocationSums(t *testing.T) {
	out := string(drawn(t, reporttest.Mercury(), Options{Width: 200, Top: 1}))
	_, out, _ = strings.Cut(out, "Where the time of p99 requests goes")
	number := regexp.MustCompile(`(\d+\.\d) +(\d+\.\d) `)
	var base, cur, totalBase, totalCur float64
	for _, l := range strings.Split(out, "\n")[2:] {
		m := number.FindStringSubmatch(l)
		if strings.HasPrefix(l, "p99") {
			fmt.Sscan(m[1], &totalBase)
			fmt.Sscan(m[2], &totalCur)
			break
		}
		if m == nil {
			continue
		}
		var b, c float64
		fmt.Sscan(m[1], &b)
		fmt.Sscan(m[2], &c)
		base, cur = base+b, cur+c
	}
	if fmt.Sprintf("%.1f %.1f", base, cur) != fmt.Sprintf("%.1f %.1f", totalBase, totalCur) || totalBase == 0 {
		t.Errorf("the rows sum to %.1f and %.1f, the last line says %.1f and %.1f", base, cur, totalBase, totalCur)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteError(t *testing.T) {
	if err := Write(failing{}, reporttest.Mercury(), Options{}); err == nil {
		t.Error("no error from a writer that fails")
	}
}

func TestFor(t *testing.T) {
	if o := For(&bytes.Buffer{}); o.Color || o.Width != DefaultWidth {
		t.Errorf("For a buffer: %+v", o)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if o := For(w); o.Color || o.Width != DefaultWidth {
		t.Errorf("For a pipe: %+v", o)
	}
}

func BenchmarkMercury(b *testing.B) {
	r := reporttest.Mercury()
	for b.Loop() {
		var out bytes.Buffer
		if err := Write(&out, r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever stands in any string, even where only our own words belong, every line keeps its width and steers nothing.
func FuzzStrings(f *testing.F) {
	for _, s := range reporttest.HostileNames {
		f.Add(s)
	}
	f.Add("")
	f.Add("baseline")
	f.Fuzz(func(t *testing.T, s string) {
		for _, keep := range [][]string{nil, {report.Baseline, report.Current}} {
			r, tr := reporttest.Mercury(), reporttest.Trace()
			reporttest.Poison(r, s, keep...)
			reporttest.Poison(tr, s, keep...)
			for _, width := range []int{40, 80, 200} {
				out := append(drawn(t, r, Options{Width: width, Top: -1}), drawnTrace(t, tr, Options{Width: width})...)
				for _, l := range strings.Split(string(out), "\n") {
					if escape.Width(l) > width {
						t.Fatalf("at %d a line takes %d cells: %q", width, escape.Width(l), l)
					}
					for _, c := range l {
						if !escape.Shown(c) {
							t.Fatalf("a line holds %U: %q", c, l)
						}
					}
				}
			}
		}
	})
}
