package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The documents show what the program shows.
func TestScreens(t *testing.T) {
	const root = "../.."
	r, o, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, svg := range pictures(r, o) {
		b, err := os.ReadFile(filepath.Join(root, dir, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != svg {
			t.Errorf("%s.svg is not what the program shows; run go run ./internal/screens and look at it", name)
		}
	}
	b, err := os.ReadFile(filepath.Join(root, manual))
	if err != nil {
		t.Fatal(err)
	}
	if insert(string(b), texts(r, o)) != string(b) {
		t.Errorf("%s does not show what the program shows; run go run ./internal/screens and look at it", manual)
	}
}
