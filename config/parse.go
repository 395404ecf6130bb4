package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxSize bounds a configuration; a larger file is not one.
const maxSize = 1 << 18

// maxDepth bounds nesting. The parser recurses, and its time grows with the
// square of the depth: 20,000 brackets take it seconds.
const maxDepth = 64

// tooDeep reports whether text opens more brackets, or more list items in one
// line, than a configuration nests. Brackets in strings count too; a file with
// 64 unclosed ones is none.
func tooDeep(text []byte) bool {
	depth, items := 0, 0
	for i, b := range text {
		switch b {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-':
			// Items nest in one line only where nothing else stands between.
			if i+1 < len(text) && text[i+1] == ' ' {
				items++
			}
		case '\n':
			items = 0
		case ' ':
		default:
			items = 0
		}
		if depth > maxDepth || items > maxDepth {
			return true
		}
	}
	return false
}

// An Error is a place in a configuration and what is wrong there.
type Error struct {
	Line, Column int // from 1; 0 if the place is not known
	Message      string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Load is Parse of a file. Errors name it.
func Load(path string) (*Config, error) { return load(path, Parse) }

// load reads a file and parses it.
func load[T any](path string, parse func([]byte) (T, error)) (T, error) {
	var none T
	info, err := os.Stat(path)
	if err != nil {
		return none, fmt.Errorf("config: %w", err)
	}
	if info.Size() > maxSize {
		return none, fmt.Errorf("config: %s: %d bytes are more than a configuration has", path, info.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return none, fmt.Errorf("config: %w", err)
	}
	c, err := parse(b)
	if err != nil {
		return none, fmt.Errorf("config: %s:%w", path, err)
	}
	return c, nil
}

// Parse reads a configuration. An empty one is the default. The error is an
// *Error, the first in the file.
func Parse(b []byte) (*Config, error) {
	c := &Config{}
	file, err := document(b, c)
	if err != nil {
		return nil, err
	}
	if file != nil {
		if err := c.check(file); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// document reads one document of YAML into a value, key by key: what the value has
// no place for is an error. The file is nil of an empty one.
func document(b []byte, into any) (*ast.File, error) {
	if len(b) > maxSize {
		return nil, &Error{Message: fmt.Sprintf("%d bytes are more than a configuration has", len(b))}
	}
	if len(strings.TrimSpace(string(b))) == 0 {
		return nil, nil
	}
	if tooDeep(b) {
		return nil, &Error{Message: fmt.Sprintf("more than %d levels of nesting", maxDepth)}
	}
	file, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, placed(err)
	}
	if len(file.Docs) > 1 {
		return nil, &Error{Message: "a configuration is one document"}
	}
	if alias := find(file, ast.AliasType); alias != nil {
		// An alias of an alias of an alias … is how a small file fills the memory.
		return nil, placed(at(alias, "aliases are not read; write the value again"))
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, nil // comments only
	}
	if err := yaml.NodeToValue(file.Docs[0].Body, into, yaml.Strict()); err != nil {
		return nil, placed(err)
	}
	return file, nil
}

// placed is err as an *Error.
func placed(err error) error {
	var y yaml.Error
	if !errors.As(err, &y) {
		return &Error{Message: err.Error()}
	}
	e := &Error{Message: y.GetMessage()}
	if t := y.GetToken(); t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

// find is the first node of a type in a file; nil if there is none.
func find(file *ast.File, t ast.NodeType) ast.Node {
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if nodes := ast.Filter(t, d.Body); len(nodes) > 0 {
			return nodes[0]
		}
	}
	return nil
}

// check finds what strict decoding cannot: words that are none of a list, values
// that contradict each other, and settings that would do nothing.
func (c *Config) check(file *ast.File) error {
	v := &checker{file: file}
	if c.Class.Attribute == "" {
		if len(c.Class.Values) > 0 || c.Class.Other != "" || c.Class.Default != "" {
			v.fail("$.class", "a class needs the attribute that tells it")
		}
	}
	known := map[string]bool{}
	for i, value := range c.Class.Values {
		if known[value] {
			v.fail(fmt.Sprintf("$.class.values[%d]", i), "class %q is listed twice", value)
		}
		known[value] = true
	}
	known[c.Class.Default] = true
	if len(c.Class.Values) > 0 {
		known[c.Class.Of("\x00", true)] = true // the class of all others
	}
	isClass := func(name string) bool { return len(c.Class.Values) == 0 || known[name] }

	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		path := fmt.Sprintf("$.endpoints[%d]", i)
		v.rules(path, &e.Rules, isClass)
		for _, class := range slices.Sorted(maps.Keys(e.Classes)) {
			at := path + ".classes." + quote(class)
			if c.Class.Attribute == "" {
				v.fail(at, "rules for classes need class.attribute")
			} else if !isClass(class) {
				v.fail(at, "%q is not one of class.values", class)
			}
			r := e.Classes[class]
			v.rules(at, &r, isClass)
		}
	}
	for i, x := range c.Exclude {
		path := fmt.Sprintf("$.exclude[%d]", i)
		if x.Name == "" {
			v.fail(path, "an exclusion needs a name to be counted under")
		}
		if x.Attribute == "" && x.Service == "" && x.Operation == "" {
			v.fail(path, "an exclusion that states no attribute, service or operation would exclude everything")
		}
		if x.Attribute == "" && len(x.Values) > 0 {
			v.fail(path+".values", "values of which attribute?")
		}
	}
	for i, o := range c.Operations {
		path := fmt.Sprintf("$.operations[%d]", i)
		if o.Name == "" {
			v.fail(path, "an operation needs a name")
		}
		if o.Attribute == "" && strings.Contains(o.Name, "{value}") {
			v.fail(path+".name", "{value} of which attribute?")
		}
		if o.Service == "" && o.Span == "" && o.Attribute == "" {
			v.fail(path, "this would give every span the name %q: state a service, span or attribute", o.Name)
		}
	}
	for i, m := range c.Metrics {
		path := fmt.Sprintf("$.metrics[%d]", i)
		if m.Name == "" {
			v.fail(path, "a metric needs a name")
		}
		v.word(path+".role", "role", m.Role, Roles)
		if m.Kind != "" {
			v.word(path+".kind", "kind", m.Kind, Kinds)
		}
		if m.Unit != "" {
			v.word(path+".unit", "unit", m.Unit, units)
		}
		if m.StateAttribute != "" && m.Role != "by-state" {
			v.fail(path+".state_attribute", "only the role by-state reads a state")
		}
	}
	for i, w := range c.Waits {
		path := fmt.Sprintf("$.waits[%d]", i)
		if w.Attribute == "" {
			v.fail(path, "a wait needs an attribute")
		}
		v.word(path+".unit", "unit", w.Unit, units)
	}
	for i, p := range c.Redact.Attributes {
		if p == "" {
			v.fail(fmt.Sprintf("$.redact.attributes[%d]", i), "an empty pattern fits nothing")
		}
	}
	return v.first()
}

var units = []string{"ns", "us", "ms", "s"}

// A checker collects what is wrong, by where it stands in the file.
type checker struct {
	file   *ast.File
	errors []*Error
}

// fail notes an error at the node of a YAML path, or at the nearest one above it
// that the file has: what is missing has no place of its own.
func (v *checker) fail(path, format string, args ...any) {
	e := &Error{Message: fmt.Sprintf(format, args...)}
	for path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if n, err := p.FilterFile(v.file); err == nil && n != nil && n.GetToken() != nil {
				e.Line, e.Column = start(n)
				break
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	v.errors = append(v.errors, e)
}

// start is where a node begins. A mapping's own token is the colon of its first
// value.
func start(n ast.Node) (line, column int) {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			return start(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return start(m.Key)
	}
	p := n.GetToken().Position
	return p.Line, p.Column
}

// first is the error that stands first in the file.
func (v *checker) first() error {
	if len(v.errors) == 0 {
		return nil
	}
	return slices.MinFunc(v.errors, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// word fails unless word is one of words.
func (v *checker) word(path, what, word string, words []string) {
	if !slices.Contains(words, word) {
		v.fail(path, "%s %q is none of %s", what, word, strings.Join(words, ", "))
	}
}

// quote writes a map key for a YAML path.
func quote(key string) string { return "'" + strings.ReplaceAll(key, "'", "\\'") + "'" }

func (v *checker) rules(path string, r *Rules, isClass func(string) bool) {
	if o := r.Objective; o != nil {
		if *o == (Objective{}) {
			v.fail(path+".objective", "an objective states a quantile, such as p99, or goodput")
		}
		last, name := Duration(0), ""
		for _, q := range []struct {
			name string
			d    Duration
		}{{"p50", o.P50}, {"p90", o.P90}, {"p95", o.P95}, {"p99", o.P99}, {"p999", o.P999}} {
			if q.d == 0 {
				continue
			}
			if q.d < last {
				v.fail(path+".objective."+q.name, "%s %v is below %s %v", q.name, q.d, name, last)
			}
			last, name = q.d, q.name
		}
		if o.Goodput > 0 && o.Within() == 0 {
			v.fail(path+".objective.goodput", "goodput needs a quantile's duration: it is the share of requests within it")
		}
	}
	if d := r.Deadline; d != nil {
		switch {
		case d.Total == 0:
			v.fail(path+".deadline", "a deadline needs its total")
		case d.Reserve >= d.Total:
			v.fail(path+".deadline.reserve", "a reserve of %v leaves nothing of %v", d.Reserve, d.Total)
		case d.OptionalMin >= d.Total:
			v.fail(path+".deadline.optional_min", "with less than %v left no optional branch of a %v deadline would ever start", d.OptionalMin, d.Total)
		}
	}
	for i, b := range r.Optional {
		if slices.Contains(r.Mandatory, b) {
			v.fail(fmt.Sprintf("%s.optional[%d]", path, i), "%q is mandatory too", b)
		}
	}
	for i, contract := range r.Contracts {
		at := fmt.Sprintf("%s.contracts[%d]", path, i)
		if contract.Hop == "" {
			v.fail(at, "a contract needs the hop it is about")
		}
		v.word(at+".rule", "rule", contract.Rule, ContractRules)
	}
	for i, l := range r.Limits {
		at := fmt.Sprintf("%s.limits[%d]", path, i)
		if l.Resource == "" {
			v.fail(at, "a limit needs the resource that it bounds")
		}
		if l.Max <= 0 {
			v.fail(at+".max", "a limit of %d lets nothing through", l.Max)
		}
		for _, class := range slices.Sorted(maps.Keys(l.Classes)) {
			if !isClass(class) {
				v.fail(at+".classes."+quote(class), "%q is not one of class.values", class)
			}
		}
	}
	if b := r.Budget; b != nil && *b == (Budget{}) {
		v.fail(path+".budget", "a budget states at least one bound")
	}
}
