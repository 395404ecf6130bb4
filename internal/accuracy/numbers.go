package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A number is a named constant of the source on which rankings may depend.
type number struct {
	file, name string
	text       string // its value, as the source has it
	value      float64
	whole      bool
	object     types.Object
	pos        token.Pos
}

// times is the number multiplied; not ok where that is no other number.
func (n number) times(by float64) (x float64, ok bool) {
	x = n.value * by
	if n.whole {
		x = float64(int64(x))
	}
	return x, x != n.value && x != 0
}

// dialled are the packages whose numbers can be set.
var dialled = []string{"./hypotheses", "./queuewait", "./latework", "./graph", "./analysis"}

// A source is the packages as they are, with what has to change in them so that their numbers can be set.
type source struct {
	numbers []number
	edits   map[string][]edit // by file
}

type edit struct {
	at, to int // offsets
	text   string
}

// dialPackage holds the values of the numbers in a program that can set them. It exists in overlays only.
const dialPackage = "github.com/tailscope/tailscope/internal/accuracy/dial"

// sourceOf finds the named numbers of packages, without those of guards, which are no part of the ranking, and
// turns each use of one into a call that reads it where it can be set. Numbers that the language wants to be constant
// where they are used, such as lengths of arrays, are left as they are and are not among them.
func sourceOf(paths []string) (*source, error) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports}, paths...)
	if err != nil {
		return nil, err
	}
	s := &source{edits: map[string][]edit{}}
	for _, p := range loaded {
		for _, e := range p.Errors {
			return nil, e
		}
		numbers := numbersOf(p)
		fixed := map[types.Object]bool{}
		for _, f := range p.Syntax {
			for o := range fixedIn(f, p.TypesInfo) {
				fixed[o] = true
			}
		}
		numbers = slices.DeleteFunc(numbers, func(n number) bool { return fixed[n.object] })
		index := map[types.Object]int{}
		for i, n := range numbers {
			index[n.object] = len(s.numbers) + i
		}
		s.numbers = append(s.numbers, numbers...)
		for _, f := range p.Syntax {
			s.dial(p, f, index)
		}
	}
	return s, nil
}

// numbersOf are the constants of a package that are declared by a value of their own.
func numbersOf(p *packages.Package) []number {
	var out []number
	for _, f := range p.Syntax {
		file := p.Fset.Position(f.Pos()).Filename
		if strings.HasPrefix(filepath.Base(file), "guards") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			continue // it was read a moment ago
		}
		ast.Inspect(f, func(node ast.Node) bool {
			g, ok := node.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				return true
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, e := range v.Values {
					o := p.TypesInfo.Defs[v.Names[i]]
					if o == nil || mentions(e, "iota") {
						continue
					}
					b, ok := o.Type().Underlying().(*types.Basic)
					if !ok || b.Info()&types.IsNumeric == 0 {
						continue
					}
					x, _ := constant.Float64Val(constant.ToFloat(o.(*types.Const).Val()))
					if math.Abs(x) >= 1<<53 {
						continue // it stands for something that there is not
					}
					out = append(out, number{
						file: filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file), name: o.Name(), value: x, object: o, pos: o.Pos(),
						text:  string(src[p.Fset.Position(e.Pos()).Offset:p.Fset.Position(e.End()).Offset]),
						whole: b.Info()&types.IsInteger != 0,
					})
				}
			}
			return true
		})
	}
	slices.SortStableFunc(out, func(a, b number) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.pos, b.pos)) })
	return out
}

func mentions(e ast.Expr, name string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// fixedIn are the constants that a file uses where the language wants a constant, or once when the program starts.
func fixedIn(f *ast.File, info *types.Info) map[types.Object]bool {
	fixed := map[types.Object]bool{}
	all := func(n ast.Node) {
		if n != nil {
			ast.Inspect(n, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					fixed[info.Uses[id]] = true
				}
				return true
			})
		}
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			all(g)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ArrayType:
			all(n.Len)
		case *ast.GenDecl:
			if n.Tok == token.CONST { // what is derived from it would stay
				for _, spec := range n.Specs {
					for _, e := range spec.(*ast.ValueSpec).Values {
						all(e)
					}
				}
			}
		}
		return true
	})
	return fixed
}

// dial turns the uses of numbers in a file into reads.
func (s *source) dial(p *packages.Package, f *ast.File, index map[types.Object]int) {
	file := p.Fset.Position(f.Pos()).Filename
	imported := map[string]bool{}
	for _, i := range f.Imports {
		imported[strings.Trim(i.Path.Value, `"`)] = true
	}
	imports := "; import " + `"` + dialPackage + `"`
	var around []ast.Node // what is inspected, from the file inwards
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		around = append(around, n)
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		i, ok := index[p.TypesInfo.Uses[id]]
		if !ok {
			return true
		}
		at := p.Fset.Position(id.Pos()).Offset
		s.edits[file] = append(s.edits[file], edit{at, at + len(id.Name), fmt.Sprintf("dial.Read[%s](%d)", types.TypeString(typeOf(p, around), func(other *types.Package) string {
			if other == p.Types {
				return ""
			}
			if path := other.Path(); !imported[path] { // the type of what a number is held against, declared elsewhere
				imported[path] = true
				imports += "; import " + `"` + path + `"`
			}
			return other.Name()
		}), i)})
		return true
	})
	if len(s.edits[file]) > 0 {
		at := p.Fset.Position(f.Name.End()).Offset
		s.edits[file] = append(s.edits[file], edit{at, at, imports})
	}
}

// typeOf is the type that the last of nested expressions has where it is used: that of the outermost constant
// expression that it is part of, since parts of those keep no type of their own.
func typeOf(p *packages.Package, around []ast.Node) types.Type {
	var t types.Type
	for _, n := range slices.Backward(around) {
		e, ok := n.(ast.Expr)
		if !ok || p.TypesInfo.Types[e].Value == nil {
			break
		}
		t = p.TypesInfo.TypeOf(e)
		if b, ok := t.(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
			break
		}
	}
	return types.Default(t)
}

// build makes this program anew, with numbers that can be set.
func (s *source) build(dir string) (bin string, err error) {
	replace := map[string]string{}
	add := func(path string, text []byte) error {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		replace[path] = to
		return os.WriteFile(to, text, 0o666)
	}
	for file, edits := range s.edits {
		src, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := add(file, apply(src, edits)); err != nil {
			return "", err
		}
	}
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	here := filepath.Join(root, "internal", "accuracy")
	if err := add(filepath.Join(here, "dial", "dial.go"), s.dialSource()); err != nil {
		return "", err
	}
	if err := add(filepath.Join(here, "dial.go"), []byte("package main\n\nimport \""+dialPackage+"\"\n\nfunc init() { dials = &panel{dial.Set, dial.Forget, dial.Was} }\n")); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "accuracy")
	if err := os.WriteFile(overlay, b, 0o666); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", bin, "./internal/accuracy").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %s", out)
	}
	return bin, nil
}

// apply is a text with edits made in it.
func apply(src []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var b bytes.Buffer
	last := 0
	for _, e := range edits {
		b.Write(src[last:e.at])
		b.WriteString(e.text)
		last = e.to
	}
	b.Write(src[last:])
	return b.Bytes()
}

// dialSource is the package that holds the values.
func (s *source) dialSource() []byte {
	var b bytes.Buffer
	b.WriteString(`// Package dial holds numbers that can be set while nothing reads them.
package dial

import "sync/atomic"

type real interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Read is a number as it is set.
func Read[T real](i int) T {
	if !was[i].Load() {
		was[i].Store(true)
	}
	return T(values[i])
}

// Set sets a number.
func Set(i int, x float64) { values[i] = x }

// Forget forgets which were read.
func Forget() {
	for i := range was {
		was[i].Store(false)
	}
}

// Was reports whether a number was read.
func Was(i int) bool { return was[i].Load() }

`)
	fmt.Fprintf(&b, "var was [%d]atomic.Bool\n\nvar values = [%d]float64{\n", len(s.numbers), len(s.numbers))
	for _, n := range s.numbers {
		fmt.Fprintf(&b, "\t%v, // %s\n", n.value, n.name)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
