package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The pictures are what the program shows.
func TestScreens(t *testing.T) {
	const root = "../.."
	shots, err := draw(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, svg := range shots {
		b, err := os.ReadFile(filepath.Join(root, dir, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != svg {
			t.Errorf("%s.svg is not what the program shows; run go run ./internal/screens and look at it", name)
		}
	}
}
