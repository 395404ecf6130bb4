package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the published schemas and the golden files")

// The published schemas are made from the Go types and their comments, so that neither has a field that the other
// lacks. TestSchemas fails when they differ; -update rewrites them.
func TestSchemas(t *testing.T) {
	docs := comments(t)
	for _, c := range []struct {
		file, id string
		root     reflect.Type
	}{
		{"report.v1.json", ReportV1, reflect.TypeFor[Report]()},
		{"trace.v1.json", TraceV1, reflect.TypeFor[Trace]()},
		{"inspection.v1.json", InspectionV1, reflect.TypeFor[Inspection]()},
		{"timeouts.v1.json", TimeoutsV1, reflect.TypeFor[Timeouts]()},
		{"whatif.v1.json", WhatIfV1, reflect.TypeFor[WhatIf]()},
	} {
		s := schemaOf(c.root, c.id, docs)
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("schema", c.file)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(old, b.Bytes()) {
			t.Errorf("%s is not what the Go types say; run go test ./report -update and read the diff", path)
		}
	}
}

type object = map[string]any

// enums are the words that a type's values are drawn from.
var enums = map[reflect.Type]any{
	reflect.TypeFor[Verdict]():        Verdicts,
	reflect.TypeFor[Kind]():           Kinds,
	reflect.TypeFor[Cause]():          Causes,
	reflect.TypeFor[Strength]():       Strengths,
	reflect.TypeFor[GuardKind]():      GuardKinds,
	reflect.TypeFor[GuardStatus]():    GuardStatuses,
	reflect.TypeFor[Severity]():       Severities,
	reflect.TypeFor[DifferenceKind](): DifferenceKinds,
	reflect.TypeFor[Mode]():           Modes,
	reflect.TypeFor[ActionVerdict]():  ActionVerdicts,
	reflect.TypeFor[BudgetStatus]():   BudgetStatuses,
	reflect.TypeFor[Consequence]():    Consequences,
	reflect.TypeFor[Source]():         Sources,
	reflect.TypeFor[CheckStatus]():    CheckStatuses,
	reflect.TypeFor[MetricType]():     MetricTypes,
	reflect.TypeFor[NoticeKind]():     NoticeKinds,
	reflect.TypeFor[Propagated]():     PropagatedVerdicts,
	reflect.TypeFor[DriftKind]():      DriftKinds,
}

// schemaOf is the JSON Schema of root. "More fields may be added": objects stay open.
func schemaOf(root reflect.Type, id string, docs map[string]string) object {
	defs := object{}
	var of func(reflect.Type) object
	of = func(t reflect.Type) object {
		switch t {
		case reflect.TypeFor[Num]():
			return object{"type": []string{"number", "null"}}
		case reflect.TypeFor[Float]():
			return object{"type": "number"}
		case reflect.TypeFor[Interval]():
			end := object{"type": []string{"number", "null"}}
			return object{"type": []string{"array", "null"}, "items": end, "minItems": 2, "maxItems": 2}
		case reflect.TypeFor[NodeID]():
			return object{"type": []string{"integer", "null"}, "minimum": 0}
		case reflect.TypeFor[Excluded]():
			return object{"type": "object", "additionalProperties": object{"type": "number"}, "required": []string{Stream}}
		}
		if words, ok := enums[t]; ok {
			var list []any
			for i := range reflect.ValueOf(words).Len() {
				list = append(list, reflect.ValueOf(words).Index(i).String())
			}
			if t == reflect.TypeFor[Verdict]() {
				list = append(list, nil)
			}
			return object{"enum": list}
		}
		switch t.Kind() {
		case reflect.String:
			return object{"type": "string"}
		case reflect.Bool:
			return object{"type": "boolean"}
		case reflect.Int, reflect.Int64:
			return object{"type": "integer"}
		case reflect.Pointer:
			return object{"anyOf": []object{of(t.Elem()), {"type": "null"}}}
		case reflect.Slice:
			return object{"type": "array", "items": of(t.Elem())}
		case reflect.Array:
			return object{"type": "array", "items": of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
		case reflect.Map:
			return object{"type": "object", "additionalProperties": of(t.Elem())}
		case reflect.Struct:
			name := t.Name()
			if base, arg, generic := strings.Cut(name, "["); generic {
				name = base + "-" + strings.TrimSuffix(arg[strings.LastIndexByte(arg, '.')+1:], "]")
			}
			if _, ok := defs[name]; !ok {
				o := object{"type": "object"}
				defs[name] = o
				if d := docs[name]; d != "" {
					o["description"] = d
				}
				props, required := object{}, []string{}
				for _, f := range reflect.VisibleFields(t) {
					key, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
					if f.Anonymous || key == "" {
						continue
					}
					p := of(f.Type)
					optional := strings.HasPrefix(opts, "omit")
					if optional && f.Type.Kind() == reflect.Pointer {
						p = of(f.Type.Elem()) // absent, never null
					}
					if opts == "string" {
						p = object{"type": "string", "pattern": "^-?[0-9]+$"}
					}
					owner := t
					for _, i := range f.Index[:len(f.Index)-1] {
						owner = owner.Field(i).Type
					}
					base, _, _ := strings.Cut(owner.Name(), "[")
					if d := docs[base+"."+f.Name]; d != "" {
						p["description"] = d
					}
					if key == "schema" {
						p = object{"const": id}
					}
					props[key] = p
					if !optional {
						required = append(required, key)
					}
				}
				o["properties"], o["required"] = props, required
			}
			return object{"$ref": "#/$defs/" + name}
		}
		panic(fmt.Sprintf("no schema for %v", t))
	}
	s := of(root)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = "https://github.com/tailscope/tailscope/blob/main/report/schema/" + strings.ReplaceAll(strings.TrimPrefix(id, "tailscope."), "/", ".") + ".json"
	s["title"] = id
	s["$defs"] = defs
	return s
}

// comments are the doc comments of this package's types and fields, by "Type" and "Type.Field".
func comments(t *testing.T) map[string]string {
	docs := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				return true
			}
			for _, s := range d.Specs {
				ts := s.(*ast.TypeSpec)
				docs[ts.Name.Name] = oneLine(d.Doc.Text())
				st, ok := ts.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, fd := range st.Fields.List {
					for _, id := range fd.Names {
						docs[ts.Name.Name+"."+id.Name] = oneLine(fd.Doc.Text() + " " + fd.Comment.Text())
					}
				}
			}
			return true
		})
	}
	return docs
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Every field of the contract says what it means; the schema carries these sentences to who reads the JSON.
func TestFieldsAreDocumented(t *testing.T) {
	docs := comments(t)
	var walk func(reflect.Type)
	seen := map[reflect.Type]bool{}
	walk = func(rt reflect.Type) {
		switch rt.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
			walk(rt.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[rt] || rt == reflect.TypeFor[Num]() || rt == reflect.TypeFor[Interval]() {
			return
		}
		seen[rt] = true
		base, _, _ := strings.Cut(rt.Name(), "[")
		if docs[base] == "" {
			t.Errorf("type %s has no comment", base)
		}
		for i := range rt.NumField() {
			f := rt.Field(i)
			if !f.Anonymous && docs[base+"."+f.Name] == "" {
				t.Errorf("%s.%s has no comment", base, f.Name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[Report]())
	walk(reflect.TypeFor[Trace]())
	walk(reflect.TypeFor[Inspection]())
}
