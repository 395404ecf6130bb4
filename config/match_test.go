package config

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.bc", false}, {"a?b", "axb", false}, {"", "", true},
		{"a*", "a", true}, {"a*", "ba", false}, {"*c", "abc", true}, {"a*c", "abcbc", true}, {"a*c", "ab", false},
		{"a*b*c", "a-b-c", true}, {"a*b*c", "acb", false}, {"*", "", true}, {"**", "x", true}, {"ab*ba", "aba", false},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("%q against %q: %v", c.pattern, c.text, got)
		}
	}
}
