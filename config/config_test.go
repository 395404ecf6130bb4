package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The example of the manual is read, and shows every key there is.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	c, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	unset(t, reflect.ValueOf(c).Elem(), "")
	for _, words := range [][]string{Roles, Kinds, ContractRules} {
		for _, w := range words {
			if !strings.Contains(example, w) {
				t.Errorf("the manual does not show %q", w)
			}
		}
	}
}

// unset reports the keys under v that no element sets.
func unset(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			unset(t, v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name := strings.TrimSuffix(path+"."+strings.Split(f.Tag.Get("yaml"), ",")[0], ".")
			// Zero is a value to a pointer; and to a list of structs, what any
			// of its elements sets is shown.
			if v.Field(i).IsZero() {
				t.Errorf("the manual does not show %s", name)
			}
			unset(t, v.Field(i), name)
		}
	case reflect.Slice:
		if v.Len() > 0 && v.Index(0).Kind() == reflect.Struct {
			merged := reflect.New(v.Type().Elem()).Elem()
			for i := range v.Len() {
				for j := range merged.NumField() {
					if f := v.Index(i).Field(j); !f.IsZero() {
						merged.Field(j).Set(f)
					}
				}
			}
			unset(t, merged, path)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n"} {
		c, err := Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(c, &Config{}) {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	c := &Config{}
	if r := c.Rules("a", "b", ""); !reflect.DeepEqual(r, Rules{}) {
		t.Errorf("rules without a file: %+v", r)
	}
	if c.Class.Of("gold", true) != "gold" || c.Class.Of("", false) != "" {
		t.Error("class without a list")
	}
}

func TestErrorsHaveAPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"class:\n  atribute: tier\n", `2:3: unknown field "atribute"`},
		{"clas: {}\n", `1:1: unknown field "clas"`},
		{"class:\n  attribute: a\n  attribute: b\n", `3:3: `},
		{"class: [\n", `1:8: `},
		{"class: 7\n", `1:8: `},
		{"class:\n  values: [a]\n", `2:3: a class needs the attribute that tells it`},
		{"class:\n  attribute: tier\n  values: [a, b, a]\n", `3:18: class "a" is listed twice`},
		{"endpoints:\n- objective:\n    p99: 300\n", `3:10: "300" is not a duration`},
		{"endpoints:\n- objective:\n    p99: -1s\n", `3:10: "-1s" is not a duration`},
		{"endpoints:\n- objective: {p50: 2s, p99: 1s}\n", `2:29: p99 1s is below p50 2s`},
		{"endpoints:\n- objective: {goodput: 99%}\n", `2:24: goodput needs`},
		{"endpoints:\n- budget:\n    late_work: 200%\n", `3:16: "200%" is not a share`},
		{"endpoints:\n- budget:\n    late_work: 2\n", `3:16: "2" is not a share`},
		{"endpoints:\n- deadline: {total: 300ms, reserve: 300ms}\n", `2:37: a reserve of 300ms leaves nothing`},
		{"endpoints:\n- optional: [x]\n  mandatory: [x]\n", `2:14: "x" is mandatory too`},
		{"endpoints:\n- contracts: [{hop: x, rule: forbid}]\n", `2:30: rule "forbid" is none of keep,`},
		{"endpoints:\n- classes: {gold: {}}\n", `2:19: rules for classes need class.attribute`},
		{"class: {attribute: t, values: [a]}\nendpoints:\n- classes:\n    b: {}\n", `4:8: "b" is not one of class.values`},
		{"endpoints:\n- limits: [{resource: x}]\n", `2:13: a limit of 0 lets nothing through`},
		{"exclude:\n- name: x\n", `2:3: an exclusion that states no attribute`},
		{"exclude:\n- attribute: x\n", `2:3: an exclusion needs a name`},
		{"operations:\n- {span: x, name: \"{value}\"}\n", `2:19: {value} of which attribute?`},
		{"operations:\n- name: everything\n", `2:3: this would give every span the name "everything"`},
		{"metrics:\n- {name: x, role: busy}\n", `2:19: role "busy" is none of used,`},
		{"metrics:\n- {name: x, role: used, unit: min}\n", `2:31: unit "min" is none of`},
		{"waits:\n- attribute: x\n", `2:3: unit "" is none of`},
		{"a: &x [1]\nb: *x\n", `2:4: aliases are not read`},
		{"class: {}\n---\nclass: {}\n", `a configuration is one document`},
	} {
		_, err := Parse([]byte(c.text))
		if err == nil {
			t.Errorf("%q is accepted", c.text)
			continue
		}
		if !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %s\nwant %s", c.text, err, c.want)
		}
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tailscope.yaml")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("nope: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path+":1:1: ") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil {
		t.Error("a file of any size is read")
	}
}

// The design exercise: one branch is optional for one class and mandatory for
// two, and each class has its own objective, share of the slots and budget.
func TestMercury(t *testing.T) {
	c, err := Load("testdata/mercury.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := func(class string) Rules { return c.Rules("ingress", "GET /v2/home", class) }
	for class, want := range map[string]struct {
		recommendation Meaning
		p99            string
		omission       Share
		limit          Share
	}{
		"standard":   {DeclaredOptional, "300ms", 0.08, 0.7},
		"premium":    {DeclaredMandatory, "300ms", 0.04, 0.4},
		"enterprise": {DeclaredMandatory, "450ms", 0.08, 0.2},
	} {
		r := rules(class)
		if got := r.Branch("recommendation", "GET /r"); got != want.recommendation {
			t.Errorf("%s: recommendation is %d", class, got)
		}
		if got := r.Branch("reputation", "GET /r"); got != DeclaredOptional {
			t.Errorf("%s: reputation is %d", class, got)
		}
		if got := r.Objective.At(0.99).String(); got != want.p99 || r.Budget.P99.String() != want.p99 {
			t.Errorf("%s: p99 %s, budget %s", class, got, r.Budget.P99)
		}
		if *r.Budget.Omission != want.omission || *r.Budget.QueueAge != Duration(12e6) || *r.Budget.CoreMismatch != 0 {
			t.Errorf("%s: budget %+v", class, r.Budget)
		}
		if got := r.Limits[0].Classes[class]; got != want.limit {
			t.Errorf("%s: at most %v of the slots", class, got)
		}
		if _, ok := r.Contract("no-degrade", "pricing", "POST /quote"); !ok {
			t.Errorf("%s: pricing may be degraded", class)
		}
		_, ok := r.Contract("no-degrade", "recommendation", "GET /r")
		if ok != (want.recommendation == DeclaredMandatory) {
			t.Errorf("%s: recommendation may not be degraded: %v", class, ok)
		}
		if _, ok := r.Contract("may-finish-after", "experiment", "POST /exposure"); !ok {
			t.Errorf("%s: the exposure write may not finish after the response", class)
		}
		if _, ok := r.Contract("may-finish-after", "experiment", "GET /arms"); ok {
			t.Errorf("%s: another call of the same service may", class)
		}
	}
	if r := c.Rules("other", "GET /v2/home", ""); r.Budget != nil {
		t.Error("rules of another service")
	}
	if *rules("standard").Budget.Omission != 0.08 {
		t.Error("asking for one class changed another's budget")
	}
	if c.Class.Of("trial", true) != "other" || c.Class.Of("premium", true) != "premium" || c.Class.Of("", false) != "" {
		t.Error("classes")
	}
}

func TestName(t *testing.T) {
	c, err := Parse([]byte(`
operations:
- {service: gateway, span: "/*", attribute: rpc.target, name: "to {value}"}
- {span: "GET /users/*/orders", name: "GET /users/{id}/orders"}
`))
	if err != nil {
		t.Fatal(err)
	}
	target := func(key string) string {
		if key == "rpc.target" {
			return "cart"
		}
		return ""
	}
	none := func(string) string { return "" }
	for _, x := range []struct {
		service, span string
		attribute     func(string) string
		want          string
	}{
		{"gateway", "/x", target, "to cart"},
		{"gateway", "/x", none, ""},
		{"shop", "/x", target, ""},
		{"shop", "GET /users/7/orders", none, "GET /users/{id}/orders"},
	} {
		name, ok := c.Name(x.service, x.span, x.attribute)
		if name != x.want || ok != (x.want != "") {
			t.Errorf("%s %s: %q, %v", x.service, x.span, name, ok)
		}
	}
}

func TestRedacted(t *testing.T) {
	r := Redact{Attributes: []string{"enduser.id", "http.request.header.*"}}
	for key, want := range map[string]bool{"enduser.id": true, "enduser.role": false, "http.request.header.cookie": true} {
		if r.Redacted(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, _ := os.ReadFile("testdata/mercury.yaml")
	f.Add(text)
	f.Add([]byte("class: {attribute: a}\nendpoints: [{classes: {x: {budget: {p99: 1s}}}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T", err)
			}
			return
		}
		r := c.Rules("s", "o", "x")
		r.Branch("s", "o")
		c.Name("s", "span", func(string) string { return "v" })
	})
}
