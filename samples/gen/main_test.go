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

func TestUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "--scenario is missing"},
		{"--scenario mercury/null", "--out is missing"},
		{"--scenario nothing/here --out DIR", `no "nothing/here"`},
		{"--scenario mercury/null --out DIR --requests 0", "at least 1"},
		{"--scenario mercury/null --out DIR --encoding xml", `not "xml"`},
		{"--scenario mercury/null --out DIR --compress lz4", `not "lz4"`},
		{"--scenario mercury/null --out DIR --truth some", `not "some"`},
		{"--scenario mercury/null --out DIR more", "more"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "DIR", t.TempDir()))
		if err := run(io.Discard, args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("gen %s: %v, want an error that says %s", c.args, err, c.want)
		}
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, []string{"--list"}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n < 60 || !strings.Contains(out.String(), "mercury/client-wait ") {
		t.Errorf("%d lines:\n%s", n, &out)
	}
}

// Each format is written and, rotated, torn over several files; a second run replaces the first's.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ encoding, compress, ext string }{
		{"json", "none", ".jsonl"}, {"json", "gzip", ".jsonl.gz"}, {"json", "zstd", ".jsonl.zst"},
		{"proto", "none", ".pb"}, {"proto", "gzip", ".pb.gz"}, {"proto", "zstd-framed", ".pb.zst"},
	} {
		err := run(io.Discard, []string{"--scenario", "mesh/null", "--requests", "40", "--out", dir, "--rotate", "10000", "--encoding", c.encoding, "--compress", c.compress})
		if err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "current", "*"))
		if err != nil {
			t.Fatal(err)
		}
		traces := 0
		for _, n := range names {
			if !strings.HasSuffix(n, c.ext) {
				t.Errorf("%s --compress %s left %s", c.encoding, c.compress, filepath.Base(n))
			}
			if strings.HasPrefix(filepath.Base(n), "traces-") {
				traces++
			}
		}
		if traces < 2 {
			t.Errorf("%s --compress %s: %d files of traces, want several", c.encoding, c.compress, traces)
		}
	}
}
