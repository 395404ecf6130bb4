// Package layers checks that imports follow the table in ARCHITECTURE.md.
package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tailscope/tailscope"

var row = regexp.MustCompile(`(?m)^\| (\d+) \| (\S+) \|`)

// table is the layer of each package, by its path below the module.
func table(t *testing.T, root string) map[string]int {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	layers := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		layers[m[2]] = n
	}
	if len(layers) < 10 {
		t.Fatalf("the table in ARCHITECTURE.md has %d rows", len(layers))
	}
	return layers
}

// imports calls f for each import of each non-test file of this module.
func imports(t *testing.T, root string, f func(file, pkg, path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == "testdata" || name[0] == '.') {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		src, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, im := range src.Imports {
			p, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				return err
			}
			f(rel, filepath.ToSlash(filepath.Dir(rel)), p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsRunDownward(t *testing.T) {
	root := "../.."
	layers := table(t, root)
	imports(t, root, func(file, pkg, path string) {
		own, listed := layers[pkg]
		if !listed {
			if !strings.HasPrefix(pkg, "internal/") && !strings.HasPrefix(pkg, "samples/") {
				t.Errorf("%s: package %s has no row in ARCHITECTURE.md", file, pkg)
			}
			return
		}
		rel, ok := strings.CutPrefix(path, module+"/")
		if !ok {
			return
		}
		its, listed := layers[rel]
		switch {
		case !listed && strings.HasPrefix(rel, "internal/"):
			t.Errorf("%s imports %s, which has no row in ARCHITECTURE.md", file, rel)
		case !listed:
			t.Errorf("%s imports %s, a package without a layer", file, rel)
		case its >= own:
			t.Errorf("%s (layer %d) imports %s (layer %d)", file, own, rel, its)
		case pkg == "cmd/tailscope" && rel == "exporter":
			t.Errorf("%s imports the exporter, which would bring the Collector into the command", file)
		}
	})
}

func TestSimulatorKnowsNoAnalysis(t *testing.T) {
	imports(t, "../..", func(file, pkg, path string) {
		if strings.HasPrefix(pkg, "samples/") && strings.HasPrefix(path, module+"/") && !strings.HasPrefix(path, module+"/samples/") {
			t.Errorf("%s imports %s", file, path)
		}
	})
}
