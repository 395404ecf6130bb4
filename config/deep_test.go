package config

import (
	"strings"
	"testing"
)

// A file of nothing but brackets must not exhaust the stack or the patience.
func TestNesting(t *testing.T) {
	for _, c := range []string{"[", "{a: ", "- ", "a:\n "} {
		text := strings.Repeat(c, maxSize/len(c))
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q 10,000 times is accepted", c)
		}
	}
}

// A long line of siblings is not deep.
func TestManySiblings(t *testing.T) {
	text := "redact: {attributes: [" + strings.Repeat("a, ", 200) + "b]}\nendpoints: [" + strings.Repeat("{service: \"x - y - z\"}, ", 200) + "{}]\n"
	if _, err := Parse([]byte(text)); err != nil {
		t.Error(err)
	}
}
