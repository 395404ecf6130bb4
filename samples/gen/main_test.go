package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed sample is what its README's command writes, byte for byte.
func TestSampleIsReproduced(t *testing.T) {
	const sample = "../mercury"
	readme, err := os.ReadFile(filepath.Join(sample, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(readme), "go run ./samples/gen ")
	command, _, _ = strings.Cut(command, " --out samples/mercury\n")
	dir := t.TempDir()
	if err := run(io.Discard, append(strings.Fields(command), "--out", dir)); err != nil {
		t.Fatalf("gen %s: %v", command, err)
	}
	files := func(dir string) []string {
		var names []string
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && path != "README.md" {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	got, want := files(dir), files(sample)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("wrote %v, committed %v", got, want)
	}
	for _, name := range want {
		g, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := os.ReadFile(filepath.Join(sample, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(g, w) {
			t.Errorf("%s: differs", name)
		}
	}
}
