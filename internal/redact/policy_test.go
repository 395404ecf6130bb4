package redact

import (
	"strings"
	"testing"

	"github.com/tailscope/tailscope/trace"
)

func TestPolicy(t *testing.T) {
	p := &Policy{Allow: Patterns{"tenant", "card.*"}, Redact: Patterns{"card.number", "http.url"}, Reads: Patterns{"queue.ms"}}
	for key, want := range map[string][3]Action{ // of a span, of a resource, of a point
		"tenant": {Keep, Keep, Keep}, "card.kind": {Keep, Keep, Keep}, "card.number": {Drop, Drop, Drop}, "other": {Drop, Drop, Keep},
		"service.name": {Drop, Keep, Keep}, "http.route": {Keep, Drop, Keep}, "http.url": {Drop, Drop, Drop}, "db.statement": {Drop, Drop, SQL},
		"url.full": {Drop, Drop, Query}, "queue.ms": {Keep, Drop, Keep},
	} {
		if trace.Analysed(key) && want[0] == Drop && !p.Redact.Match(key) {
			want[0] = templated[key]
		}
		if got := [3]Action{p.Of(key, false), p.Of(key, true), p.OfPoint(key)}; got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	for _, bad := range []string{"", "a*b", "*a", "**"} {
		if (Patterns{bad}).Check() == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
	if err := Default.Check(); err != nil {
		t.Error(err)
	}
}

// A Cleaner does what its policy says, also of a key that it was asked for of
// another owner before.
func TestCleaner(t *testing.T) {
	p := &Policy{Allow: Patterns{"tenant"}, Redact: Patterns{"user.*"}}
	c := NewCleaner(p)
	for range 2 {
		for _, key := range []string{"tenant", "user.id", "service.name", "db.statement", "other"} {
			for of := range trace.Owner(3) {
				want := p.Of(key, of == trace.OfResource)
				if of == trace.OfPoint {
					want = p.OfPoint(key)
				}
				got, ok := c.Attr(trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.String, Bytes: []byte("a = 'secret'")}}, of)
				if ok != (want != Drop) || ok && string(got.Value.Bytes) != string(want.Template([]byte("a = 'secret'"))) {
					t.Errorf("%s of %d: %q, %v", key, of, got.Value.Bytes, ok)
				}
			}
		}
	}
	if n := string(c.Name([]byte("GET /a?token=x"))); n != "GET /a" {
		t.Error(n)
	}
}

func TestTemplates(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT * FROM t WHERE a = 'x''y' AND b=42":             "SELECT * FROM t WHERE a = ? AND b=?",
		`SELECT "col 1" FROM "t2" WHERE a = "v"`:                `SELECT "col 1" FROM "t2" WHERE a = ?`,
		"SELECT a1, b_2 FROM t3 WHERE x IN (1,2.5e-3,'q')":      "SELECT a1, b_2 FROM t3 WHERE x IN (?,?,?)",
		"SELECT $1, :name, @p1 -- secret":                       "SELECT $1, :name, @p1 ",
		"SELECT $tag$secret$tag$ FROM t":                        "SELECT ? FROM t",
		"INSERT INTO t VALUES (\"a\", \"b\") /* secret */ done": "INSERT INTO t VALUES (?, ?)  done",
		"SELECT 'never closed":                                  "SELECT ?",
		"SELECT 1 /* never closed":                              "SELECT ? ",
		"SELECT $x$ never closed":                               "SELECT ?",
		"x = 'a\\'secret' AND y":                                "x = ? AND y",
		"WHERE a LIKE \"secret%\"":                              "WHERE a LIKE ?",
		"0xDEADBEEF + 1e5":                                      "? + ?",
		"":                                                      "",
	} {
		if got := string(templateSQL([]byte(in))); got != want {
			t.Errorf("%s\n  is %s\nwant %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"/a/b?c=d": "/a/b", "https://u:p@h:1/a@b#f": "https://h:1/a@b", "https://h/a@b": "https://h/a@b", "nothing": "nothing", "?": "", "https://u@h": "https://h",
	} {
		if got := string(templateURL([]byte(in))); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

// No literal in single quotes is left of any statement.
func FuzzTemplateSQL(f *testing.F) {
	f.Add("SELECT 'a', \"b\" FROM t -- c", "x")
	f.Add("$a$ 'q /* ", "1")
	f.Fuzz(func(t *testing.T, before, literal string) {
		if strings.ContainsAny(before, "'\"`$#\\") || strings.Contains(before, "--") || strings.Contains(before, "/*") || strings.ContainsAny(literal, "'\\") {
			return
		}
		got := string(templateSQL([]byte(before + "'" + literal + "'")))
		if !strings.HasSuffix(got, "?") || strings.Count(got, "'") > 0 {
			t.Errorf("%q is %q", before+"'"+literal+"'", got)
		}
	})
}
