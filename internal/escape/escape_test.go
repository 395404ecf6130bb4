package escape

import (
	"encoding/csv"
	"html"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile are names that were sent to hurt somebody.
var hostile = []string{
	"svc\x1b[31m<b>x</b>",
	"GET /\x1b[2J\x1b[1;1Hgone",
	"op\x1b]52;c;aGVsbG8=\x07end",
	"c1\u009b31mred\u009d0;title\u009c",
	"<script>alert(1)</script><img src=x onerror=alert(2)>",
	"a|b|c `code` [x](javascript:alert(1))\n# heading\r\nnext",
	"\u202egnp.exe\u202c",
	"</pre></style><!-- --> ]]> &lt;b&gt;",
	"\xff\xfe\xc3(",
	"zero\u200bwidth\u2060join\ufeff soft\u00adhyphen",
	"tag\U000e0041 hangul\u3164filler vs\ufe0f",
	"end\" ]; classDef x fill:#f00; click A \"javascript:alert(1)\"",
	"=cmd|' /C calc'!A0",
	"\t=1+1",
	"注文サービス/決済",
	"e\u0301le\u0300ve",
	"_a_ *b* ~~c~~ $d$ https://e.f www.g.h i@j.k #12 <m>",
	"1. one",
	"- item",
	"\\N \\G \\l",
}

func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"GET /v2/home":        "GET /v2/home",
		"a\x1b[2J":            `a\x1b[2J`,
		"a\u009bb":            `a\x9bb`,
		"\u202egnp.exe\u202c": `\u202egnp.exe\u202c`,
		"a\nb\tc\rd":          `a\nb\tc\rd`,
		"\xffa":               "\ufffda",
		"\U000e0041":          `\U000e0041`,
		"\u2028":              `\u2028`,
		"zero\u200bwidth":     `zero\u200bwidth`,
		"注文":                  "注文",
		"e\u0301":             "e\u0301",
		"\x7f":                `\x7f`,
	} {
		if got := Terminal(in); got != want {
			t.Errorf("Terminal(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "注文": 4, "e\u0301": 1, "é": 1, "ｱ": 1, "Ａ": 2, "😀": 2, "…": 1, "█": 1, "∞": 1} {
		if got := Width(in); got != want {
			t.Errorf("Width(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestElide(t *testing.T) {
	for _, c := range []struct {
		in    string
		cells int
		want  string
	}{
		{"short", 5, "short"},
		{"abcdefghij", 5, "ab…ij"},
		{"abcdefghij", 6, "abc…ij"},
		{"注文サービス決済", 7, "注…済"}, // three cells each side hold one wide character
		{"abcdef", 1, "…"},
		{"abcdef", 0, ""},
		{"aaaaaae\u0301e\u0301", 3, "a…e\u0301"},
	} {
		if got, _ := Elide(c.in, c.cells); got != c.want {
			t.Errorf("Elide(%q, %d) = %q, want %q", c.in, c.cells, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	if got, cut := Clip("abcdefgh", 5); got != "ab…gh" || !cut {
		t.Errorf("Clip = %q, %v", got, cut)
	}
	if got, cut := Clip("注文サービス", 6); got != "注文サービス" || cut {
		t.Errorf("Clip = %q, %v", got, cut)
	}
	if got, _ := Clip(strings.Repeat("x", 1<<20), 100); utf8.RuneCountInString(got) != 100 {
		t.Errorf("Clip left %d runes", utf8.RuneCountInString(got))
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"one two three", 7, "one two/three"},
		{"abcdefghij", 4, "abcd/efgh/ij"},
		{"x abcdefghij", 4, "x/abcd/efgh/ij"},
		{"", 4, ""},
		{"注文サービス", 5, "注文/サー/ビス"},
	} {
		if got := strings.Join(Wrap(c.in, c.n), "/"); got != c.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"GET /v2/home":         "GET /v2/home",
		"a|b `c` [x](y)":       "a\\|b \\`c\\` \\[x\\](y)",
		"# heading":            `\# heading`,
		"+219":                 "+219",
		"---":                  `\---`,
		"~ +3":                 "~ +3",
		"a~~b~~":               `a\~\~b\~\~`,
		"12:01:20":             "12:01:20",
		"- item":               `\- item`,
		"client-wait":          "client-wait",
		"1. one":               `1\. one`,
		"12.5 ms":              "12.5 ms",
		"p99 12.5 ms":          "p99 12.5 ms",
		"snake_case":           "snake_case",
		"_em_":                 `\_em\_`,
		"https://evil.example": "https&#58;//evil.example",
		"www.evil.example":     "www&#46;evil.example",
		"javascript:alert(1)":  "javascript&#58;alert(1)",
		"because: reasons":     "because: reasons",
		"<b>&amp;":             "&#60;b>&#38;amp;",
		"@team":                "&#64;team",
	} {
		if got := Markdown(in); got != want {
			t.Errorf("Markdown(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDOTAndMermaid(t *testing.T) {
	if got, want := DOT("a\"b\\N\n<x>"), `"a\"b\\N\\n<x>"`; got != want {
		t.Errorf("DOT = %s, want %s", got, want)
	}
	if got, want := Mermaid(`a"b`+"`c`<d>#e;"), `"a#34;b#96;c#96;#60;d#62;#35;e#59;"`; got != want {
		t.Errorf("Mermaid = %s, want %s", got, want)
	}
}

func TestCSV(t *testing.T) {
	for in, want := range map[string]string{
		"plain":    "plain",
		"=1+1":     `"'=1+1"`,
		" =1+1":    `"' =1+1"`,
		"-2":       `"'-2"`,
		"a,b":      `"a,b"`,
		`say "hi"`: `"say ""hi"""`,
	} {
		if got := CSV(in); got != want {
			t.Errorf("CSV(%q) = %s, want %s", in, got, want)
		}
	}
}

// harmless are the laws that hold for every input and every medium.
func harmless(t *testing.T, in string) {
	t.Helper()
	for name, f := range map[string]func(string) string{"Terminal": Terminal, "HTML": HTML, "Markdown": Markdown, "DOT": DOT, "Mermaid": Mermaid, "CSV": CSV} {
		got := f(in)
		if !utf8.ValidString(got) {
			t.Errorf("%s(%q) is not UTF-8: %q", name, in, got)
		}
		for _, r := range got {
			if !Shown(r) {
				t.Errorf("%s(%q) holds %U: %q", name, in, r, got)
			}
		}
	}
	if got := Terminal(Terminal(in)); got != Terminal(in) {
		t.Errorf("Terminal(%q) is not stable", in)
	}
	if got := html.UnescapeString(HTML(in)); got != Terminal(in) {
		t.Errorf("HTML(%q) shows as %q", in, got)
	}
	if h := HTML(in); strings.ContainsAny(h, `<>"'`) {
		t.Errorf("HTML(%q) = %q", in, h)
	}
	if d := DOT(in); !quotedOnce(d) {
		t.Errorf("DOT(%q) = %s ends early", in, d)
	}
	if m := Mermaid(in); strings.ContainsAny(m[1:len(m)-1], "\"`<>[]{}|") {
		t.Errorf("Mermaid(%q) = %s", in, m)
	}
	m := Markdown(in)
	for i := range m {
		if strings.IndexByte("`|[]*<", m[i]) >= 0 && (i == 0 || m[i-1] != '\\') {
			t.Errorf("Markdown(%q) = %q: bare %c", in, m, m[i])
			break
		}
	}
	rec, err := csv.NewReader(strings.NewReader(CSV(in) + ",x\n")).Read()
	if err != nil || len(rec) != 2 {
		t.Errorf("CSV(%q) = %s reads as %q, %v", in, CSV(in), rec, err)
	} else if s := strings.TrimLeft(rec[0], " "); s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		t.Errorf("CSV(%q) is a formula", in)
	}
	for _, cells := range []int{0, 1, 2, 5, 12} {
		e, cut := Elide(Terminal(in), cells)
		if Width(e) > cells || !cut && e != Terminal(in) {
			t.Errorf("Elide(%q, %d) = %q, %v", in, cells, e, cut)
		}
		for _, line := range Wrap(Terminal(in), cells) {
			if Width(line) > max(cells, 2) {
				t.Errorf("Wrap(%q, %d) has %q", in, cells, line)
			}
		}
		if p := Pad(e, cells); Width(p) != cells {
			t.Errorf("Pad(%q, %d) = %q", e, cells, p)
		}
	}
}

// quotedOnce reports whether the first unescaped quote after the opening one is the last byte.
func quotedOnce(s string) bool {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i == len(s)-1
		}
	}
	return false
}

func TestHarmless(t *testing.T) {
	for _, s := range hostile {
		harmless(t, s)
	}
}

func FuzzHarmless(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 1<<12 {
			harmless(t, s)
		}
	})
}

func BenchmarkTerminal(b *testing.B) {
	for b.Loop() {
		Terminal("GET /v2/home/{id}")
	}
}
