package dot

import (
	"bytes"
	"flag"
	"io"
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

func TestGolden(t *testing.T) {
	for name, r := range map[string]*report.Report{"mercury": reporttest.Mercury(), "hostile": reporttest.Hostile()} {
		for ext, write := range map[string]func(io.Writer, *report.Endpoint, report.Float) error{"dot": Write, "mmd": WriteMermaid} {
			var b bytes.Buffer
			if err := write(&b, &r.Endpoints[0], r.Run.Quantile); err != nil {
				t.Fatal(err)
			}
			for _, c := range b.String() {
				if c != '\n' && !escape.Shown(c) {
					t.Errorf("%s.%s holds %U", name, ext, c)
				}
			}
			path := filepath.Join("testdata", name+"."+ext)
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s is not what is drawn; run go test ./report/dot -update and read the diff", path)
			}
		}
	}
}

// Every line is one of our statements: no label ends early.
func TestStatements(t *testing.T) {
	e := &reporttest.Hostile().Endpoints[0]
	quoted := `"(\\.|[^"\\])*"`
	var b bytes.Buffer
	if err := Write(&b, e, 0.99); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(digraph ` + quoted + ` \{|  (rankdir=LR|node \[.*\]|edge \[.*\]);|  n\d+ \[label=` + quoted + `, style="[a-z,]*"\];|  n\d+ -> n\d+ \[.*\];|\})$`)
	for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if !line.MatchString(l) {
			t.Errorf("dot: %s", l)
		}
	}
	b.Reset()
	if err := WriteMermaid(&b, e, 0.99); err != nil {
		t.Fatal(err)
	}
	line = regexp.MustCompile("^(flowchart LR|  n\\d+\\[\"([^\"`<>|\\[\\]]|<br/>)*\"\\]|  n\\d+ (-->|-\\.->|-\\.-\\|(before|never at once)\\|) n\\d+|  classDef [a-z]+ [a-z:0-9 -]+|  class [n0-9,]+ [a-z]+)$")
	for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if !line.MatchString(l) {
			t.Errorf("mermaid: %s", l)
		}
	}
}

// A structure without nodes is an empty graph.
func TestEmpty(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, &report.Endpoint{}, 0.99); err != nil || !strings.HasPrefix(b.String(), `digraph " " {`) {
		t.Errorf("%q, %v", b.String(), err)
	}
}
