package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscope/tailscope/internal/parallel"
)

// constantsName is the section of the document that says how much depends on each constant.
const constantsName = "constants"

// A constant is a number in the source on which rankings may depend.
type constant struct {
	file, name, text string
	value            float64
	from, to         int // in the file
}

// constantsIn finds the named numbers of the causes' files: those of guards are no part of the ranking.
func constantsIn(dir string) ([]constant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []constant
	for _, file := range files {
		base := filepath.Base(file)
		if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "guards") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i := range v.Values {
					lit, ok := v.Values[i].(*ast.BasicLit)
					if !ok || lit.Kind != token.INT && lit.Kind != token.FLOAT {
						continue
					}
					x, err := strconv.ParseFloat(strings.ReplaceAll(lit.Value, "_", ""), 64)
					if err != nil {
						return nil, err
					}
					out = append(out, constant{file, v.Names[i].Name, lit.Value, x, set.Position(lit.Pos()).Offset, set.Position(lit.End()).Offset})
				}
			}
		}
	}
	return out, nil
}

// times is the constant's file with it multiplied; not ok where that is no other whole number.
func (c constant) times(by float64) (src []byte, ok bool, err error) {
	text := strconv.FormatFloat(c.value*by, 'f', -1, 64)
	if !strings.ContainsAny(c.text, ".eE") {
		n := int64(c.value * by)
		if n == int64(c.value) || n == 0 {
			return nil, false, nil
		}
		text = strconv.FormatInt(n, 10)
	} else if !strings.Contains(text, ".") {
		text += ".0"
	}
	src, err = os.ReadFile(c.file)
	if err != nil {
		return nil, false, err
	}
	return append(append(append([]byte(nil), src[:c.from]...), text...), src[c.to:]...), true, nil
}

// ranked runs the suite of incidents in this program as it is built with an overlay, and adds up how many lead.
func ranked(dir string, overlay map[string]string, incidents string) (first, three, runs int, err error) {
	b, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return 0, 0, 0, err
	}
	list, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "accuracy")
	if err := os.WriteFile(list, b, 0o666); err != nil {
		return 0, 0, 0, err
	}
	if out, err := exec.Command("go", "build", "-overlay", list, "-o", bin, "./internal/accuracy").CombinedOutput(); err != nil {
		return 0, 0, 0, fmt.Errorf("go build: %s", out)
	}
	out, err := exec.Command(bin, "-try", "1", "-cache", cache, "-only", incidents, "ranking").Output()
	if err != nil {
		return 0, 0, 0, err
	}
	_, rows, _ := read(string(out), "ranking")
	for _, r := range rows {
		hits := int(r.percent/100*float64(r.runs) + 0.5)
		switch {
		case strings.HasPrefix(r.name, "planted cause first"):
			first, runs = first+hits, runs+r.runs
		case strings.HasPrefix(r.name, "planted causes in three"):
			three += hits
		}
	}
	return first, three, runs, nil
}

// moves is how many incidents lead with the constant multiplied, as the table says it.
func (c constant) moves(by float64, incidents string) (string, error) {
	src, ok, err := c.times(by)
	if err != nil || !ok {
		return "—", err
	}
	dir, err := os.MkdirTemp("", "constant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(to, src, 0o666); err != nil {
		return "", err
	}
	file, err := filepath.Abs(c.file)
	if err != nil {
		return "", err
	}
	first, three, _, err := ranked(dir, map[string]string{file: to}, incidents)
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return "fails", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s times %g: %w", c.name, by, err)
	}
	return fmt.Sprintf("%d, %d", first, three), nil
}

// sensitivity measures incidents with each constant halved and doubled, and writes the section about it.
func sensitivity(which, incidents *regexp.Regexp, path string) error {
	if cache == "" {
		return fmt.Errorf("-constants needs -cache: it analyses the same data again and again")
	}
	list, err := constantsIn("hypotheses")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "constants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	first, three, runs, err := ranked(dir, nil, incidents.String())
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n## %s\n\n", begin(constantsName), constantsName)
	fmt.Fprintf(&b, "How the ranking moves when a constant of the causes is halved or doubled: of %d incidents, those that have a planted cause first, and\n"+
		"those that have all of them in three. As the constants are: %d and %d. A whole number is halved downwards; — where that is nothing.\n\n", runs, first, three)
	fmt.Fprintf(&b, "%s, commit %s, `go run ./internal/accuracy -cache DIR -constants '%s' -only '%s'`\n\n", time.Now().UTC().Format(time.DateOnly), commit(), which, incidents)
	list = slices.DeleteFunc(list, func(c constant) bool { return !which.MatchString(c.name) })
	moved := make([][2]string, len(list)) // what the table says of each, halved and doubled
	failed := make([]error, len(list))
	parallel.Do(len(list), func(i int) {
		for k, by := range []float64{0.5, 2} {
			if failed[i] == nil {
				moved[i][k], failed[i] = list[i].moves(by, incidents.String())
			}
		}
		fmt.Fprintf(os.Stderr, "%s: %s; %s\n", list[i].name, moved[i][0], moved[i][1])
	})
	if err := errors.Join(failed...); err != nil {
		return err
	}
	b.WriteString("| constant | file | value | halved: first, three | doubled: first, three |\n|---|---|---:|---:|---:|\n")
	for i, c := range list {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.name, filepath.Base(c.file), c.text, moved[i][0], moved[i][1])
	}
	b.WriteString(end(constantsName))
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(replace(string(doc), constantsName, b.String())), 0o644)
}
