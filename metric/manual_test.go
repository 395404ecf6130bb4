package metric

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in docs/metrics.md")

// The manual lists every known name.
func TestManual(t *testing.T) {
	const path, mark = "../docs/metrics.md", "| metric | role | of | named by |\n"
	type row struct{ name, role, kind, attrs string }
	var rows []row
	for _, f := range families {
		for _, n := range f.roles {
			rows = append(rows, row{n.name, n.role.String(), string(f.kind), strings.Join(f.pool, ", ")})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.name, b.name) })
	table := mark + "|---|---|---|---|\n"
	for _, r := range rows {
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", r.name, r.role, r.kind, r.attrs)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, have, _ := strings.Cut(string(text), mark)
	if mark+have == table {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the known names; go test ./metric -run TestManual -update rewrites it", path)
	}
	if err := os.WriteFile(path, []byte(head+table), 0o644); err != nil {
		t.Fatal(err)
	}
}
